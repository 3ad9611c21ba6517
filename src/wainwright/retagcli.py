"""`wainwright retag WHEEL…`: the tags that a wheel has measured up to, or named ones that it can keep."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from wainwright.cli import glibc
from wainwright.errors import Exit, WainwrightError
from wainwright.light import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from wainwright.auditing.verdict import Verdict
    from wainwright.values import Glibc

# What new tags set right, or what says no more than that the old ones were wrong.
MENDED: Final = frozenset({"tag-mismatch"})


def add_arguments(retag: argparse.ArgumentParser) -> None:
    """Say what the command does and takes."""
    retag.description = (
        "Replace every platform tag of a wheel by what was measured, or by a named floor that it keeps. No other "
        "member than WHEEL and RECORD is touched, dist-info comes last; a file of the new name is replaced. Times of "
        "new members are those of the old, or SOURCE_DATE_EPOCH. Exit 0, 1 when a wheel cannot keep the tag, 2 when it "
        "cannot be read."
    )
    retag.add_argument("wheels", nargs="+", type=Path, metavar="WHEEL")
    retag.add_argument("--glibc", type=glibc, metavar="2.28", help="this floor, not the measured one; never below it")
    retag.add_argument("--local-version", metavar="LABEL", help="put +LABEL behind the version, everywhere it stands")
    retag.add_argument("--exclude", action="append", default=[], metavar="PATTERN", help="as for audit")
    retag.add_argument(
        "--wheel-dir", "-w", type=Path, metavar="DIR", help="where to; the wheel's own folder by default"
    )


def run(arguments: argparse.Namespace) -> int:
    """Retag each wheel, and print where it lies now; what is wrong with one leaves the others to be done."""
    codes = [_retagged(wheel, arguments) for wheel in arguments.wheels]
    return max(codes)


def _retagged(wheel: Path, arguments: argparse.Namespace) -> int:
    from wainwright.auditing.retag import retag

    try:
        _hold_pythons(wheel)
        platforms = _platforms(wheel, arguments)
        folder = arguments.wheel_dir or wheel.parent
        print(retag(wheel, folder, platforms=platforms, local_version=arguments.local_version))
    except WainwrightError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.code
    return Exit.RIGHT


def _hold_pythons(wheel: Path) -> None:
    """Hold that the file has the Python and ABI tags with which it was built: no retag can tell which are true."""
    from wainwright.formats.archive import Archive
    from wainwright.formats.wheelfile import read_dist_info
    from wainwright.formats.wheelname import parse_wheel_name

    name = parse_wheel_name(wheel.name)
    with Archive.open(wheel) as archive:
        fields = read_dist_info(archive, name, files=("WHEEL",)).wheel
    named, said = ({tag.rpartition("-")[0] for tag in tags} for tags in (name.tags, fields.expanded if fields else ()))
    if said and named != said:
        raise WainwrightError(
            f"its file name says {', '.join(sorted(named))}, and its WHEEL {', '.join(sorted(said))}",
            code=Exit.FELL_SHORT,
            where=wheel.name,
            hint="give the file the name with which it was built: a platform can be measured, a Python cannot",
        )


def _platforms(wheel: Path, arguments: argparse.Namespace) -> tuple[str, ...]:
    """Give the tags, which an audit of the wheel by that claim has found kept; raises WainwrightError otherwise."""
    from wainwright.auditing.audit import audit
    from wainwright.auditing.terms import Pattern, Terms

    terms = Terms(exclude=tuple(Pattern(text) for text in dict.fromkeys(arguments.exclude)))
    seen = audit(wheel, terms=terms)
    measured = seen.measured
    if seen.arch is None or measured.tag is None:
        raise WainwrightError(
            f"there is no native code for {seen.arch or 'Linux'} inside that can be read, so no platform to tag",
            code=Exit.FELL_SHORT,
            where=wheel.name,
        )
    if measured.glibc is None:
        if measured.tag.startswith("musllinux") and arguments.glibc is None:
            return (measured.tag,)
        raise _refused(wheel, f"no glibc floor will do: it measured {measured.tag}", seen)
    floor: Glibc = arguments.glibc or measured.glibc
    if floor < measured.glibc:
        raise _refused(
            wheel, f"it needs glibc {measured.glibc}, and {floor} is below that", audit(wheel, claim=floor, terms=terms)
        )
    kept = audit(wheel, claim=floor, terms=terms)
    if any(found.rule not in MENDED for found in kept.violations):
        raise _refused(wheel, f"it falls short under the tag of glibc {floor} as well: mend first what is listed", kept)
    return floor.platforms(seen.arch)


def _refused(wheel: Path, what: str, verdict: Verdict) -> WainwrightError:
    from wainwright.auditing.rendering import render

    return WainwrightError(what, code=Exit.FELL_SHORT, where=wheel.name, details=tuple(render(verdict).splitlines()))
