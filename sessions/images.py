"""images: every image that runs in a container, built or pulled, and pinned in release.lock."""

from __future__ import annotations

import difflib
import platform
from collections.abc import Sequence
from dataclasses import asdict

from wainwright.declaration.release import Image, Release
from wainwright.errors import Exit, WainwrightError
from wainwright.running.engines import Engine, find_engine, platform_of
from wainwright.running.having import have, have_anew, pin_of
from wainwright.running.images import Found, look, ref_of
from wainwright.running.pins import Lock, read_lock
from wainwright.running.pushing import push, push_list
from wainwright.sessions.graph import Selection
from wainwright.sessions.pipeline import Pipeline, say, tell
from wainwright.sessions.stage import merged


def run(pipeline: Pipeline, selection: Selection) -> None:
    """Have the images named after `--`, those of the jobs that `--only` leaves, or all; pin those that have no pin.

    With `--update` each is built or pulled anew and pinned as it then is; with `--push` those with a Dockerfile go to
    their registry as well, several architectures of one as a manifest list.
    """
    options = pipeline.options
    jobs = pipeline.jobs(selection)
    images = named(pipeline.release, _names(pipeline))
    if pipeline.options.only not in {None, *pipeline.release.publish}:
        used = {image.name for job in jobs for image in (job.image, *job.smoke_images)}
        images = tuple(image for image in images if image.name in used)
    wanted = [(image, arches_of(pipeline, image)) for image in images]
    if not wanted:
        say("images: no image of release.toml runs in a container")
        return
    engine = find_engine(pipeline.run)
    if options.dry_run:
        for image, arches in wanted:
            for arch in arches:
                say(_would(engine, image, arch))
        return
    failures: list[WainwrightError] = []
    rows: list[dict[str, object]] = []
    for image, arches in wanted:
        try:
            rows += _have_all(pipeline, engine, image, arches, failures)
        except WainwrightError as error:
            failures.append(error)
    if options.json:
        tell({"version": 1, "images": rows})
    if failures:
        raise merged(failures)


def _have_all(
    pipeline: Pipeline, engine: Engine, image: Image, arches: Sequence[str], failures: list[WainwrightError]
) -> list[dict[str, object]]:
    """Have an image for each architecture, and pin it; what fails is added to `failures`. Gives the rows for JSON."""
    options = pipeline.options
    rows: list[dict[str, object]] = []
    for arch in arches:
        lock = read_lock(pipeline.release.root)
        try:
            found = _have(pipeline, engine, image, arch, lock, of_several=len(arches) > 1)
        except WainwrightError as error:
            say(f"{image.name}: failed")
            failures.append(error)
            continue
        if options.update or options.push or (image.name, arch) not in lock.pins:
            lock.pin(image.name, arch, pin_of(found))
            if image.dockerfile is not None and not found.digests:
                say(f"{image.name}: no registry has it, so other machines stop at its pin: use `--push` as well")
        say(f"{image.name}: {found.ref} for {platform_of(arch)} is {found.digest}")
        rows.append({"image": image.name, "arch": arch, **asdict(pin_of(found))})
    if options.push and image.dockerfile is not None and len(rows) == len(arches) > 1:
        say(f"{image.name}: pushing the list {ref_of(image)} of {', '.join(arches)}")
        push_list(engine, image, arches=arches, log=pipeline.logs / f"{image.name}.list.image.log")
    return rows


def _names(pipeline: Pipeline) -> Sequence[str]:
    """Give the words after `--`, unless they are the tag of a release that has every image here first."""
    words = pipeline.options.words
    return () if words and pipeline.release.project.version_of(pipeline.tag or "") else words


def named(release: Release, words: Sequence[str]) -> tuple[Image, ...]:
    """Give the images of these names, all that run in containers for none; a word with `:` or `/` is a reference."""
    if not words:
        return tuple(image for image in release.images.values() if not image.is_host)
    images: list[Image] = []
    for word in words:
        if word in release.images:
            images.append(release.images[word])
        elif ":" in word or "/" in word:
            images.append(Image(name=word, ref=word))
        else:
            near = difflib.get_close_matches(word, release.images, n=1)
            raise WainwrightError(
                f"release.toml has no image {word!r}",
                code=Exit.NOTHING_SELECTED,
                where="options after --",
                hint=f"did you mean {near[0]}?" if near else f"it has {', '.join(release.images)}",
            )
    return tuple(images)


def arches_of(pipeline: Pipeline, image: Image) -> tuple[str, ...]:
    """Give the architectures for which jobs build or prove wheels in an image; this machine's for one without jobs."""
    arches = {job.arch for job in pipeline.plan if image.name in {job.image.name, *(i.name for i in job.smoke_images)}}
    return tuple(sorted(arches)) or (platform.machine(),)


def _have(pipeline: Pipeline, engine: Engine, image: Image, arch: str, lock: Lock, *, of_several: bool) -> Found:
    log = pipeline.logs / f"{image.name}.{arch}.image.log"
    if pipeline.options.update:
        found = have_anew(engine, image, arch=arch, tell=say, log=log)
    else:
        found = have(engine, image, arch=arch, lock=lock, tell=say, log=log)
    if pipeline.options.push and image.dockerfile is not None:
        say(f"{image.name}: pushing {ref_of(image)} for {platform_of(arch)}")
        found = push(engine, image, arch=arch, of_several=of_several, log=log)
    return found


def _would(engine: Engine, image: Image, arch: str) -> str:
    found = look(engine, ref_of(image))
    if found is not None and found.platform == platform_of(arch):
        return f"{image.name}: {found.ref} is here, {found.digest}"
    return f"{image.name}: would {'build' if image.dockerfile else 'pull'} {ref_of(image)} for {platform_of(arch)}"
