"""What an ELF file asks of the loader: libraries, versions, segments, stack, read from its program headers alone.

The System V gABI describes the format; "the loader" is glibc's ld.so, whose reading counts where they differ. Section
headers are never needed (the loader does not read them); where they are there, they tell debug files from libraries.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import unpack, unpack_from
from types import MappingProxyType

from wainwright.formats.elfbytes import (
    MAX_STRING,
    PT_DYNAMIC,
    PT_GNU_PROPERTY,
    PT_GNU_STACK,
    PT_INTERP,
    PT_LOAD,
    PT_NOTE,
    ElfBytes,
    ElfError,
    Section,
    Segment,
    Sliced,
    string_at,
)
from wainwright.formats.elfdynamic import DT_RUNPATH, DT_VERDEF, DT_VERNEED, VersionNeed, read_dynamic
from wainwright.light import Any, Final, dataclass

__all__ = ["Elf", "ElfError", "Segment", "VersionNeed", "misaligned", "read_elf"]

ET_REL: Final = 1
ET_EXEC: Final = 2
ET_DYN: Final = 3
ET_CORE: Final = 4

EM_ARM: Final = 40
EF_ARM_ABI_FLOAT_SOFT: Final = 0x200
# e_machine, bits, little → as platform tags name it
ARCHES: Final = {
    (3, 32, True): "i686",
    (8, 32, True): "mipsel",
    (8, 64, True): "mips64el",
    (20, 32, False): "ppc",
    (21, 64, False): "ppc64",
    (21, 64, True): "ppc64le",
    (22, 64, False): "s390x",
    (EM_ARM, 32, True): "armv7l",
    (62, 32, True): "x32",
    (62, 64, True): "x86_64",
    (183, 64, True): "aarch64",
    (243, 32, True): "riscv32",
    (243, 64, True): "riscv64",
    (258, 64, True): "loongarch64",
}
X86: Final = {3, 62}
SHT_NULL: Final = 0
SHT_NOBITS: Final = 8
SHF_TLS: Final = 0x400
NT_GNU_ABI_TAG: Final = 1
NT_GNU_PROPERTY_TYPE_0: Final = 5
# The x86 psABI's levels. Older properties of binutils (0xC0000001, 0xC0008000) name single features that some function
# uses, perhaps behind a check of its own (fftw): no loader reads them.
ISA_1_NEEDED: Final = 0xC0008002
MAX_NOTES: Final = 1024
MAX_FAULTS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Elf:
    """What one ELF file says of itself. `dynamic` is false for objects, static programs and debug files."""

    bits: int
    little: bool
    machine: int
    flags: int
    kind: int
    size: int
    segments: tuple[Segment, ...]
    interpreter: str | None
    executable_stack: bool | None  # None: no PT_GNU_STACK, so the architecture's default, executable on x86
    isa: int  # the x86-64 level that the loader must find: 1 baseline to 4; 0: not said
    kernel: tuple[int, int, int] | None  # NT_GNU_ABI_TAG: the oldest Linux on which the loader takes the file
    arch: str | None  # in the words of a platform tag; None for one that has no such word
    debug: bool  # split debug information: its sections have no contents
    faults: tuple[str, ...]  # segments and sections that lie outside of the file, as sentences
    ident: bytes = b""  # the file's first 16 bytes
    version: int = 1  # e_version
    dynamic: bool = False
    tags: Mapping[int, int] = MappingProxyType({})  # of equal ones the last, as for the loader
    soname: str | None = None
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    needs: tuple[VersionNeed, ...] = ()
    definitions: tuple[str, ...] = ()
    static_tls: bool = False
    text_relocations: bool = False
    packed_relocations: bool = False
    pie: bool = False

    @property
    def soft_float(self) -> bool:
        """Whether it is for ARM systems of another calling convention than armv7l's (armel)."""
        return _is_soft_float(self.machine, self.flags)

    @property
    def hides_rpath(self) -> bool:
        """Whether it has a DT_RUNPATH, be it empty: DT_RPATH is ignored then, its own and what it would inherit."""
        return DT_RUNPATH in self.tags

    @property
    def versioned(self) -> bool:
        """Whether the loader reads its table of symbol versions, DT_VERSYM: it does where versions are listed."""
        return DT_VERDEF in self.tags or DT_VERNEED in self.tags

    @property
    def alignment(self) -> int:
        """The largest alignment of a loaded segment: the page size for which it was linked."""
        return max((segment.align for segment in self.segments if segment.p_type == PT_LOAD), default=0)

    @property
    def weak_needs(self) -> tuple[VersionNeed, ...]:
        """Needs that may go unmet (VER_FLG_WEAK)."""
        return tuple(need for need in self.needs if need.weak)

    @property
    def private_needs(self) -> tuple[VersionNeed, ...]:
        """Needs of glibc's insides, which change from one build of it to the next."""
        return tuple(need for need in self.needs if need.version == "GLIBC_PRIVATE")

    @property
    def abi_markers(self) -> tuple[VersionNeed, ...]:
        """Needs that stand for a feature of the loader, such as GLIBC_ABI_DT_RELR, rather than for a symbol."""
        return tuple(need for need in self.needs if need.version.startswith("GLIBC_ABI_"))

    @property
    def needs_without_library(self) -> tuple[VersionNeed, ...]:
        """Version needs of a library that DT_NEEDED does not name: an assertion in the loader ends the process."""
        return tuple(need for need in self.needs if need.library not in self.needed)


def misaligned(elf: Elf) -> tuple[Segment, ...]:
    """Give the segments that cannot be mapped.

    gABI: loadable process segments must have congruent values for p_vaddr and p_offset, modulo the page size; p_align
    should be a positive, integral power of 2, and p_vaddr should equal p_offset, modulo p_align.
    """
    return tuple(
        [
            segment
            for segment in elf.segments
            if segment.p_type == PT_LOAD
            and (align := segment.align) > 1
            and (align & (align - 1) or (segment.vaddr - segment.offset) % align)
        ]
    )


