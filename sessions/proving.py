"""What smoke asks before any Python and after it: the loader of the image, and what the process really mapped."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from wainwright.auditing.terms import Outside, Terms
from wainwright.counting import counted
from wainwright.declaration.release import Loaded
from wainwright.errors import Exit, WainwrightError
from wainwright.running.loading import ask_loader, describe, left_out, refusals, unpack
from wainwright.running.mapped import mistakes, part
from wainwright.running.places import Place


def prove_loading(
    place: Place,
    wheel: Path,
    *,
    arch: str,
    terms: Terms,
    libraries: Iterable[Outside],
    where: str,
    log: Path,
) -> dict[str, Any]:
    """Have the place's own loader look at every ELF file of a wheel; gives what the place is made of, for the receipt.

    `libraries` are the outside libraries as the build image had them. Raises WainwrightError (SMOKE) with the loader's
    own words for each member that does not load.
    """
    libraries = tuple(libraries)
    with tempfile.TemporaryDirectory(prefix=".tmp-loading-", dir=log.parent) as temporary:
        unpacked = unpack(wheel, Path(temporary))
        answers = ask_loader(place, unpacked, arch=arch, log=log)
    facts = describe(place)
    refused = refusals(answers, unpacked, terms, libraries)
    if refused:
        members = len({refusal.member for refusal in refused})
        raise WainwrightError(
            f"the loader refuses {members} of {counted(len(unpacked.members), 'native file')}"
            f" ({facts.get('os', 'this image')}, glibc {facts.get('libc', '?')})",
            code=Exit.SMOKE,
            where=where,
            details=tuple(map(str, refused)),
            hint="these are the loader's own words: build in an image that is as old, bundle what is absent, or take "
            "this image out of `smoke` and raise the variant's glibc",
        )
    left = left_out(answers, terms, libraries)
    return {**facts, "loads": len(unpacked.members), "left-to-the-user": list(left)}


def prove_mapped(files: Sequence[str], expected: Loaded, *, prefix: str, where: str) -> dict[str, Any]:
    """Hold what a process mapped against `smoke.loaded`; gives the libraries on both sides, for the receipt.

    Raises WainwrightError (SMOKE) that names each pattern that is not as it should be.
    """
    found = part(files, prefix)
    wrong = mistakes(found, expected)
    if wrong:
        raise WainwrightError(
            "the process did not map the libraries that it should",
            code=Exit.SMOKE,
            where=f"{where}, smoke.loaded",
            details=(*wrong, "mapped from the wheel:", *found.inside, "from the system:", *found.outside),
            hint="look at libraries.exclude, bundle and keep-name of the variant",
        )
    return {"inside": list(found.inside), "outside": list(found.outside)}
