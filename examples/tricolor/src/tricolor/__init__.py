"""Adds numbers in three ways that can be told apart: a loop, threads, and a system library opened by name."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from tricolor import _native


def built_backends() -> tuple[str, ...]:
    """Give the backends that this build has, in the order in which `sum` prefers them."""
    names: tuple[str, ...] = _native.built_backends()
    return names


def sum(values: Iterable[float], backend: str | None = None) -> float:  # noqa: A001 - its name is what it does
    """Add the numbers by a backend, by default the first that was built; LookupError names one that was not."""
    total: float = _native.sum(array("d", values), backend or built_backends()[0])
    return total
