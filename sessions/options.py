"""What follows `--`: parsed once, and meaning the same in every session."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NoReturn

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
    help: bool = False

    @property
    def tag(self) -> str | None:
        return self.words[0] if self.words else None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise WainwrightError(
            message,
            where="options after --",
            hint="they are: a tag, --only 'llvm-*', --jobs N, --dry-run, --json; for publish and release --only pypi, "
            "--skip github, --push, --reseal; for images --update, --push; --help says more",
        )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


_positive.__name__ = "number of jobs"  # argparse says: invalid number of jobs value


FLAGS: Final = {
    "--dry-run": "do every read, say what would be done, and write nothing",
    "--json": "one JSON object a session on stdout",
    "--update": "images: pin what the references lead to by now",
    "--push": "images: push what was built here; publish, release: push the index page",
    "--reseal": "publish, release: seal the tag's wheels anew, as long as none of them is public",
    "--help": "this list",
}


@lru_cache
def _parser() -> _Parser:
    parser = _Parser(
        prog="nox -s SESSION --",
        usage="nox -s SESSION… -- [OPTION…] [WORD…], or so: tox -e SESSION -- …, wainwright SESSION -- …",
        description="Options mean the same in every session, and go to those that a session requires, too.",
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument(
        "words", nargs="*", metavar="WORD",
        help="a tag (v0.9.2) or `nightly`; images, compat: names of images; diff: [OLD [NEW]]",
    )  # fmt: skip
    parser.add_argument(
        "--only", metavar="WHAT",
        help="the jobs whose ids match a pattern ('llvm-*'); preflight, publish, release: one destination (pypi)",
    )  # fmt: skip
    parser.add_argument(
        "--skip", metavar="DESTINATION", action="append", default=[],
        help="preflight, publish, release: leave a destination out; may be repeated",
    )  # fmt: skip
    cores = len(os.sched_getaffinity(0))
    parser.add_argument(
        "--jobs", "-j", type=_positive, default=cores, metavar="N", help=f"jobs at once; here {cores} unless told"
    )
    for flag, text in FLAGS.items():
        parser.add_argument(flag, *(["-h"] if flag == "--help" else []), action="store_true", help=text)
    return parser


def listing() -> str:
    """Give every option with what it does."""
    return _parser().format_help()


@lru_cache
def parse(arguments: tuple[str, ...]) -> Options:
    """Read the arguments after `--`; raises WainwrightError that lists what there is."""
    found = vars(_parser().parse_intermixed_args(list(arguments)))
    return Options(**found | {"words": tuple(found["words"]), "skip": tuple(found["skip"])})


def parse_posargs(posargs: Sequence[str]) -> Options:
    return parse(tuple(posargs))
