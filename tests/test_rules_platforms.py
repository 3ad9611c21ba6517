from __future__ import annotations

from pathlib import Path

import pytest

from elves import Recipe, make
from judging import AARCH64, OLD, extension, judged, only, rules

INTERPRETER = "/lib64/ld-linux-x86-64.so.2"
NEW = {"libc.so.6": ["GLIBC_2.34"]}


def about(purelib: str, *tags: str) -> dict[str, bytes]:
    lines = ["Wheel-Version: 1.0", f"Root-Is-Purelib: {purelib}", *(f"Tag: {tag}" for tag in tags)]
    return {"demo-1.0.dist-info/WHEEL": "".join(f"{line}\n" for line in lines).encode()}


@pytest.mark.parametrize("purelib", ["true", "false"])
@pytest.mark.parametrize(
    ("name", "tags"),
    [
        ("demo-1.0-py3-none-any.whl", ["py3-none-any"]),
        ("demo-1.0-cp311-cp311-any.whl", ["cp311-cp311-any"]),
        (
            "demo-1.0-cp311-cp311-manylinux_2_17_x86_64.any.whl",
            ["cp311-cp311-manylinux_2_17_x86_64", "cp311-cp311-any"],
        ),
    ],
)
def test_any_platform_has_no_native_code(tmp_path: Path, name: str, tags: list[str], purelib: str) -> None:
    verdict = judged(tmp_path, {"demo/libx.so": extension(), **about(purelib, *tags)}, name)
    found = only(verdict.violations, "purelib-elf")
    assert found.member == "demo/libx.so"
    assert ("purelib" in found.message) is (purelib == "true")
    assert "Root-Is-Purelib: false" in str(found.hint)
    assert verdict.measured.tag == "manylinux_2_5_x86_64"


def test_a_program_in_a_wheel_for_any_platform(tmp_path: Path) -> None:
    tool = extension(kind=2, interpreter=INTERPRETER, needs=NEW)
    verdict = judged(tmp_path, {"demo/bin/tool": tool}, "demo-1.0-py3-none-any.whl")
    assert only(verdict.violations, "purelib-elf").member == "demo/bin/tool"
    assert verdict.measured.tag == "manylinux_2_34_x86_64"
    static = {"demo-1.0.data/scripts/tool": make(Recipe(kind=2, dynamic=False))}
    assert rules(judged(tmp_path, static, "demo-1.0-py3-none-any.whl").violations) == ["purelib-elf"]


def test_a_wheel_that_carries_the_same_for_several_platforms(tmp_path: Path) -> None:
    name = "demo-1.0-py3-none-any.whl"
    for other in (
        {"demo/attach_arm64.so": extension(machine=AARCH64, align=0x10000)},
        {"demo/attach_amd64.dll": b"MZ"},
    ):
        verdict = judged(tmp_path, {"demo/attach_amd64.so": extension(), **other}, name)
        assert verdict.ok
        assert set(rules(verdict.warnings)) == {"purelib-elf"}
        mod = extension(symbols={"PyInit_mod": (True, False, None)})
        assert only(judged(tmp_path, {"demo/mod.so": mod, **other}, name).violations, "purelib-elf").member


def test_device_code_and_objects_do_not_make_a_wheel_native(tmp_path: Path) -> None:
    members = {
        "demo/kernel.hsaco": make(Recipe(machine=224)),
        "demo/probe.bpf.o": make(Recipe(machine=247, kind=1, dynamic=False)),
        "demo/x.cubin": make(Recipe(machine=190, kind=2, dynamic=False)),
        "demo/firmware.elf": make(Recipe(machine=243, kind=2, dynamic=False)),
    }
    assert judged(tmp_path, members, "demo-1.0-py3-none-any.whl").ok
    assert judged(tmp_path, {**members, "demo/mod.so": extension()}).ok


def test_each_architecture_is_a_claim(tmp_path: Path) -> None:
    name = "demo-1.0-cp310-cp310-manylinux_2_17_x86_64.manylinux_2_17_aarch64.whl"
    verdict = judged(tmp_path, {"demo/mod.so": extension()}, name)
    found = only(verdict.violations, "foreign-architecture")
    assert "claims aarch64 as well" in found.message
    assert verdict.measured.tag == "manylinux_2_5_x86_64"
    other = extension(machine=AARCH64, needs={"libc.so.6": ["GLIBC_2.17"]}, align=0x10000)
    verdict = judged(tmp_path, {"demo/mod.so": other}, name)
    assert only(verdict.violations, "foreign-architecture").member == "demo/mod.so"
    assert verdict.measured.tag == "manylinux_2_17_aarch64"
    verdict = judged(tmp_path, {"demo/a.so": other, "demo/b.so": extension()}, name)
    assert rules(verdict.violations) == ["foreign-architecture"] * 2


def test_other_names_of_one_architecture_are_one_claim(tmp_path: Path) -> None:
    arm = extension(machine=40, bits=32, needs={"libc.so.6": ["GLIBC_2.4"]})
    assert judged(tmp_path, {"demo/mod.so": arm}, "demo-1.0-cp310-cp310-linux_armv6l.linux_armv7l.whl").ok


@pytest.mark.parametrize("kind", [2, 3])
@pytest.mark.parametrize("member", ["demo-1.0.data/scripts/tool", "demo/bin/tool.real"])
def test_a_static_program_of_another_machine(tmp_path: Path, member: str, kind: int) -> None:
    static = make(Recipe(kind=kind, dynamic=False, machine=AARCH64))
    verdict = judged(tmp_path, {member: static}, OLD)
    assert only(verdict.violations, "foreign-architecture").member == member
    assert judged(tmp_path, {member: make(Recipe(kind=kind, dynamic=False))}, OLD).ok
    assert judged(tmp_path, {"demo/data/blob.bin": static}, OLD).ok


def test_a_copy_of_glibc_inside_meets_nothing(tmp_path: Path) -> None:
    libc = make(Recipe(soname="libc.so.6", definitions=("GLIBC_2.34",)))
    mod = extension(needs=NEW, rpath="$ORIGIN/libs", symbols={"dlopen": (False, False, "GLIBC_2.34")})
    verdict = judged(tmp_path, {"demo/mod.so": mod, "demo/libs/libc.so.6": libc})
    found = only(verdict.violations, "symbol-version")
    assert (found.member, found.version, found.symbols) == ("demo/mod.so", "GLIBC_2.34", ("dlopen",))
    assert verdict.libraries.policy == ("libc.so.6",)


def test_a_program_s_need_that_an_extension_s_library_would_meet(tmp_path: Path) -> None:
    members = {
        "demo/mod.so": extension(
            needed=("libdep.so.1",), rpath="$ORIGIN/libs", symbols={"PyInit_mod": (True, False, None)}
        ),
        "demo/libs/libdep.so.1": make(Recipe(soname="libdep.so.1")),
        "demo/bin/tool": extension(needed=("libdep.so.1",), kind=2, interpreter=INTERPRETER),
    }
    assert only(judged(tmp_path, members).violations, "unreachable-library").member == "demo/bin/tool"
