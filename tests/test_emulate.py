"""The happy path against emulate's GitHub: somebody else's idea of the same interface."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

import npm
from strict_github import COMMIT, TOKEN, sealed
from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.destinations import Remote
from wainwright.hosts.github import GitHub, of_environment
from wainwright.hosts.patience import Patience
from wainwright.hosts.releasepage import ReleasePage
from wainwright.hosts.wanted import Wanted

SEED = {
    "tokens": {TOKEN: {"login": "octo", "scopes": ["repo"]}},
    "github": {"users": [{"login": "octo"}], "repos": [{"owner": "octo", "name": "demo", "auto_init": True}]},
}


@pytest.fixture(scope="module")
def api_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    modules = npm.install("emulate")
    folder = tmp_path_factory.mktemp("emulate")
    seed = folder / "seed.json"
    seed.write_text(json.dumps(SEED))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = [str(modules / "node" / "bin" / "node"), str(modules / "emulate" / "dist" / "index.js")]
    argv = [*program, "start", "-s", "github", "-p", str(port), "--seed", str(seed)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(argv, cwd=folder, stdout=log, stderr=log, env=os.environ | {"HOME": str(folder)})
    try:
        url = f"http://localhost:{port}"
        _wait_for(url, process, folder / "log")
        yield url
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up and process.poll() is None:
        try:
            httpx2.get(f"{url}/repos/octo/demo")
        except httpx2.TransportError:
            time.sleep(0.1)
        else:
            return
    pytest.fail(f"emulate did not start: {log.read_text()}")


@pytest.fixture
def github(api_url: str) -> Iterator[GitHub]:
    environ = {"GITHUB_API_URL": api_url, "GITHUB_TOKEN": TOKEN}
    with of_environment("octo/demo", environ, patience=Patience(pause=0)) as github:
        yield github


@pytest.mark.npm
def test_a_host_of_another_name_is_found_before_anything_is_there(api_url: str) -> None:
    environ = {"GITHUB_API_URL": api_url.replace("localhost", "127.0.0.1"), "GITHUB_TOKEN": TOKEN}
    with of_environment("octo/demo", environ) as github, pytest.raises(WainwrightError) as caught:
        github.may_push()
    assert caught.value.what == f"the host calls itself {api_url}"
    assert "set GITHUB_API_URL to the name that the host has for itself" in caught.value.hint


@pytest.mark.npm
def test_a_release_from_nothing_to_public(github: GitHub, tmp_path: Path) -> None:
    files = {"demo-1.0+cpu-py3-none-any.whl": b"wheel one", "SHA256SUMS": b"sums"}
    assets = sealed(tmp_path, files)
    wanted = Wanted(tag="v1.0", version="1.0", commit=COMMIT, title="Demo 1.0", notes="What is new", assets=assets)
    assert github.may_push()
    page = ReleasePage(github, wanted)
    assert page.listing() == {}
    for asset in assets:
        page.put(asset)
    draft = page.page()
    assert draft is not None
    assert draft.draft
    public = page.publish()
    assert (public.tag, public.name, public.body, public.draft) == ("v1.0", "Demo 1.0", "What is new", False)
    again = ReleasePage(github, wanted)
    assert again.listing() == {asset.name: Remote(size=asset.size, sha256=None) for asset in assets}


@pytest.mark.npm
def test_what_cannot_be_compared_is_not_called_the_same(github: GitHub, tmp_path: Path) -> None:
    """Emulate tells no digest and serves no bytes: a second run cannot know what is there."""
    assets = sealed(tmp_path, {"demo-2.0-py3-none-any.whl": b"wheel"})
    wanted = Wanted(tag="v2.0", version="2.0", commit=COMMIT, title="", notes="", assets=assets)
    ReleasePage(github, wanted).put(assets[0])
    with pytest.raises(WainwrightError) as caught:
        ReleasePage(github, wanted).put(assets[0])
    assert caught.value.code is Exit.REFUSED
