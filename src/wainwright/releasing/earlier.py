"""Earlier releases: which one `diff.against` means, and the wheels that a release page or an index has of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import IO, Final

from packaging.version import Version

from wainwright.declaration.release import LATEST, NIGHTLY, Project
from wainwright.errors import Exit, WainwrightError
from wainwright.formats.archive import ArchiveError
from wainwright.formats.wheelname import WheelName, parse_wheel_name
from wainwright.hosts.github import GitHub
from wainwright.hosts.held import Held, Page, kept_name
from wainwright.hosts.indexpages import Pages
from wainwright.hosts.patience import Gone, Unprocessable
from wainwright.releasing.manifest import MANIFEST, SUMS, Manifest
from wainwright.releasing.manifest import parse as parse_manifest
from wainwright.releasing.nightly import day_of

TEXT_LIMIT: Final = 16 << 20  # bytes of a manifest or of SHA256SUMS
_SUM: Final = re.compile(r"([0-9a-f]{64}) [ *](.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which release is asked for: `latest`, `nightly` or a tag, and the version of the wheel that is compared."""

    against: str
    own: Version
    project: Project

    @property
    def tag(self) -> str | None:
        return None if self.against in {LATEST, NIGHTLY} else self.against

    def choose(self, there: Iterable[Version]) -> Version | None:
        """Give the version of the release that is meant, None when it is not there.

        `latest` is the newest full release before the wheel's own version. `nightly` is the newest nightly, and for a
        nightly the one before it: what is built from day to day may bear the number of a release that is out.
        """
        if self.tag is not None:
            return next((version for version in there if version == self.project.release_of(self.tag)), None)
        if self.against == LATEST:
            fit = [version for version in there if version < self.own and not version.is_prerelease]
        else:
            nightlies = [version for version in there if day_of(str(version))]
            fit = [version for version in nightlies if version < self.own or not day_of(str(self.own))]
        return max(fit, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A wheel as a destination has it.

    `digests` are the sha256 (hex) that were told of it, one unless something is wrong. `variant` is whose it is, as the
    release's manifest says, None where nothing does. `download` writes the bytes and gives their sha256.
    """

    name: WheelName
    digests: frozenset[str]
    download: Callable[[IO[bytes]], str]
    variant: str | None = None

    def fetch(self, into: IO[bytes], *, where: str) -> None:
        """Download it, and hold it against all that was told of it; raises WainwrightError."""
        if not self.digests:
            raise WainwrightError(
                f"nothing there tells the sha256 of {self.name.filename}, and what cannot be verified is not compared",
                code=Exit.REFUSED,
                where=where,
                hint="download it, and name it by its path in diff.against",
            )
        _verify(self.name.filename, self.download(into), self.digests, where)


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """An earlier release at one destination; `label` says which and where, in words."""

    label: str
    wheels: tuple[Published, ...]


def on_page(github: GitHub, question: Question) -> Earlier | None:
    """Look through the public releases of a repository; raises WainwrightError as GitHub does."""
    pages: dict[Version, Page] = {}
    for page in github.releases():
        version = _version(question, page)
        if version is not None:
            pages.setdefault(version, page)
    chosen = question.choose(pages)
    if chosen is None:
        return None
    page = pages[chosen]
    with _still_there(github):
        assets = {held.name: held for held in github.assets(page.id) if held.uploaded}
        variants, sums = _told(github, assets)
    wheels = [
        Published(
            name=name,
            digests=frozenset(filter(None, (held.sha256, sums.get(held.name)))),
            download=partial(_download, github, held),
            variant=variants.get(held.name),
        )
        for held in assets.values()
        if (name := wheel_name(held.name))
    ]
    return Earlier(label=f"{page.tag} of {github.repository}", wheels=tuple(wheels))


def on_index(pages: Pages, question: Question) -> Earlier | None:
    """Look through the files that an index has of the project; raises WainwrightError as its pages do.

    What its owner has taken back is not looked at, unless a tag names it.
    """
    files = pages.read()
    if pages.lost is not None:
        raise pages.lost
    versions: dict[Version, list[Published]] = {}
    for file in files.values():
        name = wheel_name(file.name)
        if name is not None and (question.tag is not None or not file.yanked):
            wheel = Published(
                name=name,
                digests=frozenset(filter(None, [file.sha256])),
                download=lambda into, file=file: pages.download(file, into)[0],  # type: ignore[misc]
            )
            versions.setdefault(public(name), []).append(wheel)
    chosen = question.choose(versions)
    return Earlier(label=f"{chosen} at {pages.where}", wheels=tuple(versions[chosen])) if chosen else None


def public(name: WheelName) -> Version:
    """Give a wheel's version without its local part, which tells variants of one release apart."""
    return Version(name.public_version.partition("+")[0])


def _version(question: Question, page: Page) -> Version | None:
    """Give the version of a release that may be meant: a public one, under one of the project's tags."""
    if page.draft or (page.prerelease and question.against == LATEST):
        return None
    if question.tag is not None and page.tag != question.tag:
        return None
    return question.project.release_of(page.tag)


def wheel_name(name: str) -> WheelName | None:
    """Read the name of a wheel; None for any other file, and for what is no name at all."""
    try:
        return parse_wheel_name(name) if name.endswith(".whl") and "/" not in name else None
    except ArchiveError:
        return None


def _told(github: GitHub, assets: Mapping[str, Held]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Give variant and sha256 of the release's files by name, as far as its manifest or else SHA256SUMS tell them."""
    manifest = _manifest(github, assets)
    if manifest is not None:
        files = {kept_name(file.name): file for file in manifest.wheels}
        return {key: file.variant for key, file in files.items()}, {key: file.sha256 for key, file in files.items()}
    if SUMS in assets:
        lines = map(_SUM.fullmatch, _text(github, assets[SUMS]).decode("utf-8", "replace").splitlines())
        return {}, {kept_name(match[2]): match[1] for match in lines if match}
    return {}, {}


def manifests(github: GitHub, project: Project, *, but: Container[Version]) -> Iterator[tuple[Page, Manifest]]:
    """Give the public releases of a project, but those of some versions, with the manifest that each is sealed with."""
    for page in github.releases():
        version = project.release_of(page.tag)
        if page.draft or MANIFEST not in page.holds or version is None or version in but:
            continue
        with _still_there(github):
            found = _manifest(github, {held.name: held for held in github.assets(page.id) if held.uploaded})
        if found is not None and found.tag == page.tag:
            yield page, found


def _manifest(github: GitHub, assets: Mapping[str, Held]) -> Manifest | None:
    if MANIFEST in assets:
        text = _text(github, assets[MANIFEST])
        with suppress(WainwrightError):  # another program's file of this name
            return parse_manifest(text, where=MANIFEST)
    return None


def _text(github: GitHub, held: Held) -> bytes:
    """Read a small file; a large one is not what its name says, and reads as nothing."""
    if held.size > TEXT_LIMIT:
        return b""
    into = BytesIO()
    sha256 = _download(github, held, into)
    _verify(held.name, sha256, frozenset({held.sha256 or sha256}), github.repository)
    return into.getvalue()


def _download(github: GitHub, held: Held, into: IO[bytes]) -> str:
    with _still_there(github):
        sha256 = github.download(held, into)
    if sha256 is None:
        what = f"{held.name} is there, and the host does not serve its bytes"
        raise WainwrightError(what, code=Exit.REFUSED, where=github.repository)
    return sha256


def _verify(name: str, sha256: str, told: frozenset[str], where: str) -> None:
    if told != {sha256}:
        raise WainwrightError(
            f"{name} is not what the release says that it is",
            code=Exit.CONFLICT,
            where=where,
            details=(*(f"told:  sha256 {each}" for each in sorted(told)), f"found: sha256 {sha256}"),
            hint="run the same command again; if it stays so, find out who has replaced the file",
        )


@contextmanager
def _still_there(github: GitHub) -> Iterator[None]:
    try:
        yield
    except (Gone, Unprocessable) as error:
        raise WainwrightError(
            error.what,
            code=Exit.RETRIES_EXHAUSTED,
            where=github.repository,
            hint="it was listed a moment ago: run the same command again",
        ) from None
