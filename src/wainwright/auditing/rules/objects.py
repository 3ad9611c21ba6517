"""Rules about one ELF member by itself: its stack, relocations, segments, search path, instruction set."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wainwright.auditing.case import Case
from wainwright.auditing.resolution import LOADER
from wainwright.auditing.verdict import Finding
from wainwright.formats.elf import Elf, misaligned
from wainwright.light import Final
from wainwright.values import Glibc

X86: Final = frozenset({"x86_64", "i686"})
WIDE_PAGES: Final = frozenset({"aarch64", "ppc64le"})
RELR: Final = Glibc(2, 36)
LIBRARY_NAME: Final = re.compile(r"(?:^|/)[^/]+\.so(?:\.[0-9]+)*$")
MODULE_NAME: Final = re.compile(r"\.(?:(?:cpython-|pypy)[0-9]+[\w-]*-linux-[a-z0-9]+|abi3)\.so$")  # PEP 3149, PEP 384
# Loaded before anything in a wheel is: the interpreter itself needs them.
ALWAYS_LOADED: Final = frozenset({"libc.so.6"})


# PEP 513 on ELF: "executable stack"; glibc 2.41's NEWS: dlopen "no longer makes the stack executable if a shared
# library requires it", so that loading fails.
def executable_stack(case: Case) -> Iterator[Finding]:
    for member, elf in case.objects():
        if elf.executable_stack:
            yield Finding(
                rule="executable-stack",
                member=member.name,
                message="it asks for an executable stack: glibc 2.41 and hardened kernels refuse to load it",
                hint="link with -Wl,-z,noexecstack, and give each assembly file a .note.GNU-stack section",
            )


# Linux, ELF loader: without PT_GNU_STACK the architecture's default counts, which on x86 is an executable stack.
def unmarked_stack(case: Case) -> Iterator[Finding]:
    for member, elf in case.objects():
        if elf.executable_stack is None and elf.arch in X86 and (elf.dynamic or elf.interpreter):
            yield Finding(
                rule="unmarked-stack",
                member=member.name,
                message="it has no PT_GNU_STACK header, which on x86 means an executable stack",
                hint="link with -Wl,-z,noexecstack",
            )


# ELF gABI, DF_STATIC_TLS: "the shared object contains code using a static thread-local storage scheme. Implementations
# should reject attempts to load such files dynamically." glibc keeps a small surplus, and fails when it is used up.
def static_tls(case: Case) -> Iterator[Finding]:
    for member, elf in case.objects():
        if elf.static_tls and not elf.interpreter:
            yield Finding(
                rule="static-tls",
                member=member.name,
                message="it uses static TLS: import fails with 'cannot allocate memory in static TLS block' "
                "once other libraries have used up the surplus",
                hint="compile without -ftls-model=initial-exec, or import it early",
            )


# ld.so(8): "$ORIGIN … expands to the directory containing the program or shared object". Any other folder belongs to
# the machine that built the wheel.
def absolute_rpath(case: Case) -> Iterator[Finding]:
    for member, elf in case.objects():
        strange = [entry for entry in dict.fromkeys((*elf.rpath, *elf.runpath)) if not _stays(entry)]
        if strange:
            yield Finding(
                rule="absolute-rpath",
                member=member.name,
                message=f"it searches folders outside of the wheel for libraries: {', '.join(strange)}",
                hint="set the search path relative to $ORIGIN: patchelf --set-rpath '$ORIGIN/…'",
            )


def _stays(entry: str) -> bool:
    return entry.startswith(("$ORIGIN", "${ORIGIN}"))


# glibc 2.36 NEWS: "Support for DT_RELR relative relocation format has been added to glibc"; an older loader does not
# know the tag and leaves the pointers unrelocated.
def packed_relocations(case: Case) -> Iterator[Finding]:
    short = [claim for claim in case.claims if not claim.relocates_packed]
    for member, elf in case.objects():
        if elf.packed_relocations and short and elf.arch == case.arch:
            needed = "musl 1.2.4" if short[0].libc == "musl" else f"glibc {RELR}"
            yield Finding(
                rule="packed-relocations",
                member=member.name,
                message=f"its relative relocations are packed (DT_RELR), which needs {needed}; "
                f"the wheel claims {short[0].tag}",
                hint="link without -Wl,-z,pack-relative-relocs",
            )


# musl 1.2.4 release notes: "DT_RELR relocations" are new; Alpine's own libraries have them since, so that nearly every
# musllinux_1_2 wheel that carries one asks for more than its tag can say.
def musl_packed_relocations(case: Case) -> Iterator[Finding]:
    if not case.musl or not all(claim.relocates_packed for claim in case.claims):
        return
    for member, elf in case.objects():
        if elf.packed_relocations:
            yield Finding(
                rule="musl-packed-relocations",
                member=member.name,
                message="its relative relocations are packed (DT_RELR), which needs musl 1.2.4 (Alpine 3.18)",
                hint="link without -Wl,-z,pack-relative-relocs to reach older systems",
            )


# ELF gABI, program header: "p_vaddr should equal p_offset, modulo p_align"; the loader says "ELF load command
# address/offset not properly aligned".
def segment_alignment(case: Case) -> Iterator[Finding]:
    for member, elf in case.objects():
        bad = misaligned(elf)
        if bad:
            yield Finding(
                rule="segment-alignment",
                member=member.name,
                message=f"its segment at {bad[0].offset:#x} cannot be mapped: address {bad[0].vaddr:#x} and offset "
                f"differ modulo the alignment {bad[0].align:#x}",
                hint="an old patchelf or strip does this: use a current one, or link again",
            )


# AArch64 ABI (and 64-bit PowerPC): pages have up to 64 KiB; the loader refuses p_align below the kernel's page size.
def page_size(case: Case) -> Iterator[Finding]:
    for member, elf in case.objects():
        if elf.arch in WIDE_PAGES and (elf.dynamic or elf.interpreter) and 0 < elf.alignment < 0x10000:
            yield Finding(
                rule="page-size",
                member=member.name,
                message=f"its segments are aligned to {elf.alignment // 1024} KiB: it does not load on kernels with "
                "64 KiB pages",
                hint="link with -Wl,-z,max-page-size=65536",
            )


# ELF gABI: p_offset and sh_offset give "the offset from the beginning of the file"; there must be something. PEP 3149:
# what is named as a module of Linux is loaded as one.
def broken_elf(case: Case) -> Iterator[Finding]:
    on_linux = case.platforms.linux and not case.platforms.unjudged
    for member in case.wheel.members:
        if member.elf_problem:
            yield Finding(
                rule="broken-elf", member=member.name, message=f"it is no readable ELF file: {member.elf_problem}"
            )
        elif member.elf is not None and member.elf.faults:
            yield Finding(
                rule="broken-elf",
                member=member.name,
                message=f"it is cut short or damaged: {member.elf.faults[0]}",
                hint="build it again; look at strip and patchelf, and at the disk",
            )
        elif member.elf is None and not member.problem and on_linux and MODULE_NAME.search(member.name):
            yield Finding(
                rule="broken-elf",
                member=member.name,
                message=f"it is named as an extension module, and its {member.size} bytes are no ELF file",
                hint="build it again; look at strip and patchelf, and at the disk",
            )


# objcopy(1), --only-keep-debug: "Strip a file, removing contents of any sections that would not be stripped by
# --strip-debug"; what is left cannot be loaded.
def debug_file(case: Case) -> Iterator[Finding]:
    for member in case.wheel.members:
        if member.elf is not None and member.elf.debug and LIBRARY_NAME.search(member.name):
            yield Finding(
                rule="debug-file",
                member=member.name,
                message="it is named as a library and holds debug information alone",
                hint="ship the stripped library, and keep NAME.debug out of the wheel",
            )


# glibc, _dl_check_map_versions: every file of DT_VERNEED is looked up among the loaded objects, "assert (needed !=
# NULL)".
def needs_without_library(case: Case) -> Iterator[Finding]:
    for member, elf in case.objects():
        lost: dict[str, list[str]] = {}
        for need in elf.needs_without_library:
            if need.library not in ALWAYS_LOADED and not LOADER.fullmatch(need.library):
                lost.setdefault(need.library, []).append(need.version)
        for library in _closure(case, member.name, elf) if lost else ():
            lost.pop(library, None)
        for library, versions in lost.items():
            yield Finding(
                rule="needs-without-library",
                member=member.name,
                library=library,
                version=versions[0],
                message=f"it needs {', '.join(versions)} of {library} but does not name that library in DT_NEEDED: "
                "the loader ends the process",
                hint="link against the library again, or do not remove it with patchelf --remove-needed",
            )


def _closure(case: Case, member: str, elf: Elf) -> Iterator[str]:
    """Give every library that members inside load for this one: what they need counts as loaded."""
    by_name = case.wheel.by_name
    seen, waiting = {member}, [(member, elf)]
    while waiting:
        name, current = waiting.pop()
        for library in current.needed:
            yield library
            provider = case.resolution.providers.get((name, library))
            if provider is not None and provider not in seen:
                seen.add(provider)
                found = by_name[provider].elf
                if found is not None:
                    waiting.append((provider, found))


# x86-64 psABI, micro-architecture levels: GNU_PROPERTY_X86_ISA_1_NEEDED names what the loader must find, glibc since
# 2.33: "CPU ISA level is lower than required". PEP 600 wheels run on the architecture's baseline.
def isa(case: Case) -> Iterator[Finding]:
    allowed = level(case.terms.isa)
    for member, elf in case.objects():
        if elf.isa > allowed:
            yield Finding(
                rule="isa",
                member=member.name,
                message=f"it asks for a processor of level x86-64-v{elf.isa}; "
                + (f"x86-64-v{allowed} is the highest allowed" if allowed > 1 else "the tag promises plain x86-64"),
                hint="compile without -march=x86-64-vN and -z x86-64-vN, or allow more with audit.isa",
            )


def level(text: str | None) -> int:
    """Read `x86_64`, `x86-64-v2` or `v3` as a level; 1 is the baseline."""
    match = re.search(r"v([1-4])$", text) if text else None
    return int(match[1]) if match else 1
