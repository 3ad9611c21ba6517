from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import corpus
import sabotage_archive
import sabotage_distinfo
import sabotage_elf
import sabotage_libraries
import sabotage_needs
from sabotage import Draft, Named, Sabotage, complaint, judged, opened, score, told
from sabotage_goods import GOODS, Yard, extension
from sabotage_innocents import innocents

# faults of the code that a good wheel is compiled from; those of archive, dist-info and bytes go into every wheel
COMPILED = {
    "extension": (sabotage_needs.of_extension, sabotage_libraries.faults),
    "programs": (),
    "stable": (sabotage_needs.of_stable,),
    "musl": (sabotage_needs.of_musl,),
    "aarch64": (sabotage_needs.of_aarch64,),
}
# small wheels from the index: what real linkers and zip writers make
REAL = (
    "MarkupSafe-3.0.2-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    "MarkupSafe-3.0.2-cp311-cp311-manylinux_2_17_aarch64.manylinux2014_aarch64.whl",
    "MarkupSafe-3.0.2-cp311-cp311-musllinux_1_2_x86_64.whl",
    "ujson-5.10.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
)


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Yard:
    return Yard(tmp_path_factory.mktemp("yard"))


def everywhere(good: Draft) -> Iterator[Sabotage]:
    """Give the faults that can be put into any wheel."""
    yield from sabotage_archive.faults(good)
    yield from sabotage_distinfo.faults(good)
    yield from sabotage_elf.faults(good)


def untouched(good: Draft, folder: Path) -> dict[str, set[Named]]:
    """Judge the good wheel, in which nothing may be wrong; give what is told of it."""
    verdict = judged(folder, good.filename, good.bytes(), good.options)
    assert verdict.violations == ()
    return told(verdict)


def count(title: str, sabotages: Iterable[Sabotage], folder: Path, before: dict[str, set[Named]]) -> tuple[int, str]:
    every = tuple(sabotages)
    complaints = [text for text in (complaint(one, folder, before) for one in every) if text]
    told_score = score(title, every, complaints)
    assert not complaints, "\n".join([told_score, *complaints])
    return len(every), told_score


@pytest.mark.parametrize("name", GOODS)
def test_every_fault_is_caught(name: str, yard: Yard, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = GOODS[name](yard)
    before = untouched(good, tmp_path)
    assert before["warnings"] == set()
    faults = [*everywhere(good), *(one for made in COMPILED[name] for one in made(good, yard))]
    _, told_score = count(name, faults, tmp_path, before)
    with capsys.disabled():
        print(f"\n{told_score}", end=" ")  # noqa: T201 - the score is for people


@pytest.mark.network
@pytest.mark.parametrize("filename", REAL)
def test_every_fault_of_a_real_wheel_is_caught(
    filename: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = opened(corpus.fetch([filename])[filename])
    _, told_score = count(filename, everywhere(good), tmp_path, untouched(good, tmp_path))
    with capsys.disabled():
        print(f"\n{told_score}", end=" ")  # noqa: T201 - the score is for people


def test_nobody_cries_wolf(yard: Yard, tmp_path: Path) -> None:
    found = []
    for one in innocents(extension(yard), yard):
        verdict = judged(tmp_path, one.filename, one.data, one.options)
        found += [
            f"{one.title}: {said.rule} {said.member}: {said.message}"
            for said in (*verdict.violations, *verdict.warnings)
        ]
    assert not found, "\n".join(found)


def test_the_judge_of_the_audit_is_no_pushover(yard: Yard, tmp_path: Path) -> None:
    """A fault that is not there, another member, another rule: each is a complaint."""
    good = extension(yard)
    before = untouched(good, tmp_path)
    member, other = good.plain[:2]
    edited = good.with_members({member: b"other"})
    data = edited.bytes(good.record)
    assert complaint(good.sabotage("right", "record-mismatch", member, data=data), tmp_path, before) == ""
    for rule, named, bytes_ in (
        ("record-mismatch", member, good.bytes()),
        ("record-mismatch", other, data),
        ("broken-member", member, data),
    ):
        assert complaint(good.sabotage("wrong", rule, named, data=bytes_), tmp_path, before)
    both = good.with_members({member: b"other", other: b"other"}).bytes(good.record)
    assert complaint(good.sabotage("one too many", "record-mismatch", member, data=both), tmp_path, before)
