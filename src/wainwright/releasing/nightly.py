"""Nightlies: the version of a day, `1.1.dev20260102`, which comes before the release that is being worked on.

PEP 440: "Developmental releases are ordered by their numerical component, immediately before the corresponding release
(and before any pre-releases with the same release segment)".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from packaging.version import InvalidVersion, Version

from wainwright.completed import Run
from wainwright.declaration.release import Directory, Git, Project
from wainwright.errors import WainwrightError
from wainwright.releasing.gitstate import Tree
from wainwright.sourcing.gitcommand import git
from wainwright.sourcing.gitfiles import is_in_git
from wainwright.sourcing.gitremote import confidential
from wainwright.sourcing.sources import identify


def day_of(version: str) -> date | None:
    """Give the day of a nightly's version, None for any other version."""
    try:
        year, month, day = re.fullmatch(r"(\d{4})(\d\d)(\d\d)", str(Version(version).dev)).groups()  # type: ignore[union-attr]
        return date(int(year), int(month), int(day))
    except (ValueError, AttributeError):  # InvalidVersion is a ValueError, and so is the 13th month
        return None


def tonight(project: Project, day: date, run: Run) -> str:
    """Give the version of a day's nightly; raises WainwrightError when nobody says which release is next."""
    said = identify(project.source)[1]
    tags = (project.version_of(tag) for tag in _tags(project.source, run))
    found = version_of(day, said=said, released=filter(None, tags))
    if found is None:
        raise WainwrightError(
            "which release comes next is not known: the source has no static version, and no tag spells one",
            where="project.source",
            hint=f"fetch the tags ({project.tag}), or write a version into pyproject.toml",
        )
    return found


def version_of(day: date, *, said: str | None, released: Iterable[str]) -> str | None:
    """Give a day's version: of what the source says, or of what follows the newest release if that is out already.

    `released` are versions that git tags spell; None when neither says anything.
    """
    known = [version for version in map(_parsed, released) if version is not None and not version.is_prerelease]
    out = max((Version(version.base_version) for version in known), default=None)
    own = _parsed(said or "")
    base = Version(own.base_version) if own else None
    if out is not None and (base is None or base <= out):
        *front, last = out.release
        base = Version(f"{out.epoch}!{'.'.join(map(str, (*front, last + 1)))}")
    return f"{base}.dev{day:%Y%m%d}" if base else None


def stands_for(built: str, version: str, said: str | None) -> bool:
    """Say whether a wheel that was built as `built` is one of a nightly `version`, and only does not know the day.

    It is when it has the version that the source says, or the number of the release that the nightly comes before.
    """
    if day_of(version) is None:
        return False
    found = _parsed(built)
    return found is not None and (found.release == Version(version).release or found == _parsed(said or ""))


def _parsed(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def _tags(source: object, run: Run) -> tuple[str, ...]:
    """Name the tags below the commit that is to be built; those of a repository elsewhere are all that it has."""
    if isinstance(source, Directory) and is_in_git(source.path):
        return Tree(folder=source.path, run=run).tags()
    if isinstance(source, Git):
        address, access = confidential(source.url)
        listed = git(run, Path.cwd(), "ls-remote", "--tags", "--refs", "--", address, env=access, timeout=120)
        return tuple(re.findall(r"\trefs/tags/(\S+)", listed.stdout))
    return ()
