"""The race itself: a benchmark that measures wrongly is worse than none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.append(str(BENCHMARKS))

from contests import AUDIT, Row  # noqa: E402
from measuring import Contestant, Measured, race  # noqa: E402
from reporting import document, markdown, shortfalls  # noqa: E402
from samples import Wheel, make_dependency, make_needy, make_tiny  # noqa: E402

from wainwright.auditing.audit import audit  # noqa: E402

PYTHON = sys.executable


def test_contestants_take_turns_within_their_budget(tmp_path: Path) -> None:
    log = tmp_path / "log"
    write = "import sys, pathlib; pathlib.Path(sys.argv[1]).open('a').write(sys.argv[2])"
    slow = "import time, sys, pathlib; pathlib.Path(sys.argv[1]).open('a').write('s'); time.sleep(1)"
    found = race(
        (
            Contestant(name="a", argv=[PYTHON, "-c", write, str(log), "a"]),
            Contestant(name="s", argv=[PYTHON, "-c", slow, str(log)]),
        ),
        rounds=3,
        budget=1,
    )
    assert log.read_text().startswith("asa")
    assert found["s"].rounds == 1
    assert found["s"].seconds > 1 > found["s"].cpu > 0
    assert found["a"].peak > 1 << 20


def test_memory_is_that_of_the_command() -> None:
    # In a process of its own: until it runs another program, a child counts its parent's memory, which is large here.
    code = """
import sys
from measuring import Contestant, race
big = Contestant(name="big", argv=[sys.executable, "-c", "x = bytearray(200_000_000)"])
print(*(found.peak for found in race((big,), rounds=1, budget=9).values()))
"""
    done = subprocess.run([PYTHON, "-c", code], cwd=BENCHMARKS, capture_output=True, text=True, check=True)
    assert 200e6 < float(done.stdout.split()[-1]) < 260e6


@pytest.mark.parametrize(
    "contestant",
    [
        Contestant(name="fails", argv=[PYTHON, "-c", "raise SystemExit(3)"]),
        Contestant(name="silent", argv=[PYTHON, "-c", "pass"], says="a verdict"),
    ],
)
def test_a_command_that_does_not_do_its_work_ends_the_race(contestant: Contestant) -> None:
    with pytest.raises(SystemExit):
        race((contestant,), rounds=1, budget=9)


def test_a_command_may_tell_what_its_work_took() -> None:
    (found,) = race(
        (Contestant(name="x", argv=[PYTHON, "-c", "print('so'); print(0.125)"], tells=True),), rounds=1, budget=9
    ).values()
    assert found.work == 0.125
    assert found.seconds != 0.125


def row(name: str, *, ours: float, theirs: float, best: float, peak: int = 10) -> Row:
    def measured(seconds: float, memory: int) -> Measured:
        return Measured(name=name, seconds=seconds, work=seconds, cpu=seconds, peak=memory, rounds=1)

    wheel = Wheel(name=name, path=Path(f"{name}.whl"), largest=5, installed=50)
    return Row(wheel=wheel, ours=measured(ours, peak), theirs=measured(theirs, 10), at_best=measured(best, 1))


def test_the_report_names_what_falls_short() -> None:
    good, slow, fat = (
        row("good", ours=1, theirs=40, best=1),
        row("slow", ours=4, theirs=6, best=2),
        row("fat", ours=1, theirs=60, best=1, peak=16),
    )
    assert list(shortfalls(AUDIT, [good])) == []
    told = list(shortfalls(AUDIT, [good, slow, fat]))
    assert told == [
        "the mean is below 20",
        "slow: below 2",
        "slow: 2.00 times inflate and hash, more than 1.5",
        "fat: memory above auditwheel show's by more than the largest member",
    ]
    text = markdown({"audit": [good, slow, fat]}, None)
    assert all(f"- falls short: {line}" in text for line in told)
    assert "**15.3**" in text  # the cube root of 40 * 1.5 * 60
    found = document({"audit": [good, slow, fat]}, None)["contests"]["audit"]
    assert found["mean"] == pytest.approx(15.326, abs=0.001)
    assert found["falls_short"] == told


def test_the_wheels_that_are_made(tmp_path: Path) -> None:
    tiny = tmp_path / "tiny-1.0-cp311-cp311-manylinux_2_17_x86_64.whl"
    make_tiny(tiny)
    before = audit(tiny)
    assert before.ok, before.violations
    dependency = make_dependency(tmp_path / "needed")
    folder = tmp_path / "needy"
    folder.mkdir()
    after = audit(make_needy(tiny, folder / tiny.name, dependency))
    assert after.libraries.missing == ("libdep.so.1",)
    assert {found.rule for found in after.violations} == {"missing-library"}
