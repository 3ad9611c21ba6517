"""Adds index pages to a folder, or to a branch, in which more may lie: what another has made there is never changed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.utils import canonicalize_name

from wainwright.completed import Completed, Run
from wainwright.errors import Exit, WainwrightError
from wainwright.masking import Mask
from wainwright.receipts import replace_text
from wainwright.releasing.pages import MARK, META, Link, project_html, project_json, root_html, root_json
from wainwright.sourcing.gitcommand import git
from wainwright.sourcing.gitremote import confidential

BRANCH: Final = "gh-pages"
HTML, JSON = "index.html", "index.json"


def write(folder: Path, project: str, groups: Mapping[str, Iterable[Link]], *, called: str = "") -> tuple[str, ...]:
    """Write the pages below `folder`, for any static host, and give their paths; all that is listed stays listed.

    `folder/demo/` is the project's page over all wheels, `folder/llvm/demo/` that of a variant. Nothing is written
    where `planned` raises an error.
    """
    texts = planned(folder, project, groups, called=called)
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        replace_text(folder / name, text)
    return tuple(texts)


def planned(folder: Path, project: str, groups: Mapping[str, Iterable[Link]], *, called: str = "") -> Mapping[str, str]:
    """Give what is to be written, by its path below `folder`; `called` is the folder's name for people.

    Raises WainwrightError: REFUSED for a variant of the project's name, CONFLICT where a page lists another file under
    one of these names, and where a page lies that wainwright has not made.
    """
    name = canonicalize_name(project)
    if name in groups:
        raise WainwrightError(
            f"the variant {name} has the project's name, and their pages would lie at one address",
            code=Exit.REFUSED,
            where=f"variants.{name}",
            hint="give the variant another name",
        )
    texts: dict[str, str] = {}
    for group, there in groups.items():
        root = _Page(folder=folder, name=group, called=called)
        page = _Page(folder=folder, name=f"{group}/{name}" if group else name, called=called)
        names = sorted({name, *root.projects()})
        listed = page.merged(tuple(there))
        # The JSON first: an HTML page whose JSON is gone has lost what it lists.
        texts |= {page / JSON: project_json(name, listed), page / HTML: project_html(name, listed)}
        texts |= {root / JSON: root_json(names), root / HTML: root_html(names)}
    return texts


def listed(folder: Path, project: str, variants: Iterable[str], *, called: str = "") -> Mapping[str, tuple[Link, ...]]:
    """Give what the pages of a project list by now, by variant, and all of it under the empty name; raises CONFLICT."""
    name = canonicalize_name(project)
    places = {group: f"{group}/{name}" if group else name for group in ("", *variants)}
    pages = {group: _Page(folder=folder, name=place, called=called) for group, place in places.items()}
    return {group: links for group, page in pages.items() if (links := page.merged(()))}


def together(*each: Mapping[str, Iterable[Link]]) -> Mapping[str, tuple[Link, ...]]:
    """Put groups of links together; of two of one name the later is taken."""
    found: dict[str, dict[str, Link]] = {}
    for groups in each:
        for group, links in groups.items():
            found.setdefault(group, {}).update({link.name: link for link in links})
    return {group: tuple(links.values()) for group, links in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """One page, in its two forms, as it lies in the folder now; the top's `name` is empty."""

    folder: Path
    name: str
    called: str

    def __truediv__(self, file: str) -> str:
        return f"{self.name}/{file}" if self.name else file

    def projects(self) -> tuple[str, ...]:
        return tuple(self._listed("projects", lambda each: str(each["name"])))

    def merged(self, new: tuple[Link, ...]) -> tuple[Link, ...]:
        """Put these links to those that the page has already."""
        known = {link.name: link for link in self._listed("files", Link.of_json)}
        for link in new:
            if link.name in known and known[link.name].sha256 != link.sha256:
                details = (f"sealed: sha256 {link.sha256}", f"listed: sha256 {known[link.name].sha256}")
                raise self._conflict(JSON, f"{link.name} is listed already, and is another file", details=details)
        return tuple(sorted((known | {link.name: link for link in new}).values(), key=lambda link: link.name))

    def _listed(self, key: str, of: Any) -> Iterator[Any]:
        data = self._read()
        try:
            yield from [of(each) for each in data[key]] if data is not None else []
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._conflict(JSON, "this is not the page that lies here in an index of wheels") from error

    def _read(self) -> Any:
        """Give what the JSON form says, None where there is no page."""
        place = self.folder / self.name
        if self.name and (place.is_symlink() or (place.exists() and not place.is_dir())):
            raise self._foreign("")
        for file in (JSON, HTML):
            path = place / file
            if path.is_symlink() or (path.exists() and not path.is_file()):
                raise self._foreign(file)
        data = self._json(place / JSON)
        if (place / HTML).exists() and MARK.encode() not in (place / HTML).read_bytes():
            raise self._foreign(HTML)
        if data is None and (place / HTML).exists():
            raise self._conflict(HTML, f"{JSON}, which belongs to it, is gone", hint="put it back")
        return data

    def _json(self, path: Path) -> Any:
        if not path.exists():
            return None
        try:
            data = json.loads(path.read_bytes())
            made = data["meta"]["_generator"] == META["_generator"]
        except (ValueError, KeyError, TypeError, RecursionError):
            made = False
        if not made:
            raise self._foreign(JSON)
        return data

    def _foreign(self, file: str) -> WainwrightError:
        hint = "the index changes only what it has made: take that away, or host the index's pages elsewhere"
        return self._conflict(file, "this is there already, and wainwright has not made it", hint=hint)

    def _conflict(self, file: str, what: str, *, details: tuple[str, ...] = (), hint: str = "") -> WainwrightError:
        place = self / file if file else self.name
        where = f"{self.called}: {place}" if self.called else str(self.folder / place)
        return WainwrightError(what, code=Exit.CONFLICT, where=where, details=details, hint=hint)


