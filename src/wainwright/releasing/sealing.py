"""Seals a release: fixes the bytes, hashes, tag and commit of what its receipts prove, before any remote write."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from wainwright.errors import Exit, WainwrightError
from wainwright.receipts import Artifact
from wainwright.releasing import manifest
from wainwright.releasing.manifest import File, Manifest
from wainwright.releasing.proofs import Sealing, examine

EXTRACTS: Final = "extracts"


def seal(sealing: Sealing, *, reseal: bool, public: Callable[[Manifest], Sequence[str]]) -> Manifest:
    """Seal a tag, or give the seal that it has.

    `public` tells what of an earlier seal is public already, in words. Raises WainwrightError (REFUSED) with every
    reason at once; nothing is written then.
    """
    known = manifest.read(sealing.wheelhouse, sealing.tag)
    if known is not None and not reseal:
        _hold(known, sealing)
        return known
    if known is not None and (seen := tuple(public(known))):
        raise WainwrightError(
            f"{sealing.tag} is public, and what is public is never sealed anew",
            code=Exit.REFUSED,
            where="--reseal",
            details=seen,
            hint="release another version",
        )
    files, refusals = examine(sealing)
    if refusals:
        count = f"{len(refusals)} reasons" if len(refusals) > 1 else "a reason"
        raise WainwrightError(
            f"{sealing.tag} is not sealed, for {count}", code=Exit.REFUSED, where=sealing.tag, details=refusals
        )
    sealed = Manifest(
        tag=sealing.tag,
        name=sealing.name,
        version=sealing.version,
        commit=sealing.commit,
        sealed=sealing.now,
        files=(*files, *_extracts(sealing, files)),
        source=sealing.source,
        images=_images(sealing),
        tools=sealing.tools,
    )
    manifest.write(sealed, sealing.wheelhouse)
    return sealed


def _hold(known: Manifest, sealing: Sealing) -> None:
    """Hold a sealed tag to what it was sealed with."""
    hint = "put the sealed files back, or seal anew with --reseal if nothing is public yet"
    details = [f"{file.path}: sealed with sha256 {file.sha256}" for file in known.altered(sealing.wheelhouse)]
    if known.commit != sealing.commit:
        details.append(f"sealed at commit {known.commit or 'unknown'}, and now it is {sealing.commit or 'unknown'}")
    declared = {(job.id, place.name) for job in sealing.jobs for place in job.destinations}
    bound = {(file.job, place) for file in known.wheels for place in file.destinations}
    details += [f"job {job}: declared for {place} since" for job, place in sorted(declared - bound)]
    details += [f"job {job}: no longer declared for {place}" for job, place in sorted(bound - declared)]
    if details:
        raise WainwrightError(
            f"{known.tag} is sealed, and this is not what it was sealed with",
            code=Exit.REFUSED,
            where=str(sealing.wheelhouse / manifest.MANIFEST),
            details=tuple(details),
            hint=hint,
        )


def _images(sealing: Sealing) -> dict[str, str]:
    """Give the digest of each image as the receipts of its jobs have it, or the engine where there is no container."""
    found: dict[str, str] = {}
    for job in sealing.published:
        keys = [("build", ""), *(("smoke", image.name) for image in job.smoke_images)]
        for receipt in filter(None, (sealing.receipts.read(job.id, stage, image) for stage, image in keys)):
            found[receipt.image] = str(receipt.facts.get("image") or receipt.facts.get("toolchain") or receipt.engine)
    return dict(sorted(found.items()))


def _extracts(sealing: Sealing, files: Sequence[File]) -> Iterator[File]:
    """Copy out of the wheels what release pages get beside them.

    Those are the SBOMs that the wheels carry (PEP 770) and, for a page with an index, METADATA (PEP 658).
    """
    pages = {place.name: place for job in sealing.jobs for place in job.destinations if place.kind == "github"}
    for file in files:
        places = tuple(name for name in file.destinations if name in pages)
        indexed = tuple(name for name in places if pages[name].index)
        if not places or file.kind != "wheel":
            continue
        for name, data in _carried(sealing.wheelhouse / file.path):
            if name != "METADATA":
                yield _extract(sealing, file, "sbom", f"{file.name.removesuffix('.whl')}.{name}", data, places)
            elif indexed:
                yield _extract(sealing, file, "metadata", f"{file.name}.metadata", data, indexed)


def _extract(
    sealing: Sealing, file: File, kind: Literal["sbom", "metadata"], name: str, data: bytes, places: tuple[str, ...]
) -> File:
    path = sealing.wheelhouse / EXTRACTS / file.variant / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    made = Artifact.of(path)
    return File(
        name=name,
        path=path.relative_to(sealing.wheelhouse).as_posix(),
        size=made.size,
        sha256=made.sha256,
        kind=kind,
        job=file.job,
        variant=file.variant,
        destinations=places,
    )


def _carried(wheel: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            folder, *rest = PurePosixPath(name).parts
            if folder.endswith(".dist-info") and (rest == ["METADATA"] or (len(rest) == 2 and rest[0] == "sboms")):
                yield rest[-1], archive.read(name)
