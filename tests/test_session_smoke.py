from __future__ import annotations

import json
from pathlib import Path

import pytest

import engine
from projects import RELEASE, Project
from wainwright.declaration.release import Image
from wainwright.run import run
from wainwright.running.containerpythons import find_in_container, pythons_in
from wainwright.running.containers import Container
from wainwright.running.entering import enter
from wainwright.running.standing import stand
from wainwright.values import Python


def imports(project: Project, line: str) -> None:
    """Have the package do this when it is imported."""
    text = (project.root / "make.py").read_text()
    project.write("make.py", text.replace('!r}\\n".encode()', f'!r}}\\n{line}\\n".encode()'))
    assert line in (project.root / "make.py").read_text()


def commands(project: Project, *, run: str = "true", backends: str = "echo cpu") -> None:
    project.edit("\"python -c 'import demo'\"", json.dumps(run))
    project.edit("\"python -c 'import demo; print(*demo.BACKENDS)'\"", json.dumps(backends))


@pytest.mark.parametrize(
    "line",
    [
        "import ctypes; ctypes.CDLL(None).printf(b'a banner')",
        "import atexit; atexit.register(print, 'good bye')",
        "import sys; sys.stdout.close()",
    ],
)
def test_a_module_prints_what_it_likes(line: str, tmp_path: Path) -> None:
    project = Project(tmp_path / "demo")
    imports(project, line)
    commands(project)
    done = project.run("smoke")
    assert done.returncode == 0, done.stderr


def test_a_module_that_ends_the_process_is_a_sentence_with_its_last_words(tmp_path: Path) -> None:
    project = Project(tmp_path / "demo")
    imports(project, "import os; print('last words', flush=True); os._exit(0)")
    commands(project)
    done = project.run("smoke")
    assert done.returncode == 7
    assert "import demo ended the process, with exit code 0, before all was imported" in done.stderr
    assert "last words" in done.stderr


@pytest.mark.parametrize("key", ["run", "backends"])
def test_all_that_a_command_printed_is_told_and_logged(key: str, tmp_path: Path) -> None:
    project = Project(tmp_path / "demo")
    commands(project, **{key: "echo FAILED a_test; echo a warning >&2; exit 1"})
    done = project.run("smoke")
    assert done.returncode == 7
    (log,) = (project.root / "dist").rglob("*smoke*.log")
    for text in (done.stderr, log.read_text()):
        assert {"FAILED a_test", "a warning"} <= {line.strip() for line in text.splitlines()}


def moved(*, to: str) -> Image:
    """Give bullseye whose only Python is where nobody looks."""
    return engine.made(
        f"moved-{to.strip('/').replace('/', '-')}",
        f"FROM {engine.debian().ref}\nRUN mkdir -p {to} && mv /usr/bin/python3.9 {to}/ && rm -f /usr/bin/python3*\n",
    )


@pytest.mark.engine
def test_a_python_that_is_declared_is_used(tmp_path: Path) -> None:
    image = moved(to="/srv/py/bin")
    text = RELEASE.replace('smoke = ["host"]', 'smoke = ["b"]').replace(
        'source = "."', 'source = "."\npython = ["3.9"]'
    )
    text = text.replace('toolchain = "zig"\n', f'ref = "{engine.debian(kind="build").ref}"\n').replace("2.17", "2.31")
    text += f"""
[images.b]
ref = "{image.ref}"
python = {{"3.9" = "/srv/py/bin/python3.9"}}
"""
    project = Project(tmp_path / "demo", release=text)
    commands(project, run="python -c 'import demo'")
    good = project.run("smoke")
    assert good.returncode == 0, good.stderr
    project.edit('import = ["demo"]', 'import = ["no_such_module"]')
    with project.start("smoke") as process:  # Python's own words have a traceback
        _, words = process.communicate(timeout=300)
    assert process.returncode == 7
    assert "No module named 'no_such_module'" in words
    project.edit("/srv/py/bin/python3.9", "/srv/py/bin/python3.8")
    absent = project.run("smoke")
    assert absent.returncode == 4
    assert "/srv/py/bin/python3.8 in the image is no CPython 3.9" in absent.stderr


@pytest.mark.engine
@pytest.mark.parametrize("home", ["/opt/conda", "/root/.pyenv/versions/3.9.2"])
def test_a_python_of_conda_or_pyenv_is_seen(home: str, tmp_path: Path) -> None:
    image = engine.made(
        f"at-{home.strip('/').replace('/', '-').replace('.', '')}",
        f"FROM {engine.debian().ref}\n"
        f"RUN mkdir -p {home}/bin && mv /usr/bin/python3.9 {home}/bin/ && rm -f /usr/bin/python3* && "
        f"ln -s python3.9 {home}/bin/python\n",
    )
    with enter(stand(image), tmp_path, run, network=False) as place:
        assert isinstance(place, Container)
        assert pythons_in(place) == ("3.9",)
        assert find_in_container(place, Python(3, 9)).startswith(home)
