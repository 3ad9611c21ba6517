from __future__ import annotations

from pathlib import Path

import pytest

from elves import Recipe, make
from judging import extension, judged, only, rules

INTERPRETER = "/lib64/ld-linux-x86-64.so.2"
INIT = {"PyInit_mod": (True, False, None)}
MOD = "demo/mod.so"
PIE = ((0x6FFFFFFB, 0x08000000),)


def patched(at: int, value: int) -> bytes:
    data = bytearray(extension(symbols=INIT))
    data[at] = value
    return bytes(data)


@pytest.mark.parametrize(
    ("at", "value"), [(7, 9), (7, 255), (8, 9), (20, 2), (6, 2), (12, 1), (16, 1), (16, 4), (16, 0), (4, 1)]
)
def test_a_module_that_the_loader_refuses(tmp_path: Path, at: int, value: int) -> None:
    assert only(judged(tmp_path, {MOD: patched(at, value)}).violations, "broken-elf").member == MOD


@pytest.mark.parametrize(("at", "value"), [(7, 3), (8, 1), (7, 0)])
def test_headers_that_the_loader_takes(tmp_path: Path, at: int, value: int) -> None:
    assert judged(tmp_path, {MOD: patched(at, value)}).ok


@pytest.mark.parametrize("machine", [43, 50, 224])
def test_a_module_for_a_machine_that_no_tag_names(tmp_path: Path, machine: int) -> None:
    assert only(judged(tmp_path, {MOD: patched(18, machine)}).violations, "foreign-architecture").member == MOD


def test_a_program_in_the_name_of_a_module(tmp_path: Path) -> None:
    name = "demo/mod.cpython-310-x86_64-linux-gnu.so"
    for program in (
        extension(interpreter=INTERPRETER, tags=PIE),
        extension(interpreter=INTERPRETER),
        extension(interpreter=INTERPRETER, kind=2),
    ):
        assert only(judged(tmp_path, {name: program}).violations, "broken-elf").member == name
    printing = extension(interpreter=INTERPRETER, symbols=INIT)
    assert judged(tmp_path, {MOD: printing}).ok


@pytest.mark.parametrize("fields", [{"kind": 2}, {"tags": PIE}])
def test_a_program_where_a_library_is_needed(tmp_path: Path, fields: dict[str, object]) -> None:
    members = {
        MOD: extension(needed=("libdep.so.1",), runpath="$ORIGIN"),
        "demo/libdep.so.1": extension(soname="libdep.so.1", **fields),
    }
    assert only(judged(tmp_path, members).violations, "broken-elf").member == "demo/libdep.so.1"


def test_an_object_in_a_library_s_name_is_data(tmp_path: Path) -> None:
    assert judged(tmp_path, {"demo/x.so": make(Recipe(kind=1, dynamic=False, machine=43))}).ok


def test_armel_in_a_wheel_for_hard_float(tmp_path: Path) -> None:
    name = "demo-1.0-cp310-cp310-manylinux_2_31_armv7l.whl"
    code = {"bits": 32, "machine": 40, "needs": {"libc.so.6": ["GLIBC_2.4"]}}
    soft = judged(tmp_path, {MOD: extension(flags=0x5000200, **code)}, name)
    assert "armel" in only(soft.violations, "foreign-architecture").message
    assert judged(tmp_path, {MOD: extension(flags=0x5000400, **code)}, name).ok


@pytest.mark.parametrize(
    "path", ["/nix/store/abc-glibc/lib/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1", "/lib/ld-linux-x86-64.so.2"]
)
def test_a_program_that_asks_for_another_loader(tmp_path: Path, path: str) -> None:
    members = {"demo/bin/tool": extension(interpreter=path, kind=2)}
    assert only(judged(tmp_path, members).violations, "interpreter").member == "demo/bin/tool"
    assert judged(tmp_path, members, "demo-1.0-cp310-cp310-linux_x86_64.whl").ok
    assert judged(tmp_path, {"demo/libx.so": extension(interpreter=path, soname="libx.so")}).ok


def test_a_musl_wheel_s_program(tmp_path: Path) -> None:
    name = "demo-1.0-cp310-cp310-musllinux_1_2_x86_64.whl"
    for path, right in (("/lib/ld-musl-x86_64.so.1", True), (INTERPRETER, False)):
        member = extension(needed=("libc.musl-x86_64.so.1",), interpreter=path, kind=2)
        verdict = judged(tmp_path, {"demo/bin/tool": member}, name)
        assert verdict.ok is right
        assert rules(verdict.violations) == ([] if right else ["interpreter"])


