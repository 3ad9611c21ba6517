"""What a release needs of a GitHub repository: its releases, their assets, its tags, and who may write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qsl, urlsplit

from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.asking import ACCESS, Asker
from wainwright.hosts.destinations import Asset
from wainwright.hosts.held import Held, Page, text_of
from wainwright.hosts.patience import Gone, Patience
from wainwright.hosts.receiving import Sink
from wainwright.hosts.sealedfile import as_sealed
from wainwright.hosts.watching import Watch

if TYPE_CHECKING:
    import httpx2
    from typing_extensions import Self

T = TypeVar("T")
API: Final = "https://api.github.com"
ENTERPRISE_TOKENS: Final = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
TOKENS: Final = (*ENTERPRISE_TOKENS, "GH_TOKEN", "GITHUB_TOKEN")
PER_PAGE: Final = 100
NESTED: Final = 10  # tags of tags that are followed
_LINK: Final = re.compile(r'<([^>]*)>[^,<]*?;\s*rel="?([^",;]*)"?')


class GitHub:
    """One repository of a GitHub host.

    Reads are repeated until they succeed or patience ends. A write whose outcome is unknown raises Unsure: whoever
    wrote looks first. What the host says of rate limits is heeded everywhere. Raises Gone and Unprocessable too.
    Leaving its context closes its connections; a `client` that was given is its giver's to close.
    """

    def __init__(
        self,
        repository: str,
        *,
        token: str,
        api_url: str = API,
        patience: Patience | None = None,
        client: httpx2.Client | None = None,
    ) -> None:
        _check(repository, token, api_url)
        self.repository = repository
        self.patience = patience or Patience()
        self._asker = Asker(repository, token=token, api_url=api_url, patience=self.patience, client=client)
        self._repos, self._git = self._asker.calls.repos, self._asker.calls.git

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._asker.close()

    def may_push(self) -> bool | None:
        """Say whether the token may write here; None where the host does not tell.

        Raises WainwrightError (REFUSED) for a host whose own name is another: it would have uploads sent there.
        """

        def read(data: Mapping[str, Any]) -> tuple[bool | None, str]:
            return (data.get("permissions") or {}).get("push"), str(data.get("url") or "")

        try:
            push, address = self._ask("read the repository", self._repos.get, read)
        except Gone:
            raise self._unseen() from None
        if address:  # the addresses for uploads will have the same host
            self._asker.trust(address.partition("/repos/")[0], says="calls itself")
        return push

    def releases(self) -> Iterator[Page]:
        """Give every release; drafts too, if the token may see them."""
        try:
            yield from self._paged("list the releases", self._repos.list_releases, Page.of)
        except Gone:
            raise self._unseen() from None

    def release(self, release: int) -> Page:
        return self._ask("read the release", self._repos.get_release, Page.of, release_id=release)

    def create_draft(self, *, tag: str, commit: str, name: str, body: str, prerelease: bool) -> Page:
        fields = {"tag_name": tag, "target_commitish": commit, "name": name, "body": body, "prerelease": prerelease}
        call = self._repos.create_release
        return self._ask("create the draft", call, Page.of, write=True, draft=True, **fields)

    def change(self, release: int, **fields: Any) -> Page:
        call = self._repos.update_release
        return self._ask("change the release", call, Page.of, write=True, release_id=release, **fields)

    def delete_release(self, release: int) -> None:
        self._ask("delete the draft", self._repos.delete_release, _nothing, write=True, release_id=release)

    def assets(self, release: int) -> tuple[Held, ...]:
        return tuple(self._paged("list the assets", self._repos.list_release_assets, Held.of, release_id=release))

    def asset(self, held: Held) -> Held:
        """Look at one asset again."""
        return self._ask(f"look at {held.name}", self._repos.get_release_asset, Held.of, asset_id=held.id)

    def delete_asset(self, held: Held) -> None:
        self._ask(f"delete {held.name}", self._repos.delete_release_asset, _nothing, write=True, asset_id=held.id)

    def generated_notes(self, tag: str, *, commit: str, previous: str | None = None) -> str:
        """Have the host write the notes: what was merged since the `previous` tag. Changes nothing there."""
        fields: dict[str, Any] = {"tag_name": tag, "target_commitish": commit}
        if previous:
            fields["previous_tag_name"] = previous
        call = self._repos.generate_release_notes
        return self._ask("have notes written", call, lambda data: text_of(data["body"]), **fields)

    def commit_of(self, tag: str) -> str | None:
        """Give the commit to which a tag of the remote repository points, through annotated tags; None without it."""

        def read(data: Mapping[str, Any]) -> tuple[str, str]:
            return text_of(data["object"]["type"]), text_of(data["object"]["sha"])

        try:
            kind, sha = self._ask("read the tag", self._git.get_ref, read, ref=f"tags/{tag}")
            for _ in range(NESTED):
                if kind != "tag":
                    break
                kind, sha = self._ask("read the tag", self._git.get_tag, read, tag_sha=sha)
        except Gone:
            return None
        return sha

    def upload(self, page: Page, asset: Asset) -> Held:
        """Stream a sealed file; raises REFUSED in the middle if it is no longer what was sealed."""
        self._asker.trust(page.upload_url)

        def send(watch: Watch) -> Held:
            headers = {"Content-Type": "application/octet-stream", "Content-Length": str(asset.size)}
            post = partial(self._asker.transport.request, "POST", page.upload_url, headers=headers, raw=True)
            content = watch.steps(as_sealed(asset))
            return self._asker.heeded(post(params={"name": asset.name}, content=content), Held.of)

        return self._asker.ask(f"upload {asset.name}", send, write=True)

    def download(self, held: Held, into: IO[bytes] | None = None) -> str | None:
        """Download an asset and give the sha256 of its bytes; None where the host gives its description instead."""
        self._asker.trust(held.url)

        def send(watch: Watch) -> str | None:
            sink = Sink(into)
            described = None if "json" in held.content_type else lambda data: Held.of(data) == held
            return sink.sha256 if self._asker.download(held.url, sink, watch, described=described) else None

        return self._asker.ask(f"download {held.name}", send, write=False)

    def _unseen(self) -> WainwrightError:
        return WainwrightError(
            "there is no such repository, or the token may not see it",
            code=Exit.NOT_AUTHORISED,
            where=self.repository,
            hint="look at its name in release.toml, and at what the token was given",
        )

    def _ask(
        self, what: str, operation: Callable[..., Any], read: Callable[[Any], T], *, write: bool = False, **fields: Any
    ) -> T:
        return self._asker.ask(what, lambda _: self._asker.call(operation, read, **fields), write=write)

    def _paged(self, what: str, operation: Callable[..., Any], of: Callable[[Any], T], **fields: Any) -> Iterator[T]:
        def read(data: Any) -> list[T]:
            return [of(one) for one in data]

        size, number = PER_PAGE, 1
        while True:
            found = self._ask(what, operation, read, per_page=size, page=number, **fields)
            link = self._asker.link
            yield from found
            following = _following(link, size, number)
            # No link at all on a full page may mean that a proxy has dropped it: then an empty page is the end.
            if not found or (following is None and (len(found) < size or "rel=" in link)):
                return
            size, number = following or (size, number + 1)


def _following(link: str, size: int, number: int) -> tuple[int, int] | None:
    """Read from a `Link` (RFC 8288) how large the next page is and which: a host may give fewer than was asked for.

    Of its address the numbers alone are taken: the token goes where it is meant to go.
    """
    target = next((parts[0] for parts in _LINK.findall(link) if "next" in parts[1].split()), None)
    if target is None:
        return None
    query = dict(parse_qsl(urlsplit(target).query))
    wanted = {name: query.get(name, "") for name in ("per_page", "page")}
    numbers = {name: int(text) for name, text in wanted.items() if text.isascii() and text.isdecimal()}
    return numbers.get("per_page") or size, max(numbers.get("page", 0), number + 1)


def of_environment(
    repository: str,
    environ: Mapping[str, str],
    *,
    patience: Patience | None = None,
    client: httpx2.Client | None = None,
) -> GitHub:
    """Find the host in GITHUB_API_URL and the token where GitHub's own tools look for it."""
    api_url = environ.get("GITHUB_API_URL", "").strip() or API
    token = token_of(api_url, environ)
    if not token:
        raise WainwrightError(
            f"no token for {urlsplit(api_url).hostname or api_url}",
            code=Exit.NOT_AUTHORISED,
            where=repository,
            hint=ACCESS,
        )
    return GitHub(repository, token=token, api_url=api_url, patience=patience, client=client)


def token_of(api_url: str, environ: Mapping[str, str]) -> str:
    """Give the token for a host in the order of GitHub's command line; empty when there is none."""
    host = urlsplit(api_url).hostname or ""
    public = host == "api.github.com" or host.endswith(".ghe.com")
    names = [name for name in TOKENS if not public or name not in ENTERPRISE_TOKENS]
    return next((environ[name].strip() for name in names if environ.get(name, "").strip()), "")


def _nothing(_: Any) -> None:
    return


def _check(repository: str, token: str, api_url: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+", repository):
        raise WainwrightError(f"{repository!r} is not a repository", hint="write it as owner/name")
    url = urlsplit(api_url)
    if url.scheme not in {"http", "https"} or not url.hostname or "@" in url.netloc or url.query or url.fragment:
        raise WainwrightError("GITHUB_API_URL is not the address of an interface", hint=f"such as {API}")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise WainwrightError(
            "the token holds characters that no token has",
            code=Exit.NOT_AUTHORISED,
            where=repository,
            hint="look for a line break or a quotation mark in GH_TOKEN or GITHUB_TOKEN",
        )
