from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import native
from elves import Recipe, make
from judging import AARCH64, OLD, UNTAGGED, extension, judged, only, outside, patterns, rules
from wainwright.auditing.audit import audit
from wainwright.auditing.inspection import SMALL
from wainwright.auditing.needs import NAMED
from wainwright.auditing.rendering import render
from wainwright.auditing.terms import Terms
from wainwright.auditing.verdict import document
from wainwright.formats.archive import ArchiveError
from wainwright.values import Glibc

SCHEMA = json.loads((Path(native.__file__).parents[1] / "src/wainwright/audit.schema.json").read_text())
NEW = {"needs": {"libc.so.6": ["GLIBC_2.2.5", "GLIBC_2.34"]}, "symbols": {
    "dlopen": (False, False, "GLIBC_2.34"), "pthread_create": (False, False, "GLIBC_2.34"),
    "free": (False, False, "GLIBC_2.2.5")}}  # fmt: skip


def test_a_wheel_that_keeps_its_claim(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"demo/mod.so": extension()})
    assert verdict.ok
    assert (verdict.violations, verdict.warnings, verdict.notes) == ((), (), ())
    assert verdict.claimed == ("manylinux_2_17_x86_64",)
    assert verdict.measured.tag == "manylinux_2_5_x86_64"
    assert verdict.measured.versions == (("GLIBC", "2.2.5"),)
    assert verdict.libraries.policy == ("libc.so.6",)


def test_the_version_above_the_claim_is_named_with_its_symbols(tmp_path: Path) -> None:
    found = only(judged(tmp_path, {"demo/mod.so": extension(**NEW)}).violations, "symbol-version")
    assert (found.member, found.library, found.version) == ("demo/mod.so", "libc.so.6", "GLIBC_2.34")
    assert found.symbols == ("dlopen", "pthread_create")


def test_a_program_in_a_wheel_for_any_python_counts_as_well(tmp_path: Path) -> None:
    program = extension(kind=2, interpreter="/lib64/ld-linux-x86-64.so.2", **NEW)
    for member in ("demo/bin/tool", "demo-1.0.data/scripts/tool"):
        verdict = judged(tmp_path, {member: program}, "demo-1.0-py3-none-manylinux_2_17_x86_64.whl")
        assert only(verdict.violations, "symbol-version").member == member


def test_a_linux_tag_claims_nothing(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"demo/mod.so": extension(**NEW)}, UNTAGGED)
    assert verdict.ok
    assert verdict.claimed == ()
    assert verdict.measured.tag == "manylinux_2_34_x86_64"
    assert [need.symbols for need in verdict.floor] == [("dlopen", "pthread_create")]


def test_a_claim_that_somebody_makes_counts_in_the_stead_of_the_tag(tmp_path: Path) -> None:
    assert not judged(tmp_path / "1", {"demo/mod.so": extension(**NEW)}, UNTAGGED, claim="2.33").ok
    assert judged(tmp_path / "2", {"demo/mod.so": extension(**NEW)}, OLD, claim="2.34").ok


def test_each_tag_is_a_claim(tmp_path: Path) -> None:
    name = "demo-1.0-cp310-cp310-manylinux_2_17_x86_64.manylinux_2_34_x86_64.whl"
    verdict = judged(tmp_path, {"demo/mod.so": extension(**NEW)}, name)
    assert "manylinux_2_17_x86_64" in only(verdict.violations, "symbol-version").message


@pytest.mark.parametrize("minor", [18, 25, 29, 33])
def test_floors_between_two_policies_are_exact(tmp_path: Path, minor: int) -> None:
    members = {"demo/mod.so": extension(needs={"libc.so.6": [f"GLIBC_2.{minor}"]})}
    good = judged(tmp_path, members, f"demo-1.0-cp310-cp310-manylinux_2_{minor}_x86_64.whl")
    assert good.ok
    assert good.measured.glibc == Glibc(2, minor)
    assert not judged(tmp_path, members, f"demo-1.0-cp310-cp310-manylinux_2_{minor - 1}_x86_64.whl").ok


