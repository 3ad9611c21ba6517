"""What git says of a source: the files that it tracks, submodules at their recorded commits, a revision."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from wainwright.declaration.release import Git
from wainwright.errors import Exit, WainwrightError
from wainwright.run import Completed, Run

# A git hook sets these for its own repository; they would turn every git below to that one.
_OF_A_HOOK: Final = frozenset({
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_INDEX_FILE", "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_WORK_TREE",
})  # fmt: skip
_SUBMODULE: Final = "160000"


def is_in_git(folder: Path) -> bool:
    """Tell whether the folder lies in a git work tree, without asking git: it may not be installed."""
    here = folder.resolve()
    return any((above / ".git").exists() for above in (here, *here.parents))


def copy_tracked(folder: Path, target: Path, run: Run) -> Mapping[str, Any]:
    """Copy the files below `folder` that git tracks, as they are in the work tree; give what the receipt says.

    Raises WainwrightError for a submodule that is absent or at another commit, and for a folder with nothing tracked.
    """
    submodules: dict[str, str] = {}
    files = list(_tracked(folder, "", run, submodules))
    if not files:
        raise WainwrightError(
            "git tracks no file in this folder",
            where=f"project.source: {folder}",
            hint="`git add` what belongs to the source; of a folder in a git work tree, what git tracks is taken",
        )
    target.mkdir(parents=True)
    for name in files:
        source, copy = folder / name, target / name
        if not os.path.lexists(source) or (source.is_dir() and not source.is_symlink()):
            continue  # deleted, or replaced by a folder, and not yet committed
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, copy, follow_symlinks=False)
    head = _git(run, folder, "rev-parse", "--verify", "--quiet", "HEAD")
    changed = _git(run, folder, "status", "--porcelain", "--untracked-files=no", "--", ".")
    untracked = _git(run, folder, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
    return {
        "commit": head.stdout.strip() or None,
        "changed": bool(changed.stdout.strip()),
        "submodules": submodules,
        "untracked": [name for name in untracked.stdout.split("\0") if name],
    }


def _tracked(folder: Path, prefix: str, run: Run, submodules: dict[str, str]) -> Iterator[str]:
    listed = _git(run, folder, "ls-files", "-z", "--stage")
    listed.check("git cannot list the files that it tracks", code=Exit.BUILD, where=str(folder))
    seen = set()
    for line in listed.stdout.split("\0"):
        facts, _, name = line.partition("\t")
        if not name or name in seen:  # while a merge has conflicts, one name has several stages
            continue
        seen.add(name)
        mode, commit = facts.split(" ")[:2]
        if mode != _SUBMODULE:
            yield prefix + name
            continue
        _check_submodule(folder / name, commit, run, shown=prefix + name, above=folder)
        submodules[prefix + name] = commit
        yield from _tracked(folder / name, f"{prefix}{name}/", run, submodules)


def _check_submodule(path: Path, commit: str, run: Run, *, shown: str, above: Path) -> None:
    found = "it is not checked out"
    if (path / ".git").exists():
        head = _git(run, path, "rev-parse", "--verify", "--quiet", "HEAD").stdout.strip()
        if head == commit:
            return
        found = f"it is at {head[:12] or 'no commit'}"
    raise WainwrightError(
        f"the submodule {shown} is recorded at {commit[:12]}, and {found}",
        code=Exit.BUILD,
        where=f"project.source: {above}",
        hint=f"git -C {above} submodule update --init --recursive -- {os.path.relpath(path, above)}"
        "; or commit the submodule as it is",
    )


@contextmanager
def checked_out(source: Git, clone: Path, run: Run) -> Iterator[tuple[Path, str]]:
    """Clone the repository with its submodules at `rev` into `clone`, and give it with the commit; then remove it."""
    local = "://" not in source.url and Path(source.url).exists()
    url = str(Path(source.url).resolve()) if local else source.url
    # git keeps submodules from reading local folders; where the repository itself is local, that is what was asked for.
    allowed = ["-c", "protocol.file.allow=always"] if local or url.startswith("file:") else []
    where = "project.source.git"
    try:
        cloned = run(["git", *allowed, "clone", "--quiet", "--no-checkout", "--", url, clone], env=_environment())
        cloned.check("the repository cannot be cloned", code=Exit.BUILD, where=where)
        commit = _resolve(source.rev, clone, run)
        done = _git(run, clone, "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", commit)
        done.check(f"{source.rev} cannot be checked out", code=Exit.BUILD, where=where)
        done = _git(run, clone, *allowed, "submodule", "--quiet", "update", "--init", "--recursive")
        done.check(f"the submodules of {source.rev} cannot be had", code=Exit.BUILD, where=where)
        yield clone, commit
    finally:
        shutil.rmtree(clone, ignore_errors=True)


def _resolve(rev: str, clone: Path, run: Run) -> str:
    """Give the commit of a tag, a branch, a commit, or whatever else the repository gives out under that name."""
    for name in (f"refs/tags/{rev}", f"refs/remotes/origin/{rev}", rev):
        found = _git(run, clone, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if found.ok:
            return found.stdout.strip()
    fetched = _git(run, clone, "fetch", "--quiet", "origin", rev)
    if fetched.ok:
        return _git(run, clone, "rev-parse", "--verify", "FETCH_HEAD^{commit}").stdout.strip()
    raise WainwrightError(
        f"the repository has no revision {rev!r}",
        where="project.source.rev",
        hint="a tag, a branch or a whole commit that was pushed",
        details=fetched.tail[-1:],
    )


def _git(run: Run, folder: Path, *words: str) -> Completed:
    return run(["git", "-C", folder, *words], env=_environment(), capture=True)


def _environment() -> Mapping[str, str]:
    """Give ours without what belongs to another repository, and with no question at a prompt."""
    kept = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}
    return kept | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