def read_elf(data: bytes | memoryview | Sliced) -> Elf:
    """Read an ELF file of any class, byte order and kind; raises ElfError for one that cannot be read as it says.

    A file cut short is read as far as its dynamic section allows; `faults` tells what is missing.
    """
    source = ElfBytes(data)
    of_kind: dict[int, Segment] = {segment[0]: segment for segment in source.segments}
    stack, dynamic = of_kind.get(PT_GNU_STACK), of_kind.get(PT_DYNAMIC)
    loadable = source.kind in {ET_EXEC, ET_DYN}
    sections = source.sections() if loadable else []
    debug = loadable and _is_debug(dynamic, sections)
    contents = loadable and not debug
    isa, kernel = _notes(source) if contents else (0, None)
    facts: dict[str, Any] = read_dynamic(source, dynamic) if contents and dynamic else {}
    return Elf(
        bits=source.bits,
        little=source.little,
        machine=source.machine,
        flags=source.flags,
        kind=source.kind,
        size=source.size,
        segments=source.segments,
        interpreter=_interpreter(source, of_kind.get(PT_INTERP)) if contents else None,
        executable_stack=bool(stack.flags & 1) if stack else None,
        isa=isa,
        kernel=kernel,
        arch=_arch(source),
        debug=debug,
        faults=_faults(source, sections) if contents else (),
        ident=source.ident,
        version=source.version,
        **facts,
    )


def _is_soft_float(machine: int, flags: int) -> bool:
    return machine == EM_ARM and bool(flags & EF_ARM_ABI_FLOAT_SOFT)


def _arch(source: ElfBytes) -> str | None:
    if _is_soft_float(source.machine, source.flags):
        return None  # PEP 600's armv7l is hard float
    return ARCHES.get((source.machine, source.bits, source.little))


def _is_debug(dynamic: Segment | None, sections: list[Section]) -> bool:
    """Tell a file that `objcopy --only-keep-debug` or `eu-strip -f` left: segments whose contents are elsewhere."""
    if dynamic is None:
        return False
    if dynamic.memsz and not dynamic.filesz:
        return True
    at = dynamic.vaddr
    here = [flags for kind, flags, address, _, _, _ in sections if address == at and kind == SHT_NOBITS]
    return not all(flags & SHF_TLS for flags in here)  # .tbss takes no room: what follows may have its address


def _interpreter(source: ElfBytes, segment: Segment | None) -> str | None:
    if segment is None:
        return None
    begin, end = segment.offset, min(segment.offset + segment.filesz, segment.offset + MAX_STRING, source.size)
    data, first = source.held(begin, end)
    return string_at(data, begin - first, end - first, "the interpreter's name")


def _faults(source: ElfBytes, sections: list[Section]) -> tuple[str, ...]:
    size = source.size
    found = [
        f"program header {number} (type {segment.p_type:#x}) ends at {segment.offset + segment.filesz:#x}"
        for number, segment in enumerate(source.segments)
        if segment[2] + segment[4] > size and segment.filesz and segment.p_type
    ]
    found += [
        f"section {number} ends at {offset + length:#x}"
        for number, (kind, _, _, offset, length, _) in enumerate(sections)
        if offset + length > size and length and kind not in {SHT_NULL, SHT_NOBITS}
    ]
    if source.sections_at and source.section_count and not sections:
        found.append(f"the section header table at {source.sections_at:#x} cannot be there")
    return tuple([f"{fault}; the file ends at {size:#x}" for fault in found[:MAX_FAULTS]])


def _notes(source: ElfBytes) -> tuple[int, tuple[int, int, int] | None]:
    """Read the ISA level and the oldest kernel from the notes; a note that is broken ends them, as for the loader."""
    isa, kernel, left = 0, None, MAX_NOTES
    order = "<" if source.little else ">"
    for segment in source.segments:
        if segment[0] not in {PT_NOTE, PT_GNU_PROPERTY} or segment.offset >= source.size:
            continue
        at, end = segment.offset, min(segment.offset + segment.filesz, source.size)
        align = 8 if segment.align == 8 else 4  # gABI says 8 in 64-bit files, everyone but .note.gnu.property has 4
        while left and at + 12 <= end:
            left -= 1
            name_size, size, kind = source.layout.note.unpack(source.view[at : at + 12])
            name, begin = at + 12, at + _rounded(12 + name_size, align)
            at = begin + _rounded(size, align)
            if begin + size > end:
                break
            if name_size != 4 or bytes(source.view[name : name + 4]) != b"GNU\0":
                continue
            if kind == NT_GNU_ABI_TAG and size >= 16:
                system, *version = unpack(order + "IIII", source.view[begin : begin + 16])
                kernel = (version[0], version[1], version[2]) if system == 0 else kernel
            elif kind == NT_GNU_PROPERTY_TYPE_0 and source.machine in X86:
                isa = max(isa, _isa(source.view[begin : begin + size], order, source.bits // 8))
    return isa, kernel


def _isa(properties: memoryview, order: str, align: int) -> int:
    at, level = 0, 0
    while at + 8 <= len(properties):
        kind, size = unpack_from(order + "II", properties, at)
        at += 8
        if kind == ISA_1_NEEDED and size == 4 and at + 4 <= len(properties):
            (bits,) = unpack_from(order + "I", properties, at)
            level = max(level, min((bits & 0xF).bit_length(), 4))
        at += _rounded(size, align)
    return level


def _rounded(size: int, align: int) -> int:
    return (size + align - 1) // align * align
