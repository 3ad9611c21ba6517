"""What can go wrong, in words: every error says what, where and what to do next, and carries its exit code."""

from __future__ import annotations

import errno
from enum import IntEnum

from wainwright.light import Final


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


_FULL: Final = "free some space, then run the same command again: what is done is kept"
_NO_FOLDER: Final = "this must be a folder: move away what has its name"
_HINTS: Final = {
    errno.EACCES: "look at its owner and its permissions: what `sudo` has run leaves files of root",
    errno.EEXIST: _NO_FOLDER,
    errno.ENOTDIR: _NO_FOLDER,
    errno.ENOSPC: _FULL,
    errno.EROFS: "this disk is read-only",
    errno.EDQUOT: _FULL,
}


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


def is_full(error: OSError) -> bool:
    """Whether a disk is full, or somebody's share of it."""
    return error.errno in {errno.ENOSPC, errno.EDQUOT}


def of_system(error: OSError) -> WainwrightError:
    """Say in one sentence what the operating system refuses."""
    return WainwrightError(
        error.strerror or str(error),
        code=Exit.ENGINE,
        where=str(error.filename or ""),
        hint=_HINTS.get(error.errno or 0, ""),
    )
