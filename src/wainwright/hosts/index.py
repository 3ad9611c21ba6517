"""A package index as a destination: its simple page says what is there, and twine puts one file a call."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name

from wainwright.completed import Run
from wainwright.declaration.release import Destination as Declared
from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.credentials import Account, account
from wainwright.hosts.destinations import Asset, Remote, conflict
from wainwright.hosts.indexpages import TRIES, Pages, wait
from wainwright.hosts.simplepage import Listed
from wainwright.hosts.uploading import Twine, Upload

HINTS: Final = {
    400: "a name that was used once is never free again, even when it was deleted: release another version",
    404: "is this the address for uploads?",
    405: "is this the address for uploads?",
    409: "a name that was used once is never free again, even when it was deleted: release another version",
    413: "ask the index for a higher limit on the size of files, and say it as max-size",
}


@dataclass(kw_only=True)
class Index:
    """An index and one project on it, as a `Destination`."""

    pages: Pages
    twine: Twine
    pause: Callable[[float], None] = time.sleep
    _seen: Mapping[str, Listed] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return self.pages.address

    def listing(self) -> Mapping[str, Remote]:
        """Give what is there by name, in one request once the index's shape is known."""
        self._seen = self.pages.read()
        return {name: Remote(size=file.size, sha256=file.sha256) for name, file in self._seen.items()}

    def holds(self, asset: Asset) -> bool:
        """Whether the index held these bytes when it was last listed; raises WainwrightError (CONFLICT) for others."""
        return self._has(asset, self._seen)

    def put(self, asset: Asset) -> None:
        """Upload `asset` unless it is there.

        The page is asked before each attempt, and after each failure: what the index holds then decides what the
        failure was, not what it said.
        """
        if self._has(asset, self._seen):
            return
        for attempt in range(TRIES):
            if attempt:
                self.pause(wait(attempt))
            if self._has(asset, self.pages.read()):
                return
            done = self.twine.upload(asset)
            if done.ok or self._has(asset, self.pages.read()):
                return
            if done.is_final:
                raise self._refusal(asset, done)
        raise self.pages.error(
            f"{asset.name} could not be uploaded in {TRIES} attempts",
            Exit.RETRIES_EXHAUSTED,
            details=done.said,
            hint="run the same command again: it uploads what is missing",
        )

    def _has(self, asset: Asset, page: Mapping[str, Listed]) -> bool:
        """Whether the index has these bytes; raises WainwrightError (CONFLICT) when it has others under this name."""
        file = page.get(asset.name)
        if file is None:
            return False
        digest, size = file.sha256, file.size
        if digest is None:
            digest, size = self.pages.download(file)
        if digest != asset.sha256:
            raise conflict(asset, Remote(size=size, sha256=digest), where=self.pages.where)
        return True

    def _refusal(self, asset: Asset, done: Upload) -> WainwrightError:
        if done.is_unauthorised:
            return self.pages.unauthorised(done.status, self.pages.account.url, details=done.said)
        return self.pages.error(
            f"the index does not take {asset.name}",
            Exit.REFUSED,
            details=done.said,
            hint=HINTS.get(done.status or 0, ""),
        )


def connect(
    declared: Declared,
    *,
    project: str,
    run: Run,
    log: Path,
    environ: Mapping[str, str] | None = None,
    alone: bool = True,
    pause: Callable[[float], None] = time.sleep,
) -> Index:
    """Make the index of a `[publish.NAME]`; `alone` says that it is the only index there.

    Raises WainwrightError (USAGE) when its repository is not known.
    """
    environ = dict(os.environ) if environ is None else environ
    found: Account = account(declared, environ, alone=alone)
    pages = Pages(
        where=f"publish.{declared.name}",
        project=canonicalize_name(project),
        account=found,
        simple=declared.simple,
        pause=pause,
    )
    return Index(pages=pages, twine=Twine(account=found, run=run, log=log, environ=environ), pause=pause)
