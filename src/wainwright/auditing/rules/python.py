"""Rules about Python's own symbols: a wheel for the stable ABI keeps to what its oldest Python had."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cache

from wainwright.auditing.case import Case
from wainwright.auditing.verdict import Finding
from wainwright.light import Final

PYTHON_TAG: Final = re.compile(r"cp3([0-9]+)")
ONE_PYTHON: Final = re.compile(r"\.cpython-3[0-9]+[a-z]*-")  # for that Python alone, whatever the tag is
MOST_NAMED: Final = 8
# Families of CPython's C API without a member in the stable ABI. Others that begin with Py are somebody else's: PySide.
UNSTABLE: Final = frozenset(
    (
        "PyAST PyArena PyAsyncGen PyCell PyCode PyConfig PyContext PyContextVar PyCoro PyCompile "
        "PyCrossInterpreterData PyDateTime PyFunction PyGen PyHash PyInstanceMethod PyInterpreterConfig "
        "PyLongWriter PyMarshal PyMonitoring PyMutex PyNode PyParser PyPickleBuffer PyPreConfig PyRefTracer PyRun "
        "PyStaticMethod PyStatus PyStdPrinter PySymtable PyTime PyToken PyTraceMalloc PyUnicodeWriter PyUnstable "
        "PyWideStringList Py"
    ).split()
)


@cache
def _added() -> dict[str, tuple[int, int]]:
    """Give each symbol of the stable ABI with the Python that brought it."""
    from abi3info import DATAS, FUNCTIONS  # type: ignore[import-untyped]

    added = {symbol.name: (data.added.major, data.added.minor) for symbol, data in DATAS.items()}
    added.update({symbol.name: (found.added.major, found.added.minor) for symbol, found in FUNCTIONS.items()})
    return added


@cache
def _families() -> frozenset[str]:
    return UNSTABLE | {_family(name) for name in _added()}


def _family(name: str) -> str:
    """Give what stands before a name's inner underscore: `PyUnicode` of `_PyUnicode_Ready`, `Py` of `_Py_True`."""
    return name.lstrip("_").partition("_")[0]


# PEP 384: "a stable ABI that is guaranteed to be available for the lifetime of Python 3"; C API documentation: each
# symbol is "Part of the Stable ABI since version X". PEP 425: cp311-abi3 promises Python 3.11 and every later one.
def abi3(case: Case) -> Iterator[Finding]:
    minors = [int(match[1]) for match in map(PYTHON_TAG.fullmatch, case.name.pythons) if match]
    if "abi3" not in case.name.abis or not minors:
        return
    oldest = (3, min(minors))
    own = {symbol.name for member in case.wheel.members for symbol in member.symbols if symbol.defined}
    for member, _ in case.objects():
        if ONE_PYTHON.search(posixpath.basename(member.name)):
            continue
        needed = {symbol.name for symbol in member.symbols if not symbol.defined and not symbol.weak} - own
        since = {name: _added().get(name) for name in needed if _family(name) in _families()}
        newer = {name: version for name, version in since.items() if version is not None and version > oldest}
        foreign = tuple(sorted(name for name, version in since.items() if version is None))
        if newer:
            told = ", ".join(f"{name} (3.{version[1]})" for name, version in sorted(newer.items())[:MOST_NAMED])
            yield _finding(member.name, tuple(sorted(newer)), f"it needs {told}, newer than Python 3.{oldest[1]}")
        if foreign:
            told = ", ".join(foreign[:MOST_NAMED])
            yield _finding(member.name, foreign, f"it needs {told}, not part of the stable ABI")


def _finding(member: str, symbols: tuple[str, ...], message: str) -> Finding:
    return Finding(
        rule="abi3", member=member, symbols=symbols, message=message,
        hint="define Py_LIMITED_API as the oldest Python of the tag for every source file, or raise the tag",
    )  # fmt: skip
