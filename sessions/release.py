"""release: all of it. Preflight, build, audit, smoke, publish and report come before; this says that it is done."""

from __future__ import annotations

from wainwright.counting import counted
from wainwright.declaration.release import Directory
from wainwright.releasing.gitstate import Tree
from wainwright.releasing.manifest import Manifest, read
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
    places = sorted({place for file in manifest.wheels for place in file.destinations})
    left = [place for place in places if not is_chosen(pipeline, place)]
    wheels = {place: sum(place in file.destinations for file in manifest.wheels) for place in places}
    done = ", ".join(f"{counted(wheels[place], 'wheel')} at {place}" for place in places if place not in left)
    if left:
        say(f"release: {tag}: {done}; left out this time: {', '.join(left)}")
    else:
        say(f"release: {tag} is complete: {done}")
    _tell_of_head(pipeline, manifest)


def _tell_of_head(pipeline: Pipeline, manifest: Manifest) -> None:
    """Say that a nightly, which a day has one of, is of an earlier commit than the one that is checked out."""
    source = pipeline.release.project.source
    if pipeline.is_nightly and isinstance(source, Directory):
        head = Tree(folder=source.path, run=pipeline.run).head()
        if head not in {None, manifest.commit}:
            say(
                f"release: it is of commit {manifest.commit}, and HEAD, {head}, is not in it: "
                "the next nightly is tomorrow's"
            )
