from __future__ import annotations

import time

import pytest

from wainwright.sessions.progress import SAID_AGAIN, Progress


def test_without_a_terminal_what_still_runs_is_said_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(total=3, live=False, beat=0.2).shown() as progress:
        time.sleep(0.5)
        assert capsys.readouterr().err == "", "nothing runs yet"
        progress.start("build a")
        progress.start("build b")
        progress.end("build b", "done")
        time.sleep(0.5)
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "build a: started"
    assert "still running, 1 of 3 done: build a 0 s" in told


def test_a_minute_is_the_longest_silence() -> None:
    assert Progress(total=1, live=False).beat == SAID_AGAIN == 60
    assert Progress(total=1, live=True).beat == 1
