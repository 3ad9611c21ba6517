"""Whatever shape an answer has, it is understood or leaves as one error with a documented code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from misbehaving import Fault, Seen
from strict_github import COMMIT, OWNER, REPO, TOKEN, Clock, StrictGitHub
from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.github import GitHub
from wainwright.hosts.patience import Patience, limit_wait, retry_after

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


def acts(server: StrictGitHub, github: GitHub) -> dict[str, Callable[[], object]]:
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


def test_every_answer_of_a_github_host_is_understood_or_one_error(server: StrictGitHub, github: GitHub) -> None:
    asked = acts(server, github)
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
def test_any_field_may_hold_anything(server: StrictGitHub, github: GitHub, value: object) -> None:
    asked = acts(server, github)
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
