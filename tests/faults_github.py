"""Random schedules of faults against the strict server: what breaks, who is killed where, who else is releasing.

A schedule is made of its seed alone. It plays some runs of one release with faults, then runs without any, until the
release is out; after each run it checks what must hold.
"""

from __future__ import annotations

import random
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import fastspec.oapi  # type: ignore[import-untyped]
import httpx2

from misbehaving import Fault, Seen
from strict_github import COMMIT, OWNER, REPO, TOKEN, Clock, StrictGitHub, sealed
from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.destinations import Asset
from wainwright.hosts.github import GitHub
from wainwright.hosts.mark import unmarked
from wainwright.hosts.patience import Patience
from wainwright.hosts.releasepage import ReleasePage
from wainwright.hosts.wanted import Wanted

# What ghapi makes of each operation for each client anew, which is dearer than the client's requests
_params = cache(fastspec.oapi.sanitized_params)
fastspec.oapi.sanitized_params = lambda names: dict(_params(tuple(names)))
fastspec.oapi.mk_doc = lambda *_: ""
fastspec.oapi._examples_doc = lambda _: ""
NOTES = "What is new"
CALM_RUNS = 3  # so many runs without a fault are enough to finish, whatever was before
ECHO = {"message": f"token {TOKEN} is not welcome", "documentation_url": TOKEN}
LIMITS = (
    Fault(status=429, store="none", headers={"retry-after": "3"}),
    Fault(status=429, store="none"),
    Fault(status=403, store="none", headers={"retry-after": "30"}),
    Fault(status=403, store="none", headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800000900"}),
    Fault(status=403, store="none", body={"message": "You have exceeded a secondary rate limit"}),
)
REFUSALS = (
    Fault(status=401, store="none", body=ECHO),
    Fault(status=403, store="none", body=ECHO),
    Fault(status=404, store="none", body=ECHO),
    Fault(status=422, store="none", body=ECHO),
    Fault(status=422, store="none", body=ECHO | {"errors": [{"code": "already_exists", "field": "name"}]}),
)
BROKEN = (
    Fault(reset="before", store="none"),
    Fault(reset="in"),
    Fault(reset="after", store="none"),
    Fault(reset="after"),
    Fault(reset="answer"),
    Fault(status=502, store="none", body=ECHO),
    Fault(status=502, store="whole"),
    Fault(status=503, store="none", headers={"retry-after": "2"}),
    Fault(status=200, body=[TOKEN]),
    Fault(status=200, body={"id": TOKEN}),
    Fault(slow=0.002),
)
UPLOADS = (
    Fault(status=502, store="starter"),
    Fault(status=201, store="starter", body={}),
    Fault(reset="after", store="starter"),
    Fault(store="cut"),
    Fault(store="flip"),
    Fault(status=502, store="cut"),
    Fault(null_digest=True),
    Fault(null_digest=True, store="flip"),
    Fault(null_digest=True, status=502),
)


class Killed(BaseException):
    """As SIGKILL would: nothing of ours may catch it."""


@dataclass
class Life:
    """A process that dies at its `left`th request from now: before it, in its body, or after its answer."""

    left: int
    stage: str
    over: bool = False

    def end_at(self) -> str:
        """Count a request, and give the stage of it at which the process dies; empty while it lives on."""
        self.left -= 1
        self.over = self.over or self.left < 0
        return self.stage if self.over else ""

    def go_on(self) -> None:
        """Do nothing, unless it is over."""
        if self.over:
            raise Killed


class Mortal(httpx2.BaseTransport):
    """A connection of such a process."""

    def __init__(self, inner: httpx2.BaseTransport, life: Life) -> None:
        self.inner, self.life = inner, life

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.life.go_on()
        stage = self.life.end_at()
        if not stage:
            return self.inner.handle_request(request)
        if stage == "before":
            raise Killed
        if stage == "in":
            request.stream = _Dying()
        response = self.inner.handle_request(request)
        response.read()
        raise Killed


class _Dying(httpx2.SyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        raise Killed
        yield b""


@dataclass
class Schedule:
    """One seed's story, and what it has met."""

    seed: int
    server: StrictGitHub
    inner: httpx2.BaseTransport
    folder: Path
    clock: Clock
    met: Counter[str] = field(default_factory=Counter)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # noqa: S311  not for secrets
        count = self.random.randint(1, 3)
        names = ["demo-1.0+cpu-py3-none-any.whl", "demo-1.0-py3-none-any.whl", "SHA256SUMS"][:count]
        self.wanted = self._wanted("mine", {name: f"{name} {self.seed}".encode() for name in names})
        self.theirs = self.wanted
        if self.random.random() < 0.2:
            self.theirs = self._wanted("theirs", {name: f"{name} theirs".encode() for name in names})
        self.server.immutable = self.random.random() < 0.3
        self.server.digests = self.random.random() < 0.8
        if self.random.random() < 0.7:
            self.server.tags["v1.0"] = ("commit", COMMIT)
        for number in range(self.random.choice((*(0,) * 20, *(2,) * 15, 101))):
            self.server.add_release(f"v0.{number}")
        self.old = len(self.server.releases)
        self.rate = self.random.choice((0.0, 0.05, 0.15, 0.4))
        self.playing_other = False
        self.conflicts = 0
        self.at_once = self.random.random() < 0.15

    def _wanted(self, name: str, contents: Mapping[str, bytes]) -> Wanted:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        assets = sealed(folder, contents)
        return Wanted(tag="v1.0", version="1.0", commit=COMMIT, title="Demo", notes=NOTES, assets=assets)

    def play(self) -> None:
        """Some runs in bad weather, then calm ones until all is done."""
        if self.at_once:
            self._run_at_once()
            self.check()
        for _ in range(self.random.randint(1, 4)):
            other = self.random.randint(0, 12) if self.random.random() < 0.4 else None
            with self._weather(other):
                self._run(self.wanted, mortal=self.random.random() < 0.5)
            self.check()
        for wanted in [self.wanted] * CALM_RUNS + [self.theirs] * CALM_RUNS:
            if self._run(wanted):
                break
        self.check()
        assert len(self._public()) == 1, f"seed {self.seed}: it did not converge: {self.said}"
        drafts = [release for release in self.server.releases.values() if release["draft"]]
        assert not drafts, f"seed {self.seed}: a draft is left"

    @contextmanager
    def _weather(self, other: int | None) -> Iterator[None]:
        requests = 0

        def plan(seen: Seen) -> Fault | None:
            nonlocal requests
            requests += 1
            if requests - 1 == other and not self.playing_other:
                return Fault(during=self._run_other) if self.random.random() < 0.5 else Fault(run=self._run_other)
            if self.random.random() >= self.rate * (1 + 2 * seen.uploads):
                return None
            fault = self.random.choice(self._kinds(seen))
            self.met[self._name(fault)] += 1
            return fault

        self.server.plan = plan
        try:
            yield
        finally:
            self.server.plan = lambda _: None

    def _kinds(self, seen: Seen) -> tuple[Fault, ...]:
        if seen.path.startswith("/storage"):
            return (Fault(reset="answer"),)
        kinds = self.random.choice((BROKEN, BROKEN, BROKEN, LIMITS, REFUSALS))
        return UPLOADS if seen.uploads and self.random.random() < 0.6 else kinds

    @staticmethod
    def _name(fault: Fault) -> str:
        trouble = f"reset {fault.reset}" if fault.reset else f"HTTP {fault.status}" if fault.status else "well"
        trouble += ", slow" if fault.slow else "" if fault.store == "whole" else f", stored {fault.store}"
        return trouble + (", no digest" if fault.null_digest else "")

    def _run_other(self) -> None:
        """Let another release run, in the middle of a request of ours."""
        self.met["another run"] += 1
        self.playing_other = True
        try:
            self._run(self.theirs, mortal=self.random.random() < 0.5)
        finally:
            self.playing_other = False

    def _run_at_once(self) -> None:
        """Let two releases really run at the same time; how they meet is the machine's to say, not the seed's."""
        self.met["another run"] += 1
        dozes = [self.random.random() * 0.004 for _ in range(200)]

        def doze() -> None:
            if dozes:
                time.sleep(dozes.pop())

        self.server.plan = lambda _: Fault(run=doze, during=doze)
        mortal = self.random.random() < 0.5
        with ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(self._run, wanted, mortal=mortal) for wanted in (self.wanted, self.theirs)]
            for run in runs:
                run.result()
        self.server.plan = lambda _: None

    def _run(self, wanted: Wanted, *, mortal: bool = False) -> bool:
        """Do what the publisher does, as a new process would."""
        last = self.random.randint(0, 14) if mortal else 10_000
        stage = self.random.choice(("before", "in", "after"))
        transport = Mortal(self.inner, Life(left=last, stage=stage))
        patience = Patience(now=self.clock.now, sleep=self.clock.sleep, jitter=self.random.random)
        client = httpx2.Client(transport=transport)
        github = GitHub(f"{OWNER}/{REPO}", token=TOKEN, api_url=self.server.api_url, patience=patience, client=client)
        try:
            page = ReleasePage(github, wanted)
            page.listing()
            for asset in wanted.assets:
                page.put(asset)
            page.publish()
        except Killed:
            self.met[f"killed {stage}"] += 1
            return False
        except WainwrightError as error:
            self.said.append("".join(traceback.format_exception(error)))
            self.met[error.code.name] += 1
            self.conflicts += error.code is Exit.CONFLICT
            return False
        return True

    def _public(self) -> list[dict[str, object]]:
        return [release for release in self.server.public if release["tag_name"] == "v1.0"]

    def check(self) -> None:
        """What is public is exactly as sealed or not there; nothing was stored twice, replaced, or public too early."""
        about = f"seed {self.seed}: "
        seals = [_bytes(wanted.assets) for wanted in (self.wanted, self.theirs)]
        assert self.server.violations == [], about + str(self.server.violations)
        # Of two runs at one time, one may find the other's upload under way, and end it in the moment of its success.
        allowed = 2 if self.at_once else 1
        twice = [entry for entry, times in Counter(self.server.stored).items() if times > allowed]
        assert not twice, f"{about}uploaded twice: {twice}"
        assert all(snapshot in seals for snapshot in self.server.published), about + "public before it was complete"
        assert len(self.server.published) <= 1, about + "published twice"
        for release in self._public():
            assert self.server.contents(int(str(release["id"]))) in seals, about + "public and not as sealed"
            assert unmarked(str(release["body"])) == NOTES, about + "other notes"
        assert not any(TOKEN in text for text in self.said), about + "the token was said"
        assert self.theirs is not self.wanted or not self.conflicts, about + f"a conflict with itself: {self.said}"


def _bytes(assets: Iterable[Asset]) -> dict[str, bytes]:
    return {asset.name: asset.path.read_bytes() for asset in assets}


def play(seed: int, folder: Path, inner: httpx2.BaseTransport) -> Counter[str]:
    """Play the schedule of a seed against a server of its own; gives what it has met."""
    clock = Clock()
    folder.mkdir(exist_ok=True)
    with StrictGitHub(now=clock.now) as server:
        schedule = Schedule(seed=seed, server=server, inner=inner, folder=folder, clock=clock)
        schedule.play()
    return schedule.met
