"""A whole release by one command: real wheels to a real devpi, a real pypiserver and GitHub's interface, and back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import servers
from servers import Server
from strict_github import OWNER, REPO, TOKEN, StrictGitHub
from tagged import git
from test_pages import served

EXAMPLE = Path(__file__).parent.parent / "examples" / "tricolor"
PASSWORD = "correct-horse-7391"  # noqa: S105
PROGRAM = """
import sys
from wainwright.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
TOML = """
[project]
source = "."
[backends.loop]
on = { env = { TRICOLOR_BACKENDS = "loop" } }
[backends.threads]
on = { env = { TRICOLOR_BACKENDS = "threads" } }
[backends.dl]
on = { env = { TRICOLOR_BACKENDS = "dl" } }
[images.zig]
toolchain = "zig"
[targets."2.17"]
image = "zig"
[targets."2.27"]
image = "zig"
[variants.full]
backends = ["loop", "threads", "dl"]
glibc = ["2.27"]
publish = ["devpi", "page"]
[variants.full.smoke]
import = ["tricolor"]
backends = "python -c 'import tricolor; print(*tricolor.built_backends())'"
[variants.reduced]
backends = ["loop", "threads"]
glibc = ["2.17"]
local-version = "reduced"
publish = ["pypiserver", "page"]
[variants.reduced.smoke]
import = ["tricolor"]
backends = "python -c 'import tricolor; print(*tricolor.built_backends())'"
[publish.devpi]
url = "DEVPI"
[publish.pypiserver]
url = "PYPISERVER"
local-versions = true
[publish.page]
repository = "REPOSITORY"
index = true
"""
BACKENDS = {"full": {"loop", "threads", "dl"}, "reduced": {"loop", "threads"}}


@dataclass
class World:
    root: Path
    devpi: Server
    pypiserver: Server
    github: StrictGitHub

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        env = {name: value for name, value in os.environ.items() if not name.startswith(("TWINE_", "GITHUB_", "GH_"))}
        env |= {"GITHUB_API_URL": self.github.api_url, "GH_TOKEN": TOKEN}
        for name in ("DEVPI", "PYPISERVER"):
            env |= {f"TWINE_USERNAME_{name}": servers.USER, f"TWINE_PASSWORD_{name}": PASSWORD}
        argv = [sys.executable, "-c", PROGRAM, *words]
        return subprocess.run(argv, cwd=self.root, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    root = tmp_path / "tricolor"
    shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns("build", "dist", "*.egg-info", "__pycache__"))
    with ExitStack() as stack:
        devpi = stack.enter_context(servers.devpi(tmp_path / "devpi", password=PASSWORD))
        pypiserver = stack.enter_context(servers.pypiserver(tmp_path / "pypiserver", password=PASSWORD))
        github = stack.enter_context(StrictGitHub())
        toml = TOML.replace("DEVPI", devpi.upload).replace("PYPISERVER", pypiserver.upload)
        (root / "release.toml").write_text(toml.replace("REPOSITORY", f"{OWNER}/{REPO}"))
        (root / ".gitignore").write_text("/dist/\n/wheelhouse/\n")
        git(root, "init", "--quiet", "--initial-branch=main")
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "-m", "all")
        git(root, "tag", "-a", "v1.0.0", "-m", "1.0.0")
        subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "remote.git")], check=True)
        git(root, "remote", "add", "origin", str(tmp_path / "remote.git"))
        git(root, "push", "--quiet", "origin", "main", "v1.0.0")
        github.tags["v1.0.0"] = ("commit", git(root, "rev-parse", "HEAD"))
        yield World(root=root, devpi=devpi, pypiserver=pypiserver, github=github)


@pytest.mark.network
def test_one_command_releases_and_everybody_gets_their_wheel(world: World, tmp_path: Path) -> None:
    dry = world.run("release", "--", "v1.0.0", "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert world.github.releases == {}
    done = world.run("release", "--", "v1.0.0")
    assert done.returncode == 0, done.stderr
    assert "release: v1.0.0 is complete: 1 wheel at devpi, 2 wheels at page, 1 wheel at pypiserver" in done.stderr
    again = world.run("publish", "--", "v1.0.0", "--json")
    assert again.returncode == 0, again.stderr
    said = json.loads(again.stdout.splitlines()[-1])
    assert {each["state"] for each in said["files"]} == {"public"}
    (public,) = world.github.public
    site = tmp_path / "site"
    contents = world.github.contents(public["id"])
    with served(site) as (url, _):
        pages = move(world, site, url, contents)
        cases = {"devpi": (world.devpi.simple, "full"), "pypiserver": (world.pypiserver.simple, "reduced")}
        cases |= {"full": (f"{pages}/full/", "full"), "reduced": (f"{pages}/reduced/", "reduced")}
        for name, (index, variant) in cases.items():
            assert install(tmp_path / f"venv-{name}", index) == BACKENDS[variant], name


def move(world: World, site: Path, url: str, contents: dict[str, bytes]) -> str:
    """Put the release's files and pages on a static host, at addresses of its own; gives the pages' address."""
    shutil.copytree(world.root / "wheelhouse" / "pages" / "page", site / "index")
    for path in (site / "index").rglob("index.html"):
        path.write_text(path.read_text().replace(world.github.origin, url))
    download = site / urlsplit(f"{world.github.origin}/{OWNER}/{REPO}/releases/download/v1.0.0").path.lstrip("/")
    download.mkdir(parents=True)
    for name, data in contents.items():
        (download / name).write_bytes(data)
    return f"{url}/index"


def install(venv: Path, index: str) -> set[str]:
    """Install tricolor from an index into a fresh environment, and give the backends that it says it has."""
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    python = str(venv / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--isolated", "--quiet", "--no-cache-dir", "--index-url", index, "tricolor"]
    done = subprocess.run(pip, capture_output=True, text=True, check=False, env={})
    assert done.returncode == 0, done.stderr
    ask = [python, "-c", "import tricolor; print(*tricolor.built_backends())"]
    return set(subprocess.run(ask, capture_output=True, text=True, check=True).stdout.split())
