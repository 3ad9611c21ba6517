"""What of a work tree is not as its commit has it, submodules included, and where git was told not to look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wainwright.completed import Run
from wainwright.errors import Exit
from wainwright.sourcing.gitcommand import git

SUBMODULE: Final = "160000"  # the mode of a submodule's entry
WHOLE: Final = ":/"  # the pathspec of all that a work tree holds
# A submodule may ask to be ignored, and each is looked into by itself: here its commit alone counts.
_STATUS: Final = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=dirty")
_NO_MONITOR: Final = ("-c", "core.fsmonitor=false")  # a monitor that misses a change would hide it


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """How a work tree and HEAD differ; paths are below the folder that was asked about.

    `changed` holds git's own lines, ` M src/a.c`; `unwatched` are files at which git was told not to look, `left_out`
    those that a sparse checkout has left out.
    """

    changed: tuple[str, ...] = ()
    unwatched: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.unwatched or self.left_out)


def differences(folder: Path, run: Run, *, below: str = WHOLE) -> Differences:
    """Look at the folder's whole repository, or at what a pathspec names, and at every submodule there.

    Raises WainwrightError (REFUSED) when git does not say.
    """
    changed, unwatched, left_out = [], [], []
    for path, shown, pathspec in _repositories(folder, "", run, below):
        said = _told(run, path, *_NO_MONITOR, *_STATUS, "--", pathspec)
        changed += [f"{line[:3]}{shown}{line[3:]}" for line in said.split("\0") if line]
        is_sparse = git(run, path, "config", "--bool", "core.sparseCheckout").stdout.strip() == "true"
        for mark, name in _marked(path, run, pathspec):
            # git's documentation of ls-files -v: lowercase letters are assumed unchanged, S (or s) is skip-worktree
            if mark in "Ss" and is_sparse:
                left_out.append(f"{shown}{name}")
            elif mark in "Ss" or mark.islower():
                unwatched.append(f"{shown}{name}")
    return Differences(changed=tuple(changed), unwatched=tuple(unwatched), left_out=tuple(left_out))


def _repositories(folder: Path, shown: str, run: Run, below: str) -> Iterator[tuple[Path, str, str]]:
    yield folder, shown, below
    for line in _told(run, folder, "ls-files", "-z", "--stage", "--", below).split("\0"):
        facts, _, name = line.partition("\t")
        if facts.startswith(SUBMODULE) and (folder / name / ".git").exists():
            yield from _repositories(folder / name, f"{shown}{name}/", run, WHOLE)


def _marked(folder: Path, run: Run, pathspec: str) -> Iterator[tuple[str, str]]:
    for line in _told(run, folder, "ls-files", "-z", "-v", "--", pathspec).split("\0"):
        mark, _, name = line.partition(" ")
        if name:
            yield mark, name


def _told(run: Run, folder: Path, *words: str) -> str:
    return (
        git(run, folder, *words).check("git does not say what has changed", code=Exit.REFUSED, where=str(folder)).stdout
    )
