"""A small GitHub on loopback, stricter than the real one, that misbehaves where a test tells it to.

It keeps count of what it must never see: a change to what is public, the same file stored twice, a token on the way to
the storage host. `plan` is asked once for each request and may give a Fault.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from misbehaving import Answer, Fault, Loopback, Misbehaving, Seen
from wainwright.hosts.destinations import Asset

OWNER, REPO, TOKEN = "octo", "demo", "ghp_strictSecretOfTheTests0123456789abcd"
COMMIT = "1" * 40
CONTINUE = 100
USER = {
    "login": "octo", "id": 1, "node_id": "U_1", "avatar_url": "https://example.org/a", "gravatar_id": "",
    "type": "User", "site_admin": False,
} | {
    f"{key}_url" if key else "url": f"https://example.org/users/octo/{key}"
    for key in (
        "", "html", "followers", "following", "gists", "starred", "subscriptions", "organizations", "repos", "events",
        "received_events",
    )
}  # fmt: skip
DOCUMENTED = {"documentation_url": "https://docs.github.com/rest"}
NOT_FOUND = {"message": "Not Found", "status": "404"} | DOCUMENTED


def invalid(resource: str, name: str, code: str = "already_exists") -> Answer:
    answer = refused("Validation Failed")
    answer.body["errors"] = [{"resource": resource, "code": code, "field": name}]
    return answer


def refused(message: str) -> Answer:
    request = "0000:00000:0000000:0000000:00000000"
    return Answer(422, {"message": message, "request_id": request} | DOCUMENTED)


class Clock:
    """Time that passes only when somebody waits; safe in several threads."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds


