from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import jsonschema_rs
import pytest

import npm
from misbehaving import Fault
from strict_github import COMMIT, OWNER, REPO, TOKEN, StrictGitHub, sealed
from wainwright.hosts.github import GitHub
from wainwright.hosts.patience import Gone, Patience, Unprocessable
from wainwright.hosts.releasepage import ReleasePage
from wainwright.hosts.wanted import Wanted

AUTH = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def server() -> Iterator[StrictGitHub]:
    with StrictGitHub() as server:
        yield server


@pytest.fixture
def client(server: StrictGitHub) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=f"{server.api_url}/repos/{OWNER}/{REPO}", headers=AUTH) as client:
        yield client


def test_a_draft_is_seen_with_the_token_only(server: StrictGitHub, client: httpx2.Client) -> None:
    draft = server.add_release("v1", draft=True)
    asset = server.add_asset(draft, "a", b"a")
    for path in ("/releases", f"/releases/{draft}", f"/releases/{draft}/assets", f"/releases/assets/{asset}"):
        assert client.get(path).json(), path
        hidden = httpx2.get(f"{server.api_url}/repos/{OWNER}/{REPO}{path}")
        assert hidden.status_code == 404 or hidden.json() == []
    assert client.get("/releases/tags/v1").status_code == 404


def test_nothing_is_written_without_the_token(server: StrictGitHub, client: httpx2.Client) -> None:
    assert httpx2.post(f"{server.api_url}/repos/{OWNER}/{REPO}/releases", json={"tag_name": "v1"}).status_code == 401
    assert client.get("/releases", headers={"Authorization": "Bearer other"}).status_code == 401
    server.push = False
    assert client.post("/releases", json={"tag_name": "v1"}).status_code == 403
    assert not server.releases


def test_an_immutable_release_stays_as_it_is(server: StrictGitHub, client: httpx2.Client) -> None:
    server.immutable = True
    release = server.add_release("v1")
    asset = server.add_asset(release, "a", b"a")
    uploads = f"{server.origin}/api/uploads/repos/{OWNER}/{REPO}/releases/{release}/assets"
    assert client.post(uploads, params={"name": "b"}, content=b"b").status_code == 422
    assert client.delete(f"/releases/assets/{asset}").status_code == 422
    assert client.patch(f"/releases/{release}", json={"draft": True}).status_code == 422
    assert client.post("/releases", json={"tag_name": "v1", "draft": True}).status_code == 422
    assert server.contents(release) == {"a": b"a"}


def test_pages_are_linked(server: StrictGitHub, client: httpx2.Client) -> None:
    for number in range(5):
        server.add_release(f"v{number}")
    first = client.get("/releases", params={"per_page": 2})
    last = client.get("/releases", params={"per_page": 2, "page": 3})
    assert [len(first.json()), len(last.json())] == [2, 1]
    assert first.links["next"]["url"].endswith("page=2")
    assert "next" not in last.links


@pytest.mark.npm
def test_it_answers_as_github_was_recorded(server: StrictGitHub, client: httpx2.Client) -> None:
    scenario = "@octokit/fixtures/scenarios/api.github.com/release-assets-conflict/normalized-fixture.json"
    recorded = json.loads((npm.install("recordings") / scenario).read_text())
    release = server.add_release("v1.0.0", body="Initial release")
    server.add_asset(release, "test-upload.txt", b"Hello, world!\n")
    ids: dict[str, str] = {"1000": str(release)}
    assert [step["status"] for step in recorded] == [200, 422, 200, 204, 201]
    for step in recorded:
        path = step["path"].partition("/release-assets-conflict")[2]
        path = re.sub(r"assets/\d+", lambda _: f"assets/{ids['asset']}", path).replace("/1000", f"/{ids['1000']}")
        base = f"{server.origin}/api/uploads/repos/{OWNER}/{REPO}" if "uploads" in step["scope"] else ""
        headers = {key: value for key, value in step["reqheaders"].items() if key in {"accept", "content-type"}}
        headers["authorization"] = f"token {TOKEN}"
        answer = client.request(step["method"], base + path, content=step["body"] or None, headers=headers)
        assert answer.status_code == step["status"], step["path"]
        if step["response"]:
            _is_shaped_like(step["response"], answer.json(), step["path"])
        if step["status"] == 422:
            assert answer.json()["errors"] == step["response"]["errors"]
        if step["path"].endswith("/assets"):
            ids["asset"] = str(answer.json()[0]["id"])


