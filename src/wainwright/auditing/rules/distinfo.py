"""Rules about what a wheel says of itself: file name, tags, dist-info, RECORD."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from wainwright.auditing.case import Case
from wainwright.auditing.reading import Member
from wainwright.auditing.verdict import Finding
from wainwright.formats.record import Row
from wainwright.formats.wheelfile import same_distribution
from wainwright.formats.wheelname import canonical_name, same_version
from wainwright.light import Final

DATA_FOLDER: Final = re.compile(r"[^-]+-[0-9][^-]*\.data")
MOST_TAGS: Final = 6


# Binary distribution format, WHEEL: "Tag is the wheel's expanded compatibility tags"; PEP 425: the file name holds "the
# compressed set", so that both stand for the same tags.
def tag_mismatch(case: Case) -> Iterator[Finding]:
    fields = case.info.wheel
    if fields is None:
        return
    member = f"{case.info.folder}/WHEEL"
    for line in fields.malformed:
        yield Finding(
            rule="tag-mismatch", member=member, message=f"its line 'Tag: {line}' is no tag",
            hint="write one line 'Tag: PYTHON-ABI-PLATFORM' for each tag of the file name",
        )  # fmt: skip
    extra, lacking = fields.expanded - case.name.tags, case.name.tags - fields.expanded
    parts = [f"{verb} {_some(tags)}" for verb, tags in (("names", extra), ("lacks", lacking)) if tags]
    if parts:
        yield Finding(
            rule="tag-mismatch", member=member,
            message=f"it {' and '.join(parts)}, unlike the file name",
            hint="rename with `wainwright retag` or `wheel tags`, which keep both alike",
        )  # fmt: skip


# PEP 600, PEP 656, and pip's own list of tags (packaging.tags): a wheel whose tag is not on it is never installed.
def dead_tag(case: Case) -> Iterator[Finding]:
    for tag, why in case.platforms.dead:
        yield Finding(
            rule="tag-mismatch", message=f"no installer takes {tag}: {why}",
            hint="rename it with `wainwright retag`",
        )  # fmt: skip


def _some(tags: frozenset[str]) -> str:
    named = sorted(tags)
    return ", ".join(named[:MOST_TAGS]) + (f" and {len(named) - MOST_TAGS} more" if len(named) > MOST_TAGS else "")


# Binary distribution format: "if a wheel's tag is py2.py3-none-any", WHEEL has one line "Tag" for each.
def compressed_tag(case: Case) -> Iterator[Finding]:
    for line in case.info.wheel.compressed if case.info.wheel else ():
        yield Finding(
            rule="compressed-tag", member=f"{case.info.folder}/WHEEL",
            message=f"'Tag: {line}' stands for several tags; the specification has a line for each",
        )  # fmt: skip


# Binary distribution format: "{distribution}-{version}.dist-info/ contains metadata", and METADATA names the same
# project and version.
def name_mismatch(case: Case) -> Iterator[Finding]:
    hint = "name, version and dist-info come from one build: do not rename a wheel by hand"
    for folder in (*case.info.folders, *filter(DATA_FOLDER.fullmatch, case.info.data_folders)):
        if not same_distribution(folder, case.name):
            yield Finding(
                rule="name-mismatch", member=folder, hint=hint,
                message=f"{folder} is not of {case.name.project} {case.name.public_version}, as the file name is",
            )  # fmt: skip
    metadata = case.info.metadata
    if metadata is None:
        return
    member = f"{case.info.folder}/METADATA"
    for label, found, expected, same in (
        ("Name", metadata.name, case.name.project, canonical_name(metadata.name) == case.name.project),
        (
            "Version",
            metadata.version,
            case.name.public_version,
            same_version(metadata.version, case.name.public_version),
        ),
    ):
        if not same:
            yield Finding(
                rule="name-mismatch", member=member, hint=hint,
                message=f"its {label} is {found or 'absent'}, and the file name says {expected}",
            )  # fmt: skip


# Binary distribution format: the distribution "must be normalized" (lower case, "_" for runs of "-_."); "tools
# consuming wheels must be prepared to accept . and uppercase letters, however, as these were allowed by an earlier
# version".
def unnormalised_name(case: Case) -> Iterator[Finding]:
    expected = case.name.project.replace("-", "_")
    if case.name.distribution != expected:
        yield Finding(
            rule="name-mismatch", message=f"the file name spells the project {case.name.distribution}, not {expected}",
            hint="build with a current backend: indexes are going to refuse it",
        )  # fmt: skip


# Binary distribution format: one "{distribution}-{version}.dist-info/" with METADATA, WHEEL and RECORD; "if Wheel-
# Version's major part is greater, abort".
def dist_info(case: Case) -> Iterator[Finding]:
    info = case.info
    if not info.folders:
        yield Finding(rule="dist-info", message="there is no .dist-info folder", hint="build the wheel again")
        return
    for folder in info.folders if len(info.folders) > 1 else ():
        if folder != info.folder:
            yield Finding(
                rule="dist-info", member=folder, message=f"{len(info.folders)} dist-info folders: "
                f"{', '.join(info.folders)}", hint="a wheel holds one distribution: remove what another build left",
            )  # fmt: skip
    for fault in info.faults:
        yield Finding(rule="dist-info", member=fault.member, message=fault.message, hint="build the wheel again")
    if info.wheel is not None and not info.wheel.wheel_version.startswith("1."):
        found = info.wheel.wheel_version or "absent"
        yield Finding(
            rule="dist-info", member=f"{info.folder}/WHEEL", message=f"its Wheel-Version is {found}, and 1.0 is known"
        )


# Binary distribution format, RECORD: "a list of (almost) all the files in the wheel and their secure hashes"; "sha256
# or better"; RECORD, RECORD.jws and RECORD.p7s have none. Installers fail on a hash that differs.
def record_mismatch(case: Case) -> Iterator[Finding]:
    if case.info.record is None:
        return
    record = case.info.record_name
    hint = "RECORD is written last: what changes a wheel afterwards must write it again"
    rows = {row.path: row for row in reversed(case.info.record)}  # of several the first counts
    counted = _counted([row.path for row in case.info.record], rows)
    for row in case.info.record:
        if row.fault or (row.path in counted and rows[row.path] is row):
            fault = row.fault or f"it has {counted[row.path]} rows"
            yield Finding(rule="record-mismatch", member=row.path or record, message=f"RECORD: {fault}", hint=hint)
    names = case.wheel.by_name
    doubtful = _counted([member.name for member in case.wheel.members], names)
    unrecorded = case.info.unrecorded
    for member in case.wheel.members:
        listed = rows.get(member.name)
        if listed is not None and _is_right(member, listed):
            continue
        if member.name != record and member.name not in doubtful and not member.problem:
            wrong = _wrong(member, listed, optional=member.name in unrecorded)
            if wrong:
                yield Finding(rule="record-mismatch", member=member.name, message=wrong, hint=hint)
    for path in rows.keys() - names.keys() - unrecorded:
        if not rows[path].fault:
            yield Finding(rule="record-mismatch", member=path, message="RECORD lists it, and it is absent", hint=hint)


def _counted(names: list[str], once: Mapping[str, object]) -> dict[str, int]:
    """Count the names that stand more than once."""
    if len(names) == len(once):  # as nearly always
        return {}
    return {name: number for name, number in Counter(names).items() if number > 1}


def _is_right(member: Member, row: Row) -> bool:
    return (
        row.digest == member.digest
        and row.size == member.size
        and row.algorithm == member.algorithm
        and not (row.fault or member.problem)
    )


def _wrong(member: Member, row: Row | None, *, optional: bool) -> str | None:
    if row is None:
        return None if optional else "RECORD does not list it"
    if row.fault or (optional and not row.digest):
        return None
    if not row.digest:
        return "RECORD has no hash for it"
    if not row.strong:
        return f"RECORD has its {row.algorithm}, and sha256 is the weakest that is allowed"
    if row.size is not None and row.size != member.size:
        return f"it has {member.size} bytes, and RECORD says {row.size}"
    if row.digest != member.digest:
        return f"its {row.algorithm} is not the one in RECORD"
    return None
