"""The bytes of an ELF file: class and byte order, addresses as offsets, strings; every read checked against the end.

Nothing here believes a count or an offset. Whatever the bytes are, a read gives a value or raises ElfError.
"""

from __future__ import annotations

from struct import Struct

from wainwright.formats.magic import looks_like_elf
from wainwright.light import Any, Final, NamedTuple, Protocol

PT_LOAD: Final = 1
PT_DYNAMIC: Final = 2
PT_INTERP: Final = 3
PT_NOTE: Final = 4
PT_GNU_STACK: Final = 0x6474E551
PT_GNU_PROPERTY: Final = 0x6474E553

PN_XNUM: Final = 0xFFFF  # gABI: the true number of program headers is then sh_info of section 0
MAX_STRING: Final = 4096  # PATH_MAX: the loader opens no longer name


class ElfError(ValueError):
    """A file that begins as ELF but cannot be read as one. The text is a sentence without its full stop."""


class Absent(Exception):  # noqa: N818 - no mistake of anyone: the reader is to come back
    """A part of a file, by offsets, that is not in memory."""

    def __init__(self, begin: int, end: int) -> None:
        super().__init__(begin, end)
        self.begin = begin
        self.end = end


class Sliced(Protocol):
    """A file's bytes of which some may be absent: a slice raises `Absent` then."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> memoryview: ...

    def held(self, begin: int, end: int) -> tuple[bytes | bytearray, int]: ...


Section = tuple[int, int, int, int, int, int]  # plain, since all of hundreds of thousands are looked at once


class Segment(NamedTuple):
    """One program header; a tuple, since a wheel holds ten for each of hundreds of members, in the order of 64 bits."""

    p_type: int
    flags: int
    offset: int
    vaddr: int
    filesz: int
    memsz: int
    align: int


class Layout(NamedTuple):
    """The structures of one class (32 or 64 bit) and byte order; p_paddr and the like are skipped."""

    header: Struct  # type machine version phoff shoff flags phentsize phnum shentsize shnum
    segment: Struct
    section: Struct  # type flags address offset size info: `Section`
    dynamic: Struct  # tag value
    symbol: Struct  # st_name st_info st_shndx
    half: Struct
    word: Struct
    hash: Struct  # nbucket nchain
    gnu_hash: Struct  # nbuckets symoffset bloom_size
    note: Struct  # n_namesz n_descsz n_type, all of 32 bits
    need: Struct  # vn_file vn_aux vn_next
    need_entry: Struct  # vna_flags vna_other vna_name vna_next
    definition: Struct  # vd_flags vd_ndx vd_aux vd_next
    definition_entry: Struct  # vda_name


def _layout(bits: int, order: str) -> Layout:
    wide = bits == 64
    forms = (
        "16x HHI8xQQI2xHHHH" if wide else "16x HHI4xIII2xHHHH",
        "IIQQ8xQQQ" if wide else "III4xIIII",
        "4xIQQQQ4xI16x" if wide else "4xIIIII4xI8x",
        "QQ" if wide else "II",
        "IBxH16x" if wide else "I8xBxH",
        "H",
        "I",
        "II",
        "III",
        "III",
        "4xIII",
        "4xHHII",
        "2xHH6xII",
        "I4x",
    )
    return Layout(*(Struct(order + form) for form in forms))


LAYOUTS: Final = {
    (kind, order): _layout(bits, mark) for kind, bits in ((1, 32), (2, 64)) for order, mark in ((1, "<"), (2, ">"))
}


def string_at(data: bytes | bytearray, at: int, end: int, what: str) -> str:
    """Read the NUL-terminated string at an offset, before `end`; `what` it is, for the error."""
    if not 0 <= at < end:
        raise ElfError(f"{what} lies outside the string table")
    stop = data.find(0, at, min(at + MAX_STRING, end))
    if stop < 0:
        raise ElfError(f"{what} has no end within {MAX_STRING} bytes")
    return data[at:stop].decode("utf-8", "backslashreplace")


class ElfBytes:
    """An ELF file's bytes with its header and program headers read. Not kept: `Elf` holds what was learned."""

    __slots__ = (
        "_data", "bits", "flags", "ident", "kind", "layout", "little", "loads", "machine",
        "section_count", "section_size", "sections_at", "segments", "size", "version", "view",
    )  # fmt: skip

    def __init__(self, data: bytes | memoryview | Sliced) -> None:
        self._data = data
        self.view = memoryview(data).cast("B") if isinstance(data, (bytes, memoryview)) else data
        self.size = len(self.view)
        self.ident = ident = bytes(self.view[:16])
        if not looks_like_elf(ident):
            raise ElfError("it does not begin as an ELF file does")
        layout = LAYOUTS.get((ident[4], ident[5])) if len(ident) == 16 else None
        if layout is None:
            raise ElfError("the header names neither a 32- nor a 64-bit format, or no byte order")
        self.layout = layout
        self.bits = 32 * ident[4]
        self.little = ident[5] == 1
        header = self.unpack(layout.header, 0, "the file header")
        self.kind, self.machine, self.version, at, self.sections_at, self.flags = header[:6]
        entry, count, self.section_size, self.section_count = header[6:]
        self.segments = self._segments(at, entry, count)
        loads = [(vaddr, offset, filesz) for kind, _, offset, vaddr, filesz, _, _ in self.segments if kind == PT_LOAD]
        self.loads = loads[::-1]  # a later one lies over an earlier one

    def _segments(self, at: int, entry: int, count: int) -> tuple[Segment, ...]:
        if count == PN_XNUM and self.sections_at:
            count = self.unpack(self.layout.section, self.sections_at, "section header 0")[5]
        if not count:
            return ()
        form = self.layout.segment
        if entry != form.size:  # as glibc: "ELF file's phentsize not the expected size"
            raise ElfError(f"a program header is {entry} bytes long, where this format has {form.size}")
        rows: Any = form.iter_unpack(self.slice(at, count * form.size, "the program header table"))
        if self.bits == 32:
            rows = [(t, flags, o, v, f, m, a) for t, o, v, f, m, flags, a in rows]
        made: Any = tuple.__new__  # at half the cost of Segment itself
        return tuple([made(Segment, row) for row in rows])

    def slice(self, at: int, length: int, what: str) -> memoryview:
        """Give `length` bytes at a file offset, all of them."""
        if at + length > self.size:
            raise ElfError(f"{what} at {at:#x} reaches beyond the file's end ({self.size:#x} bytes)")
        return self.view[at : at + length]

    def held(self, begin: int, end: int) -> tuple[bytes | bytearray, int]:
        """Give bytes that hold this part of the file, not copied where that can be, and the offset of their first."""
        if isinstance(self._data, bytes):
            return self._data, 0
        if isinstance(self._data, memoryview):
            return bytes(self.view[begin:end]), begin
        return self._data.held(begin, end)

    def unpack(self, form: Struct, at: int, what: str) -> tuple[Any, ...]:
        """Read one structure at a file offset."""
        if at + form.size > self.size:
            raise ElfError(f"{what} at {at:#x} reaches beyond the file's end ({self.size:#x} bytes)")
        view = self.view
        return form.unpack_from(view, at) if isinstance(view, memoryview) else form.unpack(view[at : at + form.size])

    def locate(self, address: int, what: str) -> tuple[int, int]:
        """Say where in the file a virtual address is: its offset, and how many bytes of the segment follow there.

        As the loader maps them, a later segment lies over an earlier one. Raises ElfError for an address that no
        segment maps from the file.
        """
        for vaddr, offset, filesz in self.loads:
            inside = address - vaddr
            if 0 <= inside < filesz:
                at = offset + inside
                if at < self.size:
                    return at, min(filesz - inside, self.size - at)
                raise ElfError(f"{what} at {at:#x} lies beyond the file's end ({self.size:#x} bytes)")
        raise ElfError(f"{what} has the address {address:#x}, which no segment loads from the file")

    def sections(self) -> list[Section]:
        """Read type, flags, address, offset, size and info of each section; none where the table cannot be there."""
        form = self.layout.section
        length = self.section_count * form.size
        if not self.sections_at or self.section_size != form.size or self.sections_at + length > self.size:
            return []
        rows: Any = form.iter_unpack(self.view[self.sections_at : self.sections_at + length])
        return list(rows)
