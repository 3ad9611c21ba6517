"""A tag's release page as a destination: a draft, its assets complete and verified, and only then public.

Whatever is unknown is looked at again before it is done again, so any moment is a good one to be killed at. What is
public is compared and never touched.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace

from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.destinations import Asset, Fate, Remote, conflict
from wainwright.hosts.github import GitHub
from wainwright.hosts.held import Held, Page
from wainwright.hosts.mark import Mark, unmarked
from wainwright.hosts.patience import Gone, Unprocessable, Unsure
from wainwright.hosts.releaseview import View
from wainwright.hosts.wanted import Wanted

ADDED = "somebody has added it: compare it, then delete it"


class ReleasePage:
    """The release page of one tag. Nothing is asked before the first call; `page` and `listing` write nothing."""

    def __init__(self, github: GitHub, wanted: Wanted, *, run: str | None = None) -> None:
        self.github = github
        self.wanted = wanted
        self._view = View(github, wanted)
        self._mark = Mark(seal=wanted.seal, run=run or secrets.token_hex(8))
        self._claimed = False
        self._reason = ""

    def page(self) -> Page | None:
        """Give the draft or the published release as it was last seen; None while there is none."""
        for _ in self._rounds("look at the release"):
            with self._looking_again():
                return self._view.seen()
        raise AssertionError

    def listing(self) -> Mapping[str, Remote]:
        """Give the assets by the names under which they were sealed; others by the names that GitHub gives."""
        for _ in self._rounds("list the assets"):
            with self._looking_again():
                self._view.seen()
                names = {name: asset.name for name, asset in self._view.sealed.items()}
                return {names.get(name, name): self._view.remote(held) for name, held in self._view.held.items()}
        raise AssertionError

    def added(self) -> WainwrightError | None:
        """Say what a public release was seen to hold beside what was sealed."""
        page = self.page()
        return self._view.added(ADDED) if page is not None and not page.draft else None

    def put(self, asset: Asset) -> None:
        """See that this asset is there, complete and right; creates the draft if there is none."""
        for _ in self._rounds(f"upload {asset.name}"):
            with self._looking_again():
                page = self._open()
                if self._view.fate(asset) is Fate.SAME:
                    return
                if not page.draft:
                    self._view.compare_public([asset])
                self._remove(page, asset)
                self._send(page, asset)
                if self._view.fate(asset) is Fate.SAME:
                    return
                self._reason = "what arrived there is not what was sent"
        raise AssertionError

    def publish(self) -> Page:
        """Make the page public once all of it is there, or find that it is public as sealed; gives it."""
        for _ in self._rounds("publish the release"):
            with self._looking_again():
                page = self._open()
                if page.draft:
                    self._view.look()  # at everything, once more: what others did since the first look counts
                    page = self._open()
                if not page.draft:
                    self._view.compare_public(self.wanted.assets)
                    if (added := self._view.added(ADDED)) is not None:
                        raise added
                    return page
                self._demand_complete(page)
                self._demand_tag()
                self._demand_mark(page)
                return self._undraft(page)
        raise AssertionError

    def discard(self) -> None:
        """Delete the draft of an earlier seal, on somebody's explicit wish. Never what is public or not ours."""
        for _ in self._rounds("discard the draft"):
            with self._looking_again():
                self._view.look()
                page = self._view.page
                if page is None:
                    return
                mark = Mark.read(page.body)
                if not page.draft or mark is None or mark.adopted:
                    what = "was made by somebody else" if page.draft else "is public"
                    raise self._view.error(f"the release {what}, and stays", Exit.REFUSED)
                self.github.delete_release(page.id)
                self._view.looked = False
        raise AssertionError

    def _open(self) -> Page:
        """Give the public release, or a draft that carries this run's mark: created if there is none."""
        page = self._view.seen()
        if page is None:
            self._demand_tag()
            wanted, body = self.wanted, self._mark.on(self.wanted.notes)
            self._view.created = self.github.create_draft(
                tag=wanted.tag, commit=wanted.commit, name=wanted.title, body=body, prerelease=wanted.prerelease
            )
            self._view.look()  # another run may have created one at the same time
            page = self._view.page
            if page is None:
                raise Unsure("the draft that was created is not there")
        self._tidy()
        return self._claim(page) if page.draft else page

    def _claim(self, page: Page) -> Page:
        mark = Mark.read(page.body)
        if mark is not None and mark.seal != self._mark.seal:
            raise self._view.error(
                "its draft is for other files than those sealed here",
                Exit.CONFLICT,
                details=(page.url,),
                hint="if nobody else is releasing this tag, delete that draft, then run the same command again",
            )
        if mark is not None and mark.run == self._mark.run:
            self._claimed, self._mark = True, mark
            return page
        if self._claimed:
            raise self._taken()
        self._mark = replace(self._mark, adopted=mark is None or mark.adopted)
        changed = self.github.change(page.id, body=self._mark.on(page.body))
        if not changed.draft:  # published in this very moment: its notes are put back
            self.github.change(page.id, body=unmarked(page.body))
            raise Unsure("another run has just published it")
        self._claimed = True
        self._view.page = changed
        self._view.look_at_assets()
        return changed

    def _tidy(self) -> None:
        """Delete the empty drafts of runs that began at the same time as another: none of them will be used."""
        for spare in self._view.spare:
            with suppress(Gone):
                if self.github.release(spare.id).draft:
                    self.github.delete_release(spare.id)
        self._view.spare = ()

    def _send(self, page: Page, asset: Asset) -> None:
        held = self.github.upload(page, asset)
        self._view.called(asset, held)
        self._view.sent.add(held.id)

    def _remove(self, page: Page, asset: Asset) -> None:
        """Delete what a broken upload left under this name; in a draft of somebody else's, nothing that is complete."""
        held = self._view.held_for(asset)
        if held is None:
            return
        if held.uploaded and self._mark.adopted and held.id not in self._view.sent:
            hint = f"delete it from the draft if it is not wanted: {page.url}"
            raise conflict(asset, self._view.remote(held), where=self._view.where, hint=hint)
        self._delete(page, held)

    def _delete(self, page: Page, held: Held) -> None:
        with suppress(Gone):
            if self.github.asset(held) != held:
                raise Unsure("an upload by another run has just ended")
            self._demand_mark(page)
            self.github.delete_asset(held)
        self._view.held.pop(held.name, None)

    def _undraft(self, page: Page) -> Page:
        wanted = self.wanted
        notes, title = wanted.notes, wanted.title
        if self._mark.adopted:
            notes, title = unmarked(page.body).strip() or notes, page.name or title
        changed = self.github.change(
            page.id,
            draft=False,
            tag_name=wanted.tag,
            target_commitish=wanted.commit,
            name=title,
            body=notes,
            prerelease=wanted.prerelease,
            make_latest="true" if wanted.is_newest(self._view.all) else "false",
        )
        if changed.draft or changed.tag != wanted.tag:
            raise Unsure("the host still calls it a draft")
        self._view.page = changed
        return changed

    def _demand_complete(self, page: Page) -> None:
        wrong = tuple(asset.name for asset in self.wanted.assets if self._view.fate(asset) is not Fate.SAME)
        if wrong:
            hint = "run the same command again, and it goes on from here"
            raise self._view.error("the draft is not complete", Exit.PARTLY_PUBLISHED, details=wrong, hint=hint)
        for held in self._view.others():
            if not held.uploaded:
                self._delete(page, held)
        if (added := self._view.added(f"delete it from the draft, or seal it: {page.url}")) is not None:
            raise added

    def _demand_tag(self) -> None:
        commit = self.github.commit_of(self.wanted.tag)
        if commit is not None and commit != self.wanted.commit:
            raise self._view.error(
                "the tag points elsewhere than to the sealed commit",
                Exit.CONFLICT,
                details=(f"sealed: {self.wanted.commit}", f"there:  {commit}"),
                hint="a tag that was moved or made again needs another release",
            )

    def _demand_mark(self, page: Page) -> None:
        now = self.github.release(page.id)
        if not now.draft:
            raise Unsure("another run has just published it")
        if Mark.read(now.body) != self._mark:
            raise self._taken()

    def _taken(self) -> WainwrightError:
        hint = "let that one end, then run the same command again"
        return self._view.error("another run has taken this draft over", Exit.PARTLY_PUBLISHED, hint=hint)

    def _rounds(self, what: str) -> Iterator[int]:
        return self.github.patience.rounds(what, self._view.where, why=lambda: self._reason)

    @contextmanager
    def _looking_again(self) -> Iterator[None]:
        """Turn what is doubtful into another look, and what is refused into an error."""
        try:
            yield
        except (Unsure, Gone) as error:
            self._reason, self._view.looked = error.what, False
        except Unprocessable as error:
            # Both say that another run, or an earlier attempt of this one, has got there already.
            if "already_exists" not in error.codes and "immutable" not in error.what:
                raise self._view.error(error.what, Exit.REFUSED) from None
            self._reason, self._view.looked = error.what, False
