"""What `wainwright audit` takes of `dataclasses` and `typing`, without importing either.

It defines forty classes before it reads a byte: 35 ms of its start with `dataclasses`, with `inspect` that it imports,
and 3 with `typing`. `dataclass` is for classes that are frozen and have slots, at an eighth of the standard library's
cost. What is imported later, or has fields of other kinds, is better off with the standard library's.
"""

from __future__ import annotations

from collections import namedtuple
from operator import attrgetter

__all__ = [
    "TYPE_CHECKING",
    "Any",
    "Final",
    "Literal",
    "NamedTuple",
    "NoReturn",
    "Protocol",
    "dataclass",
    "final",
    "replace",
]

FEW = 8  # values of a class before its `__init__` is compiled

TYPE_CHECKING = False  # the name by which type checkers know it
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass, replace
    from typing import Any, Final, Literal, NamedTuple, NoReturn, Protocol, final
else:
    # What stands in annotations alone, which are never evaluated.
    Any = Final = NoReturn = None
    Literal = dict  # which takes words between brackets
    Protocol = object

    def final(cls: type) -> type:
        """Mark a class from which none is derived."""
        return cls

    class _OfTuples(type):
        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body["__annotations__"]
            defaults = [body.pop(field) for field in fields if field in body]
            plain = namedtuple(name, fields, defaults=defaults)  # noqa: PYI024 - this is typing's
            return type(name, (plain,), {"__slots__": (), **body})

    class NamedTuple(metaclass=_OfTuples):
        """Do as `typing.NamedTuple` does."""

    def dataclass(*, frozen: bool, slots: bool, kw_only: bool = False, eq: bool = True) -> Callable[[type], type]:
        """Do as `dataclasses.dataclass` does, whose functions take the class for one of theirs.

        There is no `field`: a default is one value for all instances, and has to be immutable.
        """
        if not (frozen and slots):
            raise TypeError("what is not frozen or has no slots is for dataclasses.dataclass")
        return lambda cls: _made(cls, kw_only=kw_only, eq=eq)

    def replace(value: Any, /, **changes: Any) -> Any:
        """Give such a value with some of its fields changed."""
        return _again(type(value), {**_told(value), **changes})


def _made(cls: type, *, kw_only: bool, eq: bool) -> type:
    names = tuple(cls.__annotations__)
    body = {key: value for key, value in cls.__dict__.items() if key not in {"__dict__", "__weakref__"}}
    defaults = {name: body.pop(name) for name in names if name in body}
    methods: dict[str, Any] = {"__repr__": _repr}
    if eq:
        methods |= _comparing(names)
    fixed = {
        "__slots__": names,
        "__match_args__": () if kw_only else names,
        "__dataclass_fields__": _Fields(),
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__reduce__": _reduce,
    }
    made = type(cls)(cls.__name__, cls.__bases__, {**methods, **body, **fixed})
    made.__init__ = _first_initializer(made, names, defaults, kw_only=kw_only)  # type: ignore[misc]
    return made


def _first_initializer(cls: Any, names: tuple[str, ...], defaults: dict[str, Any], *, kw_only: bool) -> Any:
    """Give an `__init__` for the first few values: of most classes there are no more, and compiling costs fifty."""
    setters = {name: getattr(cls, name).__set__ for name in names}
    left = FEW

    def initialize(self: Any, *values: Any, **named: Any) -> None:
        nonlocal left
        left -= 1
        told = {**defaults, **named}
        if left < 0 or values or told.keys() != setters.keys():  # which the compiled one takes, or refuses in its words
            cls.__init__ = _initializer(cls, names, defaults, kw_only=kw_only)
            cls.__init__(self, *values, **named)
            return
        for name, value in told.items():
            setters[name](self, value)

    return initialize


def _initializer(cls: Any, names: tuple[str, ...], defaults: dict[str, Any], *, kw_only: bool) -> Any:
    """Compile `__init__`, as dataclasses and namedtuple do: some values are made a thousand times for one wheel."""
    scope = {f"_set_{name}": getattr(cls, name).__set__ for name in names}
    scope |= {f"_default_{name}": default for name, default in defaults.items()}
    told = [f"{name}=_default_{name}" if name in defaults else name for name in names]
    lines = "".join(f"\n    _set_{name}(self, {name})" for name in names)
    exec(f"def __init__(self, {'*, ' * kw_only}{', '.join(told)}):{lines}", scope)  # noqa: S102
    return scope["__init__"]


class _Fields:
    """What `dataclasses` asks a class for, made when it does."""

    def __get__(self, _: Any, cls: Any) -> Any:
        from dataclasses import make_dataclass

        made: Any = make_dataclass(cls.__name__, cls.__slots__)
        fields = made.__dataclass_fields__
        cls.__dataclass_fields__ = fields
        return fields


def _comparing(names: tuple[str, ...]) -> dict[str, Any]:
    key = attrgetter(*names)

    def equal(self: Any, other: Any) -> Any:
        return key(self) == key(other) if self.__class__ is other.__class__ else NotImplemented

    return {"__eq__": equal, "__hash__": lambda self: hash(key(self))}


def _repr(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in _told(self).items())})"


def _refuse(_: Any, name: str, *_value: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _reduce(self: Any) -> tuple[Any, ...]:
    return _again, (type(self), _told(self))


def _again(cls: type, values: dict[str, Any]) -> Any:
    return cls(**values)


def _told(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}
