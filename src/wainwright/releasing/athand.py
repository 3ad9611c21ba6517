"""The wheels of a version that lie in the wheelhouse before anything is sealed: what a preflight can look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from packaging.version import InvalidVersion, Version

from wainwright.declaration.planning import Job
from wainwright.formats.wheelname import parse_wheel_name
from wainwright.receipts import Receipt, Receipts
from wainwright.releasing.manifest import File


def at_hand(jobs: Iterable[Job], receipts: Receipts, wheelhouse: Path, *, version: str, commit: str) -> Iterator[File]:
    """Give the audited wheels of this version and commit; those of another commit are going to be built again."""
    try:
        wanted = Version(version).public
    except InvalidVersion:
        return
    for job in jobs:
        built, audited = (receipts.read(job.id, stage) for stage in ("build", "audit"))
        path = audited.evidence(wheelhouse / job.variant.name) if audited else None
        if built is None or audited is None or audited.wheel is None or path is None:
            continue
        if Version(parse_wheel_name(path.name).version).public == wanted and _is_of(built, commit):
            yield File(
                name=path.name,
                path=f"{job.variant.name}/{path.name}",
                size=audited.wheel.size,
                sha256=audited.wheel.sha256,
                kind="wheel",
                job=job.id,
                variant=job.variant.name,
                destinations=tuple(place.name for place in job.destinations),
            )


def _is_of(built: Receipt, commit: str) -> bool:
    source = built.facts.get("source")
    if not isinstance(source, Mapping):
        return False
    return "sdist" in source or (source.get("commit") == commit and not source.get("changed"))
