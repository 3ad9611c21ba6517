"""Write a zip archive from members of others, copied as they are compressed, and from new ones.

Runs of adjacent members are copied by the kernel, local headers included; only the directory is made anew. The result
is written beside the target, read back, and renamed. It is not synced to the disk, as cp does not: receipts hold the
hash of each wheel, and a wheel that a power cut damaged does not match its receipt.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from wainwright.errors import Exit, WainwrightError, is_full
from wainwright.formats.archive import Archive
from wainwright.formats.copier import Copier, Run, copy, write
from wainwright.formats.zipdirectory import DEFLATED, STORED, Entry, Kind, MemberError
from wainwright.formats.ziprecords import (
    NewMember,
    central_record,
    copied_record,
    end_records,
    local_header,
    moved_records,
    renamed_header,
)
from wainwright.light import Final

# A copy would carry these faults into the new archive, or turn them into others.
UNSOUND: Final[frozenset[Kind]] = frozenset({"broken", "disagreement", "duplicate", "overlap"})
MSDOS_EPOCH: Final = (0, 1 << 5 | 1)  # 1980-01-01 00:00


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """Members of an open archive in this order, their compressed bytes as they are; `rename` gives them new names."""

    archive: Archive
    entries: Sequence[Entry]
    rename: Callable[[str], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A new member. Mode, method and time are those of `like`, the member that it replaces, `mode` is for others.

    `fast` is for hashes, which hardly shrink: level 6 of deflate gains a twentieth in twice the time, and a window of
    more than 8 KiB nothing.
    """

    name: str
    data: bytes = field(repr=False)
    like: Entry | None = None
    mode: int = 0o100644
    fast: bool = False


def write_archive(target: Path, members: Iterable[Copied | Written], *, comment: bytes = b"") -> None:
    """Write the members in this order and move the archive into place; an error leaves nothing behind.

    New members carry the time of SOURCE_DATE_EPOCH, else of the member they replace: the same input gives the same
    bytes. Raises MemberError for a member that cannot be copied soundly, WainwrightError when writing fails.
    """
    stamp = source_date()
    with _beside(target) as descriptor, Copier(descriptor) as copier:
        layout = _Layout(copier)
        for member in members:
            if isinstance(member, Copied):
                layout.copy(member)
            else:
                layout.write(member, stamp)
        directory = b"".join(layout.records)
        pieces = [*layout.pieces, directory + end_records(len(layout.records), len(directory), layout.at, comment)]
        copier.finish()
        at = 0
        for piece in pieces:
            if isinstance(piece, bytes):
                write(descriptor, piece, at)
            elif not piece.ahead:
                copy(piece, descriptor)
            at += len(piece)
        _read_back(descriptor, pieces)


