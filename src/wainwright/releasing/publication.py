"""What is where: the table at the end of a publication, and the sentences when it was broken off. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from wainwright.counting import counted
from wainwright.errors import Exit, WainwrightError


class State(Enum):
    """How a sealed file stands at a destination, as far as this run has seen."""

    PUBLIC = "public"
    SENT = "uploaded, not seen yet"
    DRAFT = "in the draft"
    ABSENT = "not there"
    STALE = "another is in the draft"
    OTHER = "something else is there"
    BROKEN = "broken off in the middle"
    UNKNOWN = "not looked at"


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

    Once something is public and something is not, that is what it is called, whatever has broken it off. A conflict
    stays one: no command finishes it, but one that leaves its destination out may finish the others. An interrupt is
    what whoever made it expects to see.
    """
    public = [row for row in rows if row.state is State.PUBLIC]
    sent = [row for row in rows if row.state is State.SENT]
    left = [row for row in rows if row.state not in {State.PUBLIC, State.SENT}]
    details = list(error.details)
    if not public and not sent:
        known = "known to be " if any(row.state is State.UNKNOWN for row in left) else ""
        details.append(f"nothing is {known}public")
    details += _named("public:", public)
    details += _named("uploaded, and not seen there yet:", sent)
    details += _named("not public:", left, states=True)
    hints, code = [error.hint], error.code
    if code is Exit.CONFLICT:
        hints.append(_past_conflicts(left, command))
    else:
        hints.append(f"to finish: {command}")
    if code not in {Exit.CONFLICT, Exit.INTERRUPTED}:
        code = Exit.PARTLY_PUBLISHED if sent or (public and left) else code
    hint = "\n".join(filter(None, hints))
    return WainwrightError(error.what, code=code, where=error.where, details=tuple(details), hint=hint)


def _past_conflicts(left: Sequence[Row], command: str) -> str:
    """Name the command that leaves out what holds something else, if anything is left to do then."""
    blocked = tuple(dict.fromkeys(row.destination for row in left if row.state is State.OTHER))
    if not blocked or all(row.destination in blocked for row in left):
        return ""
    return f"to finish the others: {command}{''.join(f' --skip {name}' for name in blocked)}"


def _named(title: str, rows: Sequence[Row], *, states: bool = False) -> tuple[str, ...]:
    lines = (f"  {row.destination}: {row.name}" + (f" ({row.state.value})" if states else "") for row in rows)
    return (title, *lines) if rows else ()


def not_shown(count: int, where: str, address: str, other: str, journal: Path | None) -> WainwrightError:
    """Say that an index has taken files which its page at `address` lacks; `other` is a host that answered for it."""
    looked = f"looked at {address}; if its pages are elsewhere, set {where}.simple"
    if other:
        looked = f"{address} leads to {other}, which counts as another index: if it is this one, set {where}.simple"
    return WainwrightError(
        f"the index has taken {counted(count, 'file')} that it does not show",
        code=Exit.RETRIES_EXHAUSTED,
        where=where,
        hint=f"{looked}\nits pages may be late, and what it took is not uploaded again; if it has lost that, delete "
        f"{journal} first",
    )


def raise_all(errors: Sequence[WainwrightError], what: str) -> None:
    """Raise what went wrong, if anything did: a conflict first, last what running again may mend by itself."""
    if not errors:
        return
    first = min(errors, key=lambda error: (error.code is not Exit.CONFLICT, error.code is Exit.RETRIES_EXHAUSTED))
    if len(errors) == 1:
        raise first
    raise WainwrightError(
        f"{len(errors)} things {what}", code=first.code, details=tuple(map(str, errors)), hint=first.hint
    )
