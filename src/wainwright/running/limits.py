"""The time that a job may take: all its commands run under one limit, however many they are."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from wainwright.completed import Completed
from wainwright.running.places import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimit:
    """`seconds` from when this was made; None for no limit."""

    seconds: float | None
    began: float = field(default_factory=time.monotonic)

    def run(
        self,
        place: Place,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | None = None,
        log: Path | None = None,
        capture: bool = False,
    ) -> Completed:
        """Run a command in a place for as long as is left; one that is ended has taken the whole job's time."""
        left = None if self.seconds is None else max(0.0, self.began + self.seconds - time.monotonic())
        done = place.run(argv, env=env, cwd=cwd, log=log, capture=capture, timeout=left)
        return replace(done, seconds=time.monotonic() - self.began) if done.timed_out else done
