"""Whether an sdist is that of the tag: its name and version, and every tracked file in it as the commit has it."""

from __future__ import annotations

import hashlib
import posixpath
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
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
    top = path.name.removesuffix(".tar.gz")
    try:
        with tarfile.open(path, "r:gz") as archive:
            members, wrong = _unpacked(archive, top)
            yield from wrong
            info = members.pop(f"{top}/PKG-INFO", None)
            if info is None or not info.isfile():
                yield "it has no PKG-INFO"
            else:
                yield from _identity(_read(archive, info), name=name, version=version)
            for place, member in members.items():
                inside = place.removeprefix(f"{top}/")
                if not _is_tagged(archive, member, inside, tracked):
                    yield f"{inside} in it is not the tagged one"
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        yield f"it cannot be read: {error}"


def _unpacked(archive: tarfile.TarFile, top: str) -> tuple[dict[str, tarfile.TarInfo], list[str]]:
    """Give the members by where they would lie, and a line for each that would not lie there alone.

    Otherwise two spellings of one path, or a link, could put something else in the place of a file that was compared.
    """
    members: dict[str, tarfile.TarInfo] = {}
    wrong: list[str] = []
    for member in archive:
        place = posixpath.normpath(member.name)
        known = members.get(place)
        if place == "." and member.isdir():
            continue
        if ".." in PurePosixPath(member.name).parts or place.partition("/")[0] != top:
            wrong.append(f"{member.name} in it is outside {top}/")
        elif known is not None and not (known.isdir() and member.isdir()):
            wrong.append(f"{place.removeprefix(f'{top}/')} is in it twice")
        elif not (member.isfile() or member.isdir() or member.issym()):
            wrong.append(f"{place.removeprefix(f'{top}/')} in it is neither a file nor a folder")
        else:
            members[place] = member
    wrong += [
        f"{place.removeprefix(f'{top}/')} in it is below {folder}, which is no folder"
        for place in members
        for folder in map(str, PurePosixPath(place).parents)
        if folder in members and not members[folder].isdir()
    ]
    return members, wrong


def _is_tagged(archive: tarfile.TarFile, member: tarfile.TarInfo, inside: str, tracked: Mapping[str, str]) -> bool:
    """Whether a member is as the commit has it, or nothing that the commit has; a link must be the commit's own."""
    blob = tracked.get(inside)
    if member.issym():
        return blob is not None and _blob(member.linkname.encode("utf-8", "surrogateescape"), blob) == blob
    if blob is None or inside in REWRITTEN or not member.isfile():
        return True
    return _blob(_read(archive, member), blob) == blob


def _read(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    data = file.read(LIMIT + 1) if file else b""
    if len(data) > LIMIT:
        raise tarfile.ReadError(f"{member.name} has more than {LIMIT} bytes")
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
