from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from wainwright.errors import WainwrightError
from wainwright.scratch import scratch, sweep

HOLDING = """
import sys, time
from pathlib import Path
from wainwright.scratch import scratch
with scratch(Path(sys.argv[1])) as folder:
    (folder / "deep").mkdir()
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with scratch() as folder:
        return folder.parent


def test_a_folder_is_there_within_the_block_alone(place: Path) -> None:
    with scratch() as first, scratch() as second:
        assert sorted(place.iterdir()) == sorted([first, second])
    assert list(place.iterdir()) == []
    assert place.stat().st_mode & 0o777 == 0o700


def test_what_a_killed_process_left_goes_and_what_a_living_one_has_stays(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDING, tmp_path], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        sweep(tmp_path)
        with scratch(tmp_path) as ours:
            assert sorted(tmp_path.iterdir()) == sorted([folder, ours])
        process.kill()
        process.wait()
    assert (folder / "deep").is_dir()
    sweep(tmp_path, prefix="other-")
    assert folder.is_dir()
    with scratch(tmp_path) as ours:
        assert list(tmp_path.iterdir()) == [ours]


def test_a_link_of_somebody_elses_is_not_followed(place: Path, tmp_path: Path) -> None:
    place.rmdir()
    place.symlink_to(tmp_path)
    with pytest.raises(WainwrightError, match="no folder of yours"), scratch():
        pass


def test_what_is_not_there_needs_no_sweeping(tmp_path: Path) -> None:
    sweep(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
