"""What a variant adds to the platform's policy when a wheel is judged: libraries by pattern, rules by name."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from fnmatch import fnmatchcase

from wainwright.light import TYPE_CHECKING, Final, dataclass

if TYPE_CHECKING:
    from pathlib import Path

# Every name that a verdict may carry, so that `audit.allow` and `audit.deny` can be checked before any wheel exists.
RULES: Final = frozenset(
    {
        "abi3",
        "absolute-rpath",
        "archive-mismatch",
        "broken-elf",
        "broken-member",
        "bundle",
        "compressed-tag",
        "debug-file",
        "dist-info",
        "duplicate-member",
        "executable-stack",
        "forbidden-library",
        "foreign-architecture",
        "growth",
        "guessed-provider",
        "hidden-needs",
        "identical-libraries",
        "interpreter",
        "isa",
        "keep-name",
        "licence",
        "linker-script",
        "max-size",
        "missing-library",
        "musl-packed-relocations",
        "name-mismatch",
        "needs-without-library",
        "no-native-code",
        "packed-relocations",
        "page-size",
        "private-symbol",
        "provided-by",
        "purelib-elf",
        "record-mismatch",
        "segment-alignment",
        "static-tls",
        "symbol-version",
        "symlink-member",
        "tag-mismatch",
        "unjudged-tag",
        "unmarked-stack",
        "unmatched-pattern",
        "unreachable-library",
        "unsafe-name",
        "weak-need",
        "wheel-contents",
    }
)
CLOSE: Final = 0.65  # by difflib's measure: libdap is near to libdep, and libdl is not


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """One outside library as its build image had it.

    `name` as DT_NEEDED spells it, `path` as the image's loader found it there, `real_path` with every link resolved,
    `copy` on this machine; `package` is the distribution's package that owns it and `licence` its SPDX expression or
    the distribution's own words, where known.
    """

    name: str
    soname: str
    path: str
    real_path: str
    copy: Path
    package: str | None = None
    licence: str | None = None
    needed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pattern:
    """A library by shell pattern: with a slash by its path in its image, without one by its soname.

    One that names a file of linker commands means the libraries to which that leads, by their sonames, as well.
    """

    text: str
    reason: str = ""
    leads_to: tuple[str, ...] = ()

    @property
    def is_path(self) -> bool:
        return "/" in self.text

    @property
    def is_literal(self) -> bool:
        return not any(sign in self.text for sign in "*?[")

    def matches(self, library: Outside) -> bool:
        """Whether it names this outside library.

        A path pattern may spell the way the loader went or the one with links resolved: `/usr/local/cuda` is a link to
        `/usr/local/cuda-11.2` in most images, and people write either.
        """
        if self.matches_name(library.soname) or self.matches_name(library.name):
            return True
        return self.matches_path(library.real_path) or self.matches_path(library.path)

    def matches_name(self, soname: str) -> bool:
        """Whether it names this soname; a path pattern never does, but what it leads to may."""
        return soname in self.leads_to or (not self.is_path and fnmatchcase(soname, self.text))

    def matches_path(self, path: str) -> bool:
        """Whether it names this path or a folder above it; a soname pattern never does."""
        if not self.is_path:
            return False
        folder = self.text.rstrip("/")
        return fnmatchcase(path, folder) or fnmatchcase(path, f"{folder}/*")

    def near_misses(self, libraries: Iterable[Outside], *, limit: int = 5) -> tuple[str, ...]:
        """Give what the writer may have meant when nothing matched: `libdep.so` is near to `libdep.so.1`."""
        import difflib  # wanted only when something is wrong

        stems: dict[str, list[str]] = {}
        for name in dict.fromkeys(lib.real_path if self.is_path else (lib.soname or lib.name) for lib in libraries):
            stems.setdefault(_stem(name), []).append(name)
        wanted = _stem(self.text.rstrip("/*"))
        close = difflib.get_close_matches(wanted, list(stems), n=limit, cutoff=CLOSE)
        return tuple(name for stem in close for name in stems[stem])[:limit]


def _stem(name: str) -> str:
    """Give what tells a library from others: the `lib` and the `.so.1` that all share make nothing alike."""
    return posixpath.basename(name).split(".so", 1)[0].rstrip("*?").lower().removeprefix("lib")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of one job's audit; the empty ones add nothing to the policy. `max_size` in bytes.

    `variant` is the one of release.toml that says so, empty for a wheel at hand.
    """

    variant: str = ""
    exclude: tuple[Pattern, ...] = ()
    exclude_optional: tuple[Pattern, ...] = ()
    bundle: tuple[Pattern, ...] = ()
    keep_name: tuple[Pattern, ...] = ()
    forbid: tuple[Pattern, ...] = ()
    provided_by: tuple[tuple[Pattern, str], ...] = ()
    isa: str | None = None
    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    licences: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    forbid_members: tuple[str, ...] = ()
    max_size: int | None = None
