"""Gives up an answer that takes too long as a whole: what sends a byte now and then meets no limit between two."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from threading import Event, Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class Watch:
    """Allows `limit` seconds for something, and as long again after each step of it."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._given_up = False
        self._until = 0.0

    def run(self, act: Callable[[], T]) -> T:
        """Give what `act` gives, or raise what it raises; raises TimeoutError when its time is over.

        It runs in a thread, since nothing else ends a read that goes on; one that is given up is left to itself: it
        ends at its next step, or with the connection, or with this process.
        """
        self._step()
        work = _Work(act)
        while not work.ended.wait(max(0.0, self._until - time.monotonic())):
            if time.monotonic() >= self._until:
                self._given_up = True
                raise TimeoutError(self._reason)
        return work.result()

    def steps(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """Pass blocks on, each of which is a step."""
        for block in blocks:
            self._step()
            yield block

    def _step(self) -> None:
        if self._given_up:
            raise TimeoutError(self._reason)
        self._until = time.monotonic() + self.limit

    @property
    def _reason(self) -> str:
        return f"no whole answer in {self.limit:g} s"


class _Work(Generic[T]):
    """A thread that does one thing; it holds no process back from ending."""

    def __init__(self, act: Callable[[], T]) -> None:
        self.ended = Event()
        self._act = act
        self._given: list[T] = []
        self._raised: BaseException | None = None
        Thread(target=self._run, name="answer", daemon=True).start()

    def _run(self) -> None:
        try:
            self._given.append(self._act())
        except BaseException as error:  # noqa: BLE001 - it is raised again where the work is awaited
            self._raised = error
        finally:
            self.ended.set()

    def result(self) -> T:
        if self._raised is not None:
            raise self._raised
        return self._given[0]
