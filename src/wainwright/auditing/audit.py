"""The audit: a verdict on a wheel that depends on the wheel, the given libraries, the terms and the policy alone."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence

from wainwright.formats.archive import Archive, ArchiveError
from wainwright.formats.wheelname import parse_wheel_name
from wainwright.light import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from wainwright.auditing.case import Case
    from wainwright.auditing.terms import Outside, Terms
    from wainwright.auditing.verdict import Verdict
    from wainwright.values import Glibc, StrPath


def audit(
    wheel: StrPath,
    *,
    claim: Glibc | None = None,
    terms: Terms | None = None,
    libraries: Sequence[Outside] = (),
    original: Path | None = None,
) -> Verdict:
    """Judge one wheel: by its own tags, or by `claim` in their stead.

    `libraries` are the outside libraries as the build image had them, `original` the wheel before its repair. Raises
    ArchiveError for what is no wheel or cannot be read at all; whatever else is wrong is a violation.
    """
    case = examine(wheel, claim=claim, terms=terms, libraries=libraries, original=original)
    from wainwright.auditing.judging import judge

    return judge(case)


def examine(
    wheel: StrPath,
    *,
    claim: Glibc | None = None,
    terms: Terms | None = None,
    libraries: Sequence[Outside] = (),
    original: Path | None = None,
) -> Case:
    """Read and measure one wheel without judging it; takes and raises what `audit` does."""
    try:
        name = parse_wheel_name(posixpath.basename(wheel))
    except ArchiveError as error:
        error.where = os.fspath(wheel)
        raise
    with Archive.open(wheel, hashed=True) as archive:  # a thread computes its hash during the imports that follow
        from wainwright.auditing.inspection import Inspecting

        with Inspecting(archive) as inspecting:  # and others read its largest members
            from wainwright.auditing import judging  # noqa: F401 - all are to be there when the threads have ended
            from wainwright.auditing.examining import examined
            from wainwright.auditing.terms import Terms

            return examined(
                inspecting,
                name,
                claim=claim,
                terms=terms or Terms(),
                libraries=tuple(libraries),
                original_size=original.stat().st_size if original is not None else None,
            )
