"""Having an image: as it is here, built or pulled where it is not, and held to what release.lock pins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from wainwright.declaration.release import Image
from wainwright.errors import Exit, WainwrightError
from wainwright.running.engines import Engine, platform_of
from wainwright.running.images import Found, build, look, pull, ref_of
from wainwright.running.pins import Lock, Pin
from wainwright.running.recipes import recipe_of


class PinError(WainwrightError):
    """The image is not the one that release.lock pins. No fallback stands in for it."""


def have(
    engine: Engine,
    image: Image,
    *,
    arch: str,
    lock: Lock,
    fetch: bool = True,
    tell: Callable[[str], None] = lambda _line: None,
    log: Path | None = None,
) -> Found:
    """Have an image for an architecture: as it is here, else built from its Dockerfile, else pulled.

    Before something slow, `tell` is called with a line about it. Raises WainwrightError (ENGINE) when the image cannot
    be had (or is not here and `fetch` is false), and PinError when it is not the one that release.lock pins.
    """
    ref, pin = ref_of(image), lock.pins.get((image.name, arch))
    if pin is not None and pin.ref != ref:
        raise _pinned_otherwise(image, pin, f"release.toml names {ref}")
    found = look(engine, ref)
    is_here = found is not None and found.platform == platform_of(arch)
    if found is not None and is_here and (not is_stale(image, found) or (pin is not None and _is(found, pin))):
        return _held(image, found, pin)
    if pin is not None and pin.digest is None and image.dockerfile is not None:
        raise _pinned_otherwise(image, pin, f"{ref} is {'of another Dockerfile' if is_here else 'not here'}")
    if not fetch:
        raise WainwrightError(
            f"the image {ref} was built from another state of {image.dockerfile}"
            if is_here
            else f"the image {ref} is not here for {platform_of(arch)}",
            code=Exit.ENGINE,
            where=f"images.{image.name}",
            hint=f"the images session {'builds' if image.dockerfile else 'pulls'} it",
        )
    if pin is not None and pin.digest is not None:
        return _held(image, pull(engine, image, arch=arch, digest=pin.digest, tell=tell, log=log), pin)
    if image.dockerfile is not None:
        return build(engine, image, arch=arch, tell=tell, log=log)
    try:
        pulled = pull(engine, image, arch=arch, tell=tell, log=log)
    except WainwrightError as error:
        if found is None:
            raise
        here = f"the one that is here is for {found.platform}"
        raise WainwrightError(
            error.what, code=error.code, where=error.where, hint=error.hint, details=(*error.details, here)
        ) from error
    return _held(image, pulled, pin)


def have_anew(
    engine: Engine,
    image: Image,
    *,
    arch: str,
    tell: Callable[[str], None] = lambda _line: None,
    log: Path | None = None,
) -> Found:
    """Build or pull an image as its Dockerfile or its registry has it by now, whatever is pinned.

    One that cannot be pulled, and that is here without ever having been in a registry, is had as it is.
    """
    if image.dockerfile is not None:
        return build(engine, image, arch=arch, fresh=True, tell=tell, log=log)
    try:
        return pull(engine, image, arch=arch, tell=tell, log=log)
    except WainwrightError:
        found = look(engine, ref_of(image))
        if found is None or found.platform != platform_of(arch) or found.digests:
            raise
        tell(f"{image.name}: no registry gives {found.ref}: the one that is here is taken, by its id")
        return found


def pin_of(found: Found) -> Pin:
    """Give the pin that holds an image to what it is now."""
    return Pin(ref=found.ref, id=found.id, digest=found.digests[0] if found.digests else None)


def is_stale(image: Image, found: Found) -> bool:
    """Whether it was built from another state of its Dockerfile, or of what that copies, than is there now."""
    if image.dockerfile is None or found.recipe is None or not image.dockerfile.is_file():
        return False
    return found.recipe != recipe_of(image.dockerfile)


def _is(found: Found, pin: Pin) -> bool:
    return found.id == pin.id or (pin.digest is not None and pin.digest in found.digests)


def _held(image: Image, found: Found, pin: Pin | None) -> Found:
    """Hold what was found against its pin, and the pinned one against its Dockerfile."""
    if pin is None:
        return found
    if not _is(found, pin):
        raise _pinned_otherwise(image, pin, f"{found.ref} is now {found.digest}")
    if is_stale(image, found):
        raise PinError(
            f"{image.dockerfile}, or what it copies, has changed since release.lock pinned its image",
            code=Exit.ENGINE,
            where=f"images.{image.name}",
            hint=f"`images -- {image.name} --update{' --push' if pin.digest else ''}` builds and pins it anew",
        )
    return found


def _pinned_otherwise(image: Image, pin: Pin, here: str) -> PinError:
    locked = f"release.lock pins {pin.ref if pin.ref != ref_of(image) else pin.digest or pin.id}"
    update = f"`images -- {image.name} --update` pins this one, once you know why it changed"
    if pin.digest is None:
        locked += ", which is in no registry: one machine alone has it"
    if pin.digest is None and image.dockerfile is not None:
        update = (
            f"`images -- {image.name} --update --push` puts one into its registry, so that every machine has the same; "
            "with `--update` alone the pin holds on this machine alone"
        )
    return PinError(
        "the image is not the one that release.lock pins",
        code=Exit.ENGINE,
        where=f"images.{image.name}",
        details=(locked, here),
        hint=update,
    )
