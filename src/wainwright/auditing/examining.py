"""From an open archive to the case that the rules look at: what is claimed, what is inside, what was measured."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import partial

from wainwright.auditing.case import Case
from wainwright.auditing.claims import Claim, Platforms, claim_of, read_platforms
from wainwright.auditing.fates import Sorter, allowed_names, is_musl_library
from wainwright.auditing.inspection import Inspecting, Inspection
from wainwright.auditing.needs import Floors, Interest, VersionedNeed, highest_versions, versioned_needs
from wainwright.auditing.policy import Policies, load_policies
from wainwright.auditing.processes import Loadable, folders_of
from wainwright.auditing.reading import Member
from wainwright.auditing.resolution import SITE, resolve
from wainwright.auditing.terms import Outside, Terms
from wainwright.auditing.verdict import Measured
from wainwright.formats.archive import Archive
from wainwright.formats.wheelfile import DistInfo, Fault, locate, read_dist_info, text_or_fault
from wainwright.formats.wheelname import WheelName
from wainwright.light import Final, replace
from wainwright.values import Glibc

PREFIX: Final = "/prefix"
PYTHON_TAG: Final = re.compile(r"(py|cp)([23])([0-9]*)")
SCHEMES: Final = {
    "purelib": SITE,
    "platlib": SITE,
    "scripts": f"{PREFIX}/bin",
    "data": PREFIX,
    "headers": f"{PREFIX}/include",
}


def examined(
    inspecting: Inspecting,
    name: WheelName,
    *,
    claim: Glibc | None,
    terms: Terms,
    libraries: tuple[Outside, ...],
    original_size: int | None,
) -> Case:
    """Measure a wheel that is being inspected; raises ArchiveError for what cannot be read at all.

    `claim` stands in the stead of the tags in its name; `original_size` in bytes, before its repair.
    """
    archive = inspecting.archive
    policies = load_policies()
    platforms = read_platforms(name.platforms, policies)
    info = read_dist_info(archive, name)
    arch = platforms.arches[0] if platforms.arches else None
    floors = Floors(policies, arch)
    claims = _claims(claim, arch, platforms, policies)
    inside = frozenset(entry.name.rpartition("/")[2] for entry in archive.entries)
    interest = Interest(floors, claims, python=_is_abi3(name), inside=inside)
    inspection = inspecting.finish(interest=interest, algorithms=_algorithms(info))
    if len(platforms.arches) != 1:  # what is measured is what the members are
        arch = _most_common_arch(inspection.members) or arch
        floors = Floors(policies, arch)
        claims = _claims(claim, arch, platforms, policies)
    case = _case(name, info, inspection, platforms, claims, arch, floors, terms, libraries)
    return replace(
        case,
        original_size=original_size,
        named=interest.named(case.measured.glibc),
        executable=frozenset(entry.name for entry in archive.entries if entry.mode & 0o111),
        entry_points=_entry_points(archive, info),
        installs_on=partial(_installs_on, name),
    )


def _entry_points(archive: Archive, info: DistInfo) -> str | Fault:
    member = f"{info.folder}/entry_points.txt"
    return text_or_fault(archive, member) if any(entry.name == member for entry in archive.entries) else ""


def _claims(claim: Glibc | None, arch: str | None, platforms: Platforms, policies: Policies) -> tuple[Claim, ...]:
    if claim is None:
        return platforms.claims
    return tuple(
        claim_of(claim, of, policies) for of in platforms.arches or ((arch,) if arch else ()) if of in policies.arches()
    )


def _is_abi3(name: WheelName) -> bool:
    return any(abi.startswith("abi3") for abi in name.abis)


def _installs_on(name: WheelName, major: int, minor: int) -> bool:
    """Whether a Python may take the wheel by its Python and ABI tags; of implementations unknown here, any may."""
    for tag in name.pythons:
        match = PYTHON_TAG.fullmatch(tag)
        if match is None:
            return True
        if major != int(match[2]):
            continue
        oldest = int(match[3]) if match[3] else 0
        if minor == oldest or (minor > oldest and (match[1] == "py" or not match[3] or _is_abi3(name))):
            return True
    return False


def _algorithms(info: DistInfo) -> dict[str, str]:
    return {row.path: row.algorithm for row in info.record or () if row.strong}


def _most_common_arch(members: Iterable[Member]) -> str | None:
    counted = Counter(member.elf.arch for member in members if member.elf is not None and member.elf.arch)
    return counted.most_common(1)[0][0] if counted else None


def _case(
    name: WheelName, info: DistInfo, inspection: Inspection, platforms: Platforms, claims: tuple[Claim, ...],
    arch: str | None, floors: Floors, terms: Terms, outside: tuple[Outside, ...],
) -> Case:  # fmt: skip
    musl = _is_musl(inspection.members, claims)
    files = _installed(inspection.members, info)
    resolution = resolve(files, musl=musl, installs_on=partial(_installs_on, name))
    objects = [
        (m, m.elf) for m in inspection.members if m.elf is not None and m.elf.dynamic and m.elf.arch in {arch, None}
    ]
    needs = versioned_needs([member for member, _ in objects], resolution, floors, musl=musl)
    requires = info.metadata.requires_dist if info.metadata else ()
    folders = folders_of(files)
    allowed = allowed_names(claims, floors.policies, arch, musl=musl)
    sorter = Sorter(terms, outside, allowed, requires, folders)
    fates = sorter.sort([(member.name, elf) for member, elf in objects], resolution)
    elves = [m.elf for m in inspection.members if m.elf is not None and m.elf.arch == floors.named]
    packed = any(elf.packed_relocations for elf in elves)
    versions = highest_versions(needs, allowed)
    measured = Measured(tag=None, glibc=None, versions=versions)
    if elves:  # of another architecture, or of what cannot be read, nothing is measured
        measured = _measure(needs, floors, claims, versions, musl=musl, packed=packed)
    return Case(
        name=name, info=info, wheel=inspection, platforms=platforms, claims=claims, arch=arch, musl=musl, terms=terms,
        outside=outside, files=files, resolution=resolution, needs=needs, fates=fates, measured=measured,
    )  # fmt: skip


def _is_musl(members: Iterable[Member], claims: tuple[Claim, ...]) -> bool:
    """Tell the loader by the claims; where they say both or nothing, by what the members need."""
    claimed = {claim.libc for claim in claims}
    if len(claimed) == 1:
        return claimed == {"musl"}
    needed = {library for member in members if member.elf is not None for library in member.elf.needed}
    return "libc.so.6" not in needed and any(map(is_musl_library, needed))


def _installed(members: Iterable[Member], info: DistInfo) -> tuple[Loadable, ...]:
    purelib = info.wheel.root_is_purelib if info.wheel else False
    files = []
    for member in members:
        name = member.name
        path = _place(name, purelib=purelib) if ".data/" in name else f"{SITE}/{name}"
        files.append(Loadable(name, path, member.elf, member.extension))
    return tuple(files)


def _place(member: str, *, purelib: bool) -> str:
    place = locate(member, root_is_purelib=purelib)
    return f"{SCHEMES.get(place.scheme, f'{PREFIX}/{place.scheme}')}/{place.path}"


def _measure(
    needs: tuple[VersionedNeed, ...],
    floors: Floors,
    claims: tuple[Claim, ...],
    versions: tuple[tuple[str, str], ...],
    *,
    musl: bool,
    packed: bool,
) -> Measured:
    arch = floors.named
    if arch is None:
        return Measured(tag=None, glibc=None, versions=versions)
    if musl:
        # Symbols of musl have no versions: the claim stands, unless a loader of its age cannot load what is inside.
        fits = (claim.tag for claim in claims if claim.libc == "musl" and (claim.relocates_packed or not packed))
        return Measured(tag=next(fits, f"musllinux_1_2_{arch}"), glibc=None, versions=versions)
    counted = [need.glibc for need in needs if need.counts]
    if any(glibc is None for glibc in counted):
        return Measured(tag=f"linux_{arch}", glibc=None, versions=versions)
    glibc = max((glibc for glibc in counted if glibc is not None), default=floors.lowest)
    return Measured(tag=f"manylinux_{glibc.slug}_{arch}", glibc=glibc, versions=versions)
