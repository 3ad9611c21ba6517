"""Preflight: everything that would stop a release later, at every destination, found at once and before any write."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from wainwright.completed import Run
from wainwright.declaration.planning import Job
from wainwright.declaration.release import Destination
from wainwright.errors import Exit, WainwrightError
from wainwright.finding import Finding, gather
from wainwright.hosts.destinations import Asset, Fate, fate
from wainwright.hosts.github import GitHub
from wainwright.hosts.index import Index
from wainwright.hosts.releasepage import ReleasePage
from wainwright.hosts.sites import Hosts
from wainwright.hosts.tokens import PREFIX, scope
from wainwright.hosts.wanted import Wanted, objections
from wainwright.releasing import filechecks, pagechecks, statedmetadata
from wainwright.releasing.gitstate import Tree
from wainwright.releasing.kept import home
from wainwright.releasing.manifest import File, Manifest, seal_of
from wainwright.releasing.notes import UNRELEASED, human

# Where a token can be had by Trusted Publishing: the variables by which twine's own detection goes
AMBIENT = ("ACTIONS_ID_TOKEN_REQUEST_URL", "PYPI_ID_TOKEN", "TESTPYPI_ID_TOKEN", "BUILDKITE_AGENT_ACCESS_TOKEN")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """What is to be released, and where.

    `said` is the version that the source says, where it does; `manifest` the seal, where there is one: then what is
    already there is compared by digest. `files` are the wheels that are proven, sealed or not; none before that. What
    is `at_hand` is audited, and `source` a folder with what is going to be built.
    `nightly_commit` is the commit of a nightly, which has no tag yet; None for a release. `root` is the project's
    folder, with its changelog, and `push` says that index pages are to be pushed.
    """

    jobs: tuple[Job, ...]
    name: str
    tag: str
    version: str
    said: str | None
    tree: Tree | None
    hosts: Hosts
    run: Run
    wheelhouse: Path
    environ: Mapping[str, str] = field(repr=False)
    files: tuple[File, ...] = ()
    at_hand: tuple[File, ...] = ()
    source: Path | None = None
    manifest: Manifest | None = None
    nightly_commit: str | None = None
    root: Path | None = None
    push: bool = False
    now: Callable[[], float] = time.time

    def findings(self) -> tuple[Finding, ...]:
        """Look at everything; what cannot be looked at is a finding too."""
        checks: list[Callable[[], Iterable[Finding]]] = [self._version, self._names, self._files, self._metadata]
        if self.tree is not None and self.nightly_commit is None:
            checks.append(partial(self.tree.findings, self.tag))
        elif self.tree is not None and self.manifest is None:  # a sealed one is finished, whatever is at HEAD by now
            checks.append(partial(self.tree.findings_of_head, shared=bool(self.hosts.githubs)))
        for name, index in self.hosts.indexes.items():
            checks += [partial(self._token, name, index), partial(self._index, name, index)]
        for name, github in self.hosts.githubs.items():
            checks += [partial(self._repository, name, github), *self._of_page(name, github)]
        return (*self.hosts.findings, *gather(checks))

    def _version(self) -> Iterator[Finding]:
        yield from filechecks.of_version(self.version, f"tag {self.tag}")
        if self.nightly_commit is None and self.said is not None and self.said != self.version:
            what = f"it stands for version {self.version}, and the source says {self.said}"
            yield Finding(where=f"tag {self.tag}", what=what, hint="tag the commit that says so")

    def _names(self) -> Iterator[Finding]:
        """Hold the names that the wheels are going to have against each destination, before they are built."""
        for job in self.jobs:
            known = [file.name for file in self._there if file.job == job.id and file.kind == "wheel"]
            own = job.python.tag
            for name in known or [job.filename(self.name, self.version).replace("-*-", f"-{own}-")]:
                for destination in self._destinations(job):
                    yield from filechecks.of_name(name, destination)

    def _files(self) -> Iterator[Finding]:
        for file in self._there:
            for name in file.destinations:
                if name in self.hosts.declared:
                    path = self.wheelhouse / file.path
                    yield from filechecks.of_size(path, file.size, self.hosts.declared[name])

    def _metadata(self) -> Iterator[Finding]:
        """Look at what indexes show of the wheels that are there, or else at what the source states of them."""
        indexes = set(self.hosts.indexes)
        bound = [file for file in self._there if file.kind != "sbom" and indexes & set(file.destinations)]
        yield from filechecks.of_descriptions([self.wheelhouse / file.path for file in bound], self.run)
        builds = {
            job.variant.build.command for job in self.jobs if indexes & {place.name for place in job.destinations}
        }
        if self.source is not None and not bound and any(map(statedmetadata.FRONTENDS.search, builds)):
            yield from statedmetadata.of_source(self.source, self.run)

    @property
    def _there(self) -> tuple[File, ...]:
        return self.files or self.at_hand

    def _token(self, name: str, index: Index) -> Iterator[Finding]:
        """Look at the credentials: whether there are any, what they say of themselves, and whether they are let in."""
        account, where = index.pages.account, f"publish.{name}"
        is_public = account.username in {None, "__token__"}
        if account.password is None:
            if is_public and any(self.environ.get(each) for each in AMBIENT):
                return
            yield Finding.of(index.pages.unauthorised(None, account.url), where)
            return
        if account.password.startswith(PREFIX):
            try:
                limits = scope(account.password).objections(self.name, now=self.now())
            except ValueError as error:
                limits = (str(error),)
            for what in limits:
                hint = f"it is from {account.source}"
                yield Finding(where=where, what=what, hint=hint, code=Exit.NOT_AUTHORISED)
            if limits:
                return
        refused = index.pages.probe()
        if refused is not None:
            yield Finding.of(refused, where)

    def _index(self, name: str, index: Index) -> Iterator[Finding]:
        """Look at what the index has: another file under one of our names, and how full it is."""
        there = index.listing()
        if index.pages.lost is not None:
            yield Finding.of(index.pages.lost)
        bound = [file for file in self.files if name in file.destinations]
        for file in bound:
            if self.manifest is not None or file.name in there:
                try:
                    index.holds(file.asset(self.wheelhouse))
                except WainwrightError as error:
                    yield Finding.of(error)
        if not bound:
            yield from self._unsealed(name, tuple(there))
        held = sum(remote.size or 0 for remote in there.values())
        new = sum(file.size for file in bound if file.name not in there)
        if held + new > filechecks.PROJECT_LIMIT and index.pages.account.username == "__token__":
            what = f"the project would have {human(held + new)} there, and 10 GiB is what an index allows"
            yield Finding(where=f"publish.{name}", what=what, hint="ask for a higher limit, or delete old nightlies")

    def _unsealed(self, name: str, there: tuple[str, ...]) -> Iterator[Finding]:
        """Say that a version is there of which no wheel is here: what would be built now would be another file."""
        patterns = [
            job.filename(self.name, self.version)
            for job in self.jobs
            if name in {destination.name for destination in job.destinations}
        ]
        known = tuple(file for file in there if any(fnmatchcase(file, pattern) for pattern in patterns))
        if known:
            yield Finding(
                where=f"publish.{name}",
                what=f"{self.version} is there already, and what it was sealed with is not here",
                details=known,
                hint=self._restored,
                code=Exit.CONFLICT,
            )

    def _of_page(self, name: str, github: GitHub) -> Iterator[Callable[[], Iterable[Finding]]]:
        """Give what is looked at in the project's own folder for a release page."""
        if self.root is None:
            return
        heading = self.version if self.nightly_commit is None else UNRELEASED
        yield partial(pagechecks.of_notes, github, self.root, heading, tag=self.tag, commit=self._commit)
        if self.push and self.hosts.declared[name].index:
            yield partial(pagechecks.of_branch, github, self.root, self.run)

    def _repository(self, name: str, github: GitHub) -> Iterator[Finding]:
        """Look at a repository: may the token push, where is the tag, and is there a release already."""
        where = f"publish.{name}"
        if github.may_push() is False:
            what = f"the token may not push to {github.repository}"
            yield Finding(where=where, what=what, hint="it needs `contents: write`", code=Exit.NOT_AUTHORISED)
        assets = self._assets(name)
        yield from (Finding(where=where, what=what) for what in objections(assets))
        commit, awaited = self._commit, self.tree is not None and self.nightly_commit is None
        yield from pagechecks.of_tag(
            github, self.tag, commit, where=where, otherwise=self._otherwise, awaited=awaited and bool(commit)
        )
        wanted = Wanted(tag=self.tag, version=self.version, commit=commit, title="", notes="", assets=assets)
        page = ReleasePage(github, wanted)
        seen, held = page.page(), page.listing()
        if seen is None or seen.draft:
            return
        state = "public and immutable" if seen.immutable else "public"
        if not assets:
            yield Finding(
                where=where,
                what=f"the release {self.tag} is {state}, and what it was sealed with is not here",
                details=(seen.url,),
                hint=self._restored,
                code=Exit.CONFLICT,
            )
        elif self.manifest is not None:
            fates = {asset.name: fate(asset, held.get(asset.name)) for asset in assets}
            yield from self._compared(where, fates, state)

    def _compared(self, where: str, fates: Mapping[str, Fate], state: str) -> Iterator[Finding]:
        """Tell files that are not what was sealed from those of which nobody can know."""
        wrong = tuple(name for name, found in fates.items() if found not in {Fate.SAME, Fate.UNKNOWN})
        if wrong:
            what = f"the release {self.tag} is {state}, without these files as they are sealed"
            hint = "what is public is never changed: release another version"
            yield Finding(where=where, what=what, details=wrong, hint=hint, code=Exit.CONFLICT)
        unknown = tuple(name for name, found in fates.items() if found is Fate.UNKNOWN)
        if unknown:
            what = f"the release {self.tag} is {state}, and the host neither tells the digests of these files "
            what += "nor serves their bytes"
            yield Finding(where=where, what=what, details=unknown, hint="compare them by hand")

    @property
    def _restored(self) -> str:
        """Say how to go on with what is public, whose evidence no destination has."""
        folder = Path(self.wheelhouse.name)
        kept = f"{home(folder, self.tag)}/ and {seal_of(folder, self.tag)}"
        return f"put back {kept} from where it was sealed: what is public is never changed; else {self._otherwise}"

    @property
    def _commit(self) -> str:
        return self.nightly_commit or (self.tree.commit_of(self.tag) if self.tree else None) or ""

    @property
    def _otherwise(self) -> str:
        return "release another version" if self.nightly_commit is None else "the next nightly is tomorrow's"

    def _assets(self, name: str) -> tuple[Asset, ...]:
        return tuple(file.asset(self.wheelhouse) for file in self.files if name in file.destinations)

    def _destinations(self, job: Job) -> tuple[Destination, ...]:
        return tuple(each for each in job.destinations if each.name in self.hosts.declared)
