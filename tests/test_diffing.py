from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import native
from judging import AARCH64, OLD, extension
from wainwright.comparing.difference import Delta, Difference
from wainwright.comparing.diffing import compare
from wainwright.errors import Exit, WainwrightError
from wainwright.formats.archive import ArchiveError

NAME = "demo-{}-cp310-cp310-manylinux_2_17_x86_64.whl"
GOOD = extension()
INIT = b"print('hello')\n" * 40


def wheel(
    folder: Path,
    members: Mapping[str, bytes] | None = None,
    *,
    version: str = "1.0",
    name: str = NAME,
    requires: tuple[str, ...] = (),
    metadata: str = "",
    entry_points: str = "",
) -> Path:
    files = dict(members or {"demo/mod.so": GOOD})
    files["demo/__init__.py"] = INIT
    info = f"demo-{version}.dist-info"
    if metadata:
        text = f"Metadata-Version: 2.1\nName: demo\nVersion: {version}\n{metadata}\n"
        files[f"{info}/METADATA"] = text.encode()
    if entry_points:
        files[f"{info}/entry_points.txt"] = entry_points.encode()
    return native.wheel(folder / name.format(version), files, requires=requires)


def differ(tmp_path: Path, old: Mapping[str, bytes] | None, new: Mapping[str, bytes] | None) -> Difference:
    return compare(wheel(tmp_path / "old", old), wheel(tmp_path / "new", new))


def names(difference: Difference) -> tuple[list[str], list[str], list[str]]:
    return (
        [change.member for change in difference.added],
        [change.member for change in difference.removed],
        [change.member for change in difference.changed],
    )


def test_a_record_that_is_gone(tmp_path: Path) -> None:
    old = wheel(tmp_path / "old")
    new = tmp_path / "new" / old.name
    new.parent.mkdir()
    with zipfile.ZipFile(old) as source, zipfile.ZipFile(new, "w") as target:
        for name in source.namelist()[:-1]:
            target.writestr(source.getinfo(name), source.read(name))
    difference = compare(old, new)
    assert names(difference) == ([], ["demo-1.0.dist-info/RECORD"], [])
    assert not difference.alike


def test_a_wheel_and_itself(tmp_path: Path) -> None:
    difference = differ(tmp_path, None, None)
    assert difference.alike
    assert difference.to_json()["alike"] is True
    assert difference.old == difference.new
    assert difference.old.measured == "manylinux_2_5_x86_64"


def test_members(tmp_path: Path) -> None:
    old = {"demo/mod.so": GOOD, "demo/same": b"1", "demo/edited": b"one", "demo/gone": b"1234"}
    new = {"demo/mod.so": GOOD, "demo/same": b"1", "demo/edited": b"two", "demo/fresh": bytes(99)}
    difference = differ(tmp_path, old, new)
    assert names(difference) == (["demo/fresh"], ["demo/gone"], ["demo/edited"])
    assert [(change.old, change.new, change.growth) for change in difference.changed] == [(3, 3, 0)]
    assert [(change.old, change.new) for change in difference.removed] == [(4, None)]
    assert [change.member for change in difference.grown] == ["demo/fresh"]
    assert difference.new.installed - difference.old.installed > 90


def test_those_that_grew_most_come_first_and_are_few(tmp_path: Path) -> None:
    many = {f"demo/{number}": b"x" * number for number in range(1, 30)}
    more = {name: data * 2 for name, data in many.items()}
    grown = differ(tmp_path, {"demo/mod.so": GOOD, **many}, {"demo/mod.so": GOOD, **more}).grown
    assert [change.member for change in grown] == [f"demo/{number}" for number in range(29, 19, -1)]


def test_another_version_does_not_make_its_dist_info_and_data_new(tmp_path: Path) -> None:
    old = wheel(tmp_path, {"demo/mod.so": GOOD, "demo-1.0.data/scripts/run": b"1"})
    new = wheel(tmp_path, {"demo/mod.so": GOOD, "demo-1.1.data/scripts/run": b"1"}, version="1.1")
    difference = compare(old, new)
    assert names(difference) == ([], [], ["demo-1.1.dist-info/METADATA"])
    assert difference.changed[0].was == "demo-1.0.dist-info/METADATA"
    assert difference.metadata == (("Version", "1.0", "1.1"),)


def test_a_hash_of_another_kind_in_record_is_no_change(tmp_path: Path) -> None:
    old = wheel(tmp_path / "old")
    digest = base64.urlsafe_b64encode(hashlib.sha512(INIT).digest()).rstrip(b"=").decode()
    record = f"demo/__init__.py,sha512={digest},{len(INIT)}\ndemo-1.0.dist-info/RECORD,,\n".encode()
    new = wheel(tmp_path / "new", {"demo/mod.so": GOOD, "demo-1.0.dist-info/RECORD": record})
    assert compare(old, new).alike


