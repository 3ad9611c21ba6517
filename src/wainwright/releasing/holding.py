"""Holds a sealed tag to what it was sealed with, and the seal to its evidence, before anything of it is uploaded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

from packaging.utils import canonicalize_name

from wainwright.errors import Exit, WainwrightError
from wainwright.receipts import Receipts
from wainwright.releasing.extracts import extracts
from wainwright.releasing.kept import home, receipt_of, receipts_of
from wainwright.releasing.manifest import File, Manifest
from wainwright.releasing.proofs import Sealing, examine, images


def hold(known: Manifest, sealing: Sealing) -> None:
    """Raise WainwrightError (REFUSED) unless the kept files are those of the manifest, and are still proven.

    The manifest is believed in nothing: it must be what would be sealed now of the kept wheels and their receipts.
    """
    folder = home(sealing.wheelhouse, known.tag)
    kept = replace(sealing, wheelhouse=folder, receipts=receipts_of(folder), inputs=None)
    anew = "seal anew with --reseal if nothing is public yet"
    altered = (*_altered(known, kept), *_elsewhere(known, sealing))
    if altered:
        what, hint = "this is not what it was sealed with", f"put the sealed files back, or {anew}"
        raise _refused(known, sealing, what, altered, hint)
    unproven = (*_unproven(known, kept), *_red_since(known, kept.receipts, sealing.receipts))
    if unproven:
        what, hint = "what proves it does not bear it out", f"put back what was sealed, or {anew}"
        raise _refused(known, sealing, what, unproven, hint)


def _refused(known: Manifest, sealing: Sealing, what: str, details: Iterable[str], hint: str) -> WainwrightError:
    return WainwrightError(
        f"{known.tag} is sealed, and {what}",
        code=Exit.REFUSED,
        where=str(home(sealing.wheelhouse, known.tag)),
        details=tuple(details),
        hint=f"{hint}; else release another version",
    )


def _altered(known: Manifest, kept: Sealing) -> Iterator[str]:
    """Name the files and the receipts that are gone or are others."""
    for file in known.altered(kept.wheelhouse):
        state = "it is another file now" if (kept.wheelhouse / file.path).is_file() else "it is gone"
        yield f"{file.path}: sealed with sha256 {file.sha256}, and {state}"
    for file in known.files:
        for key, digest in file.receipts.items():
            path = receipt_of(kept.receipts, file.job, key)
            name = path.relative_to(kept.wheelhouse)
            if not path.is_file():
                yield f"{name}: the receipt with which {file.name} was sealed is gone"
            elif hashlib.sha256(path.read_bytes()).hexdigest() != digest:
                yield f"{name}: it is not the receipt with which {file.name} was sealed"


def _elsewhere(known: Manifest, sealing: Sealing) -> Iterator[str]:
    """Say what of the project, its tag and its jobs is another than when it was sealed."""
    if known.commit != sealing.commit:
        yield f"sealed at commit {known.commit or 'unknown'}, and now it is {sealing.commit or 'unknown'}"
    if known.version != sealing.version:
        yield f"sealed as version {known.version}, and the tag stands for {sealing.version}"
    if canonicalize_name(known.name) != canonicalize_name(sealing.name):
        yield f"sealed as {known.name}, and the project is {sealing.name}"
    declared = {(job.id, place.name) for job in sealing.jobs for place in job.destinations}
    bound = {(file.job, place) for file in known.wheels for place in file.destinations}
    yield from (f"job {job}: declared for {place} since" for job, place in sorted(declared - bound))
    yield from (f"job {job}: no longer declared for {place}" for job, place in sorted(bound - declared))


def _unproven(known: Manifest, kept: Sealing) -> Iterator[str]:
    """Say where the manifest is not what follows from the kept wheels and their receipts."""
    files, refusals = examine(kept)
    if refusals:
        yield from refusals
        return
    proven = {file.path: file for file in (*files, *(file for file, _ in extracts(kept.jobs, files, kept.wheelhouse)))}
    sealed = {file.path: file for file in known.files}
    if len(sealed) < len(known.files):
        yield "the manifest has a file twice"
    for path in sorted({*proven, *sealed}):
        if path not in proven:
            yield f"{path}: nothing proves it"
        elif path not in sealed:
            yield f"{path}: it belongs to what is sealed, and the manifest does not have it"
        else:
            yield from (f"{path}: {line}" for line in _between(sealed[path], proven[path]))
    if dict(known.images) != images(kept):
        yield "the images that the manifest names are not those of the receipts"


def _between(sealed: File, proven: File) -> Iterator[str]:
    for each in fields(File):
        said, found = (getattr(file, each.name) for file in (sealed, proven))
        if said != found:
            yield f"the manifest says {each.name} = {_plain(said)}, and it is {_plain(found)}"


def _plain(value: Any) -> str:
    return ", ".join(sorted(value)) if isinstance(value, (tuple, dict)) else str(value)


def _red_since(known: Manifest, kept: Receipts, now: Receipts) -> Iterator[str]:
    """Name the stages that were run again on a sealed wheel, and fell short."""
    for file in known.wheels:
        for key in file.receipts:
            stage, _, image = key.partition(".")
            then, since = kept.read(file.job, stage, image), now.read(file.job, stage, image)
            if stage != "build" and then and since and since.source == then.source and not since.passed:
                yield f"job {file.job}: {key} was run again since, and is red: {since.reason}"