def test_a_floor_newer_than_the_data_is_exact(tmp_path: Path) -> None:
    members = {"demo/mod.so": extension(needs={"libc.so.6": ["GLIBC_2.77"]})}
    assert judged(tmp_path, members, "demo-1.0-cp310-cp310-manylinux_2_77_x86_64.whl").ok
    verdict = judged(tmp_path, members, "demo-1.0-cp310-cp310-manylinux_2_76_x86_64.whl")
    assert only(verdict.violations, "symbol-version").version == "GLIBC_2.77"
    assert verdict.measured.tag == "manylinux_2_77_x86_64"


def test_the_cxx_runtime_is_limited_by_the_nearest_policy_at_or_below(tmp_path: Path) -> None:
    member = extension(needed=("libstdc++.so.6",), needs={"libstdc++.so.6": ["GLIBCXX_3.4.22"]})
    measured = judged(tmp_path, {"demo/mod.so": member}, UNTAGGED).measured
    assert measured.glibc is not None
    below = Glibc(2, measured.glibc.minor - 1)
    assert judged(tmp_path, {"demo/mod.so": member}, UNTAGGED, claim=str(measured.glibc)).ok
    assert not judged(tmp_path, {"demo/mod.so": member}, UNTAGGED, claim=str(below)).ok


@pytest.mark.parametrize(
    ("library", "version"),
    [("libstdc++.so.6", "CXXABI_1.3.11"), ("libgcc_s.so.1", "GCC_7.0.0"), ("libz.so.1", "ZLIB_1.2.9"),
     ("ld-linux-x86-64.so.2", "GLIBC_2.35")],
)  # fmt: skip
def test_every_namespace_counts_and_the_loader_too(tmp_path: Path, library: str, version: str) -> None:
    verdict = judged(tmp_path, {"demo/mod.so": extension(needed=(library,), needs={library: [version]})})
    found = only(verdict.violations, "symbol-version")
    assert (found.library, found.version) == (library, version)


@pytest.mark.parametrize("version", ["GLIBC_PRIVATE", "GLIBC_ABI_NOVELTY"])
def test_private_and_unknown_versions_are_violations(tmp_path: Path, version: str) -> None:
    members = {"demo/mod.so": extension(needs={"libc.so.6": [version]})}
    assert judged(tmp_path, members, UNTAGGED).ok
    verdict = judged(tmp_path, members, UNTAGGED, claim="2.99")
    rule = "private-symbol" if version == "GLIBC_PRIVATE" else "symbol-version"
    assert only(verdict.violations, rule).version == version
    assert (verdict.measured.tag, verdict.measured.glibc) == ("linux_x86_64", None)


def test_weak_needs_are_told_and_hold_nothing_back(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"demo/mod.so": extension(needs={"libc.so.6": ["GLIBC_2.2.5", "GLIBC_2.34?"]})})
    assert verdict.ok
    assert verdict.measured.glibc == Glibc(2, 5)
    assert only(verdict.notes, "weak-need").version == "GLIBC_2.34"


def test_a_need_that_a_reachable_member_meets_is_met(tmp_path: Path) -> None:
    library = make(Recipe(soname="libstdc++.so.6", definitions=("GLIBCXX_3.4", "GLIBCXX_3.4.33")))
    member = extension(needed=("libstdc++.so.6",), needs={"libstdc++.so.6": ["GLIBCXX_3.4.33"]}, runpath="$ORIGIN/lib")
    verdict = judged(tmp_path, {"demo/mod.so": member, "demo/lib/libstdc++.so.6": library})
    assert verdict.ok
    assert verdict.libraries.inside == ("libstdc++.so.6",)


