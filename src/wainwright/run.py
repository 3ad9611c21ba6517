"""Runs programs: no shell, output to a log as it comes, the last lines kept, and no process left behind."""

from __future__ import annotations

import errno
import os
import re
import selectors
import shlex
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, Final, NoReturn

from wainwright.completed import CAPTURE_LIMIT, LINE_LIMIT, ROOM, TAIL_LINES, Completed, shown
from wainwright.errors import Exit, WainwrightError, is_full

LOOK_AGAIN: Final = 0.1  # seconds between looks at a process that says nothing
GRACE: Final = 3.0  # seconds between SIGTERM and SIGKILL
_USERINFO: Final = re.compile(rb"(?<=://)[^/@\s]+@")
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Live:
    """The process groups that are running now, in every thread, so that a signal can end them all."""

    def __init__(self) -> None:
        # Plain dictionary operations only: a signal handler may come in the middle of any of ours, so no lock.
        self.groups: dict[int, None] = {}
        self.stopping = False

    def end_all(self) -> None:
        self.stopping = True
        for group in list(self.groups):
            _signal_group(group, signal.SIGTERM)


_live: Final = _Live()


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP end whatever `run` runs in any thread, and arrive here as KeyboardInterrupt.

    For the main thread around everything that runs jobs in threads. Nested, or in another thread, it does nothing.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is _interrupt:
        yield
        return
    heeded = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]  # as nohup sets it
    before = {number: signal.signal(number, _interrupt) for number in heeded}
    try:
        yield
    finally:
        _live.stopping = False
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    _live.end_all()
    raise KeyboardInterrupt(signal.Signals(number).name)


def run(
    argv: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    log: Path | None = None,
    timeout: float | None = None,
    capture: bool = False,
) -> Completed:
    """Run `argv` to its end, in its own process group, without a shell and without standard input.

    `env` is the whole environment (None: ours), and is never written anywhere. stdout and stderr go to the end of `log`
    as they come; with `capture`, stdout is given back as text too, or its end where there is very much of it. After
    `timeout` seconds, on KeyboardInterrupt and on SIGTERM the whole group is ended; so is what a program that ends by
    itself leaves running in its group.
    Safe in several threads, if the main thread is within `interruptible`. A program or folder that is missing, a
    program that may not be run and a full disk raise WainwrightError; an exit code other than 0 does not.
    """
    words = tuple(str(word) for word in argv)
    with interruptible(), ExitStack() as stack:
        sink = _open_log(log, words, stack)
        if _live.stopping:
            raise KeyboardInterrupt
        started = time.monotonic()
        process = _start(words, env, cwd, capture=capture)
        _live.groups[process.pid] = None
        try:
            output = _follow(process, sink, log, deadline=None if timeout is None else started + timeout)
        finally:
            _end_group(process)
            _live.groups.pop(process.pid, None)
            process.wait()
            _close(process)
        if _live.stopping:
            raise KeyboardInterrupt
    return Completed(
        argv=words,
        code=process.returncode,
        seconds=time.monotonic() - started,
        tail=output.tail(),
        stdout=bytes(output.captured).decode("utf-8", "replace"),
        timed_out=output.timed_out,
        cut=output.cut,
    )


class _Output:
    def __init__(self) -> None:
        self.lines: deque[bytes] = deque(maxlen=TAIL_LINES)
        self.partial = b""
        self.captured = bytearray()
        self.timed_out = False
        self.cut = False

    def capture(self, chunk: bytes) -> None:
        self.captured += chunk
        if len(self.captured) > CAPTURE_LIMIT:
            self.cut = True
            del self.captured[:-CAPTURE_LIMIT]

    def add(self, chunk: bytes) -> None:
        *whole, rest = (self.partial + chunk).split(b"\n")
        self.lines.extend(whole)
        self.partial = rest[-LINE_LIMIT * 4 :]

    def tail(self) -> tuple[str, ...]:
        lines = [*self.lines, self.partial]
        if not any(line.strip() for line in lines):
            lines = bytes(self.captured[-TAIL_LINES * LINE_LIMIT :]).splitlines()
        return shown(lines)


