"""release.lock: which image each name meant when it was pinned, for each architecture."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from wainwright.errors import Exit, WainwrightError
from wainwright.receipts import replace_text

NAME: Final = "release.lock"
FORMAT: Final = 1
HEAD: Final = """\
# Which image each name of release.toml meant when it was pinned. Written by the `images` session; commit it.
# `images -- --update` pins anew. A job whose image is another one stops, and shows both.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One image: `digest` is its manifest's in a registry, None where it was never in one; `id` the engine's."""

    ref: str
    id: str
    digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """The pins of a release, by image name and architecture; the file need not be there."""

    path: Path
    pins: Mapping[tuple[str, str], Pin] = field(default_factory=lambda: MappingProxyType({}))

    def pin(self, name: str, arch: str, pin: Pin) -> Lock:
        """Add or replace one pin, whatever other processes do to the others at the same time."""
        folder = os.open(self.path.parent, os.O_RDONLY)  # the file is replaced; a second one would lie in sight
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            return self.write({**read_lock(self.path.parent).pins, (name, arch): pin})
        finally:
            os.close(folder)

    def write(self, pins: Mapping[tuple[str, str], Pin]) -> Lock:
        """Write the file anew, whole or not at all; it is sorted, so that a change is a short diff."""
        lines = [HEAD, f"version = {FORMAT}\n"]
        for (name, arch), pin in sorted(pins.items()):
            lines.append(f"\n[images.{_quoted(name)}.{_quoted(arch)}]\nref = {_quoted(pin.ref)}\n")
            lines += [f"digest = {_quoted(pin.digest)}\n"] if pin.digest else []
            lines.append(f"id = {_quoted(pin.id)}\n")
        replace_text(self.path, "".join(lines))
        return Lock(path=self.path, pins=MappingProxyType(dict(pins)))


def _quoted(text: str) -> str:
    """Give a TOML basic string; what stands in here are names, references and digests."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def read_lock(root: Path) -> Lock:
    """Read release.lock in the folder of release.toml; raises WainwrightError when it is there and no lock."""
    import tomli

    path = root / NAME
    try:
        data: dict[str, Any] = tomli.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Lock(path=path)
    except (tomli.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _broken(path, str(error)) from error
    if data.get("version") != FORMAT:
        raise _broken(path, f"version = {FORMAT} was expected, found {data.get('version')!r}")
    pins: dict[tuple[str, str], Pin] = {}
    try:
        for name, by_arch in data.get("images", {}).items():
            for arch, row in by_arch.items():
                pins[name, arch] = Pin(ref=str(row["ref"]), id=str(row["id"]), digest=row.get("digest"))
    except (AttributeError, KeyError, TypeError) as error:
        raise _broken(path, f"an image without {error}") from error
    return Lock(path=path, pins=MappingProxyType(pins))


def _broken(path: Path, why: str) -> WainwrightError:
    return WainwrightError(
        f"this is not a lock that can be read: {why}",
        code=Exit.USAGE,
        where=str(path),
        hint="`images -- --update` writes it anew once the broken one is deleted",
    )
