from __future__ import annotations

import random

import pytest

from elves import Recipe, make
from wainwright.formats.elf import Elf, read_elf
from wainwright.formats.elfbytes import ElfError
from wainwright.formats.symbols import Symbol, read_symbols

VERSIONS = [f"V_{number}" for number in range(12)]
SYMBOLS: dict[str, tuple[bool, bool, str | None]] = {
    **{f"{name}{number}": (False, number % 3 == 0, VERSIONS[number % 12])
       for number in range(40) for name in ("need", "Py_Need")},
    **{f"own{number}": (True, False, "OWN_1" if number % 2 else None) for number in range(600)},
    **{f"free{number}": (False, False, None) for number in range(30)},
    "copied": (True, False, "V_3"),
    "_PyOwn": (True, False, "OWN_1"),
}  # fmt: skip


def recipe(*, bits: int = 64, little: bool = True, interpreter: str | None = None) -> Recipe:
    return Recipe(
        bits=bits, little=little, machine=62 if bits == 64 else 3, needed=("libdep.so.1",), definitions=("x", "OWN_1"),
        needs={"libdep.so.1": VERSIONS}, symbols=SYMBOLS, interpreter=interpreter,
    )  # fmt: skip


def whole(data: bytes, elf: Elf) -> tuple[Symbol, ...]:
    return read_symbols(data, elf)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("interpreter", [None, "/lib/ld.so"])
def test_a_choice_of_symbols_is_what_a_filter_of_all_would_leave(
    bits: int, *, little: bool, interpreter: str | None
) -> None:
    data = make(recipe(bits=bits, little=little, interpreter=interpreter))
    elf = read_elf(data)
    every = whole(data, elf)
    assert len(every) == len(SYMBOLS)
    undefined = tuple(s for s in every if not s.defined or (interpreter and s.library))
    assert read_symbols(data, elf, undefined_only=True) == undefined
    for count in (0, 1, 3, len(VERSIONS)):
        versions = frozenset(VERSIONS[:count])
        needing = tuple(s for s in every if s.library and s.version in versions)
        assert read_symbols(data, elf, versions=versions) == needing
        python = tuple(s for s in every if s in needing or s.name.startswith(("Py", "_Py")))
        assert read_symbols(data, elf, versions=versions, prefixes=("Py", "_Py")) == python


def test_damaged_tables_give_symbols_or_an_elf_error() -> None:
    good = make(recipe())
    dice = random.Random(7)  # noqa: S311 - not for secrets
    ends = set()
    for _ in range(400):
        data = bytearray(good)
        for _ in range(dice.randint(1, 6)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        try:
            elf = read_elf(bytes(data))
            read_symbols(bytes(data), elf, undefined_only=True)
            read_symbols(bytes(data), elf, versions=frozenset(VERSIONS[:2]))
            read_symbols(bytes(data), elf, versions=frozenset(VERSIONS), prefixes=("Py",))
            ends.add("read")
        except ElfError as error:
            ends.add(str(error).split()[1])
    assert "read" in ends
    assert len(ends) > 3
