"""Imports go one way: the library knows neither nox nor the sessions, and starts fast."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "wainwright"
LIBRARY = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__main__.py")
# What each package of the library may import beside what stands at the top, in the order in which they build.
MAY: dict[str, set[str]] = {
    "formats": set(),
    "auditing": {"formats"},
    "declaration": {"auditing"},
    "comparing": {"formats", "auditing"},
    "sourcing": {"declaration"},
    "running": {"formats", "auditing", "declaration"},
    "hosts": {"declaration"},
    "releasing": {"formats", "auditing", "declaration", "sourcing", "hosts"},
}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_the_library_imports_neither_nox_nor_the_sessions(path: Path) -> None:
    wrong = [name for name in imported(path) if name.split(".")[0] in {"nox", "tox"} or "sessions" in name.split(".")]
    assert wrong == []


@pytest.mark.parametrize("package", MAY)
def test_packages_import_one_way(package: str) -> None:
    used = {name.split(".")[1] for path in (SOURCE / package).rglob("*.py") for name in imported(path) if "." in name}
    assert used & MAY.keys() <= MAY[package] | {package}


def test_every_package_has_its_place_in_that_order() -> None:
    assert {path.parent.relative_to(SOURCE).parts[0] for path in SOURCE.glob("*/*.py")} == MAY.keys()


def test_the_edges_are_not_imported_by_the_stages() -> None:
    edges = {"__init__.py", "with_nox.py", "with_tox.py"}
    for path in (ROOT / "sessions").glob("*.py"):
        if path.name not in edges:
            assert not {"nox", "tox"} & {name.split(".")[0] for name in imported(path)}, path


def test_the_command_line_imports_what_it_needs_and_no_more() -> None:
    code = "import sys; import wainwright.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"nox", "packaging", "jsonschema_rs", "ghapi", "requests", "zipfile", "email", "abi3info", "isal"}
    assert not heavy & set(done.stdout.split())
