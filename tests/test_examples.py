"""The examples of this repository, built as the README says, and held against auditwheel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = [pytest.mark.network, pytest.mark.slow]


def smoke(folder: Path) -> list[Path]:
    env = {name: value for name, value in os.environ.items() if name != "DOCKER_HOST"}
    # The images that release.toml names are public ones: here the host stands in for them, engine or not.
    env["WAINWRIGHT_ENGINE"] = "none"
    done = subprocess.run(
        [sys.executable, "-m", "nox", "-s", "smoke"], cwd=folder, capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, done.stderr
    return sorted(folder.glob("wheelhouse/*/*.whl"))


def shown(wheel: Path) -> str:
    """Give the tag that auditwheel finds."""
    argv = [sys.executable, "-m", "auditwheel", "show", "--json", str(wheel)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    policy: str = json.loads(done.stdout)["overall_tag"]
    return policy


@pytest.mark.parametrize("name", ["ujson", "kiwisolver"])
def test_a_published_sdist_becomes_a_proven_wheel_for_2_17(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    shutil.copytree(ROOT / "examples" / name, folder, ignore=shutil.ignore_patterns("dist", "wheelhouse", ".nox"))
    (wheel,) = smoke(folder)
    assert wheel.name.endswith("-manylinux2014_x86_64.manylinux_2_17_x86_64.whl")
    assert shown(wheel) == "manylinux_2_17_x86_64"


def test_the_example_project_gives_each_variant_its_own_backends(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples/tricolor", tmp_path / "examples/tricolor")
    for name in ("release.toml", "docker"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    (tmp_path / "noxfile.py").write_text("import wainwright.sessions\n\nwainwright.sessions.register()\n")
    full, reduced = smoke(tmp_path)
    assert full.name.endswith("-manylinux_2_27_x86_64.whl")
    assert reduced.name.endswith("-manylinux2014_x86_64.manylinux_2_17_x86_64.whl")
    for receipt in (tmp_path / "wheelhouse/receipts").glob("*.json"):
        data = json.loads(receipt.read_text())
        assert (data["passed"], data["engine"], data["publishable"]) == (True, "host", False)
    backends = json.loads(next((tmp_path / "wheelhouse/receipts").glob("reduced*.smoke.debian10.json")).read_text())
    assert backends["facts"]["backends"] == ["loop", "threads"]
