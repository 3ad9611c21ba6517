from __future__ import annotations

from pathlib import Path

from wainwright.run import run
from wainwright.running.host import enter_host
from wainwright.running.limits import TimeLimit


def test_the_commands_of_a_job_share_its_time(tmp_path: Path) -> None:
    with enter_host(tmp_path, run) as place:
        limit = TimeLimit(seconds=2)
        assert limit.run(place, ["sleep", "1.2"], env=place.environment()).ok
        done = limit.run(place, ["sleep", "1.2"], env=place.environment())
        assert done.ending == "stopped after 2 s, its time limit"
        assert not limit.run(place, ["sleep", "1.2"], env=place.environment()).ok
        assert TimeLimit(seconds=None).run(place, ["true"], env=place.environment()).ok
