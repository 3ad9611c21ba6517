"""What --reseal asks first: whether anything of the earlier seal is out, at every destination that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.github import GitHub
from wainwright.hosts.index import Index
from wainwright.hosts.releasepage import ReleasePage
from wainwright.hosts.sites import Hosts
from wainwright.hosts.wanted import Wanted
from wainwright.releasing.journal import JOURNAL, Journal
from wainwright.releasing.kept import home
from wainwright.releasing.manifest import Manifest, read
from wainwright.releasing.sealing import demand_unseen
from wainwright.sessions.pipeline import Pipeline
from wainwright.sessions.releasing import Subject, every


def public(pipeline: Pipeline, subject: Subject, known: Manifest) -> tuple[str, ...]:
    """Say what of a seal anybody can see by now, or may: its destinations are asked, chosen or not, and the journal.

    Raises WainwrightError when nothing is seen and not every destination tells.
    """
    journal = Journal.open(home(pipeline.wheelhouse, known.tag) / JOURNAL, known.tag)
    seen: list[str] = []
    unknown: list[str] = []
    with every(pipeline, subject, known.destinations) as hosts:
        for name in known.destinations:
            try:
                seen += _at(hosts, name, known, journal)
            except WainwrightError as error:
                unknown.append(f"{name}: {error.what}")
    if unknown and not seen:
        raise WainwrightError(
            f"whether {known.tag} is public is not told by every destination that it was sealed for",
            code=Exit.REFUSED,
            where="--reseal",
            details=tuple(unknown),
            hint="what may be public is never sealed anew: have each of them answer, then give the same command again",
        )
    return tuple(seen)


def demand_resealable(pipeline: Pipeline) -> None:
    """Raise WainwrightError when the tag has a seal, and not all of it is known to be unseen."""
    known = read(pipeline.wheelhouse, pipeline.tag) if pipeline.tag else None
    if known is not None:
        demand_unseen(known, public(pipeline, Subject.of(pipeline), known))


def _at(hosts: Hosts, name: str, known: Manifest, journal: Journal) -> Iterator[str]:
    if name in hosts.indexes:
        yield from _on_index(hosts.indexes[name], name, known, journal)
    elif name in hosts.githubs:
        yield from _on_page(hosts.githubs[name], name, known, journal.seen(name))
    else:
        found = (finding.what for finding in hosts.findings if finding.where == f"publish.{name}")
        raise WainwrightError(next(found, "release.toml does not declare it any more"))


def _on_index(index: Index, name: str, known: Manifest, journal: Journal) -> Iterator[str]:
    taken = set(journal.taken(name))
    yield from (f"{name} was given {each}, whatever it shows" for each in sorted(taken))
    there = index.listing()
    ours = (file.name for file in known.bound_for(name) if file.name in there)
    yield from (f"{name} has {each}" for each in ours if each not in taken)
    if index.pages.lost is not None:
        raise index.pages.lost


def _on_page(github: GitHub, name: str, known: Manifest, noted: Mapping[str, object]) -> Iterator[str]:
    page = page_of(github, known).page()
    if page is not None and not page.draft:
        yield f"{name} has the release {page.url}"
    elif "published" in noted:
        yield f"{name} had the release, since {noted['published']}"


def page_of(github: GitHub, known: Manifest) -> ReleasePage:
    """Give the page of a seal to be looked at, or to be discarded as a draft."""
    wanted = Wanted(tag=known.tag, version=known.version, commit=known.commit, title="", notes="", assets=())
    return ReleasePage(github, wanted)


def discard_drafts(pipeline: Pipeline, subject: Subject, known: Manifest) -> None:
    """Delete the drafts of an earlier seal, chosen or not: they are for other files by now."""
    with every(pipeline, subject, known.destinations) as hosts:
        for github in hosts.githubs.values():
            page_of(github, known).discard()
