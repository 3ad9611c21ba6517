"""A project's page on a package index, read as JSON or HTML, and where such pages are for an upload address. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Final
from urllib.parse import parse_qs, unquote, urljoin, urlsplit, urlunsplit

from wainwright.masking import without_userinfo

_SHA256: Final = re.compile("[0-9A-Fa-f]{64}")
JSON: Final = "application/vnd.pypi.simple.v1+json"
# PEP 691: clients say in Accept which versions they read, the better ones with more weight.
ACCEPT: Final = f"{JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"

# What the page of a project without files has in its title or heading: pypiserver, devpi and most others say "Links for
# NAME"; a web server's listing of a folder is taken for an index, too.
TITLES: Final = ("links for", "simple index", "index of")
TITLE_LIMIT: Final = 80  # characters
DISTRIBUTIONS: Final = (".whl", ".tar.gz", ".zip", ".tar.bz2", ".tgz", ".tar.xz", ".egg", ".exe", ".msi", ".rpm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A file on a page. `sha256` (hex) and `size` (bytes) are None where the page does not tell them.

    `yanked` is what its owner has taken back, and installers leave out (PEP 592).
    """

    name: str
    url: str
    sha256: str | None = None
    size: int | None = None
    yanked: bool = False


class PageError(ValueError):
    """What was read is no page of a package index."""


def parse(body: bytes, *, content_type: str, url: str) -> Mapping[str, Listed]:
    """Read a page that came from `url`; raises PageError for what is neither of the two formats."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind.endswith(("v1+json", "/json")):
        return _parse_json(body, url)
    if kind in {"text/html", "application/vnd.pypi.simple.v1+html", "application/xhtml+xml"}:
        return _parse_html(body.decode("utf-8", "replace"), url, is_stated=kind.endswith("v1+html"))
    raise PageError(f"its type is {kind or 'not said'}, not HTML (PEP 503) or JSON (PEP 691)")


def _parse_json(body: bytes, url: str) -> Mapping[str, Listed]:
    try:
        data = json.loads(body)
        # PEP 691: "Clients SHOULD ... if the major version is greater ... raise an appropriate error".
        if str(data["meta"]["api-version"]).partition(".")[0] != "1":
            raise PageError(f"its version is {data['meta']['api-version']}, not 1")
        files = [
            Listed(
                name=_text(each["filename"]),
                url=_address(url, _text(each["url"])),
                sha256=_digest(each.get("hashes", {}).get("sha256")),
                size=_size(each.get("size")),
                yanked=each.get("yanked") not in {None, False},
            )
            for each in data["files"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PageError(f"its JSON is not that of PEP 691 ({type(error).__name__}: {error})") from error
    return {file.name: file for file in files}


def _parse_html(text: str, url: str, *, is_stated: bool) -> Mapping[str, Listed]:
    """Read the files of a page; where its type does not state what it is, it must show that.

    A notice of maintenance or a form to log in is HTML, too, and would read as a project without files.
    """
    anchors = _Anchors(url)
    try:
        anchors.feed(text)
        anchors.close()
    except AssertionError as error:  # the standard library's word for a declaration that is none
        raise PageError("it is not HTML") from error
    if not is_stated and not anchors.are_of_an_index:
        title = " ".join(anchors.title.split())[:TITLE_LIMIT] or "without a title"
        raise PageError(f"it is a web page that neither lists files nor says that it would: {title}")
    return {file.name: file for file in anchors.found}


class _Anchors(HTMLParser):
    """Collects files. PEP 503: "the href attribute MUST be a URL that links to the location of the file"."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.base = url
        self.found: list[Listed] = []
        self.title = ""  # with the headings
        self._is_versioned = self._in_title = False

    @property
    def are_of_an_index(self) -> bool:
        """Whether there is a file, or what indexes say of themselves where there is none."""
        said = self.title.lower()
        return (
            self._is_versioned
            or any(words in said for words in TITLES)
            or any(file.name.lower().endswith(DISTRIBUTIONS) for file in self.found)
        )

    def handle_endtag(self, tag: str) -> None:
        self._in_title = self._in_title and tag not in {"title", "h1"}

    def handle_data(self, data: str) -> None:
        self.title += f" {data}" if self._in_title else ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._in_title = self._in_title or tag in {"title", "h1"}
        # PEP 629: "a meta tag on the responses of every successful request"; the other one is setuptools' of old
        self._is_versioned |= tag == "meta" and given.get("name") in {"pypi:repository-version", "api-version"}
        href = given.get("href")
        if href is None:
            return
        if tag == "base":
            self.base = _address(self.base, href)
        elif tag == "a":
            parts = urlsplit(_address(self.base, href.strip()))
            # PEP 503: the URL "SHOULD include a hash in the form of a URL fragment": #<hashname>=<hashvalue>
            digests = parse_qs(parts.fragment).get("sha256", [])
            name = unquote(parts.path.rpartition("/")[2])
            if name:
                plain = urlunsplit(parts._replace(fragment=""))
                sha256 = _digest(next(iter(digests), None))
                self.found.append(Listed(name=name, url=plain, sha256=sha256, yanked="data-yanked" in given))


def _address(base: str, href: str) -> str:
    try:
        address = urljoin(base, href)
        _ = urlsplit(address).port  # only whoever asks for it learns that it is none
    except ValueError as error:
        raise PageError(f"one of its links is no address: {href!r}") from error
    return address


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _size(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _digest(text: object) -> str | None:
    return text.lower() if isinstance(text, str) and _SHA256.fullmatch(text) else None


def roots(upload: str) -> tuple[str, ...]:
    """Give the addresses at which the simple pages beside an upload address may be, the likeliest first.

    `https://upload.example.org/legacy/` has `https://example.org/simple/`; devpi's `/user/index/` has
    `/user/index/+simple/`; pypiserver's `/`, Artifactory's, Nexus's and GitLab's have `simple/` below them.
    """
    parts = urlsplit(without_userinfo(upload))
    path = parts.path.rstrip("/")

    def at(path: str, host: str = parts.netloc) -> str:
        return urlunsplit((parts.scheme, host, path, "", ""))

    if path.endswith("/legacy"):
        return (at(f"{path.removesuffix('/legacy')}/simple/", parts.netloc.removeprefix("upload.")),)
    if path.endswith("simple"):
        return (at(f"{path}/"),)
    plain = at(f"{path}/simple/")
    return (at(f"{path}/+simple/"), plain) if path.count("/") == 2 else (plain,)
