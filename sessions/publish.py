"""publish: the proven wheels of a tag, sealed, then put to their destinations; run again, it finishes what is left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from packaging.version import Version

from wainwright.counting import counted
from wainwright.hosts.github import GitHub
from wainwright.hosts.releasepage import ReleasePage
from wainwright.hosts.sites import Hosts
from wainwright.hosts.wanted import Wanted
from wainwright.releasing import manifest as manifests
from wainwright.releasing.journal import JOURNAL, Journal
from wainwright.releasing.kept import home
from wainwright.releasing.manifest import Manifest
from wainwright.releasing.notes import UNRELEASED, compose, said_of
from wainwright.releasing.proofs import examine
from wainwright.releasing.publication import Row, table
from wainwright.releasing.publishing import Publication, Site
from wainwright.releasing.sealing import seal
from wainwright.sessions import indexing
from wainwright.sessions.graph import Selection
from wainwright.sessions.pipeline import Pipeline, say, tell, translated
from wainwright.sessions.releasing import (
    Subject,
    check_choice,
    command,
    fly,
    known_seal,
    opened,
    published,
    sealing,
    tell_left_out,
)
from wainwright.sessions.resealing import discard_drafts, public


def run(pipeline: Pipeline, _: Selection) -> None:
    """Preflight with the wheels at hand, seal, publish, verify; with --dry-run every read and no write.

    A tag that is sealed is first of all held to what it was sealed with.
    """
    check_choice(pipeline)
    tell_left_out(pipeline, "publish")
    with pipeline.swept(), translated(), ExitStack() as stack:
        subject = Subject.of(pipeline)
        hosts = stack.enter_context(opened(pipeline, subject))
        known = None if pipeline.options.reseal else known_seal(pipeline, subject)
        if known is not None:
            known = _sealed(pipeline, subject)
        proven, refusals = (known.files, ()) if known else examine(sealing(pipeline, subject))
        fly(pipeline, subject, hosts, files=proven, manifest=known)
        if pipeline.options.dry_run and refusals:
            _foretell(pipeline, subject, hosts, refusals)
            return
        sealed = known or _sealed(pipeline, subject)
        folder = home(pipeline.wheelhouse, sealed.tag)
        indexing.look(pipeline, hosts, sealed)
        publication = Publication(
            sites=list(_sites(pipeline, hosts, sealed, folder)),
            journal=Journal.open(folder / JOURNAL, subject.tag, now=pipeline.clock.stamp),
            say=lambda line: say(f"publish: {line}"),
            command=command(pipeline, "publish"),
            dry_run=pipeline.options.dry_run,
            pause=pipeline.clock.sleep,
        )
        rows = publication.run()
        if pipeline.options.dry_run:
            indexing.foretell(pipeline, hosts)
        else:
            with publication.told():
                indexing.put(pipeline, hosts, sealed, publication.links)
    _show(pipeline, subject, rows)


def _foretell(pipeline: Pipeline, subject: Subject, hosts: Hosts, refusals: Iterable[str]) -> None:
    """Say what is still to be proven, and every write that would come after it, in its order."""
    say(f"publish: {subject.tag} would be refused as it stands:")
    for line in refusals:
        say(f"  {line}")
    say("publish: once that is done, it would be sealed, and then")
    bound = {
        name: [
            f"would upload {job.filename(subject.name, subject.version)}"
            for job in published(pipeline)
            if name in {place.name for place in job.destinations}
        ]
        for name in hosts.declared
    }
    evidence = [f"would upload {name}" for name in (manifests.SUMS, manifests.MANIFEST)]
    lines = [f"{name}: {line}" for name in hosts.githubs for line in ("would create a draft", *bound[name], *evidence)]
    lines += [f"{name}: {line}" for name in hosts.indexes for line in bound[name]]
    for line in (*lines, *(f"{name}: would make the release public" for name in hosts.githubs)):
        say(f"publish: {line}")
    indexing.foretell(pipeline, hosts)


def _sealed(pipeline: Pipeline, subject: Subject) -> Manifest:
    dry, reseal = pipeline.options.dry_run, pipeline.options.reseal
    earlier = known_seal(pipeline, subject)
    made = seal(
        sealing(pipeline, subject), reseal=reseal, public=lambda known: public(pipeline, subject, known), dry_run=dry
    )
    verb = "would be" if dry and (earlier is None or reseal) else "is"
    say(
        f"publish: {made.tag} {verb} sealed: {counted(len(made.files), 'file')}, commit {made.commit[:12] or 'unknown'}"
    )
    if reseal and earlier is not None and not dry:
        discard_drafts(pipeline, subject, earlier)
    return made


def _sites(pipeline: Pipeline, hosts: Hosts, sealed: Manifest, folder: Path) -> Iterator[Site]:
    for name, index in hosts.indexes.items():
        assets = tuple(file.asset(folder) for file in sealed.bound_for(name))
        yield Site(name=name, remote=index, assets=assets)
    for name, github in hosts.githubs.items():
        page = _page(pipeline, github, name, sealed, folder)
        yield Site(name=name, remote=page, assets=page.wanted.assets)


def _page(pipeline: Pipeline, github: GitHub, name: str, sealed: Manifest, folder: Path) -> ReleasePage:
    """Give the release page as it is wanted: the wheels, what belongs to them, the manifest, and the notes."""
    bound = tuple(file.asset(folder) for file in sealed.bound_for(name))
    heading = UNRELEASED if pipeline.is_nightly else sealed.version
    said = said_of(
        pipeline.release.root, heading, generated=lambda: github.generated_notes(sealed.tag, commit=sealed.commit)
    )
    wanted = Wanted(
        tag=sealed.tag,
        version=sealed.version,
        commit=sealed.commit,
        title=f"{sealed.name} {sealed.version}",
        notes=compose(said, sealed, published(pipeline), destination=name),
        assets=(*bound, *manifests.evidence(sealed, folder, name, dry_run=pipeline.options.dry_run)),
        prerelease=Version(sealed.version).is_prerelease,
        version_of=pipeline.release.project.version_of,
    )
    return ReleasePage(github, wanted)


def _show(pipeline: Pipeline, subject: Subject, rows: tuple[Row, ...]) -> None:
    if pipeline.options.json:
        shown = [asdict(row) | {"state": row.state.value} for row in rows]
        tell({"session": "publish", "tag": subject.tag, "dry-run": pipeline.options.dry_run, "files": shown})
        return
    for line in table(rows):
        print(line)
