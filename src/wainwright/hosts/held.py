"""What GitHub holds, as values: a release, its assets, and the names that it makes of theirs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A release as GitHub holds it; `holds` are the names of its assets where the host tells them along."""

    id: int
    tag: str
    name: str
    body: str
    draft: bool
    prerelease: bool
    immutable: bool
    url: str
    upload_url: str
    holds: frozenset[str] = frozenset()

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Page:
        assets = data.get("assets")
        return cls(
            id=int(data["id"]),
            tag=text_of(data["tag_name"]),
            name=text_of(data.get("name")),
            body=text_of(data.get("body")),
            draft=bool(data["draft"]),
            prerelease=bool(data.get("prerelease")),
            immutable=bool(data.get("immutable")),
            url=text_of(data.get("html_url")),
            upload_url=text_of(data["upload_url"]).partition("{")[0],
            holds=frozenset(str(each.get("name")) for each in assets if isinstance(each, Mapping))
            if isinstance(assets, list)
            else frozenset(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """An asset as GitHub holds it. `sha256` is None on hosts that do not tell it."""

    id: int
    name: str
    size: int
    sha256: str | None
    uploaded: bool
    url: str
    content_type: str

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Held:
        kind, _, digest = text_of(data.get("digest")).partition(":")
        return cls(
            id=int(data["id"]),
            name=text_of(data["name"]),
            size=int(data["size"]),
            sha256=digest.lower() if kind == "sha256" and digest else None,
            uploaded=data["state"] == "uploaded",
            url=text_of(data["url"]),
            content_type=text_of(data.get("content_type")),
        )


def kept_name(name: str) -> str:
    """Give the name that GitHub makes of an asset's: `+`, `@`, `-` and `_` stay, a run of anything else is a dot."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = f"default{plain}" if plain.startswith(".") else plain
    kept = re.sub(r"\.{2,}", ".", re.sub(r"[^A-Za-z0-9_+@-]+", ".", plain)).strip(".")
    return f"default.{kept}" if kept != name and "." not in kept else kept


def text_of(value: Any) -> str:
    """Give a field that holds text or nothing; raises TypeError for what is in no known shape."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value or ""
