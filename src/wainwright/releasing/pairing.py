"""Which wheel stands in for which in a comparison: of the same project, Python, ABI, libc and architecture. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wainwright.auditing.claims import PLATFORM
from wainwright.declaration.planning import Job
from wainwright.errors import WainwrightError
from wainwright.formats.wheelname import WheelName, parse_wheel_name

if TYPE_CHECKING:
    from wainwright.releasing.earlier import Earlier, Published  # what reads indexes is slow to import


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The earlier wheel of a job, or in words why there is none; `is_first` where no earlier release is public."""

    wheel: Path | None = None
    note: str = ""
    is_first: bool = False


def closest(wheel: Path, others: Iterable[Path]) -> tuple[Path, ...]:
    """Give those of `others` that stand in for this wheel: same project, Python, ABI, libc and architecture.

    Of these, those with the same local version, then those with the same platform tags, where there are any.
    """
    name = parse_wheel_name(wheel.name)
    known = {other: parse_wheel_name(other.name) for other in others}
    kin = [other for other in known if _kind(known[other]) == _kind(name)]
    for trait in (_local, _platforms):
        kin = [other for other in kin if trait(known[other]) == trait(name)] or kin
    return tuple(kin)


def newest(wheels: Iterable[Path]) -> Path | None:
    """Give the wheel of the highest version."""
    from packaging.version import Version

    return max(wheels, key=lambda path: (Version(parse_wheel_name(path.name).public_version), path.name), default=None)


def counterpart(job: Job, wheel: WheelName, earlier: Earlier, *, plan: Iterable[Job]) -> Published | None:
    """Give the wheel that an earlier release has for a job, None when it has none.

    A release may hold the wheels of several variants. Where its manifest does not tell them apart, the local version
    does; the floor may be another one than now, if no other job of the plan has it. Raises WainwrightError (USAGE) when
    several are left.
    """
    own = [each for each in earlier.wheels if each.variant in {None, job.variant.name}]
    kin = [each for each in own if _kind(each.name) == _kind(wheel)]
    local = [each for each in kin if _local(each.name) == _local(wheel)]
    if not local and job.variant.local_version is None:  # a build may mark what is no release: 1.1.dev3+g1234abc
        local = [each for each in kin if not _local(each.name)]
    rivals = [other for other in plan if _are_rivals(other, job)]
    floors = (
        [each for each in local if _platforms(each.name) == _platforms(wheel)]
        or [each for each in local if _platforms(each.name) & _platforms(wheel)]
        or [each for each in local if not any(_has(other, each) for other in rivals)]
    )
    if len({_platforms(each.name) for each in floors}) > 1:
        raise WainwrightError(
            f"several wheels of {earlier.label} may be the earlier one of {wheel.filename}",
            where=f"variants.{job.variant.name}.diff.against",
            details=tuple(sorted(each.name.filename for each in floors)),
            hint="download the one that is meant, and name it here by its path",
        )
    return max(floors, key=lambda each: _build(each.name), default=None)


def _kind(name: WheelName) -> tuple[object, ...]:
    found = filter(None, map(PLATFORM.fullmatch, name.platforms))
    systems = {(match["libc"] == "musl", match["arch"]) for match in found}
    return name.project, name.pythons, name.abis, frozenset(systems or name.platforms)


def _local(name: WheelName) -> str:
    return name.public_version.partition("+")[2]


def _platforms(name: WheelName) -> frozenset[str]:
    return frozenset(name.platforms)


def _build(name: WheelName) -> tuple[int, str]:
    """Order build numbers as pip does, which takes the highest: digits as a number, then the rest (PEP 427)."""
    match = re.match(r"\d*", name.build)
    digits = match[0] if match else ""
    return int(digits or -1), name.build[len(digits) :]


def _are_rivals(one: Job, other: Job) -> bool:
    """Whether two jobs differ in nothing that a wheel's name tells but the floor."""
    traits = [(job.python, job.arch, job.variant.local_version) for job in (one, other)]
    return one.id != other.id and traits[0] == traits[1]


def _has(job: Job, wheel: Published) -> bool:
    """Whether a wheel is, by its floor, another job's earlier one."""
    is_of_variant = wheel.variant in {None, job.variant.name}
    return is_of_variant and not _platforms(wheel.name).isdisjoint(job.glibc.platforms(job.arch))
