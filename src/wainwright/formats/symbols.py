"""The dynamic symbols of an ELF file, read only when a rule must name them: which need which version of which library.

The table has no length of its own: the hash tables tell it, else the section headers, else where the next table begins.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import repeat

from wainwright.formats.elf import ET_EXEC, Elf
from wainwright.formats.elfbytes import ElfBytes, ElfError, Sliced
from wainwright.formats.elfdynamic import Strings, read_definitions
from wainwright.light import Final, NamedTuple

__all__ = ["Symbol", "read_symbols"]

DT_HASH: Final = 4
DT_STRTAB: Final = 5
DT_SYMTAB: Final = 6
DT_RELA: Final = 7
DT_INIT: Final = 12
DT_FINI: Final = 13
DT_REL: Final = 17
DT_JMPREL: Final = 23
DT_GNU_HASH: Final = 0x6FFFFEF5
DT_VERSYM: Final = 0x6FFFFFF0
DT_VERDEF: Final = 0x6FFFFFFC
DT_VERNEED: Final = 0x6FFFFFFE
TABLES: Final = (DT_HASH, DT_STRTAB, DT_RELA, DT_REL, DT_JMPREL, DT_GNU_HASH, DT_VERSYM, DT_VERDEF, DT_VERNEED)
SHT_DYNSYM: Final = 11
STB_WEAK: Final = 2
WIDE_HASHES: Final = {(22, 64), (0x9026, 64)}  # s390x and Alpha: DT_HASH is of 64-bit words
NO_NEED: Final[tuple[str | None, str | None]] = (None, None)
MAX_SYMBOLS: Final = 1 << 24
MAX_NAME: Final = 1 << 16  # C++ and Rust mangle thousands of characters into one
FEW: Final = 8  # versions to look for one after the other
CHAIN: Final = 1 << 12  # read of a chain of DT_GNU_HASH at a time, in bytes; nearly all have a few words
NAMES_SLACK: Final = 1 << 20


class Symbol(NamedTuple):
    """One global dynamic symbol.

    `library` is set where the version is a need: of an undefined symbol, and of one that a program copies to itself
    (`stdout` in a position-dependent program: `defined` is true).
    """

    name: str
    defined: bool
    weak: bool
    version: str | None
    library: str | None


def read_symbols(
    data: bytes | memoryview | Sliced,
    elf: Elf,
    *,
    undefined_only: bool = False,
    versions: frozenset[str] | None = None,
    prefixes: tuple[str, ...] = (),
) -> tuple[Symbol, ...]:
    """Read the global symbols of DT_SYMTAB with their versions; raises ElfError for tables that cannot be followed.

    `elf` is what `read_elf` gave for the same bytes. With `undefined_only`, own definitions are left out, but for those
    that a program copies from a library; with `versions`, all that neither need one of these nor have a name that
    begins with one of `prefixes`.
    """
    tags = elf.tags
    if DT_SYMTAB not in tags:
        return ()
    source = ElfBytes(data)
    at, room = source.locate(tags[DT_SYMTAB], "the dynamic symbol table")
    size = source.layout.symbol.size
    count, exact = _count(source, tags, room // size)
    if exact and count * size > room:
        raise ElfError(f"the dynamic symbol table has {count} symbols by its hash table, and room for {room // size}")
    names = _Names(source, tags, lenient=not exact)
    starts = tuple(prefix.encode() for prefix in prefixes)
    needs = {need.number: (need.version, need.library) for need in elf.needs if need.number > 1}
    own = {number: name for number, name, base in read_definitions(source, tags) if not base}
    found: list[Symbol] = []
    table = source.view[at : at + count * size]
    numbers = _numbers(source, tags, len(table) // size)
    places: Iterable[int] = range(len(numbers))
    if undefined_only and (starts or versions is None) and not (elf.interpreter or elf.kind == ET_EXEC):
        places = _undefined(source, table)
    elif versions is not None:
        places = _places(numbers, [number for number, (version, _) in needs.items() if version in versions])
        named = _named(source, table, names.offsets(starts)) if starts else ()
        places = sorted({*places, *named})
    unpack = source.layout.symbol.unpack_from
    for place in places:
        offset, info, section = unpack(table, place * size)
        number = numbers[place]
        if info < 0x10 or not offset:  # STB_LOCAL, or no name
            continue
        version, library = needs.get(number & 0x7FFF, NO_NEED)  # the top bit hides a version that is not the default
        needed = versions is None or (library is not None and version in versions)
        if not (needed or names.begins(offset, starts)):
            continue
        if section and undefined_only and library is None:
            continue
        version = own.get(number & 0x7FFF) if section and library is None else version
        name = names.get(offset)
        if name is None:
            break
        found.append(Symbol(name, section != 0, info >> 4 == STB_WEAK, version, library))
    return tuple(found)


def _places(numbers: array[int], wanted: Sequence[int]) -> list[int]:
    """Say where any of these numbers is, hidden or not."""
    if len(wanted) > FEW:
        every = frozenset(wanted)
        return [place for place, number in enumerate(numbers) if number & 0x7FFF in every]
    places = []
    for number in (each | hidden for each in wanted for hidden in (0, 0x8000)):
        place = -1
        with suppress(ValueError):
            while True:  # many times as fast as a loop over all
                place = numbers.index(number, place + 1)
                places.append(place)
    return places


def _named(source: ElfBytes, table: memoryview, offsets: set[int]) -> list[int]:
    """Say which symbols have their name (st_name, the first word) at any of these offsets."""
    words = _array(source, "I", table)[:: source.layout.symbol.size // 4]
    return [place for place, word in enumerate(words) if word in offsets]


def _undefined(source: ElfBytes, table: memoryview) -> Iterator[int]:
    """Say which symbols have no section (st_shndx 0), by the two columns of its bytes."""
    size = source.layout.symbol.size
    at = 6 if source.bits == 64 else 14
    one, other = bytes(table[at::size]), bytes(table[at + 1 :: size])
    place = one.find(0)
    while 0 <= place < len(other):
        if not other[place]:
            yield place
        place = one.find(0, place + 1)


def _numbers(source: ElfBytes, tags: Mapping[int, int], count: int) -> array[int]:
    """Give DT_VERSYM: for each symbol the number of its version; 0 and 1 are those without, the top bit hides one."""
    at, room = source.locate(tags[DT_VERSYM], "the table of symbol versions") if DT_VERSYM in tags else (0, 0)
    numbers = _array(source, "H", source.view[at : at + min(2 * count, room)])
    numbers.extend(repeat(0, count - len(numbers)))
    return numbers


def _array(source: ElfBytes, code: str, table: memoryview) -> array[int]:
    """Give a table of numbers ("H" of 16 bits, "I" of 32) in the machine's own order."""
    numbers = array(code)
    numbers.frombytes(table[: len(table) // numbers.itemsize * numbers.itemsize])
    if source.little != (sys.byteorder == "little"):
        numbers.byteswap()
    return numbers


class _Names:
    """Names of symbols; equal offsets are one string, and what they take together is bounded by the table's size."""

    def __init__(self, source: ElfBytes, tags: Mapping[int, int], *, lenient: bool) -> None:
        begin, end = Strings(source, tags).bounds()
        self._bytes, first = source.held(begin, end)
        self._begin, self._end = begin - first, end - first
        self._known: dict[int, str] = {}
        self._left = 4 * (end - begin) + NAMES_SLACK  # linkers let a name be another's tail
        self._lenient = lenient

    def begins(self, offset: int, starts: tuple[bytes, ...]) -> bool:
        """Whether the name at an offset begins with one of these."""
        return self._bytes.startswith(starts, self._begin + offset, self._end)

    def offsets(self, starts: tuple[bytes, ...]) -> set[int]:
        """Say at which offsets one of these stands: all that a name which begins with it can have."""
        found = set()
        for start in starts:
            at = self._bytes.find(start, self._begin, self._end)
            while at >= 0:
                found.add(at - self._begin)
                at = self._bytes.find(start, at + 1, self._end)
        return found

    def get(self, offset: int) -> str | None:
        """Give the name at an offset; None where the table's length was a guess, and this is beyond it."""
        known = self._known.get(offset)
        if known is not None:
            return known
        at = self._begin + offset
        stop = self._bytes.find(0, at, min(at + MAX_NAME, self._end))
        if stop < 0:
            if self._lenient:
                return None
            raise ElfError("the name of a symbol lies outside the string table, or has no end")
        self._left -= stop - at
        if self._left < 0:
            raise ElfError("the names of its symbols overlap beyond reason")
        name = self._bytes[at:stop].decode("utf-8", "backslashreplace")
        self._known[offset] = name
        return name


def _count(source: ElfBytes, tags: Mapping[int, int], most: int) -> tuple[int, bool]:
    """Give the number of symbols, and whether that is known rather than guessed."""
    count = 0
    if DT_HASH in tags:
        form = source.layout.dynamic if (source.machine, source.bits) in WIDE_HASHES else source.layout.hash
        at, _ = source.locate(tags[DT_HASH], "the hash table")
        count = source.unpack(form, at, "the hash table")[1]
    elif DT_GNU_HASH in tags:
        count = _gnu_count(source, tags[DT_GNU_HASH])
    if count > MAX_SYMBOLS:
        raise ElfError(f"its hash table speaks of {count} symbols")
    if count:
        return count, True
    for kind, _, address, _, length, _ in source.sections():
        if kind == SHT_DYNSYM and address == tags[DT_SYMTAB]:
            return min(length // source.layout.symbol.size, most, MAX_SYMBOLS), False
    begin = tags[DT_SYMTAB]
    above = [tags[tag] - begin for tag in TABLES if tags.get(tag, 0) > begin]
    return min(min(above, default=0) // source.layout.symbol.size, most, MAX_SYMBOLS), False


def _gnu_count(source: ElfBytes, address: int) -> int:
    """Count by the last chain of DT_GNU_HASH; 0 where it holds no symbol, and so does not know of undefined ones."""
    word = source.layout.word
    at, room = source.locate(address, "the GNU hash table")
    end = at + room
    buckets, first, bloom = source.unpack(source.layout.gnu_hash, at, "the GNU hash table")
    at += 16 + bloom * source.bits // 8
    if at + 4 * buckets > end:
        raise ElfError("the GNU hash table reaches beyond its segment's end")
    table = source.view[at : at + 4 * buckets]
    last = max(_array(source, "I", table), default=0)
    if last < max(first, 1):
        return 0
    begin = at + 4 * buckets + 4 * (last - first)
    while begin + 4 <= end:
        for (value,) in word.iter_unpack(source.view[begin : begin + min(CHAIN, (end - begin) // 4 * 4)]):
            last += 1
            if value & 1:
                return last
        begin += CHAIN
    raise ElfError("a chain of the GNU hash table has no end")
