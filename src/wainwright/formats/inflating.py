"""Inflates members, block by block or at once, and holds each stream to what the directory declares of it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from functools import cache

from wainwright.formats.zipdirectory import STORED, Entry, MemberError
from wainwright.light import Any, Final

# Of one step of the inflater. Smaller ones keep threads waiting for each other, as between two steps one alone runs.
INPUT: Final = 1 << 18
OUTPUT: Final = 1 << 20


@cache
def fastest() -> Any:
    """Give a module with zlib's `decompressobj` and `crc32`; isal's is about twice as fast."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib
    return isal_zlib


def nearest() -> Any:
    """Give zlib, or isal once it is imported: that takes as long as zlib needs for half a megabyte."""
    return fastest() if fastest.cache_info().currsize else zlib


def inflated(entry: Entry, raw: Iterable[bytes]) -> Iterator[bytes]:
    """Inflate a member from blocks of compressed bytes; raises MemberError."""
    module = fastest()
    stream = module.decompressobj(-15)
    left = entry.compressed
    try:
        for block in raw:
            left -= len(block)
            rest = block
            while rest and not stream.eof:
                out = stream.decompress(rest, OUTPUT)
                rest = stream.unconsumed_tail
                if out:
                    yield out
            if stream.eof:
                break
        while not stream.eof:  # what did not fit into the last block of output
            out = stream.decompress(b"", OUTPUT)
            if not out:
                break
            yield out
    except module.error as error:
        raise MemberError(entry.name, f"its deflate stream is damaged ({error})") from error
    if not stream.eof:
        raise MemberError(entry.name, "its deflate stream is cut short")
    left += len(stream.unused_data)
    if left:
        raise MemberError(entry.name, f"its deflate stream ends {left} bytes before its compressed size")


def checked(entry: Entry, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Pass a member's blocks on; raises MemberError in the end where size or CRC differ."""
    crc32 = fastest().crc32
    size = crc = 0
    for block in blocks:
        size += len(block)
        if size > entry.size:
            raise MemberError(entry.name, f"it inflates to more than the {entry.size} bytes that it declares")
        crc = crc32(block, crc)
        yield block
    if size != entry.size:
        raise MemberError(entry.name, f"it inflates to {size} bytes and declares {entry.size}")
    if crc != entry.crc:
        raise MemberError(entry.name, f"its CRC is {crc:08x} and should be {entry.crc:08x}")


def at_once(entry: Entry, data: bytes, module: Any) -> bytes | None:
    """Give the bytes of a member that takes one step from all its compressed ones; None where anything differs."""
    if len(data) != entry.compressed:
        return None
    if entry.method != STORED:
        stream = module.decompressobj(-15)
        try:
            data = stream.decompress(data, entry.size + 1)
        except module.error:
            return None
        if not stream.eof or stream.unused_data:
            return None
    return data if len(data) == entry.size and module.crc32(data) == entry.crc else None
