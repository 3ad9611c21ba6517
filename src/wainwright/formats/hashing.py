"""Hashes that are computed beside other work, in threads of their own: of a whole file, and of a large member."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from wainwright.light import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from queue import Queue

BLOCK: Final = 1 << 22  # of a whole file: few steps, since each may wait for the interpreter
WAITING: Final = 4  # blocks of a member; who makes them waits for more


class Hash(Protocol):
    """What is fed with blocks, and has the hash in the end."""

    def update(self, block: bytes, /) -> None: ...

    def digest(self) -> bytes: ...


@contextmanager
def hashing(algorithm: str, *, beside: bool) -> Iterator[Hash]:
    """Give a hash that hashlib knows; `beside`, in a thread that works on each block as the next one is made.

    Its digest is complete when the context has ended. Raises ValueError for another algorithm.
    """
    digest = hashlib.new(algorithm, usedforsecurity=False)
    if not beside:
        yield digest
        return
    try:
        behind = _Behind(digest)
    except RuntimeError:  # there can be no more threads
        yield digest
        return
    try:
        yield behind
    finally:
        behind.end()


class _Behind:
    def __init__(self, digest: Hash) -> None:
        from queue import Queue

        self._blocks: Queue[bytes] = Queue(WAITING)
        self._digest = digest
        self._thread = Thread(target=self._run, name="hash")
        self._thread.start()
        self.update = self._blocks.put
        self.digest = digest.digest

    def _run(self) -> None:
        while block := self._blocks.get():
            self._digest.update(block)

    def end(self) -> None:
        self._blocks.put(b"")
        self._thread.join()


class WholeHash:
    """Starts at once, on a descriptor of its own of the same file. Must be stopped, also when it has ended."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = os.dup(descriptor)
        self._wanted = True
        self._digest = hashlib.sha256()
        self._error: OSError | None = None
        self._thread = Thread(target=self._run, name="sha256")
        try:
            self._thread.start()
        except RuntimeError:  # there can be no more threads
            self._run()

    def _run(self) -> None:
        at = 0
        try:
            # one block for all: pages that are new each time cost as much as the hash
            block = memoryview(bytearray(max(1, min(BLOCK, os.fstat(self._descriptor).st_size))))
            while self._wanted and (size := os.preadv(self._descriptor, [block], at)):
                self._digest.update(block[:size])
                at += size
        except OSError as error:
            self._error = error

    def stop(self) -> None:
        """End the thread, and close its descriptor."""
        self._wanted = False
        self._join()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def result(self) -> str:
        """Wait for the hash, in hexadecimal digits; raises OSError where the file could not be read."""
        self._join()
        if self._error:
            raise self._error
        return self._digest.hexdigest()

    def _join(self) -> None:
        if self._thread.ident is not None:
            self._thread.join()
