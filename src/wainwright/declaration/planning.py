"""From a release to its jobs: one wheel to be for each variant, target, Python and architecture. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any

from wainwright.auditing.terms import Terms
from wainwright.declaration.release import HOST, Destination, Image, Libraries, Release, Variant
from wainwright.errors import Exit, WainwrightError
from wainwright.values import Glibc, Python


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One wheel to be, with all that its stages need to know."""

    id: str
    variant: Variant
    glibc: Glibc
    python: Python
    arch: str
    image: Image
    smoke_images: tuple[Image, ...]
    env: Mapping[str, str]
    terms: Terms
    destinations: tuple[Destination, ...]

    def filename(self, name: str, version: str | None = None) -> str:
        """Give the name that the audited wheel will have, `*` for what only the build can tell.

        `demo-1.0+llvm-cp310-*-manylinux2014_x86_64.manylinux_2_17_x86_64.whl`; a variant's local version stands in for
        one that the version already has.
        """
        distribution = re.sub(r"[-_.]+", "_", name).lower()
        full = version or "*"
        if self.variant.local_version:
            full = f"{full.partition('+')[0]}+{self.variant.local_version}"
        interpreter = self.python.tag.removesuffix("t")
        abi = self.python.tag if self.python.threaded else "*"
        return f"{distribution}-{full}-{interpreter}-{abi}-{'.'.join(self.glibc.platforms(self.arch))}.whl"


def plan(release: Release, *, python: Python, arch: str) -> tuple[Job, ...]:
    """Expand a release: variants as in the file, then glibc, Python and architecture in ascending order.

    `python` and `arch` are those of the pipeline, for variants that name none.
    """
    return tuple(
        _job(release, variant, glibc, version, machine)
        for variant in release.variants.values()
        for glibc in sorted(variant.glibc)
        for version in sorted(variant.python or release.project.python or (python,))
        for machine in sorted(variant.arch or (arch,))
    )


def for_nightly(jobs: Iterable[Job]) -> tuple[Job, ...]:
    """Give the jobs of a nightly with those destinations that take one; a job that loses all of its own is left out."""
    kept = ((job, tuple(place for place in job.destinations if place.nightly)) for job in jobs)
    return tuple(replace(job, destinations=places) for job, places in kept if places or not job.destinations)


def select(
    jobs: Iterable[Job], *, only: str | None, variant: str | None = None, glibc: Glibc | None = None
) -> tuple[Job, ...]:
    """Give the jobs of a variant and a target whose ids match `only`, a shell pattern such as `llvm-*`.

    Raises WainwrightError when `only` matches no job of the plan at all; that it matches none of this variant or target
    is no mistake, since every session that runs along gets the same options.
    """
    jobs = tuple(jobs)
    if only is not None and not any(fnmatchcase(job.id, only) for job in jobs):
        names = [job.id for job in jobs]
        hint = f"--only '{only}-*'" if any(name.startswith(f"{only}-") for name in names) else ", ".join(names[:8])
        raise WainwrightError(
            f"no job's id matches {only!r}",
            code=Exit.NOTHING_SELECTED,
            where="--only",
            hint=f"try {hint}" if hint.startswith("--") else f"the jobs are {hint}{', …' if len(names) > 8 else ''}",
        )
    return tuple(
        job
        for job in jobs
        if (only is None or fnmatchcase(job.id, only))
        and (variant is None or job.variant.name == variant)
        and (glibc is None or job.glibc == glibc)
    )


def _job(release: Release, variant: Variant, glibc: Glibc, python: Python, arch: str) -> Job:
    image = image_of(release, variant, glibc)
    return Job(
        id=f"{variant.name}-{glibc.slug}-{python.tag}-{arch}",
        variant=variant,
        glibc=glibc,
        python=python,
        arch=arch,
        image=release.images[image],
        smoke_images=tuple(release.images[name] for name in smoke_of(release, variant, glibc)),
        env=environment_of(release, variant),
        terms=terms_of(release, variant),
        destinations=tuple(release.publish[name] for name in variant.publish),
    )


def image_of(release: Release, variant: Variant, glibc: Glibc) -> str:
    """Name the image that builds a variant for a floor: its own, else the target's."""
    return variant.image or release.targets[glibc].image


def smoke_of(release: Release, variant: Variant, glibc: Glibc) -> tuple[str, ...]:
    """Name the images in which a variant's wheels must prove themselves: its own, else the target's, else this host."""
    if variant.smoke.images:
        return variant.smoke.images
    target = release.targets.get(glibc)
    return target.smoke if target else (HOST,)


def environment_of(release: Release, variant: Variant) -> Mapping[str, str]:
    """Give the variables of a variant's builds.

    What several backends say about one variable is joined by a space, in the order in which the backends are declared;
    `build.env` replaces it.
    """
    joined: dict[str, str] = {}
    for backend in release.backends.values():
        settings = backend.on if backend.name in variant.backends else backend.off
        for key, value in settings.env.items():
            joined[key] = f"{joined[key]} {value}" if key in joined else value
    return MappingProxyType(joined | dict(variant.build.env))


def libraries_of(release: Release, variant: Variant) -> Libraries:
    """Give the libraries of a variant's backends and its own, each entry once; the variant's word comes first."""
    own = (variant.libraries, *(release.backends[name].libraries for name in variant.backends))
    merged: dict[str, tuple[Any, ...]] = {}
    for each in fields(Libraries):
        first: dict[str, Any] = {}
        for entry in (entry for libraries in own for entry in getattr(libraries, each.name)):
            first.setdefault((entry[0] if isinstance(entry, tuple) else entry).text, entry)
        merged[each.name] = tuple(first.values())
    return Libraries(**merged)


def terms_of(release: Release, variant: Variant) -> Terms:
    """Give what a variant and its backends add to the policy in an audit."""
    libraries = libraries_of(release, variant)
    return Terms(
        variant=variant.name,
        exclude=libraries.exclude,
        exclude_optional=libraries.exclude_optional,
        bundle=libraries.bundle,
        keep_name=libraries.keep_name,
        forbid=libraries.forbid,
        provided_by=libraries.provided_by,
        isa=variant.audit.isa,
        allow=variant.audit.allow,
        deny=variant.audit.deny,
        licences=variant.audit.licences,
        require=variant.wheel.require,
        forbid_members=variant.wheel.forbid,
        max_size=variant.wheel.max_size,
    )
