"""The source of a release as a clean tree with a digest: a folder, a published sdist, or a revision in git."""

from __future__ import annotations

import configparser
import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import Any, Final

import tomli

from wainwright.completed import Run
from wainwright.declaration.release import Directory, Git, Sdist
from wainwright.errors import Exit, WainwrightError
from wainwright.sourcing.gitfiles import checked_out, copy_committed, copy_tracked, is_in_git
from wainwright.sourcing.sdists import fetch_sdist, unpack

_NOT_SOURCE: Final = frozenset({".git", "__pycache__", ".nox", ".tox", ".venv"})  # wherever they are
_PIPELINE: Final = frozenset({b"release.toml", b"release.lock"})
_RESULTS: Final = frozenset({"dist", "wheelhouse", "build"})  # at the top alone: packages have folders of that name


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A clean copy of the source at `path`.

    `digest` is the sha256, in hex, over names, executable bits and contents; no time and no place counts. `name` and
    `version` are as far as the source says them without being built. `origin` goes into the receipt.
    """

    path: Path
    digest: str
    name: str | None
    version: str | None
    origin: Mapping[str, Any]


def prepare(
    source: Directory | Sdist | Git, target_folder: Path, *, run: Run, cache: Path, commit: str | None = None
) -> Prepared:
    """Make `target_folder` the clean copy of the source, whatever it was before; raises WainwrightError.

    Of a folder in git that is what the `commit` has, without one what git tracks as it lies there.
    """
    try:
        target_folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".tmp-", dir=target_folder.parent) as temporary:
            tree = Path(temporary).resolve() / "source"
            leave = (target_folder.resolve(), tree.parent)
            origin = _fill(source, tree, run, cache, leave=leave, commit=commit)
            digest = digest_of(tree)
            if target_folder.exists():
                shutil.rmtree(target_folder)
            tree.replace(target_folder)
    except OSError as error:
        raise WainwrightError(
            f"the source cannot be copied: {error.strerror or error}",
            code=Exit.BUILD,
            where=str(error.filename or target_folder),
        ) from error
    name, version = _told_by(target_folder)
    if isinstance(source, Sdist):
        name, version = name or source.name, version or source.version
    return Prepared(path=target_folder, digest=digest, name=name, version=version, origin=origin)


def identify(source: Directory | Sdist | Git) -> tuple[str | None, str | None]:
    """Give name and version as far as they are known without fetching or building anything."""
    if isinstance(source, Sdist):
        return source.name, source.version
    return _told_by(source.path) if isinstance(source, Directory) else (None, None)


def _fill(
    source: Directory | Sdist | Git, tree: Path, run: Run, cache: Path, *, leave: tuple[Path, ...], commit: str | None
) -> Mapping[str, Any]:
    if isinstance(source, Sdist):
        fetched = fetch_sdist(source, run=run, cache=cache)
        unpack(fetched.path, tree)
        return {"sdist": source.requirement, "file": fetched.path.name, "sha256": fetched.sha256}
    if isinstance(source, Git):
        url = re.sub(r"(?<=://)[^/@\s]+@", "", source.url)
        with checked_out(source, tree.parent / "clone", run) as (clone, head):
            return {"git": url, "rev": source.rev, **copy_tracked(clone, tree, run), "commit": head}
    if not source.path.is_dir():
        raise WainwrightError("no such folder", where=f"project.source: {source.path}")
    if is_in_git(source.path):
        copied = copy_committed(source.path, commit, tree, run) if commit else copy_tracked(source.path, tree, run)
        return {"directory": str(source.path), **copied}
    top = source.path.resolve()

    def left_out(folder: str, names: list[str]) -> set[str]:
        here = Path(folder).resolve()
        unwanted = _NOT_SOURCE | _RESULTS if here == top else _NOT_SOURCE
        return {name for name in names if name in unwanted or here / name in leave or _is_special(here / name)}

    shutil.copytree(top, tree, symlinks=True, ignore=left_out)
    return {"directory": str(source.path), "commit": None}


def _is_special(path: Path) -> bool:
    mode = path.lstat().st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def digest_of(tree: Path) -> str:
    """Hash a tree: every name with its kind, executable bit and contents, in the order of the names' bytes.

    The pipeline's own files are left out: a stage knows what of them concerns it.
    """
    total = hashlib.sha256()
    for name, path in sorted(_walk(os.fsencode(tree), b"")):
        if name in _PIPELINE:
            continue
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            kind, content = b"link", hashlib.sha256(os.readlink(path)).hexdigest()  # noqa: PTH115 - in bytes
        elif stat.S_ISDIR(mode):
            kind, content = b"folder", ""
        else:
            kind = b"program" if mode & stat.S_IXUSR else b"file"
            content = _sha256(path)
        total.update(b"%s\0%s\0%s\n" % (kind, name, content.encode()))
    return total.hexdigest()


def _walk(folder: bytes, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            yield prefix + entry.name, entry.path
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path, prefix + entry.name + b"/")


def _sha256(path: bytes) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:  # noqa: PTH123 - a name in bytes, that need not be text
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _told_by(tree: Path) -> tuple[str | None, str | None]:
    """Read name and version where they are static: PKG-INFO (an sdist's), [project] of pyproject.toml, setup.cfg."""
    name = version = None
    for read in (_pkg_info, _pyproject, _setup_cfg):
        try:
            told = read(tree)
        except (OSError, ValueError, RecursionError, configparser.Error):  # broken: whoever builds it will say so
            continue
        name, version = name or told[0], version or told[1]
    return name, version


def _pkg_info(tree: Path) -> tuple[str | None, str | None]:
    headers = HeaderParser().parsestr((tree / "PKG-INFO").read_text(encoding="utf-8", errors="replace"))
    return headers["Name"], headers["Version"]


def _pyproject(tree: Path) -> tuple[str | None, str | None]:
    project = tomli.loads((tree / "pyproject.toml").read_text(encoding="utf-8")).get("project")
    table = project if isinstance(project, dict) else {}
    name, version = table.get("name"), table.get("version")
    return name if isinstance(name, str) else None, version if isinstance(version, str) else None


def _setup_cfg(tree: Path) -> tuple[str | None, str | None]:
    parser = configparser.RawConfigParser()
    parser.read_string((tree / "setup.cfg").read_text(encoding="utf-8"))
    version = parser.get("metadata", "version", fallback=None)
    if version is not None and version.startswith(("attr:", "file:")):
        version = None
    return parser.get("metadata", "name", fallback=None), version
