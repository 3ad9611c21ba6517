"""Each needed library's fate: inside, allowed by the policy, excluded, provided by another wheel, or missing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from wainwright.auditing.claims import Claim
from wainwright.auditing.policy import LOADERS, Policies
from wainwright.auditing.requirements import applies
from wainwright.auditing.resolution import SITE, Resolution
from wainwright.auditing.terms import Outside, Pattern, Terms
from wainwright.auditing.verdict import Libraries
from wainwright.formats.elf import Elf
from wainwright.light import Final, dataclass
from wainwright.values import Glibc

# How copies are told apart: by auditwheel (libz-1d0d8f4e.so.1) and by PyTorch's own scripts (libz.1d0d8f4e.so.1)
HASH: Final = re.compile(r"-[0-9a-f]{8}(?:[0-9a-f]{8})*(?=[.-])|\.[0-9a-f]{8}(?=\.so)")
# What belongs to the machine's graphics driver or to its loaders: a copy in a wheel does not fit the kernel module. The
# versions are theirs; ANGLE's libEGL.so and Khronos' libOpenCL.so.1, which wheels rightly carry, are not among them.
DRIVERS: Final = re.compile(
    r"lib(?:cuda|cudadebugger|nvidia-.*|nvcuvid|nvoptix|vulkan|(?:GLX|EGL)_.*)\.so.*"
    r"|lib(?:GL|EGL)\.so\.1.*|lib(?:GLX|GLdispatch|OpenGL)\.so\.0.*"
)
PROJECT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
NEWEST: Final = Glibc(9999, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fates:
    """What became of every needed name. `allowed` are the names of each claim's policy; `matched` is by pattern.

    `guessed` are provided libraries with the distribution of Requires-Dist into whose folder a search path leads.
    `hidden` are needs that only excluded libraries have: out of sight, yet needed where the wheel runs.
    """

    libraries: Libraries
    matched: Mapping[str, tuple[str, ...]]
    guessed: Mapping[str, str]
    hidden: Mapping[str, tuple[str, ...]]


def plain_name(name: str) -> str:
    """Give a library's own name: `libgomp-a34b3233.so.1.0.0` is `libgomp.so.1.0.0`."""
    return HASH.sub("", name)


def patterns_of(terms: Terms) -> tuple[Pattern, ...]:
    """Give the patterns whose matches are told; those that must match come first."""
    return (*terms.exclude, *(pattern for pattern, _ in terms.provided_by), *terms.exclude_optional)


