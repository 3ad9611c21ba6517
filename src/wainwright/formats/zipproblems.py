"""What is wrong with members that can be read: their names, their kind, and how they share the file."""

from __future__ import annotations

import posixpath
import re
import stat
from collections.abc import Iterator

from wainwright.formats.zipdirectory import Directory, Entry, Problem, shown
from wainwright.light import Final

PLAIN: Final = frozenset({0, stat.S_IFREG >> 12, stat.S_IFDIR >> 12})  # kinds of file, in the mode's highest bits
# In names between slashes: what is empty, absolute, or another way to write a path, and letters that mean more.
STRANGE: Final = ("//", "/./", "..", "\\", ":", "\0")


def unsafe(name: str) -> str:
    """Say why a name could reach outside the folder that it is unpacked into; empty when it could not."""
    if name.isascii() and not (".." in name or "\\" in name or ":" in name or "\0" in name or name[:1] in {"", "/"}):
        return ""  # as almost every name
    if not name:
        return "its name is empty"
    if "\0" in name:
        return "its name holds a NUL, where some readers end it"
    if "\\" in name:
        return "its name holds a backslash, a separator to some readers"
    if name.startswith("/"):
        return "its name is absolute"
    if re.match(r"[A-Za-z]:", name):
        return "its name begins with a drive letter"
    if ".." in name.split("/"):
        return "its name climbs out of its folder with .."
    if any("\udc80" <= letter <= "\udcff" for letter in name):
        return "its name is not UTF-8, as it says it is"
    return ""


def name_problems(entries: tuple[Entry, ...]) -> Iterator[Problem]:
    """Report members that an installer would write twice, outside, or as something else than a file."""
    return iter(()) if are_plain(entries) else each_name(entries)


def each_name(entries: tuple[Entry, ...]) -> Iterator[Problem]:
    seen: set[str] = set()
    for entry in entries:
        name = entry.name
        untidy = "//" in name or "/." in name or name[:1] == "." or name[-1:] == "/"
        path = posixpath.normpath(name) if untidy else name
        if path in seen:
            yield Problem(kind="duplicate", member=name, message="another member has this name")
        seen.add(path)
        why = unsafe(name)
        if why:
            yield Problem(kind="unsafe-name", member=name, message=why)
        kind = stat.S_IFMT(entry.external >> 16)
        if kind == stat.S_IFLNK:
            yield Problem(kind="symlink", member=name, message="it is a symbolic link")
        elif kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
            yield Problem(kind="special", member=name, message="it is neither a file nor a folder")


def are_plain(entries: tuple[Entry, ...]) -> bool:
    """Whether no name and no kind needs a look: asked of all at once, since wheels hold thousands."""
    names = [entry.name.removesuffix("/") for entry in entries]
    text = "/".join(["", *names, ""])
    return (
        text.isascii()
        and len({*names}) == len(names)
        and not any(sign in text for sign in STRANGE)
        and {entry.external >> 28 for entry in entries} <= PLAIN
    )


def layout_problems(
    directory: Directory, entries: tuple[Entry, ...], guilty: frozenset[str | None]
) -> Iterator[Problem]:
    """Report members that share bytes, and bytes that belong to no member.

    Of two that overlap the one is named that contradicts the directory anyway, else the one that reaches into the
    other: a hidden archive inside a member's data makes that member a lie.
    """
    starts, ends = [entry.start for entry in entries], [entry.end for entry in entries]
    if [*starts, directory.start] == [directory.shift, *ends]:  # as in almost every archive
        return
    located = sorted((entry for entry in entries if entry.end), key=lambda entry: (entry.start, entry.order))
    known = len(located) == len(entries)
    at, last = directory.shift, None
    for entry in located:
        if last and entry.start < at:
            known = False
            blamed = entry if entry.name in guilty or entry.start == last.start else last
            other = last if blamed is entry else entry
            message = f"it shares bytes of the archive with {shown(other.name)}"
            yield Problem(kind="overlap", member=blamed.name, message=message)
        elif entry.start > at and known:
            yield _gap(at, entry.start)
        if entry.end > at:
            at, last = entry.end, entry
    if known and directory.start > at:
        yield _gap(at, directory.start)


def _gap(start: int, end: int) -> Problem:
    return Problem(kind="archive", member=None, message=f"{end - start} bytes at {start} belong to no member")
