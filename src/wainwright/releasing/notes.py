"""A release's notes: its section of the changelog, or what the host makes of the commits, and a table of its wheels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from wainwright.counting import counted
from wainwright.declaration.planning import Job
from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.patience import Gone, Unprocessable
from wainwright.releasing.manifest import File, Manifest

NAMES: Final = ("CHANGELOG.md", "CHANGES.md", "HISTORY.md", "NEWS.md", "CHANGELOG.rst", "CHANGES.rst", "HISTORY.rst")
UNRELEASED: Final = "Unreleased"  # the heading of what a nightly has
CHECK: Final = "`sha256sum --check --ignore-missing SHA256SUMS` checks the downloaded ones."
SPARE: Final = 500  # characters that are kept for the wheels at their shortest
MOST: Final = 125_000 - 200  # characters: what GitHub takes, less the mark that a draft carries
_UNDERLINE: Final = re.compile(r"([=\-~^\"'*+#])\1{2,}\s*")


def said_of(root: Path, heading: str, *, generated: Callable[[], str]) -> str:
    """Give what is said of a release: its section of the changelog, else what the host has `generated`.

    Raises WainwrightError (REFUSED) for a changelog that is no text, for a host that has nothing to say where the
    changelog has no such section, and for more than a release page takes.
    """
    found = changelog(root)
    name, text = found or (NAMES[0], "")
    hint = f"write a section `## {heading}` in {name}"
    said = section(text, heading)
    if said is None:
        try:
            said = generated()
        except (Gone, Unprocessable) as error:
            what = f"{name} has no section for {heading}" if found else "there is no changelog"
            raise WainwrightError(
                f"{what}, and the host writes no notes",
                code=Exit.REFUSED,
                where=error.where,
                details=(error.what,),
                hint=hint,
            ) from error
    else:
        hint = f"shorten its section in {name}"
    if len(said) > MOST - SPARE:
        what = f"what is said of {heading} has {len(said)} characters, and a release page takes {MOST - SPARE}"
        raise WainwrightError(what, code=Exit.REFUSED, where=str(root / name), hint=hint)
    return said


def changelog(root: Path) -> tuple[str, str] | None:
    """Give a project's changelog by its name and text, None if it has none."""
    for name in NAMES:
        if (root / name).is_file():
            try:
                return name, (root / name).read_text(encoding="utf-8-sig")
            except UnicodeDecodeError as error:
                raise WainwrightError(
                    f"this is not UTF-8: {error.reason} at byte {error.start}",
                    code=Exit.REFUSED,
                    where=str(root / name),
                    hint=f"save it as UTF-8: iconv -f latin1 -t utf-8 {name}",
                ) from error
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


def wheel_table(
    manifest: Manifest, jobs: Iterable[Job], *, destination: str | None = None, digests: bool = True
) -> str:
    """Give the wheels as a Markdown table: who each is for, its size and its digest."""
    known = {job.id: job for job in jobs}
    heads = ["variant", "backends", "glibc", "Python", "machine", "wheel", "size", *(["sha256"] if digests else [])]
    rows = [heads, ["---"] * len(heads)]
    rows += [_row(file, known.get(file.job), digests=digests) for file in _wheels(manifest, destination)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def _wheels(manifest: Manifest, destination: str | None) -> tuple[File, ...]:
    return tuple(file for file in manifest.wheels if destination is None or destination in file.destinations)


def _row(file: File, job: Job | None, *, digests: bool) -> list[str]:
    who = ["", "", "", ""]
    if job is not None:
        who = [", ".join(job.variant.backends), f"{job.glibc} or later", str(job.python), job.arch]
    return [file.variant, *who, f"`{file.name}`", human(file.size), *([f"`{file.sha256}`"] if digests else [])]


def human(size: int) -> str:
    """Give a size in bytes as people read it: `12.3 MB`."""
    number = float(size)
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def compose(said: str | None, manifest: Manifest, jobs: Iterable[Job], *, destination: str) -> str:
    """Put a release's notes together: what was said of it, then its wheels, then how to check them.

    Where a release page would not take the whole table, it goes without the digests, or is left to SHA256SUMS.
    """
    jobs = tuple(jobs)
    whole = wheel_table(manifest, jobs, destination=destination)
    short = wheel_table(manifest, jobs, destination=destination, digests=False)
    count = counted(len(_wheels(manifest, destination)), "wheel")
    tables = (whole, f"{short}\nThe digests are in SHA256SUMS.", f"{count}: SHA256SUMS and manifest.json list them.")
    for table in tables:
        parts = [said.strip()] if said else []
        parts += [f"## Wheels\n\n{table.rstrip()}", CHECK]
        notes = "\n\n".join(parts) + "\n"
        if len(notes) <= MOST:
            break
    return notes
