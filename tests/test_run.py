from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from wainwright.completed import CAPTURE_LIMIT, TAIL_LINES
from wainwright.errors import Exit, WainwrightError
from wainwright.run import run


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _wait_until_dead(pid: int) -> bool:
    for _ in range(100):
        if not _alive(pid):
            return True
        time.sleep(0.05)
    return False


def test_output_goes_to_the_end_of_the_log_and_its_last_lines_are_the_tail(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "job.log"
    first = run(["sh", "-c", "echo one; echo two >&2"], log=log)
    second = run(["sh", "-c", "printf three; exit 7"], log=log)
    assert (first.code, first.ok, first.tail) == (0, True, ("one", "two"))
    assert (second.code, second.ok, second.tail) == (7, False, ("three",))
    assert log.read_text() == "$ sh -c 'echo one; echo two >&2'\none\ntwo\n$ sh -c 'printf three; exit 7'\nthree"


def test_the_tail_is_bounded_and_shows_a_progress_bar_as_last_drawn() -> None:
    done = run(["sh", "-c", r"seq 1 100000; printf '10%%\r50%%\r100%%\n'"])
    assert len(done.tail) == TAIL_LINES
    assert done.tail[-2:] == ("100000", "100%")


def test_bytes_that_are_not_text_are_kept_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = run(["sh", "-c", r"printf 'a\377b\n'"], log=log)
    assert log.read_bytes().endswith(b"a\xffb\n")
    assert done.tail == ("a\ufffdb",)


def test_captured_stdout_is_text_and_stderr_the_tail(tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = run(["sh", "-c", "seq 1 20000; echo wrong >&2"], capture=True, log=log)
    assert done.stdout.split() == [str(n) for n in range(1, 20001)]
    assert done.tail == ("wrong",)
    assert {"20000", "wrong"} <= set(log.read_text().splitlines())


def test_what_is_captured_is_bounded_and_too_much_of_it_is_no_answer() -> None:
    many = CAPTURE_LIMIT + 1
    done = run(["sh", "-c", f"head -c {many} /dev/zero | tr '\\0' x; echo end"], capture=True)
    assert len(done.stdout) == CAPTURE_LIMIT
    assert done.stdout.endswith("xend\n")
    with pytest.raises(WainwrightError, match="printed more than 64 MB"):
        done.check("it cannot be asked", code=Exit.BUILD)


def test_an_error_shows_what_was_captured_beside_the_tail() -> None:
    with pytest.raises(WainwrightError) as error:
        run(["sh", "-c", "echo FAILED test; echo warn >&2; exit 1"], capture=True).check("no", code=Exit.SMOKE)
    assert error.value.details == ("FAILED test", "warn")
    with pytest.raises(WainwrightError) as error:
        run(["sh", "-c", "echo FAILED test; exit 1"], capture=True).check("no", code=Exit.SMOKE)
    assert error.value.details == ("FAILED test",)


def test_the_environment_is_the_one_that_was_given_and_is_written_nowhere(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert run(["/usr/bin/env"], env={"TOKEN": "s3cret"}, capture=True).stdout.splitlines() == ["TOKEN=s3cret"]
    run(["/usr/bin/printenv", "OTHER"], env={"TOKEN": "s3cret"}, log=log)
    assert "s3cret" not in log.read_text()


def test_a_password_in_an_address_is_not_logged(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run(["true", "https://user:s3cret@example.org/simple"], log=log)
    assert log.read_text() == "$ true https://***@example.org/simple\n"


def test_there_is_nothing_to_read_on_standard_input() -> None:
    assert run(["cat"], capture=True, timeout=10).stdout == ""


def test_a_time_limit_ends_the_whole_group(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    done = run(["sh", "-c", f"sleep 60 & echo $! > {pids}; echo begun; sleep 60"], timeout=0.5)
    assert done.timed_out
    assert not done.ok
    assert done.seconds < 10
    assert done.tail == ("begun",)
    assert "time limit" in done.ending
    assert _wait_until_dead(int(pids.read_text()))


def test_what_ignores_a_polite_signal_is_killed() -> None:
    done = run(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"], timeout=0.2)
    assert done.code == -signal.SIGKILL


def test_what_a_program_leaves_running_ends_with_it(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    done = run(["sh", "-c", f"sleep 60 & echo $! > {pids}"], timeout=120)
    assert done.ok
    assert done.seconds < 10
    assert _wait_until_dead(int(pids.read_text()))


def test_a_program_that_closes_its_output_is_waited_for() -> None:
    done = run(["sh", "-c", "exec >&- 2>&-; sleep 0.3; exit 4"])
    assert done.code == 4


def test_several_threads_run_programs_at_once(tmp_path: Path) -> None:
    def one(number: int) -> str:
        return run(["sh", "-c", f"echo {number}; sleep 0.2"], log=tmp_path / f"{number}.log").tail[0]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(16))) == [str(n) for n in range(16)]


THREADS = """
import signal, sys
from concurrent.futures import ThreadPoolExecutor
from wainwright.run import interruptible, run
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may have it ignored
signal.signal(signal.SIGHUP, signal.SIG_DFL)
try:
    with interruptible(), ThreadPoolExecutor(2) as pool:
        for n in range(4):
            pool.submit(run, ["sh", "-c", f"echo $$ > {sys.argv[1]}/{n}; sleep 60; sleep 60"])
        while True:
            run(["sleep", "60"])
except KeyboardInterrupt as interrupt:
    print("interrupted by", interrupt)
    sys.exit(130)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_what_runs_in_every_thread_and_starts_nothing_more(
    tmp_path: Path, number: signal.Signals
) -> None:
    def default() -> None:  # whoever runs the tests may have it ignored
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    with subprocess.Popen([sys.executable, "-c", THREADS, tmp_path], stdout=subprocess.PIPE, text=True) as process:
        for _ in range(200):
            if all((tmp_path / str(n)).exists() and (tmp_path / str(n)).read_text().strip() for n in (0, 1)):
                break
            time.sleep(0.05)
        pids = [int((tmp_path / str(n)).read_text()) for n in (0, 1)]
        process.send_signal(number)
        out, _ = process.communicate(timeout=120)
    assert out.strip() == f"interrupted by {number.name}"
    assert process.returncode == 130
    assert all(_wait_until_dead(pid) for pid in pids)
    assert not (tmp_path / "2").exists()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Path.exists, "is not on this machine"),
        (lambda path: path.write_text("#!/bin/sh\n"), "may not be run"),
        (lambda path: (path.write_bytes(b"\0\0\0"), path.chmod(0o755)), "is not a program for this machine"),
    ],
)
def test_a_program_that_cannot_be_started_is_a_sentence(tmp_path: Path, make: object, said: str) -> None:
    assert callable(make)
    make(tmp_path / "tool")
    with pytest.raises(WainwrightError, match=said) as error:
        run([tmp_path / "tool"])
    assert error.value.code is Exit.ENGINE


def test_a_folder_that_is_absent_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(WainwrightError, match="no such folder"):
        run(["true"], cwd=tmp_path / "absent")


def test_a_full_disk_is_a_sentence_and_leaves_nothing_running() -> None:
    with pytest.raises(WainwrightError, match="No space left on device") as error:
        run(["sh", "-c", "echo one; sleep 60"], log=Path("/dev/full"))
    assert "free some space" in error.value.hint


def test_check_tells_how_it_ended_with_the_tail() -> None:
    done = run(["sh", "-c", "echo cannot; exit 3"])
    with pytest.raises(WainwrightError) as error:
        done.check("the build failed", code=Exit.BUILD, where="job x", hint="look")
    assert str(error.value) == "job x: the build failed (exit code 3)\ncannot\nhint: look"
    assert error.value.code is Exit.BUILD
    killed = run(["sh", "-c", "kill -9 $$"])
    assert killed.ending == "killed by SIGKILL"
    assert run(["true"]).check("x", code=Exit.BUILD).ok


def test_check_knows_a_full_disk_in_a_programs_own_words() -> None:
    done = run(["sh", "-c", "head -c 9 /dev/zero > /dev/full"])
    with pytest.raises(WainwrightError) as error:
        done.check("the build failed", code=Exit.BUILD)
    assert "free some space" in error.value.hint
    assert error.value.code is Exit.ENGINE


def test_the_handlers_of_before_are_back_afterwards() -> None:
    before = signal.getsignal(signal.SIGTERM)
    run(["true"])
    assert signal.getsignal(signal.SIGTERM) is before
    assert os.getpgid(0) == os.getpgrp()
