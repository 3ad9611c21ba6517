"""Imports go one way: the library knows neither nox nor the sessions, and starts fast."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LIBRARY = sorted(path for path in (ROOT / "src/wainwright").rglob("*.py") if path.name != "__main__.py")


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
