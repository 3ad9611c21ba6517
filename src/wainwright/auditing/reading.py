"""One member of a wheel: inflated once, hashed in that pass, and read as ELF where it is one.

Of a large ELF member only what the loader reads is kept, and of what is no ELF nothing: memory does not grow with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from wainwright.formats.archive import Archive, Entry, MemberError
from wainwright.formats.elf import Elf, ElfError, looks_like_elf, read_elf
from wainwright.formats.elfbytes import PT_LOAD, Absent
from wainwright.formats.elfdynamic import DT_STRSZ, DT_STRTAB
from wainwright.formats.symbols import Symbol, read_symbols
from wainwright.formats.windows import DENSE, Windows
from wainwright.light import dataclass

T = TypeVar("T")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member as it was read. `problem` says why it could not be, `elf_problem` why it is no readable ELF file."""

    name: str
    order: int  # its place in the directory
    size: int
    algorithm: str
    digest: bytes
    elf: Elf | None = None
    symbols: tuple[Symbol, ...] = ()
    extension: bool = False  # Python can import it: it has the module's PyInit function
    problem: str | None = None
    elf_problem: str | None = None
    script: bool = False  # linker commands, where a library's name would have one expect a library


def read_member(archive: Archive, entry: Entry, algorithm: str, interest: Interest) -> Member:
    """Read one member; what is wrong with it is told in the result."""
    first: list[bytes] = []

    def keep(block: bytes) -> bool:
        first.append(block[:4096])
        return looks_like_elf(block)

    windows = Windows(entry.size) if entry.size > DENSE else None
    elf: Elf | None = None
    symbols: tuple[Symbol, ...] = ()
    extension = False
    problem: str | None = None
    try:
        read = archive.digest(entry, algorithm=algorithm, keep=keep, sink=windows)
        if first and looks_like_elf(first[0]):
            look = _Look(archive, entry, windows if windows is not None else read.data or b"")
            elf = look.at(read_elf)
            wanted, names = interest(elf, entry.order), _names(elf)
            if any(wanted):
                symbols = look.at(lambda data: _symbols(data, elf, wanted, names))
            extension = look.at(lambda data: is_extension(data, entry.name, names))
    except MemberError as error:
        return Member(
            name=entry.name, order=entry.order, size=entry.size, algorithm=algorithm, digest=b"", problem=error.what
        )
    except ElfError as error:
        problem = str(error)
    return Member(
        name=entry.name,
        order=entry.order,
        size=entry.size,
        algorithm=algorithm,
        digest=read.hash,
        elf=elf,
        symbols=symbols,
        extension=extension,
        elf_problem=problem,
        script=elf is None and ".so" in entry.name and bool(first) and is_linker_script(first[0]),
    )


class _Look(NamedTuple):
    """A member's bytes, and how to come by those that are not in memory."""

    archive: Archive
    entry: Entry
    data: bytes | Windows

    def at(self, read: Callable[[bytes | Windows], T]) -> T:
        """Read; as often as something is absent, inflate once more as far as it lies, and read from the start."""
        while True:
            try:
                return read(self.data)
            except Absent as absent:
                if not isinstance(self.data, Windows):
                    raise
                self.data.look(absent, self.archive.inflate(self.entry))


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
    return data.find(f"\0PyInit_{module}\0".encode(), *names) >= 0


def _names(elf: Elf) -> tuple[int, int]:
    """Say where the dynamic string table begins and ends in the file; (0, 0) where there is none."""
    tags = dict(elf.tags)
    address = tags.get(DT_STRTAB, -1)
    for segment in elf.segments:
        if segment.p_type == PT_LOAD and 0 <= address - segment.vaddr < segment.filesz:
            at = segment.offset + address - segment.vaddr
            return min(at, elf.size), min(at + tags.get(DT_STRSZ, 0), elf.size)
    return 0, 0


def is_linker_script(start: bytes) -> bool:
    """Whether a file that begins so is text for ld: GNU ld takes any file that is no object for a script."""
    return b"\0" not in start and any(word in start for word in (b"GNU ld script", b"INPUT", b"GROUP"))