def test_a_driver_s_stub_that_a_search_path_reaches(tmp_path: Path) -> None:
    stub = {"demo/stubs/libcuda.so.1": make(Recipe(soname="libcuda.so.1"))}
    user = extension(needed=("libcuda.so.1",), runpath="$ORIGIN/stubs")
    assert "forbidden-library" in rules(judged(tmp_path, {MOD: user, **stub}).violations)
    assert judged(tmp_path, {MOD: extension(), **stub}).ok


@pytest.mark.parametrize("path", ["$ORIGIN/nope/../libs", "$ORIGIN/libs/nope/.."])
def test_the_kernel_does_not_simplify_a_path(tmp_path: Path, path: str) -> None:
    members = {
        MOD: extension(needed=("libdep.so.1",), runpath=path),
        "demo/libs/libdep.so.1": make(Recipe(soname="libdep.so.1")),
    }
    assert only(judged(tmp_path, members).violations, "unreachable-library").member == MOD
    for good in ("$ORIGIN/libs/../libs", "$ORIGIN/../other/../demo/libs", "$ORIGIN/../demo/libs"):
        members[MOD] = extension(needed=("libdep.so.1",), runpath=good)
        assert judged(tmp_path, members).ok


def test_an_empty_runpath_hides_rpath(tmp_path: Path) -> None:
    members = {
        MOD: extension(needed=("libdep.so.1",), rpath="$ORIGIN", runpath=""),
        "demo/libdep.so.1": make(Recipe(soname="libdep.so.1")),
    }
    assert only(judged(tmp_path, members).violations, "unreachable-library").member == MOD


@pytest.mark.parametrize(
    ("tags", "folder", "right"),
    [
        ("cp311-cp311", "python3.11", True), ("cp311-cp311", "python3.12", False), ("cp311-cp311", "python3.1", False),
        ("cp39-abi3", "python3.12", True), ("cp39-abi3", "python3.8", False), ("py3-none", "python3.9", True),
        ("py3-none", "python2.7", False), ("py2.py3-none", "python2.7", True), ("cp313-cp313t", "python3.13t", True),
        ("cp310.cp311-cp310.cp311", "python3.11", True), ("py38-none", "python3.10", True),
        ("pp310-pypy310_pp73", "python3.10", True),
    ],
)  # fmt: skip
def test_a_search_path_through_a_python_s_folder(tmp_path: Path, tags: str, folder: str, right: bool) -> None:
    path = f"$ORIGIN/../lib/{folder}/site-packages/demo/libs"
    members = {
        "demo-1.0.data/scripts/tool": extension(needed=("libdep.so.1",), kind=2, interpreter=INTERPRETER, runpath=path),
        "demo/libs/libdep.so.1": make(Recipe(soname="libdep.so.1")),
    }
    assert judged(tmp_path, members, f"demo-1.0-{tags}-manylinux_2_17_x86_64.whl").ok is right


def test_a_filter_is_needed_and_an_auxiliary_filter_is_not(tmp_path: Path) -> None:
    name = "libnothere.so.9"
    symbols = {name: (False, True, None)}  # whose string serves as the filter's
    data = extension(symbols=symbols)
    at = data.index(name.encode()) - data.index(b"libc.so.6\0") + 1
    verdict = judged(tmp_path, {MOD: extension(symbols=symbols, tags=((0x7FFFFFFF, at),))})
    assert only(verdict.violations, "missing-library").library == name
    assert judged(tmp_path, {MOD: extension(symbols=symbols, tags=((0x7FFFFFFD, at),))}).ok


def test_a_copy_inside_without_any_symbol_version(tmp_path: Path) -> None:
    user = extension(needed=("libdep.so.1",), needs={"libdep.so.1": ["VER_2"]}, runpath="$ORIGIN")
    bare = make(Recipe(soname="libdep.so.1"))
    verdict = judged(tmp_path, {MOD: user, "demo/libdep.so.1": bare})
    assert "no symbol versions" in only(verdict.violations, "symbol-version").message
    needing = extension(soname="libdep.so.1")  # which has a table of versions, and the loader takes its symbols
    assert judged(tmp_path, {MOD: user, "demo/libdep.so.1": needing}).ok
