"""The manifest: the sealed set of a release, which alone says what is uploaded, as values and as JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
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
    """A sealed file: its published name, its place in the wheelhouse, its bytes, whence it comes and where it goes.

    `path` is relative to the folder where the tag's files are kept, as it was to `wheelhouse/` before. `receipts` holds
    the sha256 of each receipt file by stage, `smoke.debian10` for one in an image.
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

    def asset(self, folder: Path) -> Asset:
        return Asset(name=self.name, path=folder / self.path, size=self.size, sha256=self.sha256)

    def is_whole(self, folder: Path) -> bool:
        """Whether the file in the folder still has the sealed bytes."""
        path = folder / self.path
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
    def destinations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(place for file in self.files for place in file.destinations))

    def sums(self, destination: str) -> str:
        """Give the SHA256SUMS of a destination, as `sha256sum --check` reads it beside the downloaded files.

        It holds that destination's own files: another one may have another file under one of their names.
        """
        lines = {f"{file.sha256}  {file.name}\n" for file in self.bound_for(destination)}
        return "".join(sorted(lines, key=lambda line: line.split("  ", 1)[1]))

    def bound_for(self, destination: str) -> tuple[File, ...]:
        """Give the files of a destination in the order of their upload.

        An sdist comes last: while wheels are missing, pip would build from it.
        """
        files = (file for file in self.files if destination in file.destinations)
        return tuple(sorted(files, key=lambda file: (file.kind == "sdist", file.name)))

    def altered(self, folder: Path) -> tuple[File, ...]:
        """Give the files that are gone from a folder or no longer have the sealed bytes."""
        return tuple(file for file in self.files if not file.is_whole(folder))

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2, sort_keys=True) + "\n"


def parse(text: str | bytes, *, where: str) -> Manifest:
    """Read a manifest; raises WainwrightError (REFUSED), since to go on without it would break the seal."""
    try:
        data = json.loads(text)
        _expect_format(data.pop("format"))
        files = tuple(map(_file, data.pop("files")))
        made = Manifest(**data, files=files)
        _expect(made.tag, made.name, made.version, made.commit, made.sealed)
        _expect(made.source, made.images, made.tools, kind=dict)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise WainwrightError(
            "this is not a manifest that this version can read",
            code=Exit.REFUSED,
            where=where,
            details=(f"{type(error).__name__}: {error}",),
            hint="it is what a tag was sealed with: restore it from a copy, such as the one on the release page",
        ) from error
    return made


def _expect_format(found: object) -> None:
    if found != FORMAT:
        raise ValueError(f"it has format {found}, and this version reads {FORMAT}")


def _file(data: Any) -> File:
    _expect(data["destinations"], kind=list)
    made = File(**data | {"destinations": tuple(data["destinations"])})
    _expect(made.name, made.path, made.sha256, made.kind, made.job, made.variant, made.requires_python)
    _expect(*made.destinations, *made.receipts.values())
    _expect(made.size, kind=int)
    path = PurePosixPath(made.path)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{made.path} is outside the wheelhouse")
    return made


def _expect(*values: object, kind: type = str) -> None:
    """Raise TypeError for a value of another kind: anyone can edit a manifest."""
    for value in values:
        if not isinstance(value, kind):
            raise TypeError(f"{value!r} was found where a {kind.__name__} is expected")


def read(wheelhouse: Path, tag: str) -> Manifest | None:
    """Read the manifest with which `tag` was sealed here, None if it never was.

    Where `manifest.json` or the copy below `seals/` cannot be read, the other one is taken. Raises WainwrightError
    (REFUSED) when neither can be, and when they differ.
    """
    found: list[Manifest] = []
    broken: list[WainwrightError] = []
    for path in (wheelhouse / MANIFEST, seal_of(wheelhouse, tag)):
        try:
            found += [parse(path.read_bytes(), where=str(path))] if path.exists() else []
        except WainwrightError as error:
            broken.append(error)
    found = [manifest for manifest in found if manifest.tag == tag]
    if broken and not found:
        raise broken[0]
    if any(manifest != found[0] for manifest in found):
        raise WainwrightError(
            f"it is not what {tag} was sealed with: its copy says otherwise",
            code=Exit.REFUSED,
            where=str(wheelhouse / MANIFEST),
            details=(f"the copy is {seal_of(wheelhouse, tag)}", *_between(*found)),
            hint="one of the two was edited: delete that one, and it is written again from the other",
        )
    return found[0] if found else None


def latest(wheelhouse: Path) -> Manifest | None:
    """Read what was sealed or published last here, of whichever tag; raises WainwrightError as `read` does."""
    path = wheelhouse / MANIFEST
    return read(wheelhouse, parse(path.read_bytes(), where=str(path)).tag) if path.exists() else None


def _between(one: Manifest, other: Manifest) -> Iterator[str]:
    """Name what two manifests of a tag have not alike."""
    for each in fields(Manifest):
        if each.name != "files" and getattr(one, each.name) != getattr(other, each.name):
            yield f"{each.name} differs"
    mine, theirs = ({file.path: file for file in manifest.files} for manifest in (one, other))
    yield from (f"{path} differs" for path in sorted({*mine, *theirs}) if mine.get(path) != theirs.get(path))


def write(manifest: Manifest, wheelhouse: Path) -> None:
    """Write the manifest. The copy below `seals/` comes first: whatever interrupts, the tag is known."""
    copy = seal_of(wheelhouse, manifest.tag)
    copy.parent.mkdir(parents=True, exist_ok=True)
    for path in (copy, wheelhouse / MANIFEST):
        _have(path, manifest.to_json())


def evidence(manifest: Manifest, folder: Path, destination: str, *, dry_run: bool = False) -> tuple[Asset, ...]:
    """Give the manifest and SHA256SUMS as they go to a release page beside the wheels, written unless `dry_run`.

    `folder` is where the files of the tag are kept.
    """
    place = folder / "evidence" / destination
    assets = []
    for name, text in ((SUMS, manifest.sums(destination)), (MANIFEST, manifest.to_json())):
        data = text.encode()
        if not dry_run:
            place.mkdir(parents=True, exist_ok=True)
            _have(place / name, text)
        digest = hashlib.sha256(data).hexdigest()
        assets.append(Asset(name=name, path=place / name, size=len(data), sha256=digest))
    return tuple(assets)


def _have(path: Path, text: str) -> None:
    if not path.exists() or path.read_bytes() != text.encode():
        replace_text(path, text)


def seal_of(wheelhouse: Path, tag: str) -> Path:
    return wheelhouse / SEALS / f"{quote(tag, safe='')}.json"
