from __future__ import annotations

from pathlib import Path

import pytest

from wainwright.errors import Exit
from wainwright.hosts.destinations import Asset, Fate, Remote, conflict, fate

ASSET = Asset(name="a.whl", path=Path("a.whl"), size=5, sha256="a" * 64)


@pytest.mark.parametrize(
    ("remote", "expected"),
    [
        (None, Fate.ABSENT),
        (Remote(size=5, sha256="a" * 64), Fate.SAME),
        (Remote(size=5, sha256="b" * 64), Fate.DIFFERENT),
        (Remote(size=6, sha256="a" * 64), Fate.SAME),
        (Remote(size=None, sha256="a" * 64), Fate.SAME),
        (Remote(size=None, sha256="b" * 64), Fate.DIFFERENT),
        (Remote(size=5, sha256=None), Fate.UNKNOWN),
        (Remote(size=6, sha256=None), Fate.DIFFERENT),
        (Remote(size=None, sha256=None), Fate.UNKNOWN),
        (Remote(size=5, sha256="a" * 64, complete=False), Fate.INCOMPLETE),
    ],
)
def test_the_digest_decides(remote: Remote | None, expected: Fate) -> None:
    assert fate(ASSET, remote) is expected


def test_a_conflict_names_both_digests() -> None:
    error = conflict(ASSET, Remote(size=6, sha256="b" * 64), where="octo/demo v1")
    assert error.code is Exit.CONFLICT
    assert "a" * 64 in str(error)
    assert "b" * 64 in str(error)


def test_a_conflict_tells_what_is_told_and_calls_nothing_sealed() -> None:
    error = conflict(ASSET, Remote(size=None, sha256="b" * 64), where="publish.internal")
    assert error.details[1] == f"there: sha256 {'b' * 64}"
    error = conflict(ASSET, Remote(size=7, sha256=None), where="publish.internal")
    assert error.details[1] == "there: sha256 unknown, 7 bytes"
    assert "sealed" not in str(error)
