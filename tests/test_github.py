from __future__ import annotations

import hashlib
import json
import logging
import re
import subprocess
import sys
import textwrap
import time
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import pytest

from misbehaving import Fault
from strict_github import COMMIT, OWNER, REPO, TOKEN, Clock, StrictGitHub, sealed
from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.github import API, GitHub, of_environment, token_of
from wainwright.hosts.held import Page, kept_name
from wainwright.hosts.patience import Gone, Patience, Unprocessable, Unsure

NAME = f"{OWNER}/{REPO}"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server(clock: Clock) -> Iterator[StrictGitHub]:
    with StrictGitHub(now=clock.now) as server:
        yield server


@pytest.fixture
def github(server: StrictGitHub, clock: Clock) -> Iterator[GitHub]:
    patience = Patience(now=clock.now, sleep=clock.sleep, jitter=lambda: 1.0)
    with GitHub(NAME, token=TOKEN, api_url=server.api_url, patience=patience) as github:
        yield github


def stumbling(server: StrictGitHub, *faults: Fault) -> None:
    left = list(faults)
    server.plan = lambda _: left.pop(0) if left else None


def refused(act: Callable[[], object], code: Exit) -> str:
    with pytest.raises(WainwrightError) as caught:
        act()
    assert caught.value.code is code
    return str(caught.value)


@pytest.mark.parametrize(
    ("headers", "body", "wait"),
    [
        ({"retry-after": "7"}, None, 7),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT"}, None, 30),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800000090"}, None, 91),
        ({}, {"message": "You have exceeded a secondary rate limit"}, 60),
    ],
)
@pytest.mark.parametrize("status", [403, 429])
def test_a_rate_limit_is_sat_out_as_long_as_the_host_asks(
    server: StrictGitHub, github: GitHub, clock: Clock, status: int, headers: dict[str, str], body: Any, wait: int
) -> None:
    stumbling(server, Fault(status=status, store="none", headers=headers, body=body))
    assert list(github.releases()) == []
    assert clock.waits == [wait]


def test_a_limit_that_lasts_too_long_is_not_sat_out(server: StrictGitHub, github: GitHub, clock: Clock) -> None:
    stumbling(server, Fault(status=429, store="none", headers={"retry-after": "90000"}))
    told = refused(github.may_push, Exit.RETRIES_EXHAUSTED)
    assert "1500 minutes" in told
    assert clock.waits == []


def test_the_last_request_of_a_limit_is_heeded(server: StrictGitHub, github: GitHub, clock: Clock) -> None:
    stumbling(server, Fault(headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800000040"}))
    github.may_push()
    assert clock.waits == []
    github.may_push()
    assert clock.waits == [41]


def test_a_write_is_sent_again_after_a_rate_limit_only(server: StrictGitHub, github: GitHub) -> None:
    fields: dict[str, Any] = {"tag": "v1", "commit": COMMIT, "name": "", "body": "", "prerelease": False}
    stumbling(server, Fault(status=429, store="none"))
    github.create_draft(**fields)
    assert len(server.releases) == 1
    for fault in (Fault(status=502), Fault(reset="after"), Fault(reset="answer"), Fault(status=200, body=[])):
        server.releases.clear()
        stumbling(server, fault)
        with pytest.raises(Unsure):
            github.create_draft(**fields)
        assert len(server.releases) == 1


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500),
        Fault(status=504),
        Fault(reset="before"),
        Fault(reset="answer"),
        Fault(status=200, body="<html>"),
    ],
    ids=repr,
)
def test_a_read_is_repeated_with_growing_pauses(
    server: StrictGitHub, github: GitHub, clock: Clock, fault: Fault
) -> None:
    stumbling(server, fault, fault, fault)
    assert list(github.releases()) == []
    assert clock.waits == [1, 2, 4]


