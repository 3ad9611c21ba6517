from __future__ import annotations

from pathlib import Path

import pytest

from wainwright.declaration.release import DEFAULT_COMMAND
from wainwright.releasing.statedmetadata import FRONTENDS, of_source
from wainwright.run import run

BROKEN = "Hello\n==\n\n`broken\n"


def said(folder: Path, text: str, **files: str) -> list[str]:
    (folder / "pyproject.toml").write_text(text)
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content)
    return [str(finding) for finding in of_source(folder, run)]


def project(*lines: str) -> str:
    return "\n".join(["[project]", 'name = "demo"', *lines, ""])


@pytest.mark.parametrize(
    "text",
    [
        project('readme = "README.md"', 'dependencies = ["numpy>=2"]'),
        project('readme = { text = "A demo.", content-type = "text/plain" }'),
        project('dynamic = ["readme", "version"]'),
        "[build-system]\n",
        "no = [toml",
        "deep = " + "[" * 100_000,
        project('dynamic = ["readme"]', "description = 5", "requires-python = true"),
        project('dynamic = ["readme"]', "description = [1]", "requires-python = 1979-05-27"),
        "[project]\nname = 3\n",
    ],
)
def test_what_an_index_takes_and_what_cannot_be_told(tmp_path: Path, text: str) -> None:
    assert said(tmp_path, text, README_md="# Demo\n") == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (project('readme = "README.rst"'), "start-string without end-string"),
        (project('readme = "README.txt"'), "`long_description_content_type` missing"),
        (project('readme = "ABSENT.md"'), "readme names ABSENT.md, which cannot be read"),
        (project('readme = "\\u0000"'), "which cannot be read"),
        (project(), 'hint: readme = "README.md" there gives wheels their description'),
        (project("readme = 3", 'dependencies = "numpy"', "optional-dependencies = 3"), "`long_description` missing"),
        (project('dynamic = ["readme"]', 'description = "a\\nb"'), "'summary' must be a single line"),
        (project('dynamic = ["readme"]', 'requires-python = "three"'), "'three' is invalid for 'requires-python'"),
        (project('dynamic = ["readme"]', 'dependencies = ["b ==="]'), "'b ===' is invalid for 'requires-dist'"),
        (project('dynamic = ["readme"]', 'dependencies = ["b @ https://example.org/b.whl"]'), "by its address"),
        (
            project('dynamic = ["readme"]', 'optional-dependencies.x = ["b @ https://example.org/b.whl"]'),
            "by its address",
        ),
        (project('dynamic = ["readme"]', 'classifiers = ["Private :: Do Not Upload"]'), "refuse every upload"),
    ],
)
def test_what_an_index_would_refuse(tmp_path: Path, text: str, words: str) -> None:
    (line,) = said(tmp_path, text, README_rst=BROKEN, README_txt="A demo.")
    assert line.startswith("[project] of pyproject.toml: ")
    assert words in line


def test_which_builds_go_by_pyproject_toml() -> None:
    goes = [DEFAULT_COMMAND, "{python} -m build --wheel", "uv build --wheel -o {out}"]
    assert all(FRONTENDS.search(command) for command in goes)
    assert not FRONTENDS.search("{python} make.py {out}")
