from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import native
from elves import Recipe, make
from wainwright.__main__ import main
from wainwright.errors import Exit

NEEDS = {"libc.so.6": ("GLIBC_2.17",)}


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    elf = make(Recipe(needed=("libc.so.6",), needs=NEEDS))
    return native.wheel(tmp_path / "demo-1.0-cp311-cp311-linux_x86_64.whl", {"demo/mod.so": elf})


def test_the_measured_floor_becomes_the_tag(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["retag", str(wheel)]) == Exit.RIGHT
    made = Path(capsys.readouterr().out.strip())
    assert made == wheel.with_name("demo-1.0-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl")
    with zipfile.ZipFile(made) as after, zipfile.ZipFile(wheel) as before:
        assert after.read("demo/mod.so") == before.read("demo/mod.so")
    assert main(["audit", str(made)]) == Exit.RIGHT


def test_a_named_floor_above_the_measured_one(wheel: Path, tmp_path: Path) -> None:
    assert main(["retag", "--glibc", "2.28", "--wheel-dir", str(tmp_path / "out"), str(wheel)]) == Exit.RIGHT
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["demo-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"]


def test_a_local_version(wheel: Path) -> None:
    assert main(["retag", "--local-version", "llvm", str(wheel)]) == Exit.RIGHT
    made = wheel.with_name("demo-1.0+llvm-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl")
    assert made.exists()
    assert main(["audit", str(made)]) == Exit.RIGHT


def test_below_the_measured_floor_is_refused_by_name(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["retag", "--glibc", "2.12", str(wheel)]) == Exit.FELL_SHORT
    told = capsys.readouterr().err
    assert "it needs glibc 2.17, and 2.12 is below that" in told
    assert "demo/mod.so" in told
    assert "GLIBC_2.17" in told
    assert [path.name for path in wheel.parent.glob("*.whl")] == [wheel.name]


def test_what_needs_a_graft_is_no_matter_of_tags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elf = make(Recipe(needed=("libc.so.6", "libdep.so.1"), needs=NEEDS))
    wheel = native.wheel(tmp_path / "demo-1.0-cp311-cp311-linux_x86_64.whl", {"demo/mod.so": elf})
    assert main(["retag", str(wheel)]) == Exit.FELL_SHORT
    assert "libdep.so.1" in capsys.readouterr().err
    assert main(["retag", "--exclude", "libdep.so.1", str(wheel)]) == Exit.RIGHT


def test_a_wheel_without_native_code(tmp_path: Path) -> None:
    wheel = native.wheel(tmp_path / "demo-1.0-py3-none-any.whl", {"demo/__init__.py": b""})
    assert main(["retag", str(wheel)]) == Exit.FELL_SHORT


@pytest.mark.parametrize(
    "words", [["retag"], ["retag", "--glibc", "two", "x.whl"], ["retag", "absent-1.0-py3-none-any.whl"]]
)
def test_bad_arguments_are_one_error(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == Exit.USAGE
    assert capsys.readouterr().err.startswith("error: ")


def test_a_python_tag_that_the_file_got_by_hand_is_not_made_true(
    wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    renamed = wheel.rename(wheel.with_name(wheel.name.replace("cp311-cp311", "cp39-abi3")))
    assert main(["retag", str(renamed)]) == Exit.FELL_SHORT
    assert "its file name says cp39-abi3, and its WHEEL cp311-cp311" in capsys.readouterr().err
    assert [path.name for path in wheel.parent.glob("*.whl")] == [renamed.name]


def test_code_that_cannot_be_read_has_no_platform(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = make(Recipe(needed=("libc.so.6",), needs=NEEDS))[:80]
    wheel = native.wheel(tmp_path / "demo-1.0-cp311-cp311-linux_x86_64.whl", {"demo/mod.so": cut})
    assert main(["retag", str(wheel)]) == Exit.FELL_SHORT
    assert "no native code for x86_64 inside that can be read" in capsys.readouterr().err


def test_of_several_the_others_are_done(wheel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = tmp_path / "absent-1.0-cp311-cp311-linux_x86_64.whl"
    assert main(["retag", str(absent), str(wheel)]) == Exit.USAGE
    told = capsys.readouterr()
    assert told.out.strip().endswith("manylinux2014_x86_64.manylinux_2_17_x86_64.whl")
    assert told.err.startswith(f"error: {absent}: cannot be read: No such file")
