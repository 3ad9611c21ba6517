from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import elves
import native
from wainwright.auditing.retag import retag, with_tags, with_version
from wainwright.errors import Exit, WainwrightError
from wainwright.formats.archive import Archive, ArchiveError, MemberError

TWO = ("manylinux2014_x86_64", "manylinux_2_17_x86_64")
NAME = "demo-1.0-cp310-cp310-linux_x86_64.whl"
WHEEL = "Wheel-Version: 1.0\nGenerator: demo\nRoot-Is-Purelib: false\nTag: cp310-cp310-linux_x86_64\n"
METADATA = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nRequires-Dist: numpy\n\nVersion: 1.0 of demo.\n"
INFO = "demo-1.0.dist-info"


@pytest.fixture(autouse=True)
def _no_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)


def cell(data: bytes, name: str = "sha256") -> str:
    return f"{name}={base64.urlsafe_b64encode(hashlib.new(name, data).digest()).decode().rstrip('=')}"


def quoted(path: str) -> str:
    return f'"{path}"' if "," in path else path


def make(
    folder: Path, extra: dict[str, bytes] | None = None, *, name: str = NAME, newline: str = "\n", signed: bool = False
) -> Path:
    """Write a wheel with a native member, a data folder, a sha512 row and, if asked, a signature."""
    members = {
        "demo/__init__.py": b"value = 1\n",
        "demo/mod.so": b"\x7fELF" + bytes(range(256)) * 40,
        "demo-1.0.data/scripts/run": b"#!python\n",
        f"{INFO}/METADATA": METADATA.replace("\n", newline).encode(),
        f"{INFO}/WHEEL": WHEEL.replace("\n", newline).encode(),
        **(extra or {}),
    }
    rows = [
        f"{quoted(path)},{cell(data, 'sha512' if path.endswith('.so') else 'sha256')},{len(data)}"
        for path, data in members.items()
    ]
    if signed:
        members[f"{INFO}/RECORD.jws"] = b"{}"
    members[f"{INFO}/RECORD"] = newline.join([*rows, f"{INFO}/RECORD,,", ""]).encode()
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for member, data in members.items():
            info = zipfile.ZipInfo(member, (2021, 1, 2, 3, 4, 6))
            info.external_attr = (0o100755 if member.endswith((".so", "run")) else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(info, data)
    return path


def contents(path: Path) -> dict[str, bytes]:
    """Read a wheel strictly, and hold every row of its RECORD against its members."""
    with Archive.open(path) as archive:
        assert archive.problems == ()
        members = {entry.name: archive.read(entry) for entry in archive.entries}
    (record,) = (name for name in members if name.endswith("/RECORD"))
    rows = list(csv.reader(io.StringIO(members[record].decode())))
    assert {row[0] for row in rows} == set(members)
    for name, hashed, size in rows:
        if name != record:
            assert (hashed, size) == (cell(members[name], hashed.partition("=")[0]), str(len(members[name])))
    return members


def test_what_has_its_tags_stays_as_it_is_and_elsewhere_is_copied(tmp_path: Path) -> None:
    wheel = make(tmp_path / "in")
    link = tmp_path / NAME
    link.symlink_to(wheel)
    before = wheel.read_bytes(), wheel.stat().st_ino
    for own in (wheel, link):
        assert retag(own, own.parent, platforms=("linux_x86_64",)) == own
        assert (wheel.read_bytes(), wheel.stat().st_ino, link.is_symlink()) == (*before, True)
    copied = retag(wheel, tmp_path / "out", platforms=("linux_x86_64",))
    assert copied.read_bytes() == before[0]
    mended = make(tmp_path / "in", {"demo/x.py": b""}, name="demo-1.0-cp310-cp310-manylinux_2_17_x86_64.whl")
    retag(mended, mended.parent)
    assert b"Tag: cp310-cp310-manylinux_2_17_x86_64" in contents(mended)[f"{INFO}/WHEEL"]


def test_every_platform_tag_is_replaced(tmp_path: Path) -> None:
    source = make(tmp_path / "in")
    before = contents(source)
    target = retag(source, tmp_path / "out", platforms=TWO)
    assert target == tmp_path / "out" / "demo-1.0-cp310-cp310-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
    after = contents(target)
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {f"{INFO}/WHEEL", f"{INFO}/RECORD"}
    assert after[f"{INFO}/WHEEL"].decode() == WHEEL.replace(
        "Tag: cp310-cp310-linux_x86_64\n",
        "Tag: cp310-cp310-manylinux2014_x86_64\nTag: cp310-cp310-manylinux_2_17_x86_64\n",
    )
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [target.name]


def test_other_members_keep_their_compressed_bytes_modes_and_times(tmp_path: Path) -> None:
    source = make(tmp_path)
    target = retag(source, tmp_path / "out", platforms=TWO, local_version="llvm")
    with Archive.open(source) as old, Archive.open(target) as new:
        for before in old.entries:
            (after,) = (e for e in new.entries if e.name.replace("demo-1.0+llvm.", "demo-1.0.") == before.name)
            assert (after.external, after.stamp, after.method) == (before.external, before.stamp, before.method)
            if not before.name.endswith(("WHEEL", "RECORD", "METADATA")):
                assert b"".join(new.raw(after)) == b"".join(old.raw(before))


def test_a_false_tag_does_not_survive(tmp_path: Path) -> None:
    name = "demo-1.0-py2.py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
    target = retag(make(tmp_path, name=name), tmp_path / "out", platforms=("manylinux_2_34_x86_64",))
    assert target.name == "demo-1.0-py2.py3-none-manylinux_2_34_x86_64.whl"
    assert contents(target)[f"{INFO}/WHEEL"].decode().splitlines()[3:] == [
        "Tag: py2-none-manylinux_2_34_x86_64",
        "Tag: py3-none-manylinux_2_34_x86_64",
    ]


def test_a_local_version_goes_everywhere(tmp_path: Path) -> None:
    target = retag(make(tmp_path), tmp_path / "out", local_version="LLVM-15")
    assert target.name == "demo-1.0+llvm.15-cp310-cp310-linux_x86_64.whl"
    members = contents(target)
    assert set(members) == {
        "demo/__init__.py",
        "demo/mod.so",
        "demo-1.0+llvm.15.data/scripts/run",
        *(f"demo-1.0+llvm.15.dist-info/{file}" for file in ("METADATA", "WHEEL", "RECORD")),
    }
    expected = METADATA.replace("Version: 1.0\nReq", "Version: 1.0+llvm.15\nReq")
    assert members["demo-1.0+llvm.15.dist-info/METADATA"].decode() == expected
    again = retag(target, tmp_path / "again", local_version="llvm.15")
    assert again.read_bytes() == target.read_bytes()
    with pytest.raises(WainwrightError, match="has a local label already"):
        retag(target, tmp_path / "again", local_version="cuda")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_rows_of_record_stay_letter_by_letter(tmp_path: Path, newline: str) -> None:
    extra = {"demo/a,b.py": b"", f"{INFO}/licenses/c,d.txt": b"of all", "demo-1.0.data/data/e,f": b""}
    source = make(tmp_path, extra, newline=newline)
    target = retag(source, tmp_path / "out", platforms=TWO)
    before, after = (contents(path)[f"{INFO}/RECORD"].decode().split(newline) for path in (source, target))
    changed = [old for old, new in zip(before, after, strict=True) if old != new]
    assert [row.partition(",")[0] for row in changed] == [f"{INFO}/WHEEL"]
    moved = contents(retag(source, tmp_path / "moved", local_version="x"))
    assert {"demo/a,b.py", "demo-1.0+x.dist-info/licenses/c,d.txt", "demo-1.0+x.data/data/e,f"} < set(moved)


def test_another_version_goes_everywhere(tmp_path: Path) -> None:
    target = retag(make(tmp_path), tmp_path / "out", version="1.1.DEV20260102")
    assert target.name == "demo-1.1.dev20260102-cp310-cp310-linux_x86_64.whl"
    members = contents(target)
    info = "demo-1.1.dev20260102.dist-info"
    assert set(members) == {
        "demo/__init__.py",
        "demo/mod.so",
        "demo-1.1.dev20260102.data/scripts/run",
        *(f"{info}/{file}" for file in ("METADATA", "WHEEL", "RECORD")),
    }
    expected = METADATA.replace("Version: 1.0\nReq", "Version: 1.1.dev20260102\nReq")
    assert members[f"{info}/METADATA"].decode() == expected
    both = retag(target, tmp_path / "both", version="1.2", local_version="llvm")
    assert both.name == "demo-1.2+llvm-cp310-cp310-linux_x86_64.whl"
    back = retag(both, tmp_path / "back", version="1.0")
    assert contents(back) == contents(retag(make(tmp_path), tmp_path / "same", platforms=("linux_x86_64",)))
    with pytest.raises(WainwrightError, match="is not a version"):
        retag(target, tmp_path / "both", version="tomorrow")


def test_dist_info_stands_at_the_end_and_record_last(tmp_path: Path) -> None:
    target = retag(make(tmp_path, {"zz.py": b"late"}), tmp_path / "out", platforms=TWO)
    names = zipfile.ZipFile(target).namelist()
    assert names[-1] == f"{INFO}/RECORD"
    assert [name.startswith(INFO) for name in names] == [False] * 4 + [True] * 3


def test_windows_line_endings_stay(tmp_path: Path) -> None:
    target = retag(make(tmp_path, newline="\r\n"), tmp_path / "out", platforms=TWO, local_version="x")
    for member, data in contents(target).items():
        if member.endswith(("WHEEL", "RECORD", "METADATA")):
            assert data.count(b"\n") == data.count(b"\r\n") > 0


def test_a_signature_is_left_out_and_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    source = make(tmp_path, signed=True)
    target = retag(source, tmp_path / "out", platforms=TWO, say=said.append)
    assert f"{INFO}/RECORD.jws" not in contents(target)
    assert said == [f"{NAME}: {INFO}/RECORD.jws is left out: it signs the RECORD that was"]
    retag(source, tmp_path / "out", platforms=TWO)
    assert capsys.readouterr().err == f"{said[0]}\n"


def test_the_same_input_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = make(tmp_path)
    first = retag(source, tmp_path / "1", platforms=TWO).read_bytes()
    assert retag(source, tmp_path / "2", platforms=TWO).read_bytes() == first
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    target = retag(source, tmp_path / "3", platforms=TWO)
    dates = {info.filename: info.date_time[0] for info in zipfile.ZipFile(target).infolist()}
    assert dates[f"{INFO}/WHEEL"] == dates[f"{INFO}/RECORD"] == 2023
    assert dates["demo/mod.so"] == dates[f"{INFO}/METADATA"] == 2021
    assert retag(source, tmp_path / "4", platforms=TWO).read_bytes() == target.read_bytes()


def test_in_place(tmp_path: Path) -> None:
    source = make(tmp_path)
    assert retag(source, tmp_path, platforms=("linux_x86_64",)) == source
    contents(source)


def test_pip_takes_it(tmp_path: Path) -> None:
    source = make(tmp_path, name="demo-1.0-py3-none-any.whl")
    target = retag(source, tmp_path / "out", platforms=(f"linux_{platform.machine()}",), local_version="llvm")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-index",
        "--no-deps",
        "-q",
        "--target",
        str(tmp_path / "site"),
        str(target),
    ]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "demo-1.0+llvm.dist-info" / "RECORD").exists()
    assert (tmp_path / "site" / "bin" / "run").exists()


