"""Runs twine as `wainwright.run` does, but within this process: the same program, without a start of Python each.

For tests that upload hundreds of times; that twine is a process of its own, others test.
"""

from __future__ import annotations

import importlib.metadata
import io
import logging
import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import twine.__main__
import twine.cli

from wainwright.completed import TAIL_LINES, Completed
from wainwright.run import run as run_for_real

# What twine looks up about itself at each start: its dependencies' versions, its commands
twine.cli.importlib_metadata = SimpleNamespace(  # type: ignore[attr-defined, assignment]
    entry_points=cache(importlib.metadata.entry_points), version=cache(importlib.metadata.version)
)


def run(
    argv: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    log: Path | None = None,
    timeout: float | None = None,
    capture: bool = False,
) -> Completed:
    """Run twine here, and everything else for real."""
    words = [str(word) for word in argv]
    if words[1:3] != ["-m", "twine"]:
        return run_for_real(argv, env=env, cwd=cwd, log=log, timeout=timeout, capture=capture)
    assert cwd is None
    assert log is None
    started, said = time.monotonic(), io.StringIO()
    with _as_a_process(["twine", *words[3:]], env or os.environ, said):
        try:
            code = int(bool(twine.__main__.main()))
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except Exception:  # noqa: BLE001 - what ends a process with a traceback
            traceback.print_exc()
            code = 1
    lines = tuple(said.getvalue().splitlines())
    return Completed(
        argv=tuple(words),
        code=code,
        seconds=time.monotonic() - started,
        tail=lines[-TAIL_LINES:],
        stdout=said.getvalue() if capture else "",
    )


@contextmanager
def _as_a_process(argv: list[str], env: Mapping[str, str], said: io.StringIO) -> Iterator[None]:
    """Give arguments, environment and output that are twine's alone; one such may run inside of another."""
    before = sys.argv, dict(os.environ), logging.root.handlers[:]
    sys.argv = argv
    os.environ.clear()
    os.environ.update(env)
    try:
        with redirect_stdout(said), redirect_stderr(said):
            yield
    finally:
        sys.argv = before[0]
        os.environ.clear()
        os.environ.update(before[1])
        for handler in logging.root.handlers:
            if handler not in before[2]:
                handler.close()
        logging.root.handlers[:] = before[2]
