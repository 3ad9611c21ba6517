"""One pass over a wheel: each member inflated once, hashed, and read as ELF where it is one; members in parallel.

Of a large ELF member only what the loader reads is kept, and of what is no ELF nothing: memory does not grow with them.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from threading import Thread
from typing import Final, NamedTuple, TypeVar

from wainwright.formats.archive import Archive, Entry, MemberError, Problem
from wainwright.formats.elf import ET_DYN, ET_EXEC, Elf, ElfError, looks_like_elf, read_elf
from wainwright.formats.elfbytes import PT_LOAD, Absent
from wainwright.formats.elfdynamic import DT_STRSZ, DT_STRTAB
from wainwright.formats.symbols import Symbol, read_symbols
from wainwright.formats.windows import DENSE, Windows
from wainwright.light import dataclass

T = TypeVar("T")

MOST_WORKERS: Final = 8
SMALL: Final = 1 << 17  # inflating and hashing takes longer from here on than what is between
TEXT_LIMIT: Final = 64 << 20  # RECORD of the largest wheels has 5 MB

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """Everything that was read from one wheel. `texts` holds the members of its dist-info that were asked for."""

    path: Path
    size: int
    sha256: str
    members: tuple[Member, ...]
    problems: tuple[Problem, ...]
    by_name: Mapping[str, Member]
    objects: tuple[tuple[Member, Elf], ...]  # ELF members that a loader could load


def inspect(
    archive: Archive, *, interest: Interest, algorithms: Mapping[str, str], workers: int | None = None
) -> Inspection:
    """Read every member of an archive that was opened `hashed`.

    `algorithms` names the hash of each member where it is not sha256.
    """
    entries = [entry for entry in archive.entries if not entry.is_directory]
    count = workers or min(MOST_WORKERS, len(os.sched_getaffinity(0)))

    def one(entry: Entry) -> Member:
        return _read(archive, entry, algorithms.get(entry.name, "sha256"), interest)

    found = _all(one, entries, count)
    members = tuple(found[entry.order] for entry in entries)
    by_name = {member.name: member for member in members}
    elves = [(member, member.elf) for member in members if member.elf is not None]
    objects = tuple((member, elf) for member, elf in elves if elf.kind in {ET_EXEC, ET_DYN} and not elf.debug)
    return Inspection(
        path=archive.path,
        size=archive.size,
        sha256=archive.sha256(),
        members=members,
        problems=archive.problems,
        by_name=by_name,
        objects=objects,
    )


def _all(one: Callable[[Entry], Member], entries: Iterable[Entry], workers: int) -> dict[int, Member]:
    """Read small members in this thread and large ones in others, the largest first; raises what one raised.

    Of small ones most is the interpreter's work, for which threads only wait in turn. The pools of concurrent.futures
    import `logging`, which takes longer than many a wheel.
    """
    small, large = deque[Entry](), deque[Entry]()
    for entry in sorted(entries, key=lambda entry: -entry.size):
        (large if entry.size > SMALL else small).append(entry)
    found: dict[int, Member] = {}
    raised: list[BaseException] = []

    def read(waiting: deque[Entry]) -> None:
        try:
            for entry in _taken(waiting):
                if raised:
                    break
                found[entry.order] = one(entry)
        except BaseException as error:  # noqa: BLE001 - an interrupt too ends the others
            raised.append(error)

    others = [Thread(target=read, args=(large,)) for _ in range(min(workers - 1, len(large)))]
    for thread in others:
        thread.start()
    read(small)
    read(large)
    for thread in others:
        _join(thread, raised)
    if raised:
        raise raised[0]
    return found


def _taken(waiting: deque[Entry]) -> Iterator[Entry]:
    while waiting:
        try:
            entry = waiting.popleft()
        except IndexError:  # another thread had the last
            return
        yield entry


def _join(thread: Thread, raised: list[BaseException]) -> None:
    """Wait for a thread, through interrupts too: it reads a file that is closed behind this."""
    while thread.is_alive():
        try:
            thread.join()
        except BaseException as error:  # noqa: BLE001 - kept, and raised in the end
            raised.append(error)


def _read(archive: Archive, entry: Entry, algorithm: str, interest: Interest) -> Member:
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
            wanted = interest(elf, entry.order)
            symbols = look.at(lambda data: _symbols(data, elf, wanted))
            extension = look.at(lambda data: is_extension(data, elf, entry.name))
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


def _symbols(data: bytes | Windows, elf: Elf, wanted: Wanted) -> tuple[Symbol, ...]:
    """Read what is wanted; most tables are not read at all."""
    begin, end = _names(elf)
    python = wanted.python and PYTHON_NAME.search(data[begin:end]) is not None
    try:
        starts = (*(PYTHON_PREFIXES if python else ()), *(f"{name}\0" for name in wanted.names))
        if not (starts or wanted.versions):
            return ()
        found = read_symbols(data, elf, undefined_only=not python, versions=wanted.versions, prefixes=starts)
        return tuple(filter(wanted.takes, found))
    except ElfError:
        return ()  # names are for people; what the loader asks for is in the version needs


def is_extension(data: bytes | Windows, elf: Elf, member: str) -> bool:
    """Whether a member names the function that Python calls in it: "PyInit_" and the module's name (PEP 3121)."""
    module = member.rpartition("/")[2].partition(".")[0]
    return data.find(f"\0PyInit_{module}\0".encode(), *_names(elf)) >= 0


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