@pytest.mark.parametrize("tags", [("",), ("many linux",), ("a-b",), ()])
def test_what_is_no_platform(tmp_path: Path, tags: tuple[str, ...]) -> None:
    with pytest.raises(WainwrightError, match="platform tag"):
        retag(make(tmp_path), tmp_path / "out", platforms=tags)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("label", ["", "a b", "+x", "x.", "ü"])
def test_what_is_no_local_label(tmp_path: Path, label: str) -> None:
    with pytest.raises(WainwrightError, match="not a local version label"):
        retag(make(tmp_path), tmp_path / "out", local_version=label)


def test_broken_wheels(tmp_path: Path) -> None:
    def of(name: str, members: dict[str, bytes]) -> Path:
        path = tmp_path / name
        with zipfile.ZipFile(path, "w") as target:
            for member, data in members.items():
                target.writestr(member, data)
        return path

    cases: list[tuple[Path, type[WainwrightError], str]] = [
        (tmp_path / "demo.zip", ArchiveError, "not a wheel's file name"),
        (tmp_path / "absent-1.0-py3-none-any.whl", ArchiveError, "No such file"),
        (of("a-1.0-py3-none-any.whl", {"a.py": b""}), WainwrightError, "no .dist-info"),
        (of("b-1.0-py3-none-any.whl", {"x-1.dist-info/a": b"", "y-1.dist-info/a": b""}), WainwrightError, "several"),
        (of("c-1.0-py3-none-any.whl", {"c-1.0.dist-info/RECORD": b""}), MemberError, "WHEEL: it is absent"),
        (of("d-1.0-py3-none-any.whl", {"d-1.0.dist-info/WHEEL": b"Tag: x\n"}), MemberError, "RECORD: it is absent"),
        (
            of("e-1.0-py3-none-any.whl", {"e-1.0.dist-info/WHEEL": b"\xff", "e-1.0.dist-info/RECORD": b""}),
            MemberError,
            "UTF-8",
        ),
    ]
    for path, kind, message in cases:
        with pytest.raises(kind, match=message) as caught:
            retag(path, tmp_path / "out", platforms=TWO)
        assert "\n" not in caught.value.what
        assert not list(tmp_path.glob("out/*"))


