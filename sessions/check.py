"""check: the whole of release.toml, offline. Loading it finds every mistake; here is told what is right and weak."""

from __future__ import annotations

from wainwright.counting import counted
from wainwright.declaration.cautions import cautions
from wainwright.sessions.graph import Selection
from wainwright.sessions.pipeline import Pipeline, say, tell
from wainwright.values import Glibc


def run(pipeline: Pipeline, selection: Selection) -> None:
    """Say what release.toml declares, once it has been found right, and warn of what proves less than it seems to."""
    release = pipeline.release
    jobs = pipeline.jobs(selection)
    warnings = cautions(jobs, here=Glibc.of_running())
    if pipeline.options.json:
        variants = list(release.variants)
        tell({"version": 1, "right": True, "variants": variants, "jobs": len(jobs), "warnings": list(warnings)})
    for line in warnings:
        say(f"warning: {line}")
    counts = (len(release.variants), "variant"), (len(release.targets), "target"), (len(jobs), "job")
    say(f"{release.path.name} is right: {', '.join(counted(*count) for count in counts)}")
