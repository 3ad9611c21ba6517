"""Rules about native code against what the wheel says of its platform: `any`, purelib, the architecture."""

from __future__ import annotations

from collections.abc import Iterator

from wainwright.auditing.case import Case
from wainwright.auditing.reading import Member
from wainwright.auditing.rules.loader import is_module
from wainwright.auditing.verdict import Finding
from wainwright.formats.elf import Elf
from wainwright.formats.wheelfile import locate
from wainwright.light import Final

ELSEWHERE: Final = (".dll", ".dylib", ".exe", ".pyd")
BACKEND_HINT: Final = (
    "have the build backend say Root-Is-Purelib: false (setuptools: has_ext_modules; "
    "scikit-build-core: wheel.platlib = true; hatchling: pure_python = false)"
)


def _code(case: Case) -> Iterator[tuple[Member, Elf]]:
    """Give what a machine of some platform is to run. Device code and firmware beside it are data."""
    for member, elf in case.objects():
        if elf.arch is not None and (elf.dynamic or elf.interpreter or is_command(case, member.name)):
            yield member, elf


def is_command(case: Case, member: str) -> bool:
    """Whether people start this member: by where it is, or by its mode where its name has no suffix."""
    folder, _, name = member.rpartition("/")
    if locate(member, root_is_purelib=False).scheme == "scripts" or "bin" in folder.split("/"):
        return True
    return member in case.executable and "." not in name


# Binary distribution format: "If Root-Is-Purelib is true", the root goes to purelib; platform-specific code belongs in
# platlib, which some systems keep elsewhere. PEP 425: "any" is for what depends on no platform.
def purelib_elf(case: Case) -> Iterator[Finding]:
    if case.platforms.anywhere:
        several = _is_for_several(case)
        for member, elf in _code(case):
            if member.extension or not several:
                yield _of_any(case, member.name, elf)
        return
    for name, in_data in _purelib(case):
        if in_data or _is_extension(case, name):
            yield _in_purelib(name)


# The same of a library that no Python imports, in a wheel for any Python: widely done (xgboost), and it works wherever
# purelib and platlib are one folder.
def purelib_library(case: Case) -> Iterator[Finding]:
    for member, in_data in _purelib(case) if not case.platforms.anywhere else ():
        if not in_data and not _is_extension(case, member):
            yield _in_purelib(member)


# A wheel that carries the same for several platforms, and chooses when it runs (debugpy), keeps what "any" says there.
def code_for_several(case: Case) -> Iterator[Finding]:
    if case.platforms.anywhere and _is_for_several(case):
        for member, elf in _code(case):
            if not member.extension:
                yield _of_any(case, member.name, elf)


def _is_for_several(case: Case) -> bool:
    """Whether there is code for another architecture or system beside the first."""
    arches = {elf.arch for _, elf in _code(case)}
    return len(arches) > 1 or any(member.name.endswith(ELSEWHERE) for member in case.wheel.members)


def _purelib(case: Case) -> Iterator[tuple[str, bool]]:
    """Give native members that go to purelib, and whether their own folder says so rather than the wheel's root."""
    purelib = bool(case.info.wheel and case.info.wheel.root_is_purelib)
    for member, elf in case.objects():
        if not (purelib or ".data/" in member.name) or not (elf.dynamic or elf.interpreter):
            continue
        if locate(member.name, root_is_purelib=False).scheme == "purelib":
            yield member.name, True
        elif locate(member.name, root_is_purelib=purelib).scheme == "purelib" and case.platforms.linux:
            yield member.name, False


def _is_extension(case: Case, member: str) -> bool:
    return case.name.abis != ("none",) or case.wheel.by_name[member].extension


def _in_purelib(member: str) -> Finding:
    return Finding(
        rule="purelib-elf", member=member, message="native code would be installed into purelib", hint=BACKEND_HINT
    )


def _of_any(case: Case, member: str, elf: Elf) -> Finding:
    purelib = bool(case.info.wheel and case.info.wheel.root_is_purelib)
    where = locate(member, root_is_purelib=purelib).scheme
    into = " would be installed into purelib," if where == "purelib" else ""
    measured = f"; what is inside fits {case.measured.tag}" if case.measured.tag else ""
    return Finding(
        rule="purelib-elf", member=member,
        message=f"native code for {elf.arch}{into} in a wheel whose tag `any` promises every platform",
        hint=f"{BACKEND_HINT}, and give the wheel a platform tag{measured}",
    )  # fmt: skip


# PEP 425: the platform tag is "the platform the code runs on"; installers believe any of several.
def foreign_architecture(case: Case) -> Iterator[Finding]:
    arches = case.platforms.arches or ((case.arch,) if case.arch else ())
    if not case.platforms.linux:
        return
    yield from _nameless(case, arches)
    for member, elf in _code(case):
        if all(elf.arch == arch for arch in arches):
            continue
        others = ", ".join(arch for arch in arches if arch != elf.arch)
        if elf.arch in arches:
            message = f"it is code for {elf.arch}, and the wheel claims {others} as well"
            hint = "build one wheel for each architecture"
        else:
            message = f"it is code for {elf.arch}, in a wheel for {others}"
            hint = "build it for that architecture, or leave it out"
        yield Finding(rule="foreign-architecture", member=member.name, message=message, hint=hint)


def _nameless(case: Case, arches: tuple[str, ...]) -> Iterator[Finding]:
    """Tell code that Python would load, of an architecture that no platform tag names."""
    for member, elf in case.objects():
        if elf.arch is not None or not (elf.dynamic or elf.interpreter):
            continue
        if (elf.soft_float and "armv7l" in arches) or is_module(member):
            what = "ARM without hardware floating point (armel)" if elf.soft_float else f"machine {elf.machine}"
            yield Finding(
                rule="foreign-architecture", member=member.name,
                message=f"it is code for {what}, in a wheel for {', '.join(arches)}",
                hint="build it for that architecture, or leave it out",
            )  # fmt: skip


# PEP 425 again: without native code, "any" says all there is to say.
def no_native_code(case: Case) -> Iterator[Finding]:
    if case.platforms.linux and not any(member.elf is not None for member in case.wheel.members):
        yield Finding(rule="no-native-code", message="no member is native code, and the tag names a platform")