def _is_shaped_like(recorded: Any, ours: Any, where: str) -> None:
    """Every recorded key is there, with a value of the same kind; assets that came later may be more."""
    if isinstance(recorded, dict):
        for key, value in recorded.items():
            assert key in ours, f"{where}: {key}"
            _is_shaped_like(value, ours[key], f"{where}: {key}")
    elif isinstance(recorded, list):
        for one, other in zip(recorded, ours, strict=False):
            _is_shaped_like(one, other, where)
    elif ours is not None:
        assert isinstance(ours, type(recorded)), f"{where}: {recorded!r} and {ours!r}"


@pytest.mark.npm
@pytest.mark.parametrize("description", ["api.github.com.json", "ghes-3.17.json"])
def test_it_answers_as_github_is_described(server: StrictGitHub, tmp_path: Path, description: str) -> None:
    _play_a_release(server, tmp_path)
    checked = {(method, template) for method, template in _held_to(description, server)}
    assert len(checked) >= 10, checked


def _play_a_release(server: StrictGitHub, folder: Path) -> None:
    """Have every kind of answer given once."""
    server.tags["v1.0"] = ("tag", "a" * 40)
    server.tag_objects["a" * 40] = ("commit", COMMIT)
    assets = sealed(folder, {"a.whl": b"a", "b.whl": b"b"})
    wanted = Wanted(tag="v1.0", version="1.0", commit=COMMIT, title="", notes="", assets=assets)
    with GitHub(
        f"{OWNER}/{REPO}", token=TOKEN, api_url=server.api_url, patience=Patience(sleep=lambda _: None)
    ) as github:
        page = ReleasePage(github, wanted)
        broken = [Fault(status=502, store="cut")]
        server.plan = lambda seen: broken.pop() if broken and seen.uploads else None
        for asset in assets:
            page.put(asset)
        page.publish()
        github.may_push()
        github.generated_notes("v1.0", commit=COMMIT)
        github.commit_of("none")
        wanted = Wanted(tag="v2.0", version="2.0", commit=COMMIT, title="", notes="", assets=assets)
        other = ReleasePage(github, wanted)
        other.put(assets[0])
        other.discard()
        public = github.release(server.public[0]["id"])
        with pytest.raises(Unprocessable):
            github.upload(public, assets[0])
        with pytest.raises(Gone):
            github.release(1)
        github.delete_asset(github.assets(public.id)[0])


def _held_to(description: str, server: StrictGitHub) -> Iterator[tuple[str, str]]:
    api = _description(description)
    templates = {template: re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)) for template in api["paths"]}
    templates["/repos/{owner}/{repo}/git/ref/{ref}"] = "/repos/[^/]+/[^/]+/git/ref/.+"
    for method, path, answer in server.answers:
        inner = re.sub(r"^/api/(v3|uploads)", "", path)
        template = next(
            template
            for template, pattern in templates.items()
            if re.fullmatch(pattern, inner) and method.lower() in api["paths"][template]
        )
        told = api["paths"][template][method.lower()]["responses"].get(str(answer.status)) or {}
        told = api["components"]["responses"].get(told.get("$ref", "").rpartition("/")[2], told)
        schema = (told.get("content") or {}).get("application/json", {}).get("schema")
        if schema is None and answer.status == 422:
            schema = {"$ref": "#/components/schemas/validation-error"}
        if schema is None:
            continue
        validator = _validator(description, json.dumps(schema))
        errors = [f"{error.instance_path} {error.message}" for error in validator.iter_errors(answer.body)]
        if template == "/repos/{owner}/{repo}":  # a hundred keys, of which one is read
            errors = [error for error in errors if "is a required property" not in error]
        assert not errors, f"{method} {inner}"
        yield method, template


@cache
def _validator(description: str, schema: str) -> Any:
    return jsonschema_rs.validator_for({"components": _description(description)["components"], **json.loads(schema)})


@cache
def _description(name: str) -> Any:
    """OpenAPI 3.0 says `nullable: true` where JSON Schema has a second type."""

    def plain(node: Any) -> Any:
        if isinstance(node, list):
            return [plain(one) for one in node]
        if not isinstance(node, dict):
            return node
        node = {key: plain(value) for key, value in node.items() if key != "example"}
        if node.pop("nullable", False) is True:
            return {"anyOf": [node, {"type": "null"}]}
        return node

    return plain(json.loads((npm.install("description") / "@octokit/openapi/generated" / name).read_text()))
