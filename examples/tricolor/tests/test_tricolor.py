# ruff: noqa: S101 - tests assert
from __future__ import annotations

import pytest
import tricolor
from tricolor import selftest


@pytest.mark.parametrize("backend", tricolor.built_backends())
@pytest.mark.parametrize("count", [0, 1, 3, 1001])
def test_every_backend_adds_alike(backend: str, count: int) -> None:
    values = [index / 2 for index in range(count)]
    assert tricolor.sum(values, backend=backend) == count * (count - 1) / 4


def test_a_backend_that_was_not_built_is_named() -> None:
    with pytest.raises(LookupError, match="vulkan"):
        tricolor.sum([1.0], backend="vulkan")


def test_the_selftest_passes() -> None:
    assert selftest.main() == 0
