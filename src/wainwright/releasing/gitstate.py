"""Whether a tag is what git has here and what the remote has: tag, HEAD, work tree, submodules, remote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wainwright.completed import Completed, Run
from wainwright.errors import Exit, WainwrightError
from wainwright.finding import Finding
from wainwright.masking import Mask
from wainwright.sourcing.gitclean import differences
from wainwright.sourcing.gitcommand import git
from wainwright.sourcing.gitremote import confidential

SHOWN: Final = 10  # files of a changed work tree that are named


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The work tree that a release is made from."""

    folder: Path
    run: Run

    def commit_of(self, tag: str) -> str | None:
        """Give the commit that a tag here points to, through annotated tags."""
        return self._one("rev-parse", "--verify", "--quiet", f"refs/tags/{tag}^{{commit}}")

    def head(self) -> str | None:
        """Give the commit that is checked out."""
        return self._one("rev-parse", "--verify", "--quiet", "HEAD")

    def tags(self) -> tuple[str, ...]:
        """Name the tags on the commit that is checked out and on those before it."""
        return tuple(self._git("tag", "--merged", "HEAD").stdout.split())

    def tracked(self, commit: str) -> Mapping[str, str]:
        """Give the blob id of every file of a commit, by its path below this folder.

        Raises WainwrightError (REFUSED) when git does not tell.
        """
        listed = self._git("ls-tree", "-r", "-z", commit)
        listed.check(f"git does not list the files of commit {commit}", code=Exit.REFUSED, where=str(self.folder))
        rows = (line.partition("\t") for line in listed.stdout.split("\0") if line)
        return {path: facts.split()[2] for facts, _, path in rows}

    def remote(self) -> str | None:
        """Name the remote that a release goes to: the branch's own, else origin, else the only one."""
        names = self._git("remote").stdout.split()
        branch = self._one("symbolic-ref", "--quiet", "--short", "HEAD")
        own = self._one("config", f"branch.{branch}.remote") if branch else None
        return next((name for name in (own, "origin", *names[:1]) if name in names), None)

    def leading_to(self, repository: str) -> str:
        """Give the address of the remote that leads to a repository on GitHub, `owner/name`.

        Raises WainwrightError (REFUSED) when none does: origin may be a fork of it, or a mirror.
        """
        names = self._git("remote").stdout.split()
        addresses = [self._one("remote", "get-url", "--push", name) or "" for name in names]
        leads = re.compile(rf".*[/:]{re.escape(repository)}(\.git)?/*", re.IGNORECASE)
        found = next(filter(leads.fullmatch, addresses), None)
        if found is None:
            raise WainwrightError(
                f"no git remote leads to {repository}",
                code=Exit.REFUSED,
                where=str(self.folder),
                hint=f"git remote add NAME ADDRESS, an address that ends in {repository}.git",
            )
        return found

    def findings(self, tag: str) -> Iterator[Finding]:
        """Say what of tag, HEAD, tree, submodules and remote does not agree."""
        if not self._git("rev-parse", "--is-inside-work-tree").ok:
            yield Finding(where=str(self.folder), what="this is no git work tree: no tag can be held against it")
            return
        commit, head = self.commit_of(tag), self.head()
        if commit is None:
            yield self._absent(tag)
        elif commit != head:
            hint = f"git checkout {tag}"
            yield Finding(where=f"tag {tag}", what=f"it is commit {commit}, and HEAD is {head}", hint=hint)
        yield from self._cleanness()
        if commit is not None:
            yield from self._pushed(tag, commit)

    def _absent(self, tag: str) -> Finding:
        remote = self.remote() or "origin"
        there = self._listed(remote, "--tags", f"refs/tags/{tag}")
        if there.ok and there.stdout:
            what, hint = f"{remote} has it, and this clone does not", f"git fetch {remote} tag {tag}"
        else:
            what, hint = "there is no such tag", f"git tag -a {tag} && git push {remote} {tag}"
        return Finding(where=f"tag {tag}", what=what, hint=hint)

    def findings_of_head(self, *, shared: bool) -> Iterator[Finding]:
        """Say what stands in the way of a nightly, which needs no tag: a commit, and a tree that is as committed.

        With `shared` the remote must have the commit, since a tag is to be put there. A shallow clone has no tags, and
        then nobody knows which release is next.
        """
        head = self.head()
        if head is None:
            what = "there is no commit: a nightly is made of one"
            yield Finding(where=str(self.folder), what=what, hint="git commit")
            return
        yield from self._cleanness()
        if self._one("rev-parse", "--is-shallow-repository") == "true":
            what = "the clone is shallow, so that nobody knows which releases are out"
            yield Finding(where=str(self.folder), what=what, hint="git fetch --unshallow --tags (fetch-depth: 0)")
        if shared and not self._one("branch", "--remotes", "--contains", head):
            yield from self._unshared(head)

    def _unshared(self, commit: str) -> Iterator[Finding]:
        remote = self.remote()
        listed = self._listed(remote) if remote else None
        if listed is not None and not listed.ok:
            lines = Mask().lines(listed.tail)
            yield Finding(where=f"remote {remote}", what="it does not say what is pushed", details=lines)
        elif listed is None or commit not in listed.stdout:
            what = f"it is not pushed: {remote} does not have it" if remote else "it is not pushed: there is no remote"
            to = "HEAD" if self._one("symbolic-ref", "--quiet", "HEAD") else "HEAD:refs/heads/BRANCH"
            hint = f"git push {remote} {to}" if remote else "git remote add origin …"
            yield Finding(where=f"commit {commit}", what=what, hint=hint)

    def _cleanness(self) -> Iterator[Finding]:
        """Say what of the work tree is not as committed, submodules first, and where nobody knows."""
        moved = dict(self._moved_submodules())
        for path, word in moved.items():
            hint = "git submodule update --init --recursive"
            yield Finding(where=f"submodule {path}", what=f"it {word}", hint=hint)
        found = differences(self.folder, self.run)
        changed = tuple(line for line in found.changed if line[:1] != " " or line[3:] not in moved)
        if changed:
            yield self._of_files(
                changed,
                "the work tree differs from HEAD: what is built would not be what is tagged",
                "commit it and tag again, or git stash",
            )
        if found.unwatched:
            yield self._of_files(
                found.unwatched,
                "git was told not to look at these files, so that nobody knows whether they are as tagged",
                "git update-index --no-assume-unchanged FILE; git update-index --no-skip-worktree FILE",
            )
        if found.left_out:
            yield self._of_files(
                found.left_out,
                "the checkout is sparse: it leaves out what belongs to the release",
                "git sparse-checkout disable",
            )

    def _of_files(self, names: tuple[str, ...], what: str, hint: str) -> Finding:
        more = [f"… and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
        return Finding(where=str(self.folder), what=what, details=(*names[:SHOWN], *more), hint=hint)

    def _moved_submodules(self) -> Iterator[tuple[str, str]]:
        # git's documentation of submodule status: "-" not initialised, "+" another commit than the index says,
        # "U" merge conflicts
        words = {"-": "is not checked out", "+": "is at another commit than the one recorded", "U": "has conflicts"}
        for line in self._git("submodule", "status", "--recursive").stdout.splitlines():
            if line[:1] in words:
                yield line[1:].split()[1], words[line[0]]

    def _pushed(self, tag: str, commit: str) -> Iterator[Finding]:
        remote = self.remote()
        if remote is None:
            yield Finding(
                where=f"tag {tag}", what="it is not pushed: there is no remote", hint="git remote add origin …"
            )
            return
        asked = self._listed(remote, "--tags", f"refs/tags/{tag}", f"refs/tags/{tag}^{{}}")
        if not asked.ok:
            lines = Mask().lines(asked.tail)
            yield Finding(where=f"remote {remote}", what="it does not say whether the tag is pushed", details=lines)
            return
        # An annotated tag has two lines; the one with ^{} is the commit, and comes last.
        found = [line.split()[0] for line in asked.stdout.splitlines()]
        if not found:
            yield Finding(where=f"tag {tag}", what=f"{remote} does not have it", hint=f"git push {remote} {tag}")
        elif found[-1] != commit:
            what = f"{remote} has it at commit {found[-1]}, and here it is {commit}"
            hint = "a tag that was pushed is never moved: release another version"
            yield Finding(where=f"tag {tag}", what=what, hint=hint)

    def _listed(self, remote: str, *words: str) -> Completed:
        address, access = confidential(self._one("remote", "get-url", remote) or remote)
        options = [word for word in words if word.startswith("-")]
        return self._git("ls-remote", *options, address, *words[len(options) :], access=access)

    def _one(self, *words: str) -> str | None:
        return self._git(*words).stdout.strip() or None

    def _git(self, *words: str, access: Mapping[str, str] | None = None) -> Completed:
        return git(self.run, self.folder, *words, env=access, timeout=120)
