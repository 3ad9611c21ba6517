"""A difference as text for a terminal, and as Markdown for a pull request or a release page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from wainwright.comparing.difference import Delta, Difference, MemberChange
from wainwright.comparing.failing import Failure

MOST_ROWS = 40
Row = tuple[str, str, str]  # a sign (+ - ~), a name, and what there is to say of it


def render_text(difference: Difference, failures: Sequence[Failure] = ()) -> str:
    """Give the whole report, without a trailing line end."""
    lines = [f"{difference.old.wheel} -> {difference.new.wheel}"]
    for title, rows in _parts(difference):
        lines.append(f"  {title}")
        lines += [f"    {sign} {name}{'  ' + detail if detail else ''}" for sign, name, detail in rows[:MOST_ROWS]]
        lines += [f"    {_more(rows)}"] if len(rows) > MOST_ROWS else []
    lines += ["  nothing differs"] if difference.alike else []
    lines += [f"  fails on {failure.condition}: {failure.message}" for failure in failures]
    return "\n".join(lines)


def render_markdown(difference: Difference, failures: Sequence[Failure] = ()) -> str:
    """Give the same report as Markdown: a heading, and a table for each part."""
    lines = [f"### {_code(difference.old.wheel)} → {_code(difference.new.wheel)}", ""]
    lines += [f"- **fails on {_code(failure.condition)}**: {_plain(failure.message)}" for failure in failures]
    lines += [""] if failures else []
    lines += ["Nothing differs.", ""] if difference.alike else []
    for title, rows in _parts(difference):
        lines += [f"| | {title} | |", "| --- | --- | --- |"]
        lines += [
            f"| {_code(sign)} | {_code(name)} | {_code(detail) if detail else ''} |"
            for sign, name, detail in rows[:MOST_ROWS]
        ]
        lines += [f"| | {_more(rows)} | |"] if len(rows) > MOST_ROWS else []
        lines.append("")
    return "\n".join(lines).rstrip("\n")


def _code(text: str) -> str:
    """Put text into a code span that holds whatever the text holds, also in a table."""
    safe = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text).replace("|", "\\|")
    fence = "`"
    while fence in safe:
        fence += "`"
    space = " " if "`" in safe else ""
    return f"{fence}{space}{safe}{space}{fence}"


def _plain(text: str) -> str:
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>|#" else sign for sign in text)


def _more(rows: Sequence[Row]) -> str:
    return f"and {len(rows) - MOST_ROWS} more"


def _parts(difference: Difference) -> Iterator[tuple[str, list[Row]]]:
    """Give each part that has anything to say, the same for every form."""
    members = (
        *(("+", change) for change in difference.added),
        *(("-", change) for change in difference.removed),
        *(("~", change) for change in difference.changed),
    )
    parts: tuple[tuple[str, Iterable[Row]], ...] = (
        ("sizes", _sizes(difference)),
        ("tags", _delta(difference.tags)),
        ("floors", _floors(difference)),
        ("libraries", _libraries(difference)),
        ("metadata", _metadata(difference)),
        ("search paths", _paths(difference)),
        ("members that grew most", (("~", change.member, _growth(change)) for change in difference.grown)),
        ("members", ((sign, change.member, _growth(change)) for sign, change in members)),
    )
    yield from ((title, found) for title, rows in parts if (found := list(rows)))


def _sizes(difference: Difference) -> Iterator[Row]:
    old, new = difference.old, difference.new
    for name, before, after in (("file", old.size, new.size), ("installed", old.installed, new.installed)):
        if before != after:
            yield "~", name, _moved(before, after)


def _moved(before: int, after: int) -> str:
    share = f" ({(after - before) / before:+.1%})" if before else ""
    return f"{size(before)} -> {size(after)}{share}"


def size(count: int) -> str:
    """Give bytes as people read them: `1.2 MB`."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB"):
        if amount < 999.5 or (unit == "bytes" and count < 1000):
            return f"{count} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.2f} GB"


def _growth(change: MemberChange) -> str:
    if change.old is None or change.new is None:
        return size(change.new or change.old or 0)
    moved = f"{size(change.new)}, as before" if change.old == change.new else _moved(change.old, change.new)
    return f"{moved}; was {change.was}" if change.was else moved


def _delta(delta: Delta, detail: str = "") -> Iterator[Row]:
    yield from (("+", name, detail) for name in delta.added)
    yield from (("-", name, detail) for name in delta.removed)


def _floors(difference: Difference) -> Iterator[Row]:
    for floor in difference.floors:
        word = "raised" if floor.raised else "lowered" if floor.lowered else "other"
        yield "~", floor.name, f"{floor.old or 'none'} -> {floor.new or 'none'} ({word})"


def _libraries(difference: Difference) -> Iterator[Row]:
    yield from _delta(difference.inside, "inside")
    yield from _delta(difference.needed, "needed from outside")
    yield from _delta(difference.missing, "missing")


def _metadata(difference: Difference) -> Iterator[Row]:
    for name, old, new in difference.metadata:
        yield "~", name, f"{old or 'none'} -> {new or 'none'}"
    yield from _delta(difference.requires_dist, "Requires-Dist")
    yield from _delta(difference.entry_points, "entry point")


def _paths(difference: Difference) -> Iterator[Row]:
    for path in difference.paths:
        old, new = (":".join(each) or "none" for each in (path.old, path.new))
        yield "~", path.member, f"{path.kind} {old} -> {new}"
