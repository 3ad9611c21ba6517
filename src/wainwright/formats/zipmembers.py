"""Each member of a zip archive: its directory record, its local header and data descriptor, and whether they agree.

Some installers read the directory, others the stream of local headers; a wheel must be the same to both.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

from wainwright.formats.zipdirectory import (
    CENTRAL,
    DEFLATED,
    FULL,
    LOCAL,
    STORED,
    UNICODE_PATH,
    ZIP64,
    ArchiveError,
    Directory,
    Entry,
    Kind,
    Problem,
    extra_fields,
)
from wainwright.light import Any, Final

DESCRIPTOR: Final = b"PK\7\x08"
# 4.4.5, for messages: what else a member may be compressed with
METHODS: Final = {1: "shrink", 6: "implode", 9: "deflate64", 12: "bzip2", 14: "lzma", 93: "zstd", 95: "xz", 99: "aes"}
# Deflate cannot shrink by more: 258 bytes from two bits. Who declares more is lying.
DEFLATE_LIMIT: Final = 1032
NEWEST: Final = 63  # 4.4.3.2: version 6.3. Python's zipfile, and so pip, opens no archive that asks for a later one
ENCRYPTED: Final = 0x41  # 4.4.4: bits 0 and 6
PATCHED: Final = 0x20  # bit 5
STREAMED: Final = 8  # bit 3: sizes and CRC stand in a data descriptor
MADE: Final[Any] = tuple.__new__  # at half the cost of Entry itself

# What is asked of each record of the directory: CENTRAL without the writer, time, disk and internal attributes
ASKED: Final = struct.Struct("<4s2xBx2H4x3I3H4x2I")

# Read at once with a local header, so that few extra fields need a second look.
SPARE: Final = 64
# Behind a member of at most so many bytes the next header is near: such are read many at a time.
NEAR: Final = 1 << 12
AHEAD: Final = 1 << 14


def read_entries(
    read: Callable[[int, int], bytes], directory: Directory
) -> tuple[tuple[Entry, ...], tuple[Problem, ...]]:
    """Read every record with its local header; give the members, and where the two contradict each other."""
    records = read(directory.start, directory.size)
    shift, limit = directory.shift, directory.start
    entries: list[Entry] = []
    problems = []
    ahead = b""
    at = low = high = 0
    fixed, head, whole = CENTRAL.size, LOCAL.size, len(records)
    while at < whole:
        name = at + fixed
        if name > whole:
            raise _damaged(entries)
        (
            signature, needed, flags, method, crc, compressed, size, named, extra, comment, external, offset
        ) = ASKED.unpack_from(records, at)  # fmt: skip
        behind = name + named
        end = behind + extra + comment
        if signature != b"PK\1\2" or end > whole:
            raise _damaged(entries)
        raw = records[name:behind]
        start = offset + shift
        data = start + head + named
        if start < low or data > high:
            ahead = read(start, AHEAD if compressed <= NEAR else head + named)
            low, high = start, start + len(ahead)
        if (
            # From version to the lengths both headers have the same fields in the same order, and then the name.
            ahead.startswith(b"PK\3\4" + records[at + 6 : at + 32] + raw, start - low)
            and not (extra or flags & (ENCRYPTED | PATCHED | STREAMED))
            and needed <= NEWEST
            and (size == compressed if method == STORED else method == DEFLATED)
            and size <= (compressed + 8) * DEFLATE_LIMIT
            and data + compressed <= limit
            and size < FULL > compressed
            and raw.isascii()
        ):  # as almost every member is
            told = (
                len(entries), raw.decode(), method, crc, compressed, size, external, start, data, data + compressed,
                None, records[at:end],
            )  # fmt: skip
            entries.append(MADE(Entry, told))
        else:
            entry, differ = _member(read, directory, len(entries), records[at:end])
            entries.append(entry)
            if differ:
                message = f"its local header contradicts the directory: {', '.join(differ)}"
                problems.append(Problem(kind="disagreement", member=entry.name, message=message))
        at = end
    return tuple(entries), tuple(problems)


def _damaged(entries: list[Entry]) -> ArchiveError:
    return ArchiveError(f"the zip directory is damaged behind its record {len(entries)}")


def _member(
    read: Callable[[int, int], bytes], directory: Directory, index: int, record: bytes
) -> tuple[Entry, list[str] | None]:
    values = CENTRAL.unpack_from(record)
    _, _, _, flags, method, _, _, crc, compressed, size, named, extra, _, _, _, external, offset = values
    behind = CENTRAL.size + named
    raw = record[CENTRAL.size : behind]
    name = raw.decode("ascii") if raw.isascii() else decode(raw, flags)
    fields = record[behind : behind + extra] if extra else b""
    fault: tuple[Kind, str] | None
    differ: list[str] | None = None
    try:
        if FULL in (size, compressed, offset):
            size, compressed, offset = zip64_values(fields, (size, compressed, offset))
        start = offset + directory.shift
        header = read(start, LOCAL.size + named + SPARE)
        if header[:4] != b"PK\3\4" or start + LOCAL.size > directory.start:
            raise ValueError("there is no local header where the directory says")  # noqa: TRY301
        head = LOCAL.size + header[26] + (header[27] << 8) + header[28] + (header[29] << 8)
        data = start + head
        end = data + compressed
        if end > directory.start:
            raise ValueError("its data reach into the directory")  # noqa: TRY301
        fault = _refused(record[6], flags, fields) or _unreadable(flags, method, compressed, size)
        # From version to name length both headers have the same fields in the same order. The last conditions ask
        # whether there are extra fields that matter: ZIP64 goes with full sizes, "up" is the number of a Unicode path.
        alike = not flags & STREAMED and header.startswith(record[6:30], 4) and header.startswith(raw, LOCAL.size)
        bare = head == LOCAL.size + named and not extra
        plain = size < FULL and compressed < FULL and (bare or b"up" not in header[LOCAL.size + named : head] + fields)
        if not (alike and plain and head <= len(header)):
            header = read(start, head)
            true = (crc, size, compressed)
            differ = _compare(header, name, flags, method, true) + _unicode_path(fields, raw, name)
            length = _descriptor(read(end, min(24, directory.start - end)), header, true)
            if length < 0:
                differ.append("a data descriptor with other values")
            end += max(length, 0)
    except ValueError as error:
        start = data = end = 0
        fault = ("broken", str(error))
    problem = Problem(kind=fault[0], member=name, message=fault[1]) if fault else None
    told = (index, name, method, crc, compressed, size, external, start, data, end, problem, record)
    return MADE(Entry, told), differ


def _refused(needed: int, flags: int, extra: bytes) -> tuple[Kind, str] | None:
    """Say why Python's zipfile would not open the archive, or not this member, though its data could be read."""
    if needed > NEWEST:
        return "method", f"it asks for version {needed / 10} of the zip format, and installers know 6.3 at most"
    if flags & PATCHED:
        return "method", "it is said to be patched data (flag bit 5)"
    length = 0
    for number, content in extra_fields(extra):
        length += 4 + len(content)
        if number == UNICODE_PATH and len(content) < 5:
            return "broken", "its Unicode path field is too short"
    if len(extra) - length >= 4:
        return "broken", "its last extra field is longer than the directory's record"
    return None


