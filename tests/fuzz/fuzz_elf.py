# ruff: noqa: INP001 - a program, not a module
"""A coverage-guided fuzzer of the ELF reader: `python tests/fuzz/fuzz_elf.py -runs=1000000 [FOLDER]`, with atheris.

Only ElfError may come out, and what is read through small windows is what is read of the whole. Without a folder of
seeds it begins with hand-made files of every class and byte order.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]

sys.path.insert(0, str(Path(__file__).parent.parent))

with atheris.instrument_imports(include=["wainwright"]):
    from wainwright.formats import windows
    from wainwright.formats.elf import ElfError, misaligned, read_elf
    from wainwright.formats.elfbytes import Absent
    from wainwright.formats.symbols import read_symbols

import elves

# Windows as small beside a seed as the real ones are beside a file of gigabytes
windows.HEAD, windows.TAIL, windows.ANNOUNCED = (160, 8), (40, 64), 512  # type: ignore[misc]
windows.BEFORE, windows.BEHIND, windows.MOST_LOOKS = 8, 64, 1 << 20  # type: ignore[misc]
BLOCK = 256


def one(data: bytes) -> None:
    whole = through(lambda: facts(data))
    if len(data) >= BLOCK and through(lambda: piecewise(data)) != whole:
        raise AssertionError(f"through windows it is another file than {whole}")


def facts(data: Any) -> tuple[object, ...]:
    elf = read_elf(data)
    return elf, misaligned(elf), tuple(read_symbols(data, elf))


def through(read: Callable[[], object]) -> object:
    try:
        return read()
    except ElfError:
        return None


def piecewise(data: bytes) -> object:
    blocks = [data[at : at + BLOCK] for at in range(0, len(data), BLOCK)]
    seen = windows.Windows(len(data))
    for block in blocks:
        seen.write(block)
    while True:
        try:
            return facts(seen)
        except Absent as absent:
            seen.look(absent, blocks)


def seeds(folder: Path) -> None:
    """Write the files to begin with."""
    for bits, little, machine in ((64, True, 62), (64, False, 22), (32, True, 3), (32, False, 20)):
        for hashed in (True, False):
            recipe = elves.Recipe(
                bits=bits,
                little=little,
                machine=machine,
                hashed=hashed,
                soname="libmod.so.1",
                needed=("libc.so.6",),
                runpath="$ORIGIN",
                needs={"libc.so.6": ("GLIBC_2.17", "GLIBC_2.34?")},
                definitions=("MOD_1.0",),
                symbols={"puts": (False, False, "GLIBC_2.34"), "mod": (True, True, "MOD_1.0")},
                interpreter="/lib/ld.so",
                note=elves.abi_tag(3, 2, 0) + elves.gnu_property(0xC0008002, 3),
            )
            Path(folder, f"{bits}{little}{hashed}").write_bytes(elves.make(recipe))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as corpus:
        given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
        if not given:
            seeds(Path(corpus))
        atheris.Setup([*sys.argv, *([] if given else [corpus])], one)
        atheris.Fuzz()
