from __future__ import annotations

import pytest

from wainwright.hosts.mark import Mark, unmarked


@pytest.mark.parametrize("body", ["", "What is new", "Two\n\nparagraphs", "<!-- a comment of theirs -->"])
@pytest.mark.parametrize("adopted", [False, True])
def test_a_mark_is_read_back_and_taken_off(body: str, *, adopted: bool) -> None:
    mark = Mark(seal="ab12", run="cd34", adopted=adopted)
    assert Mark.read(mark.on(body)) == mark
    assert Mark.read(mark.on(mark.on(body))) == mark
    assert unmarked(mark.on(body)) == body
    assert Mark.read(body) is None


def test_a_mark_survives_an_edit_in_the_browser() -> None:
    mark = Mark(seal="ab12", run="cd34")
    edited = mark.on("What is new").replace("\n", "\r\n").replace("new", "newer")
    assert Mark.read(edited) == mark
    assert unmarked(edited) == "What is newer"
