"""Copies a built wheel's outside libraries from the place that built it, as that place's own loader finds them.

So the audit needs no container afterwards: it is a function of the wheel, these libraries and the policy.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from wainwright.auditing.terms import Outside, Pattern
from wainwright.errors import Exit, WainwrightError
from wainwright.formats.elf import ElfError, read_elf
from wainwright.receipts import replace_text
from wainwright.running.linkerscripts import Script, find_scripts
from wainwright.running.places import Place
from wainwright.running.tracing import LOADERS, ask_loader, unpack

INDEX: Final = "libraries.json"

# For each path three lines: where its links end, the package of the distribution that owns it, and its licence there.
WHENCE: Final = r"""
for path; do
  real=$(readlink -f "$path")
  if package=$(rpm -qf --qf '%{NAME}' "$real" 2>/dev/null); then
    licence=$(rpm -qf --qf '%{LICENSE}' "$real" 2>/dev/null)
  else
    package=$( (dpkg -S "$path" || dpkg -S "$real") 2>/dev/null | head -n 1 | cut -d: -f1)
    licence=$(sed -n 's/^License:[[:space:]]*//p' "/usr/share/doc/$package/copyright" 2>/dev/null | head -n 1)
  fi
  printf '%s\n' "$real" "$package" "$licence"
done
"""

# GCC's runtime libraries, whose Debian copyright file is prose: "GCC Runtime Library Exception, version 3.1".
GCC_RUNTIME: Final = ("libatomic", "libgcc_s", "libgfortran", "libgomp", "libquadmath", "libstdc++")
GCC_LICENCE: Final = "GPL-3.0-or-later WITH GCC-exception-3.1"


def collect(
    place: Place,
    wheel: Path,
    folder: Path,
    *,
    arch: str,
    policy: Iterable[str],
    log: Path,
    left: Iterable[Pattern] = (),
) -> tuple[Outside, ...]:
    """Copy the outside libraries of a wheel into `folder`, and write libraries.json there.

    Text files of linker commands are told there as well, with what they lead to.
    `policy` names the libraries that every system has; neither they nor what lies in the wheel are copied. Two
    libraries of one name are a mistake, unless `left` leaves them to the user: then WainwrightError (BUILD) is raised.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tmp-elf-", dir=folder.parent) as temporary:
        unpacked = unpack(wheel, Path(temporary), code=Exit.BUILD)
        answers = ask_loader(place, unpacked, arch=arch, env=place.environment(), log=log) or ()
    known = {
        *policy,
        PurePosixPath(LOADERS.get(arch, "")).name,
        *(PurePosixPath(member).name for _, member in unpacked.members),
    }
    needed_by: dict[tuple[str, str], list[str]] = {}
    for answer in answers:
        for name, path in answer.found:
            if path.startswith("/") and PurePosixPath(name).name not in known:
                needed_by.setdefault((name, path), []).append(answer.member)
    found = tuple(_copy_out(place, list(needed_by), folder, log)) if needed_by else ()
    libraries = tuple(_one_of_each(found, needed_by, tuple(left)))
    write_libraries(folder, libraries, find_scripts(place, libraries, log) if libraries else ())
    return libraries


def _copy_out(place: Place, found: Sequence[tuple[str, str]], folder: Path, log: Path) -> Iterator[Outside]:
    script = ["sh", "-c", WHENCE, "sh", *(path for _, path in found)]
    done = place.run(script, env=place.environment(), log=log, capture=True)
    done.check("the image could not say where its libraries come from", code=Exit.BUILD)
    lines = done.stdout.split("\n")[:-1]
    if len(lines) != 3 * len(found):
        raise WainwrightError(
            "the image did not say where each of its libraries comes from", code=Exit.BUILD, details=done.tail
        )
    whence = zip(found, lines[0::3], lines[1::3], lines[2::3], strict=True)
    for (name, path), real, package, licence in whence:
        file = PurePosixPath(name).name
        copy = (
            folder / file
            if not (folder / file).exists()
            else folder / f"{hashlib.sha256(path.encode()).hexdigest()[:8]}-{file}"
        )
        place.get(real, copy)
        try:
            elf = read_elf(copy.read_bytes())
        except ElfError as error:
            raise WainwrightError(
                f"the loader finds {name} as {path}, which is no whole ELF file: {error}", code=Exit.BUILD
            ) from error
        yield Outside(
            name=name,
            soname=elf.soname or name,
            path=path,
            real_path=real,
            copy=copy,
            package=package or None,
            licence=GCC_LICENCE if file.split(".so")[0] in GCC_RUNTIME else licence.strip() or None,
            needed=elf.needed,
        )


def _one_of_each(
    found: Iterable[Outside], needed_by: Mapping[tuple[str, str], Sequence[str]], left: Iterable[Pattern]
) -> Iterator[Outside]:
    """Give each library once: a wheel can take in one of a name, and a process loads no second one."""
    by_name: dict[str, list[Outside]] = {}
    for library in found:
        by_name.setdefault(library.name, []).append(library)
    for name, same in by_name.items():
        first = same[0]
        yield first
        differ = len({_sha256(each.copy) for each in same}) > 1
        if differ and not any(pattern.matches(each) for pattern in left for each in same):
            raise WainwrightError(
                f"two different libraries are called {name}, and a wheel can take in only one",
                code=Exit.BUILD,
                details=tuple(f"{each.path}, needed by {', '.join(needed_by[name, each.path])}" for each in same),
                hint="have all of them find the same one (look at their RPATH), or give one of the two another soname",
            )
        for other in same[1:]:
            other.copy.unlink()


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
