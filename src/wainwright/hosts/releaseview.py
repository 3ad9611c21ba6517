"""Looks at a tag's release and compares it with what was sealed; writes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.destinations import Asset, Fate, Remote, conflict, fate
from wainwright.hosts.github import GitHub
from wainwright.hosts.held import Held, Page, kept_name
from wainwright.hosts.mark import Mark
from wainwright.hosts.patience import Gone
from wainwright.hosts.wanted import Wanted


class View:
    """What was last seen of a tag's release, and what this run knows beside it.

    `page` is the published release or else the draft, `spare` the empty drafts beside it, `held` its assets by name;
    `created` is the draft that this run has created, and `sent` the ids of the assets that it has uploaded.
    """

    def __init__(self, github: GitHub, wanted: Wanted) -> None:
        self.github = github
        self.wanted = wanted
        self.where = f"{github.repository} {wanted.tag}"
        self.sealed = {kept_name(asset.name): asset for asset in wanted.assets}  # by the names that they have there
        self.looked = False
        self.all: tuple[Page, ...] = ()
        self.page: Page | None = None
        self.spare: tuple[Page, ...] = ()
        self.held: dict[str, Held] = {}
        self.created: Page | None = None
        self.sent: set[int] = set()
        self._digests: dict[int, str | None] = {}

    def seen(self) -> Page | None:
        """Give the release as it was last seen; looks if nobody has."""
        if not self.looked:
            self.look()
        return self.page

    def look(self) -> None:
        """Read the releases, then the assets of the one for this tag: whoever marks a draft looks at it afterwards."""
        pages = {page.id: page for page in self.github.releases()}
        if self.created is not None and self.created.id not in pages:
            with suppress(Gone):  # a list may lag behind a creation
                pages[self.created.id] = self.github.release(self.created.id)
        self.all = tuple(pages.values())
        mine = [page for page in self.all if page.tag == self.wanted.tag]
        mine.sort(key=lambda page: (page.draft, page.id))
        self.page = mine[0] if mine else None
        self.spare = self._spares(mine)
        self.look_at_assets()
        self.looked = True

    def look_at_assets(self) -> None:
        self.held = {held.name: held for held in self.github.assets(self.page.id)} if self.page else {}
        for held in self.others():
            same = (asset for asset in self.wanted.assets if asset.sha256 == held.sha256 and not self.held_for(asset))
            if (asset := next(same, None)) is not None:
                self.called(asset, held)

    def called(self, asset: Asset, held: Held) -> None:
        """Note an asset, and by which name the host calls it: how it renames is documented by example only."""
        self.sealed = {name: other for name, other in self.sealed.items() if other != asset} | {held.name: asset}
        self.held[held.name] = held

    def _spares(self, mine: list[Page]) -> tuple[Page, ...]:
        """Give the empty drafts of runs that began at the same time: the oldest draft counts. Any other is an error."""
        drafts = [page for page in mine[1:] if page.draft]
        spare = tuple(page for page in drafts if _is_machine_made(page) and not self.github.assets(page.id))
        if len(spare) < len(drafts) and mine[0].draft:
            raise self.error(
                "there is more than one draft for this tag",
                Exit.CONFLICT,
                details=tuple(page.url for page in mine),
                hint="delete the drafts that are not to be published, then run the same command again",
            )
        return spare

    def held_for(self, asset: Asset) -> Held | None:
        return next((self.held.get(name) for name, other in self.sealed.items() if other.name == asset.name), None)

    def remote(self, held: Held) -> Remote:
        """Give an asset as the publisher sees it; one without a digest is downloaded, if that can tell anything."""
        asset = self.sealed.get(held.name)
        sha256 = held.sha256
        if sha256 is None and held.uploaded and asset is not None and held.size == asset.size:
            if held.id not in self._digests:
                self._digests[held.id] = self.github.download(held)
            sha256 = self._digests[held.id]
        return Remote(size=held.size, sha256=sha256, complete=held.uploaded)

    def fate(self, asset: Asset) -> Fate:
        held = self.held_for(asset)
        found = fate(asset, self.remote(held) if held else None)
        if found is not Fate.UNKNOWN or held is None:
            return found
        if held.id in self.sent:  # the host has acknowledged the whole body to this run, and cannot say more
            return Fate.SAME
        raise self.error(
            f"{asset.name} is there, and the host neither tells its digest nor serves its bytes",
            Exit.REFUSED,
            hint="compare it by hand, or delete it from the draft",
        )

    def others(self) -> tuple[Held, ...]:
        """Give the assets that were not sealed."""
        return tuple(held for name, held in self.held.items() if name not in self.sealed)

    def compare_public(self, assets: Iterable[Asset]) -> None:
        """Pass if what is public is what was sealed; raises CONFLICT with both digests otherwise."""
        for asset in assets:
            if self.fate(asset) is Fate.SAME:
                continue
            held = self.held_for(asset)
            if held is not None:
                raise conflict(asset, self.remote(held), where=self.where)
            raise self.error(
                f"the release is public, and {asset.name} is not in it",
                Exit.CONFLICT,
                hint="what is public is never changed: release another version",
            )

    def added(self, hint: str) -> WainwrightError | None:
        """Say what is there beside what was sealed."""
        others = tuple(held.name for held in self.others())
        what = "there are files that were not sealed"
        return self.error(what, Exit.CONFLICT, details=others, hint=hint) if others else None

    def error(self, what: str, code: Exit, *, details: tuple[str, ...] = (), hint: str = "") -> WainwrightError:
        return WainwrightError(what, code=code, where=self.where, details=details, hint=hint)


def _is_machine_made(page: Page) -> bool:
    mark = Mark.read(page.body)
    return mark is not None and not mark.adopted
