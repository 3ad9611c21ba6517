from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import native
from elves import Recipe, make
from wainwright.auditing import reading
from wainwright.auditing.audit import audit
from wainwright.formats import windows
from wainwright.formats.elf import Elf, read_elf
from wainwright.formats.elfbytes import Absent, ElfError
from wainwright.formats.symbols import Symbol, read_symbols
from wainwright.formats.windows import Windows

Read = tuple[Elf, tuple[Symbol, ...]]
RECIPE = Recipe(
    needed=("libc.so.6", "libm.so.6"), soname="libx.so.1", runpath="$ORIGIN/../x", interpreter="/lib64/ld.so",
    needs={"libc.so.6": ["GLIBC_2.2.5", "GLIBC_2.34"], "libm.so.6": ["GLIBC_2.29?"]}, definitions=("libx.so.1", "X_1"),
    symbols={"pow": (False, False, "GLIBC_2.29"), "dlopen": (False, False, "GLIBC_2.34"), "own": (True, False, "X_1")},
)  # fmt: skip


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make windows so narrow that a small file has much outside of them."""
    for name, value in {
        "HEAD": (64, 1 << 30),
        "TAIL": (16, 1 << 30),
        "ANNOUNCED": 100,
        "BEFORE": 8,
        "BEHIND": 8,
    }.items():
        monkeypatch.setattr(windows, name, value)
    monkeypatch.setattr(windows, "MOST_LOOKS", 200)


def blocks(data: bytes, size: int) -> Iterator[bytes]:
    yield from (data[at : at + size] for at in range(0, len(data), size))


def taken(data: bytes, size: int) -> Windows:
    kept = Windows(len(data))
    for block in blocks(data, size):
        kept.write(block)
    return kept


def both(data: bytes | Windows) -> Read:
    elf = read_elf(data)
    return elf, read_symbols(data, elf)


def seen(data: bytes, size: int) -> tuple[Read, int]:
    """Read through windows as the audit does, and count the looks that it takes."""
    kept, looks = taken(data, size), 0
    while True:
        try:
            return both(kept), looks
        except Absent as absent:
            looks += 1
            kept.look(absent, blocks(data, size))


def through(data: bytes) -> Read:
    return seen(data, 50)[0]


def outcome(read: Callable[[], Read]) -> Read | str:
    try:
        return read()
    except ElfError as error:
        return str(error)


@pytest.mark.parametrize("size", [1, 7, 64, 100, 10_000])
@pytest.mark.parametrize("bits", [32, 64])
def test_what_is_read_through_windows_is_what_is_there(size: int, bits: int) -> None:
    recipe = Recipe(**{**{name: getattr(RECIPE, name) for name in vars(RECIPE)}, "bits": bits})
    data = make(recipe) + bytes(5000)
    found, looks = seen(data, size)
    assert found == both(data)
    assert found[0].needed == ("libc.so.6", "libm.so.6")
    assert looks > 1


def test_a_compiled_library_too(tmp_path: Path) -> None:
    source = '#include <stdio.h>\nint f(void) { return puts("x"); }\nchar filler[100000] = {1};'
    data = native.shared(tmp_path / "libx.so", source, "-Wl,-soname,libx.so").read_bytes()
    found, _ = seen(data, 4096)
    assert found == both(data)
    assert found[0].soname == "libx.so"


def test_damage_is_told_as_it_is_of_a_file_that_is_all_there() -> None:
    good = make(RECIPE)
    dice = random.Random(20)  # noqa: S311 - not for secrets
    told = set()
    for _ in range(1500):
        data = bytearray(good)
        for _ in range(dice.randint(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        if dice.random() < 0.2:
            del data[dice.randrange(len(data)) :]
        spoilt = bytes(data)
        expected = outcome(partial(both, spoilt))
        assert outcome(partial(through, spoilt)) == expected
        told.add(expected if isinstance(expected, str) else "read")
    assert len(told) > 20


def test_slices_and_searches_are_those_of_bytes() -> None:
    data = bytes(range(256)) * 4
    kept = taken(data, 33)
    assert len(kept) == len(data)
    assert bytes(kept[:64]) == data[:64]
    assert bytes(kept[10:10]) == bytes(kept[20:10]) == b""
    assert bytes(kept[len(data) - 16 :]) == bytes(kept[len(data) - 16 : len(data) + 99]) == data[-16:]
    assert kept.find(b"\5\6", 0, 64) == 5
    assert kept.find(b"\5\6", 6, 64) == -1
    assert kept.find(b"", 0, 0) == 0
    with pytest.raises(Absent) as caught:
        kept[60:70]
    kept.look(caught.value, blocks(data, 33))
    assert bytes(kept[60:70]) == data[60:70]
    with pytest.raises(Absent):
        kept.find(b"x", 0, len(data))


def test_looks_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "MOST_LOOKS", 2)
    with pytest.raises(ElfError, match="scattered"):
        seen(make(RECIPE) + bytes(5000), 64)


def test_a_look_reads_no_further_than_it_must() -> None:
    data = bytes(10_000)
    kept = taken(data, 100)
    gone = blocks(data, 100)
    kept.look(Absent(500, 510), gone)
    assert len(b"".join(gone)) == 10_000 - 600


def test_the_audit_of_large_members_says_what_it_says_of_small_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {"demo/libx.so.1": make(RECIPE) + bytes(3000), "demo/mod.so": make(Recipe(needed=("libx.so.1",)))}
    wheel = native.wheel(tmp_path / "demo-1.0-cp310-abi3-manylinux_2_17_x86_64.whl", members)
    whole = audit(wheel)
    monkeypatch.setattr(reading, "DENSE", 0)
    assert audit(wheel) == whole
    assert any(found.symbols == ("dlopen",) for found in whole.violations)


def test_a_large_member_whose_tables_are_scattered_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = {"demo/libx.so.1": make(RECIPE) + bytes(3000)}
    wheel = native.wheel(tmp_path / "demo-1.0-cp310-abi3-manylinux_2_17_x86_64.whl", members)
    monkeypatch.setattr(reading, "DENSE", 0)
    monkeypatch.setattr(windows, "MOST_LOOKS", 1)
    assert "scattered" in next(found.message for found in audit(wheel).violations if found.rule == "broken-elf")
