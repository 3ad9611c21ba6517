"""What diff compares with where release.toml names a release: looked for where the variant goes, fetched, and kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from wainwright.declaration.planning import Job
from wainwright.declaration.release import LATEST, NIGHTLY, Destination, Diff
from wainwright.errors import WainwrightError
from wainwright.formats.wheelname import WheelName, parse_wheel_name
from wainwright.receipts import digest_of
from wainwright.releasing.earlier import Earlier, Published, Question, on_index, on_page, public
from wainwright.releasing.pairing import Found, counterpart
from wainwright.releasing.shelf import Shelf
from wainwright.sessions.pipeline import Pipeline, say
from wainwright.sessions.releasing import reached


def fetched(pipeline: Pipeline, wheels: Iterable[tuple[Job, Path, Diff]]) -> Mapping[str, Found]:
    """Find the earlier wheel of each audited one, by the job's id.

    A dry run asks, and downloads no wheel. Raises WainwrightError: USAGE for a tag without a release and for several
    wheels that fit, CONFLICT for a download that is not what was told of it, and whatever stands in the way to a host.
    """
    with ExitStack() as stack:
        stack.enter_context(pipeline.swept())
        search = _Search(pipeline, stack)
        return {job.id: search.find(job, parse_wheel_name(wheel.name), diff.against) for job, wheel, diff in wheels}


class _Search:
    """Asks each destination once for each question."""

    def __init__(self, pipeline: Pipeline, stack: ExitStack) -> None:
        self.pipeline = pipeline
        self._stack = stack
        self._seen: dict[tuple[str, Question], Earlier | None] = {}

    def find(self, job: Job, wheel: WheelName, against: str) -> Found:
        question = Question(against=against, own=public(wheel), project=self.pipeline.release.project)
        places = self._places(job, against)
        shelf = Shelf(root=self.pipeline.dist, job=job.id)
        jobs = [each.id for each in self.pipeline.plan]
        asked = digest_of({"against": against, "wheel": wheel.filename, "places": places, "jobs": jobs})
        if question.tag is not None and (known := shelf.known(asked)):
            return Found(wheel=known)
        seen = []
        for place in places:
            earlier = self._look(place, question, wheel.project)
            match = counterpart(job, wheel, earlier, plan=self.pipeline.plan) if earlier else None
            if earlier and match:
                return Found(wheel=self._take(shelf, match, asked, earlier.label))
            seen += [earlier.label] if earlier else []
        if seen:
            return Found(note=f"{' and '.join(seen)}: there is no wheel of its kind")
        where = ", ".join(f"publish.{place.name}" for place in places)
        if question.tag is not None:
            raise WainwrightError(
                f"there is no public release {question.tag} at {where}",
                where=f"variants.{job.variant.name}.diff.against",
                hint=f"a draft does not count; {LATEST!r} is the newest release before the one that is made",
            )
        what = "nightly" if against == NIGHTLY else f"release before {question.own}"
        return Found(note=f"no {what} is public at {where} yet: there is nothing to compare with", is_first=True)

    def _places(self, job: Job, against: str) -> tuple[Destination, ...]:
        """Give the destinations of a job's variant, release pages first: they tell most of a file."""
        declared = [self.pipeline.release.publish[name] for name in job.variant.publish]
        asked = [place for place in declared if place.nightly or against != NIGHTLY]
        return tuple(sorted(asked, key=lambda place: place.kind != "github"))

    def _look(self, place: Destination, question: Question, project: str) -> Earlier | None:
        key = (place.name, question)
        if key not in self._seen:
            variants = self.pipeline.release.variants.values()
            used = {name for variant in variants for name in variant.publish}
            hosts = self._stack.enter_context(
                reached(self.pipeline, project, used=used, chosen=lambda name: name == place.name)
            )
            for finding in hosts.findings:
                raise finding.error
            github = hosts.githubs.get(place.name)
            found = on_page(github, question) if github else on_index(hosts.indexes[place.name].pages, question)
            self._seen[key] = found
        return self._seen[key]

    def _take(self, shelf: Shelf, match: Published, asked: str, label: str) -> Path:
        """Have the wheel here; a dry run says what it would do, and gives where the wheel would be."""
        dry_run = self.pipeline.options.dry_run
        if not shelf.holds(match):
            say(f"diff {shelf.job}: {'would download' if dry_run else 'downloading'} {match.name.filename} of {label}")
            if not dry_run:
                shelf.fetch(match, where=label)
        if not dry_run:
            shelf.record(match, asked)
        return shelf.place(match)
