from __future__ import annotations

import hashlib
import io
import os
import struct
import subprocess
import sys
import threading
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wainwright.formats import inflating
from wainwright.formats.archive import Archive, ArchiveError, Entry, Limits, MemberError
from wainwright.formats.zipproblems import are_plain, each_name
from zips import Part, archive, deflated, streamed

BIG = b"".join(hashlib.sha256(bytes([i % 256, i // 256])).digest() for i in range(30_000))


def write(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    return path


def problems(path: Path) -> set[tuple[str, str | None]]:
    with Archive.open(path) as opened:
        return {(problem.kind, problem.member) for problem in opened.problems}


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, comment: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as target:
        for name, data in members.items():
            target.writestr(name, data)
        target.comment = comment
    return buffer.getvalue()


MEMBERS = {"demo/__init__.py": b"", "demo/mod.so": b"\x7fELF" + BIG, "demo/text": b"a" * 300_000, "leaf": b"x"}


@pytest.mark.parametrize(
    "data",
    [
        zipped(MEMBERS),
        zipped(MEMBERS, zipfile.ZIP_STORED),
        zipped(MEMBERS, comment=b"PK\5\6 is no end here"),
        streamed(MEMBERS),
    ],
    ids=["deflated", "stored", "comment", "descriptors"],
)
def test_whatever_zipfile_writes_reads_back_without_a_problem(tmp_path: Path, data: bytes) -> None:
    with Archive.open(write(tmp_path, data)) as opened:
        assert opened.problems == ()
        assert {entry.name: opened.read(entry) for entry in opened.entries} == MEMBERS
        for entry in opened.entries:
            member = opened.digest(entry, keep=lambda prefix: prefix.startswith(b"\x7fELF"))
            assert member.hash == hashlib.sha256(MEMBERS[entry.name]).digest()
            assert member.size == len(MEMBERS[entry.name])
            assert member.data == (MEMBERS[entry.name] if entry.name == "demo/mod.so" else None)
            assert opened.digest(entry, algorithm="sha512").hash == hashlib.sha512(MEMBERS[entry.name]).digest()


def test_zlib_serves_where_isal_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal", None)
    inflating.fastest.cache_clear()
    try:
        assert inflating.fastest() is zlib
        with Archive.open(write(tmp_path, zipped(MEMBERS))) as opened:
            assert [opened.read(entry) for entry in opened.entries] == list(MEMBERS.values())
    finally:
        inflating.fastest.cache_clear()


def test_a_few_texts_are_read_without_the_import_of_isal(tmp_path: Path) -> None:
    path = write(tmp_path, zipped(MEMBERS))
    program = (
        "import sys; from wainwright.formats.archive import Archive; archive = Archive.open(sys.argv[1])\n"
        "for read in archive.read, archive.digest: read(archive.entries[0]); print('isal' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_zip64_forced(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target, target.open("large", "w", force_zip64=True) as member:
        member.write(b"small")
    with Archive.open(write(tmp_path, buffer.getvalue())) as opened:
        assert opened.problems == ()
        assert opened.read(opened.entries[0]) == b"small"


def test_zip64_directory_and_offsets_beyond_4_gib(tmp_path: Path) -> None:
    # One stored member of 5 GiB, sparse on disk, and a second one behind it.
    large = 5 << 30
    zip64 = struct.pack("<2H2Q", 1, 16, large, large)
    head = struct.pack("<4s5H3I2H", b"PK\3\4", 45, 0, 0, 0, 33, 0, 0xFFFFFFFF, 0xFFFFFFFF, 1, len(zip64)) + b"a" + zip64
    second = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 33, zlib.crc32(b"hi"), 2, 2, 1, 0) + b"b" + b"hi"
    at = len(head) + large
    wide = struct.pack("<2HQ", 1, 8, at)
    directory = (
        struct.pack("<4s6H3I5H2I", b"PK\1\2", 45, 45, 0, 0, 0, 33, 0, 0xFFFFFFFF, 0xFFFFFFFF, 1, len(zip64), *[0] * 5)
        + b"a" + zip64
        + struct.pack("<4s6H3I5H2I", b"PK\1\2", 45, 45, 0, 0, 0, 33, zlib.crc32(b"hi"), 2, 2, 1,
                      len(wide), *[0] * 4, 0xFFFFFFFF)
        + b"b" + wide
    )  # fmt: skip
    start = at + len(second)
    end = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 2, 2, len(directory), start)
    end += struct.pack("<4sIQI", b"PK\6\7", 0, start + len(directory), 1)
    end += struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    path = tmp_path / "large.zip"
    with path.open("wb") as file:
        file.write(head)
        file.seek(at)
        file.write(second + directory + end)
    with Archive.open(path) as opened:
        assert opened.problems == ()
        assert [entry.size for entry in opened.entries] == [large, 2]
        assert opened.read(opened.entries[1]) == b"hi"
    assert zipfile.ZipFile(path).namelist() == ["a", "b"]


@pytest.mark.parametrize(
    "lie",
    [
        {"local_name": b"other"},
        {"local": {"method": 0}},
        {"local": {"size": 6}},
        {"local": {"compressed": 1}},
        {"local": {"crc": 1}},
        {"local": {"flags": 1}},
        {"local": {"size": 0xFFFFFFFF}},
        {"central": {"flags": 8}, "local": {"flags": 8}, "descriptor": b"PK\7\x08" + bytes(12)},
        {"extra": struct.pack("<2HBI", 0x7075, 10, 1, zlib.crc32(b"bad")) + b"other"},
        {"local_extra": struct.pack("<2HBI", 0x7075, 10, 1, zlib.crc32(b"bad")) + b"other"},
    ],
    ids=str,
)
def test_local_header_and_directory_must_agree(tmp_path: Path, lie: dict[str, object]) -> None:
    bad = Part(name=b"bad", **lie)  # type: ignore[arg-type]
    found = problems(write(tmp_path, archive(Part(name=b"good"), bad, Part(name=b"fine"))))
    assert found - {("archive", None)} == {("disagreement", "bad")}


@pytest.mark.parametrize("signature", [b"PK\7\x08", b""])
@pytest.mark.parametrize("form", ["<3I", "<I2Q"])
def test_every_form_of_data_descriptor(tmp_path: Path, signature: bytes, form: str) -> None:
    stream = deflated(b"content")
    record = signature + struct.pack(form, zlib.crc32(b"content"), len(stream), 7)
    zeros = {"crc": 0, "size": 0, "compressed": 0}
    part = Part(name=b"a", flags=8, local=zeros, descriptor=record)
    with Archive.open(write(tmp_path, archive(part, Part(name=b"b")))) as opened:
        assert opened.problems == ()
        assert [opened.read(entry) for entry in opened.entries] == [b"content"] * 2


@pytest.mark.parametrize("name", ["/etc/passwd", "../up", "a/../../b", "a\\b", "a\0b", "C:/x", ""], ids=ascii)
def test_unsafe_names(tmp_path: Path, name: str) -> None:
    found = problems(write(tmp_path, archive(Part(name=b"good"), Part(name=name.encode()))))
    assert found == {("unsafe-name", name)}


@pytest.mark.parametrize("name", ["a..b", "...", "a.", "lib..so", "ab:c", "ünï".encode().decode("latin-1"), ".hidden"])
def test_odd_names_that_are_safe(tmp_path: Path, name: str) -> None:
    assert problems(write(tmp_path, archive(Part(name=name.encode(), flags=0x800)))) == set()


PATHS = st.lists(st.sampled_from(["", "/", "//", ".", "..", "a", "é", "\\", "C:", "\0", "\n"])).map("".join)


@given(st.lists(st.tuples(PATHS, st.sampled_from([0, 0o100644, 0o040755, 0o120777, 0o010644])), max_size=4))
def test_names_that_are_plain_together_are_so_one_by_one(members: list[tuple[str, int]]) -> None:
    entries = tuple(
        Entry(order, name, 8, 0, 0, 0, mode << 16, 0, 0, 0, None, b"") for order, (name, mode) in enumerate(members)
    )
    assert not (are_plain(entries) and list(each_name(entries)))


def test_a_name_that_is_not_the_utf8_it_claims(tmp_path: Path) -> None:
    with Archive.open(write(tmp_path, archive(Part(name=b"caf\xe9", flags=0x800)))) as opened:
        (found,) = opened.problems
        assert (found.kind, opened.read(opened.entries[0])) == ("unsafe-name", b"content")
        assert str(MemberError(opened.entries[0].name, "it is broken")).isprintable()


@pytest.mark.parametrize("second", [b"a/b", b"a//b", b"./a/b", b"a/./b"])
def test_two_members_for_one_path(tmp_path: Path, second: bytes) -> None:
    path = write(tmp_path, archive(Part(name=b"a/b"), Part(name=second), Part(name=b"c")))
    assert problems(path) == {("duplicate", second.decode())}


def test_symlinks_and_devices(tmp_path: Path) -> None:
    link = Part(name=b"link", external=0o120777 << 16)
    pipe = Part(name=b"pipe", external=0o010644 << 16)
    folder = Part(name=b"folder/", external=0o040755 << 16, data=b"", method=0)
    path = write(tmp_path, archive(link, pipe, folder))
    assert problems(path) == {("symlink", "link"), ("special", "pipe")}
    with Archive.open(path) as opened:
        assert [entry.is_symlink for entry in opened.entries] == [True, False, False]
        assert [entry.is_directory for entry in opened.entries] == [False, False, True]


@pytest.mark.parametrize(("method", "name"), [(zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "lzma")])
def test_other_methods_are_named(tmp_path: Path, method: int, name: str) -> None:
    path = write(tmp_path, zipped({"a": b"data"}, method))
    assert problems(path) == {("method", "a")}
    with Archive.open(path) as opened, pytest.raises(MemberError, match=name) as caught:
        opened.read(opened.entries[0])
    assert caught.value.member == "a"


def test_an_encrypted_member(tmp_path: Path) -> None:
    path = write(tmp_path, archive(Part(name=b"secret", flags=1), Part(name=b"open")))
    assert problems(path) == {("encrypted", "secret")}
    with Archive.open(path) as opened:
        with pytest.raises(MemberError, match="encrypted"):
            opened.digest(opened.entries[0])
        assert opened.read(opened.entries[1]) == b"content"


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Part(name=b"bad", local={"crc": 1}, central={"crc": 1}), "CRC"),
        (Part(name=b"bad", stream=b"\x07junk"), "damaged"),
        (Part(name=b"bad", stream=deflated(b"content")[:-2]), "cut short"),
        (Part(name=b"bad", stream=deflated(b"content") + b"more"), "ends 4 bytes before"),
        (Part(name=b"bad", data=b"content", stream=deflated(b"content, longer")), "more than the 7 bytes"),
        (Part(name=b"bad", data=b"content", stream=deflated(b"con")), "inflates to 3 bytes"),
        (Part(name=b"bad", method=0, stream=b"longer than that"), "stored"),
        (Part(name=b"bad", central={"offset": 1}), "no local header"),
        (Part(name=b"bad", central={"offset": 0x7FFFFFFF}), "no local header"),
        (Part(name=b"bad", central={"compressed": 0x7FFFFFFF}), "reach into the directory"),
        (Part(name=b"bad", central={"size": 0x7FFFFFFF}), "more than"),
        (Part(name=b"bad", central={"size": 0xFFFFFFFF}), "ZIP64"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_broken_member_is_named_and_the_others_are_read(tmp_path: Path, part: Part, message: str) -> None:
    with Archive.open(write(tmp_path, archive(Part(name=b"good"), part, Part(name=b"fine")))) as opened:
        good, bad, fine = opened.entries
        with pytest.raises(MemberError, match=message) as caught:
            opened.digest(bad)
        assert (caught.value.member, caught.value.code) == ("bad", 1)
        assert opened.read(good) == opened.read(fine) == b"content"
        assert {problem.member for problem in opened.problems} <= {"bad", None}


def test_members_that_share_bytes(tmp_path: Path) -> None:
    # A whole second member inside the first one's data, as in a bomb of overlapping files.
    inner = archive(Part(name=b"inner"))
    outer = Part(name=b"outer", method=0, data=inner)
    hidden = Part(name=b"inner", central={"offset": 35}, stream=b"", data=b"content")
    data = bytearray(archive(outer, hidden))
    struct.pack_into("<I", data, data.index(b"PK\1\2", len(inner) + 60) + 46 + 5 + 20, len(deflated(b"content")))
    kinds = problems(write(tmp_path, bytes(data)))
    assert ("overlap", "outer") in kinds
    assert "good" not in {member for _, member in kinds}


def test_two_records_for_one_local_header(tmp_path: Path) -> None:
    path = write(tmp_path, archive(Part(name=b"good"), Part(name=b"twin", central={"offset": 0})))
    assert {member for _, member in problems(path)} == {"twin"}


def test_bytes_that_belong_to_no_member(tmp_path: Path) -> None:
    whole = archive(Part(name=b"a"), Part(name=b"b"))
    assert problems(write(tmp_path, b"#!/bin/sh\n" + whole)) == {("archive", None)}
    assert problems(write(tmp_path, whole + b"trailing")) == {("archive", None)}
    assert problems(write(tmp_path, archive(Part(name=b"a"), Part(name=b"b", before=b"gap")))) == {("archive", None)}
    assert problems(write(tmp_path, archive(Part(name=b"a"), count=2))) == {("archive", None)}


def test_an_empty_archive(tmp_path: Path) -> None:
    with Archive.open(write(tmp_path, archive())) as opened:
        assert (opened.entries, opened.problems) == ((), ())


def test_what_cannot_be_read_at_all(tmp_path: Path) -> None:
    whole = zipped(MEMBERS)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    cases = [tmp_path / "absent", tmp_path, fifo]
    for number, data in enumerate((b"", b"P", b"hello" * 100, whole[: len(whole) // 2], whole[:-1], whole[200:])):
        path = tmp_path / f"{number}.zip"
        path.write_bytes(data)
        cases.append(path)
    for path in cases:
        with pytest.raises(ArchiveError) as caught:
            Archive.open(path)
        assert caught.value.code == 2
        assert caught.value.where == str(path)
        assert "\n" not in str(caught.value)


def test_every_truncation_is_an_archive_error(tmp_path: Path) -> None:
    whole = archive(Part(name=b"a"), Part(name=b"b"))
    for length in range(len(whole)):
        with pytest.raises(ArchiveError):
            Archive.open(write(tmp_path, whole[:length]))


def test_several_volumes(tmp_path: Path) -> None:
    data = bytearray(archive(Part(name=b"a")))
    struct.pack_into("<H", data, len(data) - 22 + 4, 1)
    with pytest.raises(ArchiveError, match="volumes"):
        Archive.open(write(tmp_path, bytes(data)))


def test_one_member_that_is_a_bomb(tmp_path: Path) -> None:
    path = write(tmp_path, zipped({"bomb": bytes(3_000_000), "good": b"x"}))
    with Archive.open(path, limits=Limits(floor=1_000_000, ratio=10)) as opened:
        bomb, good = opened.entries
        assert [(problem.kind, problem.member) for problem in opened.problems] == [("broken", "bomb")]
        with pytest.raises(MemberError, match="3000000 bytes, more than the 1000000"):
            opened.digest(bomb)
        assert opened.read(good) == b"x"


def test_many_members_that_are_a_bomb_together(tmp_path: Path) -> None:
    path = write(tmp_path, zipped({f"{number}": bytes(600_000) for number in range(4)}))
    with pytest.raises(ArchiveError, match="2400000 bytes, more than the 1000000"):
        Archive.open(path, limits=Limits(floor=1_000_000, ratio=10))


def test_a_bomb_that_declares_little_is_stopped_where_it_lied(tmp_path: Path) -> None:
    lie = Part(name=b"bomb", data=b"x" * 10, stream=deflated(bytes(50_000_000)))
    with Archive.open(write(tmp_path, archive(lie))) as opened:
        read = opened.inflate(opened.entries[0])
        with pytest.raises(MemberError, match="more than the 10 bytes"):
            next(read)


def test_a_limit_on_one_read(tmp_path: Path) -> None:
    with Archive.open(write(tmp_path, zipped({"a": b"12345"}))) as opened:
        assert opened.read(opened.entries[0], limit=5) == b"12345"
        with pytest.raises(MemberError, match="more than the 4"):
            opened.read(opened.entries[0], limit=4)


def test_several_threads_read_at_once(tmp_path: Path) -> None:
    members = {f"m{number}": BIG[number:] for number in range(12)}
    with Archive.open(write(tmp_path, zipped(members))) as opened, ThreadPoolExecutor(4) as pool:
        hashes = list(pool.map(lambda entry: opened.digest(entry).hash, opened.entries))
    assert hashes == [hashlib.sha256(data).digest() for data in members.values()]


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, zipped({"a": BIG}))
    with Archive.open(path) as opened:
        os.truncate(path, 1000)
        with pytest.raises(ArchiveError, match="shorter"):
            opened.digest(opened.entries[0])


def test_whatever_zipfile_refuses_is_told(tmp_path: Path) -> None:
    times = b"UT\5\0\1abcd"
    good = archive(Part(name=b"a", extra=times, local_extra=times), Part(name=b"b", method=0), Part(name=b"c/"))
    refused = 0
    for at in range(len(good) * 8):
        flipped = bytearray(good)
        flipped[at // 8] ^= 1 << at % 8
        data = bytes(flipped)
        if not zipfile_takes(data):
            refused += 1
            assert not is_sound(write(tmp_path, data)), f"bit {at % 8} of byte {at // 8}"
    assert refused > 500


def zipfile_takes(data: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as opened:
            return opened.testzip() is None
    except Exception:  # noqa: BLE001 - each decompressor has errors of its own
        return False


def is_sound(path: Path) -> bool:
    try:
        with Archive.open(path) as opened:
            for entry in opened.entries:
                opened.digest(entry)
            return not opened.problems
    except (ArchiveError, MemberError):
        return False


SEEDS = (
    archive(Part(name=b"a"), Part(name=b"dir/b", method=0), Part(name=b"c", flags=0x800)),
    streamed({"a": b"hello", "b": b""}),
    zipped({"x": b"y" * 100}, comment=b"note"),
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    seed=st.sampled_from(SEEDS),
    edits=st.lists(st.tuples(st.integers(0, 1 << 16), st.binary(min_size=1, max_size=8)), max_size=6),
    cut=st.integers(0, 40),
)
def test_mutated_archives_raise_typed_errors_alone(
    tmp_path: Path, seed: bytes, edits: list[tuple[int, bytes]], cut: int
) -> None:
    data = bytearray(seed)
    for place, block in edits:
        at = place % len(data)
        data[at : at + len(block)] = block
    path = write(tmp_path, bytes(data[: len(data) - cut] if cut > 30 else data))
    try:
        opened = Archive.open(path, limits=Limits(floor=1 << 20))
    except ArchiveError:
        return
    with opened:
        for entry in opened.entries:
            try:
                member = opened.digest(entry, keep=lambda _: True)
            except MemberError as error:
                assert error.member == entry.name  # noqa: PT017
            else:
                assert len(member.data or b"") == entry.size


@pytest.mark.parametrize("damaged", [False, True])
def test_a_member_larger_than_all_others_is_hashed_beside(tmp_path: Path, damaged: bool) -> None:
    large = BIG * 12
    data = bytearray(zipped({"large": large, "small": b"x"}))
    data[len(data) // 2] ^= damaged
    with Archive.open(write(tmp_path, bytes(data))) as opened:
        entry = opened.entries[0]
        if damaged:
            with pytest.raises(MemberError, match="large"):
                opened.digest(entry)
        else:
            assert opened.digest(entry, algorithm="sha384").hash == hashlib.sha384(large).digest()
    assert [thread.name for thread in threading.enumerate() if thread.name == "hash"] == []
