from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wainwright.errors import Exit, WainwrightError
from wainwright.formats import rewriting
from wainwright.formats.archive import Archive, MemberError
from wainwright.formats.copier import AHEAD
from wainwright.formats.rewriting import Copied, Written, write_archive
from wainwright.formats.zipdirectory import CENTRAL
from wainwright.formats.ziprecords import NewMember, central_record, copied_record, end_records, local_header
from zips import Part, archive, streamed


@pytest.fixture(autouse=True)
def _no_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)


def sample(path: Path) -> Path:
    """Write members of every sort: stored, forced ZIP64, with extra fields, comments, modes and times."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("plain.py", b"import this\n" * 50)
        target.writestr("folder/", b"")
        info = zipfile.ZipInfo("folder/run", (2020, 2, 3, 4, 5, 6))
        info.external_attr = 0o100755 << 16
        info.extra = b"\x34\x12\x04\x00abcd"
        info.comment = b"a comment"
        target.writestr(info, b"#!/bin/sh\n", zipfile.ZIP_STORED)
        with target.open("wide", "w", force_zip64=True) as member:
            member.write(b"wide")
        target.writestr("ünï.txt", b"utf-8")
        target.comment = b"of the archive"
    return path


def facts(path: Path) -> list[tuple[object, ...]]:
    with zipfile.ZipFile(path) as source:
        assert source.testzip() is None
        return [
            (i.filename, i.date_time, i.compress_type, i.comment, i.extra, i.external_attr, i.flag_bits, source.read(i))
            for i in source.infolist()
        ]


def strictly(path: Path) -> dict[str, bytes]:
    with Archive.open(path) as opened:
        assert opened.problems == ()
        return {entry.name: opened.read(entry) for entry in opened.entries}


def test_a_plain_copy_is_the_same_file(tmp_path: Path) -> None:
    source = sample(tmp_path / "a.zip")
    with Archive.open(source) as opened:
        members = [Copied(archive=opened, entries=opened.entries)]
        write_archive(tmp_path / "b.zip", members, comment=opened.comment)
    assert (tmp_path / "b.zip").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("kernel", [True, False])
def test_members_replaced_renamed_removed_added(tmp_path: Path, kernel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernel:  # as between two file systems of an older kernel

        def refused(*_: object, **__: object) -> int:
            raise OSError(18, os.strerror(18))

        monkeypatch.setattr(os, "copy_file_range", refused)
    source, target = sample(tmp_path / "a.zip"), tmp_path / "b.zip"
    with Archive.open(source) as opened:
        plain, folder, run, wide, _ = opened.entries
        write_archive(
            target,
            [
                Copied(archive=opened, entries=[wide], rename=lambda _: "renämed"),
                Written(name="folder/run", data=b"new", like=run),
                Copied(archive=opened, entries=[folder]),
                Copied(archive=opened, entries=[plain]),
                Written(name="added", data=b"x" * 1000),
            ],
        )
    assert strictly(target) == {
        "renämed": b"wide",
        "folder/run": b"new",
        "folder/": b"",
        "plain.py": b"import this\n" * 50,
        "added": b"x" * 1000,
    }
    before, after = {fact[0]: fact for fact in facts(source)}, {fact[0]: fact for fact in facts(target)}
    assert after["plain.py"] == before["plain.py"]
    assert after["folder/"] == before["folder/"]
    assert after["renämed"][1:4] == before["wide"][1:4]
    assert after["folder/run"][1:3] == ((2020, 2, 3, 4, 5, 6), zipfile.ZIP_STORED)
    assert after["folder/run"][5] == 0o100755 << 16
    assert after["added"][1:3] == ((1980, 1, 1, 0, 0, 0), zipfile.ZIP_DEFLATED)


def test_another_reader_agrees(tmp_path: Path) -> None:
    with Archive.open(sample(tmp_path / "a.zip")) as opened:
        members = [Copied(archive=opened, entries=opened.entries, rename=lambda name: f"moved/{name}")]
        write_archive(tmp_path / "b.zip", members)
    reader = ["unzip", "-tqq"] if shutil.which("unzip") else [sys.executable, "-m", "zipfile", "-t"]
    done = subprocess.run([*reader, tmp_path / "b.zip"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_members_of_two_archives_with_data_descriptors(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(streamed({"a": b"1" * 100, "b": b"2"}))
    (tmp_path / "b.zip").write_bytes(streamed({"c": b"3"}))
    with Archive.open(tmp_path / "a.zip") as one, Archive.open(tmp_path / "b.zip") as two:
        first, second = one.entries
        members = [
            Copied(archive=two, entries=[two.entries[0]]),
            Copied(archive=one, entries=[second], rename=lambda _: "renamed"),
            Copied(archive=one, entries=[first]),
        ]
        write_archive(tmp_path / "c.zip", members)
    assert strictly(tmp_path / "c.zip") == {"c": b"3", "renamed": b"2", "a": b"1" * 100}
    assert [fact[6] for fact in facts(tmp_path / "c.zip")] == [8, 8, 8]


def test_the_same_input_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(name: str) -> bytes:
        write_archive(tmp_path / name, [Written(name="a", data=b"text" * 99), Written(name="b", data=b"")])
        return (tmp_path / name).read_bytes()

    assert made("1") == made("2")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert made("3") == made("4")
    assert facts(tmp_path / "3")[0][1] == (2023, 11, 14, 22, 13, 20)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert made("5") == made("1")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "99999999999")
    made("6")
    assert facts(tmp_path / "6")[0][1] == (2107, 12, 31, 23, 59, 58)
    for wrong in ("soon", "9" * 30):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", wrong)
        with pytest.raises(WainwrightError, match="is not a time"):
            made("7")
    assert not (tmp_path / "7").exists()


@pytest.mark.parametrize(
    "part",
    [Part(name=b"bad", local={"crc": 1}), Part(name=b"good"), Part(name=b"bad", central={"offset": 9})],
    ids=["disagreement", "duplicate", "broken"],
)
def test_an_unsound_member_is_not_copied(tmp_path: Path, part: Part) -> None:
    (tmp_path / "a.zip").write_bytes(archive(Part(name=b"good"), part))
    with Archive.open(tmp_path / "a.zip") as opened, pytest.raises(MemberError, match="cannot be copied"):
        write_archive(tmp_path / "b.zip", [Copied(archive=opened, entries=[opened.entries[1]])])
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_two_members_of_one_name_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(MemberError, match="two members"):
        write_archive(tmp_path / "b.zip", [Written(name="a", data=b""), Written(name="a", data=b"")])


def test_what_an_encrypted_or_foreign_member_holds_is_none_of_our_business(tmp_path: Path) -> None:
    parts = (Part(name=b"secret", flags=1), Part(name=b"link", external=0o120777 << 16), Part(name=b"lzma", method=14))
    (tmp_path / "a.zip").write_bytes(archive(*parts))
    with Archive.open(tmp_path / "a.zip") as opened:
        write_archive(tmp_path / "b.zip", [Copied(archive=opened, entries=opened.entries)])
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "b.zip"
    target.write_bytes(b"old")

    def full(*_: object) -> int:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(WainwrightError, match="No space left on device") as caught:
        write_archive(target, [Written(name="a", data=b"x")])
    assert caught.value.code == Exit.ENGINE
    monkeypatch.undo()
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(WainwrightError, match="No such file or directory"):
        write_archive(tmp_path / "absent" / "b.zip", [])


def test_a_source_that_shrinks_while_it_is_copied(tmp_path: Path) -> None:
    source = sample(tmp_path / "a.zip")
    with Archive.open(source) as opened:
        os.truncate(source, 50)
        with pytest.raises(WainwrightError, match="shorter"):
            write_archive(tmp_path / "b.zip", [Copied(archive=opened, entries=opened.entries)])
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def long(path: Path) -> Path:
    """Make an archive whose members are copied in a thread, and a short one at its end."""
    with zipfile.ZipFile(path, "w") as target:
        target.writestr("one", os.urandom(3 * AHEAD))
        target.writestr("two", os.urandom(AHEAD))
        target.writestr("three", b"3")
    return path


def test_long_runs_are_copied_beside(tmp_path: Path) -> None:
    with Archive.open(long(tmp_path / "a.zip")) as opened:
        one, two, three = opened.entries
        members: list[Copied | Written] = [Written(name="first", data=b"1"), Copied(archive=opened, entries=[one])]
        members += [Copied(archive=opened, entries=[two, three]), Written(name="last", data=b"9")]
        write_archive(tmp_path / "b.zip", members)
    with zipfile.ZipFile(tmp_path / "a.zip") as before, zipfile.ZipFile(tmp_path / "b.zip") as after:
        assert after.testzip() is None
        assert after.namelist() == ["first", "one", "two", "three", "last"]
        assert all(after.read(name) == before.read(name) for name in before.namelist())


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EXDEV])
def test_a_long_run_that_cannot_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "copy_file_range", refuse)
    with Archive.open(long(tmp_path / "a.zip")) as opened:
        members = [Copied(archive=opened, entries=opened.entries)]
        if number == errno.EXDEV:
            write_archive(tmp_path / "b.zip", members)
            assert (tmp_path / "b.zip").read_bytes() == (tmp_path / "a.zip").read_bytes()
        else:
            with pytest.raises(WainwrightError, match="No space left on device"):
                write_archive(tmp_path / "b.zip", members)
            assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_a_mistake_behind_a_long_run_leaves_nothing(tmp_path: Path) -> None:
    with Archive.open(long(tmp_path / "a.zip")) as opened:
        members: list[Copied | Written] = [
            Copied(archive=opened, entries=opened.entries),
            Written(name="one", data=b""),
        ]
        with pytest.raises(MemberError, match="two members would have this name"):
            write_archive(tmp_path / "b.zip", members)
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]
    assert "copy" not in {thread.name for thread in threading.enumerate()}


def test_what_the_disk_holds_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewriting, "write", lambda descriptor, data, at: os.pwrite(descriptor, bytes(len(data)), at))
    with pytest.raises(WainwrightError, match="does not hold what was written"):
        write_archive(tmp_path / "b.zip", [Written(name="a", data=b"x")])
    assert list(tmp_path.iterdir()) == []


def test_zip64_appears_exactly_where_a_value_needs_it(tmp_path: Path) -> None:
    small = NewMember(name="a", method=0, stamp=(0, 33), crc=0, compressed=5, size=5, external=0)
    large = NewMember(name="a", method=0, stamp=(0, 33), crc=0, compressed=5 << 30, size=6 << 30, external=0)
    with Archive.open(sample(tmp_path / "a.zip")) as opened:
        entry = opened.entries[3]
    records = {
        central_record(small, 0): (5, 5, 0),
        central_record(small, 5 << 30): (5, 5, 5 << 30),
        central_record(large, 7): (6 << 30, 5 << 30, 7),
        central_record(large, 9 << 30): (6 << 30, 5 << 30, 9 << 30),
        copied_record(entry, None, 5 << 30): (entry.size, entry.compressed, 5 << 30),
        copied_record(entry, "other", 5): (entry.size, entry.compressed, 5),
    }
    for record, (size, compressed, offset) in records.items():
        whole = io.BytesIO(record + end_records(1, len(record), 0, b""))
        # zipfile knows the offset only relative to the directory's own place
        info = zipfile.ZipFile(whole).infolist()[0]
        assert (info.file_size, info.compress_size, info.header_offset) == (size, compressed, offset)
        wide = max(size, compressed, offset) >= 0xFFFFFFFF
        assert (b"\xff\xff\xff\xff" in record[: CENTRAL.size]) is wide
        assert (CENTRAL.unpack_from(record)[2] >= 45) is wide or entry.name == "wide"
    assert b"\xff\xff\xff\xff" in local_header(large)
    assert b"\xff\xff\xff\xff" not in local_header(small)


def test_more_members_than_16_bits_count(tmp_path: Path) -> None:
    body, records = [], []
    at = 0
    for number in range(0x10001):
        new = NewMember(name=f"{number:x}", method=0, stamp=(0, 33), crc=0, compressed=0, size=0, external=0)
        body.append(local_header(new))
        records.append(central_record(new, at))
        at += len(body[-1])
    directory = b"".join(records)
    path = tmp_path / "many.zip"
    path.write_bytes(b"".join(body) + directory + end_records(len(records), len(directory), at, b"note"))
    with Archive.open(path) as opened:
        assert (len(opened.entries), opened.problems, opened.comment) == (0x10001, (), b"note")


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\\/:."), min_size=1, max_size=9)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.dictionaries(WORDS, st.binary(max_size=99), max_size=6),
    st.randoms(use_true_random=False),
)
def test_any_members_in_any_order(tmp_path: Path, members: dict[str, bytes], random: object) -> None:
    (tmp_path / "a.zip").write_bytes(streamed(members))
    with Archive.open(tmp_path / "a.zip") as opened:
        entries = list(opened.entries)
        random.shuffle(entries)  # type: ignore[attr-defined]
        renames = {entry.name: entry.name * (1 + entry.order % 2) for entry in entries}
        if len(set(renames.values())) < len(renames):
            return
        write_archive(tmp_path / "b.zip", [Copied(archive=opened, entries=entries, rename=renames.__getitem__)])
    assert strictly(tmp_path / "b.zip") == {renames[name]: data for name, data in members.items()}
    assert zipfile.ZipFile(tmp_path / "b.zip").testzip() is None
