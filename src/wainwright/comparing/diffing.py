"""Compares two wheels: a pure function of their bytes and of the policy, as the audit is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from wainwright.auditing.audit import examine
from wainwright.auditing.case import Case
from wainwright.auditing.fates import plain_name
from wainwright.auditing.policy import numbers
from wainwright.auditing.reading import Member
from wainwright.comparing.difference import Delta, Difference, FloorChange, MemberChange, PathChange, Side
from wainwright.errors import Exit, WainwrightError
from wainwright.formats.archive import Archive, MemberError
from wainwright.formats.elf import ET_DYN
from wainwright.formats.wheelfile import SIGNATURES, find, read_text

EXTENSION: Final = re.compile(r"\.(?:cpython-\d+\w*-[\w-]+|abi3)\.so$")  # PEP 3149, PEP 384
LIBRARY: Final = re.compile(r"^lib[^/]*\.so(?:\.[0-9]+)*$")
# These follow from the rest: what they say that matters is compared by itself.
DERIVED: Final = frozenset(f".dist-info/{name}" for name in ("WHEEL", "RECORD", *SIGNATURES))


def compare(old: Path, new: Path) -> Difference:
    """Compare two wheels.

    Raises ArchiveError for what is no wheel, and WainwrightError (USAGE) for a wheel with a member that is broken.
    """
    before, after = examine(old), examine(new)
    for case in (before, after):
        _must_be_sound(case)
    pairs = _paired(before, after)
    return Difference(
        old=_side(before),
        new=_side(after),
        tags=Delta.between(before.name.tags, after.name.tags),
        floors=tuple(_floors(before, after)),
        inside=Delta.between(_carried(before), _carried(after)),
        needed=Delta.between(_needed(before), _needed(after)),
        missing=Delta.between(_plain(before.fates.libraries.missing), _plain(after.fates.libraries.missing)),
        added=_changes((None, member) for earlier, member in pairs if earlier is None and member is not None),
        removed=_changes((member, None) for member, later in pairs if later is None and member is not None),
        changed=_changes(
            (earlier, later) for earlier, later in pairs if earlier and later and not _same(earlier, later, old, new)
        ),
        paths=tuple(_paths(pairs)),
        metadata=tuple(_metadata(before, after)),
        requires_dist=Delta.between(_requirements(before), _requirements(after)),
        entry_points=Delta.between(_entry_points(before), _entry_points(after)),
    )


def _must_be_sound(case: Case) -> None:
    for member in case.wheel.members:
        if member.problem:
            raise WainwrightError(
                f"it cannot be compared: {member.name} is broken, {member.problem}",
                code=Exit.USAGE,
                where=case.name.filename,
                hint="`wainwright audit` says all that is wrong with it",
            )


def _side(case: Case) -> Side:
    return Side(
        wheel=case.name.filename,
        sha256=case.wheel.sha256,
        size=case.wheel.size,
        installed=sum(member.size for member in case.wheel.members),
        measured=case.measured.tag,
    )


Pair = tuple["Member | None", "Member | None"]


def _paired(old: Case, new: Case) -> tuple[Pair, ...]:
    """Pair the members of both wheels by name: without the version in `.dist-info`, and then without auditwheel's hash.

    A name without its hash pairs only when each side has one such member left.
    """
    before, after = _by_name(old), _by_name(new)
    for name in DERIVED & before.keys() & after.keys():
        del before[name], after[name]
    pairs: list[Pair] = [(before.pop(name), after.pop(name)) for name in list(before) if name in after]
    plain_before, plain_after = _by_plain_name(before), _by_plain_name(after)
    for plain, names in plain_before.items():
        others = plain_after.get(plain, [])
        if len(names) == len(others) == 1:
            pairs.append((before.pop(names[0]), after.pop(others[0])))
    return (*pairs, *((member, None) for member in before.values()), *((None, member) for member in after.values()))


def _by_name(case: Case) -> dict[str, Member]:
    tops = {case.info.folder: ".dist-info"}
    if len(case.info.data_folders) == 1:
        tops[case.info.data_folders[0]] = ".data"
    named = {}
    for member in case.wheel.members:
        top, slash, rest = member.name.partition("/")
        named[f"{tops.get(top, top)}{slash}{rest}" if slash else member.name] = member
    return named


def _by_plain_name(members: Mapping[str, Member]) -> dict[str, list[str]]:
    plain: dict[str, list[str]] = {}
    for name in members:
        folder, slash, file = name.rpartition("/")
        if ".so" in file:
            plain.setdefault(f"{folder}{slash}{plain_name(file)}", []).append(name)
    return plain


def _same(old: Member, new: Member, *wheels: Path) -> bool:
    if old.size != new.size:
        return False
    if old.algorithm == new.algorithm:
        return old.digest == new.digest
    hashes = []  # each wheel's RECORD has another algorithm
    for wheel, member in zip(wheels, (old, new), strict=True):
        with Archive.open(wheel) as archive:
            hashes.append(archive.digest(find(archive.entries, member.name)).hash)
    return hashes[0] == hashes[1]


def _changes(pairs: Iterable[Pair]) -> tuple[MemberChange, ...]:
    changes = []
    for old, new in pairs:
        name = new.name if new else old.name if old else ""
        was = old.name if old and new and old.name != new.name else None
        changes.append(MemberChange(member=name, old=old.size if old else None, new=new.size if new else None, was=was))
    return tuple(sorted(changes, key=lambda change: change.member))


def _plain(names: Iterable[str]) -> frozenset[str]:
    return frozenset(map(plain_name, names))


def _carried(case: Case) -> frozenset[str]:
    """Name the libraries that travel in the wheel: by soname, else by a file name that is a library's."""
    names = set()
    for member, elf in case.objects():
        file = member.name.rpartition("/")[2]
        if elf.dynamic and elf.kind == ET_DYN and not _is_extension(member) and (elf.soname or LIBRARY.match(file)):
            names.add((elf.soname or file).rpartition("/")[2])
    return _plain(names)


