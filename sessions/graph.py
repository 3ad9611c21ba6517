"""The task graph: which sessions a release has, and what each requires. Pure; Nox, Tox and the CLI read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from wainwright.declaration.release import Release
from wainwright.values import Glibc

if TYPE_CHECKING:
    from wainwright.sessions.pipeline import Pipeline

# Each stage that works on jobs, in order, with what it does to them.
STAGES = {
    "build": "Build {}.",
    "audit": "Audit {}: graft what is missing, measure the floor, set the tag.",
    "smoke": "Smoke-test {} in images that did not build it.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which jobs a session is about; None selects all."""

    variant: str | None = None
    glibc: Glibc | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One session: its name, its line in `nox -l`, the stage's module in this package, and what comes before it."""

    name: str
    doc: str
    stage: str
    selection: Selection = Selection()
    requires: tuple[str, ...] = ()
    default: bool = False

    @property
    def tags(self) -> tuple[str, ...]:
        return (self.stage,) if self.stage in STAGES else ()

    def run(self, pipeline: Pipeline) -> None:
        """Run this session alone, without what it requires; a tag that is sealed is not built or judged again.

        SIGTERM ends it as Ctrl-C does, at any moment, so that everything is tidied up.
        """
        from wainwright.run import interruptible

        if self.stage in STAGES and pipeline.is_sealed:
            from wainwright.sessions.pipeline import say

            say(f"{self.name}: {pipeline.tag} is sealed: its wheels stay as they are")
            return
        if self.stage == "build" and pipeline.options.reseal:  # before what would only be refused in the end
            from wainwright.sessions.resealing import demand_resealable

            demand_resealable(pipeline)
        work: Callable[[Pipeline, Selection], None] = import_module(f"wainwright.sessions.{self.stage}").run
        with interruptible():
            work(pipeline, self.selection)


def expand(release: Release) -> tuple[Task, ...]:
    """Give every session of a release, those without jobs first, then each stage's in order."""
    floors = sorted({glibc for variant in release.variants.values() for glibc in variant.glibc})
    groups = [("", "every wheel", Selection())]
    groups += [(f"_{name}", f"the wheels of {name}", Selection(variant=name)) for name in release.variants]
    groups += [(f"_{glibc.slug}", f"every wheel for glibc {glibc}", Selection(glibc=glibc)) for glibc in floors]
    tasks = [
        Task(
            name="plan", stage="plan", doc="Print every job: image, filename, smoke images, destinations.", default=True
        ),
        Task(name="check", stage="check", doc="Check the whole of release.toml, offline."),
        Task(name="preflight", stage="preflight", doc="Find what would stop the release of a tag: -- v0.9.2."),
        Task(name="doctor", stage="doctor", doc="Say what this machine lacks for the release, and how to get it."),
    ]
    before: str | None = None
    for stage, doc in STAGES.items():
        tasks += [
            Task(
                name=stage + suffix,
                doc=doc.format(words),
                stage=stage,
                selection=selection,
                requires=(before + suffix,) if before else (),
            )
            for suffix, words, selection in groups
        ]
        before = stage
    tasks += [
        Task(
            name="images",
            stage="images",
            doc="Have every image here, and pin it in release.lock: -- [--update] [--push].",
        ),
        Task(
            name="compat",
            stage="compat",
            doc="Ask each image's loader about each audited wheel: a table.",
            requires=("audit",),
        ),
        Task(name="diff", stage="diff", doc="Say what changed since an earlier wheel: -- [OLD [NEW]]."),
    ]
    tasks += [
        Task(
            name="publish",
            stage="publish",
            doc="Put proven wheels to their destinations: -- v0.9.2.",
            requires=("smoke",),
        ),
        Task(name="report", stage="report", doc="Write an HTML page and a Markdown summary of a release."),
        Task(
            name="release",
            stage="release",
            doc="All of it, preflight first: -- v0.9.2.",
            requires=("preflight", "images", "publish", "report"),
        ),
    ]
    return tuple(tasks)


def in_order(tasks: tuple[Task, ...], names: tuple[str, ...]) -> tuple[Task, ...]:
    """Give the named tasks with all that they require, each once, prerequisites first."""
    known = {task.name: task for task in tasks}
    ordered: dict[str, Task] = {}

    def visit(name: str) -> None:
        for required in known[name].requires:
            visit(required)
        ordered.setdefault(name, known[name])

    for name in names:
        visit(name)
    return tuple(ordered.values())
