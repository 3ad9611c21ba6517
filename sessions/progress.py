"""Tells what runs: on a terminal a line that lives, elsewhere one at start and end of a job, and each minute."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from wainwright.sessions.pipeline import say

REDRAWN: Final = 1.0  # seconds
SAID_AGAIN: Final = 60.0  # seconds: many CI services end what is silent for ten minutes


class Progress:
    """The jobs that are running, by label, since when. Safe in several threads.

    Every `beat` seconds it is told what still runs.
    """

    def __init__(self, *, total: int, live: bool | None = None, beat: float | None = None) -> None:
        self.total = total
        self.done = 0
        self.live = sys.stderr.isatty() if live is None else live
        self.beat = beat or (REDRAWN if self.live else SAID_AGAIN)
        self._running: dict[str, float] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()

    @contextmanager
    def shown(self) -> Iterator[Progress]:
        """Tell of what runs as long as jobs run."""
        ticker = threading.Thread(target=self._tick, daemon=True)
        ticker.start()
        try:
            yield self
        finally:
            self._stop.set()
            ticker.join()
            if self.live:
                self._draw("")

    def start(self, label: str) -> None:
        with self._lock:
            self._running[label] = time.monotonic()
            if self.live:
                self._show()
        if not self.live:
            say(f"{label}: started")

    def end(self, label: str, outcome: str) -> None:
        """Say how a job ended; one that was never started took no time."""
        with self._lock:
            started = self._running.pop(label, None)
            self.done += 1
            took = "" if started is None else f" ({time.monotonic() - started:.1f} s)"
            if self.live:
                self._draw("")
            say(f"{label}: {outcome}{took}")

    def _tick(self) -> None:
        while not self._stop.wait(self.beat):
            with self._lock:
                if self.live:
                    self._show()
                elif self._running:
                    say(f"still running, {self.done} of {self.total} done: {self._jobs()}")

    def _show(self) -> None:
        self._draw(f"[{self.done}/{self.total}] {self._jobs()}")

    def _jobs(self) -> str:
        now = time.monotonic()
        return ", ".join(f"{label} {_lasting(now - since)}" for label, since in self._running.items())

    @staticmethod
    def _draw(text: str) -> None:
        import shutil

        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r\x1b[K{text[:width]}")
        sys.stderr.flush()


def _lasting(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
