"""How a build learns the version that is to be released, on the host with zig."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from projects import Project
from wainwright.errors import Exit

pytestmark = pytest.mark.network  # zig comes from the index, once

TELLS = """
import os
assert os.environ["SETUPTOOLS_SCM_PRETEND_VERSION"] == os.environ["WAINWRIGHT_VERSION"]
os.environ["VERSION"] = os.environ["WAINWRIGHT_VERSION"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "demo")


def version(wheel: Path) -> str:
    """Give the version that METADATA has, which the file's name and the dist-info folder must have as well."""
    spelled = wheel.name.split("-")[1]
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"demo-{spelled}.dist-info/METADATA").decode()
    assert f"\nVersion: {spelled}\n" in text
    return spelled


def test_a_wheel_with_the_static_version_gets_the_days(project: Project) -> None:
    done = project.run("smoke", "--", "nightly")
    assert done.returncode == 0, done.stderr
    (built,) = project.root.glob("dist/full-*/*.whl")
    (audited,) = project.root.glob("wheelhouse/full/*.whl")
    assert re.fullmatch(r"1\.0\.dev20\d{6}", version(built))
    assert version(audited) == version(built)
    assert "unchanged" in project.run("build", "--", "nightly").stderr


def test_a_build_may_ask_for_the_version(project: Project) -> None:
    project.write("make.py", TELLS + (project.root / "make.py").read_text())
    project.edit("[variants.full.build]", '[variants.full.audit]\nmode = "check"\n[variants.full.build]')
    for words, expected in ((("nightly",), r"1\.0\.dev20\d{6}"), (("v1.2.3",), r"1\.2\.3")):
        done = project.run("build", "--", *words)
        assert done.returncode == 0, done.stderr
        (built,) = project.root.glob("dist/full-*/*.whl")
        assert re.fullmatch(expected, version(built))


def test_what_nobody_else_may_touch_must_know_its_day(project: Project) -> None:
    project.edit("[variants.full.build]", '[variants.full.audit]\nmode = "check"\n[variants.full.build]')
    done = project.run("build", "--", "nightly")
    assert done.returncode == Exit.BUILD
    assert "have the build take its version from WAINWRIGHT_VERSION" in done.stderr


def test_the_wheel_of_a_release_says_its_version_itself(project: Project) -> None:
    done = project.run("build", "--", "v1.1")
    assert done.returncode == Exit.BUILD
    assert "expected version 1.1, found 1.0" in done.stderr
