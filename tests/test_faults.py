from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import httpx2
import pytest

import faults_github
import faults_publication
from misbehaving import Fault, Seen
from strict_github import COMMIT, OWNER, REPO, TOKEN, StrictGitHub, sealed
from wainwright.hosts.github import GitHub
from wainwright.hosts.patience import Patience
from wainwright.hosts.releasepage import ReleasePage
from wainwright.hosts.wanted import Wanted

SCHEDULES = int(os.environ.get("WAINWRIGHT_FAULTS", "1000"))
WHOLE = SCHEDULES // 5  # of whole publications; the others are of the release page alone
PARTS = 5
FIRST_SEED = int(os.environ.get("WAINWRIGHT_FAULTS_SEED", "0"))
FILES = {"a-1.0-py3-none-any.whl": b"wheel a", "b-1.0-py3-none-any.whl": b"wheel b"}
# Forks a process for each line that it reads, all modules being there, and says how it ended: 0, or -N for a signal
PUBLISH = """
    import os, sys
    from pathlib import Path
    sys.path.insert(0, {tests!r})
    from strict_github import COMMIT, OWNER, REPO, TOKEN, sealed
    from wainwright.hosts.github import GitHub
    from wainwright.hosts.patience import Patience
    from wainwright.hosts.releasepage import ReleasePage
    from wainwright.hosts.wanted import Wanted

    def publish():
        assets = sealed(Path({folder!r}), {files!r})
        wanted = Wanted(tag="v1.0", version="1.0", commit=COMMIT, title="1.0", notes="", assets=assets)
        with GitHub(f"{{OWNER}}/{{REPO}}", token=TOKEN, api_url={api_url!r}, patience=Patience(pause=0)) as github:
            page = ReleasePage(github, wanted)
            for asset in assets:
                page.put(asset)
            page.publish()

    import ghapi.core, fastspec.oapi
    for _ in sys.stdin:
        child = os.fork()
        if not child:
            try:
                publish()
            finally:
                os._exit(1 if sys.exc_info()[0] else 0)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def inner() -> Iterator[httpx2.HTTPTransport]:
    with httpx2.HTTPTransport(limits=httpx2.Limits(max_keepalive_connections=2)) as inner:  # servers come and go
        yield inner


def share(part: int, of: int) -> range:
    return range(FIRST_SEED + part * of // PARTS, FIRST_SEED + (part + 1) * of // PARTS)


def tell(what: str, seeds: range, met: Counter[str]) -> None:
    killed = sum(count for name, count in met.items() if name.startswith("killed"))
    others = sum(count for name, count in met.items() if name.startswith("another"))
    kinds = [count for name, count in met.items() if name.startswith(("HTTP", "reset", "well", "GitHub: ", "index: "))]
    span = f"{len(seeds)} of {SCHEDULES} schedules of faults, seeds {seeds[0]} to {seeds[-1]}"
    print(  # noqa: T201  the count is what a reader of the log looks for
        f"\n{what}: {span}: {sum(kinds)} faults of {len(kinds)} kinds, {killed} runs killed, {others} other runs and"
        " uploads in the middle"
    )


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_breaks_what_is_public_is_as_sealed(
    part: int, tmp_path: Path, inner: httpx2.HTTPTransport, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds = share(part, SCHEDULES - WHOLE)
    met: Counter[str] = Counter()
    for seed in seeds:
        met += faults_github.play(seed, tmp_path / str(seed), inner)
    with capsys.disabled():
        tell("release pages", seeds, met)


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_breaks_a_whole_publication_ends_as_sealed(
    part: int, tmp_path: Path, inner: httpx2.HTTPTransport, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds = share(part, WHOLE)
    met: Counter[str] = Counter()
    for seed in seeds:
        met += faults_publication.play(seed, tmp_path / str(seed), inner, tmp_path / "wheels")
    with capsys.disabled():
        tell("whole publications", seeds, met)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_that_is_killed_at_any_request_is_continued(tmp_path: Path, when: str) -> None:
    """Real processes and SIGKILL: at the first request, then at each later one, until one has nothing left to do."""
    with StrictGitHub() as server, _forking(server, tmp_path) as forks:
        for request in range(30):
            server.releases.clear()
            server.assets.clear()
            server.stored.clear()
            server.published.clear()
            if _killed_at(request, when, server, forks) == 0:
                break
            assert not server.published or server.published == [FILES]
            _publish_here(server, tmp_path)
            assert server.published == [FILES]
            assert server.violations == []
            assert len(server.stored) == len(FILES)
            assert len(server.releases) == 1
        assert request >= 10, "it made fewer requests than a release takes"


@contextmanager
def _forking(server: StrictGitHub, folder: Path) -> Iterator[subprocess.Popen[str]]:
    script = textwrap.dedent(PUBLISH).format(
        tests=str(Path(__file__).parent), files=FILES, folder=str(folder), api_url=server.api_url
    )
    argv = [sys.executable, "-c", script]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forks:
        yield forks
        assert forks.stdin
        forks.stdin.close()


def _killed_at(request: int, when: str, server: StrictGitHub, forks: subprocess.Popen[str]) -> int:
    """Have one publish, killed at its request of this number; gives how it ended."""
    assert forks.stdin
    assert forks.stdout
    out = forks.stdout
    process = Event()
    child = seen = 0

    def kill() -> None:
        process.wait()
        os.kill(child, signal.SIGKILL)

    def plan(_: Seen) -> Fault | None:
        nonlocal seen
        seen += 1
        if seen - 1 != request:
            return None
        return Fault(run=kill) if when == "before" else Fault(after=kill)

    server.plan = plan
    forks.stdin.write("\n")
    forks.stdin.flush()
    child = int(out.readline())
    process.set()
    code = int(out.readline())
    server.plan = lambda _: None
    return code


def _publish_here(server: StrictGitHub, folder: Path) -> None:
    assets = sealed(folder, FILES)
    wanted = Wanted(tag="v1.0", version="1.0", commit=COMMIT, title="1.0", notes="", assets=assets)
    patience = Patience(sleep=lambda _: None)
    with GitHub(f"{OWNER}/{REPO}", token=TOKEN, api_url=server.api_url, patience=patience) as github:
        page = ReleasePage(github, wanted)
        for asset in assets:
            page.put(asset)
        page.publish()
