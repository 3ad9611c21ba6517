"""Copies a built wheel's outside libraries from the place that built it, as that place's own loader finds them.

So the audit needs no container afterwards: it is a function of the wheel, these libraries and the policy.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from wainwright.auditing.terms import Outside
from wainwright.errors import Exit, WainwrightError
from wainwright.formats.archive import Archive
from wainwright.formats.elf import Elf, ElfError, looks_like_elf, read_elf
from wainwright.receipts import replace_text
from wainwright.running.linkerscripts import Script, find_scripts
from wainwright.running.places import Place

INDEX: Final = "libraries.json"

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

# Asks the loader about each file, in one go: its answers are `name => path (address)` and `name => not found`. As ldd
# asks it: `ld.so --list` ends at the first library that is absent, and no build image has the driver's libcuda.so.1.
LIST: Final = (
    'loader=$1; shift; for file; do printf "file %s\\n" "$file";'
    ' LD_TRACE_LOADED_OBJECTS=1 "$loader" "$file" 2>&1 || true; done'
)

# For each path: where its links end, which package of the distribution owns it, and what that says of its licence.
WHENCE: Final = r"""
for path; do
  real=$(readlink -f "$path")
  if package=$(rpm -qf --qf '%{NAME}' "$real" 2>/dev/null); then
    licence=$(rpm -qf --qf '%{LICENSE}' "$real" 2>/dev/null)
  else
    package=$( (dpkg -S "$path" || dpkg -S "$real") 2>/dev/null | head -n 1 | cut -d: -f1)
    licence=$(sed -n 's/^License: *//p' "/usr/share/doc/$package/copyright" 2>/dev/null | head -n 1)
  fi
  printf '%s\t%s\t%s\t%s\n' "$path" "$real" "$package" "$licence"
done
"""

# GCC's runtime libraries, whose Debian copyright file is prose: "GCC Runtime Library Exception, version 3.1".
GCC_RUNTIME: Final = ("libatomic", "libgcc_s", "libgfortran", "libgomp", "libquadmath", "libstdc++")
GCC_LICENCE: Final = "GPL-3.0-or-later WITH GCC-exception-3.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """One line of the loader's answer about `file`: where it finds `name`, or None."""

    file: str
    name: str
    path: str | None


