"""A package index on loopback, stricter than real ones, that misbehaves where a test tells it to.

It keeps count of what it must never see: an upload of a file that the uploader has just been shown. Nothing that it
holds is ever replaced. `plan` is asked once for each request and may give a Fault.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from misbehaving import Answer, Fault, Loopback, Misbehaving, Seen
from servers import Server, parts
from wainwright.hosts.simplepage import ACCEPT, parse

JSON = "application/vnd.pypi.simple.v1+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How an index is: what its pages tell, how late, and what it says to a file that it has already.

    `late` is the number of pages on which a file that was taken is not yet; `again` the status for the very same file,
    `refuses` that for another one of its name.
    """

    html: bool = False
    digests: bool = True
    late: int = 0
    again: int = 200
    refuses: int = 400


class StrictIndex(Loopback):
    """The files of one project, and the server in front of them. Who uploads is told by the user name."""

    def __init__(self, *, password: str, habits: Habits = Habits()) -> None:
        self.password = password
        self.habits = habits
        self.lock = threading.RLock()
        self.files: dict[str, bytes] = {}
        self.yanked: set[str] = set()
        self.stored: Counter[tuple[str, str]] = Counter()  # name and sha256 of whatever was taken
        self.violations: list[str] = []
        self.log: list[tuple[str, str, int]] = []
        self.plan: Callable[[Seen], Fault | None] = lambda _: None
        self._unseen: dict[str, int] = {}
        self._shown: dict[str, frozenset[str]] = {}
        super().__init__(type("Handler", (_Handler,), {"index": self}))

    @property
    def upload(self) -> str:
        return f"{self.origin}/legacy/"

    def take(self, name: str, content: bytes) -> None:
        """Put a file there, as its upload does."""
        assert name not in self.files
        self.files[name] = content
        self.stored[name, hashlib.sha256(content).hexdigest()] += 1
        self._unseen[name] = self.habits.late

    def answer(self, seen: Seen, user: str, body: bytes) -> Answer:
        with self.lock:
            if seen.method == "POST":
                return self._posted(user, parts(seen.content_type, body))
            if seen.path == "/simple/":
                return Answer(200, json.dumps({"meta": {"api-version": "1.1"}, "projects": []}).encode(), _kind(JSON))
            if seen.path == "/simple/demo/":
                return self._page(user)
            content = self.files.get(seen.path.removeprefix("/files/"))
            return Answer(404) if content is None else Answer(200, content, _kind("application/octet-stream"))

    def _posted(self, user: str, form: Mapping[str, bytes]) -> Answer:
        if form.get(":action") != b"file_upload":
            return Answer(400)
        if not {"filename", "content", "sha256_digest"} <= form.keys():
            return Answer(400)
        name, content = form["filename"].decode(), form["content"]
        if name in self._shown.get(user, ()):
            self.violations.append(f"{user} was shown {name}, and uploads it")
        if hashlib.sha256(content).hexdigest() != form["sha256_digest"].decode():
            return Answer(400)
        if name in self.files:
            return Answer(self.habits.again if self.files[name] == content else self.habits.refuses)
        self.take(name, content)
        return Answer(200)

    def _page(self, user: str) -> Answer:
        shown = {name: content for name, content in self.files.items() if not self._unseen[name]}
        self._unseen = {name: max(0, left - 1) for name, left in self._unseen.items()}
        self._shown[user] = frozenset(shown)
        if not shown:
            return Answer(404)
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in shown.items()}
        if self.habits.html:
            marks = {name: f"#sha256={digest}" if self.habits.digests else "" for name, digest in digests.items()}
            taken_back = {name: ' data-yanked=""' if name in self.yanked else "" for name in shown}
            links = (f'<a href="/files/{name}{marks[name]}"{taken_back[name]}>{name}</a>' for name in shown)
            return Answer(
                200, f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode(), _kind("text/html")
            )
        files = [
            {"filename": name, "url": f"/files/{name}", "size": len(shown[name]), "yanked": name in self.yanked}
            | {"hashes": {"sha256": digest} if self.habits.digests else {}}
            for name, digest in digests.items()
        ]
        page = {"meta": {"api-version": "1.1"}, "name": "demo", "files": files}
        return Answer(200, json.dumps(page).encode(), _kind(JSON))


