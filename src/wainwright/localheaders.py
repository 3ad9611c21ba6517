"""Whether the local headers and data descriptors say what the zip directory says, and share the file without overlap.

Some installers read the directory, others the stream of local headers; a wheel must be the same to both.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from wainwright.zipdirectory import (
    FULL,
    LOCAL,
    UNICODE_PATH,
    ZIP64,
    Directory,
    Entry,
    Problem,
    decode,
    extra_fields,
    shown,
    zip64_values,
)

DESCRIPTOR: Final = b"PK\7\x08"


def check_local_headers(
    read: Callable[[int, int], bytes], directory: Directory, entries: tuple[Entry, ...]
) -> tuple[tuple[Entry, ...], tuple[Problem, ...]]:
    """Compare every local header with the directory; give the entries with their true `end`, and what is wrong."""
    checked = []
    problems = []
    for entry in entries:
        if not entry.end:
            checked.append(entry)
            continue
        end, differ = _compare(read, directory, entry)
        checked.append(replace(entry, end=end) if end != entry.end else entry)
        if differ:
            message = f"its local header contradicts the directory: {', '.join(differ)}"
            problems.append(Problem(kind="disagreement", member=entry.name, message=message))
    problems += _layout_problems(directory, checked, {problem.member for problem in problems})
    return tuple(checked), tuple(problems)


def _compare(read: Callable[[int, int], bytes], directory: Directory, entry: Entry) -> tuple[int, list[str]]:
    header = read(entry.start, entry.data - entry.start)
    _, _, flags, method, _, _, crc, compressed, size, named, _ = LOCAL.unpack_from(header)
    raw, extra = header[LOCAL.size : LOCAL.size + named], header[LOCAL.size + named :]
    name = decode(raw, flags)
    differ = []
    if name != entry.name:
        differ.append(f"name {name!r}")
    if method != entry.method:
        differ.append(f"method {method}")
    if (flags ^ entry.flags) & 1:
        differ.append("encryption")
    try:
        size, compressed = zip64_values(extra, (size, compressed))
    except ValueError:
        differ.append("no ZIP64 sizes")
    streamed = bool(flags & 8)
    told = (("CRC", crc, entry.crc), ("size", size, entry.size), ("compressed size", compressed, entry.compressed))
    # 4.4.4 bit 3: these fields "are set to zero in the local header", the descriptor has them
    differ += [f"{what} {value}, not {true}" for what, value, true in told if value != true and (value or not streamed)]
    end = entry.end
    if streamed:
        length = _descriptor(read(end, min(24, directory.start - end)), entry, extra)
        if not length:
            differ.append("a data descriptor with other values")
        end += length
    paths = (_unicode_path(extra, raw), _unicode_path(entry.extra, entry.raw_name))
    differ += [f"Unicode path {path!r}" for path in paths if path not in {None, entry.name}]
    return end, differ


def _descriptor(record: bytes, entry: Entry, extra: bytes) -> int:
    """Give the length of the data descriptor (4.3.9) that begins here, 0 when none fits the directory's values.

    Its signature is optional, and its sizes have 8 bytes in ZIP64; writers do not agree on when that is.
    """
    wide = struct.pack("<I2Q", entry.crc, entry.compressed, entry.size)
    forms = [DESCRIPTOR + wide, wide]
    if entry.compressed < FULL and entry.size < FULL:
        narrow = struct.pack("<3I", entry.crc, entry.compressed, entry.size)
        zip64 = any(number == ZIP64 for number, _ in extra_fields(extra))
        forms = [*forms, DESCRIPTOR + narrow, narrow] if zip64 else [DESCRIPTOR + narrow, narrow, *forms]
    return next((len(form) for form in forms if record.startswith(form)), 0)


def _layout_problems(directory: Directory, entries: list[Entry], guilty: set[str | None]) -> Iterator[Problem]:
    """Report members that share bytes, and bytes that belong to no member.

    Of two that overlap the one is named that contradicts the directory anyway, else the one that reaches into the
    other: a hidden archive inside a member's data makes that member a lie.
    """
    located = sorted((entry for entry in entries if entry.end), key=lambda entry: (entry.start, entry.index))
    known = len(located) == len(entries)
    at, last = directory.shift, None
    for entry in located:
        if last and entry.start < at:
            known = False
            blamed = entry if entry.name in guilty or entry.start == last.start else last
            other = last if blamed is entry else entry
            message = f"it shares bytes of the archive with {shown(other.name)}"
            yield Problem(kind="overlap", member=blamed.name, message=message)
        elif entry.start > at and known:
            yield _gap(at, entry.start)
        if entry.end > at:
            at, last = entry.end, entry
    if known and directory.start > at:
        yield _gap(at, directory.start)


def _gap(start: int, end: int) -> Problem:
    return Problem(kind="archive", member=None, message=f"{end - start} bytes at {start} belong to no member")


def _unicode_path(extra: bytes, raw: bytes) -> str | None:
    """Give the name in the Unicode path field (4.6.9), which readers prefer when its CRC fits the plain name."""
    import zlib  # noqa: PLC0415  (few archives have such a field)

    for number, content in extra_fields(extra):
        if number == UNICODE_PATH and len(content) >= 5 and int.from_bytes(content[1:5], "little") == zlib.crc32(raw):
            return content[5:].decode("utf-8", "replace")
    return None