@dataclass(slots=True)
class _Layout:
    """The new archive so far: its pieces in order, its directory's records, its members' names, and its size."""

    copier: Copier
    pieces: list[Run | bytes] = field(default_factory=list)
    records: list[bytes] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    at: int = 0
    unsound: dict[Archive, dict[str | None, str]] = field(default_factory=dict)

    def copy(self, member: Copied) -> None:
        archive, entries, rename = member.archive, member.entries, member.rename
        if archive not in self.unsound:
            self.unsound[archive] = {p.member: p.message for p in archive.problems if p.kind in UNSOUND}
        unsound = self.unsound[archive]
        for entry in entries:
            if entry.name in unsound or not entry.end:
                why = unsound.get(entry.name, "its data are not to be found")
                raise MemberError(entry.name, f"it cannot be copied: {why}")
        first = max(len(self.pieces) - 1, 0)  # the last one may yet become longer
        placed = [self._place(archive, run, rename) for run in _runs(entries, alone=rename is not None)]
        for piece in self.pieces[first:]:
            if isinstance(piece, Run):
                self.copier.take(piece)
        for run, name, at in placed:
            self.records += moved_records(run, at) if name is None else [copied_record(run[0], name, at)]

    def _place(
        self, archive: Archive, run: Sequence[Entry], rename: Callable[[str], str] | None
    ) -> tuple[Sequence[Entry], str | None, int]:
        """Plan to copy adjacent members, or one that may get another name: give them, that name, and their place."""
        at, entry = self.at, run[0]
        name = rename(entry.name) if rename else entry.name
        if name != entry.name:
            self._take(name)
            header = renamed_header(archive.pread(entry.start, entry.data - entry.start), name)
            self.pieces.append(header)
            self.at += len(header)
            self._run(archive, entry.data, entry.end)
            return run, name, at
        for entry in run:
            self._take(entry.name)
        self._run(archive, run[0].start, run[-1].end)
        return run, None, at

    def _take(self, name: str) -> None:
        if name in self.names:
            raise MemberError(name, "two members would have this name", kind="duplicate")
        self.names.add(name)

    def _run(self, archive: Archive, start: int, end: int) -> None:
        last = self.pieces[-1] if self.pieces else None
        if isinstance(last, Run) and last.end == start and last.archive is archive and not last.ahead:
            last.end = end
        else:
            self.pieces.append(Run(archive, start, end, self.at))
        self.at += end - start

    def write(self, member: Written, stamp: tuple[int, int] | None) -> None:
        self._take(member.name)
        like, data = member.like, member.data
        method = STORED if not data or (like and like.method == STORED) else DEFLATED
        if method == DEFLATED:
            level, window = (1, 13) if member.fast else (6, 15)
            deflate = zlib.compressobj(level, zlib.DEFLATED, -window)
            data = deflate.compress(data) + deflate.flush()
        new = NewMember(
            name=member.name, method=method, stamp=stamp or (like.stamp if like else MSDOS_EPOCH),
            crc=zlib.crc32(member.data), compressed=len(data), size=len(member.data),
            external=like.external if like else member.mode << 16,
        )  # fmt: skip
        piece = local_header(new) + data
        self.pieces.append(piece)
        self.records.append(central_record(new, self.at))
        self.at += len(piece)


def _runs(entries: Sequence[Entry], *, alone: bool) -> Iterator[Sequence[Entry]]:
    """Part members where one does not lie behind the other in the file, or each from each."""
    begin = 0
    for at in range(1, len(entries)):
        if alone or entries[at].start != entries[at - 1].end:
            yield entries[begin:at]
            begin = at
    if entries:
        yield entries[begin:]


def source_date() -> tuple[int, int] | None:
    """Give SOURCE_DATE_EPOCH as MS-DOS time and date, None when it is not set; raises WainwrightError."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not text:
        return None
    try:
        year, month, day, hour, minute, second, *_ = time.gmtime(int(text))
    except (ValueError, OverflowError, OSError) as error:
        hint = "it holds the seconds since 1970-01-01 UTC"
        raise WainwrightError(f"{text!r} is not a time", where="SOURCE_DATE_EPOCH", hint=hint) from error
    if year < 1980:
        return MSDOS_EPOCH
    if year > 2107:
        return 23 << 11 | 59 << 5 | 29, 127 << 9 | 12 << 5 | 31
    return hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day


def _unwritten(error: OSError, target: Path) -> WainwrightError:
    code = Exit.ENGINE if is_full(error) else Exit.USAGE
    return WainwrightError(f"cannot be written: {error.strerror}", code=code, where=str(target))


@contextmanager
def _beside(target: Path) -> Iterator[int]:
    """Open a file beside the target; moved onto it at the end, removed on any error."""
    path = target.with_name(f".{os.urandom(8).hex()}.part")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise _unwritten(error, target) from error
    try:
        try:
            yield descriptor
        finally:
            os.close(descriptor)
        path.replace(target)
    except OSError as error:
        raise _unwritten(error, target) from error
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _read_back(descriptor: int, pieces: list[Run | bytes]) -> None:
    """Compare what is on disk with the plan: every new byte, both ends of every copied run, and the size.

    The members inside a run keep their distances, which the source's own strict reading has proved.
    """
    at = 0
    for piece in pieces:
        length = len(piece)
        if isinstance(piece, bytes):
            same = os.pread(descriptor, length, at) == piece
        else:
            probe = min(length, 512)
            same = all(
                os.pread(descriptor, probe, at + skip) == piece.archive.pread(piece.start + skip, probe)
                for skip in (0, length - probe)
            )
        if not same:
            raise WainwrightError(f"the disk does not hold what was written at {at}")
        at += length
    if os.fstat(descriptor).st_size != at:
        raise WainwrightError(f"the new archive has {os.fstat(descriptor).st_size} bytes and should have {at}")
