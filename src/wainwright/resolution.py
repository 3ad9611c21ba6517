"""Which library inside the wheel meets which need, found as the loader finds it: by file name along RPATH or RUNPATH.

glibc (`_dl_map_object`, ld.so(8)): a name that some loaded object already bears is not looked for again. Else, without
a DT_RUNPATH in the object that asks, the DT_RPATH of that object, then of the one that loaded it, and so on up; then
DT_RUNPATH of the object that asks. A file of another class or machine is passed over, one that is no ELF ends the load.
musl inherits either kind of path.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from wainwright.elf import Elf

SITE: Final = "/prefix/lib/pythonX.Y/site-packages"  # a made-up place: the verdict knows no real one
ORIGIN: Final = re.compile(r"\$(?:ORIGIN\b|\{ORIGIN\})")
PYTHON_FOLDER: Final = re.compile(r"/python[23]\.[0-9]+t?(?=/|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loadable:
    """A file of the wheel where installers put it; `path` begins with SITE, `elf` is None for what is no ELF.

    An `extension` is one that Python itself loads.
    """

    member: str
    path: str
    elf: Elf | None
    extension: bool = False

    @property
    def folder(self) -> str:
        return posixpath.dirname(self.path)

    @property
    def name(self) -> str:
        return posixpath.basename(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Each need that something inside meets, and what is inside but not found: both by (member, library).

    `providers` name the member that the loader takes; `misfits` one that it opens and cannot load (not ELF, or debug
    information); `unreached` members that bear the name, where no search path leads to them. `folders` are each
    member's search path. `sites` are the names in site-packages that the wheel's search paths lead to elsewhere.
    """

    providers: Mapping[tuple[str, str], str] = field(default_factory=dict)
    misfits: Mapping[tuple[str, str], str] = field(default_factory=dict)
    unreached: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    folders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def resolve(files: Iterable[Loadable], *, musl: bool = False) -> Resolution:
    """Find the provider of each need inside the wheel."""
    search = _Search(tuple(files), musl=musl)
    search.follow()
    return search.result()


