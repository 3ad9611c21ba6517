"""release.toml from text to values: TOML, then its schema, then the checks that a schema cannot make.

Every mistake in the file is reported at once, each on a line of its own with its key path.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import tomli

from wainwright.counting import counted
from wainwright.declaration import complaints, crosschecks, planchecks
from wainwright.declaration.document import Document, Mistake
from wainwright.declaration.release import Release
from wainwright.declaration.unpack import unpack
from wainwright.errors import WainwrightError

EXAMPLE: Final = """`wainwright audit WHEEL` needs none; a release.toml begins like this:

[project]
source = "."

[backends.cpu]

[images.zig]
toolchain = "zig"

[targets."2.17"]
image = "zig"

[variants.full]
backends = ["cpu"]
glibc = ["2.17"]"""


def load(path: Path) -> Release:
    """Read a release.toml. Raises WainwrightError (exit code 2) with one line of details a mistake."""
    where = _spelt(path)
    document = Document(_parse(path, where))
    checks: tuple[Callable[[Document], list[Mistake]], ...] = (
        complaints.of_schema,
        partial(crosschecks.of_document, root=path.parent),
    )
    mistakes: list[Mistake] = []
    for check in checks:
        fresh = check(document)
        mistakes += fresh
        document = document.without(mistake.path for mistake in fresh)
    document = document.without(crosschecks.unusable(document))
    release = unpack(document.pruned(), path)
    mistakes += planchecks.of_jobs(document, release)
    if mistakes:
        lines = document.in_order(mistakes)
        raise WainwrightError(counted(len(lines), "mistake"), where=where, details=tuple(map(str, lines)))
    return release


def _spelt(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def _parse(path: Path, where: str) -> dict[str, Any]:
    try:
        return tomli.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        raise WainwrightError(f"there is no {path.name} here", where=where, hint=EXAMPLE) from None
    except OSError as error:
        raise WainwrightError(f"it cannot be read: {error.strerror}", where=where) from None
    except tomli.TOMLDecodeError as error:
        what = f"this is no TOML: {error.msg[:1].lower()}{error.msg[1:]}"
        raise WainwrightError(what, where=f"{where}, line {error.lineno}, column {error.colno}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise WainwrightError("this is no TOML: it is not UTF-8", where=f"{where}, line {line}") from None
    except RecursionError:
        raise WainwrightError("it is nested too deeply", where=where) from None
