"""diff: what changed since an earlier wheel. Against OLD (and NEW) after `--`, else against what release.toml names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from wainwright.comparing.diffing import compare
from wainwright.comparing.diffrendering import render_text
from wainwright.comparing.failing import Condition, judge, parse_conditions
from wainwright.declaration.planning import Job
from wainwright.declaration.release import NIGHTLY, Diff
from wainwright.diffcli import document
from wainwright.errors import Exit, WainwrightError
from wainwright.formats.archive import ArchiveError
from wainwright.formats.wheelname import parse_wheel_name
from wainwright.releasing.nightly import day_of
from wainwright.releasing.pairing import Found, closest, newest
from wainwright.sessions.graph import Selection
from wainwright.sessions.pipeline import Pipeline, say, tell, translated
from wainwright.sessions.stage import merged
from wainwright.sourcing.sources import identify


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
    words = () if _is_tag(pipeline) else pipeline.options.words
    if len(words) > 2:
        raise WainwrightError(
            f"it compares two wheels, and was given {len(words)}", where="options after --", hint="-- OLD [NEW]"
        )
    audited = tuple(_audited(pipeline, pipeline.jobs(selection)))
    if len(words) < 2:
        _hold_fresh(pipeline, audited)
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


def _is_tag(pipeline: Pipeline) -> bool:
    """Whether what stands after `--` is the tag that every session is told, and no wheel."""
    match pipeline.options.words:
        case (word,):
            return word == NIGHTLY or (
                pipeline.release.project.release_of(word) is not None and not Path(word).exists()
            )
    return False


def _audited(pipeline: Pipeline, jobs: Iterable[Job]) -> Iterator[tuple[Job, Path]]:
    """Give the audited wheel of each job that has one, as its receipt proves."""
    for job in jobs:
        receipt = pipeline.receipts.read(job.id, "audit")
        wheel = receipt.evidence(pipeline.wheelhouse / job.variant.name) if receipt else None
        if wheel is not None:
            yield job, wheel


def _hold_fresh(pipeline: Pipeline, audited: Iterable[tuple[Job, Path]]) -> None:
    """Raise WainwrightError for wheels of another version than the tag, or else the source, has by now.

    Without a tag that is no nightly, whose version no source says.
    """
    is_tag = _is_tag(pipeline)
    version = pipeline.version if is_tag else identify(pipeline.release.project.source)[1]
    try:
        wanted = Version(version or "").public
    except InvalidVersion:  # none that is static: only a build tells it
        return
    found = {parse_wheel_name(wheel.name).public_version.partition("+")[0] for _, wheel in audited}
    stale = sorted(each for each in found if each != wanted and (is_tag or day_of(each) is None))
    if stale:
        raise WainwrightError(
            f"the audited wheels are of {', '.join(stale)}, and {version} is to be compared",
            code=Exit.NOTHING_SELECTED,
            hint="run the audit session first",
        )


def _conditions(job: Job) -> tuple[Condition, ...]:
    return parse_conditions(job.variant.diff.fail_on) if job.variant.diff else ()


def _declared(pipeline: Pipeline, audited: Iterable[tuple[Job, Path]]) -> Iterator[Pair]:
    """Pair each audited wheel with the earlier one that its variant's `against` leads to."""
    declared = [(job, wheel, job.variant.diff) for job, wheel in audited if job.variant.diff]
    if not declared:
        raise WainwrightError(
            "there is nothing to compare",
            code=Exit.NOTHING_SELECTED,
            hint="name an earlier wheel after --, or write [variants.NAME.diff] and run the audit session",
        )
    released = _released(pipeline, declared)
    compared: dict[str, bool] = {}
    firsts: dict[str, None] = {}
    for job, wheel, diff in declared:
        found = released.get(job.id) or _at_hand(pipeline, wheel, diff)
        compared[job.variant.name] = compared.get(job.variant.name, False) or bool(found.wheel or found.is_first)
        if found.wheel is not None:
            yield Pair(old=found.wheel, new=wheel, conditions=_conditions(job))
        elif found.is_first:
            firsts[found.note] = None
        else:
            say(f"diff {job.id}: {found.note}")
    for note in firsts:
        say(f"diff: {note}")
    for name in (name for name, any_found in compared.items() if not any_found):
        raise WainwrightError(
            f"no wheel of {name} has an earlier one there",
            where=f"variants.{name}.diff.against",
            hint="name another release, or by its path a wheel or a folder of them; a variant that is new has no "
            "earlier wheel to name before its first release",
        )


def _released(pipeline: Pipeline, declared: Iterable[tuple[Job, Path, Diff]]) -> Mapping[str, Found]:
    """Find the earlier wheels of those jobs whose variant names a release."""
    named = [each for each in declared if not pipeline.release.project.is_path(each[2].against)]
    if not named:
        return {}
    from wainwright.sessions.earlier import fetched

    return fetched(pipeline, named)


def _at_hand(pipeline: Pipeline, wheel: Path, diff: Diff) -> Found:
    found = newest(closest(wheel, wheels_at(pipeline.release.root / diff.against)))
    return Found(wheel=found, note="" if found else f"{diff.against} holds no earlier wheel of its kind")


def wheels_at(path: Path) -> tuple[Path, ...]:
    """Give the wheel at a path, or all in a folder; raises WainwrightError (USAGE) when there is none."""
    wheels = tuple(sorted(path.glob("*.whl"))) if path.is_dir() else (path,)
    if not wheels or not wheels[0].is_file():
        raise ArchiveError("there is no wheel here", where=str(path), hint="build or download the earlier one first")
    return wheels


def _unmatched(old: Path, audited: Iterable[Path]) -> WainwrightError:
    names = [wheel.name for wheel in audited]
    return WainwrightError(
        f"no audited wheel is of the same name, Python and architecture as {old.name}",
        code=Exit.NOTHING_SELECTED,
        details=tuple(names),
        hint="name the other wheel too: -- OLD NEW" if names else "run the audit session first",
    )