def test_a_record_without_a_row_for_wheel_gets_one(tmp_path: Path) -> None:
    path = tmp_path / "d-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as target:
        target.writestr("d-1.0.dist-info/WHEEL", "Root-Is-Purelib: true")
        target.writestr("d-1.0.dist-info/RECORD", "d-1.0.dist-info/RECORD,,\n")
    members = contents(retag(path, tmp_path / "out", platforms=("any",)))
    assert members["d-1.0.dist-info/WHEEL"] == b"Root-Is-Purelib: true\nTag: py3-none-any\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A: 1\nTag: x\nB: 2\nTag: y\n", "A: 1\nTag: p\nTag: q\nB: 2\n"),
        ("A: 1\ntag:\nTag\n", "A: 1\nTag: p\nTag: q\n"),
        ("A: 1\r\nTag: x\r\n", "A: 1\r\nTag: p\r\nTag: q\r\n"),
        ("A: 1\n\nTag: body\n", "A: 1\nTag: p\nTag: q\n\nTag: body\n"),
        ("Tag: x", "Tag: p\nTag: q\n"),
        ("", "Tag: p\nTag: q\n"),
    ],
)
def test_tag_lines(before: str, after: str) -> None:
    assert with_tags(before, ("p", "q")) == after


def test_the_version_line_alone() -> None:
    assert with_version("Metadata-Version: 2.1\r\nVersion: 1.0\r\n\r\nVersion: 2\r\n", "1.1") == (
        "Metadata-Version: 2.1\r\nVersion: 1.1\r\n\r\nVersion: 2\r\n"
    )
    assert with_version("version:1.0+y\n", "1.1+x") == "version:1.1+x\n"
    for text in ("Name: demo\n\nVersion: 1.0\n", "Metadata-Version: 2.1\n"):
        with pytest.raises(WainwrightError, match="no Version"):
            with_version(text, "x")


