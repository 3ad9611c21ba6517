"""What follows `--`: parsed once, and meaning the same in every session."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from wainwright.errors import WainwrightError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`words` are what stands alone: a tag for most sessions, images for `images` and `compat`, wheels for `diff`.

    `only` is a pattern of job ids, or a destination; `skip` are destinations. `update` is for `images`, `reseal` for
    `publish`, `push` for the images and for the index pages.
    """

    words: tuple[str, ...] = ()
    only: str | None = None
    skip: tuple[str, ...] = ()
    jobs: int = 1
    dry_run: bool = False
    json: bool = False
    update: bool = False
    push: bool = False
    reseal: bool = False

    @property
    def tag(self) -> str | None:
        return self.words[0] if self.words else None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise WainwrightError(
            message,
            where="options after --",
            hint="they are: a tag, --only 'llvm-*', --jobs N, --dry-run, --json; for publish and release --only pypi, "
            "--skip github, --push, --reseal; for images --update, --push",
        )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


_positive.__name__ = "number of jobs"  # argparse says: invalid number of jobs value


@lru_cache
def parse(arguments: tuple[str, ...]) -> Options:
    """Read the arguments after `--`; raises WainwrightError that lists what there is."""
    parser = _Parser(prog="wainwright", add_help=False, allow_abbrev=False)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--only", metavar="PATTERN")
    parser.add_argument("--jobs", "-j", type=_positive, default=len(os.sched_getaffinity(0)), metavar="N")
    parser.add_argument("--skip", metavar="DESTINATION", action="append", default=[])
    for flag in ("--dry-run", "--json", "--update", "--push", "--reseal"):
        parser.add_argument(flag, action="store_true")
    found = vars(parser.parse_intermixed_args(list(arguments)))
    return Options(**found | {"words": tuple(found["words"]), "skip": tuple(found["skip"])})


def parse_posargs(posargs: Sequence[str]) -> Options:
    return parse(tuple(posargs))
