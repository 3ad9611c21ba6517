"""The words that every stage shares: a glibc version, a Python, an architecture. Parsed once, no strings afterwards."""

from __future__ import annotations

import os
import re
import sys
from functools import total_ordering

from wainwright.light import Final, dataclass

# Where an audit takes a path: it starts without pathlib, which takes longer to import than many a wheel to read.
StrPath = str | os.PathLike[str]

# PEP 600: manylinux_${GLIBCMAJOR}_${GLIBCMINOR}_${ARCH}; PEP 656: musllinux_${MUSLMAJOR}_${MUSLMINOR}_${ARCH}
# The names before PEP 600, which older pips alone know, and the architectures that each was defined for.
_INTEL: Final = ("x86_64", "i686")
LEGACY_ALIASES: Final = {
    (2, 5): ("manylinux1", _INTEL),  # PEP 513
    (2, 12): ("manylinux2010", _INTEL),  # PEP 571
    (2, 17): ("manylinux2014", (*_INTEL, "aarch64", "armv7l", "ppc64", "ppc64le", "s390x")),  # PEP 599
}


@total_ordering
@dataclass(frozen=True, slots=True)
class Glibc:
    """A glibc version, ordered: `Glibc(2, 5) < Glibc(2, 17)`."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Glibc:
        """Read `2.17` or `2_17`; raises ValueError for anything else."""
        match = re.fullmatch(r"([0-9]{1,4})[._]([0-9]{1,4})", text)
        if match is None:
            raise ValueError(f"{text!r} is not a glibc version such as 2.17")
        return cls(int(match[1]), int(match[2]))

    @classmethod
    def of_running(cls) -> Glibc | None:
        """Give the glibc of this machine, None where it has another libc."""
        try:
            name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        except ValueError:
            return None
        return cls.parse(version) if name == "glibc" else None

    def __lt__(self, other: Glibc) -> bool:
        return (self.major, self.minor) < (other.major, other.minor)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @property
    def slug(self) -> str:
        """As sessions and tags spell it: `2_17`."""
        return f"{self.major}_{self.minor}"

    def platforms(self, arch: str) -> tuple[str, ...]:
        """Give the platform tags of this floor, the legacy alias first, as auditwheel orders them in a filename."""
        alias, arches = LEGACY_ALIASES.get((self.major, self.minor), ("", ()))
        perennial = f"manylinux_{self.slug}_{arch}"
        return (f"{alias}_{arch}", perennial) if arch in arches else (perennial,)


@total_ordering
@dataclass(frozen=True, slots=True)
class Python:
    """A CPython to build for: `3.10`, or `3.13t` for the free-threaded build."""

    major: int
    minor: int
    threaded: bool = False

    @classmethod
    def parse(cls, text: str) -> Python:
        """Read `3.10` or `3.13t`; raises ValueError for anything else."""
        match = re.fullmatch(r"([0-9]{1,2})\.([0-9]{1,3})(t?)", text)
        if match is None:
            raise ValueError(f"{text!r} is not a Python version such as 3.10 or 3.13t")
        return cls(int(match[1]), int(match[2]), bool(match[3]))

    def __lt__(self, other: Python) -> bool:
        return (self.major, self.minor, self.threaded) < (other.major, other.minor, other.threaded)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}{'t' if self.threaded else ''}"

    @classmethod
    def of_running(cls) -> Python:
        """Give the Python that runs the pipeline."""
        return cls(sys.version_info.major, sys.version_info.minor, "t" in sys.abiflags)

    @property
    def tag(self) -> str:
        """As job ids and the ABI tag spell it: `cp310`, `cp313t`."""
        return f"cp{self.major}{self.minor}{'t' if self.threaded else ''}"
