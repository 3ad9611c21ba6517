"""The kept set of a sealed tag: its files and their receipts, where the next build and the next audit do not come."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from wainwright.errors import WainwrightError
from wainwright.hosts.uploading import ATTESTATION
from wainwright.receipts import Receipts
from wainwright.releasing.journal import JOURNAL, Journal
from wainwright.releasing.manifest import File, read

KEPT: Final = "sealed"


def home(wheelhouse: Path, tag: str) -> Path:
    """Name the folder in which a tag's sealed files, their receipts and its journal are."""
    return wheelhouse / KEPT / quote(tag, safe="")


def receipts_of(folder: Path) -> Receipts:
    return Receipts(folder / "receipts")


def receipt_of(receipts: Receipts, job: str, key: str) -> Path:
    """Name the receipt that a manifest calls `build`, `audit` or `smoke.IMAGE`."""
    stage, _, image = key.partition(".")
    return receipts.path(job, stage, image)


def keep(wheelhouse: Path, tag: str, files: Iterable[File], receipts: Receipts, extracts: Mapping[str, bytes]) -> None:
    """Keep files of the wheelhouse with their attestations and receipts, and `extracts` by their paths.

    Wheels take no room as long as they are in the wheelhouse, too: those are linked, since stages put new ones in their
    place and never write into them.
    """
    folder = home(wheelhouse, tag)
    folder.mkdir(parents=True, exist_ok=True)
    temporary = wheelhouse / f".tmp-kept-{os.getpid()}"  # where it is swept
    temporary.unlink(missing_ok=True)
    for file in files:
        _take(wheelhouse / file.path, temporary, link=file.kind == "wheel")
        _place(temporary, folder / file.path)
        attestation = Path(f"{wheelhouse / file.path}{ATTESTATION}")
        if attestation.is_file():
            _take(attestation, temporary)
            _place(temporary, Path(f"{folder / file.path}{ATTESTATION}"))
        for key in file.receipts:
            source = receipt_of(receipts, file.job, key)
            _take(source, temporary)
            _place(temporary, receipts_of(folder).folder / source.name)
    for path, data in extracts.items():
        temporary.write_bytes(data)
        _place(temporary, folder / path)


def _take(source: Path, temporary: Path, *, link: bool = False) -> None:
    if link:
        with suppress(OSError):  # another disk, or one without links
            os.link(source.resolve(), temporary)
            return
    shutil.copy2(source, temporary)


def _place(temporary: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary.replace(target)
    temporary.unlink(missing_ok=True)  # a rename between two names of one file does nothing


def prune(wheelhouse: Path, tag: str) -> None:
    """Let go of what is kept for every other tag that is out at all its destinations."""
    for folder in (wheelhouse / KEPT).glob("*/"):
        if folder == home(wheelhouse, tag):
            continue
        if _is_out(wheelhouse, unquote(folder.name), folder / JOURNAL):
            shutil.rmtree(folder, ignore_errors=True)


def _is_out(wheelhouse: Path, tag: str, journal: Path) -> bool:
    try:
        manifest = read(wheelhouse, tag)
    except WainwrightError:
        return False
    noted = Journal.open(journal, tag)
    return manifest is not None and all("finished" in noted.seen(place) for place in manifest.destinations)