class StrictGitHub(Loopback):
    """The state of one repository, and the server in front of it."""

    def __init__(self, *, immutable: bool = False, digests: bool = True, now: Callable[[], float] = time.time) -> None:
        self.immutable = immutable
        self.digests = digests
        self.now = now
        self.push = True
        self.most = 100  # items a page, whatever is asked for
        self.lock = threading.RLock()
        self.releases: dict[int, dict[str, Any]] = {}
        self.assets: dict[int, dict[str, Any]] = {}
        self.bytes: dict[int, bytes] = {}
        self.tags: dict[str, tuple[str, str]] = {}  # tag: kind and sha
        self.tag_objects: dict[str, tuple[str, str]] = {}
        self.latest: int | None = None
        self.next_id = 1000
        self.plan: Callable[[Seen], Fault | None] = lambda _: None
        self.log: list[tuple[str, str, int]] = []
        self.answers: list[tuple[str, str, Answer]] = []  # what it said by itself, faults apart
        self.violations: list[str] = []
        self.stored: list[tuple[int, str, str]] = []  # release, name, sha256 of every whole upload
        self.published: list[dict[str, bytes | None]] = []  # what was in a release in the moment it became public
        super().__init__(type("Handler", (_Handler,), {"github": self}))

    @property
    def api_url(self) -> str:
        """As an enterprise host has it: the interface and the uploads below one name."""
        return f"{self.origin}/api/v3"

    @property
    def public(self) -> list[dict[str, Any]]:
        return [release for release in self.releases.values() if not release["draft"]]

    def holding(self, release: int) -> dict[str, dict[str, Any]]:
        return {asset["name"]: asset for asset in self.assets.values() if asset["release"] == release}

    def contents(self, release: int) -> dict[str, bytes]:
        return {asset["name"]: self.bytes[asset["id"]] for asset in self.holding(release).values()}

    def count(self, method: str, pattern: str) -> int:
        return sum(1 for done, path, _ in self.log if done == method and re.search(pattern, path))

    # What tests put there beforehand

    def add_release(self, tag: str, *, draft: bool = False, body: str = "", prerelease: bool = False) -> int:
        release = self._id()
        self.releases[release] = {
            "id": release, "tag_name": tag, "target_commitish": COMMIT, "name": tag, "body": body, "draft": draft,
            "prerelease": prerelease, "immutable": self.immutable and not draft, "created_at": self._stamp(),
            "published_at": None if draft else self._stamp(),
        }  # fmt: skip
        return release

    def add_asset(
        self, release: int, name: str, content: bytes, *, state: str = "uploaded", digest: bool = True
    ) -> int:
        asset = self._id()
        sha256 = f"sha256:{hashlib.sha256(content).hexdigest()}" if digest and state == "uploaded" else None
        self.assets[asset] = {
            "id": asset, "release": release, "name": name, "state": state, "size": len(content), "digest": sha256,
            "content_type": "application/octet-stream", "created_at": self._stamp(), "updated_at": self._stamp(),
        }  # fmt: skip
        self.bytes[asset] = content
        return asset

    def _id(self) -> int:
        self.next_id += 1
        return self.next_id

    def _stamp(self) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.now()))

    # How it shows them

    def shown(self, release: Mapping[str, Any]) -> dict[str, Any]:
        url = f"{self.api_url}/repos/{OWNER}/{REPO}/releases/{release['id']}"
        site = f"{self.origin}/{OWNER}/{REPO}/releases/tag"
        return dict(release) | {
            "node_id": f"R_{release['id']}", "url": url, "assets_url": f"{url}/assets", "author": USER,
            "upload_url": f"{url.replace('/api/v3/', '/api/uploads/')}/assets{{?name,label}}",
            "html_url": f"{site}/{'untagged-' + str(release['id']) if release['draft'] else release['tag_name']}",
            "tarball_url": None if release["draft"] else f"{self.api_url}/tarball",
            "zipball_url": None if release["draft"] else f"{self.api_url}/zipball",
            "assets": [self.shown_asset(asset) for asset in self.holding(release["id"]).values()],
        }  # fmt: skip

    def shown_asset(self, asset: Mapping[str, Any]) -> dict[str, Any]:
        shown = {key: value for key, value in asset.items() if key != "release"}
        name = f"{self.origin}/{OWNER}/{REPO}/releases/download/x/{asset['name']}"
        return shown | {
            "url": f"{self.api_url}/repos/{OWNER}/{REPO}/releases/assets/{asset['id']}", "node_id": f"RA_{asset['id']}",
            "label": shown.get("label", ""), "uploader": USER, "download_count": 0, "browser_download_url": name,
        }  # fmt: skip

    # What it does

    def answer(self, seen: Seen, body: bytes, fault: Fault, *, known: bool) -> Answer:
        with self.lock:
            match = re.fullmatch(rf"/api/(?:v3|uploads)/repos/{OWNER}/{REPO}(.*)", seen.path)
            if match is None:
                return Answer(404, NOT_FOUND)
            for method, pattern, act in _ROUTES:
                found = re.fullmatch(pattern, match[1])
                if found and method == seen.method:
                    if seen.writes and not known:
                        return Answer(401, {"message": "Requires authentication"} | DOCUMENTED)
                    if seen.writes and not self.push:
                        return Answer(403, {"message": "Resource not accessible by integration"} | DOCUMENTED)
                    return act(self, Call(seen, body, fault, known, [unquote(part) for part in found.groups()]))
            return Answer(404, NOT_FOUND)

    def repository(self, _: Call) -> Answer:
        facts = {"id": 1, "name": REPO, "full_name": f"{OWNER}/{REPO}", "permissions": {"push": self.push}}
        return Answer(200, facts | {"url": f"{self.api_url}/repos/{OWNER}/{REPO}"})

    def list_releases(self, call: Call) -> Answer:
        visible = [release for release in self.releases.values() if call.known or not release["draft"]]
        return self._page([self.shown(release) for release in reversed(visible)], call)

    def get_release(self, call: Call) -> Answer:
        release = self.releases.get(int(call.parts[0]))
        if release is None or (release["draft"] and not call.known):
            return Answer(404, NOT_FOUND)
        return Answer(200, self.shown(release))

    def get_by_tag(self, call: Call) -> Answer:
        found = [release for release in self.public if release["tag_name"] == call.parts[0]]
        return Answer(200, self.shown(found[0])) if found else Answer(404, NOT_FOUND)

    def create_release(self, call: Call) -> Answer:
        fields = json.loads(call.body)
        tag = fields["tag_name"]
        if any(release["tag_name"] == tag for release in self.public):
            return invalid("Release", "tag_name")
        release = self.add_release(
            tag, draft=True, body=fields.get("body") or "", prerelease=fields.get("prerelease", False)
        )
        self.releases[release] |= {
            "name": fields.get("name"),
            "target_commitish": fields.get("target_commitish", "main"),
        }
        if not fields.get("draft"):
            self._publish(self.releases[release], fields)
        return Answer(201, self.shown(self.releases[release]))

    def update_release(self, call: Call) -> Answer:
        release = self.releases.get(int(call.parts[0]))
        if release is None:
            return Answer(404, NOT_FOUND)
        fields = json.loads(call.body)
        if not release["draft"]:
            changes = {
                key
                for key in ("tag_name", "name", "target_commitish", "prerelease", "draft")
                if fields.get(key, release[key]) != release[key]
            }
            if changes and release["immutable"]:
                return refused("state cannot be changed when release is immutable")
            if changes:
                self.violations.append(f"public release changed: {sorted(changes)}")
        tag = fields.get("tag_name", release["tag_name"])
        if fields.get("draft") is False and release["draft"]:
            if any(other["tag_name"] == tag for other in self.public):
                return invalid("Release", "tag_name")
            self._publish(release, fields)
        release |= {
            key: fields[key] for key in ("tag_name", "name", "body", "target_commitish", "prerelease") if key in fields
        }
        return Answer(200, self.shown(release))

    def _publish(self, release: dict[str, Any], fields: Mapping[str, Any]) -> None:
        held = self.holding(release["id"])
        whole = {
            name: self.bytes[asset["id"]] if asset["state"] == "uploaded" else None for name, asset in held.items()
        }
        self.published.append(whole)
        release |= {"draft": False, "published_at": self._stamp(), "immutable": self.immutable}
        self.tags.setdefault(
            release["tag_name"], ("commit", fields.get("target_commitish", release["target_commitish"]))
        )
        if fields.get("make_latest", "true") == "true" and not fields.get("prerelease"):
            self.latest = release["id"]

    def delete_release(self, call: Call) -> Answer:
        release = self.releases.get(int(call.parts[0]))
        if release is None:
            return Answer(404, NOT_FOUND)
        if not release["draft"]:
            self.violations.append("public release deleted")
        del self.releases[release["id"]]
        for asset in [asset for asset in self.assets.values() if asset["release"] == release["id"]]:
            del self.assets[asset["id"]], self.bytes[asset["id"]]
        return Answer(204)

    def list_assets(self, call: Call) -> Answer:
        release = self.releases.get(int(call.parts[0]))
        if release is None or (release["draft"] and not call.known):
            return Answer(404, NOT_FOUND)
        return self._page([self.shown_asset(asset) for asset in self.holding(release["id"]).values()], call)

    def get_asset(self, call: Call) -> Answer:
        asset = self.assets.get(int(call.parts[0]))
        if asset is None or (self.releases[asset["release"]]["draft"] and not call.known):
            return Answer(404, NOT_FOUND)
        if call.seen.accept != "application/octet-stream":
            return Answer(200, self.shown_asset(asset))
        storage = f"{self.origin.replace('127.0.0.1', 'localhost')}/storage/{asset['id']}"
        return Answer(302, headers={"Location": storage})

    def delete_asset(self, call: Call) -> Answer:
        asset = self.assets.get(int(call.parts[0]))
        if asset is None:
            return Answer(404, NOT_FOUND)
        release = self.releases[asset["release"]]
        if release["immutable"]:
            return refused("Cannot delete assets from an immutable release.")
        if not release["draft"]:
            self.violations.append(f"public asset deleted: {asset['name']}")
        del self.assets[asset["id"]], self.bytes[asset["id"]]
        return Answer(204)

    def begin_upload(self, call: Call) -> Answer:
        """From its first byte on an asset is there, as `starter`; what breaks later leaves it so."""
        release = self.releases.get(int(call.parts[0]))
        if release is None:
            return Answer(404, NOT_FOUND)
        name = _renamed(call.seen.query.get("name", ""))
        if release["immutable"]:
            return refused("Cannot upload assets to an immutable release.")
        if not name:
            return invalid("ReleaseAsset", "name", "missing_field")
        if name in self.holding(release["id"]):
            return invalid("ReleaseAsset", "name")
        if not release["draft"]:
            self.violations.append(f"public release got another asset: {name}")
        asset = self.add_asset(release["id"], name, b"", state="starter")
        self.assets[asset] |= {"label": call.seen.query.get("label", ""), "content_type": call.seen.content_type}
        return Answer(CONTINUE, asset)

    def end_upload(self, number: int, content: bytes, fault: Fault) -> Answer:
        with self.lock:
            asset = self.assets.get(number)
            if asset is None:
                return Answer(404, NOT_FOUND)
            if not content:
                del self.assets[number], self.bytes[number]
                return invalid("ReleaseAsset", "size", "custom")
            if not self.releases[asset["release"]]["draft"]:
                self.violations.append(f"public asset changed: {asset['name']}")
            if fault.store == "whole":
                self.stored.append((asset["release"], asset["name"], hashlib.sha256(content).hexdigest()))
            flipped = bytes([content[0] ^ 1]) + content[1:]
            content = {"cut": content[:-1], "flip": flipped, "starter": b""}.get(fault.store, content)
            digest = f"sha256:{hashlib.sha256(content).hexdigest()}" if self.digests and not fault.null_digest else None
            if fault.store != "starter":
                asset |= {"state": "uploaded", "size": len(content), "digest": digest}
            self.bytes[number] = content
            return Answer(201, self.shown_asset(asset))

    def get_ref(self, call: Call) -> Answer:
        if call.parts[0] not in self.tags:
            return Answer(404, NOT_FOUND)
        kind, sha = self.tags[call.parts[0]]
        return Answer(
            200,
            {
                "ref": f"refs/tags/{call.parts[0]}",
                "node_id": "REF_1",
                "url": self.api_url,
                "object": {"type": kind, "sha": sha, "url": self.api_url},
            },
        )

    def get_tag(self, call: Call) -> Answer:
        kind, sha = self.tag_objects[call.parts[0]]
        return Answer(
            200,
            {
                "node_id": "TA_1",
                "tag": "v",
                "sha": call.parts[0],
                "url": self.api_url,
                "message": "",
                "tagger": {"date": self._stamp(), "email": "a@example.org", "name": "a"},
                "object": {"type": kind, "sha": sha, "url": self.api_url},
            },
        )

    def notes(self, call: Call) -> Answer:
        tag = json.loads(call.body)["tag_name"]
        return Answer(200, {"name": tag, "body": f"What changed in {tag}"})

    def _page(self, items: list[dict[str, Any]], call: Call) -> Answer:
        size = min(int(call.seen.query.get("per_page", 30)), self.most)
        number, last = int(call.seen.query.get("page", 1)), max(1, -(-len(items) // size))
        places = {"prev": number - 1, "next": number + 1, "last": last, "first": 1}
        url = f"{self.origin}{call.seen.path}?per_page={size}&page="
        links = [f'<{url}{place}>; rel="{name}"' for name, place in places.items() if 1 <= place <= last != 1]
        return Answer(200, items[(number - 1) * size : number * size], {"Link": ", ".join(links)} if links else {})


@dataclass(frozen=True, slots=True)
class Call:
    seen: Seen
    body: bytes
    fault: Fault
    known: bool
    parts: list[str]


_ROUTES: list[tuple[str, str, Callable[[StrictGitHub, Call], Answer]]] = [
    ("GET", "", StrictGitHub.repository),
    ("GET", "/releases", StrictGitHub.list_releases),
    ("POST", "/releases", StrictGitHub.create_release),
    ("POST", "/releases/generate-notes", StrictGitHub.notes),
    ("GET", "/releases/tags/(.+)", StrictGitHub.get_by_tag),
    ("GET", r"/releases/(\d+)", StrictGitHub.get_release),
    ("PATCH", r"/releases/(\d+)", StrictGitHub.update_release),
    ("DELETE", r"/releases/(\d+)", StrictGitHub.delete_release),
    ("GET", r"/releases/(\d+)/assets", StrictGitHub.list_assets),
    ("POST", r"/releases/(\d+)/assets", StrictGitHub.begin_upload),
    ("GET", r"/releases/assets/(\d+)", StrictGitHub.get_asset),
    ("DELETE", r"/releases/assets/(\d+)", StrictGitHub.delete_asset),
    ("GET", "/git/ref/tags/(.+)", StrictGitHub.get_ref),
    ("GET", "/git/tags/(.+)", StrictGitHub.get_tag),
]


def _renamed(name: str) -> str:
    """GitHub's documentation: it renames what has special characters, and leading or trailing periods."""
    return re.sub(r"\.{2,}", ".", re.sub(r"[^A-Za-z0-9_+@.-]", ".", name)).strip(".")


class _Handler(Misbehaving):
    github: StrictGitHub

    def _serve(self) -> None:
        url = urlsplit(self.path)
        if url.path.startswith("/storage/"):
            self._serve_storage(int(url.path.rpartition("/")[2]))
            return
        query = {key: values[-1] for key, values in parse_qs(url.query, keep_blank_values=True).items()}
        kinds = self.headers.get("Accept", ""), self.headers.get("Content-Type", "")
        seen = Seen(self.command, url.path, query, *kinds)
        fault = self.github.plan(seen) or Fault()
        fault.run()
        if fault.reset == "before":
            self.reset(seen, self.github.log)
        answer = self._do(seen, fault)
        fault.after()
        time.sleep(fault.slow)
        if fault.reset == "after":
            self.reset(seen, self.github.log)
        self.github.answers.append((seen.method, seen.path, answer))
        if fault.status:
            answer = Answer(fault.status, {"message": "told to"} | DOCUMENTED if fault.body is None else fault.body)
        answer.headers |= fault.headers
        self.github.log.append((seen.method, seen.path, answer.status))
        self._send(answer, cut=fault.reset == "answer", drip=fault.drip)

    def _do(self, seen: Seen, fault: Fault) -> Answer:
        if fault.store == "none":
            self._body(seen, fault)
            return Answer(500)
        if not seen.uploads:
            return self._act(seen, self._body(seen, fault), fault)
        answer = self._act(seen, b"", fault)
        body = self._body(seen, fault)
        fault.during()
        return self.github.end_upload(answer.body, body, fault) if answer.status == CONTINUE else answer

    def _body(self, seen: Seen, fault: Fault) -> bytes:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length // 2 if fault.reset == "in" else length)
        if fault.reset == "in" or len(body) < length:
            self.reset(seen, self.github.log)
        return body

    def _act(self, seen: Seen, body: bytes, fault: Fault) -> Answer:
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        if token and (token != TOKEN or kind.lower() not in {"token", "bearer"}):
            return Answer(401, {"message": "Bad credentials"} | DOCUMENTED)
        return self.github.answer(seen, body, fault, known=bool(token))

    def _serve_storage(self, asset: int) -> None:
        if "Authorization" in self.headers:
            self.github.violations.append("the token went to the storage host")
        fault = self.github.plan(Seen("GET", self.path)) or Fault()
        content = self.github.bytes.get(asset)
        self.github.log.append(("GET", "/storage", 404 if content is None else 200))
        answer = Answer(404 if content is None else 200, content or b"")
        self._send(answer, cut=fault.reset == "answer", drip=fault.drip)

    def _send(self, answer: Answer, *, cut: bool = False, drip: float = 0.0) -> None:
        raw = isinstance(answer.body, bytes)
        body = answer.body if raw else b"" if answer.body is None else json.dumps(answer.body).encode()
        head = [f"HTTP/1.1 {answer.status} Told", f"Date: {formatdate(self.github.now(), usegmt=True)}"]
        head += [f"Content-Type: {'application/octet-stream' if raw else 'application/json; charset=utf-8'}"]
        head += [f"{key}: {value}" for key, value in answer.headers.items()]
        if answer.status != 204:
            head.append(f"Content-Length: {len(body)}")
        data = "\r\n".join([*head, "", ""]).encode() + body
        self.give(data, len(body) // 2 + 1 if cut else 0, drip)


def sealed(folder: Path, contents: Mapping[str, bytes]) -> tuple[Asset, ...]:
    """Write files and give them as sealed."""
    assets = []
    for name, content in contents.items():
        path = folder / name
        path.write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
        assets.append(Asset(name=name, path=path, size=len(content), sha256=sha256))
    return tuple(assets)