def test_what_drips_is_given_up(server: StrictGitHub, clock: Clock, tmp_path: Path) -> None:
    patience = Patience(now=clock.now, sleep=clock.sleep, jitter=lambda: 1.0, attempts=3, longest_answer=0.2)
    (asset,) = sealed(tmp_path, {"a.whl": bytes(100_000)})
    with GitHub(NAME, token=TOKEN, api_url=server.api_url, patience=patience) as github:
        page = github.create_draft(tag="v1", commit=COMMIT, name="", body="", prerelease=False)
        held = github.upload(page, asset)
        server.plan = lambda _: Fault(drip=0.05)
        began = time.monotonic()
        for act in (lambda: list(github.releases()), lambda: github.download(held)):
            assert "no whole answer in 0.2 s" in refused(act, Exit.RETRIES_EXHAUSTED)
        with pytest.raises(Unsure, match="no whole answer"):
            github.change(page.id, body="")
        assert time.monotonic() - began < 10
        server.plan = lambda _: None
        assert [each.id for each in github.releases()] == [page.id]


def test_a_file_may_take_its_time_as_long_as_it_goes_on(tmp_path: Path) -> None:
    """Up and down: each block within the limit, the whole far beyond it."""
    (asset,) = sealed(tmp_path, {"slow.whl": bytes(24 << 20)})
    with HTTPServer(("127.0.0.1", 0), _Slow) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        page = Page(
            id=1,
            tag="",
            name="",
            body="",
            draft=True,
            prerelease=False,
            immutable=False,
            url="",
            upload_url=url,
        )
        try:
            with GitHub(
                NAME, token=TOKEN, api_url=url.rstrip("/"), patience=Patience(attempts=1, longest_answer=1.0)
            ) as github:
                began = time.monotonic()
                held = github.upload(page, asset)
                assert time.monotonic() - began > 2
                assert github.download(held) == asset.sha256
                assert time.monotonic() - began > 4
        finally:
            server.shutdown()
            thread.join()


def test_patience_ends(server: StrictGitHub, github: GitHub, clock: Clock) -> None:
    stumbling(server, *[Fault(status=503, body={"message": "come back later"})] * 9)
    told = refused(lambda: list(github.releases()), Exit.RETRIES_EXHAUSTED)
    assert "HTTP 503: come back later" in told
    assert len(clock.waits) == 5


def test_what_will_not_pass_ends_at_once(server: StrictGitHub, github: GitHub, clock: Clock) -> None:
    for status, code in ((401, Exit.NOT_AUTHORISED), (403, Exit.NOT_AUTHORISED), (404, Exit.NOT_AUTHORISED)):
        stumbling(server, Fault(status=status))
        refused(lambda: list(github.releases()), code)
    stumbling(server, Fault(status=301, headers={"Location": f"{server.api_url}/repositories/1/releases"}))
    assert "moved" in refused(lambda: list(github.releases()), Exit.REFUSED)
    with pytest.raises(Gone):
        github.release(5)
    server.add_release("v1")
    with pytest.raises(Unprocessable) as caught:
        github.create_draft(tag="v1", commit=COMMIT, name="", body="", prerelease=False)
    assert caught.value.codes == {"already_exists"}
    assert max(clock.waits, default=0) <= 1


@pytest.mark.parametrize("items", [4, 5, 6, 23])
def test_short_pages_are_read_to_the_last(server: StrictGitHub, github: GitHub, items: int) -> None:
    server.most = 5
    tags = [f"v0.{number}" for number in range(items)]
    first, *_ = [server.add_release(tag) for tag in tags]
    for tag in tags:
        server.add_asset(first, f"{tag}.txt", b"text")
    assert sorted(page.tag for page in github.releases()) == sorted(tags)
    assert sorted(held.name for held in github.assets(first)) == sorted(f"{tag}.txt" for tag in tags)


def test_what_else_it_tells(server: StrictGitHub, github: GitHub) -> None:
    assert github.may_push() is True
    server.push = False
    assert github.may_push() is False
    server.push = True
    assert github.generated_notes("v2", commit=COMMIT, previous="v1") == "What changed in v2"
    server.tags["v/1"] = ("tag", "a" * 40)
    server.tag_objects["a" * 40] = ("tag", "b" * 40)
    server.tag_objects["b" * 40] = ("commit", COMMIT)
    assert github.commit_of("v/1") == COMMIT
    assert github.commit_of("v2") is None


