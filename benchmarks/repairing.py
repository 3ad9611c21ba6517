"""Repairs one wheel as the audit session does: judged, grafted, retagged, and judged again."""

from __future__ import annotations

import sys
from pathlib import Path

from wainwright.auditing.audit import audit
from wainwright.auditing.graft import graft
from wainwright.auditing.retag import retag
from wainwright.auditing.terms import Outside, Pattern, Terms
from wainwright.formats.archive import Archive
from wainwright.run import run
from wainwright.values import Glibc


def main(wheel: Path, dependency: Path, folder: Path, glibc: str, *excluded: str) -> None:
    floor = Glibc.parse(glibc)
    terms = Terms(exclude_optional=tuple(map(Pattern, excluded)))
    name = dependency.name
    found = Outside(name=name, soname=name, path=f"/lib/{name}", real_path=f"/lib/{name}", copy=dependency)
    before = audit(wheel, claim=floor, terms=terms, libraries=(found,))
    done = graft(
        wheel, folder / "grafted", names=before.libraries.missing, glibc=floor, arch="x86_64", terms=terms,
        libraries=(found,), run=run, members=before.libraries.who_need(before.libraries.missing),
    )  # fmt: skip
    result = retag(done.path, folder, platforms=floor.platforms("x86_64"))
    verdict = audit(result, terms=terms, libraries=(found,), original=wheel)
    if name in verdict.libraries.missing:
        sys.exit(f"{name} is still missing")
    with Archive.open(result) as archive:
        if not any("libdep-" in entry.name for entry in archive.entries):
            sys.exit(f"{name} was not grafted")


if __name__ == "__main__":
    wheel, dependency, folder, *rest = sys.argv[1:]
    main(Path(wheel), Path(dependency), Path(folder), *rest)
