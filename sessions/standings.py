"""How the images of a stage are had on this machine; all that is missing is named before anything is done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wainwright.declaration.release import Image
from wainwright.errors import WainwrightError
from wainwright.running.entering import lacking_pythons
from wainwright.running.having import PinError
from wainwright.running.pins import read_lock
from wainwright.running.standing import Standing, stand
from wainwright.sessions.pipeline import Pipeline, say
from wainwright.sessions.stage import merged
from wainwright.values import Python

Standings = Mapping[tuple[str, str], Standing]


def have_images(pipeline: Pipeline, wanted: Iterable[tuple[Image, str]]) -> Standings:
    """Have each image for its architecture, pulled or built where it is not here; what stands in is said.

    Gives them by (name, architecture). Raises WainwrightError (ENGINE) that names every image that cannot be had; a dry
    run fetches none, and says which.
    """
    lock = read_lock(pipeline.release.root)
    standings: dict[tuple[str, str], Standing] = {}
    lacking: list[WainwrightError] = []
    dry = pipeline.options.dry_run
    for name, arch in dict.fromkeys((image.name, arch) for image, arch in wanted):
        image = pipeline.release.images[name]
        try:
            standing = stand(image, arch=arch, lock=lock, fetch=not dry, run=pipeline.run, tell=say)
        except PinError as error:
            lacking.append(error)
            continue
        except WainwrightError as error:
            if not dry:
                lacking.append(error)
                continue
            say(f"{name}: {error.what}")
            standings[name, arch] = Standing(image=image, engine="host", toolchain=None, stands_in=True, arch=arch)
            continue
        standings[name, arch] = standing
        if standing.stands_in:
            say(f"{standing}: what it makes or proves is for trying things out, and is never published")
    if lacking:
        raise merged(lacking)
    return standings


def have_pythons(pipeline: Pipeline, wanted: Iterable[tuple[Standing, Python]]) -> None:
    """Look for each Python where it is to be used; raises WainwrightError (ENGINE) that names all that are missing."""
    pythons: dict[tuple[str, str], list[Python]] = {}
    places: dict[tuple[str, str], Standing] = {}
    for standing, python in wanted:
        if standing.stands_in and standing.toolchain is None:  # not here, in a dry run
            continue
        key = (standing.image.name, standing.arch)
        places[key] = standing
        pythons.setdefault(key, []).append(python)
    lacking = [
        error for key, standing in places.items() for error in lacking_pythons(standing, pythons[key], pipeline.run)
    ]
    if lacking:
        raise merged(list({str(error): error for error in lacking}.values()))
