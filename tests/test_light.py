"""The light dataclass, held to the standard library's, which is asked the same."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import typing
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wainwright import light


@light.dataclass(frozen=True, slots=True, kw_only=True)
class Light:
    name: str
    size: int = 0
    parts: tuple[str, ...] = ()

    @property
    def doubled(self) -> int:
        return self.size * 2


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Standard:
    name: str
    size: int = 0
    parts: tuple[str, ...] = ()


@light.dataclass(frozen=True, slots=True)
class Placed:
    major: int
    minor: int = 7


@light.dataclass(frozen=True, slots=True, eq=False)
class Itself:
    name: str


class Pair(light.NamedTuple):
    """Two values."""

    name: str
    size: int = 1

    @property
    def doubled(self) -> int:
        return self.size * 2


class StandardPair(typing.NamedTuple):
    """Two values."""

    name: str
    size: int = 1

    @property
    def doubled(self) -> int:
        return self.size * 2


VALUES = st.fixed_dictionaries(
    {"name": st.sampled_from("ab")}, optional={"size": st.integers(0, 1), "parts": st.sampled_from([(), ("a",)])}
)


@given(VALUES, VALUES)
def test_equality_hash_and_text_are_those_of_the_standard_library(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (Light(**one) == Light(**other)) == (Standard(**one) == Standard(**other))
    assert hash(Light(**one)) == hash(Standard(**one))
    assert repr(Light(**one)) == repr(Standard(**one)).replace("Standard", "Light")


@given(VALUES, VALUES)
def test_the_functions_of_dataclasses_take_it(one: dict[str, Any], change: dict[str, Any]) -> None:
    assert dataclasses.is_dataclass(Light)
    assert dataclasses.asdict(Light(**one)) == dataclasses.asdict(Standard(**one))
    assert [field.name for field in dataclasses.fields(Light)] == ["name", "size", "parts"]
    changed = Light(**{**one, **change})
    assert light.replace(Light(**one), **change) == dataclasses.replace(Light(**one), **change) == changed


@pytest.mark.parametrize("made", [Light, Standard])
@pytest.mark.parametrize("arguments", [{}, {"name": "a", "colour": 1}])
def test_what_is_no_field_and_what_is_missing_is_refused(made: Callable[..., Any], arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        made(**arguments)


def test_the_first_values_of_a_class_are_made_as_all_others() -> None:
    @light.dataclass(frozen=True, slots=True, kw_only=True)
    class Fresh:
        name: str
        size: int = 0

    for size in range(2 * light.FEW):
        value = Fresh(name="a", size=size)
        assert (value.name, value.size, Fresh(name="b").size) == ("a", size, 0)
    first: Any = light.dataclass(frozen=True, slots=True)(type("First", (), {"__annotations__": {"name": "str"}}))
    for arguments in ({}, {"colour": 1}, {"name": "a", "colour": 1}):
        with pytest.raises(TypeError):
            first(**arguments)
    with pytest.raises(TypeError):
        first("a", name="a")
    assert first("a").name == "a"


@pytest.mark.parametrize("made", [Light, Standard])
def test_it_is_frozen_slotted_and_keyword_only(made: Callable[..., Any]) -> None:
    value = made(name="a")
    for name in ("name", "colour"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(value, name, "b")
    with pytest.raises(AttributeError):
        del value.name
    with pytest.raises(TypeError):
        made("a")
    assert not hasattr(value, "__dict__")
    assert value.name == "a"


def test_values_are_copied_and_pickled() -> None:
    value = Light(name="a", size=3)
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == copy.copy(value) == value  # noqa: S301
    assert value.doubled == 6


def test_fields_by_place_and_equality_by_identity() -> None:
    match Placed(2):
        case Placed(major, minor):
            assert (major, minor) == (2, 7)
    one, other = Itself("a"), Itself("a")
    assert one != other
    assert len({one, other, one}) == 2


@pytest.mark.parametrize("made", [Pair, StandardPair])
def test_a_named_tuple_is_as_that_of_typing(made: Any) -> None:
    pair = made("a")
    assert (pair, pair.size, pair.doubled, repr(pair)) == (("a", 1), 1, 2, f"{made.__name__}(name='a', size=1)")
    assert pair._replace(size=3) == made(size=3, name="a") == pickle.loads(pickle.dumps(pair._replace(size=3)))  # noqa: S301
    assert (made._fields, made.__doc__, made.__module__) == (("name", "size"), "Two values.", __name__)
    for wrong in ({}, {"name": "a", "colour": 1}):
        with pytest.raises(TypeError):
            made(**wrong)
    with pytest.raises(AttributeError):
        pair.colour = 1


def test_what_is_not_frozen_is_left_to_the_standard_library() -> None:
    with pytest.raises(TypeError, match=r"dataclasses\.dataclass"):
        light.dataclass(frozen=False, slots=True)
