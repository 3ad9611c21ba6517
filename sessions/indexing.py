"""The index over a release page's wheels: looked at before anything is public, written and pushed afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from wainwright.hosts.github import GitHub
from wainwright.hosts.sites import Hosts
from wainwright.releasing.earlier import manifests, public, wheel_name
from wainwright.releasing.gitstate import Tree
from wainwright.releasing.indexfolder import BRANCH, listed, on_branch, planned, push, together, write
from wainwright.releasing.manifest import Manifest
from wainwright.releasing.pages import Link, links
from wainwright.sessions.pipeline import Pipeline, say

Groups = Mapping[str, tuple[Link, ...]]


def look(pipeline: Pipeline, hosts: Hosts, sealed: Manifest) -> None:
    """Find what the pages would be refused for, here and with --push on the branch; writes nothing."""
    for name, github in _indexed(hosts):
        groups = links(sealed, name, release_url="")  # whose address does not matter yet
        planned(pipeline.wheelhouse / "pages" / name, sealed.name, groups)
        if pipeline.options.push:
            remote = _tree(pipeline).leading_to(github.repository)
            push(sealed.name, groups, remote=remote, message="", run=pipeline.run, dry_run=True)


def put(pipeline: Pipeline, hosts: Hosts, sealed: Manifest, addresses: Mapping[str, str]) -> None:
    """Write the pages, and push them where that is asked for; `addresses` are the release pages' by destination."""
    for name, github in _indexed(hosts):
        folder = pipeline.wheelhouse / "pages" / name
        remote = _tree(pipeline).leading_to(github.repository) if pipeline.options.push else ""
        known = _known(pipeline, sealed, folder, remote)
        own = links(sealed, name, release_url=addresses[name])
        groups = together(known, *_unlisted(pipeline, github, name, together(known, own)), own)
        write(folder, sealed.name, groups)
        say(f"publish: {name}: the index is in {folder}")
        if remote:
            message = f"{sealed.name} {sealed.version}"
            pushed = push(sealed.name, groups, remote=remote, message=message, run=pipeline.run)
            say(f"publish: {name}: {'pushed to' if pushed else 'unchanged on'} {BRANCH}")


def _known(pipeline: Pipeline, sealed: Manifest, folder: Path, remote: str) -> Groups:
    """Give what is listed by now, here and, with --push, on the branch."""
    variants = tuple(pipeline.release.variants)
    here = listed(folder, sealed.name, variants)
    return together(on_branch(sealed.name, variants, remote=remote, run=pipeline.run), here) if remote else here


def _unlisted(pipeline: Pipeline, github: GitHub, name: str, known: Groups) -> Iterator[Groups]:
    """Give the wheels of the releases that were made elsewhere, or before the pages here were lost."""
    versions = {public(wheel) for link in known.get("", ()) if (wheel := wheel_name(link.name))}
    for page, manifest in manifests(github, pipeline.release.project, but=versions):
        found = links(manifest, name, release_url=page.url)
        if found[""]:
            say(f"publish: {name}: the index lists {page.tag}, too")
            yield found


def foretell(pipeline: Pipeline, hosts: Hosts) -> None:
    for name, _ in _indexed(hosts):
        and_push = " and push it" if pipeline.options.push else ""
        say(f"publish: {name}: would write {pipeline.wheelhouse / 'pages' / name}{and_push}")


def _indexed(hosts: Hosts) -> Iterator[tuple[str, GitHub]]:
    yield from ((name, github) for name, github in hosts.githubs.items() if hosts.declared[name].index)


def _tree(pipeline: Pipeline) -> Tree:
    return Tree(folder=pipeline.release.root, run=pipeline.run)