def collect(
    place: Place, wheel: Path, folder: Path, *, arch: str, policy: Iterable[str], log: Path
) -> tuple[Outside, ...]:
    """Copy the outside libraries of a wheel into `folder`, and write libraries.json there.

    Text files of linker commands are told there as well, with what they lead to.
    `policy` names the libraries that every system has; neither they nor what lies in the wheel are copied. Raises
    WainwrightError (BUILD) when the place cannot be asked.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tmp-elf-", dir=folder.parent) as temporary:
        files = _unpack_elf(wheel, Path(temporary))
        inside = f"{place.root}/elf"
        place.put(Path(temporary), inside)
        answers = _ask_loader(place, arch, [f"{inside}/{name}" for name in files], log) if files else ()
    known = {*policy, *(PurePosixPath(name).name for name in files)}
    found = {
        answer.name: answer.path
        for answer in answers
        if answer.path and not answer.path.startswith(f"{inside}/") and answer.name not in known
    }
    libraries = tuple(_copy_out(place, found, folder, log)) if found else ()
    write_libraries(folder, libraries, find_scripts(place, libraries, log) if libraries else ())
    return libraries


def _unpack_elf(wheel: Path, folder: Path) -> tuple[str, ...]:
    """Unpack the dynamic ELF members of a wheel, which the loader is to be asked about; gives their names."""
    names = []
    with Archive.open(wheel) as archive:
        for entry in archive.entries:
            member = archive.digest(entry, keep=looks_like_elf)
            if member.data is None or not _is_dynamic(member.data):
                continue
            path = folder / entry.name
            if folder.resolve() not in path.resolve().parents:
                raise WainwrightError(f"unsafe member name {entry.name!r}", code=Exit.BUILD, where=wheel.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(member.data)
            path.chmod(0o755)
            names.append(entry.name)
    return tuple(names)


def _is_dynamic(data: bytes) -> bool:
    try:
        elf: Elf = read_elf(data)
    except ElfError:
        return False  # the audit names it
    return elf.dynamic


def _ask_loader(place: Place, arch: str, files: Sequence[str], log: Path) -> tuple[Loaded, ...]:
    loader = LOADERS.get(arch, LOADERS["x86_64"])
    done = place.run(["sh", "-c", LIST, "sh", loader, *files], env=place.environment(), log=log, capture=True)
    done.check("the image's loader could not be asked", code=Exit.BUILD)
    return tuple(parse_loader(done.stdout))


def parse_loader(text: str) -> Iterator[Loaded]:
    """Read what the loader said of each file of LIST."""
    file = ""
    for line in text.splitlines():
        if line.startswith("file "):
            file = line.removeprefix("file ")
        elif " => " in line:
            name, _, rest = line.strip().partition(" => ")
            path = None if rest.startswith("not found") else rest.rpartition(" (0x")[0]
            yield Loaded(file=file, name=name, path=path)


def _copy_out(place: Place, found: Mapping[str, str], folder: Path, log: Path) -> Iterator[Outside]:
    script = ["sh", "-c", WHENCE, "sh", *found.values()]
    done = place.run(script, env=place.environment(), log=log, capture=True)
    done.check("the image could not say where its libraries come from", code=Exit.BUILD)
    whence = {path: rest for path, *rest in (line.split("\t") for line in done.stdout.splitlines())}
    for name, path in found.items():
        real, package, licence = whence[path]
        copy = folder / name
        place.get(real, copy)
        elf = read_elf(copy.read_bytes())
        yield Outside(
            name=name,
            soname=elf.soname or name,
            path=path,
            real_path=real,
            copy=copy,
            package=package or None,
            licence=GCC_LICENCE if name.split(".so")[0] in GCC_RUNTIME else licence or None,
            needed=elf.needed,
        )


def write_libraries(folder: Path, libraries: Sequence[Outside], scripts: Sequence[Script] = ()) -> None:
    """Write libraries.json, in which each copy is named relative to the folder."""
    rows = [
        {
            "name": library.name,
            "soname": library.soname,
            "path": library.path,
            "real-path": library.real_path,
            "copy": library.copy.name,
            "sha256": _sha256(library.copy),
            "package": library.package,
            "licence": library.licence,
            "needed": list(library.needed),
        }
        for library in libraries
    ]
    texts = {script.path: list(script.leads_to) for script in scripts}
    whole = {"version": 1, "libraries": rows, "scripts": texts}
    replace_text(folder / INDEX, json.dumps(whole, indent=2) + "\n")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_libraries(folder: Path) -> tuple[Outside, ...]:
    """Read a folder that `collect` wrote; raises WainwrightError (AUDIT) when it is not whole."""
    try:
        rows: list[dict[str, Any]] = _index(folder)["libraries"]
        libraries = tuple(
            Outside(
                name=row["name"],
                soname=row["soname"],
                path=row["path"],
                real_path=row["real-path"],
                copy=folder / row["copy"],
                package=row["package"],
                licence=row["licence"],
                needed=tuple(row["needed"]),
            )
            for row in rows
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _not_whole(folder) from error
    for library, row in zip(libraries, rows, strict=True):
        if not library.copy.is_file() or _sha256(library.copy) != row.get("sha256"):
            raise WainwrightError(
                f"{library.name} is not there as the build left it",
                code=Exit.AUDIT,
                where=str(folder),
                hint="run the build session again",
            )
    return libraries


def read_scripts(folder: Path) -> tuple[Script, ...]:
    """Read which linker scripts `collect` saw; raises WainwrightError (AUDIT) when that is not whole."""
    try:
        texts = _index(folder).get("scripts", {})
        return tuple(Script(path=path, leads_to=tuple(names)) for path, names in texts.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _not_whole(folder) from error


def _index(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / INDEX).read_bytes()))


def _not_whole(folder: Path) -> WainwrightError:
    return WainwrightError(
        "the libraries of the build are not there, or not whole",
        code=Exit.AUDIT,
        where=str(folder / INDEX),
        hint="run the build session again",
    )