def _follow(
    process: subprocess.Popen[bytes], sink: IO[bytes] | None, log: Path | None, *, deadline: float | None
) -> _Output:
    """Read until every pipe is closed or the program has ended, whichever is first: a daemon may keep a pipe open."""
    output = _Output()
    with selectors.DefaultSelector() as selector:
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, pipe is process.stdout and process.stderr is not None)
        while True:
            ready = selector.select(LOOK_AGAIN) if selector.get_map() else []
            for key, _ in ready:
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    selector.unregister(key.fileobj)
                    continue
                if key.data:
                    output.capture(chunk)
                else:
                    output.add(chunk)
                _write(sink, chunk, log)
            if (not ready or not selector.get_map()) and _has_ended(process, wait=not selector.get_map()):
                return output
            if _live.stopping:  # it was started while the others were being ended
                return output
            if deadline is not None and time.monotonic() > deadline:
                output.timed_out = True
                return output


def _has_ended(process: subprocess.Popen[bytes], *, wait: bool) -> bool:
    """Look without reaping: while the leader is a zombie, nobody else can be given its group's number."""
    tries = 20 if wait else 1
    for attempt in range(tries):
        if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return True
        if attempt + 1 < tries:
            time.sleep(LOOK_AGAIN / tries)
    return False


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End whatever is left of the group: politely, then for good. A lone zombie leader costs nothing."""
    if not _has_ended(process, wait=False):
        _signal_group(process.pid, signal.SIGTERM)
        give_up = time.monotonic() + GRACE
        while not _has_ended(process, wait=True) and time.monotonic() < give_up:
            pass
    _signal_group(process.pid, signal.SIGKILL)


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _start(
    words: tuple[str, ...], env: Mapping[str, str] | None, cwd: Path | None, *, capture: bool
) -> subprocess.Popen[bytes]:
    if cwd is not None and not cwd.is_dir():
        raise WainwrightError(f"cannot run {words[0]} in {cwd}: no such folder", code=Exit.ENGINE)
    try:
        return subprocess.Popen(
            words,
            env=None if env is None else dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if capture else subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise _in_words(error, words[0]) from error


def _in_words(error: OSError, program: str) -> WainwrightError:
    hint = ""
    if error.errno == errno.ENOENT:
        what, hint = f"{program} is not on this machine", "install it, or put its folder on PATH"
    elif error.errno == errno.EACCES:
        what, hint = f"{program} may not be run", "look at its permissions, and whether its disk is mounted noexec"
    elif error.errno == errno.ENOEXEC:
        what = f"{program} is not a program for this machine"
    elif error.errno == errno.E2BIG:
        what = f"the command line or the environment for {program} is too long"
    else:
        what = f"{program} could not be started: {error.strerror}"
    return WainwrightError(what, code=Exit.ENGINE, hint=hint)


def _open_log(log: Path | None, words: tuple[str, ...], stack: ExitStack) -> IO[bytes] | None:
    if log is None:
        return None
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        sink = stack.enter_context(log.open("ab", buffering=0))
    except OSError as error:
        raise _log_error(error, log) from error
    _write(sink, _USERINFO.sub(b"***@", f"$ {shlex.join(words)}\n".encode(errors="surrogateescape")), log)
    return sink


def _write(sink: IO[bytes] | None, chunk: bytes, log: Path | None) -> None:
    try:
        while sink is not None and chunk:
            chunk = chunk[sink.write(chunk) :]
    except OSError as error:
        raise _log_error(error, log) from error


def _log_error(error: OSError, log: Path | None) -> WainwrightError:
    hint = ROOM if is_full(error) else ""
    return WainwrightError(f"the log cannot be written: {error.strerror}", code=Exit.ENGINE, where=str(log), hint=hint)


def _close(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
