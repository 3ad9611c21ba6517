"""Random schedules of faults against a whole publication: a release page, one index or two, and who else is uploading.

A schedule is made of its seed alone. It plays some runs of `Publication` with faults at the strict GitHub and at strict
indexes, then runs without any, until all is out; after each run it checks what must hold everywhere.
"""

from __future__ import annotations

import hashlib
import random
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import httpx2

import releases
import twine_here
from faults_github import BROKEN, CALM_RUNS, LIMITS, REFUSALS, UPLOADS, Killed, Life, Mortal
from misbehaving import Fault, Seen
from servers import Server
from strict_github import COMMIT, OWNER, REPO, TOKEN, Clock, StrictGitHub
from strict_index import Front, Habits, StrictIndex
from wainwright.completed import Completed
from wainwright.declaration.release import Destination
from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.destinations import Asset
from wainwright.hosts.github import GitHub
from wainwright.hosts.index import Index, connect
from wainwright.hosts.patience import Patience
from wainwright.hosts.releasepage import ReleasePage
from wainwright.hosts.wanted import Wanted
from wainwright.receipts import Artifact
from wainwright.releasing.journal import Journal
from wainwright.releasing.publishing import Publication, Site

PASSWORD = "correct-horse-7391"  # noqa: S105 - the one that test_index gives to its servers, too
TAGS = ("cp310-cp310-linux_x86_64", "cp311-cp311-linux_x86_64", "py3-none-any")
HABITS = (
    Habits(),
    Habits(late=2, again=400),
    Habits(html=True, again=409, refuses=409),
    Habits(html=True, digests=False),
    Habits(digests=False, late=1, refuses=409),
    Habits(late=5),
)
ECHO = {"message": f"{PASSWORD} is not welcome"}
INDEX_BUSY = (
    Fault(status=429, store="none", headers={"Retry-After": "3"}),
    Fault(status=429, store="none"),
    Fault(status=503, store="none", headers={"Retry-After": "7"}),
)
INDEX_REFUSALS = tuple(Fault(status=status, store="none", body=ECHO) for status in (400, 401, 403, 409))
INDEX_BROKEN = (
    Fault(reset="before", store="none"),
    Fault(reset="in"),
    Fault(reset="after", store="none"),
    Fault(reset="after"),
    Fault(reset="answer"),
    Fault(status=502, store="none", body=ECHO),
    Fault(status=502),
    Fault(status=503, store="none"),
    Fault(status=503),
    Fault(slow=0.002),
)
INDEX_UPLOADS = (Fault(store="flip"), Fault(status=502), Fault(status=503), Fault(reset="after"), Fault(reset="in"))


