"""All members are read, whichever thread has them, and no thread outlives the inspection."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import native
from elves import Recipe, make
from wainwright.auditing import inspection
from wainwright.auditing.inspection import SMALL, Inspecting, Inspection
from wainwright.auditing.looking import Wanted, is_extension
from wainwright.formats.archive import Archive
from wainwright.formats.elf import Elf

NAME = "demo-1.0-cp310-abi3-manylinux_2_17_x86_64.whl"
ELF = make(Recipe())
MEMBERS = {
    **{f"demo/large{number}.so": ELF + os.urandom(SMALL + number) for number in range(5)},
    **{f"demo/small{number}.so": ELF + os.urandom(number) for number in range(20)},
    "demo/data": os.urandom(3 * SMALL),
    "demo/empty": b"",
}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return native.wheel(tmp_path / NAME, MEMBERS)


def ours() -> set[str]:
    """Name the threads of an inspection that are running."""
    return {thread.name for thread in threading.enumerate()} & {"read", "sha256", "hash"}


def nothing(_: Elf, __: int) -> Wanted:
    return Wanted(frozenset(), frozenset(), python=False)


def inspected(
    path: Path, interest: Callable[[Elf, int], Wanted] = nothing, workers: int = 4, **algorithms: str
) -> Inspection:
    named = {f"demo/{name}.so": algorithm for name, algorithm in algorithms.items()}
    with Archive.open(path, hashed=True) as opened, Inspecting(opened, workers=workers) as inspecting:
        return inspecting.finish(interest=interest, algorithms=named)


@pytest.mark.parametrize("workers", [1, 2, 9])
def test_every_member_is_read_once(archive: Path, workers: int) -> None:
    asked: list[int] = []

    def interest(_: Elf, order: int) -> Wanted:
        asked.append(order)
        return nothing(_, order)

    found = inspected(archive, interest, workers)
    assert [member.name for member in found.members][: len(MEMBERS)] == list(MEMBERS)
    for name, data in MEMBERS.items():
        assert found.by_name[name].digest == hashlib.sha256(data).digest()
        assert (found.by_name[name].elf is not None) == name.endswith(".so")
    assert sorted(asked) == [member.order for member in found.members if member.elf is not None]
    assert found.sha256 == hashlib.sha256(archive.read_bytes()).hexdigest()


def test_a_hash_that_record_names_while_the_member_is_read_already(archive: Path) -> None:
    found = inspected(archive, large1="sha512", small1="sha3_256")
    for name in ("large1", "small1", "large2"):
        member = found.by_name[f"demo/{name}.so"]
        assert member.digest == hashlib.new(member.algorithm, MEMBERS[f"demo/{name}.so"]).digest()
    assert [found.by_name[f"demo/{name}.so"].algorithm for name in ("large1", "small1", "large2")] == [
        "sha512", "sha3_256", "sha256"
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("size", ["large", "small"])
def test_what_one_thread_raises_ends_all(archive: Path, kind: type[BaseException], size: str) -> None:
    with Archive.open(archive) as opened:
        bad = next(entry.order for entry in opened.entries if size in entry.name)

    def interest(elf: Elf, order: int) -> Wanted:
        if order == bad:
            raise kind("here")
        return nothing(elf, order)

    with pytest.raises(kind, match="here"):
        inspected(archive, interest)
    assert ours() == set()


def test_what_is_raised_before_the_end_leaves_no_thread(archive: Path) -> None:
    def broken() -> None:
        with Archive.open(archive, hashed=True) as opened, Inspecting(opened, workers=4):
            raise ValueError("before it was said what is wanted")

    with pytest.raises(ValueError, match="what is wanted"):
        broken()
    assert ours() == set()


def test_a_file_that_shrinks_while_it_is_read(archive: Path) -> None:
    with Archive.open(archive) as opened:
        whole = opened.entries[3].data
        os.truncate(archive, whole)
        with Inspecting(opened, workers=2) as inspecting, pytest.raises(Exception, match="shorter"):
            inspecting.finish(interest=nothing, algorithms={})
    assert ours() == set()


@pytest.mark.parametrize("started", [0, 1])
def test_a_machine_that_has_no_more_threads(archive: Path, monkeypatch: pytest.MonkeyPatch, started: int) -> None:
    left = iter([True] * started)
    start = threading.Thread.start

    def scarce(thread: threading.Thread) -> None:
        if not next(left, False):
            raise RuntimeError("can't start new thread")
        start(thread)

    whole = inspected(archive)
    monkeypatch.setattr(threading.Thread, "start", scarce)
    assert inspected(archive) == whole


def test_an_interrupt_while_the_threads_start_leaves_none(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    with Archive.open(archive) as opened:
        inspecting = Inspecting(opened, workers=4)
        monkeypatch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            inspecting.__enter__()
    assert ours() == set()


def test_an_interrupt_waits_for_no_thread_for_ever(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "PATIENCE", 0.1)
    reached, stuck = threading.Event(), threading.Event()

    def interest(elf: Elf, order: int) -> Wanted:
        if threading.current_thread() is threading.main_thread():
            reached.wait()
            raise KeyboardInterrupt
        reached.set()
        stuck.wait()
        return nothing(elf, order)

    with pytest.raises(KeyboardInterrupt):
        inspected(archive, interest, workers=2)
    left = [thread for thread in threading.enumerate() if thread.name == "read"]
    stuck.set()
    for thread in left:
        thread.join()
    assert left


def test_a_module_whose_name_is_no_utf8() -> None:
    data = b"\0PyInit_x\x80\0"
    assert is_extension(data, "demo/x\udc80.so", (0, len(data)))
    assert not is_extension(data, "demo/x.so", (0, len(data)))
