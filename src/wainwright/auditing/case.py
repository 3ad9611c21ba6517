"""What the rules look at: one wheel inspected, its claims, the policy, the terms, and how its needs were resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from wainwright.auditing.claims import Claim, Platforms
from wainwright.auditing.fates import Fates
from wainwright.auditing.inspection import Inspection
from wainwright.auditing.needs import VersionedNeed
from wainwright.auditing.processes import Loadable
from wainwright.auditing.reading import Member
from wainwright.auditing.resolution import Resolution
from wainwright.auditing.terms import Outside, Terms
from wainwright.auditing.verdict import Finding, Measured, Severity
from wainwright.formats.elf import Elf
from wainwright.formats.wheelfile import DistInfo, Fault
from wainwright.formats.wheelname import WheelName
from wainwright.light import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything that a judgement may use; no rule looks elsewhere.

    `claims` are what is judged, lowest first; `platforms` what the file name says; `files` the members as installed.
    """

    name: WheelName
    info: DistInfo
    wheel: Inspection
    platforms: Platforms
    claims: tuple[Claim, ...]
    arch: str | None
    musl: bool
    terms: Terms
    outside: tuple[Outside, ...]
    files: tuple[Loadable, ...]
    resolution: Resolution
    needs: tuple[VersionedNeed, ...]
    fates: Fates
    measured: Measured
    named: frozenset[int] = frozenset()  # places of members whose symbols at the measured floor were read
    original_size: int | None = None
    installs_on: Callable[[int, int], bool] = lambda *_: True  # by a Python's major and minor
    entry_points: str | Fault = ""  # the text of entry_points.txt
    executable: frozenset[str] = frozenset()  # members whose mode in the archive says so

    def objects(self) -> tuple[tuple[Member, Elf], ...]:
        """Give what the loader could be asked to load: libraries and programs, no objects, no debug files."""
        return self.wheel.objects


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One named judgement and how much it weighs unless the terms say otherwise."""

    name: str
    check: Callable[[Case], Iterator[Finding]]
    severity: Severity = Severity.VIOLATION
