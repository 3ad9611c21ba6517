from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from wainwright.comparing.difference import Delta, Difference, FloorChange, Side
from wainwright.comparing.failing import judge, parse_conditions
from wainwright.errors import Exit, WainwrightError

SIDE = Side(wheel="demo-1.0-py3-none-any.whl", sha256="0" * 64, size=1000, installed=5000, measured=None)
SAME = Difference(old=SIDE, new=SIDE)


def met(difference: Difference, *conditions: str) -> list[str]:
    return [failure.condition for failure in judge(difference, parse_conditions(conditions))]


def test_conditions_come_alone_or_with_commas_and_once() -> None:
    parsed = parse_conditions(["added-library, raised-floor", "grown=2.5%", "added-library"])
    assert [condition.text for condition in parsed] == ["added-library", "raised-floor", "grown=2.5%"]


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("aded-library", "did you mean added-library?"),
        ("raised_floor", "did you mean raised-floor?"),
        ("gown=10%", "did you mean grown=10%?"),
        ("grown", "it is spelled grown=10%"),
        ("grown=10", "it is spelled grown=10%"),
        ("grown=ten%", "it is spelled grown=10%"),
        ("grown=-5%", "it is spelled grown=10%"),
        ("xyz", "the conditions are added-library, removed-library, raised-floor, grown=10%"),
        ("", "the conditions are added-library, removed-library, raised-floor, grown=10%"),
        ("added-library=3", "did you mean added-library?"),
    ],
)
def test_an_unknown_condition_is_a_mistake(word: str, hint: str) -> None:
    with pytest.raises(WainwrightError) as caught:
        parse_conditions([word])
    assert caught.value.code == Exit.USAGE
    assert caught.value.hint == hint


def test_nothing_differs_and_nothing_fails() -> None:
    assert met(SAME, "added-library,removed-library,raised-floor,grown=0%") == []


@pytest.mark.parametrize("where", ["inside", "needed", "missing"])
def test_libraries_count_wherever_they_are(where: str) -> None:
    more: dict[str, Any] = {where: Delta(added=("libdep.so.1",))}
    less: dict[str, Any] = {where: Delta(removed=("libdep.so.1",))}
    added, removed = replace(SAME, **more), replace(SAME, **less)
    assert met(added, "added-library,removed-library") == ["added-library"]
    assert met(removed, "added-library,removed-library") == ["removed-library"]
    (failure,) = judge(added, parse_conditions(["added-library"]))
    assert failure.message == f"libdep.so.1 is {where} and was not"


@pytest.mark.parametrize(
    ("name", "raised", "fails"),
    [("measured", True, True), ("claimed", True, True), ("measured", False, False), ("GLIBCXX", True, False)],
)
def test_a_floor_counts_when_users_are_held_back(name: str, *, raised: bool, fails: bool) -> None:
    floor = FloorChange(name=name, old="a", new="b", raised=raised, lowered=False)
    assert bool(met(replace(SAME, floors=(floor,)), "raised-floor")) is fails


@pytest.mark.parametrize(
    ("size", "installed", "percent", "fails"),
    [
        (1100, 5000, "10", False),
        (1101, 5000, "10", True),
        (1000, 5501, "10", True),
        (900, 4000, "0", False),
        (1001, 5000, "0", True),
        (1003, 5000, "0.25", True),
        (1002, 5000, "0.25", False),
    ],
)
def test_growth_as_a_file_or_installed(size: int, installed: int, percent: str, *, fails: bool) -> None:
    difference = replace(SAME, new=replace(SIDE, size=size, installed=installed))
    assert bool(met(difference, f"grown={percent}%")) is fails


def test_growth_from_nothing() -> None:
    empty = replace(SIDE, installed=0)
    (failure,) = judge(replace(SAME, old=empty), parse_conditions(["grown=900%"]))
    assert failure.message == "installed grew from 0 to 5000 bytes"
