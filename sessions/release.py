"""release: all of it. Preflight, build, audit, smoke, publish and report come before; this says that it is done."""

from __future__ import annotations

from wainwright.counting import counted
from wainwright.releasing.manifest import read
from wainwright.sessions.graph import Selection
from wainwright.sessions.pipeline import Pipeline, say
from wainwright.sessions.releasing import is_chosen


def run(pipeline: Pipeline, _: Selection) -> None:
    """Say what was released, or what would be."""
    tag = pipeline.tag or ""
    manifest = read(pipeline.wheelhouse, tag)
    if pipeline.options.dry_run or manifest is None:
        say(f"release: {tag} was only looked at: nothing was written")
        return
    places = sorted({place for file in manifest.files for place in file.destinations})
    done = [place for place in places if is_chosen(pipeline, place)]
    left = [place for place in places if place not in done]
    say(f"release: {tag} is complete: {counted(len(manifest.wheels), 'wheel')} for {', '.join(done)}")
    if left:
        say(f"release: left out this time: {', '.join(left)}")
