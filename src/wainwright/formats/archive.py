"""A strict reader of zip archives: each member inflated once, hashed and checked on the way, in bounded memory.

Reading is by offset (`os.pread`) without a shared position, so one archive serves several threads. Nothing is mapped:
a mapped file counts as the process's own memory, and one that shrinks meanwhile would kill it.
"""

from __future__ import annotations

import hashlib
import io
import os
import posixpath
import stat
from collections.abc import Callable, Iterator
from types import TracebackType

from wainwright.formats.inflating import INPUT, OUTPUT, at_once, checked, fastest, inflated, nearest
from wainwright.formats.zipdirectory import (
    STORED,
    UNREADABLE,
    ArchiveError,
    Entry,
    Kind,
    MemberError,
    Problem,
    find_directory,
)
from wainwright.formats.zipmembers import read_entries
from wainwright.formats.zipproblems import layout_problems, name_problems
from wainwright.light import TYPE_CHECKING, Any, Final, Protocol, dataclass, final
from wainwright.values import StrPath

if TYPE_CHECKING:
    from wainwright.formats.hashing import WholeHash

__all__ = ["Archive", "ArchiveError", "Entry", "Kind", "Limits", "Member", "MemberError", "Problem"]

LARGE: Final = 8 << 20
GIB: Final = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many bytes an archive may inflate to: `floor`, or `ratio` times its own size, but never above `ceiling`.

    Real wheels stay below 20 times their size; a deflate bomb reaches 1032 times.
    """

    floor: int = 2 * GIB
    ratio: int = 100
    ceiling: int = 64 * GIB

    def budget(self, size: int) -> int:
        return min(self.ceiling, max(self.floor, self.ratio * size))


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member that was read whole: its size, its hash, and its bytes where they were wanted."""

    entry: Entry
    size: int
    algorithm: str
    hash: bytes
    data: bytes | None


class Sink(Protocol):
    """What takes a member's blocks, one after the other."""

    def write(self, block: bytes, /) -> Any: ...


def _never(_prefix: bytes) -> bool:
    return False


