"""Tells what runs: on a terminal a line that lives, elsewhere a line at the start and the end of each job."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from wainwright.sessions.pipeline import say


class Progress:
    """The jobs that are running, by label, since when. Safe in several threads."""

    def __init__(self, *, total: int, live: bool | None = None) -> None:
        self.total = total
        self.done = 0
        self.live = sys.stderr.isatty() if live is None else live
        self._running: dict[str, float] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()

    @contextmanager
    def shown(self) -> Iterator[Progress]:
        """Redraw the line each second while jobs run."""
        ticker = threading.Thread(target=self._tick, daemon=True)
        if self.live:
            ticker.start()
        try:
            yield self
        finally:
            self._stop.set()
            if self.live:
                ticker.join()
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
        while not self._stop.wait(1.0):
            with self._lock:
                self._show()

    def _show(self) -> None:
        now = time.monotonic()
        running = ", ".join(f"{label} {now - since:.0f} s" for label, since in self._running.items())
        self._draw(f"[{self.done}/{self.total}] {running}")

    @staticmethod
    def _draw(text: str) -> None:
        import shutil

        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r\x1b[K{text[:width]}")
        sys.stderr.flush()
