"""A release's notes: its section of the changelog, and a table of its wheels. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from wainwright.declaration.planning import Job
from wainwright.releasing.manifest import File, Manifest

NAMES: Final = ("CHANGELOG.md", "CHANGES.md", "HISTORY.md", "NEWS.md", "CHANGELOG.rst", "CHANGES.rst", "HISTORY.rst")
_UNDERLINE: Final = re.compile(r"([=\-~^\"'*+#])\1{2,}\s*")


def changelog(root: Path) -> str | None:
    """Read a project's changelog, None if it has none."""
    for name in NAMES:
        if (root / name).is_file():
            return (root / name).read_text(encoding="utf-8")
    return None


def section(text: str, version: str) -> str | None:
    """Give what a changelog says of a version, without its heading; None when it says nothing of it.

    A heading is `## [1.0] - 2026-01-02`, `# v1.0` or a line that is underlined; a section ends where the next heading
    of its level or a higher one begins.
    """
    lines = text.splitlines()
    headings = list(_headings(lines))
    for number, (start, body, level) in enumerate(headings):
        if not _names(lines[start], version):
            continue
        ends = (begin for begin, _, other in headings[number + 1 :] if other <= level)
        found = "\n".join(lines[body : next(ends, len(lines))]).strip()
        return _without_links(found) or None
    return None


def _headings(lines: Sequence[str]) -> Iterable[tuple[int, int, int]]:
    """Give each heading's line, the line behind it, and its level; what is fenced is code."""
    fenced, underlines = False, ""
    for number, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced:
            continue
        elif match := re.match(r"(#{1,6})\s", line):
            yield number, number + 1, len(match[1])
        elif line.strip() and number + 1 < len(lines) and _UNDERLINE.fullmatch(lines[number + 1]) and line[0] != "|":
            sign = lines[number + 1][0]
            underlines += "" if sign in underlines else sign
            yield number, number + 2, underlines.index(sign) + 1


def _names(heading: str, version: str) -> bool:
    """Whether a heading is about this very version: 1.0 is neither 1.0.1 nor 11.0 nor 1.0rc1."""
    return re.search(rf"(?<![\w.+-])v?{re.escape(version)}(?![\w+]|[.-]\w)", heading) is not None


def _without_links(text: str) -> str:
    """Leave out the link targets that a changelog has at its very end: `[1.0]: https://…`."""
    lines = text.splitlines()
    while lines and (not lines[-1].strip() or re.match(r"\[[^\]]+\]:\s", lines[-1])):
        lines.pop()
    return "\n".join(lines)


def wheel_table(manifest: Manifest, jobs: Iterable[Job], *, destination: str | None = None) -> str:
    """Give the wheels as a Markdown table: who each is for, its size and its digest."""
    known = {job.id: job for job in jobs}
    wheels = [file for file in manifest.wheels if destination is None or destination in file.destinations]
    head = ["| variant | backends | glibc | Python | machine | wheel | size | sha256 |", "| " + "--- | " * 8]
    return "\n".join([*(line.rstrip() for line in head), *(_row(file, known.get(file.job)) for file in wheels)]) + "\n"


def _row(file: File, job: Job | None) -> str:
    who = ["", "", "", ""]
    if job is not None:
        who = [", ".join(job.variant.backends), f"{job.glibc} or later", str(job.python), job.arch]
    cells = [file.variant, *who, f"`{file.name}`", human(file.size), f"`{file.sha256}`"]
    return f"| {' | '.join(cells)} |"


def human(size: int) -> str:
    """Give a size in bytes as people read it: `12.3 MB`."""
    number = float(size)
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def compose(said: str | None, manifest: Manifest, jobs: Iterable[Job], *, destination: str) -> str:
    """Put a release's notes together: what was said of it, then its wheels, then how to check them."""
    parts = [said.strip()] if said else []
    parts.append("## Wheels\n\n" + wheel_table(manifest, jobs, destination=destination).rstrip())
    parts.append("`sha256sum --check --ignore-missing SHA256SUMS` checks the downloaded ones.")
    return "\n\n".join(parts) + "\n"
