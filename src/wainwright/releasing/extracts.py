"""What release pages get beside the wheels, out of the wheels: their SBOMs, and METADATA for a page with an index."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from wainwright.declaration.planning import Job
from wainwright.releasing.manifest import File

EXTRACTS: Final = "extracts"


def extracts(jobs: Sequence[Job], files: Sequence[File], folder: Path) -> Iterator[tuple[File, bytes]]:
    """Give the SBOMs that the wheels in `folder` carry (PEP 770), and METADATA (PEP 658), with their bytes."""
    pages = {place.name: place for job in jobs for place in job.destinations if place.kind == "github"}
    for file in files:
        places = tuple(name for name in file.destinations if name in pages)
        indexed = tuple(name for name in places if pages[name].index)
        if not places or file.kind != "wheel":
            continue
        for name, data in _carried(folder / file.path):
            if name != "METADATA":
                yield _extract(file, "sbom", f"{file.name.removesuffix('.whl')}.{name}", data, places), data
            elif indexed:
                yield _extract(file, "metadata", f"{file.name}.metadata", data, indexed), data


def _extract(file: File, kind: Literal["sbom", "metadata"], name: str, data: bytes, places: tuple[str, ...]) -> File:
    return File(
        name=name,
        path=f"{EXTRACTS}/{file.variant}/{name}",
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
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
