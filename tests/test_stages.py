"""The way from release.toml to proven wheels, walked as a user does, on the host with zig."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import random
import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

import native
from projects import RELEASE, Project
from wainwright.declaration import config
from wainwright.declaration.planning import plan
from wainwright.errors import Exit
from wainwright.receipts import Receipts
from wainwright.releasing.reporting import report
from wainwright.values import Python

pytestmark = pytest.mark.network  # zig comes from the index, once

TAG = "manylinux2014_x86_64.manylinux_2_17_x86_64"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "demo")


def receipt(project: Project, name: str) -> dict[str, object]:
    data: dict[str, object] = json.loads(next((project.root / "wheelhouse/receipts").glob(f"{name}.json")).read_text())
    return data


def test_one_command_leaves_a_proven_wheel_and_a_second_does_nothing(project: Project) -> None:
    first = project.run("smoke")
    assert first.returncode == 0, first.stderr
    (wheel,) = project.wheels
    assert wheel.endswith(f"-{TAG}.whl")
    assert wheel.startswith("demo-1.0-cp3")
    build, audit, smoke = (receipt(project, f"full-*.{stage}") for stage in ("build", "audit", "smoke.host"))
    assert audit["source"] == build["wheel"]
    assert smoke["source"] == audit["wheel"]
    assert all(each["passed"] and each["publishable"] for each in (build, audit, smoke))
    assert project.leftovers == []
    second = project.run("smoke")
    assert second.returncode == 0
    assert [line.rpartition(": ")[2] for line in second.stderr.splitlines()] == ["unchanged"] * 3


def test_a_stamp_that_the_build_set_is_not_believed(project: Project) -> None:
    project.build_env(PLATFORM="manylinux_2_5_x86_64")
    assert project.run("audit_2_17").returncode == 0
    assert project.wheels[0].endswith(f"-{TAG}.whl")
    with zipfile.ZipFile(next(project.root.glob("wheelhouse/full/*.whl"))) as wheel:
        tags = [line for line in wheel.read("demo-1.0.dist-info/WHEEL").decode().splitlines() if line.startswith("Tag")]
    assert sorted(tag.rpartition("-")[2] for tag in tags) == sorted(TAG.split("."))
    built = next(path.name for path in project.root.glob("dist/full-*/*.whl"))
    assert built.endswith("-linux_x86_64.whl")


def test_an_edit_does_again_what_depends_on_it(project: Project) -> None:
    assert project.run("smoke").returncode == 0
    project.edit('import = ["demo"]', 'import = ["demo", "json"]')
    lines = project.run("smoke")
    assert lines.returncode == 7, lines.stderr  # json is not in the wheel
    assert "json was imported from" in lines.stderr
    project.edit('import = ["demo", "json"]', 'import = ["demo"]\nimages = ["host"]')
    project.edit("[variants.full.smoke]", '[variants.full.audit]\nmode = "retag"\n[variants.full.smoke]')
    told = project.run("smoke").stderr
    assert "build full" in told
    assert "build full-2_17" in told
    assert [line.rpartition(": ")[2] for line in told.splitlines() if line.startswith("build")] == ["unchanged"]
    assert "audit full" in told
    project.write("mod.c", "void *PyInit_mod(void) { return 1 ? 0 : (void *)1; }")
    told = project.run("build", "--dry-run").stderr
    assert "would run" in told


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        ({"MAKE": "fail"}, ["the compiler said no", "the whole log is"]),
        ({"MAKE": "none"}, ["exactly one wheel", "left no wheel"]),
        ({"MAKE": "two"}, ["exactly one wheel", "demo-1.0-1-"]),
        ({"MAKE": "pure"}, ["expected a native wheel"]),
        ({"VERSION": "1.1"}, ["expected version 1.0, found 1.1"]),
        ({"NAME": "other"}, ["expected a wheel of demo, found one of other"]),
        ({"PLATFORM": "linux_aarch64"}, ["expected a wheel for x86_64, found one for linux_aarch64"]),
    ],
)
def test_a_build_that_goes_wrong_is_one_error(project: Project, ask: dict[str, str], words: list[str]) -> None:
    project.build_env(**ask)
    done = project.run("audit")
    assert done.returncode == Exit.BUILD
    for word in words:
        assert word in done.stderr
    assert done.stderr.splitlines()[-1].startswith("build: error[E05] ")
    assert project.wheels == []
    assert project.leftovers == []
    assert list(project.root.glob("dist/full-*/*.whl")) == []
    assert receipt(project, "full-*.build")["passed"] is False


def test_a_floor_that_is_not_met_names_library_version_symbol_and_the_lowest_tag(tmp_path: Path) -> None:
    source = "#include <pthread.h>\nstatic void *run(void *it) { return it; }\n"
    source += "void *PyInit_mod(void) { pthread_t it; return (void *)(long)pthread_create(&it, 0, run, 0); }"
    project = Project(tmp_path / "demo", source=source)
    compiler = [*native.compiler(), *([] if native.have_gcc else ["-target", "x86_64-linux-gnu.2.36"])]
    project.build_env(CC=" ".join(compiler))
    done = project.run("audit")
    assert done.returncode == Exit.AUDIT, done.stderr
    for word in ("demo/mod.so", "libc.so.6", "GLIBC_2.34", "pthread_create", "manylinux_2_34_x86_64"):
        assert word in done.stderr
    assert project.wheels == []


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("echo no zip > {out}/demo-1.0-cp311-cp311-linux_x86_64.whl", "which is no wheel"),
        ("mkdir {out}/demo-1.0-cp311-cp311-linux_x86_64.whl", "which is not a file"),
        ("ln -s /nowhere {out}/demo-1.0-cp311-cp311-linux_x86_64.whl", "which is not a file"),
        ("echo > {out}/demo.whl", "which is no wheel"),
    ],
)
def test_what_is_no_wheel_is_the_builds_error_and_leaves_nothing(project: Project, command: str, words: str) -> None:
    assert project.run("audit").returncode == 0
    project.edit("{python} make.py {out}", command)
    done = project.run("audit")
    assert done.returncode == Exit.BUILD, done.stderr
    assert words in done.stderr
    assert project.wheels == []
    assert list(project.root.glob("dist/full-*")) == []


def test_libraries_that_are_lost_are_built_again(project: Project) -> None:
    assert project.run("audit").returncode == 0
    index = next(project.root.glob("dist/full-*/libraries/libraries.json"))
    for spoil in (index.unlink, lambda: index.write_text("{")):
        spoil()
        project.edit("[variants.full.smoke]", "[variants.full.wheel]\nforbid = []\n[variants.full.smoke]")
        done = project.run("audit")
        assert done.returncode == 0, done.stderr
        assert "build full-2_17" in done.stderr
        project.edit("[variants.full.wheel]\nforbid = []\n", "")


def test_a_receipt_that_was_edited_harms_nothing(project: Project) -> None:
    assert project.run("audit").returncode == 0
    victim = project.root / "wheelhouse/victim.txt"
    victim.write_text("mine")
    path = next((project.root / "wheelhouse/receipts").glob("full-*.audit.json"))
    data = json.loads(path.read_text())
    data["wheel"]["name"] = "../victim.txt"
    path.write_text(json.dumps(data))
    assert project.run("audit").returncode == 0
    assert victim.read_text() == "mine"
    data = json.loads(path.read_text())
    for edit in ({"wheel": data["wheel"] | {"size": "zz"}}, {"facts": {"verdict": {"libraries": {"inside": 7}}}}):
        path.write_text(json.dumps(data | edit))
        assert project.run("report").returncode == 0


def test_a_wheel_of_no_job_is_named(project: Project) -> None:
    stray = project.root / "wheelhouse/full/demo-0.9-cp311-cp311-manylinux_2_17_x86_64.whl"
    stray.parent.mkdir(parents=True)
    stray.write_bytes(b"of an earlier release.toml")
    assert f"{stray.relative_to(project.root)} is of no job" in project.run("audit").stderr


def test_in_a_git_checkout_results_are_ignored_and_untracked_files_named(project: Project) -> None:
    def git(*words: str) -> str:
        who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        return subprocess.run(
            ["git", *who, *words], cwd=project.root, check=True, capture_output=True, text=True
        ).stdout

    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "all")
    project.write("helper.py", "")
    project.write("release.lock", "version = 1\n")
    told = project.run("audit").stderr
    assert "not built, since git does not track it: helper.py\n" in told
    assert git("status", "--porcelain").splitlines() == ["?? helper.py", "?? release.lock"]
    git("add", "--all")
    assert [line.rpartition(": ")[2] for line in project.run("audit").stderr.splitlines()][-1:] != ["unchanged"]
    assert [line.rpartition(": ")[2] for line in project.run("audit").stderr.splitlines()] == ["unchanged"] * 2


@pytest.mark.parametrize("name", ["with space", "semi;colon", "{out}", "quote's"])
def test_a_project_may_lie_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    done = Project(tmp_path / name).run("smoke")
    assert done.returncode == 0, done.stderr


def test_a_failure_leaves_no_earlier_result_that_could_be_mistaken_for_one(project: Project) -> None:
    assert project.run("audit").returncode == 0
    assert len(project.wheels) == 1
    project.edit("[variants.full.smoke]", '[variants.full.wheel]\nforbid = ["demo/*.so"]\n[variants.full.smoke]')
    done = project.run("audit")
    assert done.returncode == Exit.AUDIT, done.stderr
    assert "demo/mod.so" in done.stderr
    assert project.wheels == []
    assert receipt(project, "full-*.audit")["passed"] is False


def test_the_backends_of_the_wheel_are_those_of_its_variant(project: Project) -> None:
    project.build_env(BACKENDS="cpu vulkan")
    done = project.run("smoke")
    assert done.returncode == Exit.SMOKE
    assert "the wheel has the backends cpu, vulkan, and its variant declares cpu" in done.stderr


def test_a_python_that_is_not_here_is_named_before_anything_is_built(project: Project) -> None:
    project.edit('source = "."', 'source = "."\npython = ["3.14t", "3.15"]')
    done = project.run("build")
    assert done.returncode == Exit.ENGINE
    assert "Python 3.15 is not on this machine" in done.stderr
    assert "Python 3.14t is not on this machine" in done.stderr
    assert "started" not in done.stderr


def test_killed_at_any_moment_the_next_run_neither_trusts_nor_trips(project: Project) -> None:
    chance = random.Random(5)  # noqa: S311
    assert project.run("plan").returncode == 0
    for round_ in range(8):
        process = project.start("smoke")
        time.sleep(chance.uniform(0.2, 3.0))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        project.write("mod.c", f"void *PyInit_mod(void) {{ return (void *){round_ % 3}L; }}")
    done = project.run("smoke")
    assert done.returncode == 0, done.stderr
    assert len(project.wheels) == 1
    assert project.leftovers == []
    assert all(line.endswith("unchanged") for line in project.run("smoke").stderr.splitlines())


@pytest.mark.mounts
def test_a_full_disk_is_said_and_what_was_done_is_kept(project: Project, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    wainwright = f"{sys.executable} -m wainwright"
    script = f"""
        mount -t tmpfs -o size=200k tmpfs {small}
        cp {project.root}/*.* {small} && cd {small}
        {wainwright} smoke; echo "code $?"
        mount -o remount,size=200M {small}
        {wainwright} smoke; echo "code $?"
    """
    argv = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["code", "4", "code", "0"], done.stderr
    assert "hint: free some space" in done.stderr
    assert "Traceback" not in done.stderr


def test_on_a_terminal_what_runs_is_shown_with_its_time(project: Project) -> None:
    leader, follower = pty.openpty()
    argv = [sys.executable, "-m", "wainwright", "build"]
    with subprocess.Popen(argv, cwd=project.root, stdout=follower, stderr=follower) as process:
        os.close(follower)
        shown = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while chunk := os.read(leader, 1 << 16):
                shown += chunk
    os.close(leader)
    assert process.returncode == 0, shown
    assert re.search(rb"\r\x1b\[K\[0/1\] build full-2_17-cp\d+-\w+ \d s", shown), shown
    assert b": started" not in shown


def test_a_stand_in_is_named_and_never_publishable(project: Project) -> None:
    project.edit('[images.zig]\ntoolchain = "zig"', '[images.zig]\nref = "registry.invalid/many:1"\nfallback = "zig"')
    done = project.run("smoke")
    assert done.returncode == 0, done.stderr
    assert "zig (stood in for by the host with zig" in done.stderr
    assert "never published" in done.stderr
    for stage in ("build", "audit", "smoke.host"):
        assert receipt(project, f"full-*.{stage}")["publishable"] is False
    assert receipt(project, "full-*.build")["engine"] == "host"


def test_what_is_built_by_declaration_and_proven_on_a_stand_in_is_not_publishable(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAINWRIGHT_ENGINE", "none")
    project.edit("[images.zig]", '[images.old]\nref = "registry.invalid/old:1"\nfallback = "zig"\n[images.zig]')
    project.edit('smoke = ["host"]', 'smoke = ["old", "host"]')
    assert project.run("smoke").returncode == 0
    known = {
        stage: receipt(project, f"full-*.{stage}")["publishable"] for stage in ("build", "smoke.host", "smoke.old")
    }
    assert known == {"build": True, "smoke.host": True, "smoke.old": False}
    loaded = config.load(project.root / "release.toml")
    jobs = plan(loaded, python=Python.of_running(), arch="x86_64")
    (entry,) = report("demo", jobs, Receipts(project.root / "wheelhouse/receipts"), manifest=None, journal=None).entries
    assert [stage.outcome for stage in entry.stages] == ["passed", "passed", "tried", "passed"]


def test_an_image_that_cannot_be_had_stops_with_a_sentence(project: Project) -> None:
    project.edit('[images.zig]\ntoolchain = "zig"', '[images.zig]\nref = "registry.invalid/many:1"')
    done = project.run("build")
    assert done.returncode == Exit.ENGINE
    assert 'fallback = "zig"' in done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "release.toml"),
        ("[project\n", "release.toml"),
        (RELEASE.replace('backends = ["cpu"]', 'backends = ["cqu"]'), "variants.full.backends[0]"),
    ],
)
def test_a_wrong_release_toml_is_one_message_with_code_2(project: Project, text: str | None, words: str) -> None:
    if text is None:
        (project.root / "release.toml").unlink()
    else:
        project.write("release.toml", text)
    done = project.run("plan")
    assert done.returncode == Exit.USAGE
    assert words in done.stderr


def test_only_leaves_the_jobs_that_match(project: Project) -> None:
    assert project.run("build", "--only", "other-*").returncode == Exit.NOTHING_SELECTED
    plan = json.loads(project.run("plan", "--json", "--only", "full-*").stdout)
    assert [job["wheel"].endswith(f"-{TAG}.whl") for job in plan["jobs"]] == [True]


def test_a_tag_of_another_version_fails_the_build(project: Project) -> None:
    done = project.run("build", "--", "v0.9.2")
    assert done.returncode == Exit.BUILD
    assert "expected version 0.9.2, found 1.0" in done.stderr
    assert project.run("build", "--", "0.9.2").returncode == Exit.USAGE
