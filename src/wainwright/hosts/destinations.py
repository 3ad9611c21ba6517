"""What a destination is to the publisher: a listing of what it holds, and a way to put one sealed file there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol

from wainwright.errors import Exit, WainwrightError


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A sealed file: the name under which it is published, where it lies here, its size in bytes, its sha256 (hex)."""

    name: str
    path: Path
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """A file as a destination holds it.

    `size` in bytes; `size` and `sha256` are None where the destination does not tell them; `complete` is false for what
    a broken upload has left behind.
    """

    size: int | None
    sha256: str | None
    complete: bool = True


class Fate(Enum):
    """What a sealed file is to what a destination holds under its name."""

    ABSENT = "absent"
    SAME = "same"
    UNKNOWN = "unknown"  # no digest to compare, and no other size
    INCOMPLETE = "incomplete"
    DIFFERENT = "different"


class Destination(Protocol):
    """Where sealed files go.

    Both methods raise WainwrightError: NOT_AUTHORISED, CONFLICT when the destination holds something else under a
    sealed name, REFUSED when it does not take the file, RETRIES_EXHAUSTED when it does not answer.
    """

    def listing(self) -> Mapping[str, Remote]:
        """Give what is there by name; costs no more than one request a page."""

    def put(self, asset: Asset) -> None:
        """See that `asset` is there with these bytes: uploads it if it is absent, never twice, never over another."""


def fate(asset: Asset, remote: Remote | None) -> Fate:
    """Compare a sealed file with what is there; the digest decides, never the name alone."""
    if remote is None:
        return Fate.ABSENT
    if not remote.complete:
        return Fate.INCOMPLETE
    if remote.sha256 is not None:
        return Fate.SAME if remote.sha256 == asset.sha256 else Fate.DIFFERENT
    return Fate.UNKNOWN if remote.size in {None, asset.size} else Fate.DIFFERENT


def conflict(asset: Asset, remote: Remote, *, where: str, hint: str = "") -> WainwrightError:
    """Say that a destination holds something else under a name of ours, with both digests and sizes as far as told."""
    there = remote.sha256 or "unknown"
    there += f", {remote.size} bytes" if remote.size is not None else ""
    return WainwrightError(
        f"{asset.name} is there already, and is another file",
        code=Exit.CONFLICT,
        where=where,
        details=(f"here:  sha256 {asset.sha256}, {asset.size} bytes", f"there: sha256 {there}"),
        hint=hint or "what is public is never replaced: release another version",
    )