@cache
def wheel(folder: Path, name: str) -> Asset:
    """Make a wheel once for all schedules."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Artifact.of(releases.make_wheel(folder / name, says=name))
    return Asset(name=name, path=folder / name, size=made.size, sha256=made.sha256)


@dataclass
class Schedule:
    """One seed's story, and what it has met."""

    seed: int
    github: StrictGitHub
    indexes: tuple[StrictIndex, ...]
    inner: httpx2.BaseTransport
    folder: Path
    assets: tuple[Asset, ...]
    clock: Clock
    chance: random.Random
    met: Counter[str] = field(default_factory=Counter)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rate = self.chance.choice((0.0, 0.05, 0.15, 0.4))
        self.runs = 0
        self.inside = False
        self.conflicts = 0
        self.foreign: set[tuple[int, str]] = set()  # what somebody else has put there: index and name
        self.life = Life(left=10_000, stage="")
        self.github.immutable = self.chance.random() < 0.3
        self.github.digests = self.chance.random() < 0.8

    @property
    def sealed(self) -> dict[str, bytes]:
        return {asset.name: asset.path.read_bytes() for asset in self.assets}

    def play(self) -> None:
        """Some runs in bad weather, then calm ones until all is done."""
        for _ in range(self.chance.randint(1, 3)):
            with self._weather():
                self._run(mortal=self.chance.random() < 0.5)
            self.check()
        for _ in range(CALM_RUNS):
            if self._run():
                break
        self.check()
        about = f"seed {self.seed}: it did not converge: {self.said}"
        for number, index in enumerate(self.indexes):
            ours = {name: data for name, data in self.sealed.items() if (number, name) not in self.foreign}
            assert self.foreign or index.files == ours, about
        assert len(self.github.public) == (0 if self.foreign else 1), about
        assert self.foreign or len(self.github.releases) == 1, f"seed {self.seed}: a draft is left"

    @contextmanager
    def _weather(self) -> Iterator[None]:
        other = self.chance.randint(0, 20) if self.chance.random() < 0.4 else None
        count = iter(range(1_000_000))

        def at_github(seen: Seen) -> Fault | None:
            if next(count) == other and not self.inside:
                return Fault(run=self._run_other)
            if self.chance.random() >= self.rate * (1 + 2 * seen.uploads) / 2:
                return None
            kinds = self.chance.choice((BROKEN, BROKEN, LIMITS, REFUSALS))
            return self._met("GitHub", self.chance.choice(UPLOADS if seen.uploads else kinds))

        def at_index(number: int, seen: Seen) -> Fault | None:
            if (stage := self.life.end_at()) and not self.inside:
                return Fault(reset=stage, store="whole" if stage == "after" else "none")
            if next(count) == other and not self.inside:
                others = partial(self._upload_of_others, number)
                run = self.chance.choice((self._run_other, others, others))
                return Fault(**{self.chance.choice(("run", "during")): run})  # type: ignore[arg-type]
            posts = seen.method == "POST"
            if self.chance.random() >= self.rate * (1 + posts):
                return None
            kinds = self.chance.choice((INDEX_BROKEN, INDEX_BROKEN, INDEX_BUSY, INDEX_REFUSALS))
            return self._met(
                "index", self.chance.choice(INDEX_UPLOADS if posts and self.chance.random() < 0.5 else kinds)
            )

        self.github.plan = at_github
        for number, index in enumerate(self.indexes):
            index.plan = lambda seen, number=number: at_index(number, seen)  # type: ignore[misc]
        try:
            yield
        finally:
            servers: tuple[StrictGitHub | StrictIndex, ...] = (self.github, *self.indexes)
            for server in servers:
                server.plan = lambda _: None

    def _met(self, where: str, fault: Fault) -> Fault:
        trouble = f"reset {fault.reset}" if fault.reset else f"HTTP {fault.status}" if fault.status else "well"
        digest = ", no digest" if fault.null_digest else ""
        slow = ", slow" if fault.slow else ""
        wait = ", told how long" if {"retry-after", "Retry-After"} & fault.headers.keys() else ""
        self.met[f"{where}: {trouble}, stored {fault.store}{slow}{digest}{wait}"] += 1
        return fault

    def _upload_of_others(self, number: int) -> None:
        """Let somebody upload one of the files, as it is sealed or another of its name."""
        index, asset = self.indexes[number], self.chance.choice(self.assets)
        same = self.chance.random() < 0.5
        with index.lock:
            if asset.name in index.files or isinstance(index, Front):
                return
            self.met[f"another uploader, {'the same' if same else 'another'} file"] += 1
            index.take(asset.name, asset.path.read_bytes() if same else b"of somebody else")
            if not same:
                self.foreign.add((number, asset.name))

    def _run_other(self) -> None:
        """Let another run begin and end in the middle of a request of ours."""
        self.met["another run"] += 1
        self.inside, life = True, self.life
        try:
            self._run()
        finally:
            self.inside, self.life = False, life

    def _run(self, *, mortal: bool = False) -> bool:
        """Publish, as a new process would."""
        self.runs += 1
        stage = self.chance.choice(("before", "in", "after"))
        self.life = life = Life(left=self.chance.randint(0, 25) if mortal else 10_000, stage=stage)
        if self.chance.random() < 0.2:
            self._journal.unlink(missing_ok=True)
        with ExitStack() as stack:
            publication = Publication(
                sites=[*self._page(life, stack), *self._sites(life)],
                journal=Journal.open(self._journal, "v1.0"),
                say=lambda line: self._say(life, line),
                command="nox -s publish -- v1.0",
                pause=lambda seconds: self._sleep(life, seconds),
            )
            try:
                publication.run()
            except Killed:
                self.met[f"killed {stage}"] += 1
                return False
            except WainwrightError as error:
                self.said.append("".join(traceback.format_exception(error)))
                self.met[error.code.name] += 1
                self.conflicts += error.code is Exit.CONFLICT
                return False
        return True

    @property
    def _journal(self) -> Path:
        return self.folder / "journal.json"

    def _page(self, life: Life, stack: ExitStack) -> Iterator[Site]:
        clock = self.clock
        patience = Patience(now=clock.now, sleep=lambda s: self._sleep(life, s), jitter=self.chance.random)
        client = stack.enter_context(httpx2.Client(transport=Mortal(self.inner, life)))
        api = self.github.api_url
        host = stack.enter_context(
            GitHub(f"{OWNER}/{REPO}", token=TOKEN, api_url=api, patience=patience, client=client)
        )
        wanted = Wanted(tag="v1.0", version="1.0", commit=COMMIT, title="demo 1.0", notes="new", assets=self.assets)
        yield Site(name="page", remote=ReleasePage(host, wanted), assets=self.assets)

    def _sites(self, life: Life) -> Iterator[Site]:
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "TWINE_PASSWORD_ONE": PASSWORD}
        environ |= {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring", "TWINE_PASSWORD_TWO": PASSWORD}
        environ |= dict.fromkeys(("TWINE_USERNAME_ONE", "TWINE_USERNAME_TWO"), f"run{self.runs}")

        def run(*words: object, **options: object) -> Completed:
            life.go_on()
            done = twine_here.run(*words, **options)  # type: ignore[arg-type]
            life.go_on()
            return done

        for name, server in zip(("one", "two"), self.indexes, strict=False):
            declared = Destination(name=name, kind="index", url=server.upload, simple=f"{server.origin}/simple/")
            log = self.folder / f"{name}.log"
            index: Index = connect(
                declared,
                project="demo",
                run=run,
                log=log,
                environ=environ,
                alone=False,
                pause=lambda s: self._sleep(life, s),
            )
            yield Site(name=name, remote=index, assets=self.assets)

    def _sleep(self, life: Life, seconds: float) -> None:
        life.go_on()
        self.clock.sleep(seconds)

    def _say(self, life: Life, line: str) -> None:
        life.go_on()
        self.said.append(line)

    def check(self) -> None:
        """What is public is exactly as sealed or not there; nothing was sent twice, replaced, or public too early."""
        about = f"seed {self.seed}: "
        sealed = self.sealed
        assert self.github.violations == [], about + str(self.github.violations)
        twice = [entry for entry, times in Counter(self.github.stored).items() if times > 1]
        assert not twice, f"{about}uploaded twice: {twice}"
        assert all(snapshot == sealed for snapshot in self.github.published), about + "public before it was complete"
        assert len(self.github.published) <= 1, about + "published twice"
        for release in self.github.public:
            assert self.github.contents(int(release["id"])) == sealed, about + "public and not as sealed"
        for number, index in enumerate(self.indexes):
            assert index.violations == [], about + str(index.violations)
            assert max(index.stored.values(), default=1) == 1, about + "stored twice"
            assert len(index.stored) == len(index.files), about + "replaced"
            for name, content in index.files.items():
                assert (number, name) in self.foreign or content == sealed[name], about + f"{name} is not as sealed"
            assert not self.github.public or index.files == sealed, (
                about + "the page is public before the index is full"
            )
        logs = [path.read_text() for path in self.folder.glob("*.log")]
        assert not any(secret in text for text in (*self.said, *logs) for secret in (TOKEN, PASSWORD)), (
            about + "a secret"
        )
        digests = {asset.sha256: hashlib.sha256(sealed[asset.name]).hexdigest() for asset in self.assets}
        assert all(one == other for one, other in digests.items()), about + "a sealed file was changed"
        assert self.foreign or not self.conflicts, f"{about}a conflict with itself: {self.said}"


def play(
    seed: int, folder: Path, inner: httpx2.BaseTransport, wheels: Path, *, real: Server | None = None
) -> Counter[str]:
    """Play the schedule of a seed against servers of its own, or before a real index; gives what it has met."""
    clock, chance = Clock(), random.Random(seed)  # noqa: S311  not for secrets
    folder.mkdir(exist_ok=True)
    version = f"1.{seed}" if real else "1.0"
    assets = tuple(wheel(wheels, f"demo-{version}-{tag}.whl") for tag in TAGS[: chance.choice((1, 1, 2, 2, 3))])
    with ExitStack() as stack:
        github = stack.enter_context(StrictGitHub(now=clock.now))
        habits = chance.sample(HABITS, chance.choice((1, 1, 1, 1, 2)))
        indexes = [Front(real)] if real else [StrictIndex(password=PASSWORD, habits=each) for each in habits]
        for index in indexes:
            stack.enter_context(index)
        schedule = Schedule(
            seed=seed,
            github=github,
            indexes=tuple(indexes),
            inner=inner,
            folder=folder,
            assets=assets,
            clock=clock,
            chance=chance,
        )
        schedule.play()
    return schedule.met
