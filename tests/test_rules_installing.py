from __future__ import annotations

from pathlib import Path

import pytest

from judging import extension, judged, only, rules
from wainwright.auditing.requirements import applies
from wainwright.auditing.terms import Pattern, Terms

INFO = "demo-1.0.dist-info"
EXT = {"demo/mod.so": extension()}
TAG = "cp310-cp310-manylinux_2_17_x86_64"


def wheel_file(*lines: str) -> dict[str, bytes]:
    return {f"{INFO}/WHEEL": "".join(f"{line}\n" for line in (*lines, f"Tag: {TAG}")).encode()}


@pytest.mark.parametrize("version", ["1.x", "1.", "2.0", "one", ""])
def test_a_wheel_version_that_installers_refuse(tmp_path: Path, version: str) -> None:
    members = {**EXT, **wheel_file(f"Wheel-Version: {version}", "Root-Is-Purelib: false")}
    assert only(judged(tmp_path, members).violations, "dist-info").member == f"{INFO}/WHEEL"


@pytest.mark.parametrize("version", ["1.0", "1.9"])
def test_a_wheel_version_that_they_take(tmp_path: Path, version: str) -> None:
    assert judged(tmp_path, {**EXT, **wheel_file(f"Wheel-Version: {version}", "Root-Is-Purelib: false")}).ok


@pytest.mark.parametrize("member", ["demo-1.0.data/bogus/x.py", "demo-1.0.data/x.py", "demo-1.0.data/PURELIB/x.py"])
def test_what_lies_in_no_scheme(tmp_path: Path, member: str) -> None:
    assert only(judged(tmp_path, {**EXT, member: b""}).violations, "dist-info").member == member


def test_a_file_and_a_folder_of_one_name(tmp_path: Path) -> None:
    members = {**EXT, "demo/x": b"", "demo/x/y.py": b"", "demo/x/z/a.py": b""}
    assert only(judged(tmp_path, members).violations, "dist-info").member == "demo/x"


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("[console_scripts]\nfoo = \n", False), ("[gui_scripts]\nfoo = demo\n", False),
        ("[console_scripts]\nfoo = demo.cli:main\nbar=demo:App.run [extra]\n\n# no\n", True),
        ("[console_scripts]\nfoo = demo : App.run\n", False), ("[console_scripts]\nfoo = demo.:main\n", False),
        ("[console_scripts]\na b = demo:main\n", False), ("[console_scripts]\n= demo:main\n", False),
        ("not yet a section\n[demo.plugins]\nfoo = demo.plugin\n# no", True), ("[demo.plugins]\nfoo\n", False),
    ],
)  # fmt: skip
def test_scripts_that_name_no_function(tmp_path: Path, text: str, right: bool) -> None:
    verdict = judged(tmp_path, {**EXT, f"{INFO}/entry_points.txt": text.encode()})
    assert rules(verdict.violations) == ([] if right else ["dist-info"])


@pytest.mark.parametrize(
    "lines",
    [
        ("Wheel-Version: 1.0", "Root-Is-Purelib: false", "Root-Is-Purelib: true"),
        ("Wheel-Version: 1.0", "Root-Is-Purelib: yes"), ("Wheel-Version: 1.0",),
    ],
)  # fmt: skip
def test_doubtful_fields_are_warnings(tmp_path: Path, lines: tuple[str, ...]) -> None:
    verdict = judged(tmp_path, {**EXT, **wheel_file(*lines)})
    assert verdict.ok
    assert only(verdict.warnings, "dist-info").member == f"{INFO}/WHEEL"


def test_two_names(tmp_path: Path) -> None:
    about = {f"{INFO}/METADATA": b"Metadata-Version: 2.1\nName: demo\nName: evil\nVersion: 1.0\n"}
    assert only(judged(tmp_path, {**EXT, **about}).warnings, "dist-info").member == f"{INFO}/METADATA"


def test_two_members_for_one_place(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"demo/a.py": b"1", "demo-1.0.data/platlib/demo/a.py": b"2", **EXT})
    assert only(verdict.warnings, "duplicate-member").member == "demo-1.0.data/platlib/demo/a.py"


