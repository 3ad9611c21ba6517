from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from wainwright.formats.archive import Archive, ArchiveError
from wainwright.formats.wheelfile import (
    Location,
    expand,
    locate,
    parse_headers,
    parse_metadata,
    parse_wheel,
    read_dist_info,
    same_distribution,
)
from wainwright.formats.wheelname import parse_wheel_name, same_version

WHEEL = "Wheel-Version: 1.0\nGenerator: demo\nRoot-Is-Purelib: false\nTag: cp310-cp310-linux_x86_64\n"
METADATA = (
    "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nRequires-Dist: numpy\nRequires-Dist: torch>=2\n\nName: no\n"
)


def wheel(path: Path, members: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as target:
        for name, data in members.items():
            target.writestr(name, data)
    return path


def test_a_file_name_keeps_its_spelling_and_order() -> None:
    name = parse_wheel_name("My.Pkg-1.0.0-1-py2.py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl")
    assert (name.distribution, name.version, name.build) == ("My.Pkg", "1.0.0", "1")
    assert name.pythons == ("py2", "py3")
    assert name.platforms == ("manylinux2014_x86_64", "manylinux_2_17_x86_64")
    assert (name.project, name.public_version) == ("my-pkg", "1.0.0")
    assert len(name.tags) == 4
    assert "py2-none-manylinux_2_17_x86_64" in name.tags
    assert name.normalised.startswith("my_pkg-1.0.0-1-py2.py3-none-")


@pytest.mark.parametrize(
    ("filename", "normalised"),
    [
        ("demo-1.0-cp310-cp310-linux_x86_64.whl", "demo-1.0-cp310-cp310-linux_x86_64.whl"),
        ("Demo-1.0-cp310-cp310-linux_x86_64.whl", "demo-1.0-cp310-cp310-linux_x86_64.whl"),
        ("demo-1.0+a_b-cp310-cp310-linux_x86_64.whl", "demo-1.0+a.b-cp310-cp310-linux_x86_64.whl"),
        ("demo-01.0-py3-none-any.whl", "demo-1.0-py3-none-any.whl"),
    ],
)
def test_the_name_that_it_should_have(filename: str, normalised: str) -> None:
    assert parse_wheel_name(filename).normalised == normalised


@pytest.mark.parametrize(
    "filename", ["demo.zip", "demo-1.0.whl", "demo-x.y-py3-none-any.whl", ".whl", "a b-1-py3-none-any.whl"]
)
def test_what_is_no_wheel_name(filename: str) -> None:
    with pytest.raises(ArchiveError, match="not a wheel's file name") as caught:
        parse_wheel_name(filename)
    assert caught.value.where == filename


PART = st.text("aA1._ +é\u0660", max_size=5)
TAG = st.sampled_from(["py3", "cp310.cp311", "CP310", "none", "abi3", "any", "linux_x86_64", "", "py3.", "3py", "a.b"])


@given(
    st.one_of(PART, st.just("demo")),
    st.one_of(PART, st.sampled_from(["1.0", "1.0+a_b", "1!2rc1"])),
    st.one_of(st.none(), PART),
    st.tuples(TAG, TAG, TAG),
    st.sampled_from([".whl", "", ".zip", "-x.whl"]),
)
def test_names_are_read_as_packaging_reads_them(
    name: str, version: str, build: str | None, tags: tuple[str, str, str], suffix: str
) -> None:
    filename = "-".join([name, version, *([] if build is None else [build]), *tags]) + suffix
    try:
        project, parsed, number, expanded = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        with pytest.raises(ArchiveError):
            parse_wheel_name(filename)
        return
    found = parse_wheel_name(filename)
    assert (found.project, found.public_version) == (project, str(parsed))
    assert bool(found.build) == bool(number)
    assert found.tags == {str(tag) for tag in expanded}


def test_headers_as_email_reads_them() -> None:
    headers = parse_headers("A: 1\r\nb:2\r\nA: 3\r\n  folded\r\nEmpty:\r\n\r\nBody: no\r\n")
    assert headers.fields == (("A", "1"), ("b", "2"), ("A", "3\n  folded"), ("Empty", ""))
    assert headers.all("a") == ("1", "3\n  folded")
    assert headers.first("absent") == ""
    assert parse_headers("no header at all\nA: 1\n").fields == ()
    assert parse_headers("A: 1\nno header: 2\nB: 3\n").fields == (("A", "1"),)


def test_tag_lines_as_they_stand() -> None:
    fields = parse_wheel(
        "Wheel-Version: 1.0\nRoot-Is-Purelib: TRUE\nBuild: 3\n"
        "Tag:\nTag: py3-none\nTag: py2.py3-none-any\nTag: CP310-abi3-linux_x86_64\n"
    )
    assert fields.tags == ("", "py3-none", "py2.py3-none-any", "CP310-abi3-linux_x86_64")
    assert fields.malformed == ("", "py3-none")
    assert fields.compressed == ("py2.py3-none-any",)
    assert fields.expanded == {"py2-none-any", "py3-none-any", "cp310-abi3-linux_x86_64"}
    assert (fields.root_is_purelib, fields.build) == (True, "3")


@pytest.mark.parametrize(
    "tag", ["", "any", "py3-none", "py3-none-any-more", "py3--any", "py3-none-a b", "py3.-none-any"]
)
def test_what_is_no_tag(tag: str) -> None:
    assert expand(tag) == frozenset()


def test_metadata_ends_where_the_description_begins() -> None:
    metadata = parse_metadata(METADATA)
    assert (metadata.name, metadata.version) == ("demo", "1.0")
    assert metadata.requires_dist == ("numpy", "torch>=2")
    assert metadata.requires_python == ""


@pytest.mark.parametrize(
    ("folder", "same"),
    [
        ("demo_pkg-1.0.dist-info", True),
        ("Demo.Pkg-1.0.0.dist-info", True),
        ("demo-pkg-1.0.dist-info", True),
        ("demo_pkg-1.0.data", True),
        ("demo_pkg-1.1.dist-info", False),
        ("demo-1.0.dist-info", False),
        ("demo_pkg.dist-info", False),
    ],
)
def test_a_folder_of_the_same_distribution(folder: str, same: bool) -> None:
    assert same_distribution(folder, parse_wheel_name("demo_pkg-1.0-py3-none-any.whl")) is same


def test_a_whole_dist_info(tmp_path: Path) -> None:
    members: dict[str, str | bytes] = {
        "demo/mod.so": b"x",
        "demo-1.0.data/scripts/run": b"x",
        "demo-1.0.dist-info/WHEEL": WHEEL,
        "demo-1.0.dist-info/METADATA": METADATA,
        "demo-1.0.dist-info/RECORD": "demo/mod.so,,\ndemo-1.0.dist-info/RECORD,,\n",
    }
    path = wheel(tmp_path / "demo-1.0-cp310-cp310-linux_x86_64.whl", members)
    with Archive.open(path) as archive:
        info = read_dist_info(archive, parse_wheel_name(path.name))
    assert (info.folder, info.folders) == ("demo-1.0.dist-info", ("demo-1.0.dist-info",))
    assert info.data_folders == ("demo-1.0.data",)
    assert info.wheel
    assert info.metadata
    assert info.record
    assert info.faults == ()
    assert info.record_name == "demo-1.0.dist-info/RECORD"
    assert "demo-1.0.dist-info/RECORD.jws" in info.unrecorded


def test_faults_name_what_is_absent_or_unreadable(tmp_path: Path) -> None:
    members: dict[str, str | bytes] = {"demo-1.0.dist-info/WHEEL": b"\xff\xfe", "demo-1.0.dist-info/METADATA": METADATA}
    path = wheel(tmp_path / "demo-1.0-py3-none-any.whl", members)
    with Archive.open(path) as archive:
        info = read_dist_info(archive, parse_wheel_name(path.name))
    assert (info.wheel, info.record) == (None, None)
    assert info.metadata
    assert [(fault.member, fault.message) for fault in info.faults] == [
        ("demo-1.0.dist-info/WHEEL", "it is not UTF-8 (byte 0)"),
        ("demo-1.0.dist-info/RECORD", "it is absent"),
    ]


@pytest.mark.parametrize(
    ("folders", "chosen"),
    [
        (("demo-1.0",), "demo-1.0"),
        (("other-2.0",), "other-2.0"),
        (("other-2.0", "demo-1.0"), "demo-1.0"),
        (("other-2.0", "third-1.0"), ""),
        (("demo-1.0", "Demo-1.0"), ""),
        ((), ""),
    ],
)
def test_which_dist_info_is_the_wheels_own(tmp_path: Path, folders: tuple[str, ...], chosen: str) -> None:
    members: dict[str, str | bytes] = {f"{folder}.dist-info/WHEEL": WHEEL for folder in folders}
    path = wheel(tmp_path / "demo-1.0-py3-none-any.whl", {"demo.py": b"", **members})
    with Archive.open(path) as archive:
        info = read_dist_info(archive, parse_wheel_name(path.name), files=("WHEEL",))
    assert info.folder == (f"{chosen}.dist-info" if chosen else "")
    assert info.folders == tuple(f"{folder}.dist-info" for folder in folders)
    assert (info.wheel is not None) is bool(chosen)


@pytest.mark.parametrize(
    ("member", "purelib", "location"),
    [
        ("demo/mod.so", False, ("platlib", "demo/mod.so")),
        ("demo/mod.so", True, ("purelib", "demo/mod.so")),
        ("demo-1.0.data/purelib/demo/mod.so", False, ("purelib", "demo/mod.so")),
        ("demo-1.0.data/scripts/run", True, ("scripts", "run")),
        ("demo-1.0.data/data/share/x", True, ("data", "share/x")),
        ("demo-1.0.data/odd", True, ("odd", "")),
        ("x.data", False, ("platlib", "x.data")),
    ],
)
def test_where_a_member_installs(member: str, purelib: bool, location: tuple[str, str]) -> None:
    scheme, path = location
    assert locate(member, root_is_purelib=purelib) == Location(scheme=scheme, path=path)


def test_tags_that_would_multiply_are_none() -> None:
    names = ".".join(f"x{number}" for number in range(11))
    assert len(expand(f"{names}-{names}-any")) == 121
    assert expand(f"{names}-{names}-{names}") == frozenset()
    absurd = "-".join(".".join([letter] * 3000) for letter in "abc")
    assert parse_wheel(f"Tag: {absurd}\n").malformed == (absurd,)


def test_more_header_lines_than_any_file_has_are_left_out() -> None:
    assert len(parse_headers("a: b\n" * 1_000_000).fields) == 20_000
    folded = parse_headers("a: b\n" + " c\n" * 1_000_000)
    assert folded.first("a").count("\n") == 19_999


def test_only_line_ends_of_headers_end_a_line() -> None:
    assert parse_headers("a: b\x0bc\u2028d\re: f\r\ng: h").fields == (("a", "b\x0bc\u2028d"), ("e", "f"), ("g", "h"))


@pytest.mark.parametrize(
    ("file", "size"), [("WHEEL", (1 << 16) + 1), ("METADATA", (16 << 20) + 1), ("RECORD", (1 << 18) + 2000)]
)
def test_dist_info_larger_than_it_can_be(tmp_path: Path, file: str, size: int) -> None:
    members: dict[str, str | bytes] = {"demo-1.0.dist-info/WHEEL": WHEEL, "demo-1.0.dist-info/METADATA": METADATA}
    members[f"demo-1.0.dist-info/{file}"] = b"a" * size
    path = wheel(tmp_path / "demo-1.0-py3-none-any.whl", members)
    with Archive.open(path) as archive:
        info = read_dist_info(archive, parse_wheel_name(path.name))
    assert any("more than the" in fault.message and fault.member.endswith(file) for fault in info.faults)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("1.0", "1.0.0", True), ("1.0RC1", "1.0rc1", True), ("1.0", "1.1", False), ("x", "x", True), ("x", "1", False),
     ("9" * 5000, "1.0", False)],
)  # fmt: skip
def test_versions_that_mean_the_same(one: str, other: str, *, same: bool) -> None:
    assert same_version(one, other) is same
    assert same_version(other, one) is same
