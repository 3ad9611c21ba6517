from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from faults_github import play
from strict_github import COMMIT, OWNER, REPO, TOKEN, Fault, Seen, StrictGitHub, sealed
from wainwright.github import GitHub
from wainwright.patience import Patience
from wainwright.releasepage import ReleasePage
from wainwright.wanted import Wanted

SCHEDULES = int(os.environ.get("WAINWRIGHT_FAULTS", "1000"))
PARTS = 10
FIRST_SEED = int(os.environ.get("WAINWRIGHT_FAULTS_SEED", "0"))
FILES = {"a-1.0-py3-none-any.whl": b"wheel a", "b-1.0-py3-none-any.whl": b"wheel b"}
PUBLISH = """
    import sys
    from pathlib import Path
    sys.path.insert(0, {tests!r})
    from strict_github import COMMIT, OWNER, REPO, TOKEN, sealed
    from wainwright.github import GitHub
    from wainwright.patience import Patience
    from wainwright.releasepage import ReleasePage
    from wainwright.wanted import Wanted

    files = {files!r}
    assets = sealed(Path({folder!r}), files)
    wanted = Wanted(tag="v1.0", version="1.0", commit=COMMIT, title="1.0", notes="", assets=assets)
    with GitHub(f"{{OWNER}}/{{REPO}}", token=TOKEN, api_url={api_url!r}, patience=Patience(pause=0)) as github:
        page = ReleasePage(github, wanted)
        for asset in assets:
            page.put(asset)
        page.publish()
"""


@pytest.fixture(scope="module")
def inner() -> Iterator[httpx2.HTTPTransport]:
    with httpx2.HTTPTransport() as inner:
        yield inner


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_breaks_what_is_public_is_as_sealed(
    part: int, tmp_path: Path, inner: httpx2.HTTPTransport, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds = range(FIRST_SEED + part * SCHEDULES // PARTS, FIRST_SEED + (part + 1) * SCHEDULES // PARTS)
    met: Counter[str] = Counter()
    for seed in seeds:
        met += play(seed, tmp_path / str(seed), inner)
    killed = sum(count for name, count in met.items() if name.startswith("killed"))
    kinds = {name: count for name, count in met.items() if name.startswith(("HTTP", "reset", "well"))}
    with capsys.disabled():
        print(  # noqa: T201  the count is what a reader of the log looks for
            f"\nGitHub: {len(seeds)} schedules of faults, seeds {seeds[0]} to {seeds[-1]}: {sum(kinds.values())} faults"
            f" of {len(kinds)} kinds, {killed} runs killed, {met['another run']} other runs in the middle"
        )


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_that_is_killed_at_any_request_is_continued(tmp_path: Path, when: str) -> None:
    """Real processes and SIGKILL: at the first request, then at each later one, until one has nothing left to do."""
    with StrictGitHub() as server:
        for request in range(30):
            server.releases.clear()
            server.assets.clear()
            server.stored.clear()
            server.published.clear()
            if _killed_at(request, when, server, tmp_path) == 0:
                break
            assert not server.published or server.published == [FILES]
            _publish_here(server, tmp_path)
            assert server.published == [FILES]
            assert server.violations == []
            assert len(server.stored) == len(FILES)
            assert len(server.releases) == 1
        assert request >= 10, "it made fewer requests than a release takes"


def _killed_at(request: int, when: str, server: StrictGitHub, folder: Path) -> int:
    script = textwrap.dedent(PUBLISH).format(
        tests=str(Path(__file__).parent), files=FILES, folder=str(folder), api_url=server.api_url
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seen = 0

    def kill() -> None:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()

    def plan(_: Seen) -> Fault | None:
        nonlocal seen
        seen += 1
        if seen - 1 != request:
            return None
        return Fault(run=kill) if when == "before" else Fault(after=kill)

    server.plan = plan
    code = child.wait()
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
