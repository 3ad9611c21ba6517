"""Copies runs of an archive's bytes into another by the kernel, long ones in a thread beside other work."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Event, Thread

from wainwright.errors import WainwrightError
from wainwright.formats.archive import Archive
from wainwright.light import Final, final

BLOCK: Final = 1 << 20
CHUNK: Final = 1 << 26  # that the kernel copies at a time: nobody can stop it within
AHEAD: Final = 1 << 21  # a thread's start is a millisecond of copying
# What says that this pair of files, or this kernel, has no copy_file_range; some file systems say EINVAL.
NO_KERNEL_COPY: Final = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF, errno.ETXTBSY}


@dataclass(slots=True)
class Run:
    """Bytes of an archive that are copied in one go, to the place `at`; `ahead` where that is done in a thread."""

    archive: Archive
    start: int
    end: int
    at: int
    ahead: bool = False

    def __len__(self) -> int:
        return self.end - self.start


@final
class Copier:
    """Copies long runs in a thread: the kernel's work, while the interpreter makes the records."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._runs = SimpleQueue[Run | None]()
        self._thread = Thread(target=self._work, name="copy")
        self._begun = Event()
        self._wanted = True
        self._error: Exception | None = None

    def __enter__(self) -> Copier:
        return self

    def __exit__(self, *_: object) -> None:
        self._wanted = False
        self._end()

    def take(self, run: Run) -> None:
        """Begin to copy a run to which nothing will be added, if it is long.

        The first time it waits for the thread, which else would wait for the interpreter (sys.getswitchinterval).
        """
        if len(run) < AHEAD or run.ahead:
            return
        if self._thread.ident is None:
            try:
                self._thread.start()
            except RuntimeError:  # there can be no more threads
                return
        run.ahead = True
        self._runs.put(run)
        self._begun.wait()

    def finish(self) -> None:
        """Wait until all is copied; raises what copying raised."""
        self._end()
        if self._error:
            raise self._error

    def _end(self) -> None:
        if self._thread.is_alive():
            self._runs.put(None)
            self._thread.join()

    def _work(self) -> None:
        try:
            while (run := self._runs.get()) is not None:
                self._begun.set()
                copy(run, self._descriptor, wanted=lambda: self._wanted)
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            self._error = error


def write(descriptor: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, at)
        view, at = view[written:], at + written


def copy(run: Run, descriptor: int, *, wanted: Callable[[], bool] = lambda: True) -> None:
    source, at, shift = run.archive.fileno(), run.start, run.at - run.start
    while at < run.end and wanted():
        try:
            copied = os.copy_file_range(source, descriptor, min(CHUNK, run.end - at), at, at + shift)
        except OSError as error:
            if error.errno not in NO_KERNEL_COPY:
                raise
            copied = 0
        if not copied:
            break
        at += copied
    while at < run.end and wanted():
        block = run.archive.pread(at, min(BLOCK, run.end - at))
        if not block:
            raise WainwrightError("the file became shorter while it was copied", where=run.archive.path)
        write(descriptor, block, at + shift)
        at += len(block)
