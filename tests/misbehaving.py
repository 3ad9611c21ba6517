"""What the tests' own servers share: requests as they came in, faults that a test asks for, broken connections."""

from __future__ import annotations

import socket
import struct
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from typing_extensions import Self


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What goes wrong with one request.

    `status` answers with it; `store` says what happens to the request before: "none", "whole", "starter", "cut" (the
    last byte is lost), "flip" (another byte); `reset` breaks the connection "before", "in" or "after" the body, or in
    the "answer"; `null_digest` stores without a digest; `slow` is a wait in seconds before the answer, `drip` one after
    each byte of it; `run` is called before anything else.
    """

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    store: str = "whole"
    reset: str = ""
    null_digest: bool = False
    slow: float = 0.0
    drip: float = 0.0
    run: Callable[[], None] = field(default=_nothing, repr=False)
    during: Callable[[], None] = field(default=_nothing, repr=False)
    after: Callable[[], None] = field(default=_nothing, repr=False)


@dataclass(frozen=True, slots=True)
class Seen:
    """A request that came in."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    accept: str = ""
    content_type: str = ""

    @property
    def writes(self) -> bool:
        return self.method != "GET"

    @property
    def uploads(self) -> bool:
        return self.method == "POST" and self.path.endswith("/assets")


class Reset(Exception):  # noqa: N818
    """Break this connection now."""


@dataclass(slots=True)
class Answer:
    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class Misbehaving(BaseHTTPRequestHandler):
    """Hands every request to `_serve`; gives whole answers or cut ones, or breaks the connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        return

    def handle(self) -> None:
        with suppress(Reset, ConnectionError, ValueError):
            super().handle()

    def finish(self) -> None:
        with suppress(ConnectionError, ValueError):
            super().finish()

    @abstractmethod
    def _serve(self) -> None:
        """Answer one request."""

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def give(self, data: bytes, missing: int, drip: float = 0.0) -> None:
        """Send an answer without so many of its last bytes."""
        left = data[: len(data) - missing]
        while drip and left:
            self.wfile.write(left[:1])
            left = left[1:]
            time.sleep(drip)
        self.wfile.write(left)
        if missing:
            self.close_connection = True

    def reset(self, seen: Seen, log: list[tuple[str, str, int]]) -> NoReturn:
        """End the connection with a RST, as a broken network does."""
        log.append((seen.method, seen.path, 0))
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        raise Reset


class Loopback:
    """A server on loopback for as long as its `with` block."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"
