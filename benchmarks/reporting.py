"""What a race has shown, as a Markdown table and as JSON. Ratios are the claims; seconds are of one machine."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contests import CONTESTS, Contest, Row
from measuring import Measured
from starting import HELP_SECONDS, NOX_RATIO, Start


def mean(values: Sequence[float]) -> float:
    return statistics.geometric_mean(values)


def shortfalls(contest: Contest, rows: Sequence[Row]) -> Iterator[str]:
    """Say what does not hold of what must."""
    if mean([row.ratio for row in rows]) < contest.mean:
        yield f"the mean is below {contest.mean:g}"
    for row in rows:
        if row.ratio < contest.each:
            yield f"{row.wheel.name}: below {contest.each:g}"
        if contest.bound and row.over_best and row.over_best > contest.bound:
            yield f"{row.wheel.name}: {row.over_best:.2f} times {contest.at_best}, more than {contest.bound:g}"
        if not row.memory_kept:
            yield f"{row.wheel.name}: memory above {contest.theirs}'s by more than the largest member"


def markdown(races: Mapping[str, Sequence[Row]], start: Start | None) -> str:
    """Give a table for each contest, its geometric mean in the last row, and what falls short below."""
    lines: list[str] = []
    for name, rows in races.items():
        contest = CONTESTS[name][0]
        lines += _table(contest, rows)
        lines += [f"- falls short: {text}" for text in shortfalls(contest, rows)] or ["- every target is met"]
        lines.append("")
    if start:
        lines += _start(start)
    lines.append(f"Best of several rounds, taking turns, on {os.cpu_count()} processors ({platform.machine()}).")
    return "\n".join(lines)


def _start(start: Start) -> Iterator[str]:
    yield "### start"
    yield ""
    yield "| | seconds of processor | beside | ratio | target |"
    yield "| --- | ---: | ---: | ---: | --- |"
    beside = f"Python alone: {start.python_cpu:.3f}"
    yield f"| `wainwright audit --help` | {start.help_cpu:.3f} | {beside} | | below {HELP_SECONDS:g} s |"
    beside = f"an empty noxfile: {start.bare_nox:.3f}"
    yield f"| `nox -l` | {start.nox:.3f} | {beside} | {start.ratio:.2f} | at most {NOX_RATIO:g} |"
    yield ""


def _table(contest: Contest, rows: Sequence[Row]) -> Iterator[str]:
    best = contest.at_best
    yield f"### {contest.name}"
    yield ""
    yield (
        f"| wheel | {contest.theirs} | {contest.ours} | ratio |"
        + (f" {best} | times {best} |" if best else "")
        + " peak theirs | peak ours |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | ---: |" + (" ---: | ---: |" if best else "")
    for row in rows:
        times = f"| {row.wheel.name} | {row.theirs.seconds:.2f} s | {row.ours.seconds:.2f} s | **{row.ratio:.1f}** |"
        if row.at_best and row.over_best:
            times += f" {row.at_best.work:.3f} s | {row.over_best:.2f} |"
        yield f"{times} {row.theirs.peak / 1e6:.0f} MB | {row.ours.peak / 1e6:.0f} MB |"
    last = f"| geometric mean (target {contest.mean:g}) | | | **{mean([row.ratio for row in rows]):.1f}** |"
    overs = [row.over_best for row in rows if row.over_best]
    yield f"{last} | {mean(overs):.2f} | | |" if overs else f"{last} | |"
    yield ""


def document(races: Mapping[str, Sequence[Row]], start: Start | None) -> dict[str, Any]:
    """Give everything that was measured."""
    found: dict[str, Any] = {"version": 1, "processors": os.cpu_count(), "contests": {}}
    for name, rows in races.items():
        contest = CONTESTS[name][0]
        found["contests"][name] = {
            "mean": mean([row.ratio for row in rows]),
            "targets": {"mean": contest.mean, "each": contest.each, "bound": contest.bound},
            "falls_short": list(shortfalls(contest, rows)),
            "wheels": [
                {
                    "wheel": row.wheel.path.name,
                    "largest": row.wheel.largest,
                    "installed": row.wheel.installed,
                    "ratio": row.ratio,
                    "over_best": row.over_best,
                    **{each: _measured(getattr(row, each)) for each in ("ours", "theirs", "at_best")},
                }
                for row in rows
            ],
        }
    if start:
        found["start"] = {
            "help_cpu": start.help_cpu, "python_cpu": start.python_cpu, "nox": start.nox, "bare_nox": start.bare_nox,
            "ratio": start.ratio, "met": start.met,
        }  # fmt: skip
    return found


def _measured(measured: Measured | None) -> dict[str, float] | None:
    if measured is None:
        return None
    return {
        "seconds": measured.seconds, "work": measured.work, "cpu": measured.cpu, "peak": measured.peak,
        "rounds": measured.rounds,
    }  # fmt: skip
