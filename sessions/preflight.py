"""preflight: whatever would stop the release later, at every destination, said at once and before anything is built."""

from __future__ import annotations

from wainwright.releasing.manifest import Manifest
from wainwright.releasing.sealing import demand_unseen
from wainwright.sessions.graph import Selection
from wainwright.sessions.pipeline import Pipeline, say, tell, translated
from wainwright.sessions.releasing import Subject, check_choice, fly, known_seal, opened, tell_left_out
from wainwright.sessions.resealing import public


def run(pipeline: Pipeline, _: Selection) -> None:
    """Look at git, tokens, limits, names and what is already there; a sealed release is compared by digest."""
    check_choice(pipeline)
    tell_left_out(pipeline, "preflight")
    with translated():
        subject = Subject.of(pipeline)
        manifest: Manifest | None = known_seal(pipeline, subject)
        if pipeline.options.reseal and manifest is not None:
            demand_unseen(manifest, public(pipeline, subject, manifest))
        with opened(pipeline, subject) as hosts:
            fly(pipeline, subject, hosts, files=manifest.files if manifest else (), manifest=manifest)
            places = ", ".join(hosts.declared)
    if pipeline.options.json:
        tell({"session": "preflight", "tag": subject.tag, "destinations": list(hosts.declared), "findings": []})
    say(f"preflight: nothing stands in the way of {subject.tag} at {places}")
