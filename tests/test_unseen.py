from __future__ import annotations

from pathlib import Path

import pytest

from projects import Project
from wainwright.errors import Exit
from wainwright.running.unseen import explanation


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("a.c:1:10: fatal error: 'zlib.h' file not found", "zlib.h"),
        ('error: unable to find dynamic system library "z" using strategy paths_first. searched paths: none', "z"),
        ("ld.lld: error: unable to find library -lz", "z"),
        ("CMake Error: Could NOT find ZLIB (missing: ZLIB_LIBRARY ZLIB_INCLUDE_DIR)", "ZLIB"),
        ('meson.build:3:0: ERROR: Dependency "zlib" not found, tried pkgconfig', "zlib"),
        ("No package 'zlib' found", "zlib"),
    ],
)
def test_what_was_looked_for(line: str, name: str) -> None:
    told = explanation(["compiling", line, line, "failed"])
    assert "zig does not see" in told
    assert f"glibc: {name} must come" in told


def test_what_has_nothing_to_do_with_it() -> None:
    assert explanation(["a.c:1:1: error: expected ';'", "file not found"]) == ""
    assert "python3-dev" in explanation(["a.c:1:10: fatal error: 'Python.h' file not found"])


@pytest.mark.parametrize(
    ("source", "flags", "name"),
    [
        ("#include <absent/zlib.h>\nvoid *PyInit_mod(void) { return 0; }", "-O1", "absent/zlib.h"),
        ("void *PyInit_mod(void) { return 0; }", "-labsent", "absent"),
    ],
)
def test_a_build_says_that_zig_does_not_see_it(tmp_path: Path, source: str, flags: str, name: str) -> None:
    demo = Project(tmp_path / "demo", source=source)
    demo.edit("{python} make.py {out}", f"$CC -shared -fPIC mod.c -o {{out}}/mod.so {flags}")
    done = demo.run("build")
    assert done.returncode == Exit.BUILD
    (hint,) = (line for line in done.stderr.splitlines() if line.startswith("hint: "))
    assert f"zig does not see the machine's own headers and libraries, which are of another glibc: {name} must" in hint
    assert hint.endswith(".build.log")
