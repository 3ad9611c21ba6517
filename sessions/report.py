"""report: one HTML page and one Markdown summary of a release, from its receipts and its manifest."""

from __future__ import annotations

from wainwright.counting import counted
from wainwright.errors import Exit, WainwrightError
from wainwright.receipts import replace_text
from wainwright.releasing.journal import JOURNAL, Journal
from wainwright.releasing.kept import home, receipts_of
from wainwright.releasing.manifest import Manifest, latest, read
from wainwright.releasing.reporting import markdown, report
from wainwright.releasing.reportpage import page
from wainwright.sessions.graph import Selection
from wainwright.sessions.pipeline import Pipeline, say, tell, translated
from wainwright.sourcing.sources import identify


def run(pipeline: Pipeline, selection: Selection) -> None:
    """Write `wheelhouse/report.html` and `wheelhouse/report.md`: of a tag, or else of the wheels at hand."""
    name, said = identify(pipeline.release.project.source)
    with translated():
        manifest = read(pipeline.wheelhouse, pipeline.tag) if pipeline.tag else _seal_at_hand(pipeline)
        version = manifest.version if manifest else pipeline.version or said or ""
        title = f"{name or pipeline.release.root.name} {version}".strip()
        kept = home(pipeline.wheelhouse, manifest.tag if manifest else "")
        if manifest and not kept.is_dir():
            raise WainwrightError(
                f"{manifest.tag} is out at all its destinations, and its receipts were let go since",
                code=Exit.NOTHING_SELECTED,
                hint="without a tag, the report is of the wheels at hand",
            )
        journal = Journal.open(kept / JOURNAL, manifest.tag) if manifest else None
        receipts = receipts_of(kept) if manifest and pipeline.tag else pipeline.receipts
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


def _seal_at_hand(pipeline: Pipeline) -> Manifest | None:
    """Give the last seal, where the wheels at hand are of it."""
    known = latest(pipeline.wheelhouse)
    audited = (pipeline.receipts.read(job.id, "audit") for job in pipeline.plan)
    here = {receipt.wheel.sha256 for receipt in audited if receipt and receipt.wheel}
    return known if known and here & {file.sha256 for file in known.wheels} else None
