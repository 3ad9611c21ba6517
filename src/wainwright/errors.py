"""What can go wrong, in words: every error says what, where and what to do next, and carries its exit code."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of `wainwright`. Nox flattens them to 1, so the last line of a failing session names them."""

    RIGHT = 0
    FELL_SHORT = 1
    USAGE = 2
    NOTHING_SELECTED = 3
    ENGINE = 4
    BUILD = 5
    AUDIT = 6
    SMOKE = 7
    REFUSED = 8
    CONFLICT = 9
    PARTLY_PUBLISHED = 10
    NOT_AUTHORISED = 11
    RETRIES_EXHAUSTED = 12
    INTERRUPTED = 130


class WainwrightError(Exception):
    """One thing that is wrong.

    `what` is a sentence without its full stop; `where` a file, a key path, a job or a wheel's member; `hint` says what
    to do next; `details` are lines that belong below, such as the tail of a log.
    """

    def __init__(
        self,
        what: str,
        *,
        code: Exit = Exit.USAGE,
        where: str = "",
        hint: str = "",
        details: tuple[str, ...] = (),
    ) -> None:
        super().__init__(what)
        self.what = what
        self.code = code
        self.where = where
        self.hint = hint
        self.details = details

    def __str__(self) -> str:
        first = f"{self.where}: {self.what}" if self.where else self.what
        lines = [first, *self.details]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)
