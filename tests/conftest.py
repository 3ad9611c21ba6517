from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest


def _answers(*argv: str) -> bool:
    return bool(shutil.which(argv[0])) and subprocess.run(argv, capture_output=True, check=False).returncode == 0


NEEDS: dict[str, Callable[[], bool]] = {
    "engine": lambda: _answers("docker", "info") or _answers("podman", "info"),
    "npm": lambda: _answers("node", "--version") and _answers("npm", "--version"),
    "mounts": lambda: _answers("unshare", "--user", "--map-root-user", "--mount", "true"),
}


# What is started in the background has SIGINT ignored, and hands that on to the programs that the tests interrupt.
if threading.current_thread() is threading.main_thread():
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)

# A change is held to the same examples each time; what is new is looked for by hand, and by `nox -s fuzz`.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("ci")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what this machine cannot run, and say so; where CI is set it is run, and fails.

    What depends on the index or on an engine is tried again: they have hiccups of their own.
    """
    for item in items:
        if any(item.get_closest_marker(marker) for marker in ("network", "engine", "npm")):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=5))
    if os.environ.get("CI"):
        return
    for marker, there in NEEDS.items():
        marked = [item for item in items if item.get_closest_marker(marker)]
        if marked and not there():
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=f"this machine has no {marker}"))


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep what a developer's shell says out of the tests."""
    for name in ("SOURCE_DATE_EPOCH", "LD_LIBRARY_PATH", "WAINWRIGHT_ENGINE", "WAINWRIGHT_KEEP"):
        monkeypatch.delenv(name, raising=False)
    here = Path.cwd()
    yield
    assert Path.cwd() == here
