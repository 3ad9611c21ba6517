"""`wainwright audit`, `retag` and `diff`: the command line for wheels at hand, without any release.toml."""

from __future__ import annotations

import argparse
import gc
import os
import posixpath
import sys
from collections.abc import Callable, Sequence

from wainwright.errors import Exit, WainwrightError
from wainwright.light import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from wainwright.auditing.terms import Terms
    from wainwright.auditing.verdict import Verdict
    from wainwright.values import Glibc


class _Formatter(argparse.HelpFormatter):
    """Asks os how wide the terminal is: argparse asks shutil, whose import takes longer than all else in here."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and len(told) < 6 and int(told):
        return int(told)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (AttributeError, OSError, ValueError):  # closed, no terminal, no file
        return 80


class _Parser(argparse.ArgumentParser):
    """Reports a bad argument as every other mistake is reported: one error, one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        raise WainwrightError(message, hint=f"{self.prog} --help")


def main(argv: Sequence[str]) -> int:
    """Run one command and give its exit code; raises WainwrightError for bad arguments."""
    gc.set_threshold(100_000)  # thousands of members are thousands of values, none of which refers to itself
    add, run = _command(argv[0])
    parser = _Parser(prog=f"wainwright {argv[0]}")
    add(parser)
    try:
        arguments = parser.parse_args(list(argv[1:]))
    except SystemExit as finished:  # --help
        return finished.code if isinstance(finished.code, int) else Exit.RIGHT
    return run(arguments)


def _command(name: str) -> tuple[Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]]:
    """Give what adds a command's arguments, and what runs it."""
    if name == "retag":
        from wainwright import retagcli

        return retagcli.add_arguments, retagcli.run
    if name == "diff":
        from wainwright import diffcli

        return diffcli.add_arguments, diffcli.run
    return _add_arguments, _audit


def glibc(text: str) -> Glibc:
    """Read a glibc version as argparse wants it."""
    from wainwright.values import Glibc

    try:
        return Glibc.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _add_arguments(audit: argparse.ArgumentParser) -> None:
    audit.description = "Judge wheels: exit 0 when each keeps its claim, 1 on a violation, 2 when one cannot be read."
    audit.add_argument("wheels", nargs="+", metavar="WHEEL", help="a file")
    audit.add_argument("--glibc", type=glibc, metavar="2.17", help="the claim, in the stead of the wheel's own tags")
    audit.add_argument(
        "--exclude", action="append", default=[], metavar="PATTERN",
        help="a library left to the user's machine, by soname; may be repeated; one that matches nothing is an error",
    )  # fmt: skip
    audit.add_argument(
        "--allow",
        action="append",
        default=[],
        type=_rule,
        metavar="RULE",
        help="only warn of this; may be repeated, and `--allow ?` names all rules",
    )
    audit.add_argument(
        "--deny",
        action="append",
        default=[],
        type=_rule,
        metavar="RULE",
        help="make a violation of what is otherwise only told; may be repeated, and weighs more than --allow",
    )
    audit.add_argument(
        "--json", action="store_true", help="print the verdicts as JSON with every need, and nothing else"
    )


def _rule(text: str) -> str:
    from wainwright.auditing.rules import RULES

    names = sorted({rule.name for rule in RULES})
    if text not in names:
        import difflib

        near = difflib.get_close_matches(text, names, n=3)
        raise argparse.ArgumentTypeError(
            f"there is no rule {text!r}; {'near are' if near else 'there are'} {', '.join(near or names)}"
        )
    return text


def _audit(arguments: argparse.Namespace) -> int:
    from wainwright.auditing.audit import audit
    from wainwright.formats.archive import ArchiveError

    verdicts: list[Verdict] = []
    errors: list[tuple[str, str]] = []
    for wheel in (path.rstrip("/") for path in arguments.wheels):
        try:
            verdicts.append(audit(wheel, claim=arguments.glibc, terms=_terms(arguments)))
        except ArchiveError as error:
            errors.append((posixpath.basename(wheel), str(error)))
    verdicts = _matched_elsewhere(verdicts)
    _show(verdicts, errors, as_json=arguments.json)
    if errors:
        return Exit.USAGE
    return Exit.RIGHT if all(verdict.ok for verdict in verdicts) else Exit.FELL_SHORT


def _terms(arguments: argparse.Namespace) -> Terms | None:
    if not (arguments.exclude or arguments.allow or arguments.deny):
        return None
    from wainwright.auditing.terms import Pattern, Terms

    return Terms(
        exclude=tuple(Pattern(text) for text in dict.fromkeys(arguments.exclude)),
        allow=frozenset(arguments.allow),
        deny=frozenset(arguments.deny),
    )


def _matched_elsewhere(verdicts: list[Verdict]) -> list[Verdict]:
    """Of several wheels, a pattern need match in one alone."""
    from wainwright.light import replace

    matched = {pattern for verdict in verdicts for pattern, names in verdict.matched if names}
    return [
        replace(
            verdict,
            violations=tuple(
                found
                for found in verdict.violations
                if found.rule != "unmatched-pattern" or found.library not in matched
            ),
        )
        for verdict in verdicts
    ]


def _show(verdicts: list[Verdict], errors: list[tuple[str, str]], *, as_json: bool) -> None:
    if as_json:
        import json

        from wainwright.auditing.verdict import document

        print(json.dumps(document(verdicts, errors), indent=2))
    elif verdicts:
        from wainwright.auditing.rendering import render

        print("\n\n".join(render(verdict) for verdict in verdicts))
    for _, message in errors:
        print(f"error: {message}", file=sys.stderr)
