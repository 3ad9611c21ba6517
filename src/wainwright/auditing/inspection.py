"""One pass over a wheel: each member inflated once, hashed, and read as ELF where it is one; members in parallel.

Of a large ELF member only what the loader reads is kept, and of what is no ELF nothing: memory does not grow with them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock, Thread
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
BATCH: Final = 1 << 20  # small members go to a worker by the megabyte
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

    found: dict[int, Member] = {}
    _in_parallel(lambda batch: found.update([(entry.order, one(entry)) for entry in batch]), _batches(entries), count)
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


def _batches(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Give the largest members first, each alone, so that no worker ends with one of them; the small ones together."""
    batch: list[Entry] = []
    room = BATCH
    for entry in sorted(entries, key=lambda entry: -entry.size):
        if batch and entry.size > room:
            yield batch
            batch, room = [], BATCH
        batch.append(entry)
        room -= entry.size + 4096
    if batch:
        yield batch


def _in_parallel(work: Callable[[T], None], jobs: Iterator[T], workers: int) -> None:
    """Do the jobs in this thread and others; raises what one raised, when all have ended their last.

    The pools of concurrent.futures import `logging`, which takes longer than many a wheel.
    """
    lock = Lock()
    raised: list[BaseException] = []

    def run() -> None:
        try:
            while not raised:
                with lock:
                    job = next(jobs, None)
                if job is None:
                    return
                work(job)
        except BaseException as error:  # noqa: BLE001 - an interrupt too ends the others
            raised.append(error)

    others = [Thread(target=run) for _ in range(workers - 1)]
    for thread in others:
        thread.start()
    run()
    for thread in others:
        while thread.is_alive():
            try:
                thread.join()
            except BaseException as error:  # noqa: BLE001 - waits on: they read a file that is closed behind this
                raised.append(error)
    if raised:
        raise raised[0]


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
        if wanted.names:
            found = read_symbols(data, elf, undefined_only=not python)
            return tuple(symbol for symbol in found if wanted.takes(symbol))
        if python:
            return read_symbols(data, elf, versions=wanted.versions, prefixes=PYTHON_PREFIXES)
        return read_symbols(data, elf, versions=wanted.versions) if wanted.versions else ()
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
