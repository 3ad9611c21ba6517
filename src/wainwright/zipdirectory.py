"""The zip directory, read strictly: where each member lies, and every place where the archive contradicts itself.

Field names and sizes follow PKWARE's APPNOTE 6.3; sections are given as 4.x.
"""

from __future__ import annotations

import posixpath
import re
import stat
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from wainwright.errors import Exit, WainwrightError

STORED: Final = 0
DEFLATED: Final = 8
# 4.4.5, for messages: what else a member may be compressed with
METHODS: Final = {1: "shrink", 6: "implode", 9: "deflate64", 12: "bzip2", 14: "lzma", 93: "zstd", 95: "xz", 99: "aes"}
FULL: Final = 0xFFFFFFFF  # 4.4.1.4: the true value is in the ZIP64 extra field
ZIP64: Final = 0x0001
UNICODE_PATH: Final = 0x7075
# Deflate cannot shrink by more: 258 bytes from two bits. Who declares more is lying.
DEFLATE_LIMIT: Final = 1032

LOCAL: Final = struct.Struct("<4s5H3I2H")
CENTRAL: Final = struct.Struct("<4s6H3I5H2I")
END: Final = struct.Struct("<4s4H2IH")
END64: Final = struct.Struct("<4sQ2H2I4Q")
LOCATOR: Final = struct.Struct("<4sIQI")

Kind = Literal[
    "archive",  # the archive's own frame: bytes that belong to no member, counts that are wrong
    "broken",  # the member cannot be found or inflated
    "disagreement",  # the local header, the directory and the data descriptor differ
    "duplicate",
    "encrypted",
    "method",
    "overlap",
    "special",  # a device, a pipe, a socket
    "symlink",
    "unsafe-name",
]
# Of these a member cannot be read: `MemberError`
UNREADABLE: Final[frozenset[Kind]] = frozenset({"broken", "encrypted", "method"})


class ArchiveError(WainwrightError):
    """The archive as a whole cannot be read: absent, no zip, truncated, or a bomb."""


class MemberError(WainwrightError):
    """One member of a readable archive is broken; `member` is its name and `kind` says how."""

    def __init__(self, member: str, what: str, *, kind: Kind = "broken") -> None:
        super().__init__(what, code=Exit.FELL_SHORT, where=shown(member))
        self.member = member
        self.kind: Kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something wrong with one member, or with the archive's frame (`member` is None)."""

    kind: Kind
    member: str | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A member as the directory describes it, and where it lies in the file.

    `start` and `end` are file offsets: of the local header, and behind the last byte that belongs to the member (its
    data descriptor included); `data` is where its compressed bytes begin. All three are 0 when the local header could
    not be read, and `fault` then says why, as it does for whatever else makes the member unreadable.
    """

    index: int
    name: str
    method: int
    flags: int
    crc: int
    compressed: int
    size: int
    stamp: tuple[int, int]  # time and date in MS-DOS form, as stored
    external: int
    start: int
    data: int
    end: int
    fault: Problem | None
    header: bytes = field(repr=False)  # the directory's record: fixed part, name, extra fields, comment

    @property
    def mode(self) -> int:
        """The Unix file mode, 0 when none was stored."""
        return self.external >> 16

    @property
    def is_directory(self) -> bool:
        return self.name.endswith("/")

    @property
    def is_symlink(self) -> bool:
        return stat.S_ISLNK(self.mode)

    @property
    def raw_name(self) -> bytes:
        return self.header[CENTRAL.size : CENTRAL.size + _lengths(self.header)[0]]

    @property
    def extra(self) -> bytes:
        """The directory record's extra fields."""
        named, extra, _ = _lengths(self.header)
        return self.header[CENTRAL.size + named : CENTRAL.size + named + extra]


def _lengths(record: bytes) -> tuple[int, int, int]:
    """Of a directory record's name, extra fields and comment."""
    named, extra, comment = struct.unpack_from("<3H", record, 28)
    return named, extra, comment


def shown(name: str) -> str:
    """Make a member's name fit for one line of output."""
    return name if name.isprintable() else repr(name)[1:-1]


def extra_fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    """Split extra fields (4.5.1) into number and content; a last field that is cut short is left out."""
    at = 0
    while at + 4 <= len(extra):
        number, length = struct.unpack_from("<2H", extra, at)
        if at + 4 + length > len(extra):
            return
        yield number, extra[at + 4 : at + 4 + length]
        at += 4 + length


