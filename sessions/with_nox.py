"""Registers a release's sessions with Nox: `import wainwright.sessions; wainwright.sessions.register()`."""

from __future__ import annotations

import atexit
import sys
from pathlib import Path

import nox

from wainwright.config import load
from wainwright.errors import WainwrightError
from wainwright.release import Release
from wainwright.sessions.edge import closing_line, report
from wainwright.sessions.graph import Task, expand


def register(path: str | Path = "release.toml") -> None:
    """Register every session of the release at `path`; a mistake in it is told in words, and ends Nox with code 2."""
    try:
        release = load(Path(path))
    except WainwrightError as error:
        report(error)
        sys.exit(int(error.code))
    for task in expand(release):
        _register(release, task)


def _register(release: Release, task: Task) -> None:
    def session(session: nox.Session) -> None:
        from wainwright.sessions.options import parse_posargs
        from wainwright.sessions.pipeline import Pipeline

        try:
            task.run(Pipeline(release=release, options=parse_posargs(session.posargs)))
        except WainwrightError as error:
            report(error)
            # Nox ends with a summary and code 1: the code that it flattens is named behind that.
            atexit.register(print, closing_line(task.name, error), file=sys.stderr)
            session.error(error.what)

    session.__doc__ = task.doc
    nox.session(
        name=task.name,
        python=False,
        tags=list(task.tags),
        default=task.default,
        requires=list(task.requires),
    )(session)
