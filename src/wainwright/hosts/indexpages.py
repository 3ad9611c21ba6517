"""Asks a package index over HTTP: a project's page, a file's digest, and whether the credentials are let in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import IO, Final

import requests

from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.credentials import Account, variable
from wainwright.hosts.origins import origin
from wainwright.hosts.patience import retry_after
from wainwright.hosts.receiving import Sink
from wainwright.hosts.simplepage import ACCEPT, Listed, PageError, parse, roots
from wainwright.hosts.watching import Watch
from wainwright.masking import Mask, of_address, without_userinfo

TRIES: Final = 5
LONGEST: Final = 120.0  # seconds that an index may ask to wait
LONGEST_ANSWER: Final = 180.0  # seconds for a page, or for a block of a file
BLOCK: Final = 1 << 18
TIMEOUT: Final = (30.0, 120.0)  # seconds to connect, and between two bytes
BUSY: Final = frozenset({408, 425, 429})  # answers that mean: later
# ValueError: a redirect leads to what is no address. TimeoutError: there was no end of it.
FAILURES: Final = (requests.RequestException, ValueError, TimeoutError)


def wait(attempt: int) -> float:
    """Give the seconds before an attempt, the second being number 1: 1, 2, 4, 8 …"""
    return float(min(2 ** (attempt - 1), 30))


@dataclass(kw_only=True)
class Pages:
    """The pages of one project on an index.

    `where` is the destination's key path, `simple` the index's pages if release.toml names them. `root` is where they
    were found, None before that and where there are none. `answered_by` is another host, if one answered last.
    """

    where: str
    project: str
    account: Account
    simple: str | None = None
    pause: Callable[[float], None] = time.sleep
    longest: float = LONGEST_ANSWER
    root: str | None = None
    answered_by: str = ""

    @property
    def address(self) -> str:
        """The project's page, for people: without what the address of the pages may hold in confidence."""
        root = without_userinfo(self.root or self.simple or roots(self.account.url)[0])
        return f"{root.rstrip('/')}/{self.project}/"

    @property
    def mask(self) -> Mask:
        return self.account.mask | of_address(self.simple or "")

    def read(self) -> Mapping[str, Listed]:
        """Read the project's page, which is one request once the root is known; an unknown project has no files."""
        known = self.root or self.simple
        candidates = (known,) if known else roots(self.account.url)
        failure: WainwrightError | None = None
        for root in candidates:
            url = f"{root.rstrip('/')}/{self.project}/"
            with self._get(url, whole=True) as answer:
                if answer is None:
                    continue
                try:
                    files = self._parse(answer, url)
                except WainwrightError as error:  # some answer any address with a page of theirs
                    failure = failure or error
                    continue
                self.root = root
                return files
        if failure is not None:
            raise failure
        if self.root is None:
            self.root = next((root for root in candidates if self._exists(root)), None)
        return {}

    @property
    def lost(self) -> WainwrightError | None:
        """What is wrong once `read` has found no pages at all: that the project has none then means nothing."""
        if self.root is not None or self.simple:
            return None
        what = f"no simple page was found for {self.account.url}: what is there cannot be told"
        return self.error(what, Exit.REFUSED, hint=f"set {self.where}.simple")

    def download(self, file: Listed, into: IO[bytes] | None = None) -> tuple[str, int]:
        """Download a listed file, and give its sha256 (hex) and its size in bytes."""
        for attempt in range(TRIES):
            if attempt:
                self.pause(wait(attempt))
            try:
                return self._download(file, Sink(into))
            except FAILURES as error:
                failure = self._unanswered(file.url, error)
        raise failure

    def _download(self, file: Listed, sink: Sink) -> tuple[str, int]:
        with self._get(file.url) as answer:
            if answer is None:
                raise self.error(f"{file.name} is listed and cannot be downloaded", Exit.RETRIES_EXHAUSTED)
            watch = Watch(self.longest)
            watch.run(lambda: sink.take_all(watch.steps(answer.iter_content(BLOCK))))
        return sink.sha256, sink.size

    def probe(self) -> WainwrightError | None:
        """Ask whether the credentials would be let in, without a file; gives what the index has against them.

        The form is an upload's with another action: an index turns a stranger away, and does nothing for a friend.
        """
        try:
            with self._session(self.account.url) as session:
                form = {":action": (None, "verify"), "protocol_version": (None, "1")}
                post = partial(session.post, self.account.url, files=form, timeout=TIMEOUT, allow_redirects=False)
                answer = Watch(self.longest).run(post)
        except FAILURES as error:
            return self._unanswered(self.account.url, error)
        refused = answer.status_code in {401, 403}
        return self.unauthorised(answer.status_code, self.account.url) if refused else None

    def unauthorised(self, status: int | None, url: str, details: tuple[str, ...] = ()) -> WainwrightError:
        said = f" ({status})" if status else ""
        name = self.where.rpartition(".")[2]
        password, source = self.account.password, self.account.source
        whence = f"the password is {'' if password else 'empty, '}from {source}"
        whence = "there is no password" if password is None else whence
        return self.error(
            f"{url} does not let {self.account.username or 'a nameless user'} in{said}: {whence}",
            Exit.NOT_AUTHORISED,
            details=details,
            hint=f"set {variable('TWINE_USERNAME', name)} and {variable('TWINE_PASSWORD', name)} (a token's user is "
            "__token__; without the last part for the only index), ~/.pypirc or the keyring",
        )

    def error(self, what: str, code: Exit, *, details: tuple[str, ...] = (), hint: str = "") -> WainwrightError:
        mask = self.mask
        return WainwrightError(mask(what), code=code, where=self.where, details=mask.lines(details), hint=mask(hint))

    def _exists(self, url: str) -> bool:
        with self._get(url) as answer:  # headers alone: a mirror's list of all projects has many megabytes
            return answer is not None

    def _parse(self, answer: requests.Response, url: str) -> Mapping[str, Listed]:
        try:
            return parse(answer.content, content_type=answer.headers.get("Content-Type", ""), url=answer.url)
        except PageError as error:
            hint = f"run the same command again when it is; if its simple pages are elsewhere, set {self.where}.simple"
            raise self.error(f"{url} is no page of a package index: {error}", Exit.REFUSED, hint=hint) from error

    @contextmanager
    def _session(self, url: str) -> Iterator[requests.Session]:
        """Open a session that knows our credentials only where they belong."""
        with requests.Session() as session:
            account = self.account
            if account.username and account.password is not None and origin(url) == origin(account.url):
                session.auth = (account.username, account.password)
                self._demand_sendable(account.username, account.password)
            if account.ca_cert:
                session.verify = account.ca_cert
            if account.client_cert:
                session.cert = account.client_cert
            yield session

    def _demand_sendable(self, *texts: str) -> None:
        """Find what no header can hold, which is twine's limit too."""
        try:
            "".join(texts).encode("latin-1")
        except UnicodeEncodeError:
            what = f"user name or password holds a character that cannot be sent; it is from {self.account.source}"
            raise self.error(what, Exit.NOT_AUTHORISED) from None

    @contextmanager
    def _get(self, url: str, *, whole: bool = False) -> Iterator[requests.Response | None]:
        """Ask for an address until it answers, and with `whole` until all of it has come; None for what is not there.

        A page for which another host answers is another index's: pypiserver sends whoever asks for what it lacks on to
        the public one.
        """
        with self._session(url) as session, self._persist(session, url, whole=whole) as answer:
            status = answer.status_code
            if status in {401, 403}:
                raise self.unauthorised(status, url)
            host = origin(answer.url)[1]
            self.answered_by = host if host != origin(url)[1] and "/simple" in url else ""
            if status in {404, 410} or self.answered_by:
                yield None
            elif status >= 400:
                raise self.error(f"{url} answers {status} {answer.reason}", Exit.REFUSED)
            else:
                yield answer

    def _persist(self, session: requests.Session, url: str, *, whole: bool) -> requests.Response:
        asked = 0.0
        headers = {"Accept": ACCEPT, "Cache-Control": "max-age=0"}
        for attempt in range(TRIES):
            if attempt:
                self.pause(max(wait(attempt), asked))
            try:
                get = partial(session.get, url, headers=headers, timeout=TIMEOUT, stream=not whole)
                answer = Watch(self.longest).run(get)
            except FAILURES as error:
                failure = self._unanswered(url, error)
                continue
            if answer.status_code < 500 and answer.status_code not in BUSY:
                return answer
            failure = self.error(f"{url} answers {answer.status_code} {answer.reason}", Exit.RETRIES_EXHAUSTED)
            asked = min(retry_after(answer.headers, now=time.time()) or 0.0, LONGEST)
            answer.close()
        raise failure

    def _unanswered(self, url: str, error: Exception) -> WainwrightError:
        said = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        return self.error(f"{url} does not answer", Exit.RETRIES_EXHAUSTED, details=(said,))
