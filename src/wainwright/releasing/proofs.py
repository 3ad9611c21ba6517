"""Holds every declared job against its receipts: what may be sealed, and each reason against it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from wainwright.declaration.planning import Job
from wainwright.formats.archive import Archive, ArchiveError
from wainwright.formats.wheelfile import Metadata, read_dist_info
from wainwright.formats.wheelname import parse_wheel_name
from wainwright.receipts import Artifact, Receipt, Receipts
from wainwright.releasing.manifest import File
from wainwright.releasing.plausible import contradictions
from wainwright.releasing.sdistproof import objections

SDISTS: Final = "sdist"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealing:
    """What is to be sealed: the whole plan, never a part of it.

    `inputs` holds, by (job, stage, image), the digest that a receipt must have been made of to be fresh, as source and
    release.toml are now; None for what is sealed, whose receipts were fresh and are held by their own digests. `now` is
    an ISO time, `tracked` git's blob ids by path.
    """

    jobs: tuple[Job, ...]
    receipts: Receipts
    wheelhouse: Path
    name: str
    version: str
    tag: str
    commit: str
    now: str
    inputs: Mapping[tuple[str, str, str], str] | None
    source: Mapping[str, Any] = field(default_factory=dict)
    tools: Mapping[str, str] = field(default_factory=dict)
    tracked: Mapping[str, str] = field(default_factory=dict)

    @property
    def published(self) -> tuple[Job, ...]:
        return tuple(job for job in self.jobs if job.destinations)


def examine(sealing: Sealing) -> tuple[tuple[File, ...], tuple[str, ...]]:
    """Give the files that can be sealed, and a line for each reason against sealing at all."""
    files: list[File] = []
    refusals: list[str] = []
    for job in sealing.published:
        file, lines = _examine_job(sealing, job)
        refusals += [f"job {job.id}: {line}" for line in lines]
        files += [file] if file else []
    sdist, lines = _sdist(sealing)
    refusals += [f"{SDISTS}/{_sdist_name(sealing)}: {line}" for line in lines]
    files += [sdist] if sdist else []
    if not sealing.published:
        refusals.append("no variant names a destination: add publish = […] to one")
    refusals += _clashes(files)
    return tuple(files), tuple(refusals)


def _sdist_name(sealing: Sealing) -> str:
    return f"{canonicalize_name(sealing.name).replace('-', '_')}-{sealing.version}.tar.gz"


def _sdist(sealing: Sealing) -> tuple[File | None, list[str]]:
    """Take `wheelhouse/sdist/NAME-VERSION.tar.gz` along, by this very name, to wherever a wheel goes."""
    path = sealing.wheelhouse / SDISTS / _sdist_name(sealing)
    if not path.is_file():
        return None, []
    made = Artifact.of(path)
    places = dict.fromkeys(place.name for job in sealing.published for place in job.destinations)
    file = File(
        name=path.name,
        path=f"{SDISTS}/{path.name}",
        size=made.size,
        sha256=made.sha256,
        kind="sdist",
        job="",
        variant="",
        destinations=tuple(places),
    )
    against = objections(path, name=sealing.name, version=sealing.version, tracked=sealing.tracked)
    return file, list(against)


def _examine_job(sealing: Sealing, job: Job) -> tuple[File | None, list[str]]:
    audited = sealing.receipts.read(job.id, "audit")
    if audited is None:
        return None, ["there is no audit receipt: run the audit session"]
    if not audited.passed or audited.wheel is None:
        return None, [f"its audit is red: {audited.reason}"]
    path = sealing.wheelhouse / job.variant.name / audited.wheel.name
    if not path.is_file():
        return None, [f"{job.variant.name}/{audited.wheel.name} is declared and is not in the wheelhouse"]
    found = Artifact.of(path)
    lines = []
    if found != audited.wheel:
        lines.append(f"{found.name} has sha256 {found.sha256}, and its audit receipt is for {audited.wheel.sha256}")
    lines += _chain(sealing, job, audited)
    lines += _smokes(sealing, job, found)
    metadata, wrong = _metadata(path)
    lines += wrong
    lines += _identity(sealing, job, metadata, found.name) if metadata else []
    file = File(
        name=found.name,
        path=f"{job.variant.name}/{found.name}",
        size=found.size,
        sha256=found.sha256,
        kind="wheel",
        job=job.id,
        variant=job.variant.name,
        destinations=tuple(place.name for place in job.destinations),
        receipts=_digests(sealing.receipts, job),
        requires_python=metadata.requires_python if metadata else "",
    )
    return file, lines


def _chain(sealing: Sealing, job: Job, audited: Receipt) -> Iterator[str]:
    """Follow the audited wheel back to its build, and hold both receipts fresh and made by what was declared."""
    built = sealing.receipts.read(job.id, "build")
    if built is None or not built.passed:
        yield "there is no green build receipt" if built is None else f"its build is red: {built.reason}"
    elif built.wheel != audited.source:
        yield "its audit receipt is stale: another wheel was built since"
    for receipt in (built, audited):
        if receipt is not None:
            yield from _freshness(sealing, receipt, "")
            yield from (f"{receipt.stage}: {line}" for line in contradictions(receipt, job.image))
    if built is not None:
        yield from _origin(sealing, built)
    stand_ins = [receipt for receipt in (built, audited) if receipt is not None and not receipt.publishable]
    if stand_ins:
        yield f"a stand-in for the image {job.image.name} has built it: such a wheel is never published"


def _origin(sealing: Sealing, built: Receipt) -> Iterator[str]:
    """Hold the source that a wheel was built from against the tag's commit, where it was built from git."""
    source = built.facts.get("source")
    commit = source.get("commit") if isinstance(source, Mapping) else None
    is_elsewhere = isinstance(source, Mapping) and "git" in source  # the tag is on the pipeline's own repository then
    if not isinstance(source, Mapping) or commit is None or not sealing.commit or is_elsewhere:
        return
    if commit != sealing.commit:
        yield f"its build is stale: it was built from commit {commit}, and {sealing.tag} is {sealing.commit}"
    elif source.get("changed"):
        yield f"it was built from a work tree that differed from commit {commit}"


