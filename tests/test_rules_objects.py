from __future__ import annotations

import os
from pathlib import Path

import pytest

import native
from elves import Recipe, gnu_property, make
from judging import AARCH64, OLD, extension, judged, only, rules
from wainwright.auditing.rules.objects import level
from wainwright.auditing.terms import Terms

EXT = "void *PyInit_mod(void) { return 0; }"
NEWEST = "demo-1.0-cp310-cp310-manylinux_2_41_x86_64.whl"
RELR = ((36, 0x10000), (35, 8), (37, 8))  # DT_RELR, DT_RELRSZ, DT_RELRENT
ISA_NEEDED = 0xC0008002


def test_an_executable_stack(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"demo/mod.so": extension(stack=7), "demo/good.so": extension()})
    assert only(verdict.violations, "executable-stack").member == "demo/mod.so"


@pytest.mark.skipif(
    not os.environ.get("CI") and not native.accepts("-z", "execstack"), reason="the linker knows no execstack"
)
def test_an_executable_stack_by_the_linker(tmp_path: Path) -> None:
    made = native.shared(tmp_path / "mod.so", EXT, "-z", "execstack")
    assert "executable-stack" in rules(judged(tmp_path, {"demo/mod.so": made.read_bytes()}, NEWEST).violations)


def test_a_stack_that_is_not_marked_is_told_on_x86(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"demo/mod.so": extension(stack=None)})
    assert verdict.ok
    assert only(verdict.warnings, "unmarked-stack").member == "demo/mod.so"
    name = "demo-1.0-cp310-cp310-manylinux_2_17_aarch64.whl"
    other = judged(tmp_path, {"demo/mod.so": extension(stack=None, machine=AARCH64, align=0x10000, needed=())}, name)
    assert (other.violations, other.warnings) == ((), ())


def test_static_tls_is_a_warning(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"demo/mod.so": extension(tags=((30, 0x10),))})
    assert verdict.ok
    assert only(verdict.warnings, "static-tls").member == "demo/mod.so"


def test_static_tls_by_the_compiler(tmp_path: Path) -> None:
    source = '__thread int x __attribute__((tls_model("initial-exec"))); int *f(void) { return &x; }'
    made = native.shared(tmp_path / "mod.so", source)
    assert "static-tls" in rules(judged(tmp_path, {"demo/mod.so": made.read_bytes()}, NEWEST).warnings)


@pytest.mark.parametrize("path", ["/build/x", "$ORIGIN/lib:/opt/lib", "lib", "$LIB"])
@pytest.mark.parametrize("kind", ["rpath", "runpath"])
def test_a_search_path_of_the_build_machine_is_a_warning(tmp_path: Path, kind: str, path: str) -> None:
    found = only(judged(tmp_path, {"demo/mod.so": extension(**{kind: path})}).warnings, "absolute-rpath")
    assert path.rpartition(":")[2] in found.message


def test_a_search_path_of_the_wheel_is_right(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"demo/mod.so": extension(runpath="$ORIGIN:${ORIGIN}/../demo.libs")})
    assert verdict.warnings == ()


@pytest.mark.parametrize("needed", [(), ("libc.so.6",)])
def test_packed_relocations_set_a_floor(tmp_path: Path, needed: tuple[str, ...]) -> None:
    member = extension(tags=RELR, needed=needed)
    below = judged(tmp_path, {"demo/mod.so": member}, "demo-1.0-cp310-cp310-manylinux_2_35_x86_64.whl")
    assert only(below.violations, "packed-relocations").member == "demo/mod.so"
    assert below.measured.tag == "manylinux_2_36_x86_64"
    assert judged(tmp_path, {"demo/mod.so": member}, "demo-1.0-cp310-cp310-manylinux_2_36_x86_64.whl").ok


def test_packed_relocations_with_their_marker_are_told_once(tmp_path: Path) -> None:
    member = extension(tags=RELR, needs={"libc.so.6": ["GLIBC_ABI_DT_RELR"]})
    assert rules(judged(tmp_path, {"demo/mod.so": member}).violations) == ["packed-relocations"]


def test_packed_relocations_fit_no_musl_before_1_2(tmp_path: Path) -> None:
    member = extension(tags=RELR, needed=("libc.musl-x86_64.so.1",))
    verdict = judged(tmp_path, {"demo/mod.so": member}, "demo-1.0-cp310-cp310-musllinux_1_1_x86_64.whl")
    found = only(verdict.violations, "packed-relocations")
    assert "needs musl 1.2.4; the wheel claims musllinux_1_1_x86_64" in found.message
    assert verdict.measured.tag == "musllinux_1_2_x86_64"


