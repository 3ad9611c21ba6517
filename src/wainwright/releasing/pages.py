"""A static package index over a release page's wheels: PEP 503 and PEP 691, one for each variant and one for all."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from wainwright.releasing.manifest import Manifest

# Each form says who has made it. PEP 691: "Keys (at any level) with a leading underscore are reserved as private for
# index server use."
MARK: Final = '<meta name="generator" content="wainwright">'
META: Final = {"api-version": "1.1", "_generator": "wainwright"}
METADATA: Final = ".metadata"  # PEP 658: "the location of the distribution with .metadata appended to it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A wheel as a page lists it; `metadata` is the sha256 of its METADATA, where that is published beside it."""

    name: str
    url: str
    sha256: str
    size: int | None = None
    requires_python: str = ""
    metadata: str = ""

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"filename": self.name, "url": self.url, "hashes": {"sha256": self.sha256}}
        if self.size is not None:
            found["size"] = self.size
        if self.requires_python:
            found["requires-python"] = self.requires_python
        if self.metadata:
            found["core-metadata"] = {"sha256": self.metadata}  # PEP 714: pip 22.3 to 23.1 end at the older key
        return found

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Link:
        """Read what `to_json` gives; raises one of the usual errors for anything else."""
        made = cls(
            name=data["filename"],
            url=data["url"],
            sha256=data["hashes"]["sha256"],
            size=data.get("size"),
            requires_python=data.get("requires-python", ""),
            metadata=(data.get("core-metadata") or {}).get("sha256", ""),
        )
        texts = (made.name, made.url, made.sha256, made.requires_python, made.metadata)
        if not all(isinstance(text, str) for text in texts) or "-" not in made.name:
            raise TypeError(f"{data!r} is no wheel")
        return made


def links(manifest: Manifest, destination: str, *, release_url: str) -> Mapping[str, tuple[Link, ...]]:
    """Give the wheels of a release page by variant, those of all under the empty name.

    `release_url` is the page's address, `https://HOST/OWNER/NAME/releases/tag/v1.0`: the files of that release are at
    `…/releases/download/v1.0/`.
    """
    base = f"{release_url.partition('/releases/')[0]}/releases/download/{quote(manifest.tag, safe='')}"
    bound = manifest.bound_for(destination)
    metadata = {file.name.removesuffix(METADATA): file.sha256 for file in bound if file.kind == "metadata"}
    found: dict[str, list[Link]] = {"": []}
    for file in bound:
        if file.kind != "wheel":
            continue
        link = Link(
            name=file.name,
            url=f"{base}/{quote(file.name)}",
            sha256=file.sha256,
            size=file.size,
            requires_python=file.requires_python,
            metadata=metadata.get(file.name, ""),
        )
        found[""].append(link)
        found.setdefault(file.variant, []).append(link)
    return {variant: tuple(there) for variant, there in found.items()}


def project_html(name: str, there: Iterable[Link]) -> str:
    """Give a project's page. PEP 503: "each anchor … MUST match the final path component (the filename)"."""
    rows = []
    for link in there:
        attributes = {"href": f"{link.url}#sha256={link.sha256}"}
        if link.requires_python:
            attributes["data-requires-python"] = link.requires_python
        if link.metadata:
            attributes["data-core-metadata"] = f"sha256={link.metadata}"
        written = " ".join(f'{key}="{html.escape(value)}"' for key, value in attributes.items())
        rows.append(f"<a {written}>{html.escape(link.name)}</a><br>")
    return _document(f"Links for {name}", rows)


def project_json(name: str, there: Iterable[Link]) -> str:
    there = tuple(there)
    versions = sorted({link.name.split("-")[1] for link in there})
    data = {
        "meta": META,
        "name": name,
        "versions": versions,
        "files": [{"size": 0, **link.to_json()} for link in there],  # PEP 700 makes the size mandatory
    }
    return json.dumps(data, indent=2) + "\n"


def root_html(names: Iterable[str]) -> str:
    return _document("Simple index", [f'<a href="{name}/">{name}</a><br>' for name in names])


def root_json(names: Iterable[str]) -> str:
    return json.dumps({"meta": META, "projects": [{"name": name} for name in names]}, indent=2) + "\n"


def _document(title: str, rows: Iterable[str]) -> str:
    head = f'<meta charset="utf-8">{MARK}<meta name="pypi:repository-version" content="1.1"><title>{title}</title>'
    return "\n".join(["<!DOCTYPE html>", f"<html><head>{head}</head><body>", *rows, "</body></html>", ""])
