"""Where the files of a seal are by now, at the destinations of this run: looked at, and nothing written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from wainwright.errors import WainwrightError
from wainwright.hosts.releasepage import ReleasePage
from wainwright.hosts.sites import Hosts
from wainwright.hosts.wanted import Wanted
from wainwright.releasing.journal import JOURNAL, Journal
from wainwright.releasing.manifest import Manifest
from wainwright.releasing.publication import Row, State
from wainwright.releasing.publishing import Publication, Site


def whereabouts(manifest: Manifest, hosts: Hosts, folder: Path) -> tuple[Row, ...]:
    """Give what is where, with what does not answer as not looked at; nothing where nothing has arrived anywhere.

    `folder` is where the sealed files are kept.
    """
    publication = Publication(
        sites=tuple(_sites(manifest, hosts, folder)),
        journal=Journal.open(folder / JOURNAL, manifest.tag),
        say=lambda _: None,
        command="",
        dry_run=True,
    )
    with suppress(WainwrightError):  # it is about what is known already
        publication.look()
    rows = publication.rows()
    return rows if any(row.state not in {State.ABSENT, State.UNKNOWN} for row in rows) else ()


def _sites(manifest: Manifest, hosts: Hosts, folder: Path) -> Iterator[Site]:
    for name in hosts.declared:
        assets = tuple(file.asset(folder) for file in manifest.bound_for(name))
        if name in hosts.indexes:
            yield Site(name=name, remote=hosts.indexes[name], assets=assets)
        elif name in hosts.githubs:
            wanted = Wanted(
                tag=manifest.tag, version=manifest.version, commit=manifest.commit, title="", notes="", assets=assets
            )
            yield Site(name=name, remote=ReleasePage(hosts.githubs[name], wanted), assets=assets)