def test_packed_relocations_are_told_of_musl(tmp_path: Path) -> None:
    name = "demo-1.0-cp310-cp310-musllinux_1_2_x86_64.whl"
    verdict = judged(tmp_path, {"demo/mod.so": extension(tags=RELR, needed=("libc.musl-x86_64.so.1",))}, name)
    assert verdict.ok
    assert rules(verdict.notes) == ["musl-packed-relocations"]


def test_segments_that_cannot_be_mapped(tmp_path: Path) -> None:
    data = bytearray(extension())
    data[64 + 16 : 64 + 24] = (0x10008).to_bytes(8, "little")  # p_vaddr of the first segment
    found = rules(judged(tmp_path, {"demo/mod.so": bytes(data)}).violations)
    assert "segment-alignment" in found


@pytest.mark.parametrize(("arch", "machine"), [("aarch64", AARCH64), ("ppc64le", 21)])
def test_small_pages_are_a_warning_where_pages_are_large(tmp_path: Path, arch: str, machine: int) -> None:
    name = f"demo-1.0-cp310-cp310-manylinux_2_17_{arch}.whl"
    verdict = judged(tmp_path, {"demo/mod.so": extension(machine=machine, needed=())}, name)
    assert verdict.ok
    assert only(verdict.warnings, "page-size").member == "demo/mod.so"


@pytest.mark.parametrize("cut", [20, 64, 200, -1])
def test_an_elf_file_that_is_cut_short(tmp_path: Path, cut: int) -> None:
    data = extension()[:cut]
    verdict = judged(tmp_path, {"demo/mod.so": data, "demo/good.so": extension()})
    assert only(verdict.violations, "broken-elf").member == "demo/mod.so"


def test_a_debug_file_where_a_library_should_be(tmp_path: Path) -> None:
    made = native.shared(tmp_path / "mod.so", EXT, "-g")
    data = bytearray(made.read_bytes())
    at = int.from_bytes(data[32:40], "little")
    for entry in range(at, at + 56 * int.from_bytes(data[56:58], "little"), 56):
        if data[entry : entry + 4] == (2).to_bytes(4, "little"):  # PT_DYNAMIC, as --only-keep-debug leaves it
            data[entry + 32 : entry + 40] = bytes(8)
    members = {"demo/mod.so": bytes(data), "demo/mod.so.debug": bytes(data)}
    assert only(judged(tmp_path, members, NEWEST).violations, "debug-file").member == "demo/mod.so"


def test_version_needs_of_a_library_that_is_not_needed(tmp_path: Path) -> None:
    member = extension(needed=("libc.so.6",), needs={"libm.so.6": ["GLIBC_2.2.5"], "libc.so.6": ["GLIBC_2.2.5"]})
    found = only(judged(tmp_path, {"demo/mod.so": member}).violations, "needs-without-library")
    assert (found.member, found.library) == ("demo/mod.so", "libm.so.6")


def test_version_needs_of_what_is_always_loaded_or_comes_along(tmp_path: Path) -> None:
    needs = {"ld-linux-x86-64.so.2": ["GLIBC_2.3"], "libc.so.6": ["GLIBC_2.2.5"], "libm.so.6": ["GLIBC_2.2.5"]}
    members = {
        "demo/mod.so": extension(needed=("libdep.so",), needs=needs, runpath="$ORIGIN"),
        "demo/libdep.so": extension(needed=("libm.so.6",), needs={}),
    }
    assert judged(tmp_path, members).ok


def test_the_instruction_set(tmp_path: Path) -> None:
    member = extension(note=gnu_property(ISA_NEEDED, 4))
    found = only(judged(tmp_path, {"demo/mod.so": member}).violations, "isa")
    assert "x86-64-v3" in found.message
    assert judged(tmp_path, {"demo/mod.so": member}, terms=Terms(isa="x86_64_v3")).ok
    assert not judged(tmp_path, {"demo/mod.so": member}, terms=Terms(isa="x86-64-v2")).ok
    assert judged(tmp_path, {"demo/mod.so": extension(note=gnu_property(ISA_NEEDED, 1))}).ok


@pytest.mark.parametrize(
    ("text", "expected"), [(None, 1), ("x86_64", 1), ("x86-64-v2", 2), ("x86_64_v3", 3), ("v4", 4)]
)
def test_levels(text: str | None, expected: int) -> None:
    assert level(text) == expected


def test_objects_that_are_not_loaded_are_not_judged(tmp_path: Path) -> None:
    members = {"demo/x.o": make(Recipe(kind=1, dynamic=False, stack=7)), "demo/cubin": extension(machine=190)}
    verdict = judged(tmp_path, members, OLD)
    assert rules(verdict.violations) == []
