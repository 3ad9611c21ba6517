"""A static package index over a release page's wheels: PEP 503 and PEP 691, one for each variant and one for all."""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from packaging.utils import canonicalize_name

from wainwright.errors import Exit, WainwrightError
from wainwright.masking import Mask
from wainwright.receipts import replace_text
from wainwright.releasing.manifest import Manifest
from wainwright.run import Completed, Run
from wainwright.sourcing.gitremote import confidential

BRANCH: Final = "gh-pages"
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
        return cls(
            name=data["filename"],
            url=data["url"],
            sha256=data["hashes"]["sha256"],
            size=data.get("size"),
            requires_python=data.get("requires-python", ""),
            metadata=(data.get("core-metadata") or {}).get("sha256", ""),
        )


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


def write(folder: Path, project: str, groups: Mapping[str, Iterable[Link]]) -> None:
    """Write the pages below `folder`, for any static host; what earlier releases have put there stays listed.

    `folder/demo/` is the project's page over all wheels, `folder/llvm/demo/` that of a variant. Raises WainwrightError
    (CONFLICT) when a page lists another file under one of these names.
    """
    name = canonicalize_name(project)
    if name in groups:
        raise WainwrightError(
            f"the variant {name} has the project's name, and their pages would lie at one address",
            code=Exit.REFUSED,
            where=f"variants.{name}",
            hint="give the variant another name",
        )
    for group, there in groups.items():
        root = folder / group if group else folder
        page = root / name
        listed = _merged(page / "index.json", tuple(there))
        page.mkdir(parents=True, exist_ok=True)
        replace_text(page / "index.html", project_html(name, listed))
        replace_text(page / "index.json", project_json(name, listed))
        replace_text(root / "index.html", root_html([name]))
        replace_text(root / "index.json", root_json([name]))


def _merged(path: Path, new: tuple[Link, ...]) -> tuple[Link, ...]:
    try:
        old = [Link.of_json(each) for each in json.loads(path.read_bytes())["files"]] if path.exists() else []
    except (ValueError, KeyError, TypeError) as error:
        raise WainwrightError("this is no page of an earlier release", code=Exit.CONFLICT, where=str(path)) from error
    known = {link.name: link for link in old}
    for link in new:
        if link.name in known and known[link.name].sha256 != link.sha256:
            raise WainwrightError(
                f"{link.name} is listed already, and is another file",
                code=Exit.CONFLICT,
                where=str(path),
                details=(f"sealed: sha256 {link.sha256}", f"listed: sha256 {known[link.name].sha256}"),
            )
    return tuple(sorted((known | {link.name: link for link in new}).values(), key=lambda link: link.name))


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
        "meta": {"api-version": "1.1"},
        "name": name,
        "versions": versions,
        "files": [{"size": 0, **link.to_json()} for link in there],  # PEP 700 makes the size mandatory
    }
    return json.dumps(data, indent=2) + "\n"


def root_html(names: Iterable[str]) -> str:
    return _document("Simple index", [f'<a href="{name}/">{name}</a><br>' for name in names])


def root_json(names: Iterable[str]) -> str:
    return json.dumps({"meta": {"api-version": "1.1"}, "projects": [{"name": name} for name in names]}, indent=2) + "\n"


def _document(title: str, rows: Iterable[str]) -> str:
    head = f'<meta charset="utf-8"><meta name="pypi:repository-version" content="1.1"><title>{title}</title>'
    return "\n".join(["<!DOCTYPE html>", f"<html><head>{head}</head><body>", *rows, "</body></html>", ""])


def push(project: str, groups: Mapping[str, Iterable[Link]], *, remote: str, message: str, run: Run) -> bool:
    """Add the pages to the branch gh-pages of a repository, by git and its credentials; False if all was there."""
    with tempfile.TemporaryDirectory(prefix="wainwright-pages-") as temporary:
        git = _Git(tree=Path(temporary), remote=remote, run=run)
        git("init", "--quiet")
        if git.has_branch():
            git("fetch", "--quiet", "--depth=1", "REMOTE", BRANCH)
            git("checkout", "--quiet", "-B", BRANCH, "FETCH_HEAD")
        else:
            git("checkout", "--quiet", "--orphan", BRANCH)
            (git.tree / ".nojekyll").touch()  # a host that runs Jekyll would leave out what begins with an underscore
        write(git.tree, project, groups)
        git("add", "--all")
        if not git("status", "--porcelain").stdout:
            return False
        git("-c", "user.name=wainwright", "-c", "user.email=wainwright@localhost", "commit", "--quiet", "-m", message)
        git("push", "--quiet", "REMOTE", f"HEAD:refs/heads/{BRANCH}")
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Git:
    """Git in one work tree; the word REMOTE stands for the remote, whose address may hold a token."""

    tree: Path
    remote: str
    run: Run

    def __call__(self, *words: str, fine: tuple[int, ...] = (0,)) -> Completed:
        address, access = confidential(self.remote)
        env = {**os.environ, **access, "GIT_TERMINAL_PROMPT": "0"}
        argv = [address if word == "REMOTE" else word for word in words]
        done = self.run(["git", "-C", str(self.tree), *argv], env=env, capture=True)
        if done.code not in fine:
            verb = next(word for word in words if not word.startswith("-") and "=" not in word)
            what = f"git {verb} failed ({done.ending})"
            raise WainwrightError(what, code=Exit.REFUSED, where=BRANCH, details=Mask().lines(done.tail))
        return done

    def has_branch(self) -> bool:
        # git's documentation of --exit-code: "status 2 when no matching refs are found in the remote repository"
        return self("ls-remote", "--exit-code", "--heads", "REMOTE", BRANCH, fine=(0, 2)).code == 0