class _Search:
    """The loader's search over one wheel, every ELF member taken as the first one loaded."""

    def __init__(self, files: tuple[Loadable, ...], *, musl: bool) -> None:
        self.musl = musl
        self.by_path = {file.path: file for file in files}
        self.by_member = {file.member: file for file in files}
        self.asking = [file for file in files if file.elf is not None and file.elf.needed]
        self.own: dict[str, tuple[str, ...]] = {file.member: self._own(file) for file in self.asking}
        self.inherited: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self.providers: dict[tuple[str, str], str] = {}
        self.misfits: dict[tuple[str, str], str] = {}

    def _own(self, file: Loadable) -> tuple[str, ...]:
        elf = file.elf
        if elf is None:
            return ()
        return tuple(_expand(entry, file.folder) for entry in elf.runpath or elf.rpath)

    def _inherits(self, file: Loadable) -> bool:
        return self.musl or (file.elf is not None and not file.elf.runpath)

    def _search_path(self, file: Loadable) -> tuple[str, ...]:
        own = self.own[file.member]
        if not self._inherits(file):
            return own
        return tuple(dict.fromkeys((*own, *self.inherited[file.member])))

    def follow(self) -> None:
        """Follow every need until nothing changes: what a provider inherits from its loader may let it find more."""
        waiting = dict.fromkeys(file.member for file in self.asking)
        while waiting:
            member = next(iter(waiting))
            del waiting[member]
            file = self.by_member[member]
            elf = file.elf
            if elf is None or member not in self.own:
                continue
            path = self._search_path(file)
            for library in elf.needed:
                provider = self.providers.get((member, library)) or self._find(file, elf, library, path)
                if provider is None:
                    continue
                self.providers[member, library] = provider
                if provider != member and self._pass_on(file, provider):
                    waiting[provider] = None

    def _pass_on(self, file: Loadable, provider: str) -> bool:
        """Give the provider its loader's RPATH; true when that is news to it."""
        elf = file.elf
        passes = self.musl or (elf is not None and bool(elf.rpath) and not elf.runpath)
        given = dict.fromkeys((*(self.own[file.member] if passes else ()), *self.inherited[file.member]))
        held = self.inherited[provider]
        news = given.keys() - held.keys()
        held.update(given)
        return bool(news)

    def _find(self, file: Loadable, elf: Elf, library: str, path: tuple[str, ...]) -> str | None:
        if "/" in library:
            places: tuple[str, ...] = (_expand(library, file.folder),)
        else:
            places = tuple(f"{folder}/{library}" for folder in path)
        for place in places:
            found = self.by_path.get(place)
            if found is None:
                continue
            if found.elf is None or not found.elf.dynamic:
                self.misfits.setdefault((file.member, library), found.member)
                return None
            if _loads_with(found.elf, elf):
                self.misfits.pop((file.member, library), None)
                return found.member
        return None

    def result(self) -> Resolution:
        loaded = self._loaded()
        bearers = self._bearers()
        unreached: dict[tuple[str, str], tuple[str, ...]] = {}
        for file in self.asking:
            elf = file.elf
            for library in elf.needed if elf is not None else ():
                key = (file.member, library)
                if elf is None or key in self.providers or key in self.misfits:
                    continue
                sibling = next((name for name in loaded.get(library, ()) if self._fits(name, elf)), None)
                if sibling is not None:
                    self.providers[key] = sibling
                    continue
                inside = tuple(name for name in bearers.get(library, ()) if self._fits(name, elf))
                if inside:
                    unreached[key] = inside
        folders = {file.member: self._search_path(file) for file in self.asking}
        return Resolution(providers=self.providers, misfits=self.misfits, unreached=unreached, folders=folders)

    def _fits(self, member: str, elf: Elf) -> bool:
        other = self.by_member[member].elf
        return other is not None and _loads_with(other, elf)

    def _loaded(self) -> dict[str, list[str]]:
        """Names that an object bears once a sibling has loaded it: the one asked for, and its soname.

        Python itself loads the extension modules, so their sonames count as well.
        """
        loaded: defaultdict[str, list[str]] = defaultdict(list)
        for (_, library), provider in self.providers.items():
            loaded[library].append(provider)
            self._bear(loaded, provider)
        for file in self.by_path.values():
            if file.extension and file.elf is not None and file.elf.soname:
                loaded[file.elf.soname].append(file.member)
        return loaded

    def _bear(self, loaded: defaultdict[str, list[str]], provider: str) -> None:
        elf = self.by_member[provider].elf
        if elf is not None and elf.soname:
            loaded[elf.soname].append(provider)

    def _bearers(self) -> dict[str, list[str]]:
        """Which members bear a name, as their file's or as their soname."""
        bearers: defaultdict[str, list[str]] = defaultdict(list)
        for file in self.by_path.values():
            if file.elf is None or not file.elf.dynamic:
                continue
            for name in dict.fromkeys((file.name, file.elf.soname or file.name)):
                bearers[name].append(file.member)
        return bearers


def _loads_with(library: Elf, user: Elf) -> bool:
    return (library.machine, library.bits, library.little) == (user.machine, user.bits, user.little)


def _expand(entry: str, folder: str) -> str:
    """Expand $ORIGIN, "the directory that contains the object", and normalise; other tokens lead nowhere inside."""
    path = ORIGIN.sub(lambda _: folder, entry)
    if not path.startswith("/"):
        return f"./{path}"  # the working directory's: never the wheel's
    return PYTHON_FOLDER.sub("/pythonX.Y", posixpath.normpath(path))


def origin_path(user: Loadable, library: Loadable) -> str:
    """Give the RPATH entry that would lead from one member to another: `$ORIGIN/../demo.libs`."""
    relative = posixpath.relpath(library.folder, user.folder)
    return "$ORIGIN" if relative == "." else f"$ORIGIN/{relative}"