def test_a_reachable_member_that_lacks_the_version_does_not_meet_the_need(tmp_path: Path) -> None:
    library = make(Recipe(soname="libstdc++.so.6", definitions=("GLIBCXX_3.4",)))
    member = extension(needed=("libstdc++.so.6",), needs={"libstdc++.so.6": ["GLIBCXX_3.4.18"]}, runpath="$ORIGIN")
    found = only(judged(tmp_path, {"demo/mod.so": member, "demo/libstdc++.so.6": library}).violations, "symbol-version")
    assert "demo/libstdc++.so.6 does not define" in found.message


def test_an_unreachable_copy_does_not_lower_the_floor(tmp_path: Path) -> None:
    library = make(Recipe(soname="libstdc++.so.6", definitions=("GLIBCXX_3.4.33",)))
    member = extension(needed=("libstdc++.so.6",), needs={"libstdc++.so.6": ["GLIBCXX_3.4.33"]})
    assert "symbol-version" in rules(judged(tmp_path, {"demo/mod.so": member, "x/libstdc++.so.6": library}).violations)


def test_another_machine_s_wheel_is_judged_alike(tmp_path: Path) -> None:
    member = extension(machine=AARCH64, needs={"libc.so.6": ["GLIBC_2.34"]}, align=0x10000)
    verdict = judged(tmp_path, {"demo/mod.so": member}, "demo-1.0-cp310-cp310-manylinux_2_17_aarch64.whl")
    assert only(verdict.violations, "symbol-version").version == "GLIBC_2.34"
    assert verdict.measured.tag == "manylinux_2_34_aarch64"


@pytest.mark.parametrize(
    ("arch", "machine", "bits", "little"),
    [("i686", 3, 32, True), ("armv7l", 40, 32, True), ("s390x", 22, 64, False), ("ppc64le", 21, 64, True),
     ("riscv64", 243, 64, True), ("ppc", 20, 32, False)],
)  # fmt: skip
def test_every_class_and_byte_order_is_read(tmp_path: Path, arch: str, machine: int, bits: int, little: bool) -> None:
    member = extension(bits=bits, little=little, machine=machine, needs={"libc.so.6": ["GLIBC_2.32"]}, align=0x10000)
    verdict = judged(tmp_path, {"demo/mod.so": member}, f"demo-1.0-cp310-cp310-linux_{arch}.whl")
    assert verdict.ok
    assert verdict.measured.tag == f"manylinux_2_32_{arch}"


def test_musl_is_judged_by_its_own_policy(tmp_path: Path) -> None:
    name = "demo-1.0-cp310-cp310-musllinux_1_2_x86_64.whl"
    good = judged(tmp_path, {"demo/mod.so": extension(needed=("libc.musl-x86_64.so.1",))}, name)
    assert good.ok
    assert (good.measured.tag, good.measured.glibc) == ("musllinux_1_2_x86_64", None)
    bad = judged(tmp_path, {"demo/mod.so": extension()}, name)
    assert only(bad.violations, "missing-library").library == "libc.so.6"


def test_musl_s_libc_is_missing_where_glibc_is_claimed(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"demo/mod.so": extension(needed=("libc.musl-x86_64.so.1",))})
    assert only(verdict.violations, "missing-library").library == "libc.musl-x86_64.so.1"


def test_a_wheel_that_claims_both_libcs(tmp_path: Path) -> None:
    name = "demo-1.0-py3-none-manylinux_2_17_x86_64.musllinux_1_2_x86_64.whl"
    static = make(Recipe(dynamic=False, kind=2))
    assert judged(tmp_path, {"demo/bin/tool": static}, name).ok
    found = only(judged(tmp_path, {"demo/mod.so": extension()}, name).violations, "missing-library")
    assert (found.member, found.library) == ("demo/mod.so", "libc.so.6")


def test_without_native_code_a_platform_may_be_claimed(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"demo/__init__.py": b""})
    assert verdict.ok
    assert only(verdict.notes, "no-native-code").member is None


