"""audit: each built wheel is given what it lacks and the tag of its target, then must keep that claim."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Final

from wainwright.auditing.audit import audit
from wainwright.auditing.graft import graft
from wainwright.auditing.rendering import render
from wainwright.auditing.retag import retag
from wainwright.auditing.terms import Outside
from wainwright.auditing.verdict import Verdict
from wainwright.completed import Run
from wainwright.declaration.planning import Job
from wainwright.errors import Exit, WainwrightError
from wainwright.receipts import plain
from wainwright.running.collecting import read_libraries, read_scripts
from wainwright.running.linkerscripts import followed
from wainwright.sessions.build import LIBRARIES
from wainwright.sessions.graph import Selection
from wainwright.sessions.inputs import of_audit
from wainwright.sessions.pipeline import Pipeline, say
from wainwright.sessions.stage import Outcome, Piece, carry_out, would

# What a graft or a retag sets right.
MENDED: Final = frozenset({"bundle", "missing-library", "tag-mismatch"})


def run(pipeline: Pipeline, selection: Selection) -> None:
    """Audit every job of the selection; what passes lies in `wheelhouse/VARIANT/`."""
    jobs = pipeline.jobs(selection)
    with pipeline.swept():
        names = Names.known_to(pipeline)
        carry_out(pipeline, "audit", [piece for job in jobs for piece in _pieces(pipeline, job, names)])
        for stray in names.strays(pipeline.wheelhouse):
            say(f"{stray.relative_to(pipeline.release.root)} is of no job of release.toml: nothing publishes it")


def _pieces(pipeline: Pipeline, job: Job, names: Names) -> Sequence[Piece]:
    built = pipeline.receipts.read(job.id, "build")
    wheel = built.evidence(pipeline.dist / job.id) if built else None
    if built is None or wheel is None:
        if pipeline.options.dry_run:
            return [would("audit", job.id)]
        raise WainwrightError(
            "there is no built wheel to audit", code=Exit.AUDIT, where=f"job {job.id}", hint="run the build session"
        )
    piece = Piece(
        stage="audit",
        job=job.id,
        image=built.image,
        engine=built.engine,
        publishable=built.publishable,
        inputs=of_audit(job, built),
        folder=pipeline.wheelhouse / job.variant.name,
        source=built.wheel,
        work=lambda log: _audit(pipeline, job, wheel, names, log),
    )
    return [piece]


def _audit(pipeline: Pipeline, job: Job, wheel: Path, names: Names, log: Path) -> Outcome:
    """Repair or retag a built wheel in a private folder, judge the result, and only then move it into place."""
    folder = pipeline.wheelhouse / job.variant.name
    names.forget(job, folder)
    known = pipeline.dist / job.id / LIBRARIES
    libraries = read_libraries(known)
    job = replace(job, terms=followed(job.terms, read_scripts(known)))
    before = audit(wheel, claim=job.glibc, terms=job.terms, libraries=libraries)
    pipeline.wheelhouse.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tmp-audit-", dir=pipeline.wheelhouse) as temporary:
        _hopeful(job, before)
        result, grafted = _prepare(job, wheel, Path(temporary), before, libraries, pipeline.run, log)
        verdict = audit(result, terms=job.terms, libraries=libraries, original=wheel)
        _hold(job, verdict, before)
        names.take(job, result.name)
        folder.mkdir(exist_ok=True)
        final = result.replace(folder / result.name)
    facts = {"verdict": verdict.to_json(), "grafted": list(grafted)}
    told = [note.message for note in verdict.notes if note.rule == "linker-script"]
    if verdict.waived:
        told.append(f"falls short where that is allowed: {', '.join(verdict.waived)}")
    return Outcome(wheel=final, facts=facts, note="; ".join((f"{final.name}, measured {verdict.measured.tag}", *told)))


def _prepare(
    job: Job, wheel: Path, folder: Path, before: Verdict, libraries: Sequence[Outside], run: Run, log: Path
) -> tuple[Path, Sequence[Mapping[str, Any]]]:
    """Give the wheel that is to be judged, and what was grafted into it."""
    mode = job.variant.audit.mode
    if mode == "check":
        return Path(shutil.copy2(wheel, folder)), ()
    grafted: Sequence[Mapping[str, Any]] = ()
    source = wheel
    if mode == "repair" and before.libraries.missing:
        done = graft(
            wheel,
            folder / "grafted",
            names=before.libraries.missing,
            glibc=job.glibc,
            arch=job.arch,
            terms=job.terms,
            libraries=libraries,
            run=run,
            log=log,
            members=before.libraries.who_need(before.libraries.missing),
        )
        source, grafted = done.path, [plain(each) for each in done.libraries]
    platforms = job.glibc.platforms(job.arch)
    return retag(source, folder, platforms=platforms, local_version=job.variant.local_version), grafted


def _hopeful(job: Job, before: Verdict) -> None:
    """Raise WainwrightError (AUDIT) with the report on a wheel that no graft and no retag will mend."""
    if job.variant.audit.mode != "check" and any(found.rule not in MENDED for found in before.violations):
        raise _fell_short(job, f"{before.wheel} falls short", before, before)


def _hold(job: Job, verdict: Verdict, before: Verdict) -> None:
    """Raise WainwrightError (AUDIT) with the whole report when a wheel does not keep the claim of its target."""
    promised = set(job.glibc.platforms(job.arch))
    if not verdict.ok:
        raise _fell_short(job, f"{verdict.wheel} falls short", verdict, before)
    if set(verdict.claimed) != promised:
        claims = ", ".join(sorted(verdict.claimed)) or "nothing"
        raise _fell_short(job, f"{verdict.wheel} claims {claims}, not {', '.join(sorted(promised))}", verdict, before)


def _fell_short(job: Job, what: str, verdict: Verdict, before: Verdict) -> WainwrightError:
    rules = dict.fromkeys(found.rule for found in verdict.violations)
    hint = "each violation above says what mends it"
    if not rules:
        hint = f'have the build give it these tags, or set audit.mode of variants.{job.variant.name} to "retag"'
    if "symbol-version" in rules:
        hint = f"as built it measured {before.measured.tag}; build it in an older image, or raise the glibc of "
        hint += f"variants.{job.variant.name}"
    return WainwrightError(
        f"{what}: {', '.join(rules)}" if rules else what,
        code=Exit.AUDIT,
        where=f"job {job.id}",
        details=tuple(render(verdict).splitlines()),
        hint=hint,
    )


@dataclass(frozen=True, slots=True)
class Names:
    """Which job has made which file of `wheelhouse/`, so that no wheel replaces another's. Safe in several threads."""

    owners: dict[tuple[str, str], str]
    lock: Lock

    @classmethod
    def known_to(cls, pipeline: Pipeline) -> Names:
        """Read them off the receipts of every job that is still planned."""
        owners: dict[tuple[str, str], str] = {}
        for job in pipeline.plan:
            receipt = pipeline.receipts.read(job.id, "audit")
            if receipt is not None and receipt.wheel is not None:
                owners[job.variant.name, receipt.wheel.name] = job.id
        return cls(owners, Lock())

    def strays(self, wheelhouse: Path) -> list[Path]:
        """Give the wheels that no job has made."""
        with self.lock:
            return sorted(
                path for path in wheelhouse.glob("*/*.whl") if (path.parent.name, path.name) not in self.owners
            )

    def forget(self, job: Job, folder: Path) -> None:
        """Remove the job's earlier wheel: it is not of these inputs, and a failure must leave no result."""
        with self.lock:
            for (variant, name), owner in list(self.owners.items()):
                if owner == job.id:
                    (folder / name).unlink(missing_ok=True)
                    del self.owners[variant, name]

    def take(self, job: Job, name: str) -> None:
        """Give `name` to the job; raises WainwrightError (AUDIT) when another job has made a wheel of this name."""
        with self.lock:
            owner = self.owners.setdefault((job.variant.name, name), job.id)
        if owner != job.id:
            raise WainwrightError(
                f"{name} is what job {owner} has made already: one would replace the other",
                code=Exit.AUDIT,
                where=f"job {job.id}",
                hint="an abi3 wheel needs one Python only: give the variant a `python` of its own",
            )
