"""A program that has ended, in values and in words; and what a stage is given to run programs with."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypedDict

from wainwright.errors import Exit, WainwrightError

TAIL_LINES: Final = 40
LINE_LIMIT: Final = 2000  # characters of one line of the tail: a minified file echoed by a tool stays readable
CAPTURE_LIMIT: Final = 64 << 20  # bytes of stdout: nothing that is read here comes near
ROOM: Final = "free some space on the disk that is full, then run the same command again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A program that has ended.

    `code` is its exit code, `-N` when signal N ended it; `tail` the last lines that it wrote (only those of stderr when
    stdout was captured, if there are any); `stdout` is empty unless captured, and `cut` says that there was too much of
    it. `lost` says that what should have run it was gone: the container, or its engine.
    """

    argv: tuple[str, ...]
    code: int
    seconds: float
    tail: tuple[str, ...] = ()
    stdout: str = ""
    timed_out: bool = False
    cut: bool = False
    lost: bool = False

    @property
    def ok(self) -> bool:
        return self.code == 0 and not self.timed_out and not self.cut

    def check(self, what: str, *, code: Exit, where: str = "", hint: str = "") -> Completed:
        """Give itself back, or raise WainwrightError saying `what` went wrong, how it ended, and the tail."""
        if self.ok:
            return self
        if any("No space left on device" in line for line in self.tail):
            code, hint = Exit.ENGINE, f"{ROOM}; for what runs in a container that disk is its engine's"
        if self.lost:
            code = Exit.ENGINE
        raise WainwrightError(f"{what} ({self.ending})", code=code, where=where, hint=hint, details=self._said())

    def _said(self) -> tuple[str, ...]:
        """Give the last lines of stdout, if it was captured, then the tail."""
        printed = shown(self.stdout[-TAIL_LINES * LINE_LIMIT :].encode().splitlines())
        return self.tail if printed == self.tail else (*printed, *self.tail)

    @property
    def ending(self) -> str:
        """How it ended, in words: `exit code 2`, `killed by SIGKILL`, `stopped after 60 s`."""
        if self.timed_out:
            return f"stopped after {self.seconds:.0f} s, its time limit"
        if self.cut:
            return f"it printed more than {CAPTURE_LIMIT >> 20} MB, where a short answer was wanted"
        if self.code < 0:
            with suppress(ValueError):
                return f"killed by {signal.Signals(-self.code).name}"
        return f"exit code {self.code}"


class Watched(TypedDict, total=False):
    """How a program is watched: `log` and `capture` take its output, after `timeout` seconds it is ended."""

    log: Path | None
    timeout: float | None
    capture: bool


class Run(Protocol):
    """What a stage is given to run programs with; `wainwright.run.run` is the real one."""

    def __call__(
        self,
        argv: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        log: Path | None = None,
        timeout: float | None = None,
        capture: bool = False,
    ) -> Completed: ...


def shown(lines: Iterable[bytes]) -> tuple[str, ...]:
    """Give the last lines for people. A progress bar redraws its line after a carriage return: the last one counts."""
    shown = (line.rstrip().rpartition(b"\r")[2].decode("utf-8", "replace").rstrip()[:LINE_LIMIT] for line in lines)
    return tuple(line for line in shown if line)[-TAIL_LINES:]
