from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from strict_github import sealed
from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.sealedfile import BLOCK, as_sealed


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
def test_a_sealed_file_is_given_whole(tmp_path: Path, size: int) -> None:
    (asset,) = sealed(tmp_path, {"a": b"x" * size})
    assert b"".join(as_sealed(asset)) == b"x" * size


@pytest.mark.parametrize("content", [b"y" * BLOCK + b"z", b"x" * (BLOCK + 2), b"x", b""])
def test_a_changed_file_is_never_given_whole(tmp_path: Path, content: bytes) -> None:
    (asset,) = sealed(tmp_path, {"a": b"x" * (BLOCK + 1)})
    asset.path.write_bytes(content)
    given = bytearray()
    with pytest.raises(WainwrightError) as caught:
        given.extend(byte for block in as_sealed(asset) for byte in block)
    assert caught.value.code is Exit.REFUSED
    assert len(given) < asset.size


def test_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    (asset,) = sealed(tmp_path, {"a": b"x"})
    with pytest.raises(WainwrightError, match="No such file"):
        list(as_sealed(replace(asset, path=tmp_path / "b")))
