"""diff: what changed since an earlier wheel. Against OLD (and NEW) after `--`, else against what release.toml names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from wainwright.archive import ArchiveError
from wainwright.claims import PLATFORM
from wainwright.diffcli import document
from wainwright.diffing import compare
from wainwright.diffrendering import render_text
from wainwright.errors import Exit, WainwrightError
from wainwright.failing import Condition, judge, parse_conditions
from wainwright.planning import Job
from wainwright.sessions.graph import Selection
from wainwright.sessions.pipeline import Pipeline, say, tell, translated
from wainwright.sessions.stage import merged
from wainwright.wheelfile import WheelName, parse_wheel_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two wheels to compare, and which differences fail them."""

    old: Path
    new: Path
    conditions: tuple[Condition, ...] = ()


def run(pipeline: Pipeline, selection: Selection) -> None:
    """Compare, print each difference, and raise WainwrightError (FELL_SHORT) when a condition of `fail-on` is met."""
    with translated():
        pairs = tuple(_pairs(pipeline, selection))
        shown, failures = [], []
        for pair in pairs:
            if pipeline.options.dry_run:
                say(f"diff: would compare {pair.old} with {pair.new}")
                continue
            difference = compare(pair.old, pair.new)
            met = judge(difference, pair.conditions)
            shown.append(document(difference, met))
            if not pipeline.options.json:
                print(render_text(difference, met))
            failures += [_failure(pair, failure.condition, failure.message) for failure in met]
    if pipeline.options.json and not pipeline.options.dry_run:
        tell({"version": 1, "stage": "diff", "differences": shown})
    if failures:
        raise merged(failures)


def _failure(pair: Pair, condition: str, message: str) -> WainwrightError:
    return WainwrightError(
        f"{condition}: {message}",
        code=Exit.FELL_SHORT,
        where=pair.new.name,
        hint="if this is meant, take the condition out of the variant's diff.fail-on",
    )


def _pairs(pipeline: Pipeline, selection: Selection) -> Iterator[Pair]:
    words = pipeline.options.words
    if len(words) > 2:
        raise WainwrightError(
            f"it compares two wheels, and was given {len(words)}", where="options after --", hint="-- OLD [NEW]"
        )
    audited = tuple(_audited(pipeline, pipeline.jobs(selection)))
    if not words:
        yield from _declared(pipeline, audited)
    elif len(words) == 2:
        old, new = map(Path, words)
        job = next((job for job, wheel in audited if wheel.resolve() == new.resolve()), None)
        yield Pair(old=old, new=new, conditions=_conditions(job) if job else ())
    else:
        for old in wheels_at(Path(words[0])):
            matching = closest(old, [wheel for _, wheel in audited])
            if not matching:
                raise _unmatched(old, [wheel for _, wheel in audited])
            for job, wheel in audited:
                if wheel in matching:
                    yield Pair(old=old, new=wheel, conditions=_conditions(job))


def _audited(pipeline: Pipeline, jobs: Iterable[Job]) -> Iterator[tuple[Job, Path]]:
    """Give the audited wheel of each job that has one, as its receipt proves."""
    for job in jobs:
        receipt = pipeline.receipts.read(job.id, "audit")
        wheel = receipt.evidence(pipeline.wheelhouse / job.variant.name) if receipt else None
        if wheel is not None:
            yield job, wheel


def _conditions(job: Job) -> tuple[Condition, ...]:
    return parse_conditions(job.variant.diff.fail_on) if job.variant.diff else ()


def _declared(pipeline: Pipeline, audited: Iterable[tuple[Job, Path]]) -> Iterator[Pair]:
    """Pair each audited wheel with the newest earlier one that its variant's `against` holds."""
    declared = [(job, wheel, job.variant.diff) for job, wheel in audited if job.variant.diff]
    if not declared:
        raise WainwrightError(
            "there is nothing to compare",
            code=Exit.NOTHING_SELECTED,
            hint="name an earlier wheel after --, or write [variants.NAME.diff] and run the audit session",
        )
    compared: dict[str, bool] = {}
    for job, wheel, diff in declared:
        earlier = wheels_at(pipeline.release.root / diff.against)
        found = newest(closest(wheel, earlier))
        compared[job.variant.name] = compared.get(job.variant.name, False) or found is not None
        if found is None:
            say(f"diff {job.id}: {diff.against} holds no earlier wheel of its kind")
        else:
            yield Pair(old=found, new=wheel, conditions=_conditions(job))
    for name in (name for name, any_found in compared.items() if not any_found):
        raise WainwrightError(
            f"no wheel of {name} has an earlier one there",
            where=f"variants.{name}.diff.against",
            hint="it names a wheel, or a folder of wheels, beside release.toml",
        )


def wheels_at(path: Path) -> tuple[Path, ...]:
    """Give the wheel at a path, or all in a folder; raises WainwrightError (USAGE) when there is none."""
    wheels = tuple(sorted(path.glob("*.whl"))) if path.is_dir() else (path,)
    if not wheels or not wheels[0].is_file():
        raise ArchiveError("there is no wheel here", where=str(path), hint="build or download the earlier one first")
    return wheels


def closest(wheel: Path, others: Iterable[Path]) -> tuple[Path, ...]:
    """Give those of `others` that stand in for this wheel: same project, Python, ABI, libc and architecture.

    Of these, those with the same local version, then those with the same platform tags, where there are any.
    """
    name = parse_wheel_name(wheel.name)
    known = {other: parse_wheel_name(other.name) for other in others}
    kin = [other for other in known if _kind(known[other]) == _kind(name)]
    for trait in (_local, _platforms):
        kin = [other for other in kin if trait(known[other]) == trait(name)] or kin
    return tuple(kin)


def _kind(name: WheelName) -> tuple[object, ...]:
    found = filter(None, map(PLATFORM.fullmatch, name.platforms))
    systems = {(match["libc"] == "musl", match["arch"]) for match in found}
    return name.project, name.pythons, name.abis, frozenset(systems or name.platforms)


def _local(name: WheelName) -> str:
    return name.public_version.partition("+")[2]


def _platforms(name: WheelName) -> frozenset[str]:
    return frozenset(name.platforms)


def newest(wheels: Iterable[Path]) -> Path | None:
    """Give the wheel of the highest version."""
    from packaging.version import Version

    return max(wheels, key=lambda path: (Version(parse_wheel_name(path.name).public_version), path.name), default=None)


def _unmatched(old: Path, audited: Iterable[Path]) -> WainwrightError:
    names = [wheel.name for wheel in audited]
    return WainwrightError(
        f"no audited wheel is of the same name, Python and architecture as {old.name}",
        code=Exit.NOTHING_SELECTED,
        details=tuple(names),
        hint="name the other wheel too: -- OLD NEW" if names else "run the audit session first",
    )
