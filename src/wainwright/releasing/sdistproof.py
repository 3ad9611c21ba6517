"""Whether an sdist is that of the tag: its name and version, and every tracked file in it as the commit has it."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from wainwright.formats.wheelfile import parse_metadata

LIMIT: Final = 64 << 20  # bytes of one member that is read
# setuptools writes what it was told into this one, tracked or not.
REWRITTEN: Final = frozenset({"setup.cfg"})


def objections(path: Path, *, name: str, version: str, tracked: Mapping[str, str]) -> Iterator[str]:
    """Say what speaks against an sdist.

    `tracked` holds git's blob ids by path, empty for a source outside git. Files that git does not track are what the
    build backend adds, and are let be.
    """
    try:
        with tarfile.open(path, "r:gz") as archive:
            top = f"{path.name.removesuffix('.tar.gz')}/"
            yield from _identity(_read(archive, f"{top}PKG-INFO"), name=name, version=version)
            for member in archive:
                inside = member.name.removeprefix(top)
                blob = tracked.get(inside)
                if blob is None or inside in REWRITTEN or not member.isfile():
                    continue
                if _blob(_read(archive, member.name), blob) != blob:
                    yield f"{inside} in it is not the tagged one"
    except (tarfile.TarError, OSError, EOFError, KeyError, UnicodeDecodeError) as error:
        yield f"it cannot be read: {error}"


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    member = archive.extractfile(name)
    data = member.read(LIMIT + 1) if member else b""
    if len(data) > LIMIT:
        raise tarfile.ReadError(f"{name} has more than {LIMIT} bytes")
    return data


def _identity(text: bytes, *, name: str, version: str) -> Iterator[str]:
    metadata = parse_metadata(text.decode())
    if canonicalize_name(metadata.name) != canonicalize_name(name):
        yield f"its PKG-INFO names {metadata.name}, and the project is {name}"
    try:
        same = Version(metadata.version) == Version(version)
    except InvalidVersion:
        same = False
    if not same:
        yield f"its PKG-INFO has version {metadata.version}, and the tag stands for {version}"


def _blob(data: bytes, like: str) -> str:
    """Hash as git does: sha1, or sha256 in repositories of that format."""
    kind = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    return kind(b"blob %d\0" % len(data) + data).hexdigest()
