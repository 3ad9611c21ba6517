"""ELF files made byte by byte: every class and byte order, and faults that no linker would make.

The whole file is one PT_LOAD segment at an address that differs from its offset, so that the two cannot be confused.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

BASE = 0x10000
NEEDED, HASH, STRTAB, SYMTAB, STRSZ, SONAME, RPATH, RUNPATH = 1, 4, 5, 6, 10, 14, 15, 29
FLAGS, VERSYM, VERDEF, VERNEED = 30, 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFE
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_GNU_STACK = 1, 2, 3, 4, 0x6474E551


@dataclass(kw_only=True)
class Recipe:
    """What to make. `needs` is library → versions, where a version that ends in `?` is weak.

    A symbol is name → (defined, weak, version or None); the version is one of `needs` or of `definitions`.
    """

    bits: int = 64
    little: bool = True
    machine: int = 62
    kind: int = 3
    flags: int = 0
    needed: Sequence[str] = ()
    soname: str | None = None
    rpath: str | None = None
    runpath: str | None = None
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    definitions: Sequence[str] = ()
    symbols: Mapping[str, tuple[bool, bool, str | None]] = field(default_factory=dict)
    tags: Sequence[tuple[int, int]] = ()
    interpreter: str | None = None
    stack: int | None = 6
    note: bytes = b""
    align: int = 0x1000
    hashed: bool = True
    dynamic: bool = True


class Builder:
    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.order = "<" if recipe.little else ">"
        self.wide = recipe.bits == 64
        self.strings = bytearray(b"\0")
        self.numbers: dict[str, int] = {}
        self.body = bytearray()
        self.start = 64 + 56 * 8

    def pack(self, form: str, *values: int) -> bytes:
        return struct.pack(self.order + form, *values)

    def name(self, text: str) -> int:
        at = len(self.strings)
        self.strings += text.encode() + b"\0"
        return at

    def put(self, data: bytes) -> tuple[int, int]:
        """Append; give offset and length."""
        self.body += bytes(-len(self.body) % 8)
        at = self.start + len(self.body)
        self.body += data
        return at, len(data)

    def version_needs(self) -> bytes:
        out = bytearray()
        for library, versions in self.recipe.needs.items():
            last = library == list(self.recipe.needs)[-1]
            out += self.pack("HHIII", 1, len(versions), self.name(library), 16, 0 if last else 16 + 16 * len(versions))
            for number, version in enumerate(versions):
                plain = version.removesuffix("?")
                self.numbers[plain] = index = 2 + len(self.numbers)
                more = 16 if number + 1 < len(versions) else 0
                out += self.pack("IHHII", 0, 2 * version.endswith("?"), index, self.name(plain), more)
        return bytes(out)

    def version_definitions(self) -> bytes:
        out = bytearray()
        names = [self.recipe.soname or "base", *self.recipe.definitions]
        for number, name in enumerate(names):
            index = 1 if number == 0 else 2 + len(self.numbers)
            if number:
                self.numbers[name] = index
            more = 28 if number + 1 < len(names) else 0
            out += self.pack("HHHHIII", 1, number == 0, index, 1, 0, 20, more) + self.pack("II", self.name(name), 0)
        return bytes(out)

    def symbol_tables(self) -> tuple[bytes, bytes]:
        size = 24 if self.wide else 16
        table, versions = bytearray(size), bytearray(2)
        for name, (defined, weak, version) in self.recipe.symbols.items():
            info, section, at = (2 if weak else 1) << 4, 1 if defined else 0, self.name(name)
            if self.wide:
                table += self.pack("IBBHQQ", at, info, 0, section, 0, 0)
            else:
                table += self.pack("IIIBBH", at, 0, 0, info, 0, section)
            versions += self.pack("H", self.numbers[version] if version else 1)
        return bytes(table), bytes(versions)

    def hash_table(self, count: int) -> bytes:
        word = "Q" if self.recipe.machine == 22 and self.wide else "I"  # s390x has 64-bit words there
        return self.pack(word * (3 + count), 1, count, 0, *([0] * count))

    def dynamic(self) -> bytes:
        recipe, found = self.recipe, []
        found += [(NEEDED, self.name(name)) for name in recipe.needed]
        for tag, text in ((SONAME, recipe.soname), (RPATH, recipe.rpath), (RUNPATH, recipe.runpath)):
            if text is not None:
                found.append((tag, self.name(text)))
        if recipe.needs:
            found.append((VERNEED, BASE + self.put(self.version_needs())[0]))
        if recipe.definitions:
            found.append((VERDEF, BASE + self.put(self.version_definitions())[0]))
        symbols, versions = self.symbol_tables()
        found.append((SYMTAB, BASE + self.put(symbols)[0]))
        found.append((VERSYM, BASE + self.put(versions)[0]))
        if recipe.hashed:
            found.append((HASH, BASE + self.put(self.hash_table(1 + len(recipe.symbols)))[0]))
        at, length = self.put(bytes(self.strings))
        found += [(STRTAB, BASE + at), (STRSZ, length), *recipe.tags, (0, 0)]
        return b"".join(self.pack("QQ" if self.wide else "II", *entry) for entry in found)

    def program_header(self, kind: int, at: int, size: int, flags: int, align: int) -> bytes:
        if self.wide:
            return self.pack("IIQQQQQQ", kind, flags, at, BASE + at, 0, size, size, align)
        return self.pack("IIIIIIII", kind, at, BASE + at, 0, size, size, flags, align)

    def build(self) -> bytes:
        recipe, parts = self.recipe, []
        if recipe.interpreter is not None:
            parts.append((PT_INTERP, *self.put(recipe.interpreter.encode() + b"\0"), 4, 1))
        if recipe.note:
            parts.append((PT_NOTE, *self.put(recipe.note), 4, 8 if self.wide else 4))
        if recipe.dynamic:
            entries = self.dynamic()
            parts.append((PT_DYNAMIC, *self.put(entries), 6, 8))
        if recipe.stack is not None:
            parts.append((PT_GNU_STACK, 0, 0, recipe.stack, 16))
        parts.insert(0, (PT_LOAD, 0, self.start + len(self.body), 7, recipe.align))
        headers = b"".join(self.program_header(*part) for part in parts)
        begin, entry = (64, 56) if self.wide else (52, 32)
        ident = b"\x7fELF" + bytes([1 + self.wide, 1 if recipe.little else 2, 1]) + bytes(9)
        form = "HHIQQQIHHHHHH" if self.wide else "HHIIIIIHHHHHH"
        header = self.pack(
            form, recipe.kind, recipe.machine, 1, 0, begin, 0, recipe.flags, begin, entry, len(parts), 0, 0, 0
        )
        return (ident + header + headers).ljust(self.start, b"\0") + bytes(self.body)


def make(recipe: Recipe | None = None) -> bytes:
    return Builder(recipe or Recipe()).build()


def gnu_property(kind: int, bits: int, wide: bool = True) -> bytes:
    """One NT_GNU_PROPERTY_TYPE_0 note with one property of four bytes."""
    value = struct.pack("<III", kind, 4, bits) + (bytes(4) if wide else b"")
    return struct.pack("<III", 4, len(value), 5) + b"GNU\0" + value


def abi_tag(*kernel: int) -> bytes:
    return struct.pack("<III", 4, 16, 1) + b"GNU\0" + struct.pack("<IIII", 0, *kernel)
