from __future__ import annotations

from wainwright.counting import counted


def test_one_is_no_plural() -> None:
    assert [counted(number, "job") for number in (0, 1, 2)] == ["0 jobs", "1 job", "2 jobs"]
