"""The dynamic section of an ELF file: libraries, search paths, version needs and definitions, flags.

It is read as the loader reads it: at its address rather than its offset, the last of equal tags counts, lists of
versions are followed link by link. Links only lead forward, so that no list can be without end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from operator import itemgetter

from wainwright.formats.elfbytes import ElfBytes, ElfError, Segment, string_at
from wainwright.light import Any, Final, NamedTuple

DT_NEEDED: Final = 1
DT_STRTAB: Final = 5
DT_STRSZ: Final = 10
DT_SONAME: Final = 14
DT_RPATH: Final = 15
DT_TEXTREL: Final = 22
DT_RUNPATH: Final = 29
DT_FLAGS: Final = 30
DT_RELR: Final = 36
DT_FLAGS_1: Final = 0x6FFFFFFB
DT_FILTER: Final = 0x7FFFFFFF
DT_VERDEF: Final = 0x6FFFFFFC
DT_VERNEED: Final = 0x6FFFFFFE
DF_TEXTREL: Final = 0x4
DF_STATIC_TLS: Final = 0x10
DF_1_PIE: Final = 0x08000000
LIBRARIES: Final = frozenset({DT_NEEDED, DT_FILTER})
VER_FLG_BASE: Final = 1
VER_FLG_WEAK: Final = 2

MAX_ENTRIES: Final = 1 << 14
STRING_BUDGET: Final = 4 << 20  # of all names together: overlapping strings must not make megabytes out of kilobytes
MAX_VERSIONS: Final = 1 << 15  # a version index has 15 bits


class VersionNeed(NamedTuple):
    """One entry of DT_VERNEED: `library` must define `version`, or, where it is weak, a warning is all that follows."""

    library: str
    version: str
    weak: bool
    number: int = 0  # what DT_VERSYM calls it


class Strings:
    """DT_STRTAB, found when the first name is asked for. A name that is asked for twice is read once."""

    __slots__ = ("_begin", "_bytes", "_end", "_known", "_left", "_source", "_tags")

    def __init__(self, source: ElfBytes, tags: Mapping[int, int]) -> None:
        self._source = source
        self._tags = tags
        self._known: dict[int, str] = {}
        self._bytes: bytes | bytearray = b""
        self._begin, self._end = 0, 0
        self._left = STRING_BUDGET

    def bounds(self) -> tuple[int, int]:
        """Say where the table begins and ends in the file."""
        if DT_STRTAB not in self._tags:
            raise ElfError("the dynamic section names things, but no string table")
        at, room = self._source.locate(self._tags[DT_STRTAB], "the dynamic string table")
        end = at + min(room, self._tags.get(DT_STRSZ, room))
        self._source.view[at:end]  # of a file that is not all in memory, the table is wanted whole
        return at, end

    def get(self, offset: int, what: str) -> str:
        """Read the name at an offset into the table; `what` it is, for the error."""
        known = self._known.get(offset)
        if known is None:
            if not self._end:
                begin, end = self.bounds()
                self._bytes, first = self._source.held(begin, end)
                self._begin, self._end = begin - first, end - first
            self._known[offset] = known = string_at(self._bytes, self._begin + offset, self._end, what)
            self._left -= len(known)
            if self._left < 0:
                raise ElfError(f"its names take more than {STRING_BUDGET >> 20} MB")
        return known


def read_dynamic(source: ElfBytes, segment: Segment) -> dict[str, Any]:
    """Give the fields of `Elf` that come from the dynamic section."""
    entries = _entries(source, segment)
    tags = dict(entries)
    strings = Strings(source, tags)
    flags = tags.get(DT_FLAGS, 0)
    return {
        "dynamic": True,
        "tags": tags,
        "soname": strings.get(tags[DT_SONAME], "DT_SONAME") if DT_SONAME in tags else None,
        # glibc opens what DT_FILTER names as well, and fails without it; DT_AUXILIARY's may be absent
        "needed": tuple([strings.get(value, "a DT_NEEDED") for tag, value in entries if tag in LIBRARIES]),
        "rpath": _path(strings, tags, DT_RPATH, "DT_RPATH"),
        "runpath": _path(strings, tags, DT_RUNPATH, "DT_RUNPATH"),
        "needs": tuple(_needs(source, tags[DT_VERNEED], strings)) if tags.get(DT_VERNEED) else (),
        "definitions": tuple([name for _, name, base in read_definitions(source, tags) if not base])
        if DT_VERDEF in tags
        else (),
        "static_tls": bool(flags & DF_STATIC_TLS),
        "text_relocations": bool(flags & DF_TEXTREL) or DT_TEXTREL in tags,
        "packed_relocations": DT_RELR in tags,
        "pie": bool(tags.get(DT_FLAGS_1, 0) & DF_1_PIE),
    }


def _entries(source: ElfBytes, segment: Segment) -> tuple[tuple[int, int], ...]:
    at, room = segment.offset, segment.filesz
    if source.loads:
        at, room = source.locate(segment.vaddr, "the dynamic section")
    form = source.layout.dynamic
    count = min(room, max(segment.filesz, segment.memsz)) // form.size
    count = min(count, MAX_ENTRIES)
    table = source.slice(at, count * form.size, "the dynamic section")
    entries: Any = form.iter_unpack(table)
    found = tuple(takewhile(itemgetter(0), entries))  # DT_NULL is 0
    if len(found) == MAX_ENTRIES:
        raise ElfError(f"the dynamic section has more than {MAX_ENTRIES} entries")
    return found


def _path(strings: Strings, tags: Mapping[int, int], tag: int, what: str) -> tuple[str, ...]:
    if tag not in tags:
        return ()
    return tuple(part for part in strings.get(tags[tag], what).split(":") if part)


def _needs(source: ElfBytes, address: int, strings: Strings) -> Iterator[VersionNeed]:
    at, room = source.locate(address, "the table of version needs")
    end = at + room
    need, entry = source.layout.need, source.layout.need_entry
    count = 0
    while True:
        file, auxiliary, following = _within(source, need, at, end, "a version need")
        library = strings.get(file, "the library of a version need")
        link = at + auxiliary
        while True:
            flags, index, name, step = _within(source, entry, link, end, "a version need")
            count += 1
            if count > MAX_VERSIONS:
                raise ElfError(f"it needs more than {MAX_VERSIONS} versions")
            version = strings.get(name, "the version of a need")
            yield VersionNeed(library, version, bool(flags & VER_FLG_WEAK), index & 0x7FFF)
            if not step:
                break
            link += step
        if not following:
            return
        at += following


def read_definitions(source: ElfBytes, tags: Mapping[int, int]) -> Iterator[tuple[int, str, bool]]:
    """Give index, name and whether it is the file's own name (VER_FLG_BASE) of each version that the file defines."""
    if not tags.get(DT_VERDEF):
        return
    strings = Strings(source, tags)
    at, room = source.locate(tags[DT_VERDEF], "the table of version definitions")
    end = at + room
    for _ in range(MAX_VERSIONS):
        found = _within(source, source.layout.definition, at, end, "a version definition")
        flags, index, auxiliary, following = found
        (name,) = _within(source, source.layout.definition_entry, at + auxiliary, end, "a version definition")
        yield index & 0x7FFF, strings.get(name, "the name of a version definition"), bool(flags & VER_FLG_BASE)
        if not following:
            return
        at += following
    raise ElfError(f"it defines more than {MAX_VERSIONS} versions")


def _within(source: ElfBytes, form: Any, at: int, end: int, what: str) -> tuple[Any, ...]:
    if at + form.size > end:
        raise ElfError(f"{what} at {at:#x} reaches beyond its segment's end at {end:#x}")
    return source.unpack(form, at, what)
