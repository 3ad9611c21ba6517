from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path

import pytest

import native
from judging import AARCH64, OLD, extension, judged, only, rules
from wainwright.auditing.audit import audit

INFO = "demo-1.0.dist-info"
EXT = {"demo/mod.so": extension()}


def info(*tags: str, purelib: bool = False, version: str = "1.0") -> dict[str, bytes]:
    lines = [f"Wheel-Version: {version}", f"Root-Is-Purelib: {str(purelib).lower()}", *(f"Tag: {tag}" for tag in tags)]
    return {f"{INFO}/WHEEL": "\n".join([*lines, ""]).encode()}


TAG = "cp310-cp310-manylinux_2_17_x86_64"


@pytest.mark.parametrize(
    "tags",
    [("cp310-cp310-linux_x86_64",), (), ("",), ("cp310-cp310",), (TAG, "cp310-cp310-manylinux2014_x86_64"), (TAG, "")],
)
def test_tags_that_differ(tmp_path: Path, tags: tuple[str, ...]) -> None:
    found = judged(tmp_path, {**EXT, **info(*tags)}).violations
    assert {each.rule for each in found} == {"tag-mismatch"}
    assert found[0].member == f"{INFO}/WHEEL"


def test_a_compressed_tag_line_is_told(tmp_path: Path) -> None:
    name = "demo-1.0-cp310-cp310-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
    verdict = judged(tmp_path, {**EXT, **info("cp310-cp310-manylinux2014_x86_64.manylinux_2_17_x86_64")}, name)
    assert verdict.ok
    assert only(verdict.notes, "compressed-tag").member == f"{INFO}/WHEEL"


@pytest.mark.parametrize(("name", "version"), [("other", "1.0"), ("demo", "1.1"), ("", "1.0"), ("demo", "")])
def test_metadata_of_another_name_or_version(tmp_path: Path, name: str, version: str) -> None:
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    verdict = judged(tmp_path, {**EXT, f"{INFO}/METADATA": text})
    assert only(verdict.violations, "name-mismatch").member == f"{INFO}/METADATA"


def test_dist_info_of_another_version(tmp_path: Path) -> None:
    wheel = native.wheel(tmp_path / OLD, EXT)
    other = wheel.rename(tmp_path / OLD.replace("1.0", "1.1"))
    found = audit(other).violations
    assert {each.rule for each in found} == {"name-mismatch"}
    assert found[0].member == INFO


def test_a_name_that_is_not_normalised_is_a_warning(tmp_path: Path) -> None:
    verdict = judged(tmp_path, EXT, OLD.replace("demo", "My.Pkg"))
    assert verdict.ok
    assert "my_pkg" in only(verdict.warnings, "name-mismatch").message


def test_two_dist_info_folders(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {**EXT, "other-2.0.dist-info/METADATA": b"Name: other\n"})
    assert set(rules(verdict.violations)) == {"dist-info", "name-mismatch"}
    assert {found.member for found in verdict.violations} == {"other-2.0.dist-info"}


def test_a_vendored_dist_info_is_none_of_the_wheel_s(tmp_path: Path) -> None:
    assert judged(tmp_path, {**EXT, "demo/_vendor/other-2.0.dist-info/METADATA": b""}).ok


@pytest.mark.parametrize("file", ["WHEEL", "METADATA", "RECORD"])
def test_a_dist_info_that_lacks_a_file(tmp_path: Path, file: str) -> None:
    wheel = rewritten(native.wheel(tmp_path / OLD, EXT), drop={f"{INFO}/{file}"})
    found = audit(wheel).violations
    assert ("dist-info", f"{INFO}/{file}") in {(each.rule, each.member) for each in found}


def test_no_dist_info_at_all(tmp_path: Path) -> None:
    wheel = rewritten(
        native.wheel(tmp_path / OLD, EXT), drop={f"{INFO}/{file}" for file in ("WHEEL", "METADATA", "RECORD")}
    )
    assert rules(audit(wheel).violations) == ["dist-info"]