def zip64_values(extra: bytes, values: tuple[int, ...]) -> tuple[int, ...]:
    """Replace each full 32-bit value by its ZIP64 one; raises ValueError where that is missing.

    4.5.3: the fields appear in this order, each "only if the corresponding field is set to 0xFFFFFFFF".
    """
    if FULL not in values:
        return values
    content = next((content for number, content in extra_fields(extra) if number == ZIP64), b"")
    wide, at = [], 0
    for value in values:
        if value == FULL:
            if at + 8 > len(content):
                raise ValueError("its ZIP64 extra field is missing or too short")
            value = int.from_bytes(content[at : at + 8], "little")  # noqa: PLW2901
            at += 8
        wide.append(value)
    return tuple(wide)


def decode(raw: bytes, flags: int) -> str:
    """Read a name as installers do (appendix D: UTF-8 with flag bit 11, else code page 437)."""
    return raw.decode("utf-8", "surrogateescape") if flags & 0x800 else raw.decode("cp437")


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """Where the directory lies: `start` as a file offset, `shift` what stands before the archive's first byte."""

    start: int
    size: int
    count: int
    shift: int
    comment: bytes
    problems: tuple[Problem, ...]


def find_directory(read: Callable[[int, int], bytes], size: int) -> Directory:
    """Find the end-of-directory record (4.3.16), as zipfile does: the last one that leads to a directory."""
    tail_at = max(0, size - END.size - 0xFFFF)
    tail = read(tail_at, size - tail_at)
    at = tail.rfind(b"PK\5\6")
    if at < 0:
        if read(0, 2) != b"PK":
            raise ArchiveError("this is no zip archive")
        raise ArchiveError("the zip archive is truncated: it has no end-of-directory record")
    while at >= 0:
        found = _directory_at(read, tail_at + at, size)
        if found:
            return found
        at = tail.rfind(b"PK\5\6", 0, at + 3)
    raise ArchiveError("the zip archive is truncated or damaged: its directory is not where its last record says")


def _directory_at(read: Callable[[int, int], bytes], at: int, size: int) -> Directory | None:
    if at + END.size > size:
        return None
    _, *narrow, comment = END.unpack(read(at, END.size))
    after = size - (at + END.size + comment)
    if after < 0:
        return None
    problems = [f"{after} bytes follow the end of the archive"] if after else []
    end, values = at, tuple(narrow)
    locator = read(at - LOCATOR.size, LOCATOR.size)
    if locator[:4] == b"PK\6\7":
        wide = _end64(read, locator, at)
        if wide is None:
            return None
        end, *rest = wide
        values = tuple(rest)
        if any(low not in {high, 0xFFFF, FULL} for low, high in zip(narrow, values, strict=True)):
            problems.append("its two end-of-directory records contradict each other")
    disk, first_disk, here, count, length, offset = values
    start = end - length
    shift = start - offset
    if start < 0 or shift < 0 or (length and read(start, 4) != b"PK\1\2"):
        return None
    if disk or first_disk or here != count:
        raise ArchiveError("the zip archive is one of several volumes")
    if shift:
        problems.append(f"{shift} bytes stand before the archive")
    told = tuple(Problem(kind="archive", member=None, message=message) for message in problems)
    text = read(at + END.size, comment)
    return Directory(start=start, size=length, count=count, shift=shift, comment=text, problems=told)


def _end64(read: Callable[[int, int], bytes], locator: bytes, at: int) -> tuple[int, ...] | None:
    """Read the ZIP64 record (4.3.14): its own place, then the same six values as the narrow one."""
    _, _, offset, _ = LOCATOR.unpack(locator)
    # With bytes before the archive, the locator's offset is off by them; the record then ends where the locator begins.
    for place in (offset, at - LOCATOR.size - END64.size):
        if 0 <= place <= at - LOCATOR.size - END64.size:
            record = read(place, END64.size)
            if record[:4] == b"PK\6\6":
                _, length, _, _, disk, first_disk, here, count, size, start = END64.unpack(record)
                if place + 12 + length != at - LOCATOR.size:
                    return None
                return place, disk, first_disk, here, count, size, start
    return None