@final
class Archive:
    """A zip archive, open for reading. `entries` stand in directory order; `problems` are what `open` saw.

    `open` raises ArchiveError; reading a member raises MemberError, always with that member's name.
    """

    def __init__(self, path: StrPath, descriptor: int, limits: Limits, whole: WholeHash | None = None) -> None:
        self.path: Final = os.fspath(path)
        self._descriptor = descriptor
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise ArchiveError("this is not a file")
        self.size: Final = info.st_size
        self._whole = whole
        directory = find_directory(self.pread, self.size)
        entries, local = read_entries(self.pread, directory)
        problems = list(directory.problems)
        if len(entries) & 0xFFFF != directory.count & 0xFFFF:
            message = f"the directory holds {len(entries)} members and counts {directory.count}"
            problems.append(Problem(kind="archive", member=None, message=message))
        guilty = frozenset(problem.member for problem in local)
        problems += [*name_problems(entries), *local, *layout_problems(directory, entries, guilty)]
        problems += [entry.fault for entry in entries if entry.fault]
        budget = limits.budget(self.size)
        total = sum([entry.size for entry in entries])
        over = _beyond(entries, budget) if total > budget else []
        problems += [Problem(kind="broken", member=e.name, message=_too_large(e, budget)) for e in over]
        self._over: Final = frozenset(entry.order for entry in over)
        self._budget: Final = budget
        # A member larger than this keeps one processor busy when the others have nothing left to do.
        self._share: Final = max(LARGE, total // len(os.sched_getaffinity(0)))
        self.comment: Final = directory.comment
        self.entries: Final = entries
        self.problems: Final[tuple[Problem, ...]] = tuple(problems)

    @classmethod
    def open(cls, path: StrPath, *, limits: Limits | None = None, hashed: bool = False) -> Archive:
        """Read the directory and every local header of a zip archive; raises ArchiveError.

        With `hashed`, the whole file's hash is computed meanwhile, for `sha256`.
        """
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise ArchiveError(f"cannot be read: {why}", where=str(path)) from error
        whole: WholeHash | None = None
        if hashed:
            from wainwright.formats.hashing import WholeHash

            whole = WholeHash(descriptor)
        try:
            return cls(path, descriptor, limits or Limits(), whole)
        except BaseException as error:
            if whole is not None:
                whole.stop()
            os.close(descriptor)
            if isinstance(error, ArchiveError):
                error.where = error.where or str(path)
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._whole is not None:
            self._whole.stop()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def sha256(self) -> str:
        """Give the hash of the whole file, of an archive that was opened `hashed`."""
        if self._whole is None:
            raise ValueError("the archive was opened without hashing")
        try:
            return self._whole.result()
        except OSError as error:
            raise ArchiveError(f"cannot be read: {error.strerror}", where=self.path) from error

    @property
    def filename(self) -> str:
        return posixpath.basename(self.path)

    def fileno(self) -> int:
        return self._descriptor

    def pread(self, offset: int, length: int) -> bytes:
        """Give exactly these bytes of the file, fewer only behind its end."""
        if offset < 0 or length <= 0:
            return b""
        try:
            block = os.pread(self._descriptor, length, offset)
            while len(block) < length:  # a signal, or more than the kernel gives at once
                more = os.pread(self._descriptor, length - len(block), offset + len(block))
                if not more:
                    break
                block += more
        except OSError as error:
            raise ArchiveError(f"cannot be read: {error.strerror}", where=self.path) from error
        return block

    def raw(self, entry: Entry) -> Iterator[bytes]:
        """Give a member's compressed bytes in blocks; raises MemberError."""
        if entry.fault and entry.fault.kind in UNREADABLE:
            raise MemberError(entry.name, entry.fault.message, kind=entry.fault.kind)
        at, end = entry.data, entry.data + entry.compressed
        while at < end:
            block = self.pread(at, min(INPUT, end - at))
            if not block:
                raise ArchiveError("the file became shorter while it was read", where=self.path)
            at += len(block)
            yield block

    def inflate(self, entry: Entry) -> Iterator[bytes]:
        """Give a member's bytes in blocks, size and CRC checked at the end; raises MemberError."""
        if entry.order in self._over:
            raise MemberError(entry.name, _too_large(entry, self._budget))
        raw = self.raw(entry)
        return checked(entry, raw if entry.method == STORED else inflated(entry, raw))

    def _at_once(self, entry: Entry, inflater: Callable[[], Any]) -> bytes:
        """Give the bytes of a member that takes one step; raises MemberError."""
        if not (entry.fault or entry.order in self._over):
            data = at_once(entry, self.pread(entry.data, entry.compressed), inflater())
            if data is not None:
                return data
        return b"".join(self.inflate(entry))  # which says what is wrong

    def read(self, entry: Entry, *, limit: int | None = None) -> bytes:
        """Give a whole member's bytes; one of more than `limit` bytes is a MemberError."""
        if limit is not None and entry.size > limit:
            raise MemberError(entry.name, f"it has {entry.size} bytes, more than the {limit} that such a file may have")
        return self._at_once(entry, nearest) if _is_small(entry) else b"".join(self.inflate(entry))

    def digest(
        self,
        entry: Entry,
        *,
        algorithm: str = "sha256",
        keep: Callable[[bytes], bool] = _never,
        sink: Callable[[], Sink] | None = None,
    ) -> Member:
        """Inflate, check and hash a member in one pass; `keep` sees its first block and says whether to keep its bytes.

        With a `sink` they go to what it gives rather than into `data`. `algorithm` is a name that hashlib knows; raises
        MemberError, and ValueError for another algorithm.
        """
        if _is_small(entry):
            block = self._at_once(entry, fastest)
            digest = hashlib.new(algorithm, block, usedforsecurity=False)
            wanted = bool(block) and keep(block)
            if sink and wanted:
                sink().write(block)
            data = block if wanted and not sink else None
            return Member(entry=entry, size=entry.size, algorithm=algorithm, hash=digest.digest(), data=data)
        return self._digest(entry, algorithm, keep, sink)

    def _digest(
        self, entry: Entry, algorithm: str, keep: Callable[[bytes], bool], sink: Callable[[], Sink] | None
    ) -> Member:
        from wainwright.formats.hashing import hashing

        memory = io.BytesIO()
        kept: Sink | None = None
        first = True
        with hashing(algorithm, beside=entry.size > self._share) as digest:
            for block in self.inflate(entry):
                digest.update(block)
                if first:
                    first = False
                    if keep(block):
                        kept = sink() if sink else memory
                if kept is not None:
                    kept.write(block)
        # BytesIO hands over its buffer without a copy, so a large member is held once.
        data = memory.getvalue() if kept is memory else None
        return Member(entry=entry, size=entry.size, algorithm=algorithm, hash=digest.digest(), data=data)


def _is_small(entry: Entry) -> bool:
    """Whether it takes one step to inflate."""
    return entry.compressed <= INPUT and entry.size < OUTPUT


def _beyond(entries: tuple[Entry, ...], budget: int) -> list[Entry]:
    """Find the members that alone exceed the budget; raises ArchiveError when the others do together."""
    sound = [entry for entry in entries if entry.fault is None]
    total = sum(entry.size for entry in sound if entry.size <= budget)
    if total > budget:
        raise ArchiveError(f"its members would inflate to {total} bytes, more than the {budget} that are allowed")
    return [entry for entry in sound if entry.size > budget]


def _too_large(entry: Entry, budget: int) -> str:
    return f"it would inflate to {entry.size} bytes, more than the {budget} that are allowed for this archive"
