"""What is where: the table at the end of a publication, and the sentence when it was broken off. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from wainwright.errors import Exit, WainwrightError


class State(Enum):
    """How a sealed file stands at a destination, as far as this run has seen."""

    PUBLIC = "public"
    SENT = "uploaded, not seen yet"
    DRAFT = "in the draft"
    ABSENT = "not there"
    OTHER = "something else is there"
    UNKNOWN = "not looked at"


PUBLIC: Final = frozenset({State.PUBLIC})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One sealed file at one destination; `link` leads to the project's page or the release."""

    destination: str
    name: str
    sha256: str
    size: int
    state: State
    link: str = ""


def table(rows: Sequence[Row]) -> tuple[str, ...]:
    """Give a line a file, by destination, with the digest as `sha256sum` shows it."""
    lines: list[str] = []
    for name in dict.fromkeys(row.destination for row in rows):
        mine = [row for row in rows if row.destination == name]
        link = next((row.link for row in mine if row.link), "")
        lines.append(f"{name}: {link}" if link else name)
        lines += [f"  {row.sha256}  {row.name}  {row.state.value}" for row in mine]
    return tuple(lines)


def failure(error: WainwrightError, rows: Sequence[Row], *, command: str) -> WainwrightError:
    """Give an error with what is public, what is not, and the command that finishes.

    What only wants to be run again becomes PARTLY_PUBLISHED once something is public.
    """
    public = [row for row in rows if row.state in {State.PUBLIC, State.SENT}]
    left = [row for row in rows if row not in public]
    details = list(error.details)
    code = error.code
    if public:
        details += ["public:", *(f"  {row.destination}: {row.name}" for row in public)]
        code = Exit.PARTLY_PUBLISHED if code is Exit.RETRIES_EXHAUSTED else code
    else:
        details.append("nothing is public")
    if left:
        details += ["not public:", *(f"  {row.destination}: {row.name} ({row.state.value})" for row in left)]
    finish = f"to finish: {command}"
    hint = f"{error.hint}\n{finish}" if error.hint else finish
    return WainwrightError(error.what, code=code, where=error.where, details=tuple(details), hint=hint)
