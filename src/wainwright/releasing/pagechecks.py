"""What a repository would refuse of a release page: its tag, its notes, the branch of its index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wainwright.completed import Run
from wainwright.finding import Finding
from wainwright.hosts.github import GitHub
from wainwright.releasing.gitstate import Tree
from wainwright.releasing.notes import said_of


def of_tag(github: GitHub, tag: str, commit: str, *, where: str, otherwise: str, awaited: bool) -> Iterator[Finding]:
    """Hold the tag that the page's own repository has against ours: origin may be another one.

    With `awaited` it must be there. `otherwise` says what to do where it is another.
    """
    there = github.commit_of(tag)
    if there is None and awaited:
        what = f"{github.repository} does not have {tag}, and GitHub would make a tag of its own"
        yield Finding(where=where, what=what, hint=f"push it to that repository: git push ADDRESS {tag}")
    elif there is not None and commit and there != commit:
        what = f"{github.repository} has {tag} at commit {there}, and here it is {commit}"
        yield Finding(where=where, what=what, hint=f"a tag that was pushed is never moved: {otherwise}")


def of_notes(github: GitHub, root: Path, heading: str, *, tag: str, commit: str) -> tuple[Finding, ...]:
    """Raise WainwrightError for notes that would be refused; the host is asked where the changelog has none."""
    said_of(root, heading, generated=lambda: github.generated_notes(tag, commit=commit))
    return ()


def of_branch(github: GitHub, root: Path, run: Run) -> tuple[Finding, ...]:
    """Raise WainwrightError where no remote leads to the repository to which an index is to be pushed."""
    Tree(folder=root, run=run).leading_to(github.repository)
    return ()
