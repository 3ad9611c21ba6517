"""What a release page is to be, and what GitHub would not take of it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from packaging.version import InvalidVersion, Version

from wainwright.hosts.destinations import Asset
from wainwright.hosts.held import Page, kept_name

MAX_SIZE: Final = 2 << 30  # bytes: GitHub's documentation, "each file must be under 2 GiB"
MAX_ASSETS: Final = 1000  # the same: "up to 1000 release assets"


def without_v(tag: str) -> str | None:
    """Give the version that a tag such as `v1.2` spells."""
    return tag.removeprefix("v")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The release page as it was sealed. `version_of` gives the version that one of the project's tags spells."""

    tag: str
    version: str
    commit: str
    title: str
    notes: str
    assets: tuple[Asset, ...]
    prerelease: bool = False
    version_of: Callable[[str], str | None] = without_v

    @property
    def seal(self) -> str:
        """Name this very set: tag, commit, and every file by name and digest."""
        parts = [self.tag, self.commit, sorted((asset.name, asset.sha256) for asset in self.assets)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def is_newest(self, published: Iterable[Page]) -> bool:
        """Say whether no full release has a higher version: only then does it become the one called latest."""
        mine = _version(self.version)
        if mine is None or self.prerelease:
            return False
        others = (page for page in published if not page.draft and not page.prerelease and page.tag != self.tag)
        versions = (_version(self.version_of(page.tag)) for page in others)
        return all(version is None or version <= mine for version in versions)


def objections(assets: Iterable[Asset]) -> tuple[str, ...]:
    """Give what GitHub would refuse or rename, a sentence each, before anything is sent."""
    assets = tuple(assets)
    found = [f"{len(assets)} files: a release takes {MAX_ASSETS}"] if len(assets) > MAX_ASSETS else []
    kept = Counter(kept_name(asset.name) for asset in assets)
    for asset in assets:
        name = kept_name(asset.name)
        if asset.size >= MAX_SIZE:
            found.append(f"{asset.name}: {asset.size} bytes, and GitHub takes files under 2 GiB")
        if asset.size == 0:
            found.append(f"{asset.name}: empty, and GitHub takes no empty file")
        if kept[name] > 1:
            found.append(f"{asset.name}: another file would have its name there, {name}")
        elif name != asset.name and asset.name.endswith((".whl", ".tar.gz", ".zip")):
            found.append(f"{asset.name}: GitHub would call it {name}, and pip reads version and tags from the name")
    return tuple(found)


def _version(text: str | None) -> Version | None:
    try:
        return Version(text or "")
    except InvalidVersion:
        return None
