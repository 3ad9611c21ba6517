"""Sabotaged wheels as values: a good wheel, one fault put into it, and what the audit must then say.

The faults are in `sabotage_*.py`, a table for each part of a wheel. Here is what they share: drafts of wheels, which
are written byte by byte, and the judge, who wants the right rule, the right member, and no innocent one.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import native
import zips
from wainwright.auditing.audit import audit
from wainwright.auditing.verdict import Verdict
from wainwright.formats.archive import ArchiveError

UNREADABLE = "unreadable"  # not a rule: the wheel as a whole is refused
Named = tuple[str, "str | None"]  # rule, member


@dataclass(frozen=True, kw_only=True)
class Sabotage:
    """One wheel with one fault. `rule` and `member` are what the audit must name, as `severity` or worse.

    `also` is what follows from the fault and may be named as well; `options` go to the audit.
    """

    title: str
    filename: str
    data: bytes = field(repr=False)
    rule: str
    member: str | None = None
    severity: str = "violations"
    library: str | None = None
    version: str | None = None
    symbols: tuple[str, ...] = ()
    also: frozenset[Named] = frozenset()
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Innocent:
    """One wheel that looks wrong and is right."""

    title: str
    filename: str
    data: bytes = field(repr=False)
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A wheel that is still to be written: its members in order, RECORD left out."""

    filename: str
    members: Mapping[str, bytes] = field(repr=False)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def info(self) -> str:
        return next(name.split("/")[0] for name in self.members if name.endswith(".dist-info/WHEEL"))

    @property
    def record_name(self) -> str:
        return f"{self.info}/RECORD"

    @property
    def record(self) -> bytes:
        return native.record(self.members, self.record_name)

    @property
    def objects(self) -> tuple[str, ...]:
        """Its ELF members."""
        return tuple(name for name, data in self.members.items() if data[:4] == b"\x7fELF")

    @property
    def plain(self) -> tuple[str, ...]:
        """Its members that are neither native nor read by the audit as dist-info; the package's own first."""
        others = {*self.objects, f"{self.info}/WHEEL", f"{self.info}/METADATA"}
        return tuple(sorted((name for name in self.members if name not in others), key=lambda name: self.info in name))

    def with_members(self, changed: Mapping[str, bytes | None]) -> Draft:
        """Give the same wheel with some members added, replaced, or (None) left out; RECORD follows."""
        members: dict[str, bytes | None] = {**self.members, **changed}
        return replace(self, members={name: data for name, data in members.items() if data is not None})

    def parts(self, record: bytes | None = None) -> list[zips.Part]:
        files = [*self.members.items(), (self.record_name, self.record if record is None else record)]
        return [zips.Part(name=name.encode(), data=data) for name, data in files]

    def bytes(self, record: bytes | None = None) -> bytes:
        return zips.archive(*self.parts(record))

    def sabotage(self, title: str, rule: str, member: str | None = None, **fields: Any) -> Sabotage:
        """Name a fault of this draft, or of the `data` given."""
        fields["also"] = frozenset(fields.get("also", ()))
        fields["options"] = {**self.options, **fields.get("options", {})}
        fields.setdefault("filename", self.filename)
        data = fields.pop("data", None)
        title = f"{self.filename}: {title}"
        return Sabotage(title=title, rule=rule, member=member, data=self.bytes() if data is None else data, **fields)


