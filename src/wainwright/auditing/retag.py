"""Give a wheel other platform tags, or another version, and touch nothing else: every other member is copied raw."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path

from wainwright.errors import Exit, WainwrightError
from wainwright.formats.archive import Archive
from wainwright.formats.magic import looks_like_elf
from wainwright.formats.record import hashed, read_cells, read_lines, row_line
from wainwright.formats.rewriting import Copied, Written, write_archive
from wainwright.formats.wheelfile import DistInfo, read_dist_info, read_text, same_distribution
from wainwright.formats.wheelname import WheelName, normal_version, parse_wheel_name
from wainwright.light import Final, dataclass, replace

LINKED: Final = frozenset({b"\2\0", b"\0\2", b"\3\0", b"\0\3"})  # e_type: programs and shared objects
LOCAL_LABEL: Final = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*", re.IGNORECASE)  # PEP 440


def retag(
    wheel: Path,
    folder: Path,
    *,
    platforms: tuple[str, ...] | None = None,
    version: str | None = None,
    local_version: str | None = None,
    say: Callable[[str], None] | None = None,
) -> Path:
    """Write the wheel into `folder` with these platform tags instead of all that it had, and give its path.

    `platforms` None keeps them, `version` None keeps the version; `local_version` (`llvm`) is put behind it
    (`1.0+llvm`). Whether tags and version are true is the caller's to know. Signatures are left out, since they would
    be false: `say` is told (standard error when it is None). A wheel that has all this stays as it is in its own
    folder; another file of the new name is replaced. Raises WainwrightError: ArchiveError for no wheel, MemberError for
    a broken member.
    """
    old = parse_wheel_name(wheel.name)
    new = _renamed(old, platforms, _version(old, version, local_version))
    target = folder / new.filename
    with Archive.open(wheel) as archive:
        info = read_dist_info(archive, old, files=())
        if not info.folder:
            raise _not_a_wheel(wheel, info)
        if "any" in new.platforms:
            _without_code(archive)
        for problem in archive.problems:
            if problem.kind == "archive":
                (say or _to_stderr)(f"{wheel.name}: {problem.message}; the new archive holds the members alone")
        change = _Change(archive=archive, info=info, old=old, new=new, fresh=_fresh(archive, info, old, new))
        signatures = sorted(info.unrecorded & {entry.name for entry in archive.entries})
        if not (change.fresh or signatures or archive.problems) and target.exists() and target.samefile(wheel):
            return target
        for signature in signatures:
            (say or _to_stderr)(f"{wheel.name}: {signature} is left out: it signs the RECORD that was")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WainwrightError(f"cannot be made: {error.strerror}", where=str(folder)) from error
        write_archive(target, change.members(), comment=archive.comment)
    return target


def _without_code(archive: Archive) -> None:
    """Refuse the tag `any` for native code: it is installed everywhere, and fails when it is loaded."""
    for entry in archive.entries:
        start = next(archive.inflate(entry), b"") if entry.size else b""
        if looks_like_elf(start) and start[16:18] in LINKED:
            raise WainwrightError(
                "it is native code, and the tag any promises every platform",
                code=Exit.USAGE, where=entry.name, hint="give the wheel the platform that it is built for",
            )  # fmt: skip


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _not_a_wheel(wheel: Path, info: DistInfo) -> WainwrightError:
    if not info.folders:
        return WainwrightError("there is no .dist-info folder inside", where=wheel.name)
    return WainwrightError(f"several .dist-info folders are inside: {', '.join(info.folders)}", where=wheel.name)


def _renamed(old: WheelName, platforms: tuple[str, ...] | None, version: str) -> WheelName:
    tags = tuple(dict.fromkeys(old.platforms if platforms is None else platforms))
    for tag in tags:
        if not re.fullmatch(r"[a-z0-9_]+", tag):
            raise WainwrightError(f"{tag!r} is not a platform tag", hint="one is spelled like manylinux_2_17_x86_64")
    if not tags:
        raise WainwrightError("no platform tag was given", where=old.filename)
    build = [old.build] if old.build else []
    stem = "-".join([old.distribution, version, *build, ".".join(old.pythons), ".".join(old.abis), ".".join(tags)])
    return replace(old, filename=f"{stem}.whl", version=version, platforms=tags)


def _version(old: WheelName, version: str | None, label: str | None) -> str:
    """Give the new version as a file name spells it; one that stays keeps its spelling."""
    spelled, public = old.version, old.public_version
    if version is not None:
        try:
            spelled = public = normal_version(version)
        except ValueError:
            raise WainwrightError(f"{version!r} is not a version", hint="one is spelled like 1.2.3 (PEP 440)") from None
    return spelled if label is None else _with_local(old, spelled, public, label)


def _with_local(old: WheelName, spelled: str, public: str, label: str) -> str:
    """Put a local label behind a version."""
    if not LOCAL_LABEL.fullmatch(label):
        raise WainwrightError(f"{label!r} is not a local version label", hint="letters and digits, parted by dots")
    wanted = re.sub(r"[-_]", ".", label.lower())  # PEP 440: normalised to a dot
    _, _, present = public.partition("+")
    if present and present != wanted:
        raise WainwrightError(f"its version {spelled} has a local label already", where=old.filename)
    return spelled if present else f"{spelled}+{wanted}"


def _fresh(archive: Archive, info: DistInfo, old: WheelName, new: WheelName) -> dict[str, bytes]:
    fresh = {}
    wheel = f"{info.folder}/WHEEL"
    text = read_text(archive, wheel)
    tags = product(new.pythons, new.abis, new.platforms)
    tagged = with_tags(text, tuple("-".join(tag) for tag in tags))
    if tagged != text:
        fresh[wheel] = tagged.encode()
    if new.version != old.version:
        metadata = f"{info.folder}/METADATA"
        version = new.version.replace("_", "-")  # a file name has "_" for a dash
        fresh[metadata] = with_version(read_text(archive, metadata), version).encode()
    return fresh


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """One wheel on its way to another name; `fresh` are the members that change, but for RECORD, by their old names."""

    archive: Archive
    info: DistInfo
    old: WheelName
    new: WheelName
    fresh: Mapping[str, bytes]

    def members(self) -> Iterator[Copied | Written]:
        """Give the new wheel's members: RECORD last, dist-info before it, all others first, each in its old order."""
        fresh = self.fresh
        record = self.info.record_name
        recorded = read_text(self.archive, record)
        # PEP 427: "Archivers are encouraged to place the .dist-info files physically at the end of the archive."
        archive, signatures = self.archive, self.info.unrecorded
        inside = f"{self.info.folder}/"
        outside = [entry for entry in archive.entries if not entry.name.startswith(inside)]
        within = [entry for entry in archive.entries if entry.name.startswith(inside) and entry.name not in signatures]
        within.sort(key=lambda entry: entry.name == record)
        rename = None if self.new.version == self.old.version else self._moved
        anew = {*fresh, record} if fresh or len(outside) + len(within) < len(archive.entries) else frozenset()
        yield Copied(archive=archive, entries=outside, rename=rename)
        for entry in within:
            if entry.name in anew:
                is_record = entry.name == record
                yield Written(
                    name=self._moved(entry.name),
                    data=self._record(recorded) if is_record else fresh[entry.name],  # while the others are copied
                    like=entry,
                    fast=is_record,
                )
            else:
                yield Copied(archive=archive, entries=(entry,), rename=rename)

    def _record(self, text: str) -> bytes:
        """Give the new RECORD: rows of members that do not change stay as they are."""
        fresh = self.fresh
        lines, fault = read_lines(text)
        if fault:
            raise WainwrightError(fault, where=self.old.filename)
        signatures = self.info.unrecorded
        stays = self.new.version == self.old.version
        # Only members in these folders change or move; csv quotes a path with a comma.
        marks = tuple(quote + top + "/" for top in (self.info.folder, *self.info.data_folders) for quote in ("", '"'))
        missing = dict(fresh)
        new: list[str] = []
        for line in lines:
            if not line.startswith(marks):
                new.append(line)
                continue
            ((path, *rest),), _ = read_cells(line)
            missing.pop(path, None)
            if path in fresh:
                new.append(row_line((self._moved(path), *hashed(fresh[path]))))
            elif path not in signatures:
                new.append(line if stays else row_line((self._moved(path), *rest)))
        new[-1:-1] = [row_line((self._moved(path), *hashed(data))) for path, data in missing.items()]
        newline = "\r\n" if "\r\n" in text else "\n"
        return newline.join([*new, ""]).encode()

    def _moved(self, member: str) -> str:
        """Give a member's new name: only the dist-info and data folders carry the version."""
        if self.new.version == self.old.version:
            return member
        top, slash, rest = member.partition("/")
        stem, dot, suffix = top.rpartition(".")
        distribution = stem.rpartition("-")[0]
        ours = top == self.info.folder or (top in self.info.data_folders and same_distribution(top, self.old))
        if not slash or not ours:
            return member
        return f"{distribution}-{self.new.version}{dot}{suffix}{slash}{rest}"


def with_tags(text: str, tags: tuple[str, ...]) -> str:
    """Replace all `Tag:` lines of a WHEEL file by one for each tag, where the first one stood."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    newline = "\r\n" if "\r\n" in text else "\n"
    headers = next((at for at, line in enumerate(lines) if not line.strip()), len(lines))
    old = [at for at, line in enumerate(lines[:headers]) if line.partition(":")[0].strip().lower() == "tag"]
    place = old[0] if old else headers
    if place and not lines[place - 1].endswith("\n"):
        lines[place - 1] += newline
    new = [f"Tag: {tag}{newline}" for tag in tags]
    kept = [line for at, line in enumerate(lines) if at not in old]
    return "".join(kept[:place] + new + kept[place:])


def with_version(text: str, version: str) -> str:
    """Put another version in a METADATA file, whose other bytes stay."""
    headers = re.split(r"\r?\n\r?\n", text, maxsplit=1)[0]
    match = re.search(r"^Version:[ \t]*(\S+)[ \t]*\r?$", headers, re.MULTILINE | re.IGNORECASE)
    if match is None:
        raise WainwrightError("it has no Version", where="METADATA")
    return f"{text[: match.start(1)]}{version}{text[match.end(1) :]}"