def _is_extension(member: Member) -> bool:
    return member.extension or EXTENSION.search(member.name) is not None


def _needed(case: Case) -> frozenset[str]:
    libraries = case.fates.libraries
    return _plain((*libraries.policy, *libraries.provided, *libraries.excluded))


def _floors(old: Case, new: Case) -> Iterator[FloorChange]:
    """Give the floors that moved: the measured one, the lowest claimed one of each libc, and each namespace's."""
    other_systems = None not in {old.arch, new.arch} and old.arch != new.arch  # none runs both: nothing is raised
    if old.measured.tag != new.measured.tag:
        before, after = _height(old), _height(new)
        other_libc = None not in {old.measured.tag, new.measured.tag} and old.musl != new.musl
        yield _floor(
            "measured", old.measured.tag, new.measured.tag, before, before if other_systems or other_libc else after
        )
    claims, successors = _claimed(old), _claimed(new)
    for libc in sorted(claims.keys() | successors.keys()):
        (lower, tag), (upper, other) = claims.get(libc, ((), None)), successors.get(libc, ((), None))
        if tag != other:
            yield _floor("claimed", tag, other, lower, upper if tag and other and not other_systems else lower)
    versions, others = dict(old.measured.versions), dict(new.measured.versions)
    for name in sorted(versions.keys() | others.keys()):
        one, two = versions.get(name), others.get(name)
        if one != two:
            yield _floor(name, one, two, _rank(one), _rank(two))


def _floor(name: str, old: str | None, new: str | None, before: tuple[Any, ...], after: tuple[Any, ...]) -> FloorChange:
    return FloorChange(name=name, old=old, new=new, raised=after > before, lowered=bool(old and new) and after < before)


def _height(case: Case) -> tuple[int, ...]:
    """Order measured floors: none, then by version, and above all what no glibc will do for."""
    tag = case.measured.tag or ""
    if tag.startswith(("manylinux_", "musllinux_")):
        _, major, minor, *_ = tag.split("_")
        return (1, int(major), int(minor))
    return (2,) if tag else (0,)


def _claimed(case: Case) -> dict[str, tuple[tuple[int, ...], str]]:
    """Give the lowest claim of each libc: installers believe any tag, so it is the one that counts."""
    lowest: dict[str, tuple[tuple[int, ...], str]] = {}
    for claim in case.claims:  # lowest first
        version = claim.policy.version
        lowest.setdefault(claim.libc, ((version.major, version.minor), claim.policy.name))
    return lowest


def _rank(version: str | None) -> tuple[tuple[int, ...], str]:
    return (numbers(version) or (), version) if version else ((), "")


def _paths(pairs: Iterable[Pair]) -> Iterator[PathChange]:
    for old, new in sorted(pairs, key=lambda pair: pair[1].name if pair[1] else ""):
        if old is None or new is None or old.elf is None or new.elf is None:
            continue
        for kind in ("rpath", "runpath"):
            before, after = getattr(old.elf, kind), getattr(new.elf, kind)
            if before != after:
                yield PathChange(member=new.name, kind=kind, old=before, new=after)


def _metadata(old: Case, new: Case) -> Iterator[tuple[str, str | None, str | None]]:
    before, after = _facts(old), _facts(new)
    for name, value in before.items():
        if value != after[name]:
            yield name, value, after[name]


def _facts(case: Case) -> dict[str, str | None]:
    metadata, wheel = case.info.metadata, case.info.wheel
    return {
        "Name": case.name.project,
        "Version": case.name.public_version,
        "Requires-Python": (metadata.requires_python or None) if metadata else None,
        "Root-Is-Purelib": str(wheel.root_is_purelib).lower() if wheel else None,
    }


def _requirements(case: Case) -> Iterator[str]:
    """Give each Requires-Dist in one spelling; what is no requirement as it stands."""
    from packaging.requirements import InvalidRequirement, Requirement

    for text in case.info.metadata.requires_dist if case.info.metadata else ():
        try:
            yield str(Requirement(text))
        except InvalidRequirement:
            yield text


def _entry_points(case: Case) -> Iterator[str]:
    """Give each entry point as `GROUP: NAME = VALUE`; lines that are none are left out."""
    member = f"{case.info.folder}/entry_points.txt"
    if member not in case.wheel.by_name:
        return
    with Archive.open(case.wheel.path) as archive:
        try:
            text = read_text(archive, member)
        except MemberError as error:
            raise WainwrightError(f"{member}: {error.what}", code=Exit.USAGE, where=case.name.filename) from error
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
        elif line and line[0] not in "#;":
            name, equals, value = line.partition("=")
            if equals:
                yield f"{group}: {name.strip()} = {value.strip()}"
