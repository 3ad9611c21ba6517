"""Rules about what the loader refuses to load at all, and about the loader that a program asks for."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from wainwright.auditing.case import Case
from wainwright.auditing.processes import is_program
from wainwright.auditing.reading import Member
from wainwright.auditing.verdict import Finding
from wainwright.formats.elf import EM_ARM, ET_DYN, ET_EXEC, Elf
from wainwright.formats.elfbytes import PT_DYNAMIC
from wainwright.light import Final

MODULE_NAME: Final = re.compile(r"\.(?:cpython-3[^/]*|pypy3[^/]*|abi3)\.so$")
LIBRARY_NAME: Final = re.compile(r"(?:^|/)[^/]+\.so(?:\.[0-9]+)*$")
SYSTEMS: Final = frozenset({0, 3})  # EI_OSABI: System V, GNU
LAST_ABI: Final = 3  # EI_ABIVERSION, glibc's LIBC_ABI_MAX since 2.17
# The ABI of each architecture names its loader's path (System V psABIs, glibc's ABI list); musl: ld-musl-$ARCH.so.1
GLIBC: Final = {
    "x86_64": "/lib64/ld-linux-x86-64.so.2",
    "i686": "/lib/ld-linux.so.2",
    "aarch64": "/lib/ld-linux-aarch64.so.1",
    "armv7l": "/lib/ld-linux-armhf.so.3",
    "ppc64": "/lib64/ld64.so.1",
    "ppc64le": "/lib64/ld64.so.2",
    "s390x": "/lib/ld64.so.1",
    "riscv64": "/lib/ld-linux-riscv64-lp64d.so.1",
    "loongarch64": "/lib64/ld-linux-loongarch-lp64d.so.1",
}
MUSL: Final = {"i686": "i386", "armv7l": "armhf", "ppc64le": "powerpc64le"}


def is_module(member: Member) -> bool:
    """Whether Python would import this file: it has the module's function, or an extension's name."""
    if MODULE_NAME.search(member.name):
        return True
    return member.extension and LIBRARY_NAME.search(member.name) is not None


# glibc, open_verify: "invalid ELF header", "ELF file OS ABI invalid", "ELF file ABI version invalid", "only ET_DYN and
# ET_EXEC can be loaded"; _dl_map_object_from_fd: "cannot dynamically load executable". It matters where something does
# load the file: Python, or a member that needs it.
def refused(case: Case) -> Iterator[Finding]:
    taken = set(case.resolution.providers.values())
    for member in case.wheel.members:
        elf = member.elf
        if elf is None or elf.debug:
            continue
        loaded = is_module(member) or member.name in taken or _was_linked(member, elf)
        why = _refusal(member, elf, musl=case.musl) if loaded else None
        if why:
            yield Finding(
                rule="broken-elf", member=member.name, message=f"the loader refuses it: {why}",
                hint="link it as a shared object, for Linux",
            )  # fmt: skip


def _was_linked(member: Member, elf: Elf) -> bool:
    """Whether a file with a library's name is none: of another type but linked, or a library without any segment."""
    if not LIBRARY_NAME.search(member.name):
        return False
    if elf.kind == ET_DYN:
        return not elf.segments
    return elf.kind != ET_EXEC and any(segment.p_type == PT_DYNAMIC for segment in elf.segments)


def _refusal(member: Member, elf: Elf, *, musl: bool) -> str | None:
    if elf.kind not in {ET_EXEC, ET_DYN}:
        return f"its type is {elf.kind}, neither a shared object nor a program"
    if elf.kind == ET_EXEC or elf.pie or (elf.interpreter and not member.extension and is_module(member)):
        return "it is a program, and no shared object"
    if not elf.dynamic:
        return "it has no dynamic section"
    system, abi = elf.ident[7], elf.ident[8]
    if musl or elf.machine == EM_ARM:
        return None
    if system not in SYSTEMS:
        return f"it is for another system (EI_OSABI {system})"
    if abi > LAST_ABI:
        return f"its ABI version is {abi}, newer than any loader's"
    if elf.ident[6] != 1 or elf.version != 1:
        return "its ELF version is not 1"
    return "the padding of its header is not empty" if any(elf.ident[9:16]) else None


# System V gABI, PT_INTERP: "the path name to invoke as an interpreter"; what is absent is "No such file or directory".
def interpreter(case: Case) -> Iterator[Finding]:
    if not any((claim.libc == "musl") == case.musl for claim in case.claims):
        return
    arch = case.arch or ""
    expected = f"/lib/ld-musl-{MUSL.get(arch, arch)}.so.1" if case.musl else GLIBC.get(arch)
    for member, elf in case.objects() if expected else ():
        wanted = elf.interpreter
        if elf.arch != arch or wanted in {None, expected} or is_module(member) or not is_program(elf):
            continue
        if LIBRARY_NAME.search(member.name) and elf.kind == ET_DYN and not elf.pie:
            continue  # a library that prints its version when it is run
        near = posixpath.basename(wanted or "") == posixpath.basename(expected or "")
        yield Finding(
            rule="interpreter", member=member.name,
            message=f"it is started by {wanted}, and a system of the tag has its loader at {expected}",
            hint=f"patchelf --set-interpreter {expected}" if near else "build it against the libc of the tag",
        )  # fmt: skip
