"""Which libraries of a wheel share a process, so that one finds what another has loaded before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from wainwright.formats.elf import ET_EXEC, Elf
from wainwright.light import NamedTuple


class Loadable(NamedTuple):
    """A file of the wheel where installers put it; a tuple, since wheels hold thousands.

    `path` begins with SITE, `elf` is None for what is no ELF. An `extension` is one that Python itself loads.
    """

    member: str
    path: str
    elf: Elf | None
    extension: bool = False

    @property
    def folder(self) -> str:
        return _folder(self.path.rpartition("/")[0])

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def _folder(path: str) -> str:
    return path.rstrip("/") or "/"


def folders_of(files: Iterable[Loadable]) -> frozenset[str]:
    """Give every file's folder."""
    return frozenset(map(_folder, {file.path.rpartition("/")[0] for file in files}))


def is_program(elf: Elf) -> bool:
    """Whether it is started as a process; libraries with an interpreter, as libc.so.6 is, have a soname too."""
    return elf.kind == ET_EXEC or elf.pie or (elf.interpreter is not None and not elf.soname)


class Processes:
    """Which names some object bears in a process already: Python's with its extension modules, and each program's own.

    A library that neither an extension nor a program leads to may be loaded by either (dlopen): all names count for it.
    """

    def __init__(self, providers: Mapping[tuple[str, str], str], by_member: Mapping[str, Loadable]) -> None:
        self.by_member = by_member
        self.children: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for (member, library), provider in providers.items():
            self.children[member].append((library, provider))
        native = {name: file.elf for name, file in by_member.items() if file.elf is not None}
        extensions = [name for name in native if by_member[name].extension]
        programs = [name for name, elf in native.items() if is_program(elf) and not by_member[name].extension]
        started = {name: self._closure([name]) for name in programs}
        self.of_extensions = self._closure(extensions)
        alone = {name for closure in started.values() for name in closure} - self.of_extensions
        self.everything = self._names(native, extensions)
        self.python = (
            self._names([name for name in native if name not in alone], extensions) if alone else self.everything
        )
        self.programs = [(closure, self._names(closure, ())) for closure in started.values()]

    def _closure(self, roots: Iterable[str]) -> set[str]:
        seen = set(roots)
        waiting = list(seen)
        while waiting:
            news = {provider for _, provider in self.children.get(waiting.pop(), ())} - seen
            seen |= news
            waiting.extend(news)
        return seen

    def _names(self, members: Iterable[str], extensions: Iterable[str]) -> dict[str, list[str]]:
        """Names that objects bear once these members are loaded: the one asked for, and the soname.

        Python itself loads the extension modules, so their sonames count as well.
        """
        names: defaultdict[str, list[str]] = defaultdict(list)
        for member in members:
            for library, provider in self.children.get(member, ()):
                names[library].append(provider)
                self._bear(names, provider)
        for member in extensions:
            self._bear(names, member)
        return names

    def _bear(self, names: defaultdict[str, list[str]], member: str) -> None:
        elf = self.by_member[member].elf
        if elf is not None and elf.soname:
            names[elf.soname].append(member)

    def sibling(self, member: str, library: str, elf: Elf) -> str | None:
        """Give the member that bears the name in each process that this one is loaded into; None if any lacks it."""
        processes = [names for closure, names in self.programs if member in closure]
        if member in self.of_extensions:
            processes.append(self.python)
        found = None
        for names in processes or [self.everything]:
            found = next((name for name in names.get(library, ()) if self._fits(name, elf)), None)
            if found is None:
                return None
        return found

    def _fits(self, member: str, elf: Elf) -> bool:
        other = self.by_member[member].elf
        return other is not None and loads_with(other, elf)


def loads_with(library: Elf, user: Elf) -> bool:
    return (library.machine, library.bits, library.little) == (user.machine, user.bits, user.little)