def read_entries(read: Callable[[int, int], bytes], directory: Directory) -> tuple[Entry, ...]:
    """Read the directory's records, and each one's local header."""
    records = read(directory.start, directory.size)
    entries: list[Entry] = []
    at = 0
    while at < len(records):
        if records[at : at + 4] != b"PK\1\2" or at + CENTRAL.size > len(records):
            raise ArchiveError(f"the zip directory is damaged behind its record {len(entries)}")
        end = at + CENTRAL.size + sum(_lengths(records[at : at + CENTRAL.size]))
        if end > len(records):
            raise ArchiveError(f"the zip directory is damaged behind its record {len(entries)}")
        entries.append(_entry(read, directory, len(entries), records[at:end]))
        at = end
    return tuple(entries)


def _entry(read: Callable[[int, int], bytes], directory: Directory, index: int, record: bytes) -> Entry:
    (_, _, _, flags, method, time, date, crc, compressed, size, named, extra, _, _, _, external, offset) = (
        CENTRAL.unpack_from(record)
    )
    raw = record[CENTRAL.size : CENTRAL.size + named]
    name = decode(raw, flags)
    fault: tuple[Kind, str] | None = None
    start = data = end = 0
    try:
        fields = record[CENTRAL.size + named : CENTRAL.size + named + extra]
        size, compressed, offset = zip64_values(fields, (size, compressed, offset))
        header = read(offset + directory.shift, LOCAL.size)
        if offset + directory.shift + LOCAL.size > directory.start or header[:4] != b"PK\3\4":
            raise ValueError("there is no local header where the directory says")  # noqa: TRY301
        start = offset + directory.shift
        named, extra = struct.unpack_from("<2H", header, 26)
        data = start + LOCAL.size + named + extra
        end = data + compressed
        if end > directory.start:
            raise ValueError("its data reach into the directory")  # noqa: TRY301
        fault = _unreadable(flags, method, compressed, size)
    except ValueError as error:
        start = data = end = 0
        fault = ("broken", str(error))
    problem = Problem(kind=fault[0], member=name, message=fault[1]) if fault else None
    return Entry(
        index=index, name=name, method=method, flags=flags, crc=crc, compressed=compressed, size=size,
        stamp=(time, date), external=external, start=start, data=data, end=end, fault=problem, header=record,
    )  # fmt: skip


def _unreadable(flags: int, method: int, compressed: int, size: int) -> tuple[Kind, str] | None:
    if flags & 0x41:
        return "encrypted", "it is encrypted"
    if method not in {STORED, DEFLATED}:
        name = METHODS.get(method, f"method {method}")
        return "method", f"it is compressed with {name}, and wheels hold stored and deflated members alone"
    if method == STORED and size != compressed:
        return "broken", f"it is stored, yet declares {size} bytes in {compressed}"
    if method == DEFLATED and size > (compressed + 8) * DEFLATE_LIMIT:
        return "broken", f"it declares {size} bytes, more than {compressed} deflated ones can hold"
    return None


def unsafe(name: str) -> str:
    """Why a name could reach outside the folder that it is unpacked into; empty when it could not."""
    if not name:
        return "its name is empty"
    if "\0" in name:
        return "its name holds a NUL, where some readers end it"
    if "\\" in name:
        return "its name holds a backslash, a separator to some readers"
    if name.startswith("/"):
        return "its name is absolute"
    if re.match(r"[A-Za-z]:", name):
        return "its name begins with a drive letter"
    if ".." in name.split("/"):
        return "its name climbs out of its folder with .."
    if any("\udc80" <= letter <= "\udcff" for letter in name):
        return "its name is not UTF-8, as it says it is"
    return ""


def name_problems(entries: tuple[Entry, ...]) -> Iterator[Problem]:
    """Report members that an installer would write twice, outside, or as something else than a file."""
    seen: set[str] = set()
    for entry in entries:
        path = posixpath.normpath(entry.name) if entry.name else ""
        if path in seen:
            yield Problem(kind="duplicate", member=entry.name, message="another member has this name")
        seen.add(path)
        why = unsafe(entry.name)
        if why:
            yield Problem(kind="unsafe-name", member=entry.name, message=why)
        kind = stat.S_IFMT(entry.mode)
        if kind == stat.S_IFLNK:
            yield Problem(kind="symlink", member=entry.name, message="it is a symbolic link")
        elif kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
            yield Problem(kind="special", member=entry.name, message="it is neither a file nor a folder")
