"""The three ways to run a session: Nox, Tox, and neither. Each in a process of its own, as a user starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from projects import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "demo")
    project.write("noxfile.py", "import wainwright.sessions\n\nwainwright.sessions.register()\n")
    project.write("toxfile.py", "from wainwright.sessions.with_tox import *\n")
    return project


def nox(project: Project, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "nox", *words]
    return subprocess.run(argv, cwd=project.root, capture_output=True, text=True, check=False)


def tox(project: Project, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "tox", *words]
    return subprocess.run(argv, cwd=project.root, capture_output=True, text=True, check=False)


def test_bare_nox_prints_the_plan_and_touches_nothing(project: Project) -> None:
    before = sorted(path.name for path in project.root.iterdir())
    done = nox(project)
    assert done.returncode == 0, done.stderr
    assert "full-2_17-cp3" in done.stdout
    assert "manylinux2014_x86_64.manylinux_2_17_x86_64.whl" in done.stdout
    assert sorted(path.name for path in project.root.iterdir() if path.name not in {".nox", "__pycache__"}) == before


def test_nox_says_nothing_of_its_own_search_for_uv(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV", "no-such-uv")
    done = nox(project, "-s", "check")
    assert "Running session check" in done.stderr
    assert "uv" not in done.stderr.split()


def test_bare_tox_prints_the_plan_and_builds_nothing(project: Project) -> None:
    done = tox(project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "full-2_17-cp3" in done.stdout
    assert ".pkg" not in done.stdout
    assert sorted(path.name for path in project.root.iterdir() if path.name in {"dist", "wheelhouse"}) == []
    project.write("tox.ini", "[tox]\nenv_list = check\n")
    assert "release.toml is right" in tox(project).stderr, "what a tox.ini says comes first"


def test_help_lists_the_options_once_and_runs_nothing(project: Project) -> None:
    listing = project.run("smoke", "--help").stdout
    for option in ("--only", "--skip", "--jobs", "--dry-run", "--json", "--update", "--push", "--reseal", "--help"):
        assert option in listing
    for done in (nox(project, "-s", "smoke", "--", "--help"), project.run("smoke", "--", "-h")):
        assert (done.returncode, done.stdout) == (0, listing)
    assert listing in tox(project, "-e", "smoke", "--", "--help").stdout
    assert not (project.root / "dist").exists()


def test_nox_lists_each_session_with_a_line(project: Project) -> None:
    listed = nox(project, "-l").stdout
    for name in ("plan", "check", "build_full", "audit_2_17", "smoke"):
        assert any(
            line.split()[1:2] == [name] and " -> " in line and line.endswith(".") for line in listed.splitlines()
        ), listed


def test_nox_selects_by_tag_and_hands_the_options_to_all(project: Project) -> None:
    done = nox(project, "-s", "build_full", "audit_full", "--", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "build full-2_17" in done.stderr
    assert "would run" in done.stderr
    assert "audit_2_17" in nox(project, "-l", "-t", "audit").stdout


def test_a_mistake_is_one_message_at_start(project: Project) -> None:
    project.edit('backends = ["cpu"]', 'backends = ["cqu"]')
    for done in (nox(project, "-l"), tox(project, "-l"), project.run("plan")):
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        told = [line for line in done.stderr.splitlines() if "variants.full.backends[0]" in line]
        assert len(told) == 1
        assert 'did you mean "cpu"?' in told[0]


def test_the_last_line_under_nox_names_the_code(project: Project) -> None:
    project.edit('source = "."', 'source = { sdist = "wainwright-no-such-project==1.0" }')
    done = nox(project, "-s", "audit_2_17")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("build_2_17: error[E02] ")
    assert "Traceback" not in done.stderr


@pytest.mark.network
@pytest.mark.parametrize("edge", ["nox", "wainwright"])
def test_an_interrupt_says_what_is_next_and_begins_nothing_more(project: Project, tmp_path: Path, edge: str) -> None:
    begun = tmp_path / "begun"
    project.edit("{python} make.py {out}", f"touch {begun}; sleep 60")
    words = ["-s", "build", "compat", "--"] if edge == "nox" else ["build", "compat", "--"]
    argv = [sys.executable, "-m", edge, *words, "--only", "full-*"]
    with subprocess.Popen(
        argv, cwd=project.root, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    ) as process:
        give_up = time.monotonic() + 120
        while not begun.exists() and process.poll() is None and time.monotonic() < give_up:
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode in {130, -signal.SIGINT}
    assert "hint: what is done is kept: run the same command again" in err
    assert err.splitlines()[-1] == "build: error[E130] interrupted"
    assert "compat" not in err
    assert "Traceback" not in err


@pytest.mark.network
def test_tox_pulls_in_what_a_session_requires_and_keeps_its_code(project: Project) -> None:
    done = tox(project, "-e", "audit_2_17", "--", "--only", "full-*")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(project.wheels) == 1
    project.build_env(MAKE="fail")
    assert tox(project, "-e", "audit_2_17").returncode == 5


def test_tox_and_the_command_line_print_the_same_plan(project: Project) -> None:
    by_tox = tox(project, "-q", "-e", "plan", "--", "--json")
    plan = next(line for line in by_tox.stdout.splitlines() if line.startswith("{"))
    assert json.loads(plan) == json.loads(project.run("plan", "--json").stdout)


def test_the_plan_says_who_gets_a_reduced_wheel(project: Project) -> None:
    project.edit("[backends.cpu]", "[backends.cpu]\n[backends.cuda]")
    project.edit('backends = ["cpu"]\n', 'backends = ["cpu", "cuda"]\npublish = ["pypi"]\n')
    more = """
        [targets."2.27"]
        image = "zig"
        smoke = ["host"]
        [variants.small]
        backends = ["cpu"]
        glibc = ["2.27"]
        publish = ["pypi"]
        [publish.pypi]
        repository = "pypi"
    """
    project.write("release.toml", (project.root / "release.toml").read_text() + more)
    told = project.run("plan").stdout
    assert "full on glibc 2.17, small on glibc 2.27-2.39" in told
    assert "pip takes small although full would run there too" in told


def test_an_unknown_session_is_an_error_with_the_nearest(project: Project) -> None:
    done = project.run("audit_2_71")
    assert done.returncode == 2
    assert "did you mean audit_2_17" in done.stderr


def test_without_words_the_command_line_says_how_it_is_used(project: Project) -> None:
    done = project.run()
    assert done.returncode == 0
    assert "usage: wainwright" in done.stdout
    assert "audit_2_17" in project.run("--list").stdout
