"""The mark on a draft: a hidden line in its notes that says whose it is, and who works on it now.

GitHub has no locks and no conditional writes. A run that takes up a draft writes its own name into the mark first, then
looks; before it deletes or publishes it looks whether the mark is still its own. So of two runs on one draft the later
one goes on and the earlier one stops, and neither deletes what the other has just published. The mark leaves with the
last write, the one that publishes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_MARK: Final = re.compile(r"\n*<!-- wainwright seal=([0-9a-f]+) run=([0-9a-f]+)( adopted)? -->\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Which sealed set a draft is for, which run works on it, and whether somebody else had created it."""

    seal: str
    run: str
    adopted: bool = False

    @classmethod
    def read(cls, body: str) -> Mark | None:
        found = _MARK.search(body)
        return cls(seal=found[1], run=found[2], adopted=found[3] is not None) if found else None

    def on(self, body: str) -> str:
        """Put this mark below the notes, in place of any other."""
        adopted = " adopted" if self.adopted else ""
        return f"{unmarked(body)}\n\n<!-- wainwright seal={self.seal} run={self.run}{adopted} -->"


def unmarked(body: str) -> str:
    """Give notes as people wrote them. GitHub returns CRLF for what was edited in a browser."""
    return _MARK.sub("", body.replace("\r\n", "\n"))