def on_branch(project: str, variants: Iterable[str], *, remote: str, run: Run) -> Mapping[str, tuple[Link, ...]]:
    """Give what the pages of a project list on the branch; raises WainwrightError as `listed` does, and as git."""
    with _checked_out(remote, run) as (here, _):
        return listed(here.tree, project, variants, called=BRANCH)


@contextmanager
def _checked_out(remote: str, run: Run) -> Iterator[tuple[_Git, bool]]:
    """Check the branch out in a folder that is gone afterwards; say whether it is begun here."""
    with tempfile.TemporaryDirectory(prefix="wainwright-pages-") as temporary:
        here = _Git(tree=Path(temporary), remote=remote, run=run)
        here("init", "--quiet")
        first = not here.has_branch()
        if first:
            here("checkout", "--quiet", "--orphan", BRANCH)
        else:
            here("fetch", "--quiet", "--depth=1", "REMOTE", BRANCH)
            here("checkout", "--quiet", "-B", BRANCH, "FETCH_HEAD")
        yield here, first


def push(
    project: str,
    groups: Mapping[str, Iterable[Link]],
    *,
    remote: str,
    message: str,
    run: Run,
    dry_run: bool = False,
) -> bool:
    """Add the pages to the branch gh-pages of a repository, by git and its credentials; False if all was there.

    A dry run fetches and compares, and pushes nothing.
    """
    with _checked_out(remote, run) as (here, first):
        written = list(write(here.tree, project, groups, called=BRANCH))
        if first:
            (here.tree / ".nojekyll").touch()  # a host that runs Jekyll would leave out what begins with an underscore
            written.append(".nojekyll")
        here("add", "--force", "--", *written)  # also what the branch's own .gitignore names
        if not here("diff", "--cached", "--name-only").stdout:
            return False
        if not dry_run:
            author = ("-c", "user.name=wainwright", "-c", "user.email=wainwright@localhost")
            here(*author, "commit", "--quiet", "-m", message)
            here("push", "--quiet", "REMOTE", f"HEAD:refs/heads/{BRANCH}")
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Git:
    """Git in one work tree; the word REMOTE stands for the remote, whose address may hold a token."""

    tree: Path
    remote: str
    run: Run

    def __call__(self, *words: str, fine: tuple[int, ...] = (0,)) -> Completed:
        address, access = confidential(self.remote)
        done = git(self.run, self.tree, *(address if word == "REMOTE" else word for word in words), env=access)
        if done.code not in fine:
            verb = next(word for word in words if not word.startswith("-") and "=" not in word)
            what = f"git {verb} failed ({done.ending})"
            raise WainwrightError(what, code=Exit.REFUSED, where=BRANCH, details=Mask().lines(done.tail))
        return done

    def has_branch(self) -> bool:
        # git's documentation of --exit-code: "status 2 when no matching refs are found in the remote repository"
        return self("ls-remote", "--exit-code", "--heads", "REMOTE", f"refs/heads/{BRANCH}", fine=(0, 2)).code == 0
