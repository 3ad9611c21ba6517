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
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from wainwright.auditing.processes import Loadable, Processes, folders_of, loads_with
from wainwright.formats.elf import Elf
from wainwright.light import Any, Final, dataclass

SITE: Final = "/prefix/lib/pythonX.Y/site-packages"  # a made-up place: the verdict knows no real one
ORIGIN: Final = re.compile(r"\$(?:ORIGIN\b|\{ORIGIN\})")
LOADER: Final = re.compile(r"ld-linux.*\.so\.[0-9]+|ld64\.so\.[12]|ld\.so\.1|ld-musl-.*\.so\.1")
# glibc's own parts, of which the interpreter's process has some from its start, and the others beside them
HELD: Final = frozenset({"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1"})
NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})
PYTHON_FOLDER: Final = re.compile(r"/python([23])\.([0-9]+)t?(?=/|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Each need that something inside meets, and what is inside but not found: both by (member, library).

    `providers` name the member that the loader takes; `misfits` one that it opens and cannot load (not ELF, or debug
    information); `unreached` members that bear the name, where no search path leads to them. `folders` are each
    member's search path. `sites` are the names in site-packages that the wheel's search paths lead to elsewhere.
    """

    providers: Mapping[tuple[str, str], str] = NOTHING
    misfits: Mapping[tuple[str, str], str] = NOTHING
    unreached: Mapping[tuple[str, str], tuple[str, ...]] = NOTHING
    folders: Mapping[str, tuple[str, ...]] = NOTHING


@lru_cache(maxsize=1024)
def always_held(library: str) -> bool:
    """Whether a process has this library before anything of a wheel is loaded: a copy inside is never taken."""
    return library in HELD or LOADER.fullmatch(library) is not None


def resolve(
    files: Iterable[Loadable], *, musl: bool = False, installs_on: Callable[[int, int], bool] = lambda *_: True
) -> Resolution:
    """Find the provider of each need inside the wheel.

    `installs_on` says for which Pythons the wheel is, by major and minor: a path may lead through such a one's folder.
    """
    search = _Search(tuple(files), musl=musl, installs_on=installs_on)
    search.follow()
    return search.result()


class _Search:
    """The loader's search over one wheel, every ELF member taken as the first one loaded."""

    def __init__(self, files: tuple[Loadable, ...], *, musl: bool, installs_on: Callable[[int, int], bool]) -> None:
        self.musl = musl
        self.installs_on = installs_on
        self.folders = _with_parents({SITE, *folders_of(files)})
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
        return tuple(self._expand(entry, file.folder) for entry in (elf.runpath if elf.hides_rpath else elf.rpath))

    def _inherits(self, file: Loadable) -> bool:
        return self.musl or (file.elf is not None and not file.elf.hides_rpath)

    def _expand(self, entry: str, folder: str) -> str:
        """Expand $ORIGIN, "the directory that contains the object"; other tokens lead nowhere inside."""
        path = ORIGIN.sub(lambda _: folder, entry)
        if not path.startswith("/"):
            return f"./{path}"  # the working directory's: never the wheel's
        path = PYTHON_FOLDER.sub(self._python, path)
        return self._followed(path) if ".." in path else posixpath.normpath(path)

    def _python(self, found: re.Match[str]) -> str:
        return "/pythonX.Y" if self.installs_on(int(found[1]), int(found[2])) else found[0]

    def _followed(self, path: str) -> str:
        """Go along a path as the kernel does: `nope/..` leads nowhere, where no folder nope is.

        In folders that the wheel alone fills, the others of site-packages being unknown.
        """
        at: list[str] = []
        for part in path.split("/"):
            if part in {"", "."}:
                continue
            if part != "..":
                at.append(part)
                continue
            here, above = f"/{'/'.join(at)}", f"/{'/'.join(at[:-1])}"
            if here not in self.folders and above in self.folders and above.startswith(f"{SITE}/"):
                return f"./{path}"
            at = at[:-1]
        return f"/{'/'.join(at)}"

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
            path, given = self._search_path(file), self._given(file)
            for library in elf.needed:
                provider = self.providers.get((member, library)) or self._find(file, elf, library, path)
                if provider is None:
                    continue
                self.providers[member, library] = provider
                held = self.inherited[provider]
                if provider != member and not given.keys() <= held.keys():
                    held.update(given)
                    waiting[provider] = None

    def _given(self, file: Loadable) -> dict[str, None]:
        """Give the RPATH that what a file loads inherits from it."""
        elf = file.elf
        passes = self.musl or (elf is not None and bool(elf.rpath) and not elf.hides_rpath)
        return dict.fromkeys((*(self.own[file.member] if passes else ()), *self.inherited[file.member]))

    def _find(self, file: Loadable, elf: Elf, library: str, path: tuple[str, ...]) -> str | None:
        if not self.musl and always_held(library):
            return None
        named = "/" in library
        for place in [self._expand(library, file.folder)] if named else [f"{folder}/{library}" for folder in path]:
            found = self.by_path.get(place)
            if found is None:
                continue
            if found.elf is None or not found.elf.dynamic:
                self.misfits.setdefault((file.member, library), found.member)
                return None
            if loads_with(found.elf, elf):
                self.misfits.pop((file.member, library), None)
                return found.member
        return None

    def result(self) -> Resolution:
        processes = Processes(self.providers, self.by_member)
        bearers = self._bearers()
        unreached: dict[tuple[str, str], tuple[str, ...]] = {}
        found: dict[tuple[str, str], str] = {}
        for file in self.asking:
            elf = file.elf
            for library in elf.needed if elf is not None else ():
                key = (file.member, library)
                if elf is None or key in self.providers or key in self.misfits:
                    continue
                if not self.musl and always_held(library):
                    continue
                sibling = processes.sibling(file.member, library, elf)
                if sibling is not None:
                    found[key] = sibling
                    continue
                inside = tuple(name for name in bearers.get(library, ()) if self._fits(name, elf))
                if inside:
                    unreached[key] = inside
        self.providers.update(found)
        folders = {file.member: self._search_path(file) for file in self.asking}
        return Resolution(providers=self.providers, misfits=self.misfits, unreached=unreached, folders=folders)

    def _fits(self, member: str, elf: Elf) -> bool:
        other = self.by_member[member].elf
        return other is not None and loads_with(other, elf)

    def _bearers(self) -> dict[str, list[str]]:
        """Which members bear a name, as their file's or as their soname."""
        bearers: defaultdict[str, list[str]] = defaultdict(list)
        for file in self.by_path.values():
            if file.elf is None or not file.elf.dynamic:
                continue
            for name in dict.fromkeys((file.name, file.elf.soname or file.name)):
                bearers[name].append(file.member)
        return bearers


def _with_parents(folders: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for folder in folders:
        at = folder
        while at not in found and at != "/":
            found.add(at)
            at = posixpath.dirname(at)
    return found


def origin_path(user: Loadable, library: Loadable) -> str:
    """Give the RPATH entry that would lead from one member to another: `$ORIGIN/../demo.libs`."""
    relative = posixpath.relpath(library.folder, user.folder)
    return "$ORIGIN" if relative == "." else f"$ORIGIN/{relative}"
