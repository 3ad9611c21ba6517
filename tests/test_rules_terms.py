from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import native
from judging import OLD, extension, judged, only, outside, patterns, rules
from wainwright.auditing.audit import audit
from wainwright.auditing.rules import RULES
from wainwright.auditing.terms import RULES as NAMES
from wainwright.auditing.terms import Outside, Pattern, Terms

DEP = "libdep.so.1"
HASHED = "demo.libs/libdep-0123abcd.so.1.0"
NEEDS_DEP = {"demo/mod.so": extension(needed=("libc.so.6", DEP))}


def test_every_rule_can_be_named_in_a_release() -> None:
    assert {rule.name for rule in RULES} <= NAMES


@pytest.mark.parametrize("pattern", ["libdep.so", "libdap.so.1", "dep", "libc++.so.1"])
def test_a_pattern_that_matches_nothing(tmp_path: Path, pattern: str) -> None:
    verdict = judged(tmp_path, NEEDS_DEP, terms=Terms(exclude=patterns(pattern)))
    assert rules(verdict.violations) == ["missing-library", "unmatched-pattern"]
    found = verdict.violations[1]
    assert found.library == pattern
    assert (DEP in found.message) == (pattern != "libc++.so.1")


def test_an_optional_pattern_may_match_nothing(tmp_path: Path) -> None:
    assert judged(tmp_path, {"demo/mod.so": extension()}, terms=Terms(exclude_optional=patterns("libhip*"))).ok


def test_a_path_pattern_without_any_known_path(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"demo/mod.so": extension()}, terms=Terms(exclude=patterns("/usr/local/cuda*")))
    assert "no library's path is known" in only(verdict.violations, "unmatched-pattern").message


def test_another_wheel_s_library(tmp_path: Path) -> None:
    terms = Terms(provided_by=((Pattern(DEP), "Dep_Wheel"),))
    good = judged(tmp_path, NEEDS_DEP, terms=terms, requires=["dep-wheel (>=1)"])
    assert good.ok
    assert good.libraries.provided == (DEP,)
    bad = judged(tmp_path, NEEDS_DEP, terms=terms, requires=["dep-wheels"])
    found = only(bad.violations, "provided-by")
    assert (found.library, found.member) == (DEP, "demo-1.0.dist-info/METADATA")


@pytest.mark.parametrize("member", [HASHED, "demo/libdep.so.1"])
def test_what_must_travel_inside_does(tmp_path: Path, member: str) -> None:
    members = {member: extension(soname=member.rpartition("/")[2])}
    assert judged(tmp_path, members, terms=Terms(bundle=patterns("libdep.so*"))).ok


def test_what_must_travel_inside_does_not(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"demo/mod.so": extension()}, terms=Terms(bundle=patterns(DEP)))
    assert only(verdict.violations, "bundle").library == DEP


def test_a_name_that_must_be_kept(tmp_path: Path) -> None:
    terms = Terms(keep_name=patterns("libdep.so*"))
    verdict = judged(tmp_path, {HASHED: extension(soname="libdep-0123abcd.so.1.0")}, terms=terms)
    assert only(verdict.violations, "keep-name").member == HASHED
    assert judged(tmp_path, {"demo.libs/libdep.so.1": extension(soname=DEP)}, terms=terms).ok


def licensed(licence: str | None) -> tuple[Outside, ...]:
    return (outside("/usr/lib64/libdep.so.1", licence=licence),)


def test_licences_that_may_not_travel(tmp_path: Path) -> None:
    members = {"demo.libs/libdep-0123abcd.so.1": extension(soname="libdep-0123abcd.so.1")}
    terms = Terms(licences=("GPL-3.0 WITH GCC-exception-3.1",))
    assert (
        only(judged(tmp_path, members, terms=terms, libraries=licensed("AGPL-3.0")).violations, "licence").library
        == DEP
    )
    good = judged(tmp_path, members, terms=terms, libraries=licensed("GPL-3.0 with GCC-exception-3.1"))
    assert (good.violations, good.warnings) == ((), ())
    unknown = judged(tmp_path, members, terms=terms, libraries=licensed(None))
    assert unknown.ok
    assert rules(unknown.warnings) == ["licence"]


def test_contents(tmp_path: Path) -> None:
    terms = Terms(require=("demo/*.so", "demo/data/*"), forbid_members=("*.a", "tests/*"))
    members = {"demo/mod.so": extension(), "demo/libx.a": b"!<arch>\n", "tests/test_x.py": b""}
    found = judged(tmp_path, members, terms=terms).violations
    assert set(rules(found)) == {"wheel-contents"}
    assert {each.member for each in found} == {None, "demo/libx.a", "tests/test_x.py"}


def test_a_wheel_that_is_too_large_names_its_largest_members(tmp_path: Path) -> None:
    found = only(judged(tmp_path, {"demo/mod.so": extension()}, terms=Terms(max_size=100)).violations, "max-size")
    assert found.member == "demo/mod.so"


def test_a_repair_that_made_it_much_larger(tmp_path: Path) -> None:
    before = native.wheel(tmp_path / "before" / OLD, {"demo/mod.so": extension()})
    noise = hashlib.shake_256(b"noise").digest(100_000)
    after = native.wheel(tmp_path / OLD, {"demo/mod.so": extension(), "demo/x.bin": noise})
    assert rules(audit(after, original=before).warnings) == ["growth"]
    assert audit(after, original=after).warnings == ()


def test_a_tag_without_a_policy_is_told(tmp_path: Path) -> None:
    name = "demo-1.0-cp310-cp310-manylinux_2_17_ppc.whl"
    verdict = judged(tmp_path, {"demo/mod.so": extension(machine=20, bits=32, little=False)}, name)
    assert verdict.ok
    assert rules(verdict.notes) == ["unjudged-tag"]
