"""smoke: each audited wheel, installed and used in images that did not build it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from wainwright.completed import Completed
from wainwright.declaration.planning import Job
from wainwright.declaration.release import Image
from wainwright.errors import Exit, WainwrightError
from wainwright.formats.archive import Archive
from wainwright.formats.wheelfile import read_dist_info
from wainwright.formats.wheelname import parse_wheel_name
from wainwright.running.collecting import read_libraries, read_scripts
from wainwright.running.containers import Container
from wainwright.running.entering import enter, has_python
from wainwright.running.limits import TimeLimit
from wainwright.running.linkerscripts import followed
from wainwright.running.mapped import MAPPED
from wainwright.running.places import Place
from wainwright.running.standing import Standing
from wainwright.sessions.build import LIBRARIES
from wainwright.sessions.graph import Selection
from wainwright.sessions.inputs import Place as Made
from wainwright.sessions.inputs import of_smoke
from wainwright.sessions.pipeline import Pipeline, say
from wainwright.sessions.proving import prove_loading, prove_mapped
from wainwright.sessions.stage import Outcome, Piece, carry_out, would
from wainwright.sessions.standings import have_images

# What a wheel could lean on in an image that has them, and a user's machine does not.
LEANED_ON: Final = frozenset({"LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONHOME", "PYTHONPATH"})
# Says where each module came from, so that an import from a source tree is seen (tilelang#251), and what is mapped: in
# a file, since modules print what they like, until the process is gone.
IMPORT: Final = f"""
import importlib, json, sys
answer, *names = sys.argv[1:]
files = {{name: getattr(importlib.import_module(name), "__file__", None) for name in names}}
seen = {{"prefix": sys.prefix, "version": sys.version.split()[0], "files": files, "mapped": {MAPPED}}}
with open(answer, "w") as file:
    file.write(json.dumps(seen))
"""


def run(pipeline: Pipeline, selection: Selection) -> None:
    """Smoke-test every job of the selection in each of its images."""
    jobs = pipeline.jobs(selection)
    with pipeline.swept():
        standings = have_images(pipeline, ((image, job.arch) for job in jobs for image in job.smoke_images))
        pieces = [
            piece
            for job in jobs
            for image in job.smoke_images
            for piece in _pieces(pipeline, job, standings[image.name, job.arch])
        ]
        carry_out(pipeline, "smoke", pieces)
        for job in jobs:
            _tell_if_unused(pipeline, job)


def _tell_if_unused(pipeline: Pipeline, job: Job) -> None:
    """Say that nobody did what [variants.NAME.smoke] asks for, where no image has a Python."""
    smoke = job.variant.smoke
    asked = smoke.imports or smoke.run or smoke.backends or smoke.loaded
    receipts = [pipeline.receipts.read(job.id, "smoke", image.name) for image in job.smoke_images]
    if asked and not pipeline.options.dry_run and not any(each and each.facts.get("python") for each in receipts):
        say(f"{job.id}: no smoke image has a Python, so nothing of [variants.{job.variant.name}.smoke] was tried")


def _pieces(pipeline: Pipeline, job: Job, standing: Standing) -> Sequence[Piece]:
    folder = pipeline.wheelhouse / job.variant.name
    audited = pipeline.receipts.read(job.id, "audit")
    wheel = audited.evidence(folder) if audited else None
    if audited is None or wheel is None:
        if pipeline.options.dry_run:
            return [would("smoke", job.id, image=standing.image.name)]
        raise WainwrightError(
            "there is no audited wheel to test", code=Exit.SMOKE, where=f"job {job.id}", hint="run the audit session"
        )
    image = standing.image
    piece = Piece(
        stage="smoke",
        job=job.id,
        image=image.name,
        engine=standing.engine,
        publishable=audited.publishable and not standing.stands_in,
        inputs=of_smoke(job, audited, image, Made.of(standing)),
        folder=folder,
        source=audited.wheel,
        per_image=True,
        work=lambda log: _smoke(pipeline, job, wheel, standing, log),
    )
    return [piece]


def _smoke(pipeline: Pipeline, job: Job, wheel: Path, standing: Standing, log: Path) -> Outcome:
    """Have the image's loader look at the wheel, then install and use it there as a stranger would."""
    where = f"smoke {job.id} in {standing.image.name}"
    _hold_apart(pipeline, job, standing, where)
    known = pipeline.dist / job.id / LIBRARIES
    libraries, terms = read_libraries(known), followed(job.terms, read_scripts(known))
    facts: dict[str, Any] = {"image": standing.digest or None, "stands-in": standing.stands_in, "python": None}
    with enter(standing, pipeline.work, pipeline.run, network=_needs_network(wheel)) as place:
        facts |= prove_loading(place, wheel, arch=job.arch, terms=terms, libraries=libraries, where=where, log=log)
        if not (standing.image.python or has_python(place)):  # one that is declared and not there is an error
            left = ", ".join(facts["left-to-the-user"])
            note = f"loads{f', without {left}' if left else ''}; there is no Python here to import it"
            return Outcome(wheel=wheel, facts=facts, note=note)
        _hold_indexes(place, where)
        trial = Trial(place=place, job=job, image=standing.image, log=log)
        trial.install(wheel)
        facts |= trial.imports(job.variant.smoke.imports)
        for command in job.variant.smoke.run:
            trial.command(command)
        if job.variant.smoke.backends:
            facts["backends"] = trial.backends(job.variant.smoke.backends)
    return Outcome(
        wheel=wheel, facts=facts, note="passed on this host, which stands in" if standing.stands_in else "passed"
    )


