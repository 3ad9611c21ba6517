# ruff: noqa: INP001 - a program, not a module
"""A coverage-guided fuzzer of the whole audit: `python tests/fuzz/fuzz_wheel.py -runs=100000`.

Needs atheris. Only ArchiveError may come out. The first byte of an input says what it is: the archive, or one of its
members, around which a wheel is written that is right otherwise. So mutations reach the rules, past every checksum.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]

sys.path.insert(0, str(Path(__file__).parent.parent))

with atheris.instrument_imports(include=["wainwright"]):
    from wainwright.auditing.audit import audit
    from wainwright.auditing.rendering import render
    from wainwright.auditing.terms import Pattern, Terms
    from wainwright.formats.archive import ArchiveError

import elves
import sabotage

NAME = "demo-1.0-cp311-abi3-manylinux_2_17_x86_64.whl"
TERMS = Terms(exclude_optional=(Pattern("libx*"),), bundle=(Pattern("libcore*"),), keep_name=(Pattern("libcore*"),))
CORE = elves.Recipe(soname="libcore.so", definitions=("CORE_1",), needed=("libc.so.6",))
MODULE = elves.Recipe(
    needed=("libcore.so", "libc.so.6"), runpath="$ORIGIN",
    needs={"libc.so.6": ["GLIBC_2.17"], "libcore.so": ["CORE_1"]},
    symbols={"puts": (False, False, "GLIBC_2.17"), "PyModule_Create2": (False, False, None)},
)  # fmt: skip
GOOD = sabotage.draft(
    NAME,
    {"demo/mod.abi3.so": elves.make(MODULE), "demo/libcore.so": elves.make(CORE), "demo/__init__.py": b"import x\n"},
)
INFO = "demo-1.0.dist-info"
MEMBERS = ("demo/mod.abi3.so", "demo/libcore.so", f"{INFO}/WHEEL", f"{INFO}/METADATA", "demo/__init__.py")
ARCHIVE, RECORD = len(MEMBERS), len(MEMBERS) + 1
FOLDER = Path("/dev/shm" if Path("/dev/shm").is_dir() else tempfile.gettempdir())  # noqa: S108 - memory, no disk in the loop


def wheel_of(data: bytes) -> bytes:
    kind, rest = data[0] % (len(MEMBERS) + 2), data[1:]
    if kind == ARCHIVE:
        return rest
    if kind == RECORD:
        return GOOD.bytes(rest)
    return GOOD.with_members({MEMBERS[kind]: rest}).bytes()


def one(data: bytes) -> None:
    if not data:
        return
    WHEEL.write_bytes(wheel_of(data))
    try:
        verdict = audit(WHEEL, terms=TERMS)
    except ArchiveError:
        return
    render(verdict)
    names = {finding.rule for finding in verdict.violations}
    if data[0] % (len(MEMBERS) + 2) == 4 and names:  # plain content may be anything, but for an ELF file
        assert data[1:5] == b"\x7fELF", names


def seeds(folder: Path) -> None:
    """Write the inputs to begin with: each member, the archive and RECORD, untouched."""
    for number, member in enumerate(MEMBERS):
        Path(folder, f"{number}").write_bytes(bytes([number]) + GOOD.members[member])
    Path(folder, "archive").write_bytes(bytes([ARCHIVE]) + GOOD.bytes())
    Path(folder, "record").write_bytes(bytes([RECORD]) + GOOD.record)
    for bits, little, machine in ((64, False, 22), (32, True, 3), (64, True, 183)):
        recipe = elves.Recipe(
            bits=bits, little=little, machine=machine, needed=("libc.so.6",), note=elves.abi_tag(3, 2, 0)
        )
        Path(folder, f"{machine}").write_bytes(b"\0" + elves.make(recipe))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=FOLDER) as place, tempfile.TemporaryDirectory() as corpus:
        WHEEL = Path(place, NAME)
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one worker: threads only slow a fuzzer down
        given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
        if not given:
            seeds(Path(corpus))
        atheris.Setup([*sys.argv, *([] if given else [corpus])], one)
        atheris.Fuzz()
