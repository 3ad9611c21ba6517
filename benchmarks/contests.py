"""What is raced against what: the audit, the retag and the repair, each against the tool that people use today."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import samples
from measuring import Contestant, Measured, race, warm
from samples import Wheel

HERE: Final = Path(__file__).parent
PYTHON: Final = sys.executable
FLOOR: Final = "2.34"  # of the repairs; what a C compiler of this decade makes fits it
PLATFORM: Final = f"manylinux_{FLOOR.replace('.', '_')}_x86_64"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """One race: whose time is compared, and what must hold. `at_best` is the time that no such program can beat.

    `mean` is the least geometric mean of theirs through ours, `each` the least of any wheel; `bound` is the most of
    ours through the best possible.
    """

    name: str
    ours: str
    theirs: str
    at_best: str | None = None
    mean: float
    each: float = 1.0
    bound: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How a contest went on one wheel."""

    wheel: Wheel
    ours: Measured
    theirs: Measured
    at_best: Measured | None

    @property
    def ratio(self) -> float:
        return self.theirs.seconds / self.ours.seconds

    @property
    def over_best(self) -> float | None:
        return self.ours.work / self.at_best.work if self.at_best else None

    @property
    def memory_kept(self) -> bool:
        """Whether our peak is above theirs by no more than the largest member."""
        return self.ours.peak <= self.theirs.peak + self.wheel.largest


AUDIT: Final = Contest(
    name="audit", ours="wainwright audit", theirs="auditwheel show", at_best="inflate and hash",
    mean=20, each=2, bound=1.5,
)  # fmt: skip
RETAG: Final = Contest(name="retag", ours="retag, unmeasured", theirs="wheel tags", at_best="cp", mean=40, bound=3)
REPAIR: Final = Contest(name="repair", ours="wainwright repair", theirs="auditwheel repair", mean=4)


def audits(wheel: Wheel, _: Path) -> Sequence[Contestant]:
    found = frozenset({0, 1})  # a verdict either way is a verdict
    return (
        Contestant(
            name="ours", argv=[PYTHON, "-m", "wainwright", "audit", str(wheel.path)], accept=found, says="measured"
        ),
        Contestant(
            name="theirs",
            argv=[PYTHON, "-m", "auditwheel", "show", str(wheel.path)],
            says="platform tag",
        ),
        Contestant(name="at_best", argv=[PYTHON, str(HERE / "inflating.py"), str(wheel.path)]),
    )


def retags(wheel: Wheel, folder: Path) -> Sequence[Contestant]:
    platform = "manylinux_2_99_x86_64"  # above every floor
    here = folder / wheel.path.name  # `wheel tags` writes beside what it reads

    def empty() -> None:
        _emptied(folder)
        os.link(wheel.path, here)

    ours = [PYTHON, str(HERE / "retagging.py"), str(here), str(folder / "out"), platform]
    theirs = [PYTHON, "-m", "wheel", "tags", "--platform-tag", platform, str(here)]
    return (
        Contestant(name="ours", argv=ours, prepare=empty, tells=True),
        Contestant(name="theirs", argv=theirs, prepare=empty),
        Contestant(name="at_best", argv=["cp", str(here), str(folder / "copy.whl")], prepare=empty),
    )


def repairs(wheel: Wheel, folder: Path) -> Sequence[Contestant]:
    _emptied(folder)
    needed = folder / "needed"
    dependency = samples.make_dependency(needed)
    needy = samples.make_needy(wheel.path, folder / wheel.path.name, dependency)
    warm(needy)
    others = _others(needy, dependency)
    out = folder / "out"
    ours = [PYTHON, str(HERE / "repairing.py"), str(needy), str(dependency), str(out), FLOOR, *others]
    theirs = [PYTHON, "-m", "auditwheel", "repair", "--plat", PLATFORM, "--only-plat", "--disable-isa-ext-check"]
    theirs += ["--ldpaths", str(needed), "--wheel-dir", str(out)]
    theirs += [word for name in others for word in ("--exclude", name)] + [str(needy)]
    return (
        Contestant(name="ours", argv=ours, prepare=lambda: _emptied(out)),
        Contestant(name="theirs", argv=theirs, prepare=lambda: _emptied(out)),
    )


def _others(wheel: Path, dependency: Path) -> list[str]:
    """Name what a wheel needs beside the dependency and the platform: both tools are told to leave it as it is.

    Also what travels inside already: auditwheel does not find a library that a sibling has loaded before.
    """
    from wainwright.auditing.audit import audit

    libraries = audit(wheel).libraries
    others = (*libraries.inside, *libraries.provided, *libraries.missing)
    return [name for name in others if name != dependency.name]


def _emptied(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


CONTESTS: Final[dict[str, tuple[Contest, Callable[[Wheel, Path], Sequence[Contestant]]]]] = {
    "audit": (AUDIT, audits),
    "retag": (RETAG, retags),
    "repair": (REPAIR, repairs),
}


def hold(name: str, wheel: Wheel, folder: Path, *, rounds: int, budget: float) -> Row:
    """Race on one wheel."""
    _, contestants = CONTESTS[name]
    warm(wheel.path)
    try:
        results = race(contestants(wheel, folder), rounds=rounds, budget=budget)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Row(wheel=wheel, ours=results["ours"], theirs=results["theirs"], at_best=results.get("at_best"))