def test_a_wheel_version_from_the_future(tmp_path: Path) -> None:
    assert rules(judged(tmp_path, {**EXT, **info(TAG, version="2.0")}).violations) == ["dist-info"]


def record(wheel: Path, change: str) -> Path:
    """Change RECORD as told."""
    name = f"{INFO}/RECORD"
    with zipfile.ZipFile(wheel) as archive:
        rows = archive.read(name).decode().splitlines()
    at = next(number for number, row in enumerate(rows) if row.startswith("demo/mod.so"))
    path, digest, size = rows[at].split(",")
    wrong = "A" if digest[-1] != "A" else "E"
    changed = {
        "dropped": [],
        "twice": [rows[at]] * 2,
        "other-hash": [f"{path},{digest[:-1]}{wrong},{size}"],
        "other-size": [f"{path},{digest},{int(size) + 1}"],
        "no-hash": [f"{path},,"],
        "md5": [f"{path},md5=XrY7u-Ae7tCTyyK7j1rNww,{size}"],
        "garbage": [f"{path},nonsense,{size}"],
        "unknown": [f"{path},sha0=abcd,{size}"],
        "short": [path],
    }
    rows[at : at + 1] = changed[change]
    return rewritten(wheel, change={name: "\n".join(rows).encode()})


@pytest.mark.parametrize(
    "change", ["dropped", "twice", "other-hash", "other-size", "no-hash", "md5", "garbage", "unknown", "short"]
)
def test_record_must_list_each_member_once_and_rightly(tmp_path: Path, change: str) -> None:
    wheel = record(native.wheel(tmp_path / OLD, {**EXT, "demo/__init__.py": b"x"}), change)
    found = audit(wheel).violations
    assert {(each.rule, each.member) for each in found} == {("record-mismatch", "demo/mod.so")}


def test_a_member_changed_after_record_was_written(tmp_path: Path) -> None:
    wheel = rewritten(native.wheel(tmp_path / OLD, EXT), change=info(TAG))
    assert only(audit(wheel).violations, "record-mismatch").member == f"{INFO}/WHEEL"


def test_record_lists_what_is_absent(tmp_path: Path) -> None:
    wheel = rewritten(native.wheel(tmp_path / OLD, {**EXT, "demo/gone.py": b""}), drop={"demo/gone.py"})
    assert only(audit(wheel).violations, "record-mismatch").member == "demo/gone.py"


def test_record_in_any_order_with_any_line_end_and_signed(tmp_path: Path) -> None:
    wheel = native.wheel(tmp_path / OLD, {**EXT, "demo/a,b.py": b"1", "demo/__init__.py": b""})
    with zipfile.ZipFile(wheel) as archive:
        rows = archive.read(f"{INFO}/RECORD").decode().splitlines()
    text = "\r\n".join(reversed(rows)).encode()
    assert audit(rewritten(wheel, change={f"{INFO}/RECORD": text, f"{INFO}/RECORD.jws": b"{}"})).ok


def test_sha512_is_strong_enough(tmp_path: Path) -> None:
    import base64
    import hashlib

    digest = base64.urlsafe_b64encode(hashlib.sha512(EXT["demo/mod.so"]).digest()).rstrip(b"=").decode()
    wheel = native.wheel(tmp_path / OLD, EXT)
    with zipfile.ZipFile(wheel) as archive:
        rows = archive.read(f"{INFO}/RECORD").decode().splitlines()
    rows = [f"demo/mod.so,sha512={digest}," if row.startswith("demo/mod.so") else row for row in rows]
    assert audit(rewritten(wheel, change={f"{INFO}/RECORD": "\n".join(rows).encode()})).ok


def test_native_code_in_purelib(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"demo-1.0.data/purelib/demo/mod.so": extension(), "demo/good.so": extension()})
    assert only(verdict.violations, "purelib-elf").member == "demo-1.0.data/purelib/demo/mod.so"


