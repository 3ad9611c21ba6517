"""What a platform tag promises: libraries and symbol versions that every system of that tag has, by auditwheel's data.

PEP 600 defines manylinux_X_Y for any X.Y, auditwheel has data for some. In between, the limits of glibc itself are
exact, and those of the C++ runtime, libgcc and zlib are the ones of the nearest policy at or below.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from types import MappingProxyType

from wainwright.auditing.policyfile import Entry, installed_data, read_policies
from wainwright.errors import Exit, WainwrightError
from wainwright.light import Final, dataclass
from wainwright.values import Glibc, StrPath

# glibc, config of each port: the loader may be needed by name, and is always there
LOADERS: Final = MappingProxyType(
    {
        "x86_64": "ld-linux-x86-64.so.2",
        "i686": "ld-linux.so.2",
        "aarch64": "ld-linux-aarch64.so.1",
        "armv7l": "ld-linux-armhf.so.3",
        "ppc64": "ld64.so.1",
        "ppc64le": "ld64.so.2",
        "s390x": "ld64.so.1",
        "riscv64": "ld-linux-riscv64-lp64d.so.1",
        "loongarch64": "ld-linux-loongarch-lp64d.so.1",
    }
)
GLIBC_LIBRARIES: Final = frozenset({"libc.so.6", "libm.so.6", "libpthread.so.0"})
# Alpine's name of musl's libc, which differs from the tag's architecture
MUSL_ARCHES: Final = MappingProxyType({"i686": "x86", "armv7l": "armv7"})


def namespace(version: str) -> tuple[str, str]:
    """Split as auditwheel does: `GLIBCXX_LDBL_3.4` is `LDBL_3.4` of `GLIBCXX`."""
    name, _, rest = version.partition("_")
    return name, rest


def numbers(text: str) -> tuple[int, ...] | None:
    """Read `2.3.4` as numbers; None where it is no such thing (`PRIVATE`, `ABI_DT_RELR`)."""
    parts = text.split(".")
    return tuple(map(int, parts)) if all(part.isascii() and part.isdigit() for part in parts) else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Policy:
    """What a wheel of one platform tag may need from outside. `version` is that of glibc, or of musl."""

    name: str
    libc: str
    version: Glibc
    arch: str
    base: str | None  # the policy whose limits count beside those of glibc; None: below the lowest
    libraries: frozenset[str]
    symbols: Mapping[str, frozenset[str]]  # namespace → the versions of `base`
    blacklist: Mapping[str, frozenset[str]]  # library → symbols that not every system has
    known: Glibc | None = None  # the version of `base`: up to there, its list of GLIBC versions counts

    def admits(self, version: str) -> bool:
        """Whether every system of this tag defines the version, such as `GLIBC_2.17` or `CXXABI_1.3.7`.

        A namespace of which the policy says nothing is admitted: whether its library is, `libraries` says.
        """
        name, rest = namespace(version)
        versions = self.symbols.get(name)
        if versions is None:
            return not (name == "GLIBC" and self.libc == "musl")
        if name != "GLIBC":
            return rest in versions
        number = numbers(rest)
        if number is None:
            return rest in versions
        if number[:2] > (self.version.major, self.version.minor):
            return False  # of aarch64, 2.17 lists 2.18 too: what CentOS 7 has of that is on the blacklist
        return rest in versions or (self.known is not None and number[:2] > (self.known.major, self.known.minor))


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """The lowest glibc for a set of needs, None where no policy admits them all; `because` are those that set it."""

    glibc: Glibc | None
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Policies:
    """All policies, lowest first."""

    manylinux: tuple[Entry, ...]
    musllinux: tuple[Entry, ...]

    def arches(self, libc: str = "glibc") -> frozenset[str]:
        """Give the architectures for which any policy is."""
        entries = self.manylinux if libc == "glibc" else self.musllinux
        return frozenset(arch for entry in entries for arch in entry.symbols)

    def lowest(self, arch: str) -> Glibc:
        """Give the version of the lowest policy for an architecture: 2.5 for x86_64, 2.17 for aarch64."""
        return self._of(arch)[0].version

    def at(self, glibc: Glibc, arch: str) -> Policy:
        """Give the policy of any glibc version, also one without data; raises WainwrightError for an unknown arch.

        Below the lowest policy nothing is known of the C++ runtime, libgcc and zlib, so that none of their versions
        is admitted; the libraries are those of the lowest policy, and GLIBC versions those of them up to the floor.
        """
        return _at(self, glibc, arch)

    def musl(self, version: Glibc, arch: str) -> Policy:
        """Give the policy of a musl version by the nearest at or below, else the lowest."""
        return _musl(self, version, arch)

    def floor(self, versions: Iterable[str], arch: str) -> Floor:
        """Find the lowest glibc whose policy admits all versions, and which of them set it.

        Exact for GLIBC; for other namespaces the first policy that lists the version.
        """
        lowest = self.lowest(arch)
        floors = {version: self._floor(version, arch) for version in versions}
        unmet = tuple(sorted(version for version, floor in floors.items() if floor is None))
        if unmet:
            return Floor(glibc=None, because=unmet)
        glibc = max([floor for floor in floors.values() if floor], default=lowest)
        because = tuple(sorted(version for version, floor in floors.items() if floor == glibc and glibc > lowest))
        return Floor(glibc=glibc, because=because)

    def _floor(self, version: str, arch: str) -> Glibc | None:
        entries = self._of(arch)
        name, rest = namespace(version)
        number = numbers(rest) if name == "GLIBC" else None
        if number is not None and len(number) > 1:
            floor = max(Glibc(*number[:2]), entries[0].version)
            return floor if self.at(floor, arch).admits(version) else None
        return next((entry.version for entry in entries if self.at(entry.version, arch).admits(version)), None)

    def _of(self, arch: str, libc: str = "glibc") -> list[Entry]:
        entries = self.manylinux if libc == "glibc" else self.musllinux
        found = [entry for entry in entries if arch in entry.symbols]
        if not found:
            raise WainwrightError(
                f"no {'manylinux' if libc == 'glibc' else 'musllinux'} policy is for the architecture {arch!r}",
                code=Exit.AUDIT,
                hint=f"there are policies for {', '.join(sorted(self.arches(libc)))}",
            )
        return found


@lru_cache(maxsize=256)
def _at(policies: Policies, glibc: Glibc, arch: str) -> Policy:
    entries = policies._of(arch)  # noqa: SLF001 - a method in all but the cache
    below = [entry for entry in entries if entry.version <= glibc]
    entry = below[-1] if below else entries[0]
    symbols = entry.versions(arch)
    if not below:
        symbols = {name: versions if name == "GLIBC" else frozenset() for name, versions in symbols.items()}
    loader = LOADERS.get(arch)
    return Policy(
        name=f"manylinux_{glibc.slug}_{arch}",
        libc="glibc",
        version=glibc,
        arch=arch,
        base=entry.name if below else None,
        libraries=entry.libraries | {loader} if loader else entry.libraries,
        symbols=MappingProxyType(symbols),
        blacklist=_blacklist(entry, entries, glibc),
        known=entry.version if below else None,
    )


def _blacklist(entry: Entry, entries: list[Entry], glibc: Glibc) -> Mapping[str, frozenset[str]]:
    """Leave out glibc's own symbols where a version in between may have them: there, their versions are exact limits.

    `__cxa_thread_atexit_impl` is black below 2.24, the next policy after 2.17; it came with 2.18.
    """
    above = next((other for other in entries if other.version > glibc), None)
    if entry.version >= glibc or above is None:
        return entry.blacklist
    return MappingProxyType(
        {
            library: symbols
            for library, symbols in entry.blacklist.items()
            if library not in GLIBC_LIBRARIES or library in above.blacklist
        }
    )


@lru_cache(maxsize=64)
def _musl(policies: Policies, version: Glibc, arch: str) -> Policy:
    entries = policies._of(arch, "musl")  # noqa: SLF001 - a method in all but the cache
    below = [entry for entry in entries if entry.version <= version]
    entry = below[-1] if below else entries[0]
    libraries = entry.libraries
    if "libc.so" in libraries:  # musl's loader answers to libc.so itself; Alpine's compiler writes its own name for it
        libraries |= {f"libc.musl-{MUSL_ARCHES.get(arch, arch)}.so.1"}
    return Policy(
        name=f"musllinux_{version.slug}_{arch}",
        libc="musl",
        version=version,
        arch=arch,
        base=entry.name if below else None,
        libraries=libraries,
        symbols=MappingProxyType(entry.versions(arch)),
        blacklist=entry.blacklist,
    )


@cache
def load_policies(folder: StrPath | None = None) -> Policies:
    """Read auditwheel's data, without importing auditwheel; raises WainwrightError where it is absent or differs."""
    folder = installed_data() if folder is None else folder
    return Policies(
        manylinux=read_policies(posixpath.join(folder, "manylinux-policy.json"), "manylinux_"),
        musllinux=read_policies(posixpath.join(folder, "musllinux-policy.json"), "musllinux_"),
    )
