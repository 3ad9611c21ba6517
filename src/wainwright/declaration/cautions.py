"""What release.toml may say, and what yet proves less than it seems to: warnings of `check` and of the plan. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wainwright.declaration.document import KeyPath, spell
from wainwright.declaration.planchecks import known_glibc
from wainwright.declaration.planning import Job
from wainwright.values import Glibc


def cautions(jobs: Iterable[Job], *, here: Glibc | None) -> tuple[str, ...]:
    """Give a line for each; `here` is the glibc of this machine, None where it has another libc."""
    jobs = tuple(jobs)
    lines = [*(line for job in jobs for line in _too_new(job, here)), *(line for job in jobs for line in _unused(job))]
    return tuple(dict.fromkeys(lines))


def _too_new(job: Job, here: Glibc | None) -> Iterator[str]:
    """Say that wheels are proven on newer glibcs alone; an image of which nothing is known may be old enough."""
    known = {image.name: here if image.is_host else known_glibc(image) for image in job.smoke_images}
    found = [(glibc, name) for name, glibc in known.items() if glibc is not None]
    if len(found) < len(known) or not found:
        return
    oldest, name = min(found)
    if oldest > job.glibc:
        path: KeyPath = ("targets", str(job.glibc), "smoke")
        if job.variant.smoke.images:
            path = ("variants", job.variant.name, "smoke", "images")
        proven = f"the oldest of them, {name}, has glibc {oldest}: nothing proves that wheels run on {job.glibc}"
        yield f"{spell(path)}: {proven}; add an image that has it"


def _unused(job: Job) -> Iterator[str]:
    smoke = job.variant.smoke
    if not (smoke.imports or smoke.run or smoke.backends):
        path = spell(("variants", job.variant.name, "smoke"))
        yield f"{path}: neither import nor run, so nothing is proven but that wheels install and their libraries load"