def test_a_library_is_the_same_under_another_hash_of_auditwheel(tmp_path: Path) -> None:
    old = {"demo/mod.so": GOOD, "demo.libs/libdep-0123abcd.so.1": extension(soname="libdep-0123abcd.so.1")}
    new = {"demo/mod.so": GOOD, "demo.libs/libdep-89ef4567.so.1": extension(soname="libdep-89ef4567.so.1")}
    difference = differ(tmp_path, old, new)
    assert difference.inside == Delta()
    assert names(difference) == ([], [], ["demo.libs/libdep-89ef4567.so.1"])
    assert difference.changed[0].was == "demo.libs/libdep-0123abcd.so.1"


def test_two_copies_of_a_library_are_paired_by_their_whole_names(tmp_path: Path) -> None:
    one, two, three = (extension(soname=f"libdep-{sign * 8}.so.1") for sign in "123")
    old = {"demo/mod.so": GOOD, "demo.libs/libdep-11111111.so.1": one, "demo.libs/libdep-22222222.so.1": two}
    new = {"demo/mod.so": GOOD, "demo.libs/libdep-11111111.so.1": one, "demo.libs/libdep-33333333.so.1": three}
    difference = differ(tmp_path, old, new)
    assert names(difference) == ([], [], ["demo.libs/libdep-33333333.so.1"])


def test_libraries_inside_needed_and_missing(tmp_path: Path) -> None:
    old = {"demo/mod.so": extension(needed=("libc.so.6", "libm.so.6", "libdep.so.1"))}
    new = {
        "demo/mod.so": extension(needed=("libc.so.6", "libdep-0123abcd.so.1"), runpath="$ORIGIN/../demo.libs"),
        "demo.libs/libdep-0123abcd.so.1": extension(soname="libdep-0123abcd.so.1", needed=("libc.so.6", "libx.so.2")),
    }
    difference = differ(tmp_path, old, new)
    assert difference.inside == Delta(added=("libdep.so.1",))
    assert difference.needed == Delta(removed=("libm.so.6",))
    assert difference.missing == Delta(added=("libx.so.2",), removed=("libdep.so.1",))
    assert [(path.member, path.kind, path.old, path.new) for path in difference.paths] == [
        ("demo/mod.so", "runpath", (), ("$ORIGIN/../demo.libs",))
    ]


@pytest.mark.parametrize(
    ("member", "data", "carried"),
    [
        ("demo/libplain.so", extension(), True),
        ("demo/other.so", extension(soname="libreal.so.4"), True),
        ("demo/other.so", extension(), False),  # a plugin, or an extension module without a suffix
        ("demo/_x.cpython-310-x86_64-linux-gnu.so", extension(soname="_x.so"), False),
        ("demo/libtext.so", b"GROUP ( libdep.so.1 )", False),
        ("demo/run", extension(kind=2, interpreter="/lib64/ld-linux-x86-64.so.2"), False),
    ],
)
def test_what_counts_as_a_library_inside(tmp_path: Path, member: str, data: bytes, *, carried: bool) -> None:
    assert bool(differ(tmp_path, None, {"demo/mod.so": GOOD, member: data}).inside) is carried


def test_floors(tmp_path: Path) -> None:
    new = extension(needs={"libc.so.6": ["GLIBC_2.14"], "libstdc++.so.6": ["GLIBCXX_3.4.11"]},
                    needed=("libc.so.6", "libstdc++.so.6"))  # fmt: skip
    difference = differ(tmp_path, None, {"demo/mod.so": new})
    assert [(floor.name, floor.old, floor.new, floor.raised) for floor in difference.floors] == [
        ("measured", "manylinux_2_5_x86_64", "manylinux_2_14_x86_64", True),
        ("GLIBC", "2.2.5", "2.14", True),
        ("GLIBCXX", None, "3.4.11", True),
    ]
    assert [floor.holds_users_back for floor in difference.floors] == [True, False, False]
    back = differ(tmp_path, {"demo/mod.so": new}, None)
    assert not any(floor.raised for floor in back.floors)


def test_what_no_glibc_will_do_for_is_the_highest_floor(tmp_path: Path) -> None:
    private = extension(needs={"libc.so.6": ["GLIBC_PRIVATE"]})
    floor = differ(tmp_path, None, {"demo/mod.so": private}).floors[0]
    assert (floor.new, floor.raised) == ("linux_x86_64", True)