def _unreadable(flags: int, method: int, compressed: int, size: int) -> tuple[Kind, str] | None:
    if flags & ENCRYPTED:
        return "encrypted", "it is encrypted"
    if method not in {STORED, DEFLATED}:
        name = METHODS.get(method, f"method {method}")
        return "method", f"it is compressed with {name}, and wheels hold stored and deflated members alone"
    if method == STORED and size != compressed:
        return "broken", f"it is stored, yet declares {size} bytes in {compressed}"
    if method == DEFLATED and size > (compressed + 8) * DEFLATE_LIMIT:
        return "broken", f"it declares {size} bytes, more than {compressed} deflated ones can hold"
    return None


def _compare(header: bytes, name: str, flags: int, method: int, true: tuple[int, int, int]) -> list[str]:
    """Say where a local header differs from the directory; `true` are its CRC, size and compressed size."""
    _, _, local_flags, local_method, _, _, crc, compressed, size, named, _ = LOCAL.unpack_from(header)
    raw, extra = header[LOCAL.size : LOCAL.size + named], header[LOCAL.size + named :]
    differ = []
    if decode(raw, local_flags) != name:
        differ.append(f"name {decode(raw, local_flags)!r}")
    if local_method != method:
        differ.append(f"method {local_method}")
    if (local_flags ^ flags) & 1:
        differ.append("encryption")
    try:
        size, compressed = zip64_values(extra, (size, compressed))
    except ValueError:
        differ.append("no ZIP64 sizes")
    told = zip(("CRC", "size", "compressed size"), (crc, size, compressed), true, strict=True)
    # 4.4.4: these fields "are set to zero in the local header", the descriptor has them
    streamed = local_flags & STREAMED
    differ += [
        f"{what} {value}, not {truth}" for what, value, truth in told if value != truth and (value or not streamed)
    ]
    return differ + _unicode_path(extra, raw, name)


def _descriptor(record: bytes, header: bytes, true: tuple[int, int, int]) -> int:
    """Give the length of the data descriptor (4.3.9) in `record`: 0 when there should be none, -1 when none fits.

    Its signature is optional, and its sizes have 8 bytes in ZIP64; writers do not agree on when that is.
    """
    if not header[6] & STREAMED:
        return 0
    crc, size, compressed = true
    wide = struct.pack("<I2Q", crc, compressed, size)
    forms = [DESCRIPTOR + wide, wide]
    if compressed < FULL and size < FULL:
        narrow = struct.pack("<3I", crc, compressed, size)
        extra = header[LOCAL.size + header[26] + (header[27] << 8) :]
        zip64 = any(number == ZIP64 for number, _ in extra_fields(extra))
        forms = [*forms, DESCRIPTOR + narrow, narrow] if zip64 else [DESCRIPTOR + narrow, narrow, *forms]
    return next((len(form) for form in forms if record.startswith(form)), -1)


def _unicode_path(extra: bytes, raw: bytes, name: str) -> list[str]:
    """Report a Unicode path field (4.6.9) with another name: readers prefer it when its CRC fits the plain name."""
    for number, content in extra_fields(extra):
        if number == UNICODE_PATH and len(content) >= 5 and int.from_bytes(content[1:5], "little") == zlib.crc32(raw):
            path = content[5:].decode("utf-8", "replace")
            return [] if path == name else [f"Unicode path {path!r}"]
    return []


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