def _smokes(sealing: Sealing, job: Job, wheel: Artifact) -> Iterator[str]:
    for image in job.smoke_images:
        smoked = sealing.receipts.read(job.id, "smoke", image.name)
        where = f"smoke in {image.name}"
        if smoked is None:
            yield f"{where}: there is no receipt: run the smoke session"
        elif not smoked.passed:
            yield f"{where}: it is red: {smoked.reason}"
        elif smoked.wheel != wheel:
            other = smoked.wheel.sha256 if smoked.wheel else "none"
            yield f"{where}: its receipt is stale, for sha256 {other}, and the wheel has {wheel.sha256}"
        else:
            yield from _freshness(sealing, smoked, image.name)
            yield from (f"{where}: {line}" for line in contradictions(smoked, image))
            if not smoked.publishable:
                yield f"{where}: a stand-in for the image has tested it, which proves nothing"
    yield from _unused(sealing, job)


def _unused(sealing: Sealing, job: Job) -> Iterator[str]:
    """Refuse a wheel at which loaders alone have looked: where no image has a Python, nobody has imported it."""
    seen = [sealing.receipts.read(job.id, "smoke", image.name) for image in job.smoke_images]
    if seen and all(receipt is not None and receipt.passed and not receipt.facts.get("python") for receipt in seen):
        names = ", ".join(image.name for image in job.smoke_images)
        yield f"nobody has imported it: no smoke image ({names}) has a Python, so the loader alone has looked at it"


def _freshness(sealing: Sealing, receipt: Receipt, image: str) -> Iterator[str]:
    if sealing.inputs is None or not receipt.passed:
        return
    if receipt.inputs != sealing.inputs.get((receipt.job, receipt.stage, image)):
        stage = f"{receipt.stage} in {image}" if image else receipt.stage
        yield f"{stage}: its receipt is stale, since source, release.toml, image or tools have changed: run it again"


def _metadata(path: Path) -> tuple[Metadata | None, list[str]]:
    try:
        with Archive.open(path) as archive:
            found = read_dist_info(archive, parse_wheel_name(path.name)).metadata
    except ArchiveError as error:
        return None, [str(error)]
    return found, [] if found else [f"{path.name} has no METADATA"]


def _identity(sealing: Sealing, job: Job, metadata: Metadata, filename: str) -> Iterator[str]:
    """Hold the version and the name inside the wheel against the tag and the project."""
    expected = sealing.version
    if job.variant.local_version:
        expected = f"{expected.partition('+')[0]}+{job.variant.local_version}"
    try:
        same = Version(metadata.version) == Version(expected)
    except InvalidVersion:
        same = False
    if not same:
        yield f"METADATA of {filename} has version {metadata.version}, and {sealing.tag} stands for {expected}"
    if canonicalize_name(metadata.name) != canonicalize_name(sealing.name):
        yield f"METADATA of {filename} names {metadata.name}, and the project is {sealing.name}"


def _clashes(files: Sequence[File]) -> Iterator[str]:
    owners: dict[tuple[str, str], str] = {}
    for file in files:
        for place in file.destinations:
            owner = owners.setdefault((place, file.name), file.job)
            if owner != file.job:
                yield f"job {file.job}: {file.name} goes to {place}, and so does that of job {owner}"


def _digests(receipts: Receipts, job: Job) -> dict[str, str]:
    named = {"build": receipts.path(job.id, "build"), "audit": receipts.path(job.id, "audit")}
    named |= {f"smoke.{image.name}": receipts.path(job.id, "smoke", image.name) for image in job.smoke_images}
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in named.items() if path.is_file()}


def images(sealing: Sealing) -> dict[str, str]:
    """Give the digest of each image as the receipts of its jobs have it, or the engine where there is no container."""
    found: dict[str, str] = {}
    for job in sealing.published:
        keys = [("build", ""), *(("smoke", image.name) for image in job.smoke_images)]
        for receipt in filter(None, (sealing.receipts.read(job.id, stage, image) for stage, image in keys)):
            found[receipt.image] = str(receipt.facts.get("image") or receipt.facts.get("toolchain") or receipt.engine)
    return dict(sorted(found.items()))


def toolchains(sealing: Sealing) -> dict[str, str]:
    """Give the version of each toolchain that built a wheel, as the build receipts tell it: "zig 0.16.0"."""
    built = (sealing.receipts.read(job.id, "build") for job in sealing.published)
    told = {str(receipt.facts.get("toolchain") or "").partition(" ") for receipt in built if receipt is not None}
    return {name: version for name, _, version in sorted(told) if name}
