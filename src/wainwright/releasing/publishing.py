"""Publishes what is sealed, in the one order in which nothing half is ever public, and goes on where it was broken off.

Release pages are completed as drafts, then the indexes are filled and verified, then the drafts are made public. Each
destination is looked at before anything is written: what is there by digest is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from wainwright.counting import counted
from wainwright.errors import Exit, WainwrightError, of_system
from wainwright.hosts.destinations import Asset, Fate, conflict, fate
from wainwright.hosts.index import Index
from wainwright.hosts.releasepage import ReleasePage
from wainwright.releasing.journal import Event, Journal
from wainwright.releasing.publication import Row, State, failure, not_shown, raise_all

DONE: Final = frozenset({State.PUBLIC, State.SENT, State.DRAFT})
LOOKS: Final = 8  # times that an index is asked for what it has just taken: some show it a minute later


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A destination and the sealed files bound for it, in the order of their upload."""

    name: str
    remote: Index | ReleasePage
    assets: tuple[Asset, ...]


@dataclass(kw_only=True)
class Publication:
    """One run. `command` is the one that finishes it; `say` gets a line for each thing that is done or would be."""

    sites: Sequence[Site]
    journal: Journal
    say: Callable[[str], None]
    command: str
    dry_run: bool = False
    pause: Callable[[float], None] = time.sleep
    states: dict[tuple[str, str], State] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    _journal_is_told_of: bool = False

    def run(self) -> tuple[Row, ...]:
        """Publish, and give what is where.

        Raises WainwrightError that says what is public, what is not, and which command finishes it.
        """
        with self.told():
            self.look()
            for site, page in self._pages():
                self._complete_draft(site, page)
            self._fill_indexes()
            for site, page in self._pages():
                self._make_public(site, page)
            for site in self.sites:
                self._note(site, None, "finished")
        return self.rows()

    @contextmanager
    def told(self) -> Iterator[None]:
        """Let whatever breaks off leave with what is public, what is not, and which command finishes it."""
        try:
            yield
        except KeyboardInterrupt:
            error = WainwrightError("interrupted", code=Exit.INTERRUPTED)
            raise failure(error, self.rows(), command=self.command) from None
        except OSError as error:
            raise failure(of_system(error), self.rows(), command=self.command) from error
        except WainwrightError as error:
            raise failure(error, self.rows(), command=self.command) from error

    def rows(self) -> tuple[Row, ...]:
        return tuple(
            Row(
                destination=site.name,
                name=asset.name,
                sha256=asset.sha256,
                size=asset.size,
                state=self.states.get((site.name, asset.name), State.UNKNOWN),
                link=self.links.get(site.name, ""),
            )
            for site in self.sites
            for asset in site.assets
        )

    def _pages(self) -> list[tuple[Site, ReleasePage]]:
        return [(site, site.remote) for site in self.sites if isinstance(site.remote, ReleasePage)]

    def look(self) -> None:
        """See what is there, one listing a page; what is there and is something else stops all before any write."""
        errors: list[WainwrightError] = []
        for site in self.sites:
            try:
                if isinstance(site.remote, ReleasePage):
                    errors += self._look_at_page(site, site.remote)
                else:
                    errors += self._look_at_index(site, site.remote)
            except WainwrightError as error:
                errors.append(error)
        raise_all(errors, "stand in the way, and nothing was written")

    def _look_at_index(self, site: Site, index: Index) -> list[WainwrightError]:
        index.listing()
        self.links[site.name] = index.address
        errors = []
        for asset in site.assets:
            try:
                there = index.holds(asset)
            except WainwrightError as error:
                errors.append(error)
                self._set(site, asset, State.OTHER)
                continue
            self._set(site, asset, State.PUBLIC if there else self._unseen(site, asset))
            if there:
                self._note(site, asset, "verified")
        return errors

    def _unseen(self, site: Site, asset: Asset) -> State:
        """Tell a file that an index does not show yet from one that it does not have."""
        if when := self.journal.awaited(site.name, asset):
            self.say(f"{site.name}: {asset.name} was uploaded {when}, and is not seen there yet: it is waited for")
            return State.SENT
        if when := self.journal.when(site.name, "verified", asset):
            self.say(f"{site.name}: {asset.name} was there {when}, and is gone")
        return State.ABSENT

    def _look_at_page(self, site: Site, remote: ReleasePage) -> list[WainwrightError]:
        page = remote.page()
        held = remote.listing()
        errors = []
        if page is not None:
            self.links[site.name] = page.url
        in_draft = page is not None and page.draft
        for asset in site.assets:
            found = fate(asset, held.get(asset.name))
            if found is Fate.SAME:
                self._set(site, asset, State.DRAFT if in_draft else State.PUBLIC)
                self._note(site, asset, "found" if in_draft else "verified")
                continue
            other = State.STALE if in_draft else State.OTHER
            self._set(site, asset, other if found is Fate.DIFFERENT else State.ABSENT)
            if page is not None and not in_draft and found is Fate.DIFFERENT:
                errors.append(conflict(asset, held[asset.name], where=f"publish.{site.name}"))
        if (added := remote.added()) is not None:
            errors.append(added)
        return errors

    def _complete_draft(self, site: Site, remote: ReleasePage) -> None:
        if self.dry_run and remote.page() is None and self._missing(site):
            self.say(f"{site.name}: would create a draft")
        self._put_missing(site, remote, State.DRAFT)

    def _put_missing(self, site: Site, remote: ReleasePage | Index, state: State) -> None:
        """Put what a destination lacks there."""
        for asset in self._missing(site):
            if self._would(site, f"upload {asset.name} ({asset.size} bytes)"):
                continue
            before = self.states[site.name, asset.name]
            self._note(site, asset, "sent")
            self._set(site, asset, State.BROKEN)
            try:
                remote.put(asset)
            except (WainwrightError, OSError) as error:
                self._note(site, asset, "failed")
                is_other = isinstance(remote, Index) and getattr(error, "code", None) is Exit.CONFLICT
                self._set(site, asset, State.OTHER if is_other else before)
                raise
            self._set(site, asset, state)
            self._note(site, asset, "uploaded")
            self.say(f"{site.name}: uploaded {asset.name}")

    def _fill_indexes(self) -> None:
        """Fill each index; one that fails does not hold the others up."""
        errors: list[WainwrightError] = []
        for site in self.sites:
            if isinstance(site.remote, Index):
                try:
                    self._fill(site, site.remote)
                except WainwrightError as error:
                    errors.append(error)
        raise_all(errors, "went wrong at the indexes")

    def _fill(self, site: Site, index: Index) -> None:
        self._put_missing(site, index, State.SENT)
        sent = any(self.states[site.name, asset.name] is State.SENT for asset in site.assets)
        if sent and not self.dry_run:
            self._verify(site, index)

    def _verify(self, site: Site, index: Index) -> None:
        """Hold what the index shows against the seal; it may take a while to show all."""
        for look in range(LOOKS):
            if look:
                self.pause(float(min(2**look, 30)))
            index.listing()
            absent = [asset for asset in site.assets if not self._verified(site, index, asset)]
            if not absent:
                self.say(f"{site.name}: {counted(len(site.assets), 'file')} there, verified by digest")
                return
        raise not_shown(len(absent), f"publish.{site.name}", index.address, index.pages.answered_by, self.journal.path)

    def _verified(self, site: Site, index: Index, asset: Asset) -> bool:
        try:
            if not index.holds(asset):
                return False
        except WainwrightError as error:
            if error.code is Exit.CONFLICT:
                self._set(site, asset, State.OTHER)
            raise
        self._set(site, asset, State.PUBLIC)
        self._note(site, asset, "verified")
        return True

    def _make_public(self, site: Site, remote: ReleasePage) -> None:
        if site.assets and all(self.states[site.name, asset.name] is State.PUBLIC for asset in site.assets):
            page = remote.page()
            if page is not None and not page.draft:
                self.say(f"{site.name}: the release is public, with {counted(len(site.assets), 'file')}")
                return
        if self._would(site, "make the release public"):
            return
        page = remote.publish()
        self.links[site.name] = page.url
        for asset in site.assets:
            self._set(site, asset, State.PUBLIC)
            self._note(site, asset, "verified")
        self._note(site, None, "published")
        self.say(f"{site.name}: the release is public: {page.url}")

    def _missing(self, site: Site) -> tuple[Asset, ...]:
        return tuple(asset for asset in site.assets if self.states[site.name, asset.name] not in DONE)

    def _would(self, site: Site, what: str) -> bool:
        """Say what would be written, if nothing is to be."""
        if self.dry_run:
            self.say(f"{site.name}: would {what}")
        return self.dry_run

    def _set(self, site: Site, asset: Asset, state: State) -> None:
        self.states[site.name, asset.name] = state

    def _note(self, site: Site, asset: Asset | None, event: Event) -> None:
        if self.dry_run:
            return
        try:
            self.journal.record(site.name, event, asset)
        except OSError as error:  # it helps the next run, and holds nothing up
            if not self._journal_is_told_of:
                self.say(f"{self.journal.path} cannot be written, and the publication goes on: {error.strerror}")
            self._journal_is_told_of = True