def draft(
    filename: str, members: Mapping[str, bytes], *, purelib: bool = False, requires: Sequence[str] = (), **options: Any
) -> Draft:
    """Make a wheel of these members, with the dist-info that belongs to them."""
    name, version, *_, python, abi, platform = filename.removesuffix(".whl").split("-")
    tags = [f"{p}-{a}-{t}" for p in python.split(".") for a in abi.split(".") for t in platform.split(".")]
    lines = ["Wheel-Version: 1.0", "Generator: tests", f"Root-Is-Purelib: {'true' if purelib else 'false'}"]
    lines += [f"Tag: {tag}" for tag in tags]
    about = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    about += [f"Requires-Dist: {requirement}" for requirement in requires]
    info = f"{name}-{version}.dist-info"
    files = {**members, f"{info}/METADATA": _lines(about), f"{info}/WHEEL": _lines(lines)}
    return Draft(filename=filename, members=files, options=options)


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def retagged(good: Draft, platform: str) -> Draft:
    """Give the same wheel with other platform tags, in its name and in WHEEL."""
    head = good.filename.removesuffix(".whl").rpartition("-")[0]
    member = f"{good.info}/WHEEL"
    lines = [line for line in good.members[member].decode().splitlines() if line and not line.startswith("Tag:")]
    lines += [f"Tag: {'-'.join(head.split('-')[2:])}-{tag}" for tag in platform.split(".")]
    changed = good.with_members({member: "".join(f"{line}\n" for line in lines).encode()})
    return replace(changed, filename=f"{head}-{platform}.whl")


def opened(wheel: Path) -> Draft:
    """Read a real wheel as a draft."""
    with zipfile.ZipFile(io.BytesIO(wheel.read_bytes())) as archive:
        members = {
            name: archive.read(name) for name in archive.namelist() if not name.endswith((".dist-info/RECORD", "/"))
        }
    return Draft(filename=wheel.name, members=members)


def judged(folder: Path, filename: str, data: bytes, options: Mapping[str, Any]) -> Verdict:
    wheel = folder / posixpath.basename(filename)
    wheel.write_bytes(data)
    try:
        return audit(wheel, **options)
    finally:
        wheel.unlink()


def told(verdict: Verdict) -> dict[str, set[Named]]:
    """Give what a verdict names, by severity."""
    return {
        severity: {(found.rule, found.member) for found in getattr(verdict, severity)}
        for severity in ("violations", "warnings", "notes")
    }


def complaint(sabotage: Sabotage, folder: Path, before: Mapping[str, set[Named]]) -> str:
    """Say what the audit got wrong about a sabotaged wheel; empty when it caught the fault, and nothing but it."""
    try:
        verdict = judged(folder, sabotage.filename, sabotage.data, sabotage.options)
    except ArchiveError as error:
        return "" if sabotage.rule == UNREADABLE else f"{sabotage.title}: refused: {error}"
    found = told(verdict)
    wanted = (sabotage.rule, sabotage.member)
    if wanted not in found[sabotage.severity]:
        instead = sorted(map(str, found[sabotage.severity]))
        return f"{sabotage.title}: {wanted} is not among the {sabotage.severity} {instead}"
    short = _detail(sabotage, verdict)
    if short:
        return f"{sabotage.title}: {short}"
    allowed = {wanted, *sabotage.also}
    innocent = {one for severity in ("violations", "warnings") for one in found[severity] - before[severity] - allowed}
    if innocent:
        return f"{sabotage.title}: beside {wanted}, {sorted(map(str, innocent))} are named"
    if sabotage.severity != "violations" and not verdict.ok and not sabotage.also and not before["violations"]:
        return f"{sabotage.title}: a violation, where {sabotage.rule} is one of the {sabotage.severity}"
    return ""


def _detail(sabotage: Sabotage, verdict: Verdict) -> str:
    """Say what is missing beside rule and member: library, version, symbols."""
    findings = [
        found
        for found in getattr(verdict, sabotage.severity)
        if (found.rule, found.member) == (sabotage.rule, sabotage.member)
    ]
    for what in ("library", "version", "symbols"):
        expected = getattr(sabotage, what)
        if expected and not any(getattr(found, what) == expected for found in findings):
            return f"{what} is {[getattr(found, what) for found in findings]}, not {expected!r}"
    return ""


def score(title: str, sabotages: Sequence[Sabotage], complaints: Sequence[str]) -> str:
    return f"{title}: caught {len(sabotages) - len(complaints)}/{len(sabotages)}"
