"""Rules about the zip archive: members that cannot be read, would be misplaced, or differ from reader to reader."""

from __future__ import annotations

from collections.abc import Iterator

from wainwright.auditing.case import Case
from wainwright.auditing.verdict import Finding
from wainwright.formats.archive import Kind


def _of(case: Case, rule: str, kinds: frozenset[Kind], hint: str) -> Iterator[Finding]:
    for problem in case.wheel.problems:
        if problem.kind in kinds:
            yield Finding(rule=rule, member=problem.member, message=problem.message, hint=hint)


# Binary distribution format: "A wheel is a ZIP-format archive", whose members installers "unpack"; PKWARE's APPNOTE
# 4.4.7: the CRC is over the uncompressed data.
def broken_member(case: Case) -> Iterator[Finding]:
    told: set[str | None] = set()
    for finding in _of(
        case, "broken-member", frozenset({"broken", "encrypted", "method"}), "write the wheel again, deflated or stored"
    ):
        told.add(finding.member)
        yield finding
    for member in case.wheel.members:
        if member.problem and member.name not in told:
            yield Finding(
                rule="broken-member", member=member.name, message=member.problem, hint="copy or build the wheel again"
            )


# APPNOTE 4.3.12: the central directory repeats what the local headers say; some installers read one, some the other.
def archive_mismatch(case: Case) -> Iterator[Finding]:
    kinds: frozenset[Kind] = frozenset({"archive", "overlap", "disagreement"})
    yield from _of(case, "archive-mismatch", kinds, "write the archive again with a plain zip writer")


# Binary distribution format, RECORD: "each file in the wheel" has one row; of two members with one name, which is
# installed depends on the installer.
def duplicate_member(case: Case) -> Iterator[Finding]:
    yield from _of(case, "duplicate-member", frozenset({"duplicate"}), "keep one of them")


# Binary distribution format: "wheel … does not attempt to … contain symbolic links": installers write the link's target
# as a text file.
def symlink_member(case: Case) -> Iterator[Finding]:
    yield from _of(case, "symlink-member", frozenset({"symlink", "special"}), "ship the file that it points to")


# Binary distribution format: archive names are "relative" paths with "/" as their separator, encoded as UTF-8.
def unsafe_name(case: Case) -> Iterator[Finding]:
    yield from _of(
        case, "unsafe-name", frozenset({"unsafe-name"}), "installers refuse it, or write outside of the folder"
    )