@pytest.mark.parametrize(
    "platform",
    [
        "manylinux_2_99999999999_x86_64", "manylinux_2_17", "manylinux_1_9_x86_64", "manylinux_2_017_x86_64",
        "manylinux_2_17_amd64", "linux_arm64", "manylinux2014", "linux", "manylinux2028_x86_64", "manylinux1_s390x",
        "manylinux2010_aarch64", "manylinux_2_17_x86_64_v2", "musllinux_1_99999_x86_64",
    ],
)  # fmt: skip
def test_a_tag_that_no_installer_takes(tmp_path: Path, platform: str) -> None:
    verdict = judged(tmp_path, {"demo/x.py": b""}, f"demo-1.0-cp310-cp310-{platform}.whl")
    assert platform in only(verdict.violations, "tag-mismatch").message
    both = judged(tmp_path, EXT, f"demo-1.0-cp310-cp310-{platform}.manylinux_2_17_x86_64.whl")
    assert rules(both.violations) == ["tag-mismatch"]


@pytest.mark.parametrize(
    "platform",
    ["manylinux2014_riscv64", "manylinux_3_0_x86_64", "manylinux_2_5_i686", "win_amd64", "musllinux_1_1_i686"],
)
def test_a_tag_that_some_installer_takes(tmp_path: Path, platform: str) -> None:
    assert judged(tmp_path, {"demo/x.py": b""}, f"demo-1.0-cp310-cp310-{platform}.whl").ok


def test_a_module_named_for_another_python(tmp_path: Path) -> None:
    for name in ("demo/mod.cpython-39-x86_64-linux-gnu.so", "demo/mod.cpython-310-aarch64-linux-gnu.so"):
        verdict = judged(tmp_path, {name: extension()})
        assert verdict.ok
        assert only(verdict.warnings, "tag-mismatch").member == name
        for twin in ("demo/mod.cpython-310-x86_64-linux-gnu.so", "demo/mod.abi3.so", "demo/mod.so"):
            assert judged(tmp_path, {name: extension(), twin: extension(soname="x")}).warnings == ()
        assert judged(tmp_path, {name: extension()}, "demo-1.0-py3-none-linux.whl").warnings == ()


def test_a_module_named_for_a_python_of_five_thousand_digits(tmp_path: Path) -> None:
    name = f"demo/mod.cpython-3{'1' * 5000}-x86_64-linux-gnu.so"
    assert only(judged(tmp_path, {name: extension()}).warnings, "tag-mismatch").member == name


def test_module_names_that_are_right(tmp_path: Path) -> None:
    for name, wheel in (
        ("demo/mod.cpython-310-x86_64-linux-gnu.so", "demo-1.0-cp39-abi3-manylinux_2_17_x86_64.whl"),
        ("demo/mod.cpython-313t-x86_64-linux-gnu.so", "demo-1.0-cp313-cp313t-manylinux_2_17_x86_64.whl"),
        ("demo/mod.cpython-310-x86_64-linux-gnu.so", "demo-1.0-py3-none-manylinux_2_17_x86_64.whl"),
    ):
        assert judged(tmp_path, {name: extension()}, wheel).warnings == ()
    arm = extension(bits=32, machine=40, needs={"libc.so.6": ["GLIBC_2.4"]})
    name = "demo-1.0-cp310-cp310-manylinux_2_31_armv7l.whl"
    assert judged(tmp_path, {"demo/mod.cpython-310-arm-linux-gnueabihf.so": arm}, name).warnings == ()


@pytest.mark.parametrize(
    ("requirement", "right"),
    [
        ("dep", True), ("dep; python_version < '3.9'", True), ("dep; sys_platform == 'linux'", True),
        ("dep; sys_platform == 'win32'", False), ("dep; extra == 'x'", False),
        ("dep; platform_system != 'Linux'", False),
        ("dep; platform_machine == 'aarch64'", True), ("dep; nonsense", True),
        ("dep>=1; python_version > '3' and extra == 'all'", False),
    ],
)  # fmt: skip
def test_what_a_requirement_brings_on_linux(requirement: str, right: bool) -> None:
    assert applies(requirement) is right


def test_a_requirement_for_another_system_provides_nothing(tmp_path: Path) -> None:
    user = {"demo/mod.so": extension(needed=("libdep.so.1",), runpath="$ORIGIN/../dep/lib")}
    assert judged(tmp_path, user, requires=("dep",)).ok
    for marker in ("sys_platform == 'win32'", "extra == 'x'"):
        verdict = judged(tmp_path, user, requires=(f"dep; {marker}",))
        assert rules(verdict.violations) == ["missing-library"]
    terms = Terms(provided_by=((Pattern("libdep.so.1"), "dep"),))
    verdict = judged(tmp_path, user, requires=("dep; sys_platform == 'win32'",), terms=terms)
    assert rules(verdict.violations) == ["provided-by"]
