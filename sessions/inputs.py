"""What each stage's result depends on: the stage skips what was made of the same, and publish takes nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from wainwright import __version__
from wainwright.declaration.planning import Job
from wainwright.declaration.release import Image
from wainwright.receipts import Receipt, digest_of
from wainwright.running.standing import Standing
from wainwright.running.toolchain import ZIG_VERSION
from wainwright.sessions.pipeline import Pipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a stage worked: by which engine, in an image of which digest (none on the host), with zig or without."""

    engine: str
    digest: str
    zig: bool = False

    @classmethod
    def of(cls, standing: Standing) -> Place:
        return cls(engine=standing.engine, digest=standing.digest, zig=standing.toolchain is not None)

    @classmethod
    def told_by(cls, receipt: Receipt) -> Place:
        """Take the engine and the image's bytes as a receipt has them: they need not be on this machine."""
        facts = receipt.facts
        return cls(engine=receipt.engine, digest=str(facts.get("image") or ""), zig=bool(facts.get("toolchain")))


def digest(inputs: Mapping[str, Any]) -> str:
    """Give the digest by which a receipt says what it was made of."""
    return digest_of({"wainwright": __version__, **inputs})


def of_build(pipeline: Pipeline, job: Job, place: Place) -> Mapping[str, Any]:
    return {
        "stage": "build",
        "source": pipeline.source.digest,
        "tag": pipeline.version,
        "build": job.variant.build,
        "image": {"name": job.image.name, "engine": place.engine, "digest": place.digest, "env": job.image.env},
        "zig": ZIG_VERSION if place.zig else None,
        "env": job.env,
        "python": (job.python, job.image.python.get(job.python)),
        "glibc": job.glibc,
        "arch": job.arch,
        "keeps-tag": job.variant.audit.mode == "check",
    }


def of_audit(job: Job, built: Receipt) -> Mapping[str, Any]:
    return {
        "stage": "audit",
        "wheel": built.wheel,
        "build": built.inputs,
        "terms": job.terms,
        "mode": job.variant.audit.mode,
        "local-version": job.variant.local_version,
        "glibc": job.glibc,
        "auditwheel": version("auditwheel"),
    }


def of_smoke(job: Job, audited: Receipt, image: Image, place: Place) -> Mapping[str, Any]:
    return {
        "stage": "smoke",
        "audit": audited.inputs,
        "wheel": audited.wheel,
        "smoke": job.variant.smoke,
        "backends": job.variant.backends,
        "image": {"name": image.name, "engine": place.engine, "digest": place.digest, "env": image.env},
        "python": (job.python, image.python.get(job.python)),
    }


def expected(pipeline: Pipeline) -> Mapping[tuple[str, str, str], str]:
    """Give, by (job, stage, image), the digest that each receipt at hand must have, as source and release.toml are now.

    An image is taken to be the one that the receipt names: that it still is there is for the stages to see.
    """
    return {key: digest(inputs) for job in pipeline.plan if job.destinations for key, inputs in _of(pipeline, job)}


def _of(pipeline: Pipeline, job: Job) -> Iterator[tuple[tuple[str, str, str], Mapping[str, Any]]]:
    built, audited = (pipeline.receipts.read(job.id, stage) for stage in ("build", "audit"))
    if built is None:
        return
    yield (job.id, "build", ""), of_build(pipeline, job, Place.told_by(built))
    if audited is None:
        return
    yield (job.id, "audit", ""), of_audit(job, built)
    for image in job.smoke_images:
        smoked = pipeline.receipts.read(job.id, "smoke", image.name)
        if smoked is not None:
            yield (job.id, "smoke", image.name), of_smoke(job, audited, image, Place.told_by(smoked))
