"""The report of a release, from its receipts, manifest and journal: what was made, proven and published. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wainwright.counting import counted
from wainwright.declaration.planning import Job
from wainwright.receipts import Artifact, Receipt, Receipts
from wainwright.releasing.journal import Journal
from wainwright.releasing.manifest import Manifest
from wainwright.releasing.notes import human
from wainwright.releasing.publication import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What one receipt says: `outcome` is passed, loads, tried, failed or missing; `notes` are lines for people.

    "tried" is what a stand-in has passed, which proves nothing about the image; "loads" is an image without Python.
    """

    name: str
    image: str
    outcome: str
    seconds: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One job: its wheel, its stages, the libraries that were left out or taken in, and where the wheel is."""

    job: Job
    wheel: str
    size: int | None
    sha256: str
    stages: tuple[Stage, ...]
    libraries: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A release, or what there is of it; `manifest` is None before it is sealed."""

    title: str
    entries: tuple[Entry, ...]
    manifest: Manifest | None = None

    @property
    def proven(self) -> int:
        return sum(all(stage.outcome in {"passed", "loads"} for stage in entry.stages) for entry in self.entries)


def report(
    title: str, jobs: Iterable[Job], receipts: Receipts, *, manifest: Manifest | None, journal: Journal | None
) -> Report:
    entries = tuple(_entry(job, receipts, manifest, journal) for job in jobs)
    return Report(title=title, entries=entries, manifest=manifest)


def _entry(job: Job, receipts: Receipts, manifest: Manifest | None, journal: Journal | None) -> Entry:
    keys = [("build", ""), ("audit", ""), *(("smoke", image.name) for image in job.smoke_images)]
    found = {key: receipts.read(job.id, *key) for key in keys}
    audited = found["audit", ""]
    wheel = audited.wheel if audited else None
    return Entry(
        job=job,
        wheel=wheel.name if wheel else "",
        size=wheel.size if wheel else None,
        sha256=wheel.sha256 if wheel else "",
        stages=tuple(_stage(stage, image, receipt) for (stage, image), receipt in found.items()),
        libraries=tuple(_libraries(job, audited)),
        places=tuple(_places(job, wheel, manifest, journal)),
    )


def _stage(stage: str, image: str, receipt: Receipt | None) -> Stage:
    if receipt is None:
        return Stage(name=stage, image=image, outcome="missing")
    if not receipt.passed:
        error = receipt.error.splitlines()
        return Stage(
            name=stage, image=receipt.image, outcome="failed", seconds=receipt.seconds, notes=tuple(error[:20])
        )
    notes = [] if receipt.publishable else ["a stand-in for the image: never published"]
    facts = receipt.facts
    notes += [f"{key} {facts[key]}" for key in ("image", "toolchain", "libc", "python", "os") if facts.get(key)]
    verdict = _mapping(facts.get("verdict"))
    measured = _mapping(verdict.get("measured"))
    if measured.get("tag"):
        notes.append(f"measured {measured['tag']}")
    notes += [f"warning {each.get('rule')}: {each.get('message')}" for each in _tables(verdict.get("warnings"))]
    loads = stage == "smoke" and facts.get("python") is None
    outcome = "tried" if not receipt.publishable else "loads" if loads else "passed"
    return Stage(name=stage, image=receipt.image, outcome=outcome, seconds=receipt.seconds, notes=tuple(notes))


def _libraries(job: Job, audited: Receipt | None) -> Iterable[str]:
    """Say each outside library's fate, with the reason that release.toml gives for it."""
    reasons = {
        pattern.text: pattern.reason
        for patterns in (job.terms.exclude, job.terms.exclude_optional, job.terms.bundle, job.terms.forbid)
        for pattern in patterns
        if pattern.reason
    }
    facts = audited.facts if audited else {}
    fates = _mapping(_mapping(facts.get("verdict")).get("libraries"))
    for fate in ("inside", "excluded", "missing"):
        for each in _list(fates.get(fate)):
            name = str(each.get("name") or each.get("soname") or each) if isinstance(each, Mapping) else str(each)
            reason = reasons.get(name)
            yield f"{fate}: {name}{f' ({reason})' if reason else ''}"


def _places(job: Job, wheel: Artifact | None, manifest: Manifest | None, journal: Journal | None) -> Iterable[str]:
    """Say where this very wheel is, as far as the journal knows: what lies in a draft is not published."""
    kinds = {place.name: place.kind for place in job.destinations}
    for file in manifest.wheels if manifest else ():
        if file.job != job.id or wheel is None or file.sha256 != wheel.sha256:
            continue
        for place in file.destinations:
            noted = _mapping(journal.entries.get(place, {}).get(file.name)) if journal else {}
            known = noted if noted.get("sha256") == file.sha256 else {}
            half = State.DRAFT if kinds.get(place) == "github" else State.SENT
            events = (("verified", State.PUBLIC), ("uploaded", half), ("found", half))
            told = next((f"{state.value}, {known[event]}" for event, state in events if event in known), "not yet")
            yield f"{place}: {told}"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _tables(value: Any) -> Sequence[Mapping[str, Any]]:
    return [each for each in _list(value) if isinstance(each, Mapping)]


def markdown(made: Report) -> str:
    """Give the summary, short enough for a pull request or a job's page."""
    lines = [f"# {made.title}", "", *_heading(made), ""]
    lines += ["| job | wheel | size | build | audit | smoke | published |", "| " + " | ".join(["---"] * 7) + " |"]
    for entry in made.entries:
        by = {name: [stage for stage in entry.stages if stage.name == name] for name in ("build", "audit", "smoke")}
        cells = [entry.job.id, f"`{entry.wheel}`" if entry.wheel else "-"]
        cells.append(human(entry.size) if entry.size is not None else "-")
        cells += [", ".join(_short(stage) for stage in stages) or "-" for stages in by.values()]
        cells.append(", ".join(entry.places) or "-")
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    for entry in made.entries:
        lines += [f"\n`{entry.wheel}`\nsha256 `{entry.sha256}`"] if entry.wheel else []
    return "\n".join(lines) + "\n"


def _short(stage: Stage) -> str:
    outcome = "tried on a stand-in" if stage.outcome == "tried" else stage.outcome
    return f"{stage.image} {outcome}" if stage.name == "smoke" else outcome


def _heading(made: Report) -> list[str]:
    lines = [f"{made.proven} of {counted(len(made.entries), 'job')} proven."]
    if made.manifest is not None:
        commit = f" at commit `{made.manifest.commit}`" if made.manifest.commit else ""
        lines.append(f"Sealed {made.manifest.sealed}{commit}: {counted(len(made.manifest.files), 'file')}.")
        lines.append("Tools: " + ", ".join(f"{name} {version}" for name, version in made.manifest.tools.items()) + ".")
    else:
        lines.append("Nothing is sealed yet.")
    return lines


def heading(made: Report) -> tuple[str, ...]:
    return tuple(_heading(made))