class Sorter:
    """Sorts needed names into fates; one for each wheel."""

    def __init__(
        self,
        terms: Terms,
        outside: Sequence[Outside],
        allowed: frozenset[str],
        requires: tuple[str, ...],
        folders: frozenset[str],
    ) -> None:
        self.terms = terms
        self.by_name: dict[str, Outside] = {}
        for library in outside:
            for name in (library.soname, library.name):
                self.by_name.setdefault(name, library)
            self.by_name[library.name] = library
        self.allowed = allowed
        self.requires = requires
        self.folders = folders
        self.fates: dict[str, dict[str, None]] = {
            fate: {} for fate in ("inside", "policy", "excluded", "provided", "missing")
        }
        self.needed_by: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self.matched: dict[str, dict[str, None]] = {pattern.text: {} for pattern in patterns_of(terms)}
        self.guessed: dict[str, str] = {}
        self.patterns: dict[str, tuple[Pattern, ...]] = {}

    def sort(self, objects: Iterable[tuple[str, Elf]], resolution: Resolution) -> Fates:
        for member, elf in objects:
            for library in elf.needed:
                self.needed_by[library][member] = None
                self.fates[self._fate(member, library, resolution)][library] = None
        self._follow_outside()
        hidden = self._hidden()
        fates = {fate: tuple(sorted(names)) for fate, names in self.fates.items()}
        needed_by = tuple((name, tuple(sorted(who))) for name, who in sorted(self.needed_by.items()))
        return Fates(
            libraries=Libraries(**fates, needed_by=needed_by),
            matched={text: tuple(sorted(names)) for text, names in self.matched.items()},
            guessed=self.guessed,
            hidden=hidden,
        )

    def _fate(self, member: str, library: str, resolution: Resolution) -> str:
        patterns = self._match(library)
        if (member, library) in resolution.providers:
            return "inside"
        if library in self.allowed:
            return "policy"
        if any(pattern in patterns for pattern, _ in self.terms.provided_by):
            return "provided"
        if patterns:
            return "excluded"
        if (member, library) not in resolution.unreached and (member, library) not in resolution.misfits:
            guess = self._neighbour(library, resolution.folders.get(member, ()))
            if guess and library not in self.by_name:
                self.guessed[library] = guess
                return "provided"
        return "missing"

    def _match(self, library: str) -> tuple[Pattern, ...]:
        if library not in self.patterns:
            self.patterns[library] = self._find_patterns(library)
        return self.patterns[library]

    def _find_patterns(self, library: str) -> tuple[Pattern, ...]:
        patterns = patterns_of(self.terms)
        if not patterns:
            return ()
        known = self.by_name.get(library) or _unseen(library)
        found = tuple(pattern for pattern in patterns if pattern.matches(known) or pattern.matches_name(library))
        for pattern in found:
            self.matched[pattern.text][known.real_path or library if pattern.is_path else library] = None
        return found

    def _neighbour(self, library: str, folders: Iterable[str]) -> str | None:
        """Name the distribution of Requires-Dist into whose folder a search path leads, where both share a name.

        It is a guess that spares people who publish wheels which belong together; the driver comes with no wheel.
        """
        if DRIVERS.fullmatch(library):
            return None
        related: list[tuple[int, str]] = []
        for folder in folders:
            if folder.startswith(f"{SITE}/") and folder not in self.folders:
                top = _word(folder[len(SITE) + 1 :].split("/")[0])
                related += [(_kinship(library, top, words), text) for text, words in self._required]
        nearest = sorted((pair for pair in related if pair[0]), key=lambda pair: -pair[0])
        name = PROJECT.match(next((text for _, text in nearest if applies(text)), ""))
        return name[0] if name else None

    @cached_property
    def _required(self) -> tuple[tuple[str, tuple[list[str], list[str]]], ...]:
        return tuple((requirement, _words(requirement)) for requirement in self.requires)

    def _follow_outside(self) -> None:
        """Follow what missing libraries need in turn, where their copies say so: all are missing, or none."""
        waiting = [name for name in self.fates["missing"] if name in self.by_name]
        seen = set(waiting)
        while waiting:
            name = waiting.pop()
            for library in self.by_name[name].needed:
                self.needed_by[library][name] = None
                if any(library in names for names in self.fates.values()):
                    continue
                patterns = self._match(library)
                fate = "policy" if library in self.allowed else "excluded" if patterns else "missing"
                self.fates[fate][library] = None
                if fate == "missing" and library in self.by_name and library not in seen:
                    seen.add(library)
                    waiting.append(library)

    def _hidden(self) -> dict[str, tuple[str, ...]]:
        hidden: dict[str, tuple[str, ...]] = {}
        known = {name for fate in ("inside", "policy", "missing", "provided") for name in self.fates[fate]}
        waiting = list(self.fates["excluded"])
        seen = set(waiting)
        while waiting:
            name = waiting.pop()
            needed = self.by_name[name].needed if name in self.by_name else ()
            out = tuple(lib for lib in needed if lib not in known and lib not in self.allowed and lib not in seen)
            if out:
                hidden[name] = out
            seen.update(out)
            waiting.extend(out)
        return hidden


def is_musl_library(name: str) -> bool:
    """Whether a needed name is musl's libc, as Alpine spells it or as musl does."""
    return name == "libc.so" or name.startswith(("libc.musl-", "ld-musl-"))


def _unseen(library: str) -> Outside:
    from pathlib import Path

    return Outside(name=library, soname=library, path="", real_path="", copy=Path())


def _word(name: str) -> str:
    return re.sub(r"[-_.]", "", name.lower())


def _words(requirement: str) -> tuple[list[str], list[str]]:
    """Give the words of a requirement's name, and those of its extras: of `cuda-toolkit[cublas,cudart]`."""
    name, _, extras = requirement.lower().partition(";")[0].partition("[")
    return re.findall(r"[a-z0-9]+", name), re.findall(r"[a-z0-9]+", extras.partition("]")[0])


def _kinship(library: str, top: str, required: tuple[list[str], list[str]]) -> int:
    """Say how nearly a library and a requirement whose folder is `top` share a name; 0 where they do not.

    libz3.so.4.15 and z3-solver, libcudart.so.13 and cuda-toolkit[cublas,cudart].
    """
    stem = _word(library.partition(".so")[0].removeprefix("lib"))
    words, offered = required
    joined = "".join(words)
    if stem in offered:
        return 4
    if any(word in stem for word in offered):
        return 3
    if top not in joined and joined not in top:
        return 0
    if stem in words:
        return 2
    return int(stem in joined or any(word in stem for word in words if len(word) > 1 and not word.isdigit()))


def allowed_names(claims: Sequence[Claim], policies: Policies, arch: str | None, *, musl: bool) -> frozenset[str]:
    """Give the libraries that every system of the claims has; without a claim, those of the newest policy."""
    loaders = frozenset(LOADERS.values())
    same = [claim for claim in claims if (claim.libc == "musl") == musl]
    same = [claim for claim in same if claim.policy.arch == arch] or same
    if same:
        return frozenset.intersection(*(claim.policy.libraries for claim in same)) | (frozenset() if musl else loaders)
    libc = "musl" if musl else "glibc"
    known = policies.arches(libc)
    of = arch if arch in known else "x86_64"
    policy = policies.musl(NEWEST, of) if musl else policies.at(NEWEST, of)
    return policy.libraries | (frozenset() if musl else loaders)
