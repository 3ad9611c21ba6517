"""How the images of a stage are had on this machine; all that is missing is named before anything is done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wainwright.declaration.planning import Job
from wainwright.declaration.release import Image
from wainwright.errors import WainwrightError
from wainwright.running.entering import is_without_python, lacking_pythons
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


def have_pythons(pipeline: Pipeline, jobs: Sequence[Job], standings: Standings) -> None:
    """Look for each job's Python where it is built, and in the images that prove it as far as they are here.

    What this machine lacks as a smoke image is no mistake of release.toml, and keeps nobody from building.
    `standings` are those of the images that build. Raises WainwrightError (ENGINE) that names all that are missing.
    """
    lacking: list[WainwrightError] = []
    for (name, arch), pythons in _wanted((job.image, job) for job in jobs).items():
        standing = standings[name, arch]
        if not standing.stands_in or standing.toolchain is not None:  # else it is not here, in a dry run
            lacking += lacking_pythons(standing, pythons, pipeline.run)
    for (name, arch), pythons in _wanted((image, job) for job in jobs for image in job.smoke_images).items():
        lacking += _lacking_to_prove(pipeline, pipeline.release.images[name], arch, pythons)
    if lacking:
        raise merged(list({str(error): error for error in lacking}.values()))


def _wanted(pairs: Iterable[tuple[Image, Job]]) -> Mapping[tuple[str, str], Sequence[Python]]:
    wanted: dict[tuple[str, str], list[Python]] = {}
    for image, job in pairs:
        wanted.setdefault((image.name, job.arch), []).append(job.python)
    return wanted


def _lacking_to_prove(
    pipeline: Pipeline, image: Image, arch: str, pythons: Sequence[Python]
) -> Iterable[WainwrightError]:
    if image.is_host:
        return ()
    try:
        standing = stand(image, arch=arch, lock=read_lock(pipeline.release.root), fetch=False, run=pipeline.run)
    except WainwrightError:  # for smoke to have, or to say
        return ()
    lacking = () if standing.stands_in else lacking_pythons(standing, pythons, pipeline.run)
    if lacking and is_without_python(standing, pipeline.run):
        return ()  # its loader alone looks
    return [
        WainwrightError(
            f"{error.what}, and a smoke image that has a Python must have each that wheels are made for",
            code=error.code,
            where=error.where,
            hint=error.hint,
        )
        for error in lacking
    ]