def test_the_token_goes_to_its_host_only(server: StrictGitHub, github: GitHub, tmp_path: Path) -> None:
    (asset,) = sealed(tmp_path, {"a.whl": b"a"})
    page = github.create_draft(tag="v1", commit=COMMIT, name="", body="", prerelease=False)
    for url in (
        "http://elsewhere.example/assets",
        page.upload_url.replace("http:", "https:"),
        "http://evil-127.0.0.1/",
        "http://127.0.0.1:9/assets",
        "http://127.0.0.1/assets",
        "http://127.0.0.1:port/assets",
    ):
        moved = Page(**{name: getattr(page, name) for name in Page.__dataclass_fields__} | {"upload_url": url})
        assert "no other host" in refused(lambda moved=moved: github.upload(moved, asset), Exit.REFUSED)  # type: ignore[misc]
    held = github.upload(page, asset)
    assert github.download(held) == asset.sha256
    assert server.violations == []  # the storage host did not see it


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"GH_TOKEN": "a", "GITHUB_TOKEN": "b"}, "a"),
        ({"GITHUB_TOKEN": " b\n"}, "b"),
        ({"GH_TOKEN": "", "GITHUB_TOKEN": "b"}, "b"),
        ({"GH_ENTERPRISE_TOKEN": "c"}, ""),
        ({}, ""),
    ],
)
def test_tokens_are_found_as_githubs_command_line_finds_them(environ: dict[str, str], expected: str) -> None:
    assert token_of(API, environ) == expected
    assert token_of("https://api.octo.ghe.com", environ) == expected


def test_an_enterprise_host_has_tokens_of_its_own() -> None:
    environ = {"GH_ENTERPRISE_TOKEN": "c", "GH_TOKEN": "a"}
    assert token_of("https://git.example.org/api/v3", environ) == "c"
    assert token_of("https://git.example.org/api/v3", {"GITHUB_TOKEN": "b"}) == "b"


def test_the_host_comes_from_the_environment(server: StrictGitHub) -> None:
    with of_environment(NAME, {"GITHUB_API_URL": f"{server.api_url}/", "GH_TOKEN": TOKEN}) as github:
        assert github.may_push()
    assert "GH_TOKEN" in refused(lambda: of_environment(NAME, {}), Exit.NOT_AUTHORISED)
    for url in ("ftp://x", "https://", "https://user:word@host/api", "api.github.com"):
        told = refused(lambda url=url: of_environment(NAME, {"GITHUB_API_URL": url, "GH_TOKEN": TOKEN}), Exit.USAGE)  # type: ignore[misc]
        assert "word" not in told
    refused(lambda: GitHub("demo", token=TOKEN), Exit.USAGE)
    assert "two" not in refused(lambda: GitHub(NAME, token="two\nlines"), Exit.NOT_AUTHORISED)  # noqa: S106


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("demo-1.0+cu129-cp310-cp310-manylinux_2_17_x86_64.whl", None),
        ("SHA256SUMS", None),
        ("two words.txt", "two.words.txt"),
        ("demo-1!2.0.tar.gz", "demo-1.2.0.tar.gz"),
        ("a~b(c).whl", "a.b.c.whl"),
        (".hidden", "default.hidden"),
        ("caf\u00e9.txt", "cafe.txt"),
        ("~~~.txt", "default.txt"),
    ],
)
def test_names_are_kept_as_github_keeps_them(name: str, kept: str | None) -> None:
    assert kept_name(name) == (kept or name)


class _Vast(BaseHTTPRequestHandler):
    """Takes an upload of any size and forgets it, but for its digest."""

    pause = 0.0  # seconds for a MiB

    def do_POST(self) -> None:
        digest, left = hashlib.sha256(), int(self.headers["Content-Length"])
        size = left
        while left:
            time.sleep(self.pause)
            block = self.rfile.read(min(left, 1 << 20))
            digest.update(block)
            left -= len(block)
        told = {
            "id": 1,
            "name": "vast.whl",
            "size": size,
            "digest": f"sha256:{digest.hexdigest()}",
            "state": "uploaded",
        }
        self._say(json.dumps(told | {"url": f"http://127.0.0.1:{self.server.server_address[1]}/asset"}).encode())  # type: ignore[index]

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(300 << 20))
        self.end_headers()
        for _ in range(300):
            self.wfile.write(bytes(1 << 20))

    def _say(self, body: bytes) -> None:
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


