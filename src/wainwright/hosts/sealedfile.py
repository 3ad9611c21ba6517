"""A sealed file on its way to a destination: streamed or copied, and never complete unless it is what was sealed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.destinations import Asset

BLOCK: Final = 1 << 18


def as_sealed(asset: Asset) -> Iterator[bytes]:
    """Give the bytes of a sealed file in blocks.

    The last block is held back until the whole is known to be what was sealed, so a file that was changed since can
    never arrive complete.
    """
    digest, size, held = hashlib.sha256(), 0, b""
    try:
        with asset.path.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
                size += len(block)
                if held:
                    yield held
                held = block
    except OSError as error:
        raise WainwrightError(f"cannot be read: {error.strerror}", code=Exit.REFUSED, where=str(asset.path)) from error
    if size != asset.size or digest.hexdigest() != asset.sha256:
        raise WainwrightError(
            "this file is no longer the one that was sealed",
            code=Exit.REFUSED,
            where=str(asset.path),
            details=(f"sealed: sha256 {asset.sha256}", f"now:    sha256 {digest.hexdigest()}"),
            hint="restore it, or seal again",
        )
    yield held


@contextmanager
def private_copy(asset: Asset, within: Path) -> Iterator[Path]:
    """Give a copy of a sealed file, hashed as it was made, in a folder of its own that others cannot write to.

    For a program that is given a path and reads later: what lies at the file's own path may be another by then.
    """
    within.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".tmp-sealed-", dir=within) as folder:
        path = Path(folder) / asset.name
        with path.open("wb") as copy:
            copy.writelines(as_sealed(asset))
        yield path
