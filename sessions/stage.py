"""Carries out a stage: what is fresh is skipped, the rest runs in parallel, and each job leaves a receipt."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from wainwright.errors import Exit, WainwrightError
from wainwright.receipts import Artifact, Receipt, plain
from wainwright.run import interruptible
from wainwright.sessions.inputs import digest
from wainwright.sessions.pipeline import Pipeline, say, tell, translated
from wainwright.sessions.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a piece of work made: the wheel where it lies now, and the facts for its receipt."""

    wheel: Path
    facts: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One job at one stage, in one image where the stage has several.

    `inputs` is everything that the result depends on; `folder` where its wheel will lie; `work` does it, writing to the
    log that it is given, and raises WainwrightError when the wheel falls short. `is_whole` looks at what lies beside
    the wheel.
    """

    stage: str
    job: str
    image: str
    engine: str
    publishable: bool
    inputs: Mapping[str, Any]
    folder: Path
    work: Callable[[Path], Outcome]
    is_whole: Callable[[], bool] = lambda: True
    source: Artifact | None = None
    per_image: bool = False

    @property
    def label(self) -> str:
        return f"{self.stage} {self.job} in {self.image}" if self.per_image else f"{self.stage} {self.job}"

    @property
    def key(self) -> str:
        return self.image if self.per_image else ""

    @property
    def digest(self) -> str:
        return digest(self.inputs)


def would(stage: str, job: str, *, image: str = "") -> Piece:
    """Give what a dry run tells of a job whose wheel is not made yet."""

    def work(_: Path) -> Outcome:
        raise AssertionError(stage)

    return Piece(
        stage=stage,
        job=job,
        image=image,
        engine="",
        publishable=False,
        inputs={},
        folder=Path(),
        work=work,
        per_image=bool(image),
    )


def carry_out(pipeline: Pipeline, stage: str, pieces: Sequence[Piece]) -> None:
    """Do every piece of a stage that is not fresh; the others go on when one fails.

    Raises WainwrightError with every failure once all have ended, the exit code being the first one's.
    """
    if not pieces:
        say(f"{stage}: nothing to do, --only {pipeline.options.only} leaves no job of this session")
        return
    with translated(), interruptible(), Progress(total=len(pieces)).shown() as progress:
        pool = ThreadPoolExecutor(max_workers=pipeline.options.jobs)
        try:
            results = list(pool.map(lambda piece: _do(pipeline, piece, progress), pieces))
        finally:
            pool.shutdown(cancel_futures=True)
    if pipeline.options.json:
        receipts = [pipeline.receipts.read(piece.job, piece.stage, piece.key) for piece in pieces]
        tell({"stage": stage, "receipts": [plain(receipt) for receipt in receipts if receipt]})
    failures = [error for error in results if error is not None]
    if failures:
        raise merged(failures)


def merged(failures: Sequence[WainwrightError]) -> WainwrightError:
    """Give several failures as one that names them all."""
    if len(failures) == 1:
        return failures[0]
    return WainwrightError(
        f"{len(failures)} jobs failed", code=failures[0].code, details=tuple(str(failure) for failure in failures)
    )


def is_fresh(pipeline: Pipeline, piece: Piece) -> bool:
    """Whether a piece was done with the same inputs, and its result lies there whole."""
    known = pipeline.receipts.read(piece.job, piece.stage, piece.key)
    fresh = known is not None and known.proves(piece.digest, piece.folder) and known.source == piece.source
    return fresh and piece.is_whole()


def _do(pipeline: Pipeline, piece: Piece, progress: Progress) -> WainwrightError | None:
    receipts = pipeline.receipts
    with translated():
        if is_fresh(pipeline, piece):
            progress.end(piece.label, "unchanged")
            return None
        if pipeline.options.dry_run:
            progress.end(piece.label, "would run")
            return None
        progress.start(piece.label)
        receipts.remove(piece.job, piece.stage, piece.key)
    log = pipeline.logs / f"{'.'.join(filter(None, (piece.job, piece.stage, piece.key)))}.log"
    started, clock = datetime.now(timezone.utc), time.monotonic()
    failure: WainwrightError | None = None
    facts: Mapping[str, Any] = {}
    artifact: Artifact | None = None
    note = ""
    try:
        with translated():
            log.parent.mkdir(parents=True, exist_ok=True)
            log.unlink(missing_ok=True)
            outcome = piece.work(log)
            artifact, facts, note = Artifact.of(outcome.wheel), outcome.facts, outcome.note
    except WainwrightError as error:
        failure = error if error.where else _at(error, piece.label)
    receipt = Receipt(
        stage=piece.stage,
        job=piece.job,
        image=piece.image,
        engine=piece.engine,
        inputs=piece.digest,
        passed=failure is None,
        publishable=piece.publishable,
        started=started.isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - clock, 3),
        wheel=artifact,
        source=piece.source,
        error=str(failure) if failure else "",
        log=str(log.relative_to(pipeline.release.root)) if log.exists() else "",
        facts=facts,
    )
    with translated():
        receipts.write(receipt, image=piece.key)
    progress.end(piece.label, f"failed, {Exit(failure.code).name.lower()}" if failure else note or "done")
    return failure


def _at(error: WainwrightError, where: str) -> WainwrightError:
    return WainwrightError(error.what, code=error.code, where=where, hint=error.hint, details=error.details)