def test_scripts_archives_objects_and_foreign_formats_are_data(tmp_path: Path) -> None:
    members = {
        "demo/libx.so": b"/* GNU ld script */ INPUT ( libx.so.1 )",
        "demo/libx.a": b"!<arch>\n",
        "demo/x.o": make(Recipe(kind=1, dynamic=False, machine=AARCH64)),
        "demo/x.dll": b"MZ\x90\x00",
        "demo/x.debug": make(Recipe(dynamic=False)),
        "demo/mod.so": extension(),
    }
    verdict = judged(tmp_path, members)
    assert (verdict.violations, verdict.warnings) == ((), ())


def test_a_member_that_needs_a_linker_script_as_a_library(tmp_path: Path) -> None:
    members = {
        "demo/mod.so": extension(needed=("libdep.so",), runpath="$ORIGIN"),
        "demo/libdep.so": b"/* GNU ld script */\nINPUT ( -ldep )\n",
    }
    found = only(judged(tmp_path, members).violations, "missing-library")
    assert (found.member, found.library) == ("demo/libdep.so", "libdep.so")
    assert "linker commands" in found.message


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04 cut"])
def test_what_cannot_be_read_at_all(tmp_path: Path, content: bytes) -> None:
    (tmp_path / OLD).write_bytes(content)
    with pytest.raises(ArchiveError):
        audit(tmp_path / OLD)


def test_what_is_absent_and_what_is_no_wheel_s_name(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError):
        audit(tmp_path / OLD)
    with pytest.raises(ArchiveError):
        audit(tmp_path / "demo.zip")


def test_it_depends_on_the_given_libraries_and_not_on_this_machine(tmp_path: Path) -> None:
    members = {"demo/mod.so": extension(needed=("libgomp.so.1",), needs={"libgomp.so.1": ["GOMP_4.0"]})}
    verdict = judged(tmp_path, members)
    assert verdict.libraries.missing == ("libgomp.so.1",)
    gomp = outside("/usr/lib64/libgomp.so.1", needed=("libc.so.6", "libdep.so.1"))
    given = judged(tmp_path, members, libraries=[gomp])
    assert given.libraries.missing == ("libdep.so.1", "libgomp.so.1")
    assert given.libraries.who_needs("libdep.so.1") == ("libgomp.so.1",)
    assert given.measured == verdict.measured


def test_terms_move_rules(tmp_path: Path) -> None:
    members = {"demo/mod.so": extension(rpath="/build", **NEW)}
    verdict = judged(tmp_path, members, terms=Terms(allow=frozenset({"symbol-version"})))
    assert verdict.ok
    assert rules(verdict.warnings) == ["symbol-version", "absolute-rpath"]
    denied = judged(tmp_path, members, terms=Terms(deny=frozenset({"absolute-rpath"})))
    assert rules(denied.violations) == ["symbol-version", "absolute-rpath"]


def test_the_json_is_as_its_schema_says(tmp_path: Path) -> None:
    members = {"demo/mod.so": extension(rpath="/build", **NEW)}
    terms = Terms(exclude_optional=patterns("libx.so"))
    verdicts = [judged(tmp_path, members, name, terms=terms) for name in (OLD, UNTAGGED)]
    found = json.loads(json.dumps(document(verdicts, [("x.whl", "absent")])))
    jsonschema_rs.Draft202012Validator(SCHEMA).validate(found)
    wheel = found["wheels"][0]
    assert wheel["violations"][0] | {"message": "", "hint": ""} == {
        "rule": "symbol-version", "member": "demo/mod.so", "library": "libc.so.6", "version": "GLIBC_2.34",
        "symbols": ["dlopen", "pthread_create"], "message": "", "hint": "",
    }  # fmt: skip
    assert wheel["measured"] == {"tag": "manylinux_2_34_x86_64", "glibc": "2.34", "versions": {"GLIBC": "2.34"}}
    assert found["errors"] == [{"wheel": "x.whl", "message": "absent"}]


