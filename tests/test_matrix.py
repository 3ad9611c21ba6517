"""Three images, two Pythons and two variants at once: what is killed fails alone, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import engine
from projects import Project

pytestmark = [pytest.mark.engine, pytest.mark.slow]

# No Debian release has two CPythons: bookworm's 3.11 is joined by bullseye's 3.9. What venv and pip want of it is
# unpacked alone, since those packages would take bookworm's away.
TWO = """
RUN sed -i 's/bookworm/bullseye/g' /etc/apt/sources.list \\
 && apt-get -o Acquire::Languages=none update -q \\
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3.9 \\
 && cd /tmp && apt-get download python3.9-venv python3-distutils/bullseye \\
 && for package in *.deb; do dpkg -x "$package" /; done && rm -rf /tmp/*.deb
"""
JOBS = 12

MATRIX = """
[project]
source = "."
python = ["3.9", "3.11"]

[backends.cpu]

[images.one]
ref = "wainwright/test:two-pythons-one"
[images.two]
ref = "wainwright/test:two-pythons-two"
[images.three]
ref = "wainwright/test:two-pythons-three"

[targets."2.36"]
image = "one"
smoke = ["two"]
[targets."2.35"]
image = "two"
smoke = ["three"]
[targets."2.34"]
image = "three"
smoke = ["one"]
"""
VARIANT = """
[variants.{name}]
backends = ["cpu"]
glibc = ["2.34", "2.35", "2.36"]
build.command = "{{python}} make.py {{out}}"
smoke.import = ["demo"]
"""
# Every second job, those of Python 3.9, goes on until it is killed.
LASTING = "case {python} in *3.9*) exec sleep 600; esac; {python} make.py {out}"


@pytest.fixture(scope="module")
def release() -> str:
    base = engine.made("two-pythons", f"FROM {engine.debian('bookworm', 'build').ref}{TWO}").ref
    # None stands on another: a smoke test there would prove nothing.
    for name, more in (("one", ""), ("two", "VOLUME /data"), ("three", "ENV ANOTHER=1\nVOLUME /data")):
        engine.made(f"two-pythons-{name}", f"FROM {base}\nRUN touch /{name}\n{more}\n")
    return MATRIX + VARIANT.format(name="full") + VARIANT.format(name="other")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder of its own to what the pipeline keeps in the system's temporary folder."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def while_it_runs(process: subprocess.Popen[str], look: Callable[[set[str]], None]) -> str:
    """Look at the process's containers until it has ended; gives what it said."""
    give_up = time.monotonic() + 180
    try:
        while process.poll() is None and time.monotonic() < give_up:
            look(engine.containers(process.pid))
            time.sleep(0.1)
    finally:
        process.terminate()
        _, said = process.communicate()
    return said


def lasting(names: set[str]) -> Sequence[str]:
    """Name the containers whose command is at its `sleep`; the shell's own words hold it from the start."""
    top = {name: engine.engine().ask("top", name, "-eo", "pid,args").stdout.splitlines() for name in names}
    return [name for name, lines in top.items() if any(line.split()[1:] == ["sleep", "600"] for line in lines)]


def test_every_second_job_is_killed_and_the_others_go_on(release: str, tmp_path: Path, temporary: Path) -> None:
    project = Project(tmp_path / "demo", release=release.replace("{python} make.py {out}", LASTING))
    volumes: set[str] = set()
    killed: set[str] = set()

    def kill(names: set[str]) -> None:
        volumes.update(engine.volumes(*names))
        for name in lasting(names - killed):
            killed.add(name)
            engine.engine().ask("kill", name)

    process = project.start("build", "--", "--jobs", "6")
    said = while_it_runs(process, kill)
    assert process.returncode == 4, said
    assert len(killed) == JOBS / 2
    assert said.count("the container has ended before its command") == JOBS / 2
    made = sorted(path.name for path in (project.root / "dist").glob("*/*.whl"))
    assert made == ["demo-1.0-cp311-cp311-linux_x86_64.whl"] * (JOBS // 2)
    assert volumes
    nothing_is_left(project, volumes, temporary)

    project.write("release.toml", release)
    done = project.run("smoke", "--", "--jobs", "6")
    assert done.returncode == 0, done.stderr
    assert len(project.wheels) == JOBS
    receipts = list((project.root / "wheelhouse" / "receipts").glob("*.smoke.*.json"))
    assert len(receipts) == JOBS
    nothing_is_left(project, volumes, temporary)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_killed_as_a_whole_it_leaves_nothing(
    release: str, tmp_path: Path, temporary: Path, number: signal.Signals
) -> None:
    project = Project(tmp_path / "demo", release=release.replace("{python} make.py {out}", "sleep 600"))
    process = project.start("build", "--", "--jobs", "6")
    volumes: set[str] = set()

    def end(names: set[str]) -> None:
        volumes.update(engine.volumes(*names))
        if len(lasting(names)) == 6:
            process.send_signal(number)

    while_it_runs(process, end)
    assert process.returncode != 0
    assert volumes
    assert engine.left_over(project.pids, volumes) == set()
    if number == signal.SIGKILL:  # nobody was there to clear up: the next run does
        project.write("release.toml", release)
        done = project.run("build", "--", "--only", "full-2_36-cp311-*")
        assert done.returncode == 0, done.stderr
    else:
        nothing_is_left(project, volumes, temporary)
    assert project.leftovers == []


def nothing_is_left(project: Project, volumes: set[str], temporary: Path) -> None:
    assert engine.left_over(project.pids, volumes) == set()
    assert project.leftovers == []
    assert [path.name for path in temporary.rglob("*")] in ([], [f"wainwright-{os.getuid()}"]), (
        "an empty folder, if any"
    )
    assert {path.lstat().st_uid for path in project.root.rglob("*")} == {os.getuid()}