def test_native_code_at_a_root_that_is_purelib(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {**EXT, **info(TAG, purelib=True)})
    assert only(verdict.violations, "purelib-elf").member == "demo/mod.so"


def test_a_library_for_any_python_in_purelib_is_a_warning(tmp_path: Path) -> None:
    name = "demo-1.0-py3-none-manylinux_2_17_x86_64.whl"
    members = {"demo/lib/libdemo.so": extension(), **info("py3-none-manylinux_2_17_x86_64", purelib=True)}
    verdict = judged(tmp_path, members, name)
    assert verdict.ok
    assert only(verdict.warnings, "purelib-elf").member == "demo/lib/libdemo.so"


def test_code_for_another_architecture(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {**EXT, "demo/other.so": extension(machine=AARCH64)})
    assert only(verdict.violations, "foreign-architecture").member == "demo/other.so"
    swapped = judged(tmp_path, {"demo/mod.so": extension(machine=AARCH64)})
    assert only(swapped.violations, "foreign-architecture").member == "demo/mod.so"


def rewritten(wheel: Path, *, change: dict[str, bytes] | None = None, drop: set[str] | None = None) -> Path:
    """Write the zip again with members changed, added or dropped, and RECORD as it was."""
    out = io.BytesIO()
    changes = dict(change or {})
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            if entry.filename not in (drop or set()):
                target.writestr(entry, changes.pop(entry.filename, b"") or source.read(entry))
        for name, data in changes.items():
            target.writestr(name, data)
    wheel.write_bytes(out.getvalue())
    return wheel


def add(wheel: Path, name: str, data: bytes, mode: int = 0) -> Path:
    """Add a member, and its row in RECORD."""
    with zipfile.ZipFile(wheel) as archive:
        rows = archive.read(f"{INFO}/RECORD").decode()
    row = native.record({name: data}, "x").decode().splitlines()[0]
    rewritten(wheel, change={f"{INFO}/RECORD": f"{row}\n{rows}".encode()})
    entry = zipfile.ZipInfo(name)
    entry.external_attr = mode << 16
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr(entry, data)
    return wheel


def test_a_symbolic_link(tmp_path: Path) -> None:
    wheel = add(native.wheel(tmp_path / OLD, EXT), "demo/link.so", b"mod.so", stat.S_IFLNK | 0o777)
    assert only(audit(wheel).violations, "symlink-member").member == "demo/link.so"


@pytest.mark.parametrize("name", ["/etc/demo", "../demo.py", "demo/../../x.py", "demo\\x.py", "C:/demo.py"])
def test_an_unsafe_name(tmp_path: Path, name: str) -> None:
    wheel = add(native.wheel(tmp_path / OLD, EXT), name, b"x")
    assert ("unsafe-name", name) in {(found.rule, found.member) for found in audit(wheel).violations}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(tmp_path: Path) -> None:
    wheel = native.wheel(tmp_path / OLD, {**EXT, "demo/__init__.py": b""})
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("demo/__init__.py", b"other")
    assert only(audit(wheel).violations, "duplicate-member").member == "demo/__init__.py"


def test_a_damaged_member_is_named_and_no_other(tmp_path: Path) -> None:
    wheel = native.wheel(tmp_path / OLD, {**EXT, "demo/data.bin": bytes(range(256)) * 64})
    data = bytearray(wheel.read_bytes())
    with zipfile.ZipFile(wheel) as archive:
        at = archive.getinfo("demo/data.bin").header_offset
    data[at + 30 + len("demo/data.bin") + 40] ^= 0xFF
    wheel.write_bytes(data)
    assert only(audit(wheel).violations, "broken-member").member == "demo/data.bin"


def test_a_local_header_that_differs(tmp_path: Path) -> None:
    wheel = native.wheel(tmp_path / OLD, {**EXT, "demo/data.bin": b"1234"})
    data = wheel.read_bytes()
    wheel.write_bytes(data.replace(b"demo/data.bin", b"demo/evil.bin", 1))
    assert only(audit(wheel).violations, "archive-mismatch").member == "demo/data.bin"
