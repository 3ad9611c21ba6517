"""How an error leaves: on stderr, in words, with its code named last."""

from __future__ import annotations

import sys

from wainwright.errors import Exit, WainwrightError


def report(error: WainwrightError) -> None:
    print(f"error: {error}", file=sys.stderr, flush=True)


def interrupted() -> WainwrightError:
    """Give what there is to say of an interrupt in a session that says no more itself."""
    hint = "what is done is kept: run the same command again"
    return WainwrightError("interrupted", code=Exit.INTERRUPTED, hint=hint)


def closing_line(name: str, error: WainwrightError) -> str:
    """Give the last line of a failed session, which names the exit code that Nox flattens to 1."""
    return f"{name}: error[E{int(error.code):02}] {error.what}"
