"""Whatever shape an answer or a file of ours has, it is understood or leaves as one error with a documented code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from misbehaving import Fault, Seen
from strict_github import COMMIT, OWNER, REPO, TOKEN, Clock, StrictGitHub, sealed
from strict_index import StrictIndex
from wainwright.declaration.release import Destination
from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.destinations import Asset
from wainwright.hosts.github import GitHub
from wainwright.hosts.index import Index, connect
from wainwright.hosts.patience import Patience, limit_wait, retry_after
from wainwright.receipts import Receipts
from wainwright.releasing.journal import JOURNAL, Journal
from wainwright.releasing.shelf import RECORD, Shelf
from wainwright.run import run

NESTED = b"[" * 100_000
ODD: list[Any] = [b"<html>", b"", b"\xff\xfe", NESTED, [], {}, [[]], [None], 5, "text", {"message": 5, "errors": 5}]
STATUSES = (200, 201, 204, 301, 304, 400, 401, 403, 404, 409, 410, 418, 422, 429, 451, 500, 503)
DOCUMENTED = {Exit.REFUSED, Exit.CONFLICT, Exit.NOT_AUTHORISED, Exit.RETRIES_EXHAUSTED}


@pytest.fixture
def server() -> Iterator[StrictGitHub]:
    with StrictGitHub(now=Clock().now) as server:
        yield server


@pytest.fixture
def github(server: StrictGitHub) -> Iterator[GitHub]:
    clock = Clock()
    patience = Patience(attempts=2, now=clock.now, sleep=clock.sleep, jitter=lambda: 1.0)
    with GitHub(f"{OWNER}/{REPO}", token=TOKEN, api_url=server.api_url, patience=patience) as github:
        yield github


def acts(server: StrictGitHub, github: GitHub, asset: Asset) -> dict[str, Callable[[], object]]:
    """Give every question that is asked; each is answered when nothing is odd."""
    release = server.add_release("v1.0", draft=True)
    server.add_asset(release, "demo.whl", b"wheel")
    server.tags["v1.0"] = ("tag", "a" * 40)
    server.tag_objects["a" * 40] = ("commit", COMMIT)
    page, (held,) = github.release(release), github.assets(release)
    fields: dict[str, Any] = {"tag": "v2", "commit": COMMIT, "name": "", "body": "", "prerelease": False}
    return {
        "may push": github.may_push,
        "releases": lambda: list(github.releases()),
        "release": lambda: github.release(page.id),
        "assets": lambda: github.assets(page.id),
        "asset": lambda: github.asset(held),
        "download": lambda: github.download(held),
        "upload": lambda: github.upload(github.release(page.id), asset),
        "tag": lambda: github.commit_of("v1.0"),
        "notes": lambda: github.generated_notes("v1.0", commit=COMMIT),
        "draft": lambda: github.create_draft(**fields),
        "change": lambda: github.change(page.id, name="x"),
        "delete": lambda: github.delete_asset(held),
    }


def error_of(act: Callable[[], object]) -> WainwrightError | None:
    try:
        act()
    except WainwrightError as error:
        return error
    return None


def test_every_answer_of_a_github_host_is_understood_or_one_error(
    server: StrictGitHub, github: GitHub, tmp_path: Path
) -> None:
    asked = acts(server, github, wanted(tmp_path))
    for act in asked.values():
        act()
    codes = set()
    for name, act in asked.items():
        for status in STATUSES:
            for body in ODD:
                fault = Fault(status=status, store="none", body=body)
                server.plan = lambda _, fault=fault: fault  # type: ignore[misc]
                error = error_of(act)
                if error is not None:
                    assert error.where, (name, status, body)
                    assert error.code in DOCUMENTED, (name, status, body)
                    codes.add(error.code)
    assert codes >= {Exit.REFUSED, Exit.NOT_AUTHORISED, Exit.RETRIES_EXHAUSTED}


@pytest.mark.parametrize("value", [None, 5, {}, "http://[x"], ids=repr)
def test_any_field_may_hold_anything(server: StrictGitHub, github: GitHub, tmp_path: Path, value: object) -> None:
    asked = acts(server, github, wanted(tmp_path))
    release, asset = (next(iter(kind.values())) for kind in (server.releases, server.assets))
    for whole in (server.shown(release), server.shown_asset(asset)):
        for key in whole:
            body = whole | {key: value}
            server.plan = lambda seen, body=body: Fault(status=200, body=listed(seen, body))  # type: ignore[misc]
            for act in asked.values():
                error_of(act)


def listed(seen: Seen, body: dict[str, Any]) -> Any:
    """Give one where one is asked for, and a list where those are listed."""
    return [body] if seen.method == "GET" and seen.path.rpartition("/")[2] in {"releases", "assets"} else body


def wanted(folder: Path) -> Asset:
    (asset,) = sealed(folder, {"demo-1.0-py3-none-any.whl": b"wheel"})
    return asset


PASSWORD, DASHED = "a password", "pass\u2014word"
JSON = "application/vnd.pypi.simple.v1+json"
VALUES: list[Any] = [None, 5, "12", [], {"sha256": 5}, -1, True]
FILE: dict[str, Any] = {"filename": "demo-0.9.tar.gz", "url": "/files/demo-0.9.tar.gz", "hashes": {}, "size": 3}


def pages() -> Iterator[tuple[str, bytes]]:
    """Give pages of a project that are odd in one way each."""
    hrefs = ("http://[oops/x.whl", "http://h:99999999/x.whl", "http://h:x/x.whl", "//[", "http://h\u2100/x.whl")
    for href in hrefs:
        yield "text/html", f'<a href="{href}">x</a>'.encode()
        yield "text/html", f'<base href="{href}"><a href="y.whl">x</a>'.encode()
        yield JSON, page([FILE | {"url": href}])
    yield "text/html", b"<![foo["
    yield "text/html; charset=klingon", b"\xff\xfe\x00"
    yield from ((JSON, body) for body in (NESTED, b"\xff", b"5", b"null", b"", b'{"meta": 5}', page(None), page([5])))
    for key in FILE:
        yield from ((JSON, page([FILE | {key: value}])) for value in VALUES)


def page(files: object) -> bytes:
    return json.dumps({"meta": {"api-version": "1.1"}, "name": "demo", "files": files}).encode()


def test_every_page_of_an_index_is_understood_or_one_error(tmp_path: Path) -> None:
    asset = wanted(tmp_path)
    with StrictIndex(password=PASSWORD) as server:
        index = connected(server, tmp_path)
        for kind, body in pages():
            fault = Fault(status=200, headers={"Content-Type": kind}, body=body)
            server.plan = lambda _, fault=fault: fault  # type: ignore[misc]
            error = error_of(lambda: (index.listing(), index.holds(asset)))
            assert error is None or (error.code, error.where) == (Exit.REFUSED, "publish.internal"), body
            listed = error_of(index.listing) or index.listing()
            assert isinstance(listed, WainwrightError) or all(
                isinstance(name, str) and isinstance(remote.size, int | None) for name, remote in listed.items()
            )


@pytest.mark.parametrize("status", [200, 304, 302, 404, 418, 429, 500])
@pytest.mark.parametrize("place", ["http://[", "http://h:99999/", "ftp://h/", "//", "\x01"])
def test_a_redirect_may_lead_anywhere(tmp_path: Path, status: int, place: str) -> None:
    with StrictIndex(password=PASSWORD) as server:
        index = connected(server, tmp_path)
        server.plan = lambda _: Fault(status=status, headers={"Location": place, "Retry-After": "²"})
        for act in (index.listing, index.pages.probe):
            error = error_of(act)
            assert error is None or error.code in DOCUMENTED


def connected(server: StrictIndex, folder: Path, password: str = PASSWORD) -> Index:
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "TWINE_USERNAME": "me", "TWINE_PASSWORD": password}
    declared = Destination(name="internal", kind="index", url=server.upload, simple=f"{server.origin}/simple/")
    log = folder / "log"
    return connect(declared, project="demo", run=run, log=log, environ=environ, pause=lambda _: None)


def test_a_password_that_no_header_can_hold(tmp_path: Path) -> None:
    with StrictIndex(password=PASSWORD) as server:
        index = connected(server, tmp_path, password=DASHED)
        for act in (index.listing, index.pages.probe):
            error = error_of(act)
            assert error is not None
            assert error.code is Exit.NOT_AUTHORISED
            assert "cannot be sent; it is from TWINE_PASSWORD" in error.what
            assert "pass" not in error.what.replace("password", "")


SHELVED = {"wheel": {"name": 5, "sha256": "x", "size": 1}, "question": "what?"}


@pytest.mark.parametrize("data", [NESTED, b"\xff", b"5", b"[]", b"{}", json.dumps(SHELVED).encode()], ids=lambda _: "")
def test_what_was_written_here_may_be_anything_by_now(tmp_path: Path, data: bytes) -> None:
    shelf, receipts = Shelf(root=tmp_path, job="a"), Receipts(tmp_path)
    shelf.folder.mkdir(parents=True)
    for path in (tmp_path / JOURNAL, shelf.folder / RECORD, receipts.path("a", "build")):
        path.write_bytes(data)
    assert Journal.open(tmp_path / JOURNAL, "v1.0").entries == {}
    assert shelf.known("what?") is None
    assert receipts.read("a", "build") is None


def test_tags_that_lead_in_a_circle_lead_nowhere(server: StrictGitHub, github: GitHub) -> None:
    server.tags["v1.0"] = ("tag", "a" * 40)
    server.tag_objects["a" * 40] = ("tag", "a" * 40)
    assert github.commit_of("v1.0") == "a" * 40


@pytest.mark.parametrize(
    "text",
    [
        "²", "٣", "1e9", "inf", "nan", "-5", "(", "9" * 400, "\x00", "1 2 3 4 5 6", "Fri, 31",
        "Fri, 31 Dec 9999 23:59:59 -2359", "Fri, 31 Dec 0000 23:59:59 GMT", "Mon, 99 Jan 2027 25:61:61 GMT",
        "Fri, 15 Jan 99999999999 08:01:00 GMT",
    ],
)  # fmt: skip
def test_any_text_may_stand_in_a_header(text: str) -> None:
    asked = retry_after({"retry-after": text}, now=0.0)
    assert asked is None or asked >= 0
    for name in ("retry-after", "x-ratelimit-reset", "date"):
        headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "5", name: text}
        wait = limit_wait(429, headers, "", attempt=0, now=0.0)
        assert wait is not None
        assert wait >= 0
