"""compat: every audited wheel against the loader of every image: which of your users does this wheel drop?"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from wainwright.auditing.terms import Outside
from wainwright.declaration.planning import Job
from wainwright.declaration.release import HOST, Image
from wainwright.errors import Exit, WainwrightError
from wainwright.receipts import replace_text
from wainwright.running.collecting import read_libraries, read_scripts
from wainwright.running.entering import enter
from wainwright.running.linkerscripts import followed
from wainwright.running.loading import Unpacked, ask_loader, describe, left_out, refusals, unpack
from wainwright.running.pins import read_lock
from wainwright.running.standing import stand
from wainwright.sessions.build import LIBRARIES
from wainwright.sessions.graph import Selection
from wainwright.sessions.images import named
from wainwright.sessions.pipeline import Pipeline, say, tell
from wainwright.sessions.stage import merged

LOADS: Final = "loads"
REFUSED: Final = "does not"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """An audited wheel, unpacked for the loaders that are asked about it."""

    job: Job
    path: Path
    unpacked: Unpacked
    libraries: tuple[Outside, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One wheel in one image: why it does not load there, if it does not, and what is left to the user's machine."""

    wheel: str
    image: str
    reasons: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        return REFUSED if self.reasons else LOADS


def run(pipeline: Pipeline, selection: Selection) -> None:
    """Ask each image named after `--`, or all of release.toml, about each wheel of the wheelhouse.

    The table is printed, and kept as compat.md and compat.json in the wheelhouse. That a wheel does not load somewhere
    is an answer, not a failure.
    """
    images = named(pipeline.release, pipeline.options.words)
    if not pipeline.options.words:
        images = (*images, pipeline.release.images[HOST])
    with pipeline.swept(), tempfile.TemporaryDirectory(prefix=".tmp-compat-", dir=pipeline.dist) as temporary:
        wheels = _wheels(pipeline, selection, Path(temporary))
        cells: list[Cell] = []
        places: dict[str, Mapping[str, str]] = {}
        failures: list[WainwrightError] = []
        for image in images:
            for arch in sorted({wheel.job.arch for wheel in wheels}):
                try:
                    facts, more = _ask(pipeline, image, arch, [wheel for wheel in wheels if wheel.job.arch == arch])
                except WainwrightError as error:
                    failures.append(error)
                    continue
                places[image.name] = facts
                cells += more
        if cells:  # else nothing was asked, and what was answered before stands
            _keep(pipeline, cells, places)
    if failures:
        raise merged(failures)


def _wheels(pipeline: Pipeline, selection: Selection, folder: Path) -> tuple[Wheel, ...]:
    wheels: list[Wheel] = []
    for job in pipeline.jobs(selection):
        receipt = pipeline.receipts.read(job.id, "audit")
        path = receipt.evidence(pipeline.wheelhouse / job.variant.name) if receipt else None
        if path is None:
            say(f"compat: {job.id} has no audited wheel yet")
            continue
        home = folder / job.id
        home.mkdir()
        known = pipeline.dist / job.id / LIBRARIES
        libraries = read_libraries(known) if known.is_dir() else ()
        if known.is_dir():
            job = replace(job, terms=followed(job.terms, read_scripts(known)))  # noqa: PLW2901
        wheels.append(Wheel(job=job, path=path, unpacked=unpack(path, home), libraries=libraries))
    if not wheels:
        raise WainwrightError(
            "there is no audited wheel to ask about", code=Exit.NOTHING_SELECTED, hint="run the audit session first"
        )
    return tuple(wheels)


def _ask(
    pipeline: Pipeline, image: Image, arch: str, wheels: Sequence[Wheel]
) -> tuple[Mapping[str, str], Sequence[Cell]]:
    """Enter an image once, and ask its loader about each wheel in turn."""
    standing = stand(image, arch=arch, lock=read_lock(pipeline.release.root), run=pipeline.run)
    if standing.stands_in:
        raise WainwrightError(
            f"nothing stands in for the loader of an image: {standing.why}",
            code=Exit.ENGINE,
            where=f"images.{image.name}",
        )
    cells: list[Cell] = []
    with enter(standing, pipeline.dist, pipeline.run, network=False) as place:
        for wheel in wheels:
            log = pipeline.logs / f"{wheel.job.id}.compat.{image.name.replace('/', '_')}.log"
            answers = ask_loader(place, wheel.unpacked, arch=arch, log=log)
            refused = refusals(answers, wheel.unpacked, wheel.job.terms, wheel.libraries)
            cells.append(
                Cell(
                    wheel=f"{wheel.job.variant.name}/{wheel.path.name}",
                    image=image.name,
                    reasons=tuple(map(str, refused)),
                    left_out=left_out(answers, wheel.job.terms, wheel.libraries),
                )
            )
        return describe(place), cells


def _keep(pipeline: Pipeline, cells: Sequence[Cell], places: Mapping[str, Mapping[str, str]]) -> None:
    data = as_json(cells, places)
    pipeline.wheelhouse.mkdir(parents=True, exist_ok=True)
    replace_text(pipeline.wheelhouse / "compat.json", json.dumps(data, indent=2) + "\n")
    replace_text(pipeline.wheelhouse / "compat.md", as_markdown(cells, places))
    if pipeline.options.json:
        tell(data)
    else:
        print(as_text(cells, places))


def as_json(cells: Sequence[Cell], places: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Give the table for machines."""
    return {
        "version": 1,
        "images": {name: dict(facts) for name, facts in places.items()},
        "wheels": [
            {
                "wheel": cell.wheel,
                "image": cell.image,
                "loads": not cell.reasons,
                "reasons": list(cell.reasons),
                "left-to-the-user": list(cell.left_out),
            }
            for cell in cells
        ],
    }


def as_text(cells: Sequence[Cell], places: Mapping[str, Mapping[str, str]]) -> str:
    """Give the table for a terminal: a block a wheel, a line an image, and the loader's words below it."""
    lines: list[str] = []
    for wheel in dict.fromkeys(cell.wheel for cell in cells):
        lines.append(wheel)
        for cell in (cell for cell in cells if cell.wheel == wheel):
            libc = places[cell.image].get("libc", "?")
            lines.append(f"  {cell.image:<24} glibc {libc:<6} {cell.verdict}{_left(cell)}")
            lines += [f"      {reason}" for reason in cell.reasons]
    return "\n".join(lines)


def as_markdown(cells: Sequence[Cell], places: Mapping[str, Mapping[str, str]]) -> str:
    """Give the table for a release page."""
    lines = ["| wheel | image | glibc | libstdc++ | loads | why not |", "| --- | --- | --- | --- | --- | --- |"]
    for cell in cells:
        facts = places[cell.image]
        why = "<br>".join(f"`{reason}`" for reason in cell.reasons) or _left(cell).strip()
        row = (cell.wheel, cell.image, facts.get("libc", ""), facts.get("libstdc++", ""), cell.verdict, why)
        lines.append("| " + " | ".join(text.replace("|", "\\|") for text in row) + " |")
    return "\n".join(lines) + "\n"


def _left(cell: Cell) -> str:
    return f" (left to the user's machine: {', '.join(cell.left_out)})" if cell.left_out else ""
