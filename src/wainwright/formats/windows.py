"""A large ELF file of which only some windows are in memory: what the loader reads of it is a few percent.

The file goes by in blocks, once, for its hash. What its own headers point to is kept on the way; where more is asked
for, the reader is stopped by `Absent`, the file goes by again as far as it must, and the reader begins anew. So nothing
is read that was not kept, whatever the file says of itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from wainwright.formats.elfbytes import PT_DYNAMIC, PT_INTERP, PT_NOTE, Absent, ElfBytes, ElfError
from wainwright.light import Final

# Kept of every file: the head holds the tables of the dynamic section in nearly all, the tail what patchelf has moved.
HEAD: Final = (2 << 20, 8)  # at least so many bytes, or this part of the file
TAIL: Final = (1 << 20, 32)
ANNOUNCED: Final = 16 << 20  # what the headers point to, unless it is larger
BEFORE: Final = 1 << 20  # kept around what was asked for: tables that belong together lie together
BEHIND: Final = 4 << 20
MOST_LOOKS: Final = 16  # one is usual, two are rare
KEPT: Final = frozenset({PT_DYNAMIC, PT_INTERP, PT_NOTE})


class Windows:
    """Takes a file's blocks in order (`write`), then gives slices; `len` is the size that the file should have.

    Slices are cut at the file's end, as those of bytes are. Raises Absent for one that was not kept whole.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: list[tuple[int, bytearray]] = []
        self._wanted = [(0, min(size, _part(size, HEAD))), (max(0, size - _part(size, TAIL)), size)]
        self._at = 0
        self._looks = 0

    def __len__(self) -> int:
        return self._size

    def write(self, block: bytes) -> None:
        """Take the next block."""
        if not self._at:
            self._wanted = _merged([*self._wanted, *_announced(block, self._size)])
        begin, self._at = self._at, self._at + len(block)
        while self._wanted and self._wanted[0][0] < self._at:
            first, last = self._wanted[0]
            if first >= begin:
                self._kept.append((first, bytearray()))
            self._kept[-1][1].extend(memoryview(block)[max(first - begin, 0) : last - begin])
            if last > self._at:
                break
            del self._wanted[0]

    def look(self, absent: Absent, blocks: Iterable[bytes]) -> None:
        """Keep what was absent and what is around it, from the file's blocks once more; raises ElfError in the end."""
        self._looks += 1
        if self._looks > MOST_LOOKS:
            raise ElfError("its tables are scattered all over the file")
        begin, end = max(0, absent.begin - BEFORE), min(self._size, absent.end + BEHIND)
        kept, at = bytearray(), 0
        for block in blocks:
            kept += memoryview(block)[max(begin - at, 0) : max(end - at, 0)]
            at += len(block)
            if at >= end:
                break
        self._kept.append((begin, kept))

    def __getitem__(self, part: slice) -> memoryview:
        begin, end, _ = part.indices(self._size)
        kept, first = self.held(begin, end)
        return memoryview(kept)[begin - first : max(begin, end) - first]

    def find(self, sub: bytes, begin: int, end: int) -> int:
        """Find a subsequence between two offsets, as bytes do."""
        kept, first = self.held(begin, end)
        found = kept.find(sub, begin - first, end - first)
        return found + first if found >= 0 else -1

    def held(self, begin: int, end: int) -> tuple[bytearray, int]:
        """Give bytes that hold this part, and the offset of their first; raises Absent where it was not kept whole."""
        if begin >= end:
            return bytearray(), begin
        for first, kept in self._kept:
            if first <= begin and end <= first + len(kept):
                return kept, first
        raise Absent(begin, end)


def _part(size: int, share: tuple[int, int]) -> int:
    least, divisor = share
    return max(least, size // divisor)


def _merged(parts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(parts):
        if begin >= end:
            continue
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def _announced(start: bytes, size: int) -> list[tuple[int, int]]:
    """Say which parts the headers in a file's first block point to; none where they are not in it."""
    try:
        source = ElfBytes(start)
    except ElfError:
        return []
    parts = [(each.offset, each.offset + each.filesz) for each in source.segments if each.p_type in KEPT]
    parts.append((source.sections_at, source.sections_at + source.section_count * source.section_size))
    return [(min(begin, size), min(end, size)) for begin, end in parts if end - begin <= ANNOUNCED]
