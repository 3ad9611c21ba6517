"""Images: whether one is here, and how it is pulled, or built from its Dockerfile, for a platform."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from wainwright.declaration.release import Image
from wainwright.errors import Exit, WainwrightError
from wainwright.running.engines import Engine, platform_of
from wainwright.running.recipes import RECIPE, recipe_of
from wainwright.running.refusals import refusal, saying


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An image that the engine holds: `id` its own name for it, `digests` those of registries, `size` in bytes.

    `layers` are the digests of its file system's layers, the lowest first.
    """

    ref: str
    id: str
    platform: str
    env: Mapping[str, str]
    digests: tuple[str, ...] = ()
    recipe: str | None = None
    size: int = 0
    layers: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """What a receipt binds: the manifest's digest where a registry gave one, else the engine's id."""
        return self.digests[0] if self.digests else self.id


def ref_of(image: Image) -> str:
    """Give the reference of a declared image; one that only has a Dockerfile is tagged by its name."""
    return image.ref or f"wainwright/{image.name.lower()}:latest"


def look(engine: Engine, ref: str) -> Found | None:
    """Look for an image in the engine's own store; None when it is not there."""
    done = engine.ask("image", "inspect", ref)
    if not done.ok:
        if any("No such image" in line or "not known" in line or "no such object" in line for line in done.tail):
            return None
        raise refusal(f"the engine could not be asked about {ref}", done.tail, ending=done.ending)
    facts: dict[str, Any] = json.loads(done.stdout)[0]
    config: dict[str, Any] = facts.get("Config") or {}
    variables = (entry.partition("=") for entry in config.get("Env") or [])
    variant = f"/{facts['Variant']}" if facts.get("Variant") and facts["Architecture"] == "arm" else ""
    identity = str(facts["Id"])
    return Found(
        ref=ref,
        id=identity if identity.startswith("sha256:") else f"sha256:{identity}",
        platform=f"{facts.get('Os', 'linux')}/{facts['Architecture']}{variant}",
        env=MappingProxyType({name: value for name, _, value in variables}),
        digests=tuple(_digests(ref, facts.get("RepoDigests") or [])),
        recipe=(config.get("Labels") or {}).get(RECIPE),
        size=int(facts.get("Size") or 0),
        layers=tuple((facts.get("RootFS") or {}).get("Layers") or ()),
    )


def pull(
    engine: Engine,
    image: Image,
    *,
    arch: str,
    digest: str | None = None,
    tell: Callable[[str], None] = lambda _line: None,
    log: Path | None = None,
) -> Found:
    """Pull an image, by digest where one is given; it is tagged by its reference then."""
    ref, where = ref_of(image), f"images.{image.name}"
    exact = f"{_untagged(ref)}@{digest}" if digest else ref
    tell(f"{image.name}: pulling {exact} for {platform_of(arch)}")
    engine.do(
        "pull", f"--platform={platform_of(arch)}", exact, what=f"{exact} could not be pulled", where=where, log=log
    )
    if digest and "@" not in ref:
        engine.do("tag", exact, ref, what=f"{exact} could not be tagged {ref}", where=where)
    return fitting(engine, image, arch)


def build(
    engine: Engine,
    image: Image,
    *,
    arch: str,
    fresh: bool = False,
    tell: Callable[[str], None] = lambda _line: None,
    log: Path | None = None,
) -> Found:
    """Build an image from its Dockerfile, whose folder is the context; with `fresh`, no layer is taken from a cache."""
    assert image.dockerfile is not None  # noqa: S101 - the caller has looked
    ref, where = ref_of(image), f"images.{image.name}"
    if not image.dockerfile.is_file():
        raise WainwrightError(
            "there is no such Dockerfile", code=Exit.ENGINE, where=f"{where}.dockerfile: {image.dockerfile}"
        )
    tell(f"{image.name}: building {ref} from {image.dockerfile.name} for {platform_of(arch)}")
    words = [
        *(engine.program, "build", f"--platform={platform_of(arch)}", f"--tag={ref}", "--force-rm"),
        *(f"--file={image.dockerfile}", f"--label={RECIPE}={recipe_of(image.dockerfile)}"),
        str(image.dockerfile.parent),
    ]
    done = engine.run([*words, "--no-cache", "--pull"] if fresh else words, log=log)
    if fresh and not done.ok and saying(done.tail):  # what it stands on may be in no registry: an image built here
        done = engine.run([*words, "--no-cache"], log=log)
    if not done.ok:
        raise refusal(f"{image.dockerfile.name} does not build", done.tail, ending=done.ending, where=where)
    found = look(engine, ref)
    if not fresh and found is not None and found.platform != platform_of(arch):
        # Docker's classic builder takes what it stands on as it is here, be it for another architecture.
        engine.run([*words, "--pull"], log=log)
    return fitting(engine, image, arch)


def fitting(engine: Engine, image: Image, arch: str) -> Found:
    """Look at what was just had; an old engine may have taken another platform than it was asked for."""
    ref = ref_of(image)
    found = look(engine, ref)
    if found is None or found.platform != platform_of(arch):
        raise WainwrightError(
            f"{ref} is for {found.platform if found else 'nothing'}, not for {platform_of(arch)}",
            code=Exit.ENGINE,
            where=f"images.{image.name}",
            hint="name an image of that architecture, or leave the architecture out of the variant's `arch`",
        )
    return found


def _digests(ref: str, entries: Iterable[str]) -> Iterator[str]:
    """Give the digests by which the registry of `ref` knows the image; another name of it may be in another one."""
    own = _untagged(ref).removeprefix("docker.io/").removeprefix("library/")
    for entry in entries:
        name, _, digest = entry.rpartition("@")
        # podman gives what was never in a registry a digest all the same, below localhost/.
        if name.removeprefix("docker.io/").removeprefix("library/") == own and not name.startswith("localhost/"):
            yield digest


def _untagged(ref: str) -> str:
    """Give a reference without its tag: only a colon after the last slash is a tag's, another one is a port's."""
    folder, slash, last = ref.partition("@")[0].rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}"
