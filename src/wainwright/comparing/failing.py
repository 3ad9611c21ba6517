"""Which differences fail a comparison: the words of `--fail-on` and of `fail-on` in release.toml, read and judged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from wainwright.errors import WainwrightError

if TYPE_CHECKING:
    from wainwright.comparing.difference import Delta, Difference

CONDITIONS: Final = ("added-library", "removed-library", "raised-floor", "grown")
GROWN: Final = re.compile(r"grown=([0-9]+(?:\.[0-9]+)?)%")


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition; `text` as written, `percent` how much a wheel may grow."""

    text: str
    percent: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A condition that was met, and by what."""

    condition: str
    message: str

    def to_json(self) -> dict[str, str]:
        return {"condition": self.condition, "message": self.message}


def parse_conditions(texts: Iterable[str]) -> tuple[Condition, ...]:
    """Read conditions, each alone or several with commas; raises WainwrightError for one that is unknown."""
    words = [word.strip() for text in texts for word in text.split(",")]
    return tuple(_parse(word) for word in dict.fromkeys(words))


def _parse(word: str) -> Condition:
    match = GROWN.fullmatch(word)
    if match:
        return Condition(text=word, percent=Fraction(match[1]))
    name = word.partition("=")[0]
    if word in CONDITIONS and word != "grown":
        return Condition(text=word)
    if name == "grown":
        raise WainwrightError(f"{word!r} says not by how much", where="--fail-on", hint="it is spelled grown=10%")
    import difflib

    near = difflib.get_close_matches(name, CONDITIONS, n=1)
    spelled = {"grown": "grown=10%"}
    every = ", ".join(spelled.get(each, each) for each in CONDITIONS)
    hint = f"did you mean {spelled.get(near[0], near[0])}?" if near else f"the conditions are {every}"
    raise WainwrightError(f"there is no condition {word!r}", where="--fail-on", hint=hint)


def judge(difference: Difference, conditions: Iterable[Condition]) -> tuple[Failure, ...]:
    """Give the conditions that a difference meets, in their order."""
    return tuple(
        Failure(condition=condition.text, message="; ".join(messages))
        for condition in conditions
        if (messages := list(_met(difference, condition)))
    )


def _met(difference: Difference, condition: Condition) -> Iterator[str]:
    sets: tuple[tuple[str, Delta], ...] = (
        ("inside", difference.inside),
        ("needed", difference.needed),
        ("missing", difference.missing),
    )
    if condition.text == "added-library":
        yield from (f"{name} is {where} and was not" for where, delta in sets for name in delta.added)
    elif condition.text == "removed-library":
        yield from (f"{name} was {where} and is not" for where, delta in sets for name in delta.removed)
    elif condition.text == "raised-floor":
        for floor in difference.floors:
            if floor.holds_users_back:
                yield f"{floor.name} {floor.old or 'nothing'} became {floor.new}"
    elif condition.percent is not None:
        old, new = difference.old, difference.new
        for what, before, after in (("the file", old.size, new.size), ("installed", old.installed, new.installed)):
            if (after - before) * 100 > condition.percent * before:
                yield f"{what} grew from {before} to {after} bytes{_share(before, after)}"


def _share(before: int, after: int) -> str:
    return f" (+{(after - before) / before:.1%})" if before else ""