def _hold_apart(pipeline: Pipeline, job: Job, standing: Standing, where: str) -> None:
    """Hold that the image did not build the wheel, whatever the two are called, and does not stand on the one that did.

    There it finds all that it lacks elsewhere.
    """
    built, found = pipeline.receipts.read(job.id, "build"), standing.found
    if built is None or found is None:
        return
    below = tuple(built.facts.get("layers") or ())
    if built.facts.get("image") in {found.id, *found.digests}:
        what = f"{found.ref} is the very image that built the wheel, {found.digest}"
    elif below and found.layers[: len(below)] == below:
        what = f"{found.ref} was made from the image that built the wheel, {built.facts.get('image')}"
    else:
        return
    raise WainwrightError(
        what,
        code=Exit.SMOKE,
        where=where,
        hint=f"it proves nothing there: name another image in `smoke` than {standing.image.name}",
    )


def _hold_indexes(place: Place, where: str) -> None:
    """Hold that what the wheel depends on comes from where it comes from here, not from what anyone may upload."""
    if not isinstance(place, Container):
        return
    lacking = place.passed.lacking_indexes(place.image.env)
    if lacking:
        raise WainwrightError(
            f"without {' and '.join(lacking)} in the container, what the wheel depends on would come from elsewhere",
            code=Exit.SMOKE,
            where=where,
            details=tuple(f"{name} stays outside: {place.passed.withheld[name]}" for name in lacking),
            hint="have it in a folder, with PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER; or name an index without a password "
            f"in `env` of images.{place.image.name}, where an empty {lacking[0]} means the public one",
        )


def _needs_network(wheel: Path) -> bool:
    """Say whether an installation fetches anything: only a wheel with dependencies may reach the index."""
    with Archive.open(wheel) as archive:
        metadata = read_dist_info(archive, parse_wheel_name(wheel.name)).metadata
    return any("extra ==" not in each for each in metadata.requires_dist) if metadata else False


class Trial:
    """A wheel in a place of its own: a foreign working folder, no LD_LIBRARY_PATH, no PYTHONPATH."""

    def __init__(self, *, place: Place, job: Job, image: Image, log: Path) -> None:
        self.place = place
        self.job = job
        self.log = log
        self.limit = TimeLimit(seconds=image.time_limit)
        self.where = f"smoke {job.id} in {image.name}"
        self.python = place.python(job.python)
        self.elsewhere = f"{place.root}/elsewhere"
        env = {name: value for name, value in place.environment().items() if name not in LEANED_ON}
        self.env = env | {"PYTHONNOUSERSITE": "1"}

    def install(self, wheel: Path) -> None:
        """Install the wheel by its file; what it depends on comes from the index."""
        inside = f"{self.place.root}/wheel/{wheel.name}"
        self.place.put(wheel, inside)
        done = self.place.run(["mkdir", self.elsewhere], env=self.env)
        done.check("no working folder could be made", code=Exit.SMOKE, where=self.where)
        self._try(
            [self.python, "-m", "pip", "install", "--only-binary=:all:", "--no-input", inside],
            f"{wheel.name} does not install",
        )

    def imports(self, names: Sequence[str]) -> dict[str, Any]:
        """Import each module, and hold that it came from the wheel; gives where from."""
        seen = self._import(names)
        for name, file in seen["files"].items():
            if file is not None and not file.startswith(f"{seen['prefix']}/"):
                raise WainwrightError(
                    f"{name} was imported from {file}, not from the wheel", code=Exit.SMOKE, where=self.where
                )
        facts = {"python": seen["version"], "imports": list(names), "mapped": seen["mapped"]}
        if self.job.variant.smoke.loaded:
            expected = self.job.variant.smoke.loaded
            facts["loaded"] = prove_mapped(seen["mapped"], expected, prefix=seen["prefix"], where=self.where)
        return facts

    def _import(self, names: Sequence[str]) -> dict[str, Any]:
        what = f"import {', '.join(names)}"
        answer = f"{self.place.root}/imported"
        done = self._try([self.python, "-c", IMPORT, answer, *names], f"{what} failed")
        told = self.place.run(["cat", answer], env=self.env, capture=True)
        try:
            return dict(json.loads(told.stdout))
        except ValueError as error:
            raise WainwrightError(
                f"{what} ended the process, with exit code 0, before all was imported",
                code=Exit.SMOKE,
                where=self.where,
                details=done.tail,
            ) from error

    def command(self, text: str, *, capture: bool = False) -> Completed:
        """Run a shell command of release.toml; `python` in it is the one that has the wheel."""
        return self._try(["sh", "-ec", text], f"`{text}` failed", capture=capture)

    def backends(self, text: str) -> list[str]:
        """Hold the backends that the wheel says it has against those that its variant declares."""
        found = sorted(self.command(text, capture=True).stdout.split())
        declared = sorted(self.job.variant.backends)
        if found != declared:
            raise WainwrightError(
                f"the wheel has the backends {_names(found)}, and its variant declares {_names(declared)}",
                code=Exit.SMOKE,
                where=self.where,
                hint=f"`{shlex.quote(text)}` must print exactly the declared set; look at [backends.NAME] on and off",
            )
        return found

    def _try(self, argv: Sequence[str], what: str, *, capture: bool = False) -> Completed:
        done = self.limit.run(self.place, argv, env=self.env, cwd=self.elsewhere, log=self.log, capture=capture)
        return done.check(what, code=Exit.SMOKE, where=self.where)


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
