"""What a run leaves behind, however it ends: nothing temporary; and one sentence where folders are none."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

import engine
from projects import Project
from test_scenarios import release
from wainwright.run import run
from wainwright.running import caching
from wainwright.running.entering import enter
from wainwright.running.standing import stand

OURS = f"wainwright-{os.getuid()}"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def wait_for(process: subprocess.Popen[str], folder: Path, pattern: str) -> None:
    while not list(folder.glob(pattern)):
        assert process.poll() is None
        time.sleep(0.01)


def left(*folders: Path) -> list[Path]:
    """Give what lies in temporary folders, but for the one in which ours are made."""
    found = [
        path for folder in folders for path in folder.rglob("*") if folder.name == "temporary" or ".tmp-" in path.name
    ]
    return [path for path in found if path.name not in {OURS, f"wainwright-tests-{os.getuid()}.lock"}]


@pytest.mark.engine
@pytest.mark.slow
def test_stopped_or_killed_while_a_container_is_asked_nothing_stays(tmp_path: Path, temporary: Path) -> None:
    project = Project(tmp_path / "demo", release=release(build="bullseye-build", smoke=["bullseye"]))
    for number, code in ((signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)):
        process = project.start("build")
        wait_for(process, temporary, f"{OURS}/*")
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
        assert process.returncode == code, err
        assert "Traceback" not in err
        assert engine.left_over([process.pid]) == set()
        assert number == signal.SIGKILL or left(temporary, project.root / "dist") == []
    assert project.run("smoke").returncode == 0
    assert left(temporary, project.root / "dist", project.root / "wheelhouse") == []
    process = project.start("compat")
    wait_for(process, project.root / "dist", ".tmp-compat-*")
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert left(temporary, project.root / "dist") == []


def test_folders_that_are_none_are_told_in_words(tmp_path: Path) -> None:
    project = Project(tmp_path / "demo")
    dist = project.root / "dist"
    for target in (project.root / "mod.c", Path("nowhere")):
        dist.symlink_to(target)
        done = project.run("build")
        assert done.returncode == 4, done.stderr
        assert f"error: {dist}: " in done.stderr
        assert "this must be a folder: move away what has its name" in done.stderr
        dist.unlink()


@pytest.mark.engine
def test_the_caches_of_killed_runs_and_of_images_that_are_gone_go(tmp_path: Path) -> None:
    standing = stand(engine.debian())
    assert standing.found is not None
    file = caching.file_of(tmp_path, standing.found.id)
    file.parent.mkdir()
    half, gone, other = (file.parent / name for name in (".tmp-half", "gone.tar", "other.tar"))
    for path in (half, gone, other):
        path.touch()
    os.utime(gone, (0, 0))
    for _ in range(2):
        with enter(standing, tmp_path / "x", run, cache=tmp_path) as place:
            fill = 'mkdir -p "$PIP_CACHE_DIR" && date >"$PIP_CACHE_DIR/x"'
            place.run(["sh", "-c", fill], env=place.environment())
    assert sorted(file.parent.iterdir()) == sorted([file, other])


@pytest.mark.engine
def test_an_engines_client_leaves_no_copy_of_what_goes_in(tmp_path: Path, temporary: Path) -> None:
    source = tmp_path / "source"
    source.write_text("what goes in")
    with enter(stand(engine.debian()), tmp_path / "x", run, cache=tmp_path / "cache") as place:
        place.put(source, f"{place.root}/source")
    assert left(temporary) == []
