"""check: the whole of release.toml, offline. Loading it finds every mistake; here it is said to be right."""

from __future__ import annotations

from wainwright.sessions.graph import Selection
from wainwright.sessions.pipeline import Pipeline, say, tell


def run(pipeline: Pipeline, selection: Selection) -> None:
    """Say what release.toml declares, once it has been found right."""
    release = pipeline.release
    jobs = len(pipeline.jobs(selection))
    if pipeline.options.json:
        tell({"version": 1, "right": True, "variants": list(release.variants), "jobs": jobs})
    say(f"{release.path.name} is right: {len(release.variants)} variants, {len(release.targets)} targets, {jobs} jobs")
