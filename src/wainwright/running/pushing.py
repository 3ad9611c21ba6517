"""Pushing images: one to its registry, or several architectures of one under a single tag."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from wainwright.declaration.release import Image
from wainwright.errors import Exit, WainwrightError
from wainwright.running.engines import Engine
from wainwright.running.images import Found, fitting, ref_of
from wainwright.scratch import scratch


def push(engine: Engine, image: Image, *, arch: str, of_several: bool = False, log: Path | None = None) -> Found:
    """Push an image to its registry; what is found afterwards has the digest that the registry knows it by.

    One `of_several` architectures goes there under a tag of its own, `v1-aarch64` beside `v1`, for `push_list`.
    """
    where = f"images.{image.name}"
    if image.ref is None:
        raise WainwrightError(
            "an image without a `ref` cannot be pushed", code=Exit.USAGE, where=where, hint="give it one"
        )
    ref = tag_of(image.ref, arch) if of_several else image.ref
    if of_several:
        engine.do("tag", image.ref, ref, what=f"{image.ref} could not be tagged {ref}", where=where)
    what = f"{ref} could not be pushed"
    if engine.name == "docker":
        engine.do("push", ref, what=what, where=where, log=log)
        return fitting(engine, image, arch)
    with scratch() as folder:  # podman compresses on the way, and keeps its own digest
        told = folder / "digest"
        engine.do("push", f"--digestfile={told}", ref, what=what, where=where, log=log)
        return replace(fitting(engine, image, arch), digests=(told.read_text().strip(),))


def push_list(engine: Engine, image: Image, *, arches: Iterable[str], log: Path | None = None) -> None:
    """Push the manifest list by which a registry gives each machine its own of the images that `push` has put there."""
    ref, where = ref_of(image), f"images.{image.name}"
    members = [tag_of(ref, arch) for arch in arches]
    what = f"the manifest list {ref} could not be pushed"
    # Engines speak plain HTTP to a registry of this machine; docker's client, which does this alone, must be told so.
    insecure = ["--insecure"] if re.match(r"(localhost|127\.[0-9.]+)[:/]", ref) else []
    if engine.name == "docker":
        engine.ask("manifest", "rm", ref)  # of a run that was broken off
        engine.do("manifest", "create", *insecure, ref, *members, what=what, where=where, log=log)
        engine.do("manifest", "push", "--purge", *insecure, ref, what=what, where=where, log=log)
        return
    name = f"wainwright/list:{hashlib.sha256(ref.encode()).hexdigest()[:12]}"  # `ref` is one of the images itself
    engine.ask("manifest", "rm", name)
    engine.do(
        "manifest", "create", name, *(f"docker://{member}" for member in members), what=what, where=where, log=log
    )
    engine.do("manifest", "push", "--all", name, f"docker://{ref}", what=what, where=where, log=log)
    engine.ask("manifest", "rm", name)


def tag_of(ref: str, arch: str) -> str:
    """Give the reference of one architecture's image beside that of the list: `name:v1-aarch64`."""
    last = ref.rpartition("/")[2]
    return f"{ref}-{arch}" if ":" in last else f"{ref}:latest-{arch}"
