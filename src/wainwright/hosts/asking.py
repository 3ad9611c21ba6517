"""Asks a GitHub host one thing at a time: politely, patiently, and quiet about the token.

ghapi brings the operations, and a transport over httpx2. Files are streamed through that same transport: uploads share
its connections, proxies and certificates, and no second client has to be kept. Its own retries are off: they know
neither what is safe to send twice nor how long a host asks to wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.origins import origin
from wainwright.hosts.patience import (
    TRANSIENT,
    Gone,
    Patience,
    Unprocessable,
    Unsure,
    exhausted,
    limit_wait,
    until_reset,
)
from wainwright.hosts.receiving import Sink
from wainwright.hosts.watching import Watch
from wainwright.masking import without_userinfo

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
OPERATIONS: Final = frozenset(
    {
        ("repos", "get"),
        ("repos", "list_releases"),
        ("repos", "get_release"),
        ("repos", "create_release"),
        ("repos", "update_release"),
        ("repos", "delete_release"),
        ("repos", "list_release_assets"),
        ("repos", "get_release_asset"),
        ("repos", "delete_release_asset"),
        ("repos", "generate_release_notes"),
        ("git", "get_ref"),
        ("git", "get_tag"),
    }
)
BLOCK: Final = 1 << 18
REASON_LIMIT: Final = 300  # characters of what a host says: some answer with a whole page
ACCESS: Final = "set GH_TOKEN or GITHUB_TOKEN to a token that may read this repository's contents, and to publish write"


class Asker:
    """A host, a repository on it and a token. `calls` holds ghapi's operations, `transport` its transport."""

    def __init__(
        self, repository: str, *, token: str, api_url: str, patience: Patience, client: httpx2.Client | None
    ) -> None:
        self.repository = repository
        self.patience = patience
        self._token = token
        self._api_url = api_url
        self._last_write = float("-inf")
        self._spent_until = float("-inf")
        self._client = client or _client()
        self._owns_client = client is None
        self.link = ""  # the last answer's, RFC 8288
        self.calls = _calls(repository, api_url=api_url, token=token, client=self._client)
        self.transport = self.calls.transport

    def close(self) -> None:
        if self._owns_client:
            self._client.close()

    def ask(self, what: str, send: Callable[[Watch], T], *, write: bool) -> T:
        """Give what `send` gives, which tells the watch how a file goes on; send again after a wait while that is safe.

        A read is repeated after anything transient, a write only after a rate limit, which did nothing; any other
        doubtful end of a write raises Unsure. Raises Gone and Unprocessable for 404 and 422, and WainwrightError
        with NOT_AUTHORISED, REFUSED or RETRIES_EXHAUSTED.
        """
        reason = ""
        for attempt in range(self.patience.attempts):
            self._pace(what, write=write)
            watch = Watch(self.patience.longest_answer)
            try:
                return watch.run(partial(send, watch))
            except _failures() as error:
                answer = getattr(error, "response", None)
                reason = self.quiet(_reason(error, answer))
            finally:
                if write:
                    self._last_write = self.patience.now()
            wait = None if answer is None else self._judge(what, answer, reason, attempt)
            if wait is None and write:
                raise Unsure(reason, where=self.repository)
            if attempt + 1 < self.patience.attempts:
                self._wait(self.patience.backoff(attempt) if wait is None else wait, what=what)
        raise exhausted(what, self.repository, reason)

    def call(self, operation: Callable[..., Any], read: Callable[[Any], T], **fields: Any) -> T:
        """Carry out one of ghapi's operations, once, and read its JSON."""
        return self.heeded(operation(raw_=True, **fields), read)

    def heeded(self, answer: Any, read: Callable[[Any], T]) -> T:
        """Read an answer's JSON, and note if it was the last that the rate limit gave: the next would be refused."""
        if answer.headers.get("x-ratelimit-remaining") == "0":
            now = self.patience.now()
            self._spent_until = now + (until_reset(answer.headers, now=now) or 0.0)
        self.link = answer.headers.get("link", "")
        try:
            return read(answer.json() if answer.content else None)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise _OutOfShapeError(f"HTTP {answer.status_code} with an answer in no known shape") from error

    def download(self, url: str, sink: Sink, watch: Watch, *, described: Callable[[Any], bool] | None) -> bool:
        """Put what `url` serves into `sink`, once; false if it serves JSON that `described` recognises instead.

        With `described` None, JSON is what the file itself may be.
        """
        headers = {**self.transport.base_headers, "Accept": "application/octet-stream", "Accept-Encoding": "identity"}
        # A redirect leads to a storage host: httpx2 takes the token along within one origin only.
        with self._client.stream("GET", url, headers=headers, follow_redirects=True) as answer:
            if not answer.is_success:
                answer.read()
            answer.raise_for_status()
            if described is not None and "json" in answer.headers.get("content-type", ""):
                answer.read()
                if self.heeded(answer, described):
                    return False
                raise _OutOfShapeError("HTTP 200 with another answer than what was asked for")
            sink.take_all(watch.steps(answer.iter_raw(BLOCK)))
        return True

    def trust(self, url: str, *, says: str = "sends uploads elsewhere, to") -> None:
        """Refuse to take the token to any other origin than the one that was named and its `uploads` sibling's."""
        scheme, named, port = origin(self._api_url)
        if origin(url) not in {(scheme, host, port) for host in (named, f"uploads.{named.removeprefix('api.')}")}:
            raise WainwrightError(
                f"the host {says} {self.quiet(without_userinfo(url))}",
                code=Exit.REFUSED,
                where=self.repository,
                hint=f"the token is meant for {self._api_url}, and goes to no other host or port: if both "
                "are one, set GITHUB_API_URL to the name that the host has for itself",
            )

    def quiet(self, text: str) -> str:
        """Take the token out of what a host or a library says, and keep it short."""
        text = " ".join(text.replace(self._token, "***").split()) if self._token else " ".join(text.split())
        return text if len(text) <= REASON_LIMIT else text[:REASON_LIMIT] + "…"

    def _pace(self, what: str, *, write: bool) -> None:
        now = self.patience.now()
        if self._spent_until > now:
            self._wait(self._spent_until - now, what=what)
        since = now - self._last_write
        if write and 0 <= since < self.patience.pause:
            self.patience.sleep(self.patience.pause - since)

    def _wait(self, seconds: float, *, what: str) -> None:
        self.patience.sit_out(seconds, what=what, where=self.repository)

    def _judge(self, what: str, answer: Any, reason: str, attempt: int) -> float | None:
        """Give how long a rate limit asks to wait, None for another passing trouble; raise what will not pass."""
        status, now = answer.status_code, self.patience.now()
        wait = limit_wait(status, answer.headers, reason, attempt=attempt, now=now)
        if wait is not None or status in TRANSIENT:
            return wait
        raise self._refusal(what, answer, reason)

    def _refusal(self, what: str, answer: Any, reason: str) -> Exception:
        status = answer.status_code
        if status == 404:
            return Gone(f"could not {what}: {reason}", where=self.repository)
        if status == 422:
            codes = frozenset(map(self.quiet, _codes(answer)))
            return Unprocessable(f"could not {what}: {reason}", codes, where=self.repository)
        if status in {401, 403}:
            return WainwrightError(
                f"could not {what}: the token is not accepted ({reason})"
                if status == 401
                else f"could not {what}: the token may not ({reason})",
                code=Exit.NOT_AUTHORISED,
                where=self.repository,
                hint=ACCESS,
            )
        moved = "; it has moved: write its new name in release.toml" if status < 400 else ""
        return WainwrightError(f"could not {what}: {reason}{moved}", code=Exit.REFUSED, where=self.repository)


