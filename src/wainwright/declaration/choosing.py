"""Which of the declared wheels pip would take from each destination, for whom. Pure: by tags and versions alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import Final

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import BuildTag, parse_wheel_filename
from packaging.version import Version

from wainwright.declaration.planning import Job
from wainwright.values import Glibc, Python

# By the minor of glibc 2: the legacy alias, and the first pip that knows it
ALIASES: Final = {5: ("manylinux1", "8.1"), 12: ("manylinux2010", "19.0"), 17: ("manylinux2014", "19.3")}
PERENNIAL_SINCE: Final = "20.3"  # PEP 600
PIPS: Final = ("19.3", "20.2", "20.3", "26.0")
# CentOS 7, Ubuntu 18.04, Debian 10, Ubuntu 20.04, RHEL 9, Ubuntu 22.04, Debian 12, Ubuntu 24.04
GLIBCS: Final = tuple(Glibc(2, minor) for minor in (17, 27, 28, 31, 34, 35, 36, 39))


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Somebody who says `pip install`."""

    python: Python
    pip: str
    glibc: Glibc
    arch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A wheel that is to be had somewhere."""

    name: str
    variant: str
    backends: frozenset[str]

    @property
    def version(self) -> Version:
        return parse_wheel_filename(self.name)[1]

    @property
    def build(self) -> BuildTag:
        return parse_wheel_filename(self.name)[2]

    @property
    def tags(self) -> frozenset[Tag]:
        return parse_wheel_filename(self.name)[3]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What one user gets at one place.

    `taken` is None when this pip finds nothing; `could` is all that would run there, whether this pip knows it or not.
    """

    place: str
    user: User
    taken: Offer | None
    could: tuple[Offer, ...]


def platforms(user: User) -> Iterator[str]:
    """Give the platform tags that this pip takes on this glibc, the newest first.

    PEP 600: "installers should prefer the newest" of the compatible tags; for pip before 20.3 only the three legacy
    aliases exist. No manylinux tag of another architecture than x86 is older than 2.17.
    """
    pip = Version(user.pip)
    yield f"linux_{user.arch}"  # made on this very machine, for all that pip knows
    lowest = 5 if user.arch in {"x86_64", "i686"} else 17
    for minor in range(user.glibc.minor, lowest - 1, -1):
        if pip >= Version(PERENNIAL_SINCE):
            yield f"manylinux_2_{minor}_{user.arch}"
        alias, since = ALIASES.get(minor, ("", ""))
        if alias and pip >= Version(since):
            yield f"{alias}_{user.arch}"


@cache
def ranks(user: User) -> Mapping[Tag, int]:
    """Give every tag that this pip takes with its rank; 0 is taken before all others."""
    version = (user.python.major, user.python.minor)
    abi = user.python.tag if version >= (3, 8) else f"{user.python.tag}m"
    names = tuple(platforms(user))
    tags = [*cpython_tags(version, [abi], names), *compatible_tags(version, f"cp{version[0]}{version[1]}", names)]
    ranked: dict[Tag, int] = {}
    for rank, tag in enumerate(tags):
        ranked.setdefault(tag, rank)
    return ranked


def choose(user: User, offers: Iterable[Offer], *, place: str = "") -> Choice:
    """Choose as pip does: the highest version, a local one above its public one, then the best tag and build."""
    offers = tuple(offers)
    known = ranks(user)
    taking = [offer for offer in offers if not known.keys().isdisjoint(offer.tags)]
    running = ranks(replace(user, pip=PIPS[-1])).keys()

    def key(offer: Offer) -> tuple[Version, int, BuildTag]:
        return offer.version, -min(known[tag] for tag in offer.tags if tag in known), offer.build

    could = tuple(offer for offer in offers if not running.isdisjoint(offer.tags))
    return Choice(place=place, user=user, taken=max(taking, key=key, default=None), could=could)


