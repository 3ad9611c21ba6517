"""`wainwright diff OLD NEW`: its arguments, and what it prints."""

from __future__ import annotations

import argparse
from pathlib import Path

from wainwright.errors import Exit
from wainwright.light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wainwright.comparing.difference import Difference
    from wainwright.comparing.failing import Failure


def add_arguments(diff: argparse.ArgumentParser) -> None:
    """Say what the command does and takes."""
    diff.description = "Compare two wheels: exit 0, 1 when a condition of --fail-on is met, 2 when one cannot be read."
    diff.add_argument("old", type=Path, metavar="OLD")
    diff.add_argument("new", type=Path, metavar="NEW")
    form = diff.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the difference as JSON, and nothing else")
    form.add_argument("--markdown", action="store_true", help="print it as Markdown")
    diff.add_argument(
        "--fail-on", action="append", default=[], metavar="CONDITIONS",
        help="added-library, removed-library, raised-floor, grown=10%%: parted by commas; may be repeated. A library "
        "is added that is newly inside, needed or missing; a floor is the measured or the lowest claimed one; a wheel "
        "grows as a file or installed",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Compare, print, and give the exit code."""
    from wainwright.comparing.failing import judge, parse_conditions

    conditions = parse_conditions(arguments.fail_on)
    from wainwright.comparing.diffing import compare

    difference = compare(arguments.old, arguments.new)
    failures = judge(difference, conditions)
    print(shown(difference, failures, as_json=arguments.json, markdown=arguments.markdown))
    return Exit.FELL_SHORT if failures else Exit.RIGHT


def document(difference: Difference, failures: Sequence[Failure]) -> dict[str, Any]:
    """Give what `wainwright diff --json` prints."""
    from wainwright.comparing.difference import VERSION

    return {"version": VERSION, **difference.to_json(), "failures": [failure.to_json() for failure in failures]}


def shown(difference: Difference, failures: Sequence[Failure], *, as_json: bool = False, markdown: bool = False) -> str:
    """Give a difference in the form that was asked for."""
    if as_json:
        import json

        return json.dumps(document(difference, failures), indent=2)
    from wainwright.comparing.diffrendering import render_markdown, render_text

    return (render_markdown if markdown else render_text)(difference, failures)
