"""A zip archive as values, and where its directory lies: members, and what can be wrong with them.

Field names and sizes follow PKWARE's APPNOTE 6.3; sections are given as 4.x.
"""

from __future__ import annotations

import stat
import struct
from collections.abc import Callable, Iterator

from wainwright.errors import Exit, WainwrightError
from wainwright.light import Final, Literal, NamedTuple, dataclass

STORED: Final = 0
DEFLATED: Final = 8
FULL: Final = 0xFFFFFFFF  # 4.4.1.4: the true value is in the ZIP64 extra field
ZIP64: Final = 0x0001
UNICODE_PATH: Final = 0x7075

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


class Entry(NamedTuple):
    """A member as the directory describes it, and where it lies in the file; a tuple, since wheels hold thousands.

    `order` is its place in the directory. `start` and `end` are file offsets: of the local header, and behind the last
    byte that belongs to the member (its data descriptor included); `data` is where its compressed bytes begin. All
    three are 0 when the local header could not be read, and `fault` then says why, as it does for whatever else makes
    the member unreadable.
    """

    order: int
    name: str
    method: int
    crc: int
    compressed: int
    size: int
    external: int
    start: int
    data: int
    end: int
    fault: Problem | None
    header: bytes  # the directory's record: fixed part, name, extra fields, comment

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
    def flags(self) -> int:
        return int.from_bytes(self.header[8:10], "little")

    @property
    def stamp(self) -> tuple[int, int]:
        """Time and date in MS-DOS form, as stored."""
        return int.from_bytes(self.header[12:14], "little"), int.from_bytes(self.header[14:16], "little")

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
