"""The records of a zip archive as bytes: local headers, directory and end records, ZIP64 where sizes need it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from wainwright.formats.zipdirectory import CENTRAL, END, END64, FULL, LOCAL, LOCATOR, UNICODE_PATH, ZIP64, Entry
from wainwright.light import Final

FULLS: Final = FULL.to_bytes(4, "little")
UTF8: Final = 0x800  # 4.4.4 bit 11
UNIX: Final = 3 << 8  # 4.4.2: external attributes hold a Unix mode
DEFLATE_VERSION: Final = 20  # 4.4.3.2
ZIP64_VERSION: Final = 45


def encode(name: str, flags: int = 0) -> tuple[bytes, int]:
    """Give a name's bytes, and the flags with bit 11 as they need it."""
    raw = name.encode("utf-8", "surrogateescape")
    return raw, flags if raw.isascii() else flags | UTF8


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMember:
    """What the headers of a new member say; `stamp` is time and date in MS-DOS form."""

    name: str
    method: int
    stamp: tuple[int, int]
    crc: int
    compressed: int
    size: int
    external: int


def local_header(new: NewMember) -> bytes:
    """Make the local header (4.3.7) of a new member."""
    raw, flags = encode(new.name)
    compressed, size = new.compressed, new.size
    wide = _zip64(size, compressed) if max(size, compressed) >= FULL else b""
    shown = (FULL, FULL) if wide else (compressed, size)
    version = ZIP64_VERSION if wide else DEFLATE_VERSION
    return (
        LOCAL.pack(b"PK\3\4", version, flags, new.method, *new.stamp, new.crc, *shown, len(raw), len(wide)) + raw + wide
    )


def renamed_header(header: bytes, name: str) -> bytes:
    """Give a local header another name. The rest stays, but for a Unicode path field: it would repeat the old one."""
    fixed = list(LOCAL.unpack_from(header))
    raw, flags = encode(name, fixed[2])
    extra = _without(header[LOCAL.size + fixed[9] :], UNICODE_PATH)
    fixed[2], fixed[9], fixed[10] = flags, len(raw), len(extra)
    return LOCAL.pack(*fixed) + raw + extra


def central_record(new: NewMember, offset: int) -> bytes:
    """Make the directory record (4.3.12) of a new member."""
    raw, flags = encode(new.name)
    compressed, size = new.compressed, new.size
    values = [value for value in (size, compressed, offset) if value >= FULL]
    wide = _zip64(*values) if values else b""
    version = ZIP64_VERSION if wide else DEFLATE_VERSION
    fixed = CENTRAL.pack(
        b"PK\1\2", UNIX | version, version, flags, new.method, *new.stamp, new.crc,
        min(compressed, FULL), min(size, FULL), len(raw), len(wide), 0, 0, 0, new.external, min(offset, FULL),
    )  # fmt: skip
    return fixed + raw + wide


def copied_record(entry: Entry, name: str | None, offset: int) -> bytes:
    """Give a member's directory record its new offset, and its new name if any; all else stays as it is."""
    header = entry.header
    if name is None and offset < FULL and header.find(FULLS, 20, CENTRAL.size) < 0:
        return header[:42] + offset.to_bytes(4, "little") + header[46:]
    fixed = list(CENTRAL.unpack_from(header))
    raw, extra = entry.raw_name, entry.extra
    comment = header[CENTRAL.size + len(raw) + len(extra) :]
    if name is not None:
        raw, fixed[3] = encode(name, fixed[3])
        extra = _without(extra, UNICODE_PATH)
    before = FULL in {fixed[8], fixed[9], fixed[16]}
    # Sizes that stood in the ZIP64 field stay there; the offset goes there only when it must.
    wide = [value for value, shown in ((entry.size, fixed[9]), (entry.compressed, fixed[8])) if shown == FULL]
    if offset >= FULL:
        wide.append(offset)
        fixed[2] = max(fixed[2], ZIP64_VERSION)
    if before or wide:
        extra = (_zip64(*wide) if wide else b"") + _without(extra, ZIP64)
    fixed[10], fixed[11], fixed[16] = len(raw), len(extra), min(offset, FULL)
    return CENTRAL.pack(*fixed) + raw + extra + comment


def moved_records(entries: Sequence[Entry], at: int) -> list[bytes]:
    """Give the directory records of adjacent members, the first of which lies at `at` in the new archive."""
    first = entries[0]
    if int.from_bytes(first.header[42:46], "little") == first.start == at:  # as in most copies: no offset changes
        return [entry.header for entry in entries]
    return [copied_record(entry, None, entry.start + at - first.start) for entry in entries]


def end_records(count: int, size: int, offset: int, comment: bytes) -> bytes:
    """Make what ends an archive: the ZIP64 records (4.3.14, 4.3.15) when a value needs them, and the plain one."""
    wide = b""
    if count >= 0xFFFF or size >= FULL or offset >= FULL:
        version = ZIP64_VERSION
        wide = END64.pack(b"PK\6\6", END64.size - 12, UNIX | version, version, 0, 0, count, count, size, offset)
        wide += LOCATOR.pack(b"PK\6\7", 0, offset + size, 1)
    few, small, near = min(count, 0xFFFF), min(size, FULL), min(offset, FULL)
    return wide + END.pack(b"PK\5\6", 0, 0, few, few, small, near, len(comment)) + comment


def _zip64(*values: int) -> bytes:
    return struct.pack(f"<2H{len(values)}Q", ZIP64, 8 * len(values), *values)


def _without(extra: bytes, unwanted: int) -> bytes:
    """Leave one extra field out; bytes behind the last whole field stay."""
    kept = b""
    at = 0
    while at + 4 <= len(extra):
        number, length = struct.unpack_from("<2H", extra, at)
        end = at + 4 + length
        if end > len(extra):
            break
        kept += b"" if number == unwanted else extra[at:end]
        at = end
    return kept + extra[at:]
