"""The index over a release page's wheels: looked at before anything is public, written and pushed afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wainwright.hosts.github import GitHub
from wainwright.hosts.sites import Hosts
from wainwright.releasing.gitstate import Tree
from wainwright.releasing.indexfolder import BRANCH, planned, push, write
from wainwright.releasing.manifest import Manifest
from wainwright.releasing.pages import links
from wainwright.sessions.pipeline import Pipeline, say


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
        groups = links(sealed, name, release_url=addresses[name])
        write(folder, sealed.name, groups)
        say(f"publish: {name}: the index is in {folder}")
        if pipeline.options.push:
            message = f"{sealed.name} {sealed.version}"
            remote = _tree(pipeline).leading_to(github.repository)
            pushed = push(sealed.name, groups, remote=remote, message=message, run=pipeline.run)
            say(f"publish: {name}: {'pushed to' if pushed else 'unchanged on'} {BRANCH}")


def foretell(pipeline: Pipeline, hosts: Hosts) -> None:
    for name, _ in _indexed(hosts):
        and_push = " and push it" if pipeline.options.push else ""
        say(f"publish: {name}: would write {pipeline.wheelhouse / 'pages' / name}{and_push}")


def _indexed(hosts: Hosts) -> Iterator[tuple[str, GitHub]]:
    yield from ((name, github) for name, github in hosts.githubs.items() if hosts.declared[name].index)


def _tree(pipeline: Pipeline) -> Tree:
    return Tree(folder=pipeline.release.root, run=pipeline.run)
