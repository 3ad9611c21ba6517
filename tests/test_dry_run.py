"""`nox -s release -- v1.0 --dry-run`, from a clean checkout, as a release engineer gives it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

import releases
from tagged import Tagged, git, tagged

PASSWORD = "correct-horse-7391"  # noqa: S105
TOML = (
    releases.TOML.replace('[images.old]\nref = "registry.example.org/old:1"\n', "")
    .replace('image = "old"\nsmoke = ["debian10"]', 'image = "zig"\nsmoke = ["host"]')
    .replace('smoke = ["debian10", "centos7"]', 'smoke = ["host"]')
    .replace('[images.debian10]\nref = "debian:10"\n[images.centos7]\nref = "centos:7"\n', "")
    .replace('repository = "owner/demo"', 'repository = "owner/demo"\nindex = true\nnightly = true')
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Tagged]:
    with tagged(tmp_path, password=PASSWORD, toml=TOML) as made:
        yield made


@pytest.fixture
def checkout(world: Tagged, tmp_path: Path) -> Path:
    """Clone what was pushed: no wheel, no receipt."""
    (world.root / "noxfile.py").write_text("import wainwright.sessions\n\nwainwright.sessions.register()\n")
    (world.root / ".gitignore").write_text("/wheelhouse/\n/dist/\n__pycache__/\n.nox/\n")
    git(world.root, "add", "--all")
    git(world.root, "commit", "--quiet", "-m", "with sessions")
    git(world.root, "tag", "-f", "-a", "v1.0", "-m", "1.0")
    git(world.root, "push", "--quiet", "--force", "origin", "main", "v1.0")
    world.github.tags["v1.0"] = ("commit", git(world.root, "rev-parse", "HEAD"))
    root = tmp_path / "checkout"
    git(tmp_path, "clone", "--quiet", "--branch=main", str(tmp_path / "remote.git"), str(root))
    return root


def nox(world: Tagged, root: Path, *words: str) -> tuple[int, list[str]]:
    """Give the exit code, and what was said on both, as on a terminal."""
    env = dict(world.environ) | {
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "default",
    }
    argv = [sys.executable, "-m", "nox", "-s", *words]
    done = subprocess.run(
        argv, cwd=root, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert "Traceback" not in done.stdout, done.stdout
    return done.returncode, done.stdout.splitlines()


def state(root: Path) -> dict[str, str]:
    """Give every file below a folder, git's own aside, with its digest."""
    files = (path for path in root.rglob("*") if path.is_file() and not {".git", ".nox"} & set(path.parts))
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_it_reads_all_says_every_write_and_touches_nothing(world: Tagged, checkout: Path) -> None:
    before = state(checkout)
    code, lines = nox(world, checkout, "release", "--", "v1.0", "--dry-run", "--jobs", "1")
    assert code == 0, lines
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    full = f"demo-1.0-{python}-*-manylinux_2_27_x86_64.whl"
    reduced = f"demo-1.0+reduced-{python}-*-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
    wanted = [
        "preflight: nothing stands in the way of v1.0 at internal, page",
        f"build full-2_27-{python}-x86_64: would run",
        f"build reduced-2_17-{python}-x86_64: would run",
        f"audit full-2_27-{python}-x86_64: would run",
        f"audit reduced-2_17-{python}-x86_64: would run",
        f"smoke full-2_27-{python}-x86_64 in host: would run",
        f"smoke reduced-2_17-{python}-x86_64 in host: would run",
        "publish: page: would create a draft",
        f"publish: page: would upload {full}",
        f"publish: page: would upload {reduced}",
        "publish: page: would upload SHA256SUMS",
        "publish: page: would upload manifest.json",
        f"publish: internal: would upload {full}",
        "publish: page: would make the release public",
        f"publish: page: would write {checkout / 'wheelhouse/pages/page'}",
        "report: would write wheelhouse/report.html and report.md",
        "release: v1.0 was only looked at: nothing was written",
    ]
    assert "publish: v1.0 would be refused as it stands:" in lines, "and then why, and what comes after"
    told = [line for line in lines if line in wanted or "would" in line]
    assert [line for line in told if not line.startswith(("publish: v1.0 ", "publish: once "))] == wanted
    assert [line for line in lines if " > " in line and not line.startswith("nox > ")] == [], "what libraries log"
    assert state(checkout) == before
    assert world.github.count("(POST|PATCH|DELETE)", ".*") == 0
    assert world.index.files == {}
    assert world.index.uploads == 2, "asked twice whether the password is let in"
    assert world.github.count("GET", "/releases$") == world.index.listings - 2 == 2, "preflight and publish look"


def test_the_last_line_names_the_code_and_nothing_is_begun(world: Tagged, checkout: Path) -> None:
    world.github.push = False
    git(checkout, "commit", "--quiet", "--allow-empty", "-m", "more")
    before = state(checkout)
    code, lines = nox(world, checkout, "release", "--", "v1.0", "--dry-run", "--jobs", "1")
    assert code == 1
    assert lines[-1] == "preflight: error[E08] 2 things must be mended before v1.0 can be published"
    assert "publish.page: the token may not push to octo/demo" in lines
    skipped = {line for line in lines if line.startswith("nox > Session") and "and nothing is begun" in line}
    assert len(skipped) == 6, "images, build, audit, smoke, publish, report"
    assert not any("would" in line for line in lines)
    assert state(checkout) == before


def test_a_nightly_too(world: Tagged, checkout: Path) -> None:
    before = state(checkout)
    code, lines = nox(world, checkout, "release", "--", "nightly", "--dry-run")
    assert code == 0, lines
    day = f"{datetime.now(timezone.utc):%Y%m%d}"
    assert (
        "publish: internal is left out: it takes no nightlies (nightly = true under [publish.internal] lets them)"
        in lines
    )
    assert f"publish: page: would upload demo-1.1.dev{day}-" in "\n".join(lines)
    assert not any(line.startswith("publish: internal: would") for line in lines)
    assert state(checkout) == before
    assert world.index.requests == []
