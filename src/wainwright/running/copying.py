"""Files on their way into a container, as a tar stream, and where they are to lie once they have come out of one."""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Final

BLOCK: Final = 1 << 20


def pack(files: Mapping[str, Path], sink: IO[bytes], *, below: str) -> None:
    """Write a tar of `files`, by their absolute path in the container; all of it belongs to root.

    Folders of these paths from `below` on are made on the way; those above it are there already, as they are.
    """
    made: set[PurePosixPath] = set()
    with tarfile.open(fileobj=sink, mode="w|", bufsize=BLOCK, format=tarfile.PAX_FORMAT) as tar:
        tar.copybufsize = BLOCK  # type: ignore[attr-defined]  # its default of 16 KiB makes large wheels slow
        for target, source in files.items():
            for parent in reversed(PurePosixPath(target).parents):
                if parent.is_relative_to(below) and parent not in made:
                    made.add(parent)
                    folder = tarfile.TarInfo(str(parent).lstrip("/"))
                    folder.type, folder.mode = tarfile.DIRTYPE, 0o755
                    tar.addfile(folder)
            # A path that is named is meant, not the link that it may be; links inside a folder stay links.
            tar.add(source.resolve(), arcname=target.lstrip("/"), filter=_as_root)
        # The end marker is the last of the stream, as if it filled its record: podman reads no further, and fails when
        # there is more.
        tar.offset = tarfile.RECORDSIZE - 2 * tarfile.BLOCKSIZE


def _as_root(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if not (info.isfile() or info.isdir() or info.issym() or info.islnk()):
        return None  # a socket or a pipe is nothing to build from
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def settle(copied: Path, target: Path) -> None:
    """Move what was copied out to `target`; a folder that is there already gains the members of the new one."""
    if not copied.is_dir() or copied.is_symlink():
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        copied.replace(target)
        return
    # A folder that was read-only in there must not become one that nobody here can remove.
    copied.chmod(copied.stat().st_mode | stat.S_IRWXU)
    if not target.is_dir():
        _writable(copied)
        copied.replace(target)
        return
    for child in copied.iterdir():
        settle(child, target / child.name)


def _writable(folder: Path) -> None:
    for path, folders, _ in os.walk(folder):
        for name in folders:
            child = Path(path) / name
            if not child.is_symlink():
                child.chmod(child.stat().st_mode | stat.S_IRWXU)