class _Slow(_Vast):
    pause = 0.1

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(24 << 20))
        self.end_headers()
        for _ in range(24):
            time.sleep(self.pause)
            self.wfile.write(bytes(1 << 20))


def test_a_vast_file_goes_up_and_down_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "vast.whl"
    with path.open("wb") as file:
        file.truncate(300 << 20)
    script = f"""
        import resource
        from pathlib import Path
        from wainwright.hosts.destinations import Asset
        from wainwright.hosts.held import Page
        from wainwright.hosts.github import GitHub

        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        path = Path({str(path)!r})
        sha256 = {_sha256_of_zeros(300 << 20)!r}
        with GitHub("octo/demo", token="t", api_url="http://127.0.0.1:PORT") as github:
            page = Page(id=1, tag="", name="", body="", draft=True, prerelease=False, immutable=False, url="",
                        upload_url="http://127.0.0.1:PORT/up")
            before = peak()
            held = github.upload(page, Asset(name="vast.whl", path=path, size=path.stat().st_size, sha256=sha256))
            assert held.sha256 == sha256
            assert github.download(held) == sha256
            print(peak() - before)
    """
    server = HTTPServer(("127.0.0.1", 0), _Vast)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        text = textwrap.dedent(script).replace("PORT", str(server.server_address[1]))
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 60 << 10, f"{done.stdout} KiB"


def _sha256_of_zeros(size: int) -> str:
    digest = hashlib.sha256()
    for _ in range(size >> 20):
        digest.update(bytes(1 << 20))
    return digest.hexdigest()


def test_the_token_is_in_nothing_that_can_be_read(
    server: StrictGitHub,
    github: GitHub,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever fails, and even if the host sends the token back: errors, tracebacks, logs at their most talkative."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("GHAPI_DEBUG", "1")
    (asset,) = sealed(tmp_path, {"a.whl": b"a"})
    page = github.create_draft(tag="v1", commit=COMMIT, name="", body="", prerelease=False)
    held = github.upload(page, asset)
    echo = {"message": f"no {TOKEN} no", "errors": [{"field": TOKEN, "code": TOKEN}], "documentation_url": TOKEN}
    said = []
    acts: tuple[Callable[[], object], ...] = (
        lambda: list(github.releases()),
        lambda: github.upload(page, asset),
        lambda: github.download(held),
        lambda: github.change(page.id, body=""),
        lambda: github.delete_asset(held),
        lambda: github.commit_of("v1"),
    )
    for fault in (
        *(Fault(status=status, store="none", body=echo) for status in (301, 400, 401, 403, 404, 422, 429, 500, 502)),
        Fault(status=200, store="none", body=TOKEN),
        Fault(reset="before"),
        Fault(reset="answer", store="none"),
    ):
        for act in acts:
            server.plan = lambda _, fault=fault: fault  # type: ignore[misc]
            try:
                act()
            except Exception as error:  # noqa: BLE001  all of them
                said += traceback.format_exception(error)
                said.append(repr(error))
                said.append(str(vars(error)))
    assert len(said) > 200
    said += [*capfd.readouterr(), caplog.text, repr(github), repr(vars(github))]
    assert not [text for text in said if TOKEN in text]
    assert re.search(r"no \*\*\* no", "".join(said))


def test_a_refused_body_is_still_heard(github: GitHub, server: StrictGitHub, tmp_path: Path) -> None:
    (asset,) = sealed(tmp_path, {"a.whl": b"a" * 3_000_000})
    page = github.create_draft(tag="v1", commit=COMMIT, name="", body="", prerelease=False)
    github.upload(page, asset)
    with pytest.raises(Unprocessable):
        github.upload(page, asset)
    assert isinstance(server.contents(page.id)["a.whl"], bytes)
    assert httpx2.get(server.api_url).status_code == 404
