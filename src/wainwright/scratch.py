"""Temporary folders, each locked while it is in use: what a killed run has left is known so, and the next removes it.

A lock ends with its process, however that ends; a process number may be another's by then, or of another container.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wainwright.errors import Exit, WainwrightError


@contextmanager
def scratch(place: Path | None = None, *, prefix: str = "") -> Iterator[Path]:
    """Make a folder in `place` (None: in the one for this user's temporary folders); it is gone when the block ends.

    What processes that are gone have left there under this prefix goes as well.
    """
    place = _users() if place is None else place
    with _locked(place):  # nobody sweeps between making a folder and locking it
        _sweep(place, prefix)
        folder = Path(tempfile.mkdtemp(dir=place, prefix=prefix))
        lock = _lock(folder, wait=False)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def sweep(place: Path | None = None, *, prefix: str = "") -> None:
    """Remove what processes that are gone have left in `place`, which need not be there."""
    place = _users() if place is None else place
    if place.is_dir():
        with _locked(place):
            _sweep(place, prefix)


def _users() -> Path:
    place = Path(tempfile.gettempdir()) / f"wainwright-{os.getuid()}"
    with suppress(FileExistsError):
        place.mkdir(mode=0o700)
    found = place.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():  # anyone may have put it into /tmp
        raise WainwrightError(
            "this is no folder of yours, and temporary files would go there",
            code=Exit.ENGINE,
            where=str(place),
            hint="have it removed, or set TMPDIR to a folder of your own",
        )
    return place


def _sweep(place: Path, prefix: str) -> None:
    for left in place.iterdir():
        if not left.name.startswith(prefix):
            continue
        with suppress(OSError):  # it is in use
            lock = _lock(left, wait=False)
            try:
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink()
            finally:
                os.close(lock)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = _lock(path, wait=True)
    try:
        yield
    finally:
        os.close(lock)


def _lock(path: Path, *, wait: bool) -> int:
    """Lock a file or folder until the number that this gives is closed, or this process has ended however it did."""
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException:
        os.close(number)
        raise
    return number
