from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from wainwright.running.pins import read_lock

PINNING = """
import sys
from pathlib import Path
from wainwright.running.pins import Pin, read_lock
for number in range(20):
    read_lock(Path(sys.argv[1])).pin(f"{sys.argv[2]}-{number}", "x86_64", Pin(ref="r", id="sha256:0"))
"""


def test_several_processes_pin_at_once_and_no_pin_is_lost(tmp_path: Path) -> None:
    processes = [subprocess.Popen([sys.executable, "-c", PINNING, tmp_path, name]) for name in ("a", "b", "c")]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert len(read_lock(tmp_path).pins) == 60
    assert [path.name for path in tmp_path.iterdir()] == ["release.lock"]
