"""What differs between two wheels, as values: members, libraries, floors, tags, sizes, search paths, metadata."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

VERSION: Final = 1  # of the JSON; raised when a reader of the old shape would misread the new one
MOST_GROWN: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """What one set of names has and the other lacks, each in order."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @classmethod
    def between(cls, old: Iterable[str], new: Iterable[str]) -> Delta:
        before, after = frozenset(old), frozenset(new)
        return cls(added=tuple(sorted(after - before)), removed=tuple(sorted(before - after)))

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def to_json(self) -> dict[str, Any]:
        return {"added": list(self.added), "removed": list(self.removed)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two wheels: `size` of the file and `installed` of its members in bytes, `measured` the lowest tag."""

    wheel: str
    sha256: str
    size: int
    installed: int
    measured: str | None

    def to_json(self) -> dict[str, Any]:
        return {
            "wheel": self.wheel,
            "sha256": self.sha256,
            "size": self.size,
            "installed": self.installed,
            "measured": self.measured,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberChange:
    """A member whose bytes differ: sizes in bytes, None on the side that lacks it; `was` is its old name if another."""

    member: str
    old: int | None
    new: int | None
    was: str | None = None

    @property
    def growth(self) -> int:
        return (self.new or 0) - (self.old or 0)

    def to_json(self) -> dict[str, Any]:
        return {"member": self.member, "was": self.was, "old": self.old, "new": self.new}


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorChange:
    """A floor that moved: `measured` and `claimed` are platforms, the rest symbol versions such as GLIBCXX 3.4.29."""

    name: str
    old: str | None
    new: str | None
    raised: bool
    lowered: bool

    @property
    def holds_users_back(self) -> bool:
        """Whether some system that could run the old wheel cannot run the new one."""
        return self.raised and self.name in {"measured", "claimed"}

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "old": self.old, "new": self.new, "raised": self.raised}


@dataclass(frozen=True, slots=True, kw_only=True)
class PathChange:
    """A search path of a member that differs; `kind` is rpath or runpath."""

    member: str
    kind: str
    old: tuple[str, ...]
    new: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"member": self.member, "kind": self.kind, "old": list(self.old), "new": list(self.new)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """All that differs between two wheels.

    Libraries are named without the hash that auditwheel puts into their names: `inside` travel in the wheel, `needed`
    are left to the platform or to another wheel, `missing` are with none of them. A library that moves from one to
    another is removed here and added there. `metadata` holds single values, such as Requires-Python.
    """

    old: Side
    new: Side
    tags: Delta = Delta()
    floors: tuple[FloorChange, ...] = ()
    inside: Delta = Delta()
    needed: Delta = Delta()
    missing: Delta = Delta()
    added: tuple[MemberChange, ...] = ()
    removed: tuple[MemberChange, ...] = ()
    changed: tuple[MemberChange, ...] = ()
    paths: tuple[PathChange, ...] = ()
    metadata: tuple[tuple[str, str | None, str | None], ...] = ()
    requires_dist: Delta = Delta()
    entry_points: Delta = Delta()

    @property
    def grown(self) -> tuple[MemberChange, ...]:
        """Give the members that grew, new ones among them, the most first."""
        grown = [member for member in (*self.added, *self.changed) if member.growth > 0]
        return tuple(sorted(grown, key=lambda member: (-member.growth, member.member))[:MOST_GROWN])

    @property
    def alike(self) -> bool:
        """Whether nothing that is compared differs; WHEEL and RECORD are not compared as files."""
        return not (
            self.tags or self.floors or self.inside or self.needed or self.missing or self.added or self.removed
            or self.changed or self.paths or self.metadata or self.requires_dist or self.entry_points
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return {
            "old": self.old.to_json(),
            "new": self.new.to_json(),
            "alike": self.alike,
            "tags": self.tags.to_json(),
            "floors": [floor.to_json() for floor in self.floors],
            "libraries": {
                "inside": self.inside.to_json(),
                "needed": self.needed.to_json(),
                "missing": self.missing.to_json(),
            },
            "members": {
                "added": [member.to_json() for member in self.added],
                "removed": [member.to_json() for member in self.removed],
                "changed": [member.to_json() for member in self.changed],
                "grown": [member.to_json() for member in self.grown],
            },
            "rpaths": [path.to_json() for path in self.paths],
            "metadata": [{"name": name, "old": old, "new": new} for name, old, new in self.metadata],
            "requires_dist": self.requires_dist.to_json(),
            "entry_points": self.entry_points.to_json(),
        }
