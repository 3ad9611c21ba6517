"""What jobs of one image need not fetch or compile twice: downloads and compiler caches, carried in and out as one tar.

No volume and no mount: the next container is given a copy, and a job that fails leaves the cache as it was. pip's own
wheels are not kept: it would give one that was built for another backend.
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from wainwright.completed import Completed
from wainwright.running.engines import Engine
from wainwright.scratch import scratch, sweep

LIMIT: Final = 2 << 30  # bytes; above this, copying costs more than it saves
UNUSED: Final = 30 * 86400.0  # seconds after which the cache of an image is taken for that of one that is gone
TEMPORARY: Final = ".tmp-"
NAME: Final = "cache"
VARIABLES: Final = {"PIP_CACHE_DIR": "pip", "CCACHE_DIR": "ccache", "SCCACHE_DIR": "sccache", "UV_CACHE_DIR": "uv"}
# Prints the size in KiB when anything has been added since the stamp was made, else nothing.
_CHANGED: Final = """
rm -rf "$1/cache/pip/wheels"
[ -n "$(find "$1/cache" -type f -newer "$1/.stamp" 2>/dev/null | head -n 1)" ] && du -sk "$1/cache" | cut -f1
true
"""


class Cached(Protocol):
    """The part of a container that is needed here."""

    @property
    def engine(self) -> Engine: ...

    @property
    def name(self) -> str: ...

    def run_plain(self, *argv: str) -> Completed: ...


def file_of(cache: Path, image: str) -> Path:
    """Give where the cache of an image is kept, by the image's id."""
    return cache / "containers" / f"{image.removeprefix('sha256:')[:32]}.tar"


def variables(home: str) -> dict[str, str]:
    """Give the variables that point tools at the cache below `home`."""
    return {name: f"{home}/{NAME}/{folder}" for name, folder in VARIABLES.items()}


def bring(container: Cached, file: Path, home: str) -> None:
    """Copy what is kept into a container; that there is nothing yet, or nothing whole, is no trouble."""
    sweep(file.parent, prefix=TEMPORARY)
    if file.is_file():
        os.utime(file)  # what is used stays
        with file.open("rb") as source:
            _copy(container, ["-", f"{container.name}:{home}"], stdin=source.fileno())
    _prune(file.parent)
    container.run_plain("sh", "-c", 'mkdir -p "$1/cache" && touch "$1/.stamp"', "sh", home)


def keep(container: Cached, file: Path, home: str) -> bool:
    """Keep what is new in a container for the next one; says whether there was anything. The last job to end wins."""
    size = container.run_plain("sh", "-c", _CHANGED, "sh", home).stdout.strip()
    if not size.isdigit() or int(size) << 10 > LIMIT:
        return False
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with scratch(file.parent, prefix=TEMPORARY) as folder:
            with (folder / NAME).open("wb") as copy:
                whole = _copy(container, [f"{container.name}:{home}/{NAME}", "-"], stdout=copy.fileno())
            if whole:
                (folder / NAME).replace(file)
            return whole
    return False


def _prune(folder: Path) -> None:
    for file in folder.glob("*.tar"):
        with suppress(OSError):  # another run has removed it
            if time.time() - file.stat().st_mtime > UNUSED:
                file.unlink()


def _copy(container: Cached, words: list[str], *, stdin: int | None = None, stdout: int | None = None) -> bool:
    with scratch() as spool:
        done = subprocess.run(
            [container.engine.program, "cp", *words],
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.DEVNULL if stdout is None else stdout,
            stderr=subprocess.DEVNULL,
            env=container.engine.spooling(spool),
            start_new_session=True,
            check=False,
        )
    return done.returncode == 0
