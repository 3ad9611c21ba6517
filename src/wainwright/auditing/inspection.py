"""One pass over a wheel: all its members read, in parallel, from the moment on that the archive is open."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from threading import Event, Thread
from types import MappingProxyType, TracebackType

from wainwright.auditing.reading import Member, read_member
from wainwright.formats.archive import Archive, Entry, Problem
from wainwright.light import TYPE_CHECKING, Final, dataclass, final

if TYPE_CHECKING:
    from wainwright.auditing.looking import Interest, Wanted
    from wainwright.formats.elf import Elf

MOST_WORKERS: Final = 8
SMALL: Final = 1 << 17  # inflating and hashing takes longer from here on than what is between
USUAL: Final = "sha256"
PATIENCE: Final = 5.0  # seconds; a thread ends with the member that it reads


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """Everything that was read from one wheel."""

    path: str
    size: int
    sha256: str
    members: tuple[Member, ...]
    problems: tuple[Problem, ...]
    by_name: Mapping[str, Member]
    objects: tuple[tuple[Member, Elf], ...]  # ELF members that a loader could load


@final
class Inspecting:
    """Reads an archive that was opened `hashed`: large members in threads, which begin at once, small ones in `finish`.

    Of small ones most is the interpreter's work, for which threads only wait in turn. The pools of concurrent.futures
    import `logging`, which takes longer than many a wheel. Its context ends when no thread reads any more.
    """

    def __init__(self, archive: Archive, *, workers: int | None = None) -> None:
        self.archive: Final = archive
        self._small, self._large = deque[Entry](), deque[Entry]()
        for entry in sorted(archive.entries, key=lambda entry: -entry.size):
            if not entry.is_directory:
                (self._large if entry.size > SMALL else self._small).append(entry)
        self._found: dict[int, Member] = {}
        self._raised: list[BaseException] = []
        self._asked = Event()
        self._interest: Interest | None = None
        self._algorithms: Mapping[str, str] = MappingProxyType({})
        count = workers or min(MOST_WORKERS, len(os.sched_getaffinity(0)))
        self._others: Final = min(count - 1, len(self._large))
        self._threads: list[Thread] = []

    def __enter__(self) -> Inspecting:
        try:
            for _ in range(self._others):
                thread = Thread(target=self._work, args=(self._large,), name="read", daemon=True)
                self._threads.append(thread)
                thread.start()
        except RuntimeError:  # there can be no more of them: `finish` reads what is left
            pass
        except BaseException as error:
            self._end(error)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        if error is not None:
            self._raised.append(error)
        self._asked.set()
        self._join()

    def finish(self, *, interest: Interest, algorithms: Mapping[str, str]) -> Inspection:
        """Read what is left, and raise what any thread raised.

        `algorithms` names the hash of each member where it is not sha256.
        """
        self._interest, self._algorithms = interest, algorithms
        self._asked.set()
        self._work(self._small)
        self._work(self._large)
        self._join()
        if self._raised:
            raise self._raised[0]
        from wainwright.formats.elf import ET_DYN, ET_EXEC

        archive = self.archive
        members = tuple(self._found[entry.order] for entry in archive.entries if not entry.is_directory)
        elves = [(member, member.elf) for member in members if member.elf is not None]
        return Inspection(
            path=archive.path,
            size=archive.size,
            sha256=archive.sha256(),
            members=members,
            problems=archive.problems,
            by_name={member.name: member for member in members},
            objects=tuple((member, elf) for member, elf in elves if elf.kind in {ET_EXEC, ET_DYN} and not elf.debug),
        )

    def _work(self, waiting: deque[Entry]) -> None:
        try:
            for entry in _taken(waiting):
                if self._raised:
                    break
                self._found[entry.order] = self._read(entry)
        except BaseException as error:  # noqa: BLE001 - an interrupt too ends the others
            self._raised.append(error)

    def _read(self, entry: Entry) -> Member:
        algorithm = self._algorithms.get(entry.name, USUAL)
        member = read_member(self.archive, entry, algorithm, self._interest or self._wanted)
        if not self._asked.is_set():
            self._asked.wait()
        right = self._algorithms.get(entry.name, USUAL)  # which RECORD may have said only now
        return member if right == algorithm else read_member(self.archive, entry, right, self._wanted)

    def _wanted(self, elf: Elf, order: int) -> Wanted:
        self._asked.wait()
        if self._interest is None:
            raise self._raised[0]
        return self._interest(elf, order)

    def _join(self) -> None:
        """Wait for the threads, through interrupts too: they read a file that is closed behind this.

        After an interrupt not for ever: one that hits an import leaves its lock taken, for which a thread may wait.
        """
        for thread in self._threads:
            while thread.is_alive():
                interrupted = any(isinstance(error, KeyboardInterrupt) for error in self._raised)
                try:
                    thread.join(PATIENCE if interrupted else None)
                except BaseException as error:  # noqa: BLE001 - kept, and raised in the end
                    self._raised.append(error)
                else:
                    if interrupted:
                        break


def _taken(waiting: deque[Entry]) -> Iterator[Entry]:
    while waiting:
        try:
            entry = waiting.popleft()
        except IndexError:  # another thread had the last
            return
        yield entry
