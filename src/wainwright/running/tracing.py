"""What the dynamic loader of a place says of each ELF file of a wheel: its complaints, and what it finds where.

Nothing of the wheel is run: as `ldd` does, LD_TRACE_LOADED_OBJECTS has the loader say what it would map. That goes on
where `ld.so --list` stops, at the first library that is absent. A member's name may hold anything, so no answer goes by
it: the files are numbered, and a name that cannot be printed is replaced by a plain one in there.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from wainwright.completed import Completed
from wainwright.errors import Exit, WainwrightError
from wainwright.formats.archive import Archive
from wainwright.formats.elf import ElfError, read_elf
from wainwright.formats.magic import looks_like_elf
from wainwright.formats.wheelfile import locate
from wainwright.running.places import Place

# The dynamic loader of each architecture, as its psABI names it.
LOADERS: Final[Mapping[str, str]] = {
    "x86_64": "/lib64/ld-linux-x86-64.so.2",
    "i686": "/lib/ld-linux.so.2",
    "aarch64": "/lib/ld-linux-aarch64.so.1",
    "armv7l": "/lib/ld-linux-armhf.so.3",
    "ppc64le": "/lib64/ld64.so.2",
    "s390x": "/lib/ld64.so.1",
    "riscv64": "/lib/ld-linux-riscv64-lp64d.so.1",
    "loongarch64": "/lib64/ld-linux-loongarch-lp64d.so.1",
}
# For each path in the list `MARK begin`, what the loader says, and `MARK end CODE`, where MARK is of this one question;
# `MARK absent` where there is no such loader.
TRACE: Final = r"""
[ -x "$1" ] || { echo "$3 absent"; exit 0; }
while IFS= read -r file; do
  echo "$3 begin"
  LD_TRACE_LOADED_OBJECTS=1 LD_WARN= LD_BIND_NOW= "$1" "$2/members/$file" 2>&1
  printf '\n%s end %s\n' "$3" "$?"
done < "$2/list"
"""
FOUND: Final = re.compile(r"\t(?:(.+?) => )?(/.+) \(0x[0-9a-f]+\)")
MISSING: Final = re.compile(r"\t(.+?) => not found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """The dynamic ELF files of a wheel in a folder, as an installer would lay them out: path there, and member."""

    folder: Path
    members: tuple[tuple[str, str], ...]
    sonames: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a loader says of one member: its complaints word for word, the libraries it lacks, and where others are.

    A path in `found` that begins with no slash is of the wheel itself.
    """

    member: str
    words: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    found: tuple[tuple[str, str], ...] = ()


def unpack(wheel: Path, folder: Path, *, code: Exit = Exit.FELL_SHORT) -> Unpacked:
    """Unpack a wheel's dynamic ELF files into `folder`; raises WainwrightError (`code`) where that cannot be done."""
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
            try:
                inside = _path_of(entry.name)
                _write(folder / "members" / inside, data)
            except ValueError as error:
                raise WainwrightError(f"{entry.name!r} {error}", code=code, where=wheel.name) from error
            members.append((inside, entry.name))
            name = PurePosixPath(entry.name).name
            sonames |= {elf.soname or name, name}
    return Unpacked(folder=folder, members=tuple(members), sonames=frozenset(sonames))


def _path_of(member: str) -> str:
    place = locate(member, root_is_purelib=False)
    inside = place.path if place.scheme in {"purelib", "platlib"} else f".{place.scheme}/{place.path}"
    if ".." in PurePosixPath(inside).parts or inside.startswith("/"):
        raise ValueError("is an unsafe member name")
    return "/".join(part if part.isprintable() else _plain(part) for part in inside.split("/"))


def _plain(part: str) -> str:
    return hashlib.sha256(part.encode(errors="surrogatepass")).hexdigest()


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(data)
    except (FileExistsError, NotADirectoryError) as error:
        raise ValueError(
            "cannot be unpacked: another member has its place, or is a file where this needs a folder"
        ) from error
    path.chmod(0o755)


def ask_loader(
    place: Place, unpacked: Unpacked, *, arch: str, env: Mapping[str, str], log: Path | None = None
) -> tuple[Answer, ...] | None:
    """Ask the loader of a place about each unpacked file; None where the place has no glibc for this architecture.

    Raises WainwrightError (ENGINE) when the question could not be put, or was not answered for each of them.
    """
    if not unpacked.members:
        return ()
    mark = secrets.token_hex(8)
    inside = f"{place.root}/loading-{mark}"  # of its own: what another wheel left is not to be found
    listing = "".join(f"{path}\n" for path, _ in unpacked.members)
    (unpacked.folder / "list").write_text(listing, encoding="utf-8")
    place.put(unpacked.folder, inside)
    done = place.run(
        ["sh", "-c", TRACE, "sh", LOADERS.get(arch, LOADERS["x86_64"]), inside, mark], env=env, log=log, capture=True
    )
    done.check("the image's loader could not be asked", code=Exit.ENGINE)
    if done.stdout.startswith(f"{mark} absent"):
        return None
    return tuple(_answers(done, unpacked, mark, f"{inside}/members/"))


def _answers(done: Completed, unpacked: Unpacked, mark: str, folder: str) -> Sequence[Answer]:
    blocks = re.findall(rf"(?ms)^{mark} begin\n(.*?)\n{mark} end (\d+)$", done.stdout)
    if len(blocks) != len(unpacked.members):
        raise WainwrightError(
            f"the image's loader was asked about {len(unpacked.members)} files and answered for {len(blocks)}",
            code=Exit.ENGINE,
            details=done.tail,
        )
    return [
        _answer(member, text, int(code), folder)
        for (_, member), (text, code) in zip(unpacked.members, blocks, strict=True)
    ]


def _answer(member: str, text: str, code: int, folder: str) -> Answer:
    """Read one file's lines: those of the trace start with a tab, any other is a complaint."""
    words: dict[str, None] = {}
    missing: dict[str, None] = {}
    found: list[tuple[str, str]] = []
    for line in text.split("\n"):
        if lacks := MISSING.fullmatch(line):
            missing[lacks[1]] = None
        elif has := FOUND.fullmatch(line):
            found.append((has[1] or has[2], has[2].removeprefix(folder)))
        elif line.strip() and not line.startswith("\t"):
            words[_without_own_name(line, folder)] = None
    if code and not words and not missing:
        words[f"the loader ended with code {code}, and said nothing"] = None
    return Answer(member=member, words=tuple(words), missing=tuple(missing), found=tuple(found))


def _without_own_name(line: str, folder: str) -> str:
    """Take the file that was asked about off the front: the loader says it first, and we say it by its member."""
    text = line.removeprefix("error while loading shared libraries: ")
    if text.startswith(folder):
        text = text.partition(": ")[2] or text
    return text.removeprefix("error while loading shared libraries: ").replace(folder, "")
