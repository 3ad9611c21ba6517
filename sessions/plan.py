"""plan: every job that release.toml expands to, and which user gets which wheel; nothing is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wainwright.counting import counted
from wainwright.declaration.cautions import cautions
from wainwright.declaration.choosing import answer
from wainwright.declaration.planning import Job
from wainwright.sessions.graph import Selection
from wainwright.sessions.pipeline import Pipeline, tell
from wainwright.sourcing.sources import identify
from wainwright.values import Glibc


def run(pipeline: Pipeline, selection: Selection) -> None:
    """Print the plan: for people a block a job, with `--json` one object."""
    name, version = identify(pipeline.release.project.source)
    version = pipeline.version or version
    jobs = pipeline.jobs(selection)
    rows = [_row(job, name or "*", version) for job in jobs]
    who, surprises = (
        answer(jobs, name or "unnamed", version or "0") if any(job.destinations for job in jobs) else ((), ())
    )
    warnings = (*cautions(jobs, here=Glibc.of_running()), *surprises)
    if pipeline.options.json:
        tell({"version": 1, "jobs": rows, "who-gets-which": list(who), "warnings": list(warnings)})
        return
    for row in rows:
        print(row["id"])
        for key in ("image", "wheel", "backends", "smoke", "destinations"):
            value = row[key]
            print(f"  {key:<13}{value if isinstance(value, str) else ', '.join(value) or '-'}")
    print(counted(len(rows), "job"))
    for title, lines in (("who gets which wheel", who), ("warnings", warnings)):
        if lines:
            print(f"\n{title}:", *(f"  {line}" for line in lines), sep="\n")


def _row(job: Job, name: str, version: str | None) -> Mapping[str, Any]:
    return {
        "id": job.id,
        "variant": job.variant.name,
        "glibc": str(job.glibc),
        "python": str(job.python),
        "arch": job.arch,
        "image": job.image.name,
        "wheel": job.filename(name, version),
        "backends": list(job.variant.backends),
        "smoke": [image.name for image in job.smoke_images],
        "destinations": [destination.name for destination in job.destinations],
    }
