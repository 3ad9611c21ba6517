"""A verdict as text for a person: what was measured and what set it, libraries by fate, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from textwrap import wrap

from wainwright.auditing.verdict import Finding, Need, Verdict
from wainwright.counting import counted
from wainwright.values import Glibc

WIDTH = 110
MOST_SYMBOLS = 8
MOST_MEMBERS = 4
FATES = {
    "inside": "inside",
    "policy": "by policy",
    "excluded": "excluded",
    "provided": "provided",
    "missing": "missing",
}


def render(verdict: Verdict) -> str:
    """Give the whole report on one wheel, without a trailing line end."""
    lines = [verdict.wheel, *_measured(verdict)]
    for title, part in (
        ("above the claim", list(_tree(verdict))),
        ("libraries", list(_libraries(verdict))),
        ("patterns", list(_patterns(verdict))),
        ("lower tags", list(_ladder(verdict))),
        ("violations", list(_findings(verdict.violations))),
        ("warnings", list(_findings(verdict.warnings))),
        ("notes", list(_findings(verdict.notes))),
    ):
        if part:
            lines.append(f"  {title}")
            lines += [f"    {line}" for line in part]
    lines.append(f"  {_conclusion(verdict)}")
    return "\n".join(lines)


def _measured(verdict: Verdict) -> Iterator[str]:
    yield f"  claims    {', '.join(verdict.claimed) or 'nothing'}"
    versions = ", ".join(f"{name} {version}" for name, version in verdict.measured.versions)
    if verdict.measured.tag is None:
        yield f"  measured  no native code for {verdict.arch or 'Linux'}"
        return
    yield f"  measured  {verdict.measured.tag}" + (f" ({versions})" if versions else "")
    for need in _members(verdict.floor):
        yield f"    set by  {need}"


def _members(needs: Iterable[Need]) -> Iterator[str]:
    """Group needs by library and namespace: a line for each with the members that need it.

    Of several versions the highest and the lowest are named.
    """
    grouped: dict[tuple[str, str], list[Need]] = {}
    for need in needs:
        grouped.setdefault((need.library, need.version.partition("_")[0]), []).append(need)
    for (library, _), group in grouped.items():
        versions = sorted({need.version for need in group}, key=_numbers)
        version = f"{versions[-1]} to {versions[0]}" if len(versions) > 1 else versions[0]
        symbols = sorted({symbol for need in group for symbol in need.symbols})
        members = _some(sorted({need.member for need in group}), MOST_MEMBERS)
        yield f"{version} of {library}{_of(symbols)}: {members}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.partition("_")[2].split(".") if part.isdigit())


def _of(symbols: list[str]) -> str:
    return f" ({_some(symbols, MOST_SYMBOLS)})" if symbols else ""


def _some(names: list[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _tree(verdict: Verdict) -> Iterator[str]:
    """Give member → library → version → symbols for what is above the claim."""
    above = [found for found in verdict.violations if found.rule in {"symbol-version", "private-symbol"}]
    member = library = None
    for found in above:
        if found.member != member:
            member, library = found.member, None
            yield f"{member}"
        if found.library != library:
            library = found.library
            yield f"  {library}"
        yield f"    {found.version or 'without a version'}  {_some(list(found.symbols), MOST_SYMBOLS)}".rstrip()


def _libraries(verdict: Verdict) -> Iterator[str]:
    fates = verdict.libraries.to_json()
    for fate, title in FATES.items():
        names = fates[fate]
        if fate == "missing":
            for name in names:
                yield f"{title:<10}{name}, needed by {_some(list(verdict.libraries.who_needs(name)), MOST_MEMBERS)}"
        elif names:
            yield from wrap(", ".join(names), WIDTH, initial_indent=f"{title:<10}", subsequent_indent=" " * 10)


def _patterns(verdict: Verdict) -> Iterator[str]:
    for pattern, names in verdict.matched:
        yield f"{pattern} matched {', '.join(names) or 'nothing'}"


def _ladder(verdict: Verdict) -> Iterator[str]:
    """Say what stands between the wheel and each lower tag, from the measured one down."""
    missing = verdict.libraries.missing
    if missing:
        yield (
            f"any tag: {missing[0]} is missing"
            if len(missing) == 1
            else f"any tag: {len(missing)} libraries are missing"
        )
    unmet = [need for need in verdict.needs if need.glibc is None]
    for line in _members(unmet):
        yield f"any tag: {line}"
    for floors, needs in _rungs(verdict.needs):
        first, *more = (floor.slug for floor in floors)
        yield f"below manylinux_{first}_{verdict.arch}" + (f", and below {', '.join(more)}" if more else "")
        for line in _members(needs):
            yield f"  {line}"


def _rungs(needs: Iterable[Need]) -> Iterator[tuple[list[Glibc], list[Need]]]:
    """Give each floor with what needs it; neighbours whose obstacles are of the same members are one rung.

    Where symbols are named a rung stays alone: they are what somebody is going to look for.
    """
    by_floor: dict[Glibc, list[Need]] = {}
    for need in needs:
        if need.glibc is not None:
            by_floor.setdefault(need.glibc, []).append(need)
    floors = sorted(by_floor, reverse=True)
    for _, group in groupby(floors, key=lambda floor: _obstacles(floor, by_floor[floor])):
        same = list(group)
        yield same, [need for floor in same for need in by_floor[floor]]


def _obstacles(floor: Glibc, needs: Iterable[Need]) -> object:
    if any(need.symbols for need in needs):
        return floor
    return frozenset((need.member, need.library, need.version.partition("_")[0]) for need in needs)


def _findings(findings: tuple[Finding, ...]) -> Iterator[str]:
    told: set[str] = set()
    above = [found for found in findings if found.rule == "symbol-version"]
    if above:
        yield f"symbol-version: {counted(len(above), 'need')} above the claim, as listed"
        if above[0].hint:
            yield f"  hint: {above[0].hint}"
    for found in findings:
        if found.rule == "symbol-version":
            continue
        where = f"{found.member}: " if found.member else ""
        yield f"{found.rule}: {where}{found.message}"
        if found.hint and found.hint not in told:
            told.add(found.hint)
            yield f"  hint: {found.hint}"


def _conclusion(verdict: Verdict) -> str:
    count = len(verdict.violations)
    if count:
        falls = f"falls short: {counted(count, 'violation')}"
        if any(need.glibc is None for need in verdict.needs):
            return f"{falls}; no manylinux tag fits its symbols"
        tag = verdict.measured.tag
        return f"{falls}; the lowest tag that fits its symbols is {tag}" if tag else falls
    if not verdict.claimed:
        told = {found.rule for found in (*verdict.warnings, *verdict.notes)}
        if "unjudged-tag" in told:
            return "was not judged: no policy is known for its tags"
        return "claims nothing that could be broken" if verdict.arch else "right"
    keeps = f"falls short where that is allowed ({', '.join(verdict.waived)})" if verdict.waived else "keeps its claim"
    if verdict.measured.glibc is not None and verdict.measured.tag not in verdict.claimed:
        return f"{keeps}; the lowest tag that fits its symbols is {verdict.measured.tag}"
    return keeps
