"""Connects what release.toml declares under [publish] with the hosts: indexes and GitHub repositories."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from wainwright.addresses import place_of
from wainwright.completed import Run
from wainwright.declaration.release import Destination
from wainwright.errors import Exit, WainwrightError
from wainwright.finding import Finding
from wainwright.hosts.credentials import address_of
from wainwright.hosts.github import GitHub, of_environment
from wainwright.hosts.index import Index, connect
from wainwright.hosts.patience import Patience
from wainwright.masking import Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """The hosts of a release by the destination's name; `findings` says of which there is no way to one."""

    declared: Mapping[str, Destination]
    indexes: Mapping[str, Index]
    githubs: Mapping[str, GitHub]
    findings: tuple[Finding, ...] = ()

    @property
    def mask(self) -> Mask:
        """What hides every secret of these hosts."""
        return Mask(frozenset().union(*(index.pages.mask.secrets for index in self.indexes.values())))


@contextmanager
def connected(
    declared: Iterable[Destination],
    *,
    chosen: Callable[[str], bool],
    project: str,
    run: Run,
    logs: Path,
    environ: Mapping[str, str],
    patience: Patience | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[Hosts]:
    """Connect the chosen ones of the declared destinations; nothing is asked of them yet."""
    declared = tuple(declared)
    alone = sum(each.kind == "index" for each in declared) == 1
    indexes: dict[str, Index] = {}
    githubs: dict[str, GitHub] = {}
    findings: list[Finding] = []
    with ExitStack() as stack:
        for each in declared:
            if not chosen(each.name):
                continue
            where = f"publish.{each.name}"
            try:
                if each.kind == "github":
                    host = of_environment(each.repository or "", environ, patience=patience)
                    githubs[each.name] = stack.enter_context(host)
                else:
                    log = logs / f"publish.{each.name}.log"
                    indexes[each.name] = connect(
                        each, project=project, run=run, log=log, environ=environ, alone=alone, pause=pause
                    )
            except WainwrightError as error:
                findings.append(Finding.of(error, where))
        findings += _at_one_address(declared, chosen, environ)
        yield Hosts(
            declared={each.name: each for each in declared if chosen(each.name)},
            indexes=indexes,
            githubs=githubs,
            findings=tuple(findings),
        )


def _at_one_address(
    declared: Iterable[Destination], chosen: Callable[[str], bool], environ: Mapping[str, str]
) -> Iterator[Finding]:
    """Find indexes that lead to one address: what is meant for one alone would be at the other."""
    places: dict[object, list[str]] = {}
    for each in declared:
        with suppress(WainwrightError):  # told where it is connected
            if each.kind == "index":
                places.setdefault(place_of(address_of(each, environ)), []).append(each.name)
    hint = "TWINE_REPOSITORY_URL stands in for all that are named by their repository: unset it, or give each its url"
    for names in places.values():
        if len(names) > 1 and any(map(chosen, names)):
            what = f"its address is that of {', '.join(names[1:])}, too"
            given = hint if environ.get("TWINE_REPOSITORY_URL") else "give each an address of its own"
            yield Finding(where=f"publish.{names[0]}", what=what, hint=given, code=Exit.USAGE)
