from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import engine
from wainwright.errors import Exit
from wainwright.run import run
from wainwright.running.entering import enter
from wainwright.running.standing import stand

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def by_hand(*words: str | Path) -> None:
    subprocess.run([engine.engine().program, *words], check=True, capture_output=True)


def best_of(number: int, *works: Callable[[int], None]) -> list[float]:
    """Time each work several times, in turn, so that what else the machine does hits all of them; gives the least."""
    taken: list[list[float]] = [[] for _ in works]
    for index in range(number):
        for work, times in zip(works, taken, strict=True):
            started = time.monotonic()
            work(index)
            times.append(time.monotonic() - started)
    return [min(times) for times in taken]


def test_a_job_costs_at_most_a_second_and_a_half_over_its_container(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for number in range(200):
        (source / f"{number}.c").write_text("int x;\n" * 100)
    reference = engine.debian().ref or ""
    script = "mkdir /job/out && cat /job/source/*.c >/job/out/all"

    def hand(index: int) -> None:
        name = f"wainwright-by-hand-{os.getpid()}-{index}"
        by_hand("create", "--name", name, "--pull=never", "--workdir=/job", reference, "sh", "-c", script)
        try:
            by_hand("cp", source, f"{name}:/job/source")
            by_hand("start", "--attach", name)
            by_hand("cp", f"{name}:/job/out", tmp_path / f"hand-{index}")
        finally:
            by_hand("rm", "--force", "--volumes", name)

    def ours(index: int) -> None:
        with enter(stand(engine.debian()), tmp_path / "x", run) as place:
            place.put(source, f"{place.root}/source")
            words = ["sh", "-ec", f"mkdir out && cat source/*.c >out/all # {index}"]
            place.run(words, env=place.environment()).check("it failed", code=Exit.BUILD)
            place.get(f"{place.root}/out", tmp_path / f"ours-{index}")

    plain, through = best_of(4, hand, ours)
    assert through - plain <= 1.5
    assert (tmp_path / "ours-0" / "all").read_bytes() == (tmp_path / "hand-0" / "all").read_bytes()


def test_a_large_file_comes_out_at_the_engines_own_pace(tmp_path: Path) -> None:
    with enter(stand(engine.debian()), tmp_path / "x", run, network=False) as place:
        words = ["sh", "-c", "head -c 500000000 /dev/urandom >large.whl"]
        assert place.run(words, env=place.environment()).ok
        name = place.name  # type: ignore[union-attr]

        def hand(_index: int) -> None:
            by_hand("cp", f"{name}:{place.root}/large.whl", tmp_path / "by-hand.whl")
            (tmp_path / "by-hand.whl").unlink()

        def ours(_index: int) -> None:
            place.get(f"{place.root}/large.whl", tmp_path / "ours.whl")
            (tmp_path / "ours.whl").unlink()

        plain, through = best_of(6, hand, ours)
    assert through <= 1.3 * plain