def test_native_code_is_not_for_any_platform(tmp_path: Path) -> None:
    source = native.wheel(tmp_path / NAME, {"demo/mod.so": elves.make()})
    with pytest.raises(WainwrightError, match="promises every platform") as caught:
        retag(source, tmp_path / "out", platforms=("any",))
    assert (caught.value.code, caught.value.where) == (Exit.USAGE, "demo/mod.so")
    pure = native.wheel(tmp_path / "pure-1.0-py3-none-linux_x86_64.whl", {"pure.py": b"", "x.o": b"\x7fELF"})
    assert retag(pure, tmp_path / "out", platforms=("any",)).name == "pure-1.0-py3-none-any.whl"


@pytest.mark.parametrize("before", [b"#!/bin/sh\n", b""])
def test_bytes_that_belong_to_no_member_are_told(tmp_path: Path, before: bytes) -> None:
    source = make(tmp_path)
    clean = retag(source, tmp_path / "1", platforms=TWO, say=pytest.fail).read_bytes()
    source.write_bytes(before + source.read_bytes() + (b"" if before else b"tail"))
    told: list[str] = []
    assert retag(source, tmp_path / "2", platforms=TWO, say=told.append).read_bytes() == clean
    assert [line.rpartition("; ")[2] for line in told] == ["the new archive holds the members alone"]
