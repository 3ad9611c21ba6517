from __future__ import annotations

from pathlib import Path

import pytest

import native
from judging import extension, judged, only

ABI3 = "demo-1.0-cp38-abi3-manylinux_2_17_x86_64.whl"
NEEDED = (False, False, None)
DEFINED = (True, False, None)


@pytest.mark.parametrize("member", ["demo/mod.abi3.so", "demo/libhelper.so"])
def test_a_symbol_that_a_later_python_brought_in_any_member(tmp_path: Path, member: str) -> None:
    verdict = judged(tmp_path, {member: extension(symbols={"PyType_GetName": NEEDED, "PyLong_FromLong": NEEDED})}, ABI3)
    found = only(verdict.violations, "abi3")
    assert (found.member, found.symbols) == (member, ("PyType_GetName",))
    assert "3.11" in found.message


def test_a_tag_that_is_new_enough(tmp_path: Path) -> None:
    members = {"demo/mod.abi3.so": extension(symbols={"PyType_GetName": NEEDED})}
    assert judged(tmp_path, members, ABI3.replace("cp38", "cp311")).ok
    assert not judged(tmp_path, members, ABI3.replace("cp38", "cp311.cp310")).ok


def test_a_symbol_outside_the_stable_abi(tmp_path: Path) -> None:
    found = only(
        judged(tmp_path, {"demo/mod.so": extension(symbols={"PyUnicode_New": NEEDED})}, ABI3).violations, "abi3"
    )
    assert "not part of the stable ABI" in found.message


@pytest.mark.parametrize("name", ["PyRun_String", "_PyUnicode_Ready", "_Py_Dealloc_Fast", "PyCode_New"])
def test_cpython_s_own_names_are_known(tmp_path: Path, name: str) -> None:
    assert not judged(tmp_path, {"demo/mod.so": extension(symbols={name: NEEDED})}, ABI3).ok


@pytest.mark.parametrize("name", ["PySideSignalInstance_TypeF", "PyArrayThing_API", "Pythia_Init"])
def test_names_of_others_are_left_alone(tmp_path: Path, name: str) -> None:
    assert judged(tmp_path, {"demo/mod.so": extension(symbols={name: NEEDED})}, ABI3).ok


def test_own_definitions_weak_needs_and_other_tags_are_discounted(tmp_path: Path) -> None:
    members = {
        "demo/mod.so": extension(symbols={"PyType_GetName": NEEDED, "PyUnicode_New": (False, True, None)}),
        "demo/libcompat.so": extension(symbols={"PyType_GetName": DEFINED, "Py_Custom": DEFINED}),
        "demo/only.cpython-38-x86_64-linux-gnu.so": extension(symbols={"PyUnicode_New": NEEDED}),
    }
    assert judged(tmp_path, members, ABI3).ok
    plain = {"demo/mod.so": extension(symbols={"PyUnicode_New": NEEDED})}
    assert judged(tmp_path, plain, "demo-1.0-cp310-cp310-manylinux_2_17_x86_64.whl").ok


def test_compiled_code(tmp_path: Path) -> None:
    source = "void *PyType_GetName(void *); void *PyInit_mod(void) { return PyType_GetName(0); }"
    made = native.shared(tmp_path / "mod.so", source, "-Wl,-z,undefs")
    name = ABI3.replace("manylinux_2_17", "linux")
    assert only(judged(tmp_path, {"demo/mod.so": made.read_bytes()}, name).violations, "abi3").member == "demo/mod.so"
