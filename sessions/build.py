"""build: each job's wheel, made in its image from a clean copy of the source, with the outside libraries it needs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from wainwright.auditing.policy import load_policies
from wainwright.auditing.retag import retag
from wainwright.declaration.planning import Job
from wainwright.errors import Exit, WainwrightError
from wainwright.formats.archive import ArchiveError
from wainwright.formats.wheelname import WheelName, parse_wheel_name
from wainwright.releasing.nightly import stands_for
from wainwright.running.collecting import collect, read_libraries
from wainwright.running.containerzig import with_tools, with_zig
from wainwright.running.entering import enter
from wainwright.running.host import Host
from wainwright.running.limits import TimeLimit
from wainwright.running.places import Place
from wainwright.running.standing import Standing
from wainwright.running.toolchain import ZIG_VERSION, ensure_zig
from wainwright.running.toolchain import environment as zig_environment
from wainwright.running.unseen import explanation
from wainwright.sessions.graph import Selection
from wainwright.sessions.inputs import Place as Made
from wainwright.sessions.inputs import of_build
from wainwright.sessions.pipeline import Pipeline, say
from wainwright.sessions.stage import Outcome, Piece, carry_out, is_fresh
from wainwright.sessions.standings import have_images, have_pythons
from wainwright.sourcing.sources import Prepared
from wainwright.values import Python

VERSION = ("WAINWRIGHT_VERSION", "SETUPTOOLS_SCM_PRETEND_VERSION")  # where a build finds the version of a tag
LIBRARIES = "libraries"  # beside the wheel in dist/JOB/: the outside libraries, with libraries.json that says whence


def run(pipeline: Pipeline, selection: Selection) -> None:
    """Build every job of the selection."""
    jobs = pipeline.jobs(selection)
    with pipeline.swept():
        standings = have_images(pipeline, ((job.image, job.arch) for job in jobs))
        pieces = [_piece(pipeline, job, standings[job.image.name, job.arch]) for job in jobs]
        have_pythons(
            pipeline, [job for job, piece in zip(jobs, pieces, strict=True) if not is_fresh(pipeline, piece)], standings
        )
        carry_out(pipeline, "build", pieces)


def _piece(pipeline: Pipeline, job: Job, standing: Standing) -> Piece:
    return Piece(
        stage="build",
        job=job.id,
        image=job.image.name,
        engine=standing.engine,
        publishable=not standing.stands_in,
        inputs=of_build(pipeline, job, Made.of(standing)),
        folder=pipeline.dist / job.id,
        is_whole=lambda: _has_libraries(pipeline.dist / job.id / LIBRARIES),
        work=lambda log: _build(pipeline, job, standing, log),
    )


def _has_libraries(folder: Path) -> bool:
    try:
        read_libraries(folder)
    except WainwrightError:
        return False
    return True


def _build(pipeline: Pipeline, job: Job, standing: Standing, log: Path) -> Outcome:
    """Build one wheel, check that it is the one that was asked for, and put it where the audit finds it."""
    pipeline.discard(job)
    source = pipeline.source
    with _temporary(pipeline.dist) as result, _entered(pipeline, job, standing) as place:
        python = place.python(job.python)
        made = _run_build(
            place, job, python, source, log, result, version=pipeline.version, by_zig=bool(standing.toolchain)
        )
        with _of_the_build(made, job):
            made = _of_this_day(made, result, job, version=pipeline.version or "", said=source.version)
            _check_wheel(made, job, name=source.name, version=pipeline.version or source.version)
            if job.variant.audit.mode != "check":
                made = _unstamped(made, result, job.arch)
            policy = load_policies().at(job.glibc, job.arch).libraries
            left = (*job.terms.exclude, *job.terms.exclude_optional, *(pattern for pattern, _ in job.terms.provided_by))
            kept = result / LIBRARIES
            libraries = collect(place, made, kept, arch=job.arch, policy=policy, log=log, left=left)
        folder = pipeline.dist / job.id
        shutil.rmtree(folder, ignore_errors=True)
        result.replace(folder)
    facts = {
        "source": dict(source.origin),
        "python": str(job.python),
        "toolchain": f"zig {ZIG_VERSION}" if standing.toolchain else None,
        "image": standing.digest or None,
        "layers": list(standing.found.layers) if standing.found else [],
        "stands-in": standing.stands_in,
        "libraries": [library.path for library in libraries],
    }
    return Outcome(wheel=folder / made.name, facts=facts, note=made.name)


@contextmanager
def _of_the_build(made: Path, job: Job) -> Iterator[None]:
    """Let what is wrong with the file that a build left be the build's error."""
    try:
        yield
    except ArchiveError as error:
        raise WainwrightError(
            f"the build left {made.name}, which is no wheel: {error.what}",
            code=Exit.BUILD,
            where=f"job {job.id}",
            details=error.details,
        ) from error


@contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """Make a folder that becomes a result by being renamed, and is gone otherwise."""
    temporary = Path(tempfile.mkdtemp(prefix=".tmp-result-", dir=folder))
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _entered(pipeline: Pipeline, job: Job, standing: Standing) -> Iterator[Place]:
    network = job.variant.build.network
    if not network and standing.container is None and not standing.stands_in:
        raise WainwrightError(
            "the network cannot be kept from a build on the host",
            code=Exit.BUILD,
            where=f"variants.{job.variant.name}.build.network",
            hint="build in a container image, or leave `network` out",
        )
    if standing.toolchain:
        standing = with_zig(standing, pipeline.run, pipeline.cache, tell=say)
    with enter(standing, pipeline.work, pipeline.run, network=network, cache=pipeline.cache) as place:
        if not standing.toolchain:
            yield place
        elif isinstance(place, Host):
            zig = ensure_zig(pipeline.run, pipeline.cache)
            tools = zig_environment(job.glibc, job.arch, place.folder / "tools", zig=zig)
            yield replace(place, extra=tools)
        else:
            yield with_tools(place, job.glibc)


def _run_build(
    place: Place, job: Job, python: str, source: Prepared, log: Path, result: Path, *, version: str | None, by_zig: bool
) -> Path:
    """Run the job's commands in its place, and bring out the one wheel that they made."""
    inside, out = f"{place.root}/source", f"{place.root}/out"
    place.put(source.path, inside)
    built = result / "built"
    built.mkdir()
    place.put(built, out)
    env = _build_environment(place.environment(), job, version)
    whole = f"the whole log is {os.path.relpath(log)}"
    if not job.variant.build.network:
        whole = f"the build has no network (variants.{job.variant.name}.build.network = false); {whole}"
    limit = TimeLimit(seconds=job.image.time_limit)
    commands = [*(("before", text) for text in job.variant.build.before), ("command", job.variant.build.command)]
    for key, text in commands:
        words = _filled(text, python=python, out=out, source=inside)
        done = limit.run(place, ["sh", "-ec", words], env=env, cwd=inside, log=log)
        done.check(
            f"the build failed in `{text}`",
            code=Exit.BUILD,
            where=f"variants.{job.variant.name}.build.{key}, job {job.id}",
            hint=f"{why}; {whole}" if by_zig and (why := explanation(done.tail)) else whole,
        )
    place.get(out, built)
    wheels = sorted(built.glob("*.whl"))
    if len(wheels) != 1:
        found = ", ".join(wheel.name for wheel in wheels) or "no wheel"
        raise WainwrightError(
            f"the build must leave exactly one wheel in {{out}}, and left {found}",
            code=Exit.BUILD,
            where=f"job {job.id}",
            hint="`pip wheel --no-deps --wheel-dir {out} {source}` leaves one; look at variants."
            f"{job.variant.name}.build.command, and at the log {os.path.relpath(log)}",
        )
    if wheels[0].is_symlink() or not wheels[0].is_file():
        raise WainwrightError(
            f"the build left {wheels[0].name}, which is not a file", code=Exit.BUILD, where=f"job {job.id}"
        )
    made = wheels[0].rename(result / wheels[0].name)
    shutil.rmtree(built)
    return made


