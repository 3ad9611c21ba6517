"""A repository behind a password, cloned over HTTP by the real git."""

from __future__ import annotations

import base64
import functools
import http.server
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from misbehaving import Loopback
from test_secrets import Watch
from wainwright.declaration.release import Git
from wainwright.errors import WainwrightError
from wainwright.run import run
from wainwright.sourcing.gitremote import confidential
from wainwright.sourcing.sources import prepare

USER, PASSWORD = "me", "pl@nted-source-secret/7391"
ALLOWED = f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"
SPELLED = (PASSWORD.encode(), b"planted", b"pl%40nted-source-secret%2F7391", ALLOWED.split()[1].encode())


class Guarded(http.server.SimpleHTTPRequestHandler):
    """Serves repositories as files, to whoever knows the password."""

    def log_message(self, *_: object) -> None:
        return

    def do_GET(self) -> None:
        time.sleep(0.02)  # so that whoever watches git sees it at work
        if self.headers.get("Authorization") == ALLOWED:
            super().do_GET()
            return
        self.send_response(401)
        self.send_header("WWW-Authenticate", "Basic")
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve a repository with a submodule whose address is `../library.git`; the address has the password in it."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    served = tmp_path / "served"
    served.mkdir()
    for name in ("library", "demo"):
        folder = tmp_path / name
        folder.mkdir()
        git(folder, "init", "--quiet", "--initial-branch=main")
        (folder / f"{name}.c").write_text("int a;")
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "-m", "one")
        if name == "demo":
            git(folder, "submodule", "--quiet", "add", str(tmp_path / "library"), "third")
            git(folder, "config", "-f", ".gitmodules", "submodule.third.url", "../library.git")
            git(folder, "commit", "--quiet", "-am", "two")
            git(folder, "tag", "v1.0")
        subprocess.run(["git", "clone", "--quiet", "--bare", str(folder), str(served / f"{name}.git")], check=True)
        git(served / f"{name}.git", "update-server-info")
    handler = type(
        "Handler", (Guarded,), {"__init__": functools.partialmethod(Guarded.__init__, directory=str(served))}
    )
    with Loopback(handler) as server:
        yield server.origin.replace("://", f"://{USER}:pl%40nted-source-secret%2F7391@") + "/demo.git"


def git(folder: Path, *words: str) -> None:
    settings = ["-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *settings, "-C", str(folder), *words], check=True)


def test_a_source_is_cloned_without_its_password_on_any_command_line(address: str, tmp_path: Path) -> None:
    with Watch() as watch:
        made = prepare(Git(url=address, rev="v1.0"), tmp_path / "out" / "source", run=run, cache=tmp_path / "cache")
    assert {path.name for path in made.path.rglob("*.c")} == {"demo.c", "library.c"}
    assert any(b"git-remote-http" in line or b"remote-http" in line for line in watch.seen), "git was seen at work"
    assert [line for line in watch.seen if any(secret in line for secret in SPELLED)] == []
    assert PASSWORD not in str(made.origin)


def test_a_wrong_password_is_not_told(address: str, tmp_path: Path) -> None:
    wrong = address.replace("7391", "0000")
    with Watch() as watch, pytest.raises(WainwrightError, match="the repository cannot be cloned") as caught:
        prepare(Git(url=wrong, rev="v1.0"), tmp_path / "out" / "source", run=run, cache=tmp_path / "cache")
    assert "nted-source-secret" not in str(caught.value)
    assert not any(b"nted-source-secret" in line for line in watch.seen)


def test_what_the_environment_configures_already_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    _, env = confidential("https://me:secret@example.org/demo.git", siblings=True)
    assert (env["GIT_CONFIG_COUNT"], env["GIT_CONFIG_KEY_1"]) == ("2", "http.https://example.org/.extraHeader")


def test_what_is_no_address_is_gits_to_judge() -> None:
    assert confidential("http://[me:secret@example.org") == ("http://[me:secret@example.org", {})
