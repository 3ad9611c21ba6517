"""The time, as an argument: what it is, how it is waited for, and the day on which this process began."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from functools import cache


@cache
def _began() -> float:
    return time.time()


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """All times are in seconds, `now` and `began` since the epoch.

    `began` is the same for everything that one process does: what begins before midnight does not become another day's
    nightly in the middle.
    """

    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    began: float = field(default_factory=_began)

    @property
    def day(self) -> date:
        """The day on which the process began, in UTC."""
        return datetime.fromtimestamp(self.began, timezone.utc).date()

    def stamp(self) -> str:
        """Give the time as ISO 8601 has it, in UTC."""
        return datetime.fromtimestamp(self.now(), timezone.utc).isoformat(timespec="seconds")
