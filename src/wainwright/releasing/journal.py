"""The journal: when which sealed file was put where. What a destination holds is asked of it, never of the journal.

It only keeps a tag from being sealed anew when a destination may have more than it shows, keeps a file from being
uploaded again where it was not seen yet, and says what is finished.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final, Literal

from wainwright.hosts.destinations import Asset
from wainwright.receipts import replace_text

JOURNAL: Final = "journal.json"
FORMAT: Final = 1
# "sent" is noted before an upload and "failed" when it has failed; "published" and "finished" are of a destination.
Event = Literal["found", "sent", "failed", "uploaded", "verified", "published", "finished"]


def utc() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


@dataclass(kw_only=True)
class Journal:
    """What was done for one tag, by destination and file; every event is on disk before the next step begins.

    A journal that is lost, broken or of another tag is begun anew. `path` None keeps none.
    """

    path: Path | None
    tag: str
    now: Callable[[], str] = utc
    entries: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path | None, tag: str, *, now: Callable[[], str] = utc) -> Journal:
        journal = cls(path=path, tag=tag, now=now)
        try:
            data = json.loads(path.read_bytes()) if path else {}
            if data.get("format") == FORMAT and data.get("tag") == tag:
                journal.entries = {place: dict(files) for place, files in data["destinations"].items()}
        except (OSError, ValueError, AttributeError, KeyError, TypeError, RecursionError):
            journal.entries = {}
        return journal

    def record(self, place: str, event: Event, asset: Asset | None = None) -> None:
        """Note an event about a file, or about the destination as a whole."""
        name = asset.name if asset else ""
        seen = self.entries.setdefault(place, {}).get(name)
        known = dict(seen) if isinstance(seen, dict) else {}
        if asset is not None and known.get("sha256") != asset.sha256:
            known = {"sha256": asset.sha256}
        for outdated in {"sent": ("failed",), "uploaded": ("found", "verified")}.get(event, ()):
            known.pop(outdated, None)
        self.entries[place][name] = known | {event: self.now()}
        if self.path is not None:
            data = {"format": FORMAT, "tag": self.tag, "destinations": self.entries}
            replace_text(self.path, json.dumps(data, indent=2, sort_keys=True) + "\n")

    def seen(self, place: str, name: str = "") -> Mapping[str, Any]:
        """Give what was noted of a file, whichever bytes it had, or of the destination as a whole."""
        seen = self.entries.get(place, {}).get(name)
        return seen if isinstance(seen, dict) else {}

    def taken(self, place: str) -> tuple[str, ...]:
        """Name the files that an index has taken, or may have, whatever it shows."""
        events = {name: self.seen(place, name) for name in self.entries.get(place, {}) if name}
        return tuple(
            name
            for name, seen in events.items()
            if seen.keys() & {"found", "uploaded", "verified"} or ("sent" in seen and "failed" not in seen)
        )

    def awaited(self, place: str, asset: Asset) -> str | None:
        """Give when these bytes were uploaded if they were not seen there since, None otherwise."""
        is_seen = self.when(place, "found", asset) or self.when(place, "verified", asset)
        return None if is_seen else self.when(place, "uploaded", asset)

    def when(self, place: str, event: Event, asset: Asset) -> str | None:
        """Give when an event about these bytes was noted, None if it was not."""
        seen = self.entries.get(place, {}).get(asset.name)
        if not isinstance(seen, dict) or seen.get("sha256") != asset.sha256:
            return None
        found = seen.get(event)
        return found if isinstance(found, str) else None
