"""Registers a release's sessions with Nox: `import wainwright.sessions; wainwright.sessions.register()`."""

from __future__ import annotations

import atexit
import logging
import sys
from functools import cache
from pathlib import Path
from typing import Final

import nox

from wainwright.declaration.config import load
from wainwright.declaration.release import Release
from wainwright.errors import Exit, WainwrightError
from wainwright.sessions.edge import closing_line, interrupted, report
from wainwright.sessions.graph import Task, expand

GATE: Final = "preflight"
_failed: set[str] = set()  # the sessions of this process that fell short


def register(path: str | Path = "release.toml") -> None:
    """Register every session of the release at `path`; a mistake in it is told in words, and ends Nox with code 2."""
    try:
        release = load(Path(path))
    except WainwrightError as error:
        report(error)
        sys.exit(int(error.code))
    _hush()
    for task in expand(release):
        _register(release, task)


def _register(release: Release, task: Task) -> None:
    def session(session: nox.Session) -> None:
        from wainwright.sessions.options import listing, parse_posargs
        from wainwright.sessions.pipeline import Pipeline

        if GATE in _failed:  # Nox itself goes on with whatever does not require it
            session.skip(f"{GATE} has found what stands in the way, and nothing is begun")
        try:
            options = parse_posargs(session.posargs)
            if options.help:
                _print_once(listing())
            else:
                task.run(Pipeline(release=release, options=options))
        except KeyboardInterrupt:
            _tell(task, interrupted())
            raise
        except WainwrightError as error:
            _tell(task, error)
            if error.code is Exit.INTERRUPTED:  # the other sessions that were asked for are not begun
                raise KeyboardInterrupt from None
            session.error(error.what)

    session.__doc__ = task.doc
    nox.session(
        name=task.name,
        python=False,
        tags=list(task.tags),
        default=task.default,
        requires=list(task.requires),
    )(session)


def _tell(task: Task, error: WainwrightError) -> None:
    report(error)
    _failed.add(task.name)
    # Nox ends with a summary and code 1: the code that it flattens is named behind that.
    atexit.register(print, closing_line(task.name, error), file=sys.stderr)


@cache
def _print_once(text: str) -> None:
    """Print what every session that runs along would print, too."""
    print(text, end="", flush=True)


def _hush() -> None:
    """Keep what libraries log for their own authors off the terminal: Nox lets all of it through, on every level."""
    for handler in logging.getLogger().handlers:
        if _concerns_users not in handler.filters:
            handler.addFilter(_concerns_users)


def _concerns_users(record: logging.LogRecord) -> bool:
    if record.name.partition(".")[0] == "nox":  # which looks for uv before every session, also one without environment
        return record.getMessage() != "uv binary not found."
    return record.levelno >= logging.WARNING
