"""The corpus of real wheels: a table of pins, and a folder in the cache that holds them.

pip fetches by name, version and sha256, so that no tag of this machine decides which file it is.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import tomli

TABLE = Path(__file__).with_name("corpus.toml")


@cache
def rows() -> dict[str, dict[str, Any]]:
    """Give the table: a wheel's file name → what is known of it."""
    return {row["file"]: row for row in tomli.loads(TABLE.read_text())["wheel"]}


def folder() -> Path:
    cache_home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache_home) / "wainwright" / "corpus"


def fetch(names: Iterable[str]) -> dict[str, Path]:
    """Give each wheel's path; those that are absent, or not what was pinned, are fetched first."""
    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    wanted = {name: place / name for name in names}
    absent = [name for name, path in wanted.items() if not _is_pinned(path)]
    for group in _groups(absent):
        _download(group, place)
    return wanted


def _is_pinned(path: Path) -> bool:
    """Whether it is there; a cache is not trusted."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        return bool(hashlib.file_digest(file, "sha256").hexdigest() == rows()[path.name]["sha256"])


def _groups(names: Iterable[str]) -> list[list[str]]:
    """Put wheels together that one call of pip can fetch: one Python, one architecture, each project once."""
    groups: defaultdict[tuple[str, str, int], list[str]] = defaultdict(list)
    for name in names:
        *_, python, _, platform = name.removesuffix(".whl").split("-")
        kind = (_python(python), platform.split(".")[0].split("_", 1)[1][-7:] if "linux" in platform else "")
        project = name.split("-")[0]
        turn = sum(
            other.split("-")[0] == project
            for (*key, _), found in groups.items()
            if tuple(key) == kind
            for other in found
        )
        groups[(*kind, turn)].append(name)
    return list(groups.values())


def _python(tag: str) -> str:
    first = tag.rsplit(".", maxsplit=1)[-1]
    return first.removeprefix("cp") if first.startswith("cp3") else "311"


def _download(names: list[str], place: Path) -> None:
    platforms = dict.fromkeys(tag for name in names for tag in name.removesuffix(".whl").split("-")[-1].split("."))
    python = _python(names[0].split("-")[-3])
    with tempfile.TemporaryDirectory(dir=place) as fresh:
        listed = Path(fresh, "requirements.txt")
        lines = [
            f"{name.split('-')[0]}=={name.split('-')[1]} --hash=sha256:{rows()[name]['sha256']}\n" for name in names
        ]
        listed.write_text("".join(lines))
        command = [
            sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir",
            "--implementation=cp", f"--python-version={python}", *(f"--platform={tag}" for tag in platforms),
            "--dest", fresh, "--requirement", str(listed),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(names)}\n{done.stderr}"
        for name in names:
            Path(fresh, name).replace(place / name)
