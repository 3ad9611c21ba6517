"""What every stage is given: the release, its jobs, the folders, a runner, and the options after `--`."""

from __future__ import annotations

import difflib
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from wainwright.clock import Clock
from wainwright.completed import Run
from wainwright.declaration.planning import Job, for_nightly, plan, select
from wainwright.declaration.release import NIGHTLY, Directory, Release
from wainwright.errors import WainwrightError, of_system
from wainwright.receipts import Receipts
from wainwright.releasing.gitstate import Tree
from wainwright.releasing.manifest import read as read_manifest
from wainwright.releasing.nightly import day_of, tonight
from wainwright.run import run
from wainwright.running.pins import NAME as LOCK
from wainwright.scratch import scratch, sweep
from wainwright.sessions.graph import Selection
from wainwright.sessions.options import Options
from wainwright.sourcing.gitfiles import is_in_git
from wainwright.sourcing.sources import Prepared, prepare
from wainwright.values import Python


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property wants a __dict__
class Pipeline:
    """One run of the pipeline; everything that its stages share on disk lies in `dist/` and `wheelhouse/`."""

    release: Release
    options: Options
    run: Run = run
    clock: Clock = field(default_factory=Clock)

    @property
    def dist(self) -> Path:
        return self.release.root / "dist"

    @cached_property
    def work(self) -> Path:
        """Where jobs on the host have their temporary folders: in `dist/`, unless compilers and pip trip over its name.

        `CC` is split at spaces, and pip reads `;` as the begin of a marker.
        """
        dist = self.dist.resolve()
        if re.fullmatch(r"[\w./+@-]+", str(dist), re.ASCII):
            return dist
        name = hashlib.sha256(os.fsencode(dist)).hexdigest()[:12]
        return Path(gettempdir()) / f"wainwright-{os.getuid()}-{name}"

    @property
    def wheelhouse(self) -> Path:
        return self.release.root / "wheelhouse"

    @property
    def logs(self) -> Path:
        return self.dist / "logs"

    @property
    def receipts(self) -> Receipts:
        return Receipts(self.wheelhouse / "receipts")

    @property
    def cache(self) -> Path:
        """The folder for what every project on this machine shares: toolchains, sdists."""
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wainwright"

    @cached_property
    def plan(self) -> tuple[Job, ...]:
        """Every job. A nightly has those alone that go nowhere, or to a destination which takes nightlies."""
        jobs = plan(self.release, python=Python.of_running(), arch=platform.machine())
        return for_nightly(jobs) if self.is_nightly else jobs

    def jobs(self, selection: Selection) -> tuple[Job, ...]:
        """Give the jobs of a session that `--only` leaves; raises WainwrightError when it matches none at all.

        A destination after `--only` is for publish, and leaves every job.
        """
        only = None if self.options.only in self.release.publish else self.options.only
        return select(self.plan, only=only, variant=selection.variant, glibc=selection.glibc)

    @cached_property
    def tag(self) -> str | None:
        """The tag after `--`; the word `nightly` stands for the one of this day's nightly."""
        if self.options.tag != NIGHTLY:
            return self.options.tag
        project = self.release.project
        return project.tag.replace("{version}", tonight(project, self.clock.day, self.run))

    @property
    def is_nightly(self) -> bool:
        return day_of(self.release.project.version_of(self.tag or "") or "") is not None

    @cached_property
    def version(self) -> str | None:
        """The version that the tag after `--` spells, if one was given; an image may stand there for `compat`."""
        tag = self.tag
        if tag is None:
            return None
        version = self.release.project.version_of(tag)
        is_image = tag in self.release.images or ":" in tag or "/" in tag
        if version is None and not is_image:
            near = difflib.get_close_matches(tag, self.release.images, n=1)
            spelled = f"release.toml spells a tag {self.release.project.tag!r}"
            raise WainwrightError(
                f"{tag!r} is not a tag of this project",
                where="options after --",
                hint=f"{spelled}, and has an image {near[0]!r}" if near else spelled,
            )
        return version

    @property
    def is_sealed(self) -> bool:
        """Whether the tag after `--` has its sealed set of wheels, and is not to be sealed anew."""
        tag = self.tag
        return tag is not None and not self.options.reseal and read_manifest(self.wheelhouse, tag) is not None

    @property
    def commit(self) -> str | None:
        """The commit from which a tag that git has here is built, or a nightly; None where the work tree is.

        Git knows what a commit has, and only guesses whether the work tree has the same.
        """
        source = self.release.project.source
        if self.version is None or not isinstance(source, Directory) or not is_in_git(source.path):
            return None
        tree = Tree(folder=source.path, run=self.run)
        return tree.head() if self.is_nightly else tree.commit_of(self.tag or "")

    @cached_property
    def source(self) -> Prepared:
        """A clean copy of the source, made once a run, and removed by `swept`."""
        folder = self.scratch
        folder.mkdir(parents=True, exist_ok=True)
        source, commit = self.release.project.source, self.commit
        made = prepare(source, folder / ".tmp-source", run=self.run, cache=self.cache, commit=commit)
        if changed := made.origin.get("uncommitted"):
            say(f"not built, since {self.tag} is built from commit {(commit or '')[:12]}: {_first(changed)}")
        ours = {"dist", "wheelhouse", LOCK}
        left = [name for name in made.origin.get("untracked", ()) if name.split("/")[0] not in ours]
        if left:
            say(f"not built, since git does not track it: {_first(left)}")
        return made

    @cached_property
    def scratch(self) -> Path:
        """Where what is gone afterwards lies: `dist/`, and within `swept` of a dry run a folder elsewhere."""
        return self.dist

    @contextmanager
    def swept(self) -> Iterator[None]:
        """Hold the output folders for this process alone; what a killed run left behind is removed first.

        A dry run touches none of them.
        """
        with ExitStack() as stack:
            if self.options.dry_run:
                vars(self)["scratch"] = stack.enter_context(scratch())
                stack.callback(self._forget)
                yield
                return
            with translated():
                self._take(stack)
            try:
                yield
            finally:
                self._sweep()
                self._forget()

    def _take(self, stack: ExitStack) -> None:
        self.dist.mkdir(parents=True, exist_ok=True)
        lock = stack.enter_context((self.dist / ".lock").open("w"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another run that is at work in {self.dist}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        for results in (self.dist, self.wheelhouse):
            results.mkdir(parents=True, exist_ok=True)
            ignore = results / ".gitignore"  # as a virtual environment has one: results are no source
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
        self._sweep()
        sweep()

    def _forget(self) -> None:
        """Let go of what is gone: the clean copy of the source, and where it lay."""
        for name in ("source", "scratch"):
            vars(self).pop(name, None)

    def discard(self, job: Job) -> None:
        """Remove what earlier runs made of a job: it is not of these inputs, and a failure must leave no result."""
        audited = self.receipts.read(job.id, "audit")
        if audited is not None and audited.wheel is not None:
            (self.wheelhouse / job.variant.name / audited.wheel.name).unlink(missing_ok=True)
        for receipt in self.receipts.folder.glob(f"{job.id}.*.json"):
            receipt.unlink()
        shutil.rmtree(self.dist / job.id, ignore_errors=True)

    def _sweep(self) -> None:
        below = (*self.wheelhouse.glob("*/"), *self.wheelhouse.glob("*/*/"))
        for folder in (self.dist, self.logs, self.work, self.wheelhouse, *below):
            for left in folder.glob(".tmp-*"):
                if left.is_dir() and not left.is_symlink():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink(missing_ok=True)


def _first(names: Sequence[str], shown: int = 5) -> str:
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return f"{', '.join(names[:shown])}{more}"


def say(line: str) -> None:
    """Tell a person; stdout is kept for what a machine reads."""
    sys.stderr.write(f"{line}\n")  # in one piece: several threads tell at once
    sys.stderr.flush()


def tell(data: Mapping[str, Any]) -> None:
    """Tell a machine: one JSON object a session, on a line of its own."""
    print(json.dumps(data, default=str), flush=True)


@contextmanager
def translated() -> Iterator[None]:
    """Let what the operating system refuses leave as one sentence."""
    try:
        yield
    except OSError as error:
        raise of_system(error) from error
