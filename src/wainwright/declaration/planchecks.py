"""The mistakes in release.toml that show only in its plan: jobs that cannot be made, proven, compared or told apart."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import Final

from wainwright.declaration.complaints import found, guess
from wainwright.declaration.document import Document, KeyPath, Mistake
from wainwright.declaration.planning import Job, plan
from wainwright.declaration.release import HOST, LATEST, NIGHTLY, Destination, Image, Project, Release
from wainwright.values import Glibc, Python

# The glibc of images that many people build in, by the last part of their reference. PEP 513, 571, 599 for manylinux.
KNOWN_GLIBC: Final = (
    (r"manylinux1(_|:|$)", Glibc(2, 5)),
    (r"manylinux2010(_|:|$)", Glibc(2, 12)),
    (r"manylinux2014(_|:|$)", Glibc(2, 17)),
    (r"centos:?(centos)?6\b", Glibc(2, 12)),
    (r"centos:?(centos)?7\b", Glibc(2, 17)),
    (r"centos:?(centos)?8\b", Glibc(2, 28)),
    (r"(almalinux|rockylinux|ubi|oraclelinux):?8\b", Glibc(2, 28)),
    (r"(almalinux|rockylinux|ubi|oraclelinux):?9\b", Glibc(2, 34)),
    (r"(almalinux|rockylinux|ubi|oraclelinux):?10\b", Glibc(2, 39)),
    (r"amazonlinux:2\b", Glibc(2, 26)),
    (r"amazonlinux:2023\b", Glibc(2, 34)),
    (r"ubuntu:?16\.04|\bxenial\b", Glibc(2, 23)),
    (r"ubuntu:?18\.04|\bbionic\b", Glibc(2, 27)),
    (r"ubuntu:?20\.04|\bfocal\b", Glibc(2, 31)),
    (r"ubuntu:?22\.04|\bjammy\b", Glibc(2, 35)),
    (r"ubuntu:?24\.04|\bnoble\b", Glibc(2, 39)),
    (r"debian:?9\b|\bstretch\b", Glibc(2, 24)),
    (r"debian:?10\b|\bbuster\b", Glibc(2, 28)),
    (r"debian:?11\b|\bbullseye\b", Glibc(2, 31)),
    (r"debian:?12\b|\bbookworm\b", Glibc(2, 36)),
    (r"debian:?13\b|\btrixie\b", Glibc(2, 41)),
)


def of_jobs(document: Document, release: Release) -> list[Mistake]:
    """Find what is wrong with the jobs of the sound parts, as they would be on this machine."""
    running = Python(sys.version_info.major, sys.version_info.minor)
    jobs = plan(release, python=running, arch=os.uname().machine)
    return [
        *(mistake for job in jobs for mistake in _too_new(job)),
        *(mistake for job in jobs for mistake in _proves_nothing(document, job)),
        *(mistake for job in jobs for mistake in _never_proven(document, job)),
        *(mistake for job in jobs for mistake in _refused(document, job)),
        *_same_filename(document, jobs),
        *_never_renamed(release),
        *_nowhere_earlier(document, release),
    ]


def known_glibc(image: Image) -> Glibc | None:
    """Give the glibc of a well-known image, None for any other and for one that is built here."""
    if image.ref is None or image.dockerfile is not None:
        return None
    last = image.ref.partition("@")[0].rpartition("/")[2]
    if perennial := re.search(r"manylinux_(\d+)_(\d+)", last):
        return Glibc(int(perennial[1]), int(perennial[2]))
    return next((glibc for pattern, glibc in KNOWN_GLIBC if re.search(pattern, last)), None)


def _too_new(job: Job) -> Iterator[Mistake]:
    path = _image_path(job)
    last = (job.image.ref or "").rpartition("/")[2]
    if re.match(r"musllinux_|alpine\b", last) and job.image.dockerfile is None:
        yield Mistake(path, f"expected an image with a glibc, found {found(job.image.name)}, which has musl ({last})")
    glibc = known_glibc(job.image)
    if glibc is not None and glibc > job.glibc and job.image.toolchain is None:
        has = f"which has {glibc} ({last})"
        yield Mistake(path, f"expected an image with glibc {job.glibc} or older, found {found(job.image.name)}, {has}")


def _proves_nothing(document: Document, job: Job) -> Iterator[Mistake]:
    for image in job.smoke_images:
        path = _smoke_path(document, job, image)
        if _is_same(image, job.image):
            builds = f"which builds {f'variant {found(job.variant.name)}' if job.variant.image else 'for this target'}"
            yield Mistake(
                path, f"expected an image other than the one that builds, found {found(image.name)}, {builds}"
            )
        elif image.is_host and image.toolchain is not None:
            yield Mistake(
                path, f'expected "host" or a container image, found {found(image.name)}, which is a toolchain'
            )


def _never_proven(document: Document, job: Job) -> Iterator[Mistake]:
    path = ("variants", job.variant.name, "publish")
    is_proven = any(not image.is_host for image in job.smoke_images)
    is_known = job.variant.smoke.images or document.is_sound("targets", str(job.glibc))
    if job.destinations and job.image.toolchain is None and is_known and not is_proven:
        place = "smoke.images" if job.variant.smoke.images else f'smoke of [targets."{job.glibc}"]'
        what = f"expected a smoke image other than {found(HOST)} for what is published, found none for {job.glibc}"
        yield Mistake(path, f"{what}; add one to {place}")


def _refused(document: Document, job: Job) -> Iterator[Mistake]:
    local = job.variant.local_version
    for destination in job.destinations:
        if local and not destination.local_versions:
            path = _publish_path(document, job, destination)
            what = f"expected a destination that takes local versions, found {found(destination.name)}, which refuses"
            mend = "" if destination.is_known else "; say local-versions = true if it does"
            yield Mistake(path, f"{what} +{local}{mend}")


def _same_filename(document: Document, jobs: tuple[Job, ...]) -> Iterator[Mistake]:
    """Of two wheels with one name an index keeps the first, and users of both variants get it."""
    first: dict[tuple[object, ...], Job] = {}
    for job in jobs:
        for destination in job.destinations:
            key = (destination.name, job.glibc, job.python, job.arch, job.variant.local_version)
            other = first.setdefault(key, job)
            if other.variant.name != job.variant.name:
                path = _publish_path(document, job, destination)
                what = f"expected filenames of its own, found those of variant {found(other.variant.name)}"
                which = f"for glibc {job.glibc} in {found(destination.name)}"
                yield Mistake(path, f"{what} {which}; give one of the two a local-version or another destination")


def _never_renamed(release: Release) -> Iterator[Mistake]:
    for variant in release.variants.values():
        if variant.local_version and variant.audit.mode == "check":
            what = 'expected audit.mode "repair" or "retag" beside it, found "check", which renames no wheel'
            yield Mistake(("variants", variant.name, "local-version"), what)


def _nowhere_earlier(document: Document, release: Release) -> Iterator[Mistake]:
    """Find comparisons with what is no release, or with one that no destination can have."""
    for variant in release.variants.values():
        path: KeyPath = ("variants", variant.name, "diff", "against")
        against = variant.diff.against if variant.diff else None
        if against is None or release.project.is_path(against) or not document.is_sound("project", "tag"):
            continue
        if against not in {LATEST, NIGHTLY} and release.project.release_of(against) is None:
            yield Mistake(path, _no_release(against, release.project))
        elif not document.is_sound("publish") or not document.is_sound("variants", variant.name, "publish"):
            continue
        elif not variant.publish:
            what = f"expected a variant that is published, where {found(against)} can be looked for"
            yield Mistake(path, f'{what}; add publish = ["NAME"] to it, or name a path here, such as "./old"')
        elif against == NIGHTLY and not any(release.publish[name].nightly for name in variant.publish):
            what = f"expected a destination that takes nightlies, found {', '.join(variant.publish)}"
            yield Mistake(path, f"{what}; say nightly = true there, or name another release here")


def _no_release(against: str, project: Project) -> str:
    tag = project.tag.replace("{version}", against)
    tag = tag if project.release_of(tag) else project.tag.replace("{version}", "1.0")
    meant = guess(against, (LATEST, NIGHTLY, tag))
    advice = f"did you mean {found(meant)}?" if meant else "a path has a slash or ends with .whl"
    words = f'"{LATEST}", "{NIGHTLY}", a tag such as {found(tag)} or a path'
    return f"expected {words}, found {found(against)}; {advice}"


def _is_same(one: Image, other: Image) -> bool:
    alike = (one.ref, other.ref), (one.dockerfile, other.dockerfile)
    return one.name == other.name or any(mine is not None and mine == its for mine, its in alike)


def _image_path(job: Job) -> KeyPath:
    if job.variant.image is not None:
        return ("variants", job.variant.name, "image")
    return ("targets", str(job.glibc), "image")


def _smoke_path(document: Document, job: Job, image: Image) -> KeyPath:
    if job.variant.smoke.images:
        path: KeyPath = ("variants", job.variant.name, "smoke", "images")
    else:
        path = ("targets", str(job.glibc), "smoke")
    return _indexed(document, path, image.name)


def _publish_path(document: Document, job: Job, destination: Destination) -> KeyPath:
    return _indexed(document, ("variants", job.variant.name, "publish"), destination.name)


def _indexed(document: Document, path: KeyPath, name: str) -> KeyPath:
    for place, value in document.at(*map(str, path), "*"):
        if value == name:
            return place
    return path  # the default, which stands nowhere in the file