@pytest.mark.parametrize(
    ("old", "new", "raised"),
    [
        ("manylinux_2_17_x86_64", "manylinux_2_28_x86_64", True),
        ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", False),
        ("manylinux_2_17_x86_64", "manylinux_2_17_x86_64.manylinux_2_28_x86_64", None),
        ("manylinux_2_17_x86_64.manylinux_2_28_x86_64", "manylinux_2_28_x86_64", True),
        ("manylinux_2_17_x86_64", "manylinux2014_x86_64.manylinux_2_17_x86_64", None),
        ("manylinux_2_17_x86_64", "linux_x86_64", False),
    ],
)
def test_the_lowest_claim_counts(tmp_path: Path, old: str, new: str, *, raised: bool | None) -> None:
    before = wheel(tmp_path / "old", name=f"demo-{{}}-cp310-cp310-{old}.whl")
    after = wheel(tmp_path / "new", name=f"demo-{{}}-cp310-cp310-{new}.whl")
    difference = compare(before, after)
    claimed = [floor.raised for floor in difference.floors if floor.name == "claimed"]
    assert claimed == ([] if raised is None else [raised])
    assert bool(difference.tags) is (old != new)


def test_floors_of_musl(tmp_path: Path) -> None:
    one, two = (
        wheel(
            tmp_path / version,
            {"demo/mod.so": extension(needed=("libc.musl-x86_64.so.1",), needs={})},
            name=f"demo-{{}}-cp310-cp310-musllinux_{version}_x86_64.whl",
        )
        for version in ("1_1", "1_2")
    )
    told = [(floor.name, floor.raised, floor.lowered) for floor in compare(one, two).floors]
    assert told == [("measured", True, False), ("claimed", True, False)]
    told = [(floor.name, floor.raised, floor.lowered) for floor in compare(two, one).floors]
    assert told == [("measured", False, True), ("claimed", False, True)]
    glibc = wheel(tmp_path / "glibc")
    assert not any(floor.raised or floor.lowered for floor in compare(one, glibc).floors if floor.name == "measured")


def test_requirements_in_any_spelling(tmp_path: Path) -> None:
    old = wheel(tmp_path / "old", metadata="Requires-Dist: numpy (>=1.20)\nRequires-Dist: six\nRequires-Python: >=3.8")
    new = wheel(
        tmp_path / "new", metadata="Requires-Dist: numpy>=1.20\nRequires-Dist: not a req\nRequires-Python: >=3.9"
    )
    difference = compare(old, new)
    assert difference.requires_dist == Delta(added=("not a req",), removed=("six",))
    assert difference.metadata == (("Requires-Python", ">=3.8", ">=3.9"),)


def test_entry_points(tmp_path: Path) -> None:
    old = wheel(tmp_path / "old", entry_points="[console_scripts]\n# a comment\ndemo=demo:main\nold = demo:old\n")
    new = wheel(
        tmp_path / "new", entry_points="[console_scripts]\r\ndemo = demo:main\r\n\r\n[x.y]\r\nnew = demo:new\r\n"
    )
    difference = compare(old, new)
    assert difference.entry_points == Delta(
        added=("x.y: new = demo:new",), removed=("console_scripts: old = demo:old",)
    )


def test_a_member_that_is_broken_cannot_be_compared(tmp_path: Path) -> None:
    old, new = wheel(tmp_path / "old"), wheel(tmp_path / "new")
    data = bytearray(new.read_bytes())
    at = data.index(b"demo/mod.so") + len(b"demo/mod.so")
    data[at : at + 8] = b"\xff" * 8
    new.write_bytes(data)
    with pytest.raises(WainwrightError) as caught:
        compare(old, new)
    assert caught.value.code == Exit.USAGE
    assert "demo/mod.so is broken" in caught.value.what


@pytest.mark.parametrize("which", [0, 1])
def test_what_is_no_wheel(tmp_path: Path, which: int) -> None:
    pair = [wheel(tmp_path), tmp_path / "absent" / OLD]
    with pytest.raises(ArchiveError):
        compare(pair[which], pair[1 - which])


def test_another_architecture_is_neither_raised_nor_lowered(tmp_path: Path) -> None:
    before = wheel(tmp_path / "old")
    foreign = {"demo/mod.so": extension(machine=AARCH64)}
    after = wheel(tmp_path / "new", foreign, name="demo-{}-cp310-cp310-manylinux_2_28_aarch64.whl")
    floors = [floor for floor in compare(before, after).floors if floor.name in {"measured", "claimed"}]
    assert [(floor.name, floor.raised, floor.lowered) for floor in floors] == [
        ("measured", False, False),
        ("claimed", False, False),
    ]
    higher = wheel(tmp_path / "higher", name="demo-{}-cp310-cp310-manylinux_2_28_x86_64.whl")
    assert [floor.lowered for floor in compare(higher, before).floors] == [True]
