"""The loader's own verdict: whether the dynamic loader of a place takes each ELF file of a wheel, in its words.

It needs no Python in there, and runs nothing of the wheel: as `ldd` does, LD_TRACE_LOADED_OBJECTS has the loader say
what it would map. That goes on where `ld.so --list` stops, at the first library that is absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from wainwright.auditing.terms import Outside, Terms
from wainwright.errors import Exit, WainwrightError
from wainwright.formats.archive import Archive
from wainwright.formats.elf import ElfError, looks_like_elf, read_elf
from wainwright.formats.wheelfile import locate
from wainwright.running.collecting import LOADERS
from wainwright.running.places import Place

# Prints `file PATH` before what the loader says of each file of the list; `loader absent` where there is none.
TRACE: Final = r"""
[ -x "$1" ] || { echo "loader absent"; exit 0; }
while IFS= read -r file; do
  printf 'file %s\n' "$file"
  LD_TRACE_LOADED_OBJECTS=1 LD_WARN= LD_BIND_NOW= "$1" "$file" 2>&1
  echo
done < "$2"
true
"""
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
class Unpacked:
    """The dynamic ELF files of a wheel in a folder, as an installer would lay them out: path there, and member."""

    folder: Path
    members: tuple[tuple[str, str], ...]
    sonames: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a loader says of one member: its complaints word for word, the libraries it lacks, and where others are."""

    member: str
    words: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    found: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a member does not load in a place: one of the loader's sentences."""

    member: str
    words: str

    def __str__(self) -> str:
        return f"{self.member}: {self.words}"


def unpack(wheel: Path, folder: Path) -> Unpacked:
    """Unpack a wheel's dynamic ELF files into `folder`; raises WainwrightError where a member would leave it."""
    members: list[tuple[str, str]] = []
    sonames: set[str] = set()
    with Archive.open(wheel) as archive:
        for entry in archive.entries:
            data = archive.digest(entry, keep=looks_like_elf).data
            if data is None:
                continue
            try:
                elf = read_elf(data)
            except ElfError:
                continue  # the audit names it
            if not elf.dynamic:
                continue
            place = locate(entry.name, root_is_purelib=False)
            inside = place.path if place.scheme in {"purelib", "platlib"} else f".{place.scheme}/{place.path}"
            path = folder / inside
            if ".." in PurePosixPath(inside).parts or inside.startswith("/") or "\n" in inside:
                raise WainwrightError(f"unsafe member name {entry.name!r}", code=Exit.FELL_SHORT, where=wheel.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o755)
            members.append((inside, entry.name))
            sonames |= {elf.soname or path.name, path.name}
    return Unpacked(folder=folder, members=tuple(members), sonames=frozenset(sonames))


def ask_loader(place: Place, unpacked: Unpacked, *, arch: str, log: Path | None = None) -> tuple[Answer, ...]:
    """Ask the loader of a place about each unpacked file.

    A place without glibc's loader for this architecture answers that of every member. Raises WainwrightError (ENGINE)
    when the question could not be put.
    """
    if not unpacked.members:
        return ()
    inside = f"{place.root}/loading"
    place.put(unpacked.folder, inside)
    listing = unpacked.folder / ".files"
    listing.write_text("".join(f"{inside}/{path}\n" for path, _ in unpacked.members), encoding="utf-8")
    place.put(listing, f"{inside}/.files")
    listing.unlink()
    loader = LOADERS.get(arch, LOADERS["x86_64"])
    env = {name: value for name, value in place.environment().items() if not name.startswith("LD_")}
    script = ["sh", "-c", TRACE, "sh", loader, f"{inside}/.files"]
    done = place.run(script, env=env, log=log, capture=True)
    done.check("the image's loader could not be asked", code=Exit.ENGINE)
    if done.stdout.startswith("loader absent"):
        words = (f"there is no {loader} here: no glibc for {arch}",)
        return tuple(Answer(member=member, words=words) for _, member in unpacked.members)
    said = dict(_parted(done.stdout))
    return tuple(
        _answer(member, said.get(f"{inside}/{path}", ()), folder=f"{inside}/") for path, member in unpacked.members
    )


def _parted(text: str) -> Iterator[tuple[str, Sequence[str]]]:
    for block in re.split(r"(?m)^file (?=/)", text)[1:]:
        file, *lines = block.splitlines()
        yield file, [line for line in lines if line.strip()]


def _answer(member: str, lines: Sequence[str], *, folder: str) -> Answer:
    """Read one file's lines: those of the trace start with a tab, any other is a complaint."""
    words: list[str] = []
    missing: list[str] = []
    found: list[tuple[str, str]] = []
    for line in lines:
        if not line.startswith("\t"):
            words.append(_without_own_name(line, folder))
        elif " => " in line:
            name, _, rest = line.strip().partition(" => ")
            if rest.startswith("not found"):
                missing.append(name)
            else:
                found.append((name, rest.rpartition(" (0x")[0].replace(folder, "")))
    unique = tuple(dict.fromkeys(words))
    return Answer(member=member, words=unique, missing=tuple(dict.fromkeys(missing)), found=tuple(found))


def _without_own_name(line: str, folder: str) -> str:
    """Take the file that was asked about off the front: the loader says it first, and we say it by its member."""
    text = line.removeprefix("error while loading shared libraries: ")
    if text.startswith(folder):
        text = text.partition(": ")[2] or text
    return text.removeprefix("error while loading shared libraries: ").replace(folder, "")


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