class Front(StrictIndex):
    """The same in front of a real server, which takes the files and makes the pages."""

    def __init__(self, real: Server) -> None:
        super().__init__(password=real.password)
        self.real = real

    def answer(self, seen: Seen, user: str, body: bytes) -> Answer:
        with self.lock:
            form = parts(seen.content_type, body) if seen.method == "POST" else {}
            name = form.get("filename", b"").decode()
            if name in self._shown.get(user, ()):
                self.violations.append(f"{user} was shown {name}, and uploads it")
            answer = self._ask(seen, body)
            if name and answer.status == 200 and name not in self.files:
                self.take(name, form["content"])
            if seen.path == "/simple/demo/":
                kind = answer.headers["Content-Type"]
                there = parse(answer.body, content_type=kind, url=seen.path) if answer.status == 200 else {}
                self._shown[user] = frozenset(there)
            return answer

    def _ask(self, seen: Seen, body: bytes) -> Answer:
        path = seen.path.removeprefix("/simple/")
        url = self.real.upload if seen.method == "POST" else f"{self.real.simple}{path}"
        pair = base64.b64encode(f"{self.real.user}:{self.real.password}".encode()).decode()
        headers = {"Authorization": f"Basic {pair}", "Accept": ACCEPT, "Content-Type": seen.content_type}
        request = urllib.request.Request(url, body or None, headers, method=seen.method)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
                return Answer(answer.status, answer.read(), _kind(answer.headers.get("Content-Type", "text/plain")))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.read(), _kind("text/plain"))


def _kind(kind: str) -> dict[str, str]:
    return {"Content-Type": kind}


class _Handler(Misbehaving):
    index: StrictIndex

    def _serve(self) -> None:
        seen = Seen(self.command, self.path, content_type=self.headers.get("Content-Type", ""))
        fault = self.index.plan(seen) or Fault()
        fault.run()
        if fault.reset == "before":
            self.reset(seen, self.index.log)
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length // 2 if fault.reset == "in" else length)
        if fault.reset == "in" or len(body) < length:
            self.reset(seen, self.index.log)
        fault.during()
        answer = self._act(seen, _spoilt(body, fault.store)) if fault.store != "none" else Answer(500)
        fault.after()
        time.sleep(fault.slow)
        if fault.reset == "after":
            self.reset(seen, self.index.log)
        if fault.status:
            answer = Answer(fault.status, _told(fault.body))
        answer.headers |= fault.headers
        self.index.log.append((seen.method, seen.path, answer.status))
        self._send(answer, cut=fault.reset == "answer", drip=fault.drip)

    def _act(self, seen: Seen, body: bytes) -> Answer:
        kind, _, pair = self.headers.get("Authorization", "").partition(" ")
        user, _, password = base64.b64decode(pair).decode().partition(":") if kind == "Basic" else ("", "", "")
        if seen.method == "POST" and password != self.index.password:
            return Answer(403)
        return self.index.answer(seen, user, body)

    def _send(self, answer: Answer, *, cut: bool = False, drip: float = 0.0) -> None:
        body = answer.body or b""
        fields = {"Content-Type": "text/plain", "Content-Length": str(len(body)), **answer.headers}
        head = [f"HTTP/1.1 {answer.status} Told", *(f"{key}: {value}" for key, value in fields.items())]
        data = "\r\n".join([*head, "", ""]).encode() + body
        self.give(data, len(body) // 2 + 1 if cut else 0, drip)


def _spoilt(body: bytes, how: str) -> bytes:
    """Change a byte in the middle of a body, which a broken network does and checksums of the network miss."""
    middle = len(body) // 2
    return body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :] if how == "flip" and body else body


def _told(body: object) -> bytes:
    return body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