def _filled(text: str, **words: str) -> str:
    """Put the words, quoted, in place of `{word}`; every other brace is the shell's own."""
    return re.sub(rf"\{{({'|'.join(words)})\}}", lambda match: shlex.quote(words[match[1]]), text)


def _build_environment(environment: Mapping[str, str], job: Job, version: str | None) -> dict[str, str]:
    """Join what the toolchain and the job both say about one variable, the job's word last so that it wins.

    The version that is to be released goes along: a clean copy has no .git that could tell it.
    """
    env = dict(environment) | dict(job.image.env)
    env |= dict.fromkeys(VERSION, version) if version else {}
    for name, value in job.env.items():
        env[name] = f"{env[name]} {value}" if name in env and name.endswith(("FLAGS", "_ARGS")) else value
    env.setdefault("SOURCE_DATE_EPOCH", "315532800")  # 1980-01-01, the first day that a zip can hold
    return env


def _check_wheel(path: Path, job: Job, *, name: str | None, version: str | None) -> None:
    """Hold a built wheel's name against the job; raises WainwrightError (BUILD) that says what was expected."""
    from packaging.utils import canonicalize_name, canonicalize_version

    wheel = parse_wheel_name(path.name)
    wrong: list[str] = []
    if name is not None and canonicalize_name(name) != wheel.project:
        wrong.append(f"a wheel of {name}, found one of {wheel.distribution}")
    if version is not None and canonicalize_version(version) != canonicalize_version(wheel.public_version):
        wrong.append(f"version {version}, found {wheel.version}")
    if "any" in wheel.platforms:
        wrong.append("a native wheel, found a pure one (platform tag `any`)")
    elif not all(platform.endswith(f"_{job.arch}") for platform in wheel.platforms):
        wrong.append(f"a wheel for {job.arch}, found one for {', '.join(wheel.platforms)}")
    if not _runs_on(wheel, job.python):
        wrong.append(f"a wheel for Python {job.python}, found {'.'.join(wheel.pythons)}-{'.'.join(wheel.abis)}")
    if wrong:
        raise WainwrightError(
            f"the build made {path.name}: expected {'; expected '.join(wrong)}", code=Exit.BUILD, where=f"job {job.id}"
        )


def _runs_on(wheel: WheelName, python: Python) -> bool:
    from packaging.tags import compatible_tags, cpython_tags

    version = (python.major, python.minor)
    own = cpython_tags(version, abis=[python.tag], platforms=["any"])
    fitting = {str(tag) for tag in (*own, *compatible_tags(version, f"cp{python.major}{python.minor}", ["any"]))}
    return any(f"{interpreter}-{abi}-any" in fitting for interpreter in wheel.pythons for abi in wheel.abis)


def _of_this_day(wheel: Path, folder: Path, job: Job, *, version: str, said: str | None) -> Path:
    """Give a nightly its version, where the build has taken the one that is written in the source."""
    built = parse_wheel_name(wheel.name).public_version
    if built == version or not stands_for(built, version, said):
        return wheel
    if job.variant.audit.mode == "check":
        raise WainwrightError(
            f"the build made {wheel.name}, and this nightly is {version}",
            code=Exit.BUILD,
            where=f"variants.{job.variant.name}.audit.mode, job {job.id}",
            hint='with "check" nobody else touches the wheel: have the build take its version from WAINWRIGHT_VERSION',
        )
    renamed = retag(wheel, folder, version=version)
    wheel.unlink()
    return renamed


def _unstamped(wheel: Path, folder: Path, arch: str) -> Path:
    """Take back a platform that the build claimed: a floor is measured, never believed."""
    plain = f"linux_{arch}"
    if parse_wheel_name(wheel.name).platforms == (plain,):
        return wheel
    renamed = retag(wheel, folder, platforms=(plain,))
    wheel.unlink()
    return renamed
