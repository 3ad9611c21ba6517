"""The toolchain zig inside containers: each image is given it once, as an image of its own that stands on it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final

from wainwright.completed import Run
from wainwright.errors import Exit, WainwrightError
from wainwright.running.containers import Container, enter_container
from wainwright.running.images import Found, look
from wainwright.running.standing import Standing
from wainwright.running.starting import HOME, LABEL
from wainwright.running.toolchain import ZIG_VERSION, ensure_zig, variables, write_tools
from wainwright.scratch import scratch
from wainwright.values import Glibc

AT: Final = PurePosixPath(HOME) / "zig"
# What zig has for other systems than Linux with glibc: half of its files, and of the time that copying takes.
_ELSEWHERE: Final = ("bsd", "darwin", "mingw", "musl", "wasi", "windows")
# Debian's <x86_64-linux-gnu/python3.11/pyconfig.h>, without the image's own glibc headers beside it.
_HEADERS: Final = """
for headers in /usr/include/*-linux-*/python3.*; do
  [ -d "$headers" ] || continue
  folder=${headers%/*}; mkdir -p "$1/include/${folder##*/}" && ln -sf "$headers" "$1/include/${folder##*/}/"
done
true
"""


def with_zig(standing: Standing, run: Run, cache: Path, *, tell: Callable[[str], None]) -> Standing:
    """Give the standing of an image with zig in it, made where the engine has none yet; the host's stays as it is.

    What a job is bound to remains the image that was named. Raises WainwrightError (ENGINE) when it cannot be made.
    """
    engine, found = standing.container, standing.found
    if engine is None or found is None:
        return standing
    ref = f"wainwright/toolchain:zig-{ZIG_VERSION}-{found.id.removeprefix('sha256:')[:24]}"
    zig = ensure_zig(run, cache, arch=engine.arch)
    try:
        with (cache / "zig-images.lock").open("w") as lock:  # of several jobs in one image, one makes it
            fcntl.flock(lock, fcntl.LOCK_EX)
            equipped = look(engine, ref)
            if equipped is None:
                tell(f"{standing.image.name}: zig {ZIG_VERSION} is copied in, once")
                _equip(standing, found, zig.parent, ref, run)
                equipped = look(engine, ref)
    except OSError as error:
        raise WainwrightError(
            f"no image with zig could be made: {error.strerror}", code=Exit.ENGINE, where=str(error.filename or cache)
        ) from error
    return standing if equipped is None else replace(standing, found=replace(found, id=equipped.id))


def _equip(standing: Standing, found: Found, folder: Path, ref: str, run: Run) -> None:
    engine, image = standing.container, standing.image
    assert engine is not None  # noqa: S101 - the caller has looked
    with enter_container(engine, image, found, run, arch=standing.arch, network=False, environ={}) as container:
        container.put_all({str(AT / path): folder / path for path in _wanted(folder)})
        told = container.run([str(AT / "zig"), "version"], env=container.environment())
        told.check(f"zig {ZIG_VERSION} does not run in the image", code=Exit.ENGINE, where=f"images.{image.name}")
        engine.do(
            *("commit", "--change", f"LABEL {LABEL}=toolchain", container.name, ref),
            what=f"no image with zig could be made of {found.ref}",
            where=f"images.{image.name}",
        )


def _wanted(folder: Path) -> Iterator[str]:
    """Name the parts of zig that compile for Linux with glibc, each as deep as it must be split."""
    split = {Path(), Path("lib"), Path("lib/libc"), Path("lib/libc/include")}
    for parent in sorted(split):
        for child in sorted((folder / parent).iterdir()):
            path = parent / child.name
            if path not in split and not ("libc" in parent.parts and any(word in path.name for word in _ELSEWHERE)):
                yield str(path)


def with_tools(container: Container, glibc: Glibc) -> Container:
    """Give the container with the tools of one job in it, which compile for this glibc, and the variables for them."""
    tools = PurePosixPath(container.root) / "tools"
    objects = PurePosixPath(HOME) / ("cache/zig" if container.cached else "zig-objects")
    with scratch() as temporary:
        folder = temporary / "tools"
        write_tools(folder, glibc, container.arch, zig=AT / "zig", at=tools, objects=objects)
        container.put(folder, str(tools))
    done = container.run_plain("sh", "-c", _HEADERS, "sh", str(tools))
    done.check("Python's headers could not be linked", code=Exit.ENGINE, where=f"images.{container.image.name}")
    path = container.environment().get("PATH", os.defpath)
    return replace(container, extra={**container.extra, **variables(container.arch, tools, path=path)})
