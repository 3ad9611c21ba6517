"""report: one HTML page and one Markdown summary of a release, from its receipts and its manifest."""

from __future__ import annotations

from wainwright.counting import counted
from wainwright.receipts import replace_text
from wainwright.releasing.journal import JOURNAL, Journal
from wainwright.releasing.kept import home, receipts_of
from wainwright.releasing.manifest import read
from wainwright.releasing.reporting import markdown, report
from wainwright.releasing.reportpage import page
from wainwright.sessions.graph import Selection
from wainwright.sessions.pipeline import Pipeline, say, tell, translated
from wainwright.sourcing.sources import identify


def run(pipeline: Pipeline, selection: Selection) -> None:
    """Write `wheelhouse/report.html` and `wheelhouse/report.md`, of what there is; with a tag also what is sealed."""
    tag = pipeline.tag
    name, version = identify(pipeline.release.project.source)
    title = f"{name or pipeline.release.root.name} {pipeline.version or version or ''}".strip()
    with translated():
        manifest = read(pipeline.wheelhouse, tag) if tag else None
        kept = home(pipeline.wheelhouse, tag or "")
        journal = Journal.open(kept / JOURNAL, tag) if tag else None
        receipts = receipts_of(kept) if manifest else pipeline.receipts
        jobs = pipeline.plan if pipeline.options.only in pipeline.release.publish else pipeline.jobs(selection)
        made = report(title, jobs, receipts, manifest=manifest, journal=journal)
        if pipeline.options.dry_run:
            say("report: would write wheelhouse/report.html and report.md")
            return
        pipeline.wheelhouse.mkdir(parents=True, exist_ok=True)
        replace_text(pipeline.wheelhouse / "report.html", page(made))
        replace_text(pipeline.wheelhouse / "report.md", markdown(made))
    if pipeline.options.json:
        tell({"session": "report", "jobs": len(made.entries), "proven": made.proven})
    say(
        f"report: {made.proven} of {counted(len(made.entries), 'job')} proven; see wheelhouse/report.html and report.md"
    )
