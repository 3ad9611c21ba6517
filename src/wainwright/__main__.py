"""The command line: any session without Nox, and `audit`, `retag` and `diff` for a wheel at hand.

The one module of the library that knows the sessions: it is an edge, as a noxfile is.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from wainwright import __version__
from wainwright.errors import Exit, WainwrightError, of_system
from wainwright.light import Final, NoReturn

AT_HAND: Final = ("audit", "retag", "diff")
SESSION_WORDS: Final = ("--only", "--jobs", "-j", "--dry-run")

USAGE: Final = """\
usage: wainwright audit|retag|diff WHEEL…      a wheel at hand; each has --help
       wainwright SESSION… [-- OPTIONS]        sessions of ./release.toml, with all that they require
       wainwright --list                       the sessions that there are

options after --: a tag such as v0.9.2, --only 'llvm-*', --jobs N, --dry-run, --json; `wainwright plan --help` has all
"""


def command() -> NoReturn:
    """Run as a process of its own, whose memory is left to the system: to tidy it up takes as long as small wheels."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # not every terminal has every letter
    if not _is_at_hand(sys.argv[1:]):
        sys.exit(main())
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup sets it
            signal.signal(number, _interrupt)
    os._exit(main())


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, and give its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if not words or words[0] in {"-h", "--help"}:
            print(USAGE, end="")
            return Exit.RIGHT
        if words[0] == "--version":
            print(f"wainwright {__version__}")
            return Exit.RIGHT
        if _is_at_hand(words):
            from wainwright.cli import main as at_hand

            code = at_hand(words)
            if sys.stdout is not None:  # it may be closed
                sys.stdout.flush()
            return code
        return _sessions(words)
    except WainwrightError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        print("interrupted: what is done is kept; run the same command again", file=sys.stderr)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 141
    except MemoryError:
        print("error: this process may not have as much memory as that takes", file=sys.stderr)
        return Exit.ENGINE
    except OSError as error:  # of the output: whatever else cannot be read or written is told with its name above
        refusal = of_system(error)
        print(f"error: {refusal}", file=sys.stderr)
        return refusal.code


def _is_at_hand(words: Sequence[str]) -> bool:
    """Tell `wainwright audit demo.whl`, the wheel at hand, from `wainwright audit -- v0.9.2`, the session."""
    if not words or words[0] not in AT_HAND:
        return False
    if len(words) == 1:
        from pathlib import Path

        if not Path("release.toml").exists():
            return True  # it says that a wheel is missing
    return words[0] == "retag" or not (all(word.split("=")[0] in SESSION_WORDS for word in words[1:2]) or "--" in words)


def _sessions(words: Sequence[str]) -> int:
    from pathlib import Path

    from wainwright.declaration.config import load
    from wainwright.sessions.edge import closing_line, interrupted, report
    from wainwright.sessions.graph import expand, in_order
    from wainwright.sessions.options import listing, parse_posargs

    names, posargs = _split(words)
    if names and parse_posargs(posargs).help:
        print(listing(), end="")
        return Exit.RIGHT
    release = load(Path("release.toml"))
    tasks = expand(release)
    if words[0] in {"-l", "--list"}:
        for task in tasks:
            print(f"{task.name:<24}{task.doc}")
        return Exit.RIGHT
    known = {task.name for task in tasks}
    for name in names:
        if name not in known:
            raise _unknown(name, known)
    from wainwright.sessions.pipeline import Pipeline

    pipeline = Pipeline(release=release, options=parse_posargs(posargs))
    for task in in_order(tasks, tuple(names)):
        try:
            task.run(pipeline)
        except KeyboardInterrupt:
            error = interrupted()
        except WainwrightError as caught:
            error = caught
        else:
            continue
        report(error)
        print(closing_line(task.name, error), file=sys.stderr)
        return error.code
    return Exit.RIGHT


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part the sessions from their options: at `--`, or at the first option."""
    for place, word in enumerate(words):
        if word == "--":
            return list(words[:place]), list(words[place + 1 :])
        if word.startswith("-"):
            return list(words[:place]), list(words[place:])
    return list(words), []


def _unknown(name: str, known: set[str]) -> WainwrightError:
    import difflib

    near = difflib.get_close_matches(name, sorted(known), n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "`wainwright --list` shows what there is"
    return WainwrightError(f"there is no session {name!r}", hint=hint)


if __name__ == "__main__":
    command()
