"""The loader's own verdict: whether the dynamic loader of a place takes each ELF file of a wheel, in its words.

It needs no Python in there, and runs nothing of the wheel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wainwright.auditing.terms import Outside, Terms
from wainwright.running import tracing
from wainwright.running.places import Place
from wainwright.running.tracing import LOADERS, Answer, Unpacked, unpack

__all__ = ["Answer", "Refusal", "Unpacked", "ask_loader", "describe", "left_out", "refusals", "unpack"]

# `libc`, `libstdc++` (the version in its file's name) and `os` of a place, each on a line, where it can be told.
FACTS: Final = r"""
libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || libc=$(ldd --version 2>&1 | sed -n '1s/.* //p')
printf 'libc %s\n' "${libc#glibc }"
for file in /usr/lib/*/libstdc++.so.6 /usr/lib64/libstdc++.so.6 /usr/lib/libstdc++.so.6; do
  [ -e "$file" ] && file=$(readlink -f "$file") && printf 'libstdc++ %s\n' "${file##*.so.}" && break
done
[ -r /etc/os-release ] && (. /etc/os-release; printf 'os %s\n' "$PRETTY_NAME")
true
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a member does not load in a place: one of the loader's sentences."""

    member: str
    words: str

    def __str__(self) -> str:
        return f"{self.member}: {self.words}"


def ask_loader(place: Place, unpacked: Unpacked, *, arch: str, log: Path | None = None) -> tuple[Answer, ...]:
    """Ask the loader of a place about each unpacked file, as a user's process would have it: without LD_ variables.

    A place without glibc's loader for this architecture answers that of every member. Raises WainwrightError (ENGINE)
    when the question could not be put, or was not answered.
    """
    env = {name: value for name, value in place.environment().items() if not name.startswith("LD_")}
    said = tracing.ask_loader(place, unpacked, arch=arch, env=env, log=log)
    if said is not None:
        return said
    words = (f"there is no {LOADERS.get(arch, LOADERS['x86_64'])} here: no glibc for {arch}",)
    return tuple(Answer(member=member, words=words) for _, member in unpacked.members)


def refusals(
    answers: Iterable[Answer], unpacked: Unpacked, terms: Terms, libraries: Iterable[Outside] = ()
) -> tuple[Refusal, ...]:
    """Tell why the members do not load, if they do not.

    A library that is absent is no reason when the terms leave it to the user or to another wheel (`libraries`, as the
    build image had them, say what a path pattern means), or when it is in the wheel itself: something has loaded it by
    then, and whether that holds is for the audit and the imports.
    """
    reasons: list[Refusal] = []
    answers = tuple(answers)
    left = left_out(answers, terms, libraries)
    for answer in answers:
        reasons += [Refusal(member=answer.member, words=words) for words in answer.words]
        absent = (name for name in answer.missing if name not in left and name not in unpacked.sonames)
        reasons += [Refusal(member=answer.member, words=f"{name} => not found") for name in absent]
    return tuple(reasons)


def left_out(answers: Iterable[Answer], terms: Terms, libraries: Iterable[Outside] = ()) -> tuple[str, ...]:
    """Name the libraries that are absent, and are meant to come from the user's machine or from another wheel."""
    patterns = (*terms.exclude, *terms.exclude_optional, *(pattern for pattern, _ in terms.provided_by))
    meant = {
        name
        for library in libraries
        if any(pattern.matches(library) for pattern in patterns)
        for name in (library.name, library.soname)
    }
    absent = {name for answer in answers for name in answer.missing}
    return tuple(
        sorted(name for name in absent if name in meant or any(pattern.matches_name(name) for pattern in patterns))
    )


def describe(place: Place) -> dict[str, str]:
    """Say what a place is made of: `libc`, `libstdc++` and `os`, as far as it can tell."""
    done = place.run(["sh", "-c", FACTS], env=place.environment(), capture=True)
    rows = (line.partition(" ") for line in done.stdout.splitlines())
    return {name: value for name, _, value in rows if value}
