"""The manifest: the sealed set of a release, which alone says what is uploaded, as values and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal
from urllib.parse import quote

from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.destinations import Asset
from wainwright.receipts import Artifact, replace_text

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
SUMS: Final = "SHA256SUMS"
SEALS: Final = "seals"  # the manifest of every tag that was ever sealed here, so that none is built again


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A sealed file: its published name, its place below `wheelhouse/`, its bytes, whence it comes and where it goes.

    `receipts` holds the sha256 of each receipt file by stage, `smoke.debian10` for one in an image.
    """

    name: str
    path: str
    size: int
    sha256: str
    kind: Literal["wheel", "sdist", "sbom", "metadata"]
    job: str
    variant: str
    destinations: tuple[str, ...]
    receipts: Mapping[str, str] = field(default_factory=dict)
    requires_python: str = ""

    def asset(self, wheelhouse: Path) -> Asset:
        return Asset(name=self.name, path=wheelhouse / self.path, size=self.size, sha256=self.sha256)

    def is_whole(self, wheelhouse: Path) -> bool:
        """Whether the file in the wheelhouse still has the sealed bytes."""
        path = wheelhouse / self.path
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        return Artifact.of(path).sha256 == self.sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What one tag publishes. `images` and `tools` hold digests and versions by name, `sealed` an ISO time."""

    tag: str
    name: str
    version: str
    commit: str
    sealed: str
    files: tuple[File, ...]
    source: Mapping[str, Any] = field(default_factory=dict)
    images: Mapping[str, str] = field(default_factory=dict)
    tools: Mapping[str, str] = field(default_factory=dict)

    @property
    def wheels(self) -> tuple[File, ...]:
        return tuple(file for file in self.files if file.kind == "wheel")

    @property
    def sums(self) -> str:
        """Give SHA256SUMS, as `sha256sum --check` reads it beside the downloaded files."""
        lines = {f"{file.sha256}  {file.name}\n" for file in self.files}
        return "".join(sorted(lines, key=lambda line: line.split("  ", 1)[1]))

    def bound_for(self, destination: str) -> tuple[File, ...]:
        """Give the files of a destination in the order of their upload.

        An sdist comes last: while wheels are missing, pip would build from it.
        """
        files = (file for file in self.files if destination in file.destinations)
        return tuple(sorted(files, key=lambda file: (file.kind == "sdist", file.name)))

    def altered(self, wheelhouse: Path) -> tuple[File, ...]:
        """Give the files that are gone or no longer have the sealed bytes."""
        return tuple(file for file in self.files if not file.is_whole(wheelhouse))

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2, sort_keys=True) + "\n"


def parse(text: str | bytes, *, where: str) -> Manifest:
    """Read a manifest; raises WainwrightError (REFUSED), since to go on without it would break the seal."""
    try:
        data = json.loads(text)
        _expect_format(data.pop("format"))
        files = tuple(
            File(**each | {"destinations": tuple(each["destinations"]), "path": _inside(each["path"])})
            for each in data.pop("files")
        )
        return Manifest(**data, files=files)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise WainwrightError(
            "this is not a manifest that this version can read",
            code=Exit.REFUSED,
            where=where,
            details=(f"{type(error).__name__}: {error}",),
            hint="it is what a tag was sealed with: restore it from a copy, such as the one on the release page",
        ) from error


def _expect_format(found: object) -> None:
    if found != FORMAT:
        raise ValueError(f"it has format {found}, and this version reads {FORMAT}")


def _inside(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts:
        raise ValueError(f"{path} is outside the wheelhouse")
    return path


def read(wheelhouse: Path, tag: str) -> Manifest | None:
    """Read the manifest with which `tag` was sealed here, None if it never was."""
    for path in (wheelhouse / MANIFEST, _seal_of(wheelhouse, tag)):
        if path.exists():
            manifest = parse(path.read_bytes(), where=str(path))
            if manifest.tag == tag:
                return manifest
    return None


def write(manifest: Manifest, wheelhouse: Path) -> None:
    """Write the manifest and SHA256SUMS. The copy below `seals/` comes first: whatever interrupts, the tag is known."""
    copy = _seal_of(wheelhouse, manifest.tag)
    copy.parent.mkdir(parents=True, exist_ok=True)
    replace_text(copy, manifest.to_json())
    replace_text(wheelhouse / SUMS, manifest.sums)
    replace_text(wheelhouse / MANIFEST, manifest.to_json())


def evidence(manifest: Manifest, wheelhouse: Path) -> tuple[Asset, ...]:
    """Give the manifest and SHA256SUMS as they go to a release page beside the wheels."""
    for name, text in ((SUMS, manifest.sums), (MANIFEST, manifest.to_json())):
        path = wheelhouse / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            replace_text(path, text)
    found = [(name, Artifact.of(wheelhouse / name)) for name in (SUMS, MANIFEST)]
    return tuple(Asset(name=name, path=wheelhouse / name, size=each.size, sha256=each.sha256) for name, each in found)


def _seal_of(wheelhouse: Path, tag: str) -> Path:
    return wheelhouse / SEALS / f"{quote(tag, safe='')}.json"
