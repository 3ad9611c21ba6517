"""Published sdists: fetched by pip with its own configuration, without running their build, and unpacked safely."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

from wainwright.completed import Completed, Run
from wainwright.declaration.release import Sdist
from wainwright.errors import Exit, WainwrightError

# pip asks an sdist's build backend for metadata even to download it; meson-python then looks for a compiler, and others
# install half an index first. This answers in the backend's place, in the process that pip starts for the question.
_ANSWER: Final = """\
import os
import sys
import types

backend = os.environ.get("_PYPROJECT_HOOKS_BUILD_BACKEND") or os.environ.get("PEP517_BUILD_BACKEND")
if backend:
    name, version = os.environ["WAINWRIGHT_SDIST"].split("==")

    def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
        folder = f"{name.replace('-', '_')}-{version}.dist-info"
        os.mkdir(os.path.join(metadata_directory, folder))
        with open(os.path.join(metadata_directory, folder, "METADATA"), "w") as file:
            file.write(f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
        return folder

    module, _, path = backend.partition(":")
    answer = types.ModuleType(module)
    answer.__file__ = os.path.join(os.getcwd(), "answer.py")  # old pips look whether a backend-path holds it
    answer.prepare_metadata_for_build_wheel = prepare_metadata_for_build_wheel
    for part in filter(None, path.split(".")):
        setattr(answer, part, answer)
    sys.modules[module] = answer
"""
# What the standard library raises for archives that are no archives, cut short, encrypted, or that link to nothing.
_BROKEN: Final = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, LookupError, RuntimeError, ValueError)
_ABSENT: Final = ("No matching distribution found", "Could not find a version that satisfies")
_OFFLINE: Final = ("NewConnectionError", "Failed to establish", "Connection", "Temporary failure in name resolution")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """An sdist on this machine."""

    path: Path
    sha256: str


def fetch_sdist(sdist: Sdist, *, run: Run, cache: Path) -> Fetched:
    """Give the sdist's file, from `cache` when it was fetched before; raises WainwrightError if there is none."""
    home = cache.absolute() / "sdists" / f"{sdist.name}-{sdist.version}"
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".tmp-", dir=home.parent) as temporary:
            got = Path(temporary, "got")
            _download(sdist, got, Path(temporary), run)
            try:
                got.rename(home)
            except OSError:
                if not home.exists():  # else another process was first
                    raise
    files = sorted(home.iterdir())
    if len(files) != 1:
        raise WainwrightError(
            f"expected one sdist in {home}, found {len(files)} files", code=Exit.BUILD, hint="remove that folder"
        )
    return Fetched(path=files[0], sha256=hashlib.sha256(files[0].read_bytes()).hexdigest())


def _download(sdist: Sdist, target: Path, temporary: Path, run: Run) -> None:
    answer = temporary / "answer"
    answer.mkdir()
    (answer / "sitecustomize.py").write_text(_ANSWER, encoding="utf-8")
    pythonpath = os.pathsep.join(filter(None, [str(answer), os.environ.get("PYTHONPATH")]))
    # That name alone: with `:all:`, pip would also compile CMake and the like from source.
    plain = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    plain += ["--no-deps", "--no-binary", sdist.name, "--dest", str(target), f"{sdist.name}=={sdist.version}"]
    pinned = f"{sdist.name}=={sdist.version}"
    done = run(
        [*plain, "--no-build-isolation", "--use-pep517"],
        env={**os.environ, "PYTHONPATH": pythonpath, "WAINWRIGHT_SDIST": pinned},
    )
    if not done.ok and not _says(done, _ABSENT):
        done = run(plain)  # a pip that asks in another way: let it have the metadata as it likes
    if not done.ok:
        raise _failure(done, pinned)


def _says(done: Completed, texts: tuple[str, ...]) -> bool:
    return any(text in line for line in done.tail for text in texts)


