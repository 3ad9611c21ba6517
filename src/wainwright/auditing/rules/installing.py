"""Rules about what installers refuse, or do each in their own way: schemes, paths, scripts, fields, module names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from wainwright.auditing.case import Case
from wainwright.auditing.requirements import is_requirement
from wainwright.auditing.verdict import Finding
from wainwright.formats.wheelfile import Fault, Headers
from wainwright.light import Final

SCHEMES: Final = frozenset({"purelib", "platlib", "headers", "scripts", "data"})
SCRIPTS: Final = frozenset({"console_scripts", "gui_scripts"})
MOST_SHOWN: Final = 200  # letters of a requirement
# As pip reads a script's entry point: there is no space around the colon.
SCRIPT: Final = re.compile(r"[\w.+-]+")
REFERENCE: Final = re.compile(r"\w+(?:\.\w+)*:\w+(?:\.\w+)*\s*(?:\[[^\]]*\])?")
ONCE: Final = {
    "WHEEL": ("Wheel-Version", "Root-Is-Purelib"),
    "METADATA": ("Metadata-Version", "Name", "Version", "Requires-Python"),
}
MODULE: Final = re.compile(r"[^/]+\.cpython-3(?P<minor>[0-9]+)t?-(?P<arch>[a-z0-9_]+)-linux-[a-z0-9]+\.so")
# Multiarch names, as EXT_SUFFIX has them, where a platform tag has another
ARCHES: Final = {"i386": "i686", "arm": "armv7l", "powerpc64le": "ppc64le", "powerpc64": "ppc64"}


# Binary distribution format: ".data/ … subdirectories" are named after "the paths described by the sysconfig module",
# and Wheel-Version is a number with two parts; pip and uv refuse a wheel with any of these.
def refused(case: Case) -> Iterator[Finding]:
    version = case.info.wheel.wheel_version if case.info.wheel else "1.0"
    if version.startswith("1.") and not re.fullmatch(r"1(?:\.[0-9]+)+", version):
        yield Finding(
            rule="dist-info", member=f"{case.info.folder}/WHEEL", message=f"its Wheel-Version is {version}, no number"
        )
    yield from _misplaced(case)
    yield from _file_and_folder(case)
    yield from _entry_points(case)
    yield from _requirements(case)


def _misplaced(case: Case) -> Iterator[Finding]:
    hint = f"below .data there are folders named {', '.join(sorted(SCHEMES))}"
    for member in case.wheel.members:
        if ".data" not in member.name:
            continue
        top, scheme, *rest = [*(part for part in member.name.split("/") if part not in {"", "."}), "", ""]
        slash = any(rest)
        if top in case.info.data_folders and not (slash and scheme in SCHEMES):
            yield Finding(
                rule="dist-info", member=member.name, hint=hint,
                message=f"{scheme} is no scheme to install to" if slash else "it lies outside of every scheme's folder",
            )  # fmt: skip


def _file_and_folder(case: Case) -> Iterator[Finding]:
    names = dict.fromkeys(member.name for member in case.wheel.members)
    told: set[str] = set()
    for name in names:
        folder = name.rpartition("/")[0]
        while folder and folder not in told:
            if folder in names:
                yield Finding(
                    rule="dist-info", member=folder, message=f"it is a file, and the folder of {name}",
                    hint="leave one of them out",
                )  # fmt: skip
            told.add(folder)
            folder = folder.rpartition("/")[0]


# Entry points specification: "the object reference points to a Python object", and a script's is "module:function".
# Lines are read as importlib.metadata reads them, where only "#" begins a comment.
def _entry_points(case: Case) -> Iterator[Finding]:
    member = f"{case.info.folder}/entry_points.txt"
    if isinstance(case.entry_points, Fault):
        yield Finding(rule="dist-info", member=member, message=case.entry_points.message, hint="build the wheel again")
        return
    section = None
    for line in map(str.strip, case.entry_points.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1].strip()
        elif line and line[0] != "#" and section is not None:
            name, equals, reference = (part.strip() for part in line.partition("="))
            fault = ""
            if section in SCRIPTS and not REFERENCE.fullmatch(reference):
                fault = f"{name} in [{section}] names no function: {reference or 'nothing'}"
            elif section in SCRIPTS and not SCRIPT.fullmatch(name):
                fault = f"{name!r} in [{section}] is no name of a script"
            elif not equals:
                fault = f"{name} in [{section}] names no object"
            if fault:
                hint = "write it as NAME = package.module:function"
                yield Finding(rule="dist-info", member=member, message=fault, hint=hint)


# Core metadata, Requires-Dist: PEP 508's "dependency specification"; pip refuses a wheel with any other.
def _requirements(case: Case) -> Iterator[Finding]:
    for text in case.info.metadata.requires_dist if case.info.metadata else ():
        if not is_requirement(text):
            yield Finding(
                rule="dist-info", member=f"{case.info.folder}/METADATA",
                message=f"its Requires-Dist {text[:MOST_SHOWN]!r} is no requirement (PEP 508)",
                hint="correct it in the project's metadata: pip refuses the wheel",
            )  # fmt: skip


# Core metadata: fields that "may be used once"; of two, which counts depends on the reader.
def doubtful_fields(case: Case) -> Iterator[Finding]:
    read: dict[str, Headers | None] = {
        "WHEEL": case.info.wheel.headers if case.info.wheel else None,
        "METADATA": case.info.metadata.headers if case.info.metadata else None,
    }
    for file, headers in read.items():
        for field in ONCE[file] if headers else ():
            if headers and len(headers.all(field)) > 1:
                yield Finding(
                    rule="dist-info", member=f"{case.info.folder}/{file}", hint="keep one",
                    message=f"it has {len(headers.all(field))} fields {field}: which counts depends on the reader",
                )  # fmt: skip
    root = case.info.wheel.headers.first("Root-Is-Purelib") if case.info.wheel else "false"
    if root.lower() not in {"true", "false"}:
        yield Finding(
            rule="dist-info", member=f"{case.info.folder}/WHEEL",
            message=f"its Root-Is-Purelib is {root or 'absent'}, neither true nor false: installers take it for false",
        )  # fmt: skip


# Binary distribution format: .data's purelib and platlib are spread over the same folders as the wheel's root.
def same_target(case: Case) -> Iterator[Finding]:
    counted = Counter(file.path for file in case.files)
    if len(counted) == len(case.files):
        return
    first: dict[str, str] = {}
    for file in case.files:
        other = first.setdefault(file.path, file.member)
        if counted[file.path] > 1 and other != file.member:
            yield Finding(
                rule="duplicate-member", member=file.member, hint="keep one of them",
                message=f"it is installed to where {other} is: which stays depends on the installer",
            )  # fmt: skip


# PEP 3149: "foo.cpython-32m.so": an interpreter looks for modules of its own version and platform alone.
def module_name(case: Case) -> Iterator[Finding]:
    twins: dict[str, list[bool]] = {}
    found: list[tuple[str, str, str]] = []
    known: dict[tuple[str, str], str] = {}
    for member, _ in case.objects():
        folder, _, base = member.name.rpartition("/")
        stem, match = f"{folder}/{base.partition('.')[0]}", MODULE.fullmatch(base)
        why = ""
        if match:
            named = match["minor"], match["arch"]
            if named not in known:
                known[named] = _why_strange(case, *named)
            why = known[named]
        twins.setdefault(stem, []).append(not why)
        if why:
            found.append((stem, member.name, why))
    for stem, name, why in found:
        if not any(twins[stem]):
            yield Finding(
                rule="tag-mismatch", member=name, message=f"{why}, so that no Python of its tags imports it",
                hint="build it with the Python of the tag, and do not rename a wheel by hand",
            )  # fmt: skip


def _why_strange(case: Case, minor: str, multiarch: str) -> str:
    arch = ARCHES.get(multiarch, multiarch)
    if len(minor) > 4 or not case.installs_on(3, int(minor)):
        return f"its name is for CPython 3.{minor}"
    known = {"x86_64", "aarch64", "s390x", "riscv64", "loongarch64", *ARCHES.values()}
    if arch in known and case.platforms.arches and arch not in case.platforms.arches:
        return f"its name is for {arch}"
    return ""
