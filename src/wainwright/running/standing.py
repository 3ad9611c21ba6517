"""How an image is had on this machine: in a container, or by what stands in for it here."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wainwright.completed import Run
from wainwright.declaration.release import Image
from wainwright.errors import WainwrightError
from wainwright.run import run as run_here
from wainwright.running.engines import CHOICE, Engine, find_engine
from wainwright.running.having import PinError, have
from wainwright.running.images import Found
from wainwright.running.pins import Lock


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How an image is had here: by which engine, with which toolchain, and whether something else stands in for it.

    `container` and `found` are there for an image that runs in a container; `why` says why something stands in.
    """

    image: Image
    engine: Literal["host", "docker", "podman"]
    toolchain: Literal["zig"] | None
    stands_in: bool
    arch: str = ""
    container: Engine | None = None
    found: Found | None = None
    why: str = ""

    @property
    def digest(self) -> str:
        """What binds a result to the image: its digest, or nothing for the host."""
        return self.found.digest if self.found else ""

    def __str__(self) -> str:
        by = f"{self.engine} with {self.toolchain}" if self.toolchain else self.engine
        because = f": {self.why}" if self.why else ""
        return f"{self.image.name} (stood in for by the {by}{because})" if self.stands_in else self.image.name


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def stand(
    image: Image,
    *,
    arch: str | None = None,
    lock: Lock | None = None,
    fetch: bool = True,
    run: Run = run_here,
    tell: Callable[[str], None] = _say,
) -> Standing:
    """Say how jobs of `image` run on this machine, for an architecture (None: this machine's).

    An image that is not here is built or pulled, which `tell` hears of first; with `fetch` false it is not. Where no
    engine answers, or the image cannot be had, its fallback stands in; without one WainwrightError (ENGINE) says why.
    An image that is not the one that `lock` pins is an error, fallback or not.
    """
    arch = arch or platform.machine()
    if image.is_host:
        return Standing(image=image, engine="host", toolchain=image.toolchain, stands_in=False, arch=arch)
    try:
        engine = find_engine(run)
        pins = lock or Lock(path=Path("release.lock"))
        found = have(engine, image, arch=arch, lock=pins, fetch=fetch, tell=tell)
    except PinError:
        raise
    except WainwrightError as error:
        if image.fallback is None and (image.name == image.ref or error.where == CHOICE):
            raise  # no image of release.toml, or a mistyped engine: a fallback is not what is missing
        if image.fallback is None:
            raise _without_fallback(image, error) from error
        return Standing(image=image, engine="host", toolchain=image.fallback, stands_in=True, arch=arch, why=error.what)
    return Standing(
        image=image,
        engine=engine.name,
        toolchain=image.toolchain,
        stands_in=False,
        arch=arch,
        container=engine,
        found=found,
    )


def _without_fallback(image: Image, error: WainwrightError) -> WainwrightError:
    try_out = 'with fallback = "zig" it would be tried out on this machine, without proving anything'
    return WainwrightError(
        error.what,
        code=error.code,
        where=error.where or f"images.{image.name}",
        hint=f"{error.hint}; {try_out}" if error.hint else try_out,
        details=error.details,
    )