def _failure(done: Completed, pinned: str) -> WainwrightError:
    errors = [line for line in done.tail if line.startswith("ERROR:")] or list(done.tail)
    absent = _says(done, _ABSENT) and not _says(done, _OFFLINE)
    return WainwrightError(
        f"there is no sdist {pinned}" if absent else f"the sdist {pinned} cannot be fetched ({done.ending})",
        code=Exit.USAGE if absent else Exit.BUILD,
        where="project.source.sdist",
        hint="look at its name and version; pip asks the index that its own configuration names",
        details=tuple(errors[-1:]) if absent else done.tail[-10:],
    )


def unpack(archive: Path, target: Path) -> None:
    """Unpack an sdist's one top folder as `target`; raises WainwrightError for what would land outside it."""
    with tempfile.TemporaryDirectory(prefix=".tmp-", dir=target.parent) as temporary:
        inside = Path(temporary, "inside")
        inside.mkdir()
        try:
            for member in _members(archive):
                _put(member, inside, archive.name)
        except _BROKEN as error:
            raise WainwrightError(
                f"the sdist cannot be unpacked: {error}", code=Exit.BUILD, where=archive.name
            ) from error
        top = [path for path in inside.iterdir() if path.is_dir() and not path.is_symlink()]
        if len(top) != 1:
            raise WainwrightError(
                f"an sdist holds one folder NAME-VERSION, and this one holds {len(top)}",
                code=Exit.BUILD,
                where=archive.name,
            )
        top[0].rename(target)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """One member: a folder (neither stream nor link), a symbolic link, another member's copy, or a file."""

    name: str
    mode: int
    stream: IO[bytes] | None = None
    symlink: str | None = None


def _members(archive: Path) -> Iterator[_Member]:
    """Read a tar or zip archive; the standard library's own filter is missing from early releases of 3.10 and 3.11."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as container:
            for entry in container.infolist():
                mode = entry.external_attr >> 16
                if entry.is_dir():
                    yield _Member(name=entry.filename, mode=0o755)
                elif stat.S_ISLNK(mode):
                    yield _Member(name=entry.filename, mode=0, symlink=container.read(entry).decode())
                else:
                    with container.open(entry) as stream:
                        yield _Member(name=entry.filename, mode=mode or 0o644, stream=stream)
        return
    with tarfile.open(archive) as tar:
        for info in tar:
            if info.isdir():
                yield _Member(name=info.name, mode=0o755)
            elif info.issym():
                yield _Member(name=info.name, mode=0, symlink=info.linkname)
            elif info.isfile() or info.islnk():  # of a hard link, extractfile gives the file that it points at
                yield _Member(name=info.name, mode=info.mode, stream=tar.extractfile(info))
            elif info.type not in {tarfile.XGLTYPE, tarfile.XHDTYPE}:
                raise ValueError(f"{info.name!r} is a device or a pipe")


def _put(member: _Member, inside: Path, archive: str) -> None:
    """Write one member below `inside`, where it must stay, also by way of links that came before it."""
    where = f"{archive}: {member.name}"
    parts = PurePosixPath(member.name).parts
    path = inside.joinpath(*parts)
    if not parts and member.stream is None and member.symlink is None:
        return  # "./"
    through = any(parent.is_symlink() for parent in path.parents if parent.is_relative_to(inside))
    if not parts or parts[0].startswith("/") or ".." in parts or "\0" in member.name or through:
        raise WainwrightError("a member would land outside the folder", code=Exit.BUILD, where=where)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        path.unlink()
    if member.symlink is not None:
        reached = os.path.normpath("/".join([*parts[:-1], member.symlink]))
        if member.symlink.startswith("/") or reached.split("/")[0] in {"..", ""}:
            raise WainwrightError("a link points outside the folder", code=Exit.BUILD, where=where)
        path.unlink(missing_ok=True)
        path.symlink_to(member.symlink)
    elif member.stream is not None:
        with path.open("wb") as out:
            shutil.copyfileobj(member.stream, out, 1 << 20)
        path.chmod(0o755 if member.mode & 0o111 else 0o644)
    else:
        path.mkdir(exist_ok=True)
