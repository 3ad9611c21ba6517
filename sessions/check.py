"""check: the whole of release.toml, offline. Loading it finds every mistake; here it is said to be right."""

from __future__ import annotations

from wainwright.counting import counted
from wainwright.sessions.graph import Selection
from wainwright.sessions.pipeline import Pipeline, say, tell


def run(pipeline: Pipeline, selection: Selection) -> None:
    """Say what release.toml declares, once it has been found right."""
    release = pipeline.release
    jobs = len(pipeline.jobs(selection))
    if pipeline.options.json:
        tell({"version": 1, "right": True, "variants": list(release.variants), "jobs": jobs})
    counts = (len(release.variants), "variant"), (len(release.targets), "target"), (jobs, "job")
    say(f"{release.path.name} is right: {', '.join(counted(*count) for count in counts)}")