def offers(jobs: Iterable[Job], name: str, version: str) -> Mapping[str, tuple[Offer, ...]]:
    """Give what each place that pip can ask would offer.

    A release page is such a place only with `index`; it then has a page for all wheels and one for each variant. Where
    only the build can tell the ABI, it is taken to be the Python's own.
    """
    found: dict[str, list[Offer]] = {}
    for job in jobs:
        own = job.python.tag if (job.python.major, job.python.minor) >= (3, 8) else f"{job.python.tag}m"
        wheel = job.filename(name, version).replace("-*-", f"-{own}-")
        offer = Offer(name=wheel, variant=job.variant.name, backends=frozenset(job.variant.backends))
        for destination in job.destinations:
            if destination.kind == "index":
                found.setdefault(destination.name, []).append(offer)
            elif destination.index:
                found.setdefault(destination.name, []).append(offer)
                found.setdefault(f"{destination.name}/{job.variant.name}", []).append(offer)
    return {place: tuple(dict.fromkeys(there)) for place, there in found.items()}


def users(jobs: Sequence[Job], *, pips: Iterable[str] = PIPS, glibcs: Iterable[Glibc] = GLIBCS) -> tuple[User, ...]:
    """Give everybody to think of: each declared Python and architecture with these pips, on these floors and ours."""
    versions = sorted({job.glibc for job in jobs} | set(glibcs))
    pairs = sorted({(job.python, job.arch) for job in jobs})
    return tuple(
        User(python=python, pip=pip, glibc=glibc, arch=arch)
        for python, arch in pairs
        for pip in pips
        if _runs(pip, python)
        for glibc in versions
    )


def _runs(pip: str, python: Python) -> bool:
    """Whether this pip runs on this Python: 20.2 is the last that knows nothing of PEP 600, and 3.10 brings 21.2."""
    return Version(pip) >= Version("20.3") or (python.major, python.minor) <= (3, 9)


def choices(there: Mapping[str, Sequence[Offer]], people: Iterable[User]) -> tuple[Choice, ...]:
    people = tuple(people)
    return tuple(choose(user, offered, place=place) for place, offered in there.items() for user in people)


def answer(jobs: Sequence[Job], name: str, version: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Say who gets which of the planned wheels, and what to be warned of: the lines of a table, and the warnings."""
    there = offers(jobs, name, version)
    made = choices(there, users(jobs))
    return table(made), warnings(there, made)


def table(made: Iterable[Choice]) -> tuple[str, ...]:
    """Give a line for each place, Python and pip: `pypi, Python 3.10, pip 20.2: reduced on glibc 2.17-2.39`."""
    lines = []
    for (place, python, pip, arch), group in groupby(
        made, key=lambda each: (each.place, each.user.python, each.user.pip, each.user.arch)
    ):
        parts = []
        for variant, run in groupby(group, key=lambda each: each.taken.variant if each.taken else "nothing"):
            floors = [each.user.glibc for each in run]
            span = f"{floors[0]}-{floors[-1]}" if len(floors) > 1 else str(floors[0])
            parts.append(f"{variant} on glibc {span}")
        lines.append(f"{place}, Python {python} ({arch}), pip {pip}: {', '.join(parts)}")
    return tuple(lines)


def warnings(there: Mapping[str, Sequence[Offer]], made: Sequence[Choice]) -> tuple[str, ...]:
    """Say where a reduced variant is taken although a fuller one would run, and what nobody can ever get."""
    passed: dict[tuple[str, str, str], list[User]] = {}
    for each in made:
        for other in each.could:
            if each.taken is not None and each.taken.backends < other.backends:
                passed.setdefault((each.place, each.taken.variant, other.variant), []).append(each.user)
    lines = [
        f"{place}: pip takes {reduced} although {full} would run there too, for {_people(who)}"
        for (place, reduced, full), who in passed.items()
    ]
    taken = {(each.place, each.taken) for each in made if each.taken}
    for place, offered in there.items():
        never = [offer for offer in offered if (place, offer) not in taken]
        lines += [f"{place}: nobody ever gets {offer.name}: {_why(place, offer, made)}" for offer in never]
    return tuple(lines)


def _why(place: str, offer: Offer, made: Iterable[Choice]) -> str:
    rivals = {each.taken.variant for each in made if each.place == place and offer in each.could and each.taken}
    return f"pip prefers {' and '.join(sorted(rivals))} wherever it runs" if rivals else "no pip that runs it takes it"


def _people(who: Sequence[User]) -> str:
    pythons = ", ".join(map(str, sorted({user.python for user in who})))
    pips = ", ".join(sorted({user.pip for user in who}, key=Version))
    glibcs = sorted({user.glibc for user in who})
    span = f"{glibcs[0]}-{glibcs[-1]}" if len(glibcs) > 1 else str(glibcs[0])
    return f"Python {pythons} with pip {pips} on glibc {span}"
