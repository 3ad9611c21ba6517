"""Which native libraries a process really mapped: which of them from inside the wheel, which not, and how often."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final

from wainwright.declaration.release import Loaded

# A line of Python that gives the shared objects which its process has mapped, each once. proc(5): the sixth field of
# /proc/PID/maps is the path, with ` (deleted)` behind one that is gone.
MAPPED: Final = (
    "sorted({line.split(maxsplit=5)[5].rstrip('\\n').replace(' (deleted)', '') for line in open('/proc/self/maps')"
    " if '.so' in line.rpartition('/')[2]})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """The shared objects of a process: those below its own `prefix`, which are the wheel's, and the system's."""

    inside: tuple[str, ...]
    outside: tuple[str, ...]


def part(files: Iterable[str], prefix: str) -> Mapped:
    """Part what a process has mapped by whether it lies below `prefix`, the environment that the wheel is in."""
    below = f"{prefix.rstrip('/')}/"
    ordered = sorted(set(files))
    return Mapped(
        inside=tuple(file for file in ordered if file.startswith(below)),
        outside=tuple(file for file in ordered if not file.startswith(below)),
    )


def mistakes(mapped: Mapped, expected: Loaded) -> tuple[str, ...]:
    """Hold what was mapped against `smoke.loaded`; gives a sentence for each pattern that is not as it should be.

    A pattern is matched with the file's name. `inside`: from the wheel, and not from the system; `outside`: the other
    way round; `once`: exactly one file of that name.
    """
    return (
        *_one_side("inside", expected.inside, mapped.inside, mapped.outside, elsewhere="from the system"),
        *_one_side("outside", expected.outside, mapped.outside, mapped.inside, elsewhere="from inside the wheel"),
        *_once(expected.once, (*mapped.inside, *mapped.outside)),
    )


def _one_side(
    key: str, patterns: Iterable[str], right: Iterable[str], wrong: Iterable[str], *, elsewhere: str
) -> Iterable[str]:
    for pattern in patterns:
        strays = _matching(pattern, wrong)
        if strays:
            yield f"{key}: {pattern} was mapped {elsewhere}: {', '.join(strays)}"
        elif not _matching(pattern, right):
            yield f"{key}: {pattern} was not mapped at all"


def _once(patterns: Iterable[str], files: Iterable[str]) -> Iterable[str]:
    files = tuple(files)
    for pattern in patterns:
        found = _matching(pattern, files)
        if len(found) > 1:
            yield f"once: {pattern} was mapped {len(found)} times: {', '.join(found)}"
        elif not found:
            yield f"once: {pattern} was not mapped at all"


def _matching(pattern: str, files: Iterable[str]) -> list[str]:
    return [file for file in files if fnmatchcase(PurePosixPath(file).name, pattern)]
