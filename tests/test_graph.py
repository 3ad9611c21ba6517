from __future__ import annotations

from pathlib import Path

import pytest

from wainwright.declaration.config import load
from wainwright.sessions.graph import Task, expand, in_order

RELEASE = """
[project]
source = "."
[backends.cpu]
[images.zig]
toolchain = "zig"
[targets."2.17"]
image = "zig"
smoke = ["host"]
[targets."2.27"]
image = "zig"
smoke = ["host"]
[variants.full]
backends = ["cpu"]
glibc = ["2.17", "2.27"]
[variants.llvm]
backends = ["cpu"]
glibc = ["2.17"]
"""


def tasks(tmp_path: Path, text: str) -> dict[str, Task]:
    (tmp_path / "release.toml").write_text(text)
    return {task.name: task for task in expand(load(tmp_path / "release.toml"))}


def test_each_stage_has_a_session_for_all_for_each_variant_and_for_each_floor(tmp_path: Path) -> None:
    names = tasks(tmp_path, RELEASE)
    for stage in ("build", "audit", "smoke"):
        assert {name for name in names if name.startswith(stage)} == {
            stage,
            f"{stage}_full",
            f"{stage}_llvm",
            f"{stage}_2_17",
            f"{stage}_2_27",
        }
        assert all(names[name].tags == (stage,) for name in names if name.startswith(stage))


def test_editing_release_toml_alone_adds_a_floor(tmp_path: Path) -> None:
    assert "audit_2_28" not in tasks(tmp_path, RELEASE)
    edited = RELEASE.replace('["2.17", "2.27"]', '["2.17", "2.27", "2.28"]')
    edited = edited.replace("[variants.full]", '[targets."2.28"]\nimage = "zig"\nsmoke = ["host"]\n[variants.full]')
    assert tasks(tmp_path, edited)["audit_2_28"].requires == ("build_2_28",)


def test_a_session_pulls_in_its_own_prerequisites_and_no_others(tmp_path: Path) -> None:
    every = tuple(tasks(tmp_path, RELEASE).values())
    assert [task.name for task in in_order(every, ("smoke_llvm",))] == ["build_llvm", "audit_llvm", "smoke_llvm"]
    assert [task.name for task in in_order(every, ("audit_2_17", "build_2_17"))] == ["build_2_17", "audit_2_17"]


def test_plan_alone_is_run_by_default(tmp_path: Path) -> None:
    assert [task.name for task in tasks(tmp_path, RELEASE).values() if task.default] == ["plan"]


@pytest.mark.parametrize("name", ["plan", "check", "doctor", "build", "audit_2_17", "smoke_llvm"])
def test_every_session_says_in_one_line_what_it_does(tmp_path: Path, name: str) -> None:
    doc = tasks(tmp_path, RELEASE)[name].doc
    assert doc.endswith(".")
    assert "\n" not in doc
