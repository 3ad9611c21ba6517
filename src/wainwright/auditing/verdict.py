"""The verdict on one wheel as values: what it claims, what was measured, each library's fate, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from wainwright.light import Any, Final, dataclass
from wainwright.values import Glibc

VERSION: Final = 1  # of the JSON; raised when a reader of the old shape would misread the new one


class Severity(Enum):
    """How much a finding weighs: only a violation makes a wheel fall short."""

    VIOLATION = "violation"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a rule says: which rule, where in the wheel, and what to do about it."""

    rule: str
    message: str
    member: str | None = None
    library: str | None = None
    version: str | None = None
    symbols: tuple[str, ...] = ()
    hint: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "member": self.member,
            "library": self.library,
            "version": self.version,
            "symbols": list(self.symbols),
            "message": self.message,
            "hint": self.hint,
        }

    @property
    def order(self) -> tuple[str, str, str, str, str]:
        return (self.rule, self.member or "", self.library or "", self.version or "", self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One symbol version that a member needs from a library of the platform; `glibc` is the oldest that offers it.

    `glibc` is None where no policy offers the version at all. Symbols are named where they decide something: above
    the claim, or at the measured floor.
    """

    member: str
    library: str
    version: str
    glibc: Glibc | None
    symbols: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "member": self.member,
            "library": self.library,
            "version": self.version,
            "glibc": None if self.glibc is None else str(self.glibc),
            "symbols": list(self.symbols),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the wheel needs: the lowest tag that its symbol versions fit, and the highest version of each namespace.

    `glibc` is None for musl (which does not version its symbols), without native code, and where no glibc will do.
    """

    tag: str | None
    glibc: Glibc | None
    versions: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        glibc = None if self.glibc is None else str(self.glibc)
        return {"tag": self.tag, "glibc": glibc, "versions": dict(self.versions)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Libraries:
    """Every library that a member needs, once, under the fate that it meets; `needed_by` names who asks for it."""

    inside: tuple[str, ...] = ()
    policy: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    provided: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    needed_by: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def who_needs(self, library: str) -> tuple[str, ...]:
        return dict(self.needed_by).get(library, ())

    def who_need(self, libraries: Iterable[str]) -> frozenset[str]:
        """Give everything that needs any of these."""
        return frozenset(who for library in libraries for who in self.who_needs(library))

    def to_json(self) -> dict[str, Any]:
        return {
            "inside": list(self.inside),
            "policy": list(self.policy),
            "excluded": list(self.excluded),
            "provided": list(self.provided),
            "missing": list(self.missing),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judgement of one wheel: a pure function of the wheel, the given libraries, the terms and the policy.

    `needs` holds what lies above the lowest policy of the architecture, the hardest first: what stands between the
    wheel and each lower tag. `matched` says what each pattern of the terms matched.
    """

    wheel: str
    sha256: str
    arch: str | None
    claimed: tuple[str, ...]
    measured: Measured
    libraries: Libraries = Libraries()
    violations: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    needs: tuple[Need, ...] = ()
    matched: tuple[tuple[str, tuple[str, ...]], ...] = ()
    waived: tuple[str, ...] = ()  # rules that it breaks, as the terms allow

    @property
    def ok(self) -> bool:
        """Whether the wheel keeps what it claims."""
        return not self.violations

    @property
    def floor(self) -> tuple[Need, ...]:
        """Give the needs that set the measured floor: without them a lower tag would fit."""
        if not self.needs or self.needs[0].glibc != self.measured.glibc:
            return ()
        return tuple(need for need in self.needs if need.glibc == self.measured.glibc)

    def to_json(self) -> dict[str, Any]:
        return {
            "wheel": self.wheel,
            "sha256": self.sha256,
            "claimed": list(self.claimed),
            "measured": self.measured.to_json(),
            "libraries": self.libraries.to_json(),
            "violations": [finding.to_json() for finding in self.violations],
            "warnings": [finding.to_json() for finding in self.warnings],
            "notes": [finding.to_json() for finding in self.notes],
            "needs": [need.to_json() for need in self.needs],
            "matched": {pattern: list(names) for pattern, names in self.matched},
        }


def document(verdicts: Iterable[Verdict], errors: Iterable[tuple[str, str]] = ()) -> dict[str, Any]:
    """Give what `wainwright audit --json` prints; `errors` are wheels that cannot be read, each with its sentence."""
    return {
        "version": VERSION,
        "wheels": [verdict.to_json() for verdict in verdicts],
        "errors": [{"wheel": wheel, "message": message} for wheel, message in errors],
    }
