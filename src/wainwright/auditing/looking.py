"""A member as ELF: what the loader reads of it, and of its symbols those that a judgement asks for."""

from __future__ import annotations

import re
from collections.abc import Callable

from wainwright.formats.archive import Archive, Entry
from wainwright.formats.elf import Elf, ElfError, read_elf
from wainwright.formats.elfbytes import PT_LOAD, Absent
from wainwright.formats.elfdynamic import DT_STRSZ, DT_STRTAB
from wainwright.formats.symbols import Symbol, read_symbols
from wainwright.formats.windows import Windows
from wainwright.light import Final, NamedTuple

PYTHON_PREFIXES: Final = ("Py", "_Py")
PYTHON_NAME: Final = re.compile(rb"Py[A-Z_]")


class Wanted(NamedTuple):
    """Which symbols of a member are asked for: needs of these versions, undefined ones of these names, Python's."""

    versions: frozenset[str]
    names: frozenset[str]
    python: bool

    def takes(self, symbol: Symbol) -> bool:
        if self.python and symbol.name.startswith(PYTHON_PREFIXES):
            return True
        if symbol.library is not None and symbol.version in self.versions:
            return True
        return symbol.name in self.names and not symbol.defined and not symbol.weak


# Says which symbols of a member are wanted, by its place in the directory.
Interest = Callable[[Elf, int], Wanted]


def look(
    archive: Archive, entry: Entry, data: bytes | Windows, interest: Interest
) -> tuple[Elf | None, tuple[Symbol, ...], bool, str | None]:
    """Give a member as ELF, its wanted symbols, whether Python can import it, and what cannot be read of it.

    `data` are its bytes; as often as some are absent, it is inflated once more as far as they lie. Raises MemberError.
    """
    elf: Elf | None = None
    symbols: tuple[Symbol, ...] = ()
    try:
        while True:
            try:
                elf = elf or read_elf(data)
                wanted, names = interest(elf, entry.order), _names(elf)
                if any(wanted):
                    symbols = _symbols(data, elf, wanted, names)
                return elf, symbols, is_extension(data, entry.name, names), None
            except Absent as absent:
                if not isinstance(data, Windows):
                    raise
                data.look(absent, archive.inflate(entry))
    except ElfError as error:
        return elf, symbols, False, str(error)


def _symbols(data: bytes | Windows, elf: Elf, wanted: Wanted, names: tuple[int, int]) -> tuple[Symbol, ...]:
    """Read what is wanted; most tables are not read at all."""
    begin, end = names
    python = wanted.python and PYTHON_NAME.search(data[begin:end]) is not None
    try:
        starts = (*(PYTHON_PREFIXES if python else ()), *(f"{name}\0" for name in wanted.names))
        if not (starts or wanted.versions):
            return ()
        found = read_symbols(data, elf, undefined_only=not python, versions=wanted.versions, prefixes=starts)
        return tuple(filter(wanted.takes, found))
    except ElfError:
        return ()  # names are for people; what the loader asks for is in the version needs


def is_extension(data: bytes | Windows, member: str, names: tuple[int, int]) -> bool:
    """Whether a member names the function that Python calls in it: "PyInit_" and the module's name (PEP 3121)."""
    module = member.rpartition("/")[2].partition(".")[0]
    return data.find(f"\0PyInit_{module}\0".encode("utf-8", "surrogateescape"), *names) >= 0


def _names(elf: Elf) -> tuple[int, int]:
    """Say where the dynamic string table begins and ends in the file; (0, 0) where there is none."""
    tags = elf.tags
    address = tags.get(DT_STRTAB, -1)
    for segment in elf.segments:
        if segment.p_type == PT_LOAD and 0 <= address - segment.vaddr < segment.filesz:
            at = segment.offset + address - segment.vaddr
            return min(at, elf.size), min(at + tags.get(DT_STRSZ, 0), elf.size)
    return 0, 0
