"""The host as a place: a temporary folder, and a fresh virtual environment for each job."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from wainwright.completed import Completed, Run, Watched
from wainwright.errors import Exit, WainwrightError
from wainwright.running.places import passed_on
from wainwright.values import Python

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A `Place` on this machine."""

    folder: Path
    run_here: Run
    pythons: Mapping[Python, str]
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def root(self) -> str:
        return str(self.folder)

    def put(self, source: Path, target: str) -> None:
        _copy(source, Path(target))

    def get(self, source: str, target: Path) -> None:
        _copy(Path(source), target)

    def python(self, python: Python) -> str:
        """Make a virtual environment of its own for this place, and give its Python."""
        executable = self.folder / f"venv-{python}" / "bin" / "python"
        if not executable.exists():
            base = find_python(python, self.pythons, self.run_here)
            # virtualenv comes with nox, and takes a tenth of venv's time: it links its pip in from a cache.
            argv = [sys.executable, "-m", "virtualenv", "--quiet", "--no-periodic-update", "--python", base]
            made = self.run_here([*argv, executable.parent.parent], env=passed_on(os.environ))
            made = replace(made, tail=made.tail[-1:])
            made.check(f"no virtual environment could be made with {base}", code=Exit.ENGINE)
        return str(executable)

    def environment(self) -> Mapping[str, str]:
        """Give the part of our environment that jobs may see; the virtual environments' programs come first."""
        env = passed_on(os.environ)
        bins = [str(path) for path in sorted(self.folder.glob("venv-*/bin"))]
        path = self.extra.get("PATH") or env.get("PATH", os.defpath)
        return {**env, **self.extra, "PATH": os.pathsep.join([*bins, path])}

    def run(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None = None, **watched: Unpack[Watched]
    ) -> Completed:
        return self.run_here(argv, env=env, cwd=Path(cwd or self.root), **watched)


@contextmanager
def enter_host(
    folder: Path, run: Run, *, pythons: Mapping[Python, str] | None = None, extra: Mapping[str, str] | None = None
) -> Iterator[Host]:
    """Make a temporary folder below `folder` for one job; it is removed whatever happens."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tmp-", dir=folder, ignore_cleanup_errors=True) as temporary:
        yield Host(folder=Path(temporary).resolve(), run_here=run, pythons=pythons or {}, extra=extra or {})


def find_python(python: Python, declared: Mapping[Python, str], run: Run) -> str:
    """Find a CPython of this version: as declared, the one that runs us, or `pythonX.Y` on PATH.

    Raises WainwrightError (ENGINE) when none of them answers with this version.
    """
    running = Python.of_running()
    candidates = [declared[python]] if python in declared else []
    if not candidates:
        candidates = [getattr(sys, "_base_executable", sys.executable)] if python == running else []
        candidates += filter(None, [shutil.which(f"python{python}")])
    question = "import sys, sysconfig; print(*sys.version_info[:2], sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"
    for candidate in candidates:
        try:
            answer = run([candidate, "-c", question], env=passed_on(os.environ), capture=True)
        except WainwrightError:
            continue
        if answer.ok and answer.stdout.split() == [str(python.major), str(python.minor), str(int(python.threaded))]:
            return candidate
    raise WainwrightError(
        f"Python {python} is not on this machine",
        code=Exit.ENGINE,
        where=f"looked for {', '.join(candidates) or f'python{python} on PATH'}",
        hint=f"install python{python}, name its path in [images.NAME] python, or take {python} out of `python`",
    )


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
