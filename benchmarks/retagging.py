"""Retags one wheel, and tells how long the work alone took, without the start of a Python."""

from __future__ import annotations

import sys
import time
from pathlib import Path


def main(wheel: Path, folder: Path, platform: str) -> None:
    from wainwright.auditing.retag import retag

    started = time.perf_counter()
    retag(wheel, folder, platforms=(platform,))
    print(time.perf_counter() - started)


if __name__ == "__main__":
    wheel, folder, platform = sys.argv[1:]
    main(Path(wheel), Path(folder), platform)
