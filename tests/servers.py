"""Package indexes for tests: real devpi and pypiserver processes on loopback, and a small one that fails on demand."""

from __future__ import annotations

import base64
import email.parser
import email.policy
import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

REQUIREMENTS = ("devpi-server==6.20.3", "pypiserver==2.4.2", "passlib==1.7.4")
USER = "releaser"
PATIENCE = 180.0  # seconds until a server must answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running index: where uploads go, where pip looks, and who may upload."""

    upload: str
    simple: str
    password: str
    user: str = USER


@cache
def environment() -> Path:
    """Install the servers once on this machine, and give the folder of their programs."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.sha256(f"{sys.version} {REQUIREMENTS}".encode()).hexdigest()[:12]
    folder = caches / "wainwright" / f"test-servers-{key}"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *REQUIREMENTS], check=True)
        (folder / "complete").touch()
    return folder / "bin"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def process(argv: list[str], url: str, log: Path) -> Iterator[None]:
    """Run a server until the block ends; it must answer on `url`."""
    with log.open("wb") as sink:
        server = subprocess.Popen(argv, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE
        while not _answers(url):
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


@contextmanager
def pypiserver(folder: Path, *, password: str, fallback: str = "") -> Iterator[Server]:
    packages, port = folder / "packages", free_port()
    packages.mkdir(parents=True)
    digest = base64.b64encode(hashlib.sha1(password.encode()).digest()).decode()  # noqa: S324 - htpasswd's own format
    (folder / "passwords").write_text(f"{USER}:{{SHA}}{digest}\n")
    argv = [str(environment() / "pypi-server"), "run", "-i", "127.0.0.1", "-p", str(port), "-a", "update"]
    argv += ["-P", str(folder / "passwords"), *(["--fallback-url", fallback] if fallback else ["--disable-fallback"])]
    url = f"http://127.0.0.1:{port}/"
    with process([*argv, str(packages)], url, folder / "log"):
        yield Server(upload=url, simple=f"{url}simple/", password=password)


@contextmanager
def devpi(folder: Path, *, password: str) -> Iterator[Server]:
    port, programs, data = free_port(), environment(), folder / "data"
    folder.mkdir(parents=True, exist_ok=True)
    secret = folder / "secret"
    init, gen_secret = str(programs / "devpi-init"), str(programs / "devpi-gen-secret")
    subprocess.run([init, "--serverdir", str(data), "--no-root-pypi"], check=True, capture_output=True)
    subprocess.run([gen_secret, "--secretfile", str(secret)], check=True, capture_output=True)
    argv = [str(programs / "devpi-server"), "--serverdir", str(data), "--secretfile", str(secret)]
    # The key that it derives at its start takes ten seconds at the usual cost, and guards nothing here
    argv += ["--argon2-memory-cost", "1024", "--argon2-time-cost", "1", "--argon2-parallelism", "1"]
    url = f"http://127.0.0.1:{port}"
    with process([*argv, "--host", "127.0.0.1", "--port", str(port)], f"{url}/+api", folder / "log"):
        _call(f"{url}/{USER}", "PUT", {"password": password})
        login = _call(f"{url}/+login", "POST", {"user": USER, "password": password})
        pair = base64.b64encode(f"{USER}:{login['result']['password']}".encode()).decode()
        _call(f"{url}/{USER}/dev", "PUT", {"bases": [], "volatile": False}, {"X-Devpi-Auth": pair})
        yield Server(upload=f"{url}/{USER}/dev/", simple=f"{url}/{USER}/dev/+simple/", password=password)


def _call(url: str, method: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
    request = urllib.request.Request(  # noqa: S310
        url, json.dumps(body).encode(), {"Content-Type": "application/json", **(headers or {})}, method=method
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return json.load(answer)


@dataclass
class Small:
    """An index in this process. Each upload meets the next of `faults`, by name, or none.

    `requests` records method and path; `files` holds what was taken; a second file of one name is refused as the
    public index does.
    """

    password: str
    user: str = USER
    html: bool = False
    hashes: str = "sha256"
    readable: bool = True
    moved: str = ""
    swallows: bool = False
    stale: bool = False  # its pages are those of before anything was there
    instead: str | None = None  # HTML that it answers to every GET
    places: dict[str, str] = field(default_factory=dict)  # HTML by path
    faults: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)  # a status for each of the next GETs
    url: str = ""

    @property
    def upload(self) -> str:
        return f"{self.url}/legacy/"

    @property
    def uploads(self) -> int:
        return sum(line.startswith("POST") for line in self.requests)

    @property
    def listings(self) -> int:
        return sum(line.startswith("GET /simple/") for line in self.requests)

    @contextmanager
    def running(self) -> Iterator[Small]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def _handler(index: Small) -> type[BaseHTTPRequestHandler]:  # noqa: C901 - one class, around one index
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def say(self, status: int, body: bytes = b"", kind: str = "text/plain", **headers: str) -> None:
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            index.requests.append(f"GET {self.path}")
            if (html := index.places.get(self.path, index.instead)) is not None:
                self.say(200, html.encode(), "text/html")
            elif index.reads and (status := index.reads.pop(0)) != 200:
                self.say(status)
            elif not index.readable and not self.known():
                self.say(401)
            elif index.moved and self.path.startswith("/simple/demo"):
                self.say(302, Location=index.moved)
            elif self.path.startswith("/files/") and self.path[7:] in index.files:
                self.say(200, index.files[self.path[7:]], "application/octet-stream")
            elif self.path == "/simple/" or (self.path == "/simple/demo/" and index.files):
                self.say(200, *page(index))
            else:
                self.say(404)

        def do_POST(self) -> None:
            index.requests.append(f"POST {self.path}")
            fault = index.faults.pop(0) if index.faults else ""
            if fault == "reset":
                self.reset()
                return
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not self.known():
                self.say(403)
            elif fault == "echo":  # a server that repeats what it was told in confidence
                told = self.headers["Authorization"]
                self.send_response(400, f"{told} {base64.b64decode(told.split()[1]).decode()}")
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif fault.isdigit():
                self.say(int(fault))
            else:
                self.take(body, fault)

        def take(self, body: bytes, fault: str) -> None:
            form = parts(self.headers["Content-Type"], body)
            if form[":action"] != b"file_upload":
                self.say(400)
                return
            name = form["filename"].decode()
            if name in index.files:
                self.say(400)
                return
            if index.swallows:
                self.say(200)
                return
            index.files[name] = form["content"] + (b"!" if fault == "garbled" else b"")
            if fault == "stored, reset":
                self.reset()
            else:
                self.say(502 if fault == "stored, 502" else 200)

        def known(self) -> bool:
            pair = base64.b64encode(f"{index.user}:{index.password}".encode()).decode()
            return self.headers.get("Authorization") == f"Basic {pair}"

        def reset(self) -> None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    return Handler


def page(index: Small) -> tuple[bytes, str]:
    files = {} if index.stale else index.files
    rows = [(name, hashlib.new(index.hashes or "md5", data).hexdigest()) for name, data in files.items()]
    if index.html:
        mark = {"": ""}.get(index.hashes, f"#{index.hashes}=")
        links = [f'<a href="../../files/{name}{mark}{digest if mark else ""}">{name}</a>' for name, digest in rows]
        return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode(), "text/html"
    listed = [
        {"filename": name, "url": f"/files/{name}", "hashes": {index.hashes: digest} if index.hashes else {}}
        for name, digest in rows
    ]
    data = {"meta": {"api-version": "1.1"}, "name": "demo", "files": listed}
    return json.dumps(data).encode(), "application/vnd.pypi.simple.v1+json"


def parts(kind: str, body: bytes) -> dict[str, bytes]:
    """Read a multipart form; the file's own name is `filename`."""
    parser = email.parser.BytesParser(policy=email.policy.HTTP)
    message = parser.parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    found: dict[str, bytes] = {}
    for part in message.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        found.setdefault(name, bytes(part.get_payload(decode=True)))
        if (filename := part.get_filename()) is not None:
            found["filename"] = filename.encode()
    return found
