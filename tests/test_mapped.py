from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from pathlib import Path

import pytest

import native
from wainwright.declaration.release import Loaded
from wainwright.running.mapped import MAPPED, Mapped, mistakes, part

GOMP = "/v/lib/site-packages/demo.libs/libgomp-a34b3233.so.1.0.0"
MODULE = "/v/lib/site-packages/demo/mod.so"
CUDA = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
FILES = part([MODULE, GOMP, CUDA, "/usr/lib/x86_64-linux-gnu/libc.so.6"], "/v")


def test_it_is_parted_by_the_prefix() -> None:
    assert FILES.inside == (
        "/v/lib/site-packages/demo.libs/libgomp-a34b3233.so.1.0.0",
        "/v/lib/site-packages/demo/mod.so",
    )
    assert part(["/v2/x.so"], "/v") == Mapped(inside=(), outside=("/v2/x.so",))


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        (Loaded(inside=("libgomp*",), outside=("libcuda*",), once=("libgomp*", "libc.so*")), []),
        (
            Loaded(inside=("libcuda*",)),
            [f"inside: libcuda* was mapped from the system: {CUDA}"],
        ),
        (
            Loaded(outside=("libgomp*",)),
            [f"outside: libgomp* was mapped from inside the wheel: {GOMP}"],
        ),
        (
            Loaded(inside=("libomp*",), outside=("libz*",), once=("libq*",)),
            [
                "inside: libomp* was not mapped at all",
                "outside: libz* was not mapped at all",
                "once: libq* was not mapped at all",
            ],
        ),
    ],
)
def test_what_was_expected_is_held_against_it(expected: Loaded, said: list[str]) -> None:
    assert list(mistakes(FILES, expected)) == said


def test_two_copies_are_not_once() -> None:
    twice = part(["/v/a/libgomp.so.1", "/usr/lib/libgomp.so.1"], "/v")
    assert list(mistakes(twice, Loaded(once=("libgomp*",)))) == [
        "once: libgomp* was mapped 2 times: /v/a/libgomp.so.1, /usr/lib/libgomp.so.1"
    ]


def test_a_real_process_says_what_it_mapped(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    library = native.shared(folder / "libdep.so.1", "int dep(void) { return 1; }")
    assert ctypes.CDLL(str(library)).dep() == 1
    code = f"import ctypes, json; ctypes.CDLL({str(library)!r}); print(json.dumps({MAPPED}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = part(json.loads(done.stdout), str(tmp_path))
    assert found.inside == (str(library),)
    assert any("libc" in file for file in found.outside)