def test_workers_do_not_change_the_verdict(tmp_path: Path) -> None:
    members = {
        f"demo/m{i}.so": extension(
            needs={"libc.so.6": [f"GLIBC_2.{i}"]}, symbols={f"f{i}": (False, False, f"GLIBC_2.{i}")}
        )
        for i in (5, 7, 17, 27, 34, 35)
    }
    first = judged(tmp_path, members)
    assert all(audit(tmp_path / OLD).to_json() == first.to_json() for _ in range(5))
    assert [need.symbols for need in first.floor] == [("f35",)]


def test_an_extension_module_is_loaded_by_python_itself(tmp_path: Path) -> None:
    members = {
        "demo/libcore.so": extension(soname="libcore.so", symbols={"PyInit_libcore": (True, False, None)}),
        "demo/plugins/libmore.so": extension(needed=("libc.so.6", "libcore.so")),
    }
    assert judged(tmp_path, members).ok
    members["demo/libcore.so"] = extension(soname="libcore.so", symbols={"PyInit_other": (True, False, None)})
    assert rules(judged(tmp_path, members).violations) == ["unreachable-library"]


def test_real_code(tmp_path: Path) -> None:
    made = native.shared(tmp_path / "mod.so", "void *PyInit_mod(void) { return 0; }")
    verdict = judged(tmp_path, {"demo/mod.so": made.read_bytes()}, UNTAGGED)
    assert verdict.ok
    assert verdict.measured.glibc is not None


WHOLE = {
    "demo/mod.so": extension(
        soname="libx.so",
        needed=("libc.so.6", "libdep.so.1", "libz.so.1"),
        needs={"libc.so.6": ["GLIBC_2.34", "GLIBC_2.2.5?"], "libz.so.1": ["ZLIB_1.2.9"]},
        rpath="$ORIGIN/../x",
        symbols={"Py_X": (False, False, None), "dlopen": (False, False, "GLIBC_2.34")},
    ),
    "x/libdep.so.1": make(Recipe(soname="libdep.so.1", definitions=("DEP_1",))),
}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_is_a_violation_or_an_archive_error_and_nothing_else(tmp_path: Path, data: st.DataObject) -> None:
    name = OLD.replace("cp310-cp310", "cp310-abi3")
    member = bytearray(WHOLE["demo/mod.so"])
    for at in data.draw(st.lists(st.integers(0, len(member) - 1), max_size=8)):
        member[at] = data.draw(st.integers(0, 255))
    wheel = native.wheel(tmp_path / name, {**WHOLE, "demo/mod.so": bytes(member)})
    content = bytearray(wheel.read_bytes())
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=3)):
        content[at] = data.draw(st.integers(0, 255))
    wheel.write_bytes(content)
    try:
        verdict = audit(wheel)
    except ArchiveError:
        return
    assert render(verdict)
    assert json.dumps(verdict.to_json())


def test_a_hash_that_record_names_late_costs_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large member is read before RECORD is, and once more where that names another hash than the usual one."""
    new = {"needs": {"libc.so.6": ["GLIBC_2.34"]}, "symbols": {"dlopen": (False, False, "GLIBC_2.34")}}
    members = {f"demo/m{number}.so": extension(**new) + bytes(SMALL) * (number == 0) for number in range(NAMED)}
    info = "demo-1.0.dist-info/RECORD"
    rows = []
    for name, data in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha512(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha512={digest},{len(data)}")
    plain = [f"demo-1.0.dist-info/{name},," for name in ("WHEEL", "METADATA", "RECORD")]
    record = "\n".join([*rows, *plain, ""]).encode()
    wheel = native.wheel(tmp_path / OLD.replace("2_17", "2_34"), {**members, info: record})
    for processors in ({0}, {0, 1, 2}):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, found=processors: found)
        assert all(need.symbols == ("dlopen",) for need in audit(wheel).floor)
        assert len(audit(wheel).floor) == NAMED
