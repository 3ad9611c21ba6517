"""The report as one HTML page that needs nothing else: no script, no style sheet, no picture. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from wainwright.releasing.notes import human
from wainwright.releasing.reporting import Entry, Report, Stage, heading

STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1b1b1b }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem }
th, td { border-bottom: 1px solid #ddd; padding: .3rem .6rem; text-align: left; vertical-align: top }
code { font-size: 13px; overflow-wrap: anywhere }
.passed { color: #14692e } .failed { color: #a11; font-weight: 600 } .missing { color: #85600a }
section { border-top: 2px solid #1b1b1b; padding-top: .5rem }
"""


def page(made: Report) -> str:
    """Give the whole page."""
    parts = [
        "<!DOCTYPE html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(made.title)}</title>',
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>',
        f"<h1>{escape(made.title)}</h1>",
        *(f"<p>{escape(line)}</p>" for line in heading(made)),
        *(_section(entry) for entry in made.entries),
    ]
    if made.manifest is not None and made.manifest.images:
        rows = [[escape(name), f"<code>{escape(digest)}</code>"] for name, digest in made.manifest.images.items()]
        parts.append(f"<section><h2>Images</h2>{_table(['image', 'digest'], rows)}</section>")
    return "\n".join([*parts, "</body></html>", ""])


def _section(entry: Entry) -> str:
    job = entry.job
    facts = [
        ["wheel", f"<code>{escape(entry.wheel or 'none yet')}</code>"],
        ["backends", escape(", ".join(job.variant.backends))],
        ["for", escape(f"Python {job.python}, glibc {job.glibc} or later, {job.arch}")],
    ]
    if entry.size is not None:
        facts.append(["size", f"{human(entry.size)} ({entry.size} bytes)"])
        facts.append(["sha256", f"<code>{entry.sha256}</code>"])
    if entry.libraries:
        facts.append(["libraries", _lines(entry.libraries)])
    if entry.places:
        facts.append(["published", _lines(entry.places)])
    stages = _table(["stage", "image", "outcome", "time", "what was seen"], [_row(stage) for stage in entry.stages])
    return f'<section id="{escape(job.id)}"><h2>{escape(job.id)}</h2>{_table([], facts)}{stages}</section>'


def _row(stage: Stage) -> list[str]:
    took = f"{stage.seconds:.1f} s" if stage.seconds is not None else ""
    outcome = f'<span class="{stage.outcome}">{stage.outcome}</span>'
    return [escape(stage.name), escape(stage.image), outcome, took, _lines(stage.notes)]


def _lines(lines: Iterable[str]) -> str:
    return "<br>".join(escape(line) for line in lines)


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    top = f"<tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>" if head else ""
    return f"<table>{top}{''.join(f'<tr>{_cells(row)}</tr>' for row in rows)}</table>"


def _cells(row: list[str]) -> str:
    return "".join(f"<td>{cell}</td>" for cell in row)
