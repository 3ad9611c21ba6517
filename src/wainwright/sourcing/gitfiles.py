"""What git says of a source: the files that it tracks, submodules at their recorded commits, a revision."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from wainwright.completed import Run
from wainwright.declaration.release import Git
from wainwright.errors import Exit, WainwrightError
from wainwright.sourcing.gitclean import SUBMODULE, differences
from wainwright.sourcing.gitcommand import git
from wainwright.sourcing.gitremote import confidential

# What is written into another folder than the work tree is whole, calls no hook, and leaves submodules to us.
_QUIETLY: Final = (
    *("-c", "core.hooksPath=/dev/null", "-c", "submodule.recurse=false", "-c", "core.sparseCheckout=false"),
    *("-c", "core.splitIndex=false", "-c", "core.fsmonitor=false"),
)


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
        raise _nothing(folder)
    target.mkdir(parents=True)
    for name in files:
        source, copy = folder / name, target / name
        if not os.path.lexists(source) or (source.is_dir() and not source.is_symlink()):
            continue  # deleted, or replaced by a folder, and not yet committed
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, copy, follow_symlinks=False)
    head = git(run, folder, "rev-parse", "--verify", "--quiet", "HEAD")
    return {
        "commit": head.stdout.strip() or None,
        "changed": bool(differences(folder, run, below=".")),
        "submodules": submodules,
        "untracked": _untracked(folder, run),
    }


def copy_committed(folder: Path, commit: str, target: Path, run: Run) -> Mapping[str, Any]:
    """Copy the files below `folder` as a commit has them, whatever the work tree holds; give what the receipt says.

    Raises WainwrightError for a submodule without the recorded commit, and for a commit with nothing in this folder.
    """
    prefix = git(run, folder, "rev-parse", "--show-prefix").stdout.rstrip("\n")
    submodules: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix=".tmp-", dir=target.parent) as temporary:
        tree = Path(temporary).resolve() / "tree"
        _check_out(folder, commit, prefix, tree, run)
        _check_out_submodules(folder, commit, "", tree / prefix, run, submodules)
        if not (tree / prefix).is_dir() or not any((tree / prefix).iterdir()):
            raise _nothing(folder)
        (tree / prefix).replace(target)
    found = differences(folder, run, below=".")
    return {
        "commit": commit,
        "changed": False,
        "submodules": submodules,
        "untracked": _untracked(folder, run),
        "uncommitted": [*(line[3:] for line in found.changed), *found.unwatched],
    }


def _check_out(folder: Path, commit: str, prefix: str, tree: Path, run: Run) -> None:
    """Write a commit's files below `prefix` into `tree`, by an index of their own."""
    tree.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tmp-", dir=tree) as temporary:
        env = {"GIT_INDEX_FILE": str(Path(temporary) / "index")}
        where = f"project.source: {folder}"
        read = git(run, folder, *_QUIETLY, "read-tree", commit, env=env)
        read.check(f"git cannot read the commit {commit[:12]}", code=Exit.BUILD, where=where)
        if not git(run, folder, "ls-files", env=env).stdout:
            return
        names = f":(top,literal){prefix}"
        written = git(run, folder, *_QUIETLY, f"--work-tree={tree}", "checkout", "--quiet", "--", names, env=env)
        written.check(f"git cannot write the files of the commit {commit[:12]}", code=Exit.BUILD, where=where)


def _check_out_submodules(
    folder: Path, commit: str, shown: str, tree: Path, run: Run, submodules: dict[str, str]
) -> None:
    for line in git(run, folder, "ls-tree", "-r", "-z", commit).stdout.split("\0"):
        facts, _, name = line.partition("\t")
        if not facts.startswith(SUBMODULE):
            continue
        path, recorded = folder / name, facts.split()[2]
        if not (path / ".git").exists():
            raise _lacking(path, recorded, "it is not checked out", shown=shown + name, above=folder)
        if not git(run, path, "cat-file", "-e", f"{recorded}^{{commit}}").ok:
            raise _lacking(path, recorded, "it does not have that commit", shown=shown + name, above=folder)
        submodules[shown + name] = recorded
        _check_out(path, recorded, "", tree / name, run)
        _check_out_submodules(path, recorded, f"{shown}{name}/", tree / name, run, submodules)


def _untracked(folder: Path, run: Run) -> list[str]:
    listed = git(run, folder, "ls-files", "-z", "--others", "--exclude-standard", "--", ".").stdout
    return [name for name in listed.split("\0") if name]


def _nothing(folder: Path) -> WainwrightError:
    return WainwrightError(
        "git tracks no file in this folder",
        where=f"project.source: {folder}",
        hint="`git add` what belongs to the source; of a folder in a git work tree, what git tracks is taken",
    )


def _tracked(folder: Path, prefix: str, run: Run, submodules: dict[str, str]) -> Iterator[str]:
    listed = git(run, folder, "ls-files", "-z", "--stage")
    listed.check("git cannot list the files that it tracks", code=Exit.BUILD, where=str(folder))
    seen = set()
    for line in listed.stdout.split("\0"):
        facts, _, name = line.partition("\t")
        if not name or name in seen:  # while a merge has conflicts, one name has several stages
            continue
        seen.add(name)
        mode, commit = facts.split(" ")[:2]
        if mode != SUBMODULE:
            yield prefix + name
            continue
        _check_submodule(folder / name, commit, run, shown=prefix + name, above=folder)
        submodules[prefix + name] = commit
        yield from _tracked(folder / name, f"{prefix}{name}/", run, submodules)


def _check_submodule(path: Path, commit: str, run: Run, *, shown: str, above: Path) -> None:
    found = "it is not checked out"
    if (path / ".git").exists():
        head = git(run, path, "rev-parse", "--verify", "--quiet", "HEAD").stdout.strip()
        if head == commit:
            return
        found = f"it is at {head[:12] or 'no commit'}"
    raise _lacking(path, commit, found, shown=shown, above=above)


def _lacking(path: Path, commit: str, found: str, *, shown: str, above: Path) -> WainwrightError:
    return WainwrightError(
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
    address, access = confidential(url, siblings=True)
    try:
        cloned = git(
            run, clone.parent, *allowed, "clone", "--quiet", "--no-checkout", "--", address, str(clone), env=access
        )
        cloned.check("the repository cannot be cloned", code=Exit.BUILD, where=where)
        commit = _resolve(source.rev, clone, run, access)
        done = git(run, clone, "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", commit, env=access)
        done.check(f"{source.rev} cannot be checked out", code=Exit.BUILD, where=where)
        done = git(run, clone, *allowed, "submodule", "--quiet", "update", "--init", "--recursive", env=access)
        done.check(f"the submodules of {source.rev} cannot be had", code=Exit.BUILD, where=where)
        yield clone, commit
    finally:
        shutil.rmtree(clone, ignore_errors=True)


def _resolve(rev: str, clone: Path, run: Run, access: Mapping[str, str]) -> str:
    """Give the commit of a tag, a branch, a commit, or whatever else the repository gives out under that name."""
    for name in (f"refs/tags/{rev}", f"refs/remotes/origin/{rev}", rev):
        found = git(run, clone, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if found.ok:
            return found.stdout.strip()
    fetched = git(run, clone, "fetch", "--quiet", "origin", rev, env=access)
    if fetched.ok:
        return git(run, clone, "rev-parse", "--verify", "FETCH_HEAD^{commit}").stdout.strip()
    raise WainwrightError(
        f"the repository has no revision {rev!r}",
        where="project.source.rev",
        hint="a tag, a branch or a whole commit that was pushed",
        details=fetched.tail[-1:],
    )
