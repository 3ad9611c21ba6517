"""Symbol versions that members need, and who must offer each: a library inside, or every system of a floor."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from wainwright.auditing.claims import Claim
from wainwright.auditing.looking import Wanted
from wainwright.auditing.policy import Policies, namespace, numbers
from wainwright.auditing.reading import Member
from wainwright.auditing.resolution import Resolution, always_held
from wainwright.auditing.verdict import Need
from wainwright.formats.elf import Elf, VersionNeed
from wainwright.formats.symbols import Symbol
from wainwright.light import Final, NamedTuple
from wainwright.values import Glibc

RELR: Final = "GLIBC_ABI_DT_RELR"
NOTHING: Final = Wanted(versions=frozenset(), names=frozenset(), python=False)
NAMED: Final = 4  # members that set the floor and whose symbols are read: what a person reads


class VersionedNeed(NamedTuple):
    """A need with its judge: `provider` is the member inside that meets it, else `glibc` the oldest that offers it.

    `glibc` is None where no glibc does. `symbols` are what was read, which is not everything.
    """

    member: str
    library: str
    version: str
    weak: bool
    provider: str | None
    glibc: Glibc | None
    symbols: tuple[str, ...]

    @property
    def counts(self) -> bool:
        """Whether it holds the floor up: weak needs and those met inside do not."""
        return not self.weak and self.provider is None

    def told(self, *, with_symbols: bool) -> Need:
        return Need(
            member=self.member,
            library=self.library,
            version=self.version,
            glibc=self.glibc,
            symbols=self.symbols if with_symbols else (),
        )


class Floors:
    """The lowest glibc that offers a version on one architecture, remembered; safe to share between threads."""

    def __init__(self, policies: Policies, arch: str | None) -> None:
        self.policies = policies
        self.named = arch
        self.arch = arch if arch in policies.arches() else None
        self.lowest = policies.lowest(self.arch) if self.arch else Glibc(0, 0)
        self._known: dict[str, Glibc | None] = {}

    def of(self, version: str) -> Glibc | None:
        if version not in self._known:
            self._known[version] = self._find(version)
        return self._known[version]

    def _find(self, version: str) -> Glibc | None:
        if self.arch is not None:
            return self.policies.floor((version,), self.arch).glibc
        name, rest = namespace(version)
        number = numbers(rest) if name == "GLIBC" else (0, 0)  # without a policy, glibc's own numbers are all there is
        return Glibc(*number[:2]) if number is not None and len(number) > 1 else None


class Interest:
    """Which symbols to read of which member: those that decide, so that most symbol tables are never read.

    What is above a claim is named everywhere, what sets the floor in its first members by order in the directory. A
    member among those is so at every moment, whatever the order in which threads come to it: what is told does not
    depend on that order.
    """

    def __init__(
        self, floors: Floors, claims: tuple[Claim, ...], *, python: bool, inside: frozenset[str] = frozenset()
    ) -> None:
        self.floors = floors
        self.inside = inside  # names of files in the wheel: what is needed of them is most likely met there
        self.claims = claims
        self.python = python  # abi3: every Python symbol, needed or defined
        self._known: dict[frozenset[str], tuple[frozenset[str], Glibc, frozenset[str]]] = {}
        self._seen = floors.lowest
        self._first: list[int] = []  # the first members that need the highest floor seen
        self._lock = threading.Lock()

    def named(self, floor: Glibc | None) -> frozenset[int]:
        """Give the places in the directory of the members whose symbols at this measured floor were read."""
        return frozenset(self._first) if floor == self._seen else frozenset()

    def __call__(self, elf: Elf, order: int) -> Wanted:
        if not elf.dynamic:
            return NOTHING
        return Wanted(self._versions(elf, order), self._blacklisted(elf), self.python)

    def _versions(self, elf: Elf, order: int) -> frozenset[str]:
        inside = self.inside
        strong = frozenset(
            [
                version
                for library, version, weak, _ in elf.needs
                if not (weak or (library in inside and not always_held(library)))
            ]
        )
        if strong not in self._known:  # members of one wheel need much the same
            self._known[strong] = self._judge(strong)
        short, highest, setting = self._known[strong]
        return short | setting if setting and self._sets_floor(highest, order) else short

    def _judge(self, strong: frozenset[str]) -> tuple[frozenset[str], Glibc, frozenset[str]]:
        """Give the versions that are short, the highest floor, and those that set it where it is above the lowest."""
        short = frozenset(version for version in strong if self._is_short(version))
        floors = {version: floor for version in strong if (floor := self.floors.of(version)) is not None}
        highest = max(floors.values(), default=self.floors.lowest)
        setting = {version for version, floor in floors.items() if floor == highest > self.floors.lowest}
        return short, highest, frozenset(setting)

    def _sets_floor(self, floor: Glibc, order: int) -> bool:
        with self._lock:
            if floor > self._seen:
                self._seen, self._first = floor, []
            if floor < self._seen or (len(self._first) == NAMED and order > self._first[-1]):
                return False
            self._first = sorted({*self._first, order})[:NAMED]
            return True

    def _is_short(self, version: str) -> bool:
        """Whether a claim does not offer it, or nothing does."""
        return self.floors.of(version) is None or not all(claim.offers(version) for claim in self.claims)

    def _blacklisted(self, elf: Elf) -> frozenset[str]:
        names: set[str] = set()
        for claim in self.claims:
            for library, symbols in claim.policy.blacklist.items():
                # glibc's versions say enough, but where a policy lists GLIBC_2.18 for the sake of a few of its symbols
                if library in elf.needed and (library == "libz.so.1" or _needs(elf, "GLIBC_2.18")):
                    names |= symbols
        return frozenset(names)


def _needs(elf: Elf, version: str) -> bool:
    return any(need.version == version for need in elf.needs)


def versioned_needs(
    members: Iterable[Member], resolution: Resolution, floors: Floors, *, musl: bool
) -> tuple[VersionedNeed, ...]:
    """Judge every version need of every member that is loaded as code."""
    found: list[VersionedNeed] = []
    for member in members:
        elf = member.elf
        if elf is None or not elf.dynamic:
            continue
        symbols = _by_version(member.symbols)
        relr = not musl and elf.packed_relocations and not _needs(elf, RELR)
        for need in (*elf.needs, *((VersionNeed("libc.so.6", RELR, False),) if relr else ())):
            provider = resolution.providers.get((member.name, need.library))
            found.append(
                VersionedNeed(
                    member=member.name,
                    library=need.library,
                    version=need.version,
                    weak=need.weak,
                    provider=provider,
                    glibc=None if provider else floors.of(need.version),
                    symbols=tuple(symbols.get(need.version, ())),
                )
            )
    return tuple(found)


def _by_version(symbols: tuple[Symbol, ...]) -> dict[str, list[str]]:
    named: dict[str, list[str]] = {}
    for symbol in symbols:
        if symbol.version and symbol.library is not None:
            named.setdefault(symbol.version, []).append(symbol.name)
    return {version: sorted(dict.fromkeys(names)) for version, names in named.items()}


def highest_versions(needs: Iterable[VersionedNeed], libraries: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Give the highest version of each namespace that is needed from these libraries; numbers before words."""
    best: dict[str, tuple[tuple[int, ...], str]] = {}
    for version in {need.version for need in needs if need.counts and need.library in libraries}:
        name, rest = namespace(version)
        if rest:
            best[name] = max(best.get(name, ((), "")), (numbers(rest) or (), rest))
    return tuple((name, rest) for name, (_, rest) in sorted(best.items()))
