"""The sha256 of a whole file, computed in a thread of its own while others read the file's parts."""

from __future__ import annotations

import hashlib
import os
from threading import Thread
from typing import Final

BLOCK: Final = 1 << 20


class WholeHash:
    """Starts at once, on a descriptor of its own of the same file. Must be stopped, also when it has ended."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = os.dup(descriptor)
        self._wanted = True
        self._digest = hashlib.sha256()
        self._error: OSError | None = None
        self._thread = Thread(target=self._run, name="sha256")
        self._thread.start()

    def _run(self) -> None:
        at = 0
        try:
            while self._wanted and (block := os.pread(self._descriptor, BLOCK, at)):
                self._digest.update(block)
                at += len(block)
        except OSError as error:
            self._error = error

    def stop(self) -> None:
        """End the thread, and close its descriptor."""
        self._wanted = False
        self._thread.join()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def result(self) -> str:
        """Wait for the hash, in hexadecimal digits; raises OSError where the file could not be read."""
        self._thread.join()
        if self._error:
            raise self._error
        return self._digest.hexdigest()