def _client() -> httpx2.Client:
    import httpx2

    return httpx2.Client(timeout=httpx2.Timeout(60, read=300, write=300), follow_redirects=False)


def _calls(repository: str, *, api_url: str, token: str, client: httpx2.Client) -> Any:
    """Build ghapi's client of the operations that are used here.

    `GhApi()` itself builds a thousand operations (a quarter of a second each time), and takes GITHUB_JWT_TOKEN from the
    environment before any token it is given.
    """
    from fastspec.oapi import OpenAPIClient  # type: ignore[import-untyped]
    from ghapi.core import GhSyncTransport

    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {token}",
        "User-Agent": "wainwright",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    transport = GhSyncTransport(client=client, base_headers=headers, retries=0)  # type: ignore[no-untyped-call]
    owner, _, name = repository.partition("/")
    spec = SimpleNamespace(base_url=api_url, ops=_operations())
    return OpenAPIClient(spec, transport=transport, base_url=api_url, defaults={"owner": owner, "repo": name})


@cache
def _operations() -> tuple[Any, ...]:
    from ghapi.core import pspec

    return tuple(op for op in pspec.ops if (op.group, op.name) in OPERATIONS)


class _OutOfShapeError(Exception):
    """An answer that succeeded and is not what the operation answers: a proxy's page, or half of one."""


def _failures() -> tuple[type[Exception], ...]:
    import httpx2
    from fasttransport.errors import APIError  # type: ignore[import-untyped]

    return (APIError, httpx2.HTTPError, httpx2.InvalidURL, _OutOfShapeError, TimeoutError)


def _reason(error: Exception, answer: Any) -> str:
    if answer is None:
        return str(error) or type(error).__name__
    try:
        body = answer.json()
        parts = [body["message"], *(_told(one) for one in body.get("errors") or ())]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"HTTP {answer.status_code}"
    return f"HTTP {answer.status_code}: " + "; ".join(map(str, parts))


def _told(error: Any) -> str:
    if not isinstance(error, Mapping):
        return str(error)
    return str(error.get("message") or " ".join(str(error[key]) for key in ("field", "code") if key in error))


def _codes(answer: Any) -> frozenset[str]:
    try:
        return frozenset(str(one["code"]) for one in answer.json().get("errors") or () if isinstance(one, Mapping))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return frozenset()
