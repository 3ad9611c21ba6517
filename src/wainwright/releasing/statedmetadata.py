"""What an index would refuse of the metadata that pyproject.toml states: said before anything is built."""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import tomli
from packaging.metadata import ExceptionGroup, Metadata
from packaging.requirements import InvalidRequirement, Requirement

from wainwright.completed import Run
from wainwright.finding import Finding
from wainwright.releasing.filechecks import described

WHERE: Final = "[project] of pyproject.toml"
# Builds that go by pyproject.toml; whence another command has its metadata, nobody knows before it has run.
FRONTENDS: Final = re.compile(r"\bpip3? wheel\b|-m build\b|\bpyproject-build\b|\buv build\b")
# PEP 621: "If the file path ends in a case-insensitive .md suffix, then tools MUST assume the content-type is
# text/markdown", and for .rst text/x-rst.
CONTENT_TYPES: Final = {".md": "text/markdown", ".rst": "text/x-rst"}


def of_source(folder: Path, run: Run) -> Iterator[Finding]:
    """Hold what is stated against what indexes take; what is dynamic or stated elsewhere, only the wheel can tell."""
    project = _stated(folder)
    if project is None:
        return
    try:
        Metadata.from_raw(_fields(project))  # type: ignore[arg-type]
    except ExceptionGroup as group:
        yield from (Finding(where=WHERE, what=str(error)) for error in group.exceptions)
    yield from _refused(project)
    if "readme" not in _texts(project.get("dynamic")):
        yield from _readme(folder, project, run)


def _stated(folder: Path) -> Mapping[str, Any] | None:
    try:
        project = tomli.loads((folder / "pyproject.toml").read_text(encoding="utf-8")).get("project")
    except (OSError, ValueError, RecursionError):  # the build will say so
        return None
    return project if isinstance(project, dict) and isinstance(project.get("name"), str) else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""  # of what is no text the build will say so


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _fields(project: Mapping[str, Any]) -> dict[str, Any]:
    fields = {
        "metadata_version": "2.2",
        "name": project["name"],
        "version": "1.0",
        "summary": _text(project.get("description")),
        "requires_python": _text(project.get("requires-python")),
        "requires_dist": _texts(project.get("dependencies")),
    }
    return {key: value for key, value in fields.items() if value}


def _refused(project: Mapping[str, Any]) -> Iterator[Finding]:
    extras = project.get("optional-dependencies")
    lists = [project.get("dependencies"), *(extras.values() if isinstance(extras, dict) else ())]
    for text in (text for each in lists for text in _texts(each)):
        try:
            url = Requirement(text).url
        except InvalidRequirement:  # told by its metadata, or by the build
            continue
        if url:
            yield Finding(where=WHERE, what=f"it depends on {text!r} by its address, and indexes refuse that")
    for classifier in _texts(project.get("classifiers")):
        if classifier.startswith("Private ::"):
            yield Finding(where=WHERE, what=f"with the classifier {classifier!r} indexes refuse every upload")


def _readme(folder: Path, project: Mapping[str, Any], run: Run) -> Iterator[Finding]:
    """Have twine look at the description that the wheels are going to have."""
    stated = project.get("readme")
    table = {"file": stated} if isinstance(stated, str) else stated if isinstance(stated, dict) else {}
    text, name = table.get("text", ""), table.get("file")
    if isinstance(name, str):
        try:
            text = (folder / name).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            why = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else "cannot be read"
            yield Finding(where=WHERE, what=f"readme names {name}, which {why}")
            return
    kind = table.get("content-type") or CONTENT_TYPES.get(Path(str(name)).suffix.lower())
    with tempfile.TemporaryDirectory(prefix="wainwright-metadata-") as temporary:
        said = described(_pretend(Path(temporary), text, kind), run)
    if said is not None:
        hint = "" if stated else 'readme = "README.md" there gives wheels their description'
        yield Finding(where=WHERE, what="twine check --strict will fail", details=said, hint=hint)


def _pretend(folder: Path, text: str, kind: str | None) -> Path:
    """Write a wheel of nothing but this description."""
    head = "Metadata-Version: 2.1\nName: pretended\nVersion: 1.0\n"
    head += f"Description-Content-Type: {kind}\n" if kind else ""
    path = folder / "pretended-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("pretended-1.0.dist-info/METADATA", f"{head}\n{text}")
    return path
