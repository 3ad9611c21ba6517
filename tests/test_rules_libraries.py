from __future__ import annotations

from pathlib import Path

import pytest

import native
from elves import Recipe, make
from judging import AARCH64, UNTAGGED, extension, judged, only, outside, patterns, rules
from wainwright.auditing.terms import Pattern, Terms

DEP = "libdep.so.1"


def dep(**fields: object) -> bytes:
    return extension(soname=DEP, **fields)


def test_a_missing_library_with_who_needs_it_and_all_at_once(tmp_path: Path) -> None:
    members = {
        "demo/a.so": extension(needed=("libc.so.6", DEP, "libother.so")),
        "demo/b.so": extension(needed=("libc.so.6", DEP)),
    }
    verdict = judged(tmp_path, members)
    assert verdict.libraries.missing == (DEP, "libother.so")
    first, second = verdict.violations
    assert (first.rule, first.member, first.library) == ("missing-library", "demo/a.so", DEP)
    assert "demo/a.so, demo/b.so" in first.message
    assert second.library == "libother.so"


def test_what_nobody_claims_may_be_missing(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"demo/a.so": extension(needed=(DEP,))}, UNTAGGED)
    assert verdict.ok
    assert verdict.libraries.missing == (DEP,)


def test_a_library_that_the_lower_tag_lacks(tmp_path: Path) -> None:
    name = "demo-1.0-cp310-cp310-manylinux_2_17_x86_64.manylinux_2_28_x86_64.whl"
    found = only(
        judged(tmp_path, {"demo/a.so": extension(needed=("libmvec.so.1",))}, name).violations, "missing-library"
    )
    assert "manylinux_2_17_x86_64" in found.message
    assert "manylinux_2_28_x86_64" not in found.message


def test_an_unreachable_library(tmp_path: Path) -> None:
    members = {"demo/mod.so": extension(needed=("libc.so.6", DEP)), "demo/lib/libdep.so.1": dep()}
    found = only(judged(tmp_path, members).violations, "unreachable-library")
    assert (found.member, found.library) == ("demo/mod.so", DEP)
    assert "demo/lib/libdep.so.1" in found.message
    assert found.hint is not None
    assert "$ORIGIN/lib" in found.hint


def test_a_library_of_another_architecture_is_not_there(tmp_path: Path) -> None:
    members = {
        "demo/mod.so": extension(needed=("libc.so.6", DEP), rpath="$ORIGIN"),
        "demo/libdep.so.1": make(Recipe(soname=DEP, machine=AARCH64)),
    }
    assert set(rules(judged(tmp_path, members).violations)) == {"missing-library", "foreign-architecture"}


@pytest.mark.parametrize(
    "name",
    ["libcuda.so.1", "libnvidia-ml.so.1", "libvulkan.so.1", "libGL.so.1", "libEGL.so.1", "libcuda-0a1b2c3d.so.1"],
)
def test_drivers_and_loaders_stay_outside(tmp_path: Path, name: str) -> None:
    found = only(judged(tmp_path, {f"demo.libs/{name}": extension(soname=name)}).violations, "forbidden-library")
    assert found.member == f"demo.libs/{name}"


@pytest.mark.parametrize(
    "member",
    ["demo/libcudart.so.12", "demo/libEGL.so", "demo/libOpenCL.so.1", "demo/stubs/libcuda.so", "demo/libcudart.so"],
)
def test_what_is_no_driver_may_travel(tmp_path: Path, member: str) -> None:
    assert judged(tmp_path, {member: extension(soname=member.rpartition("/")[2])}).ok


@pytest.mark.parametrize("member", ["demo/libcudart.so.12", "demo.libs/libcudart-0123abcd.so.12.0", "demo/renamed.so"])
def test_what_a_variant_forbids(tmp_path: Path, member: str) -> None:
    terms = Terms(forbid=(Pattern("libcudart*", "it is 3 MB"),))
    found = only(
        judged(tmp_path, {member: extension(soname="libcudart.so.12")}, terms=terms).violations, "forbidden-library"
    )
    assert found.member == member
    assert "it is 3 MB" in found.message


@pytest.mark.parametrize(
    ("variant", "inside", "hint"),
    [
        ("", "libdep-0123abcd.so.1.0.0", "leave it to the user's machine: repair it again with --exclude libdep.so.1"),
        (
            "full",
            "libdep-0123abcd.so.1.0.0",
            'leave it to the user\'s machine: variants.full.libraries.exclude = ["libdep.so.1"]',
        ),
        ("full", DEP, "have the build leave it out; should it be missed then, leave it to the user's machine: "),
    ],
)
def test_the_hint_on_a_forbidden_library_names_what_the_reader_can_change(
    tmp_path: Path, variant: str, inside: str, hint: str
) -> None:
    terms = Terms(variant=variant, forbid=patterns("libdep*"))
    libraries = [outside("/usr/lib64/libdep.so.1", real_path="/usr/lib64/libdep.so.1.0.0")]
    members = {f"demo.libs/{inside}": extension(soname=inside)}
    found = only(judged(tmp_path, members, terms=terms, libraries=libraries).violations, "forbidden-library")
    assert found.library == DEP
    assert found.message.startswith(f"{DEP} must not travel inside")
    assert (found.hint or "").startswith(hint)


def test_the_hint_on_a_missing_library_names_keys_or_options(tmp_path: Path) -> None:
    for variant, words in (("", "with --exclude"), ("full", "variants.full.libraries.exclude")):
        verdict = judged(tmp_path, {"demo/a.so": extension(needed=(DEP,))}, terms=Terms(variant=variant))
        assert words in (only(verdict.violations, "missing-library").hint or "")


def test_identical_copies_are_a_warning(tmp_path: Path) -> None:
    members = {f"demo/{folder}/libdep.so.1": dep() for folder in "abc"} | {"demo/libother.so": extension()}
    verdict = judged(tmp_path, members)
    assert verdict.ok
    found = only(verdict.warnings, "identical-libraries")
    assert found.message.startswith("demo/a/libdep.so.1, demo/b/libdep.so.1, demo/c/libdep.so.1 are the same")


def test_symbols_of_zlib_that_some_distributions_lack(tmp_path: Path) -> None:
    symbols = {"inflate_fast": (False, False, None), "inflate": (False, False, None)}
    verdict = judged(tmp_path, {"demo/mod.so": extension(needed=("libz.so.1",), symbols=symbols)})
    found = only(verdict.violations, "private-symbol")
    assert (found.library, found.symbols) == ("libz.so.1", ("inflate_fast",))
    member = extension(needed=("libz.so.1",), rpath="$ORIGIN", symbols=symbols)
    inside = {"demo/mod.so": member, "demo/libz.so.1": make(Recipe(soname="libz.so.1"))}
    assert judged(tmp_path, inside).ok


def test_a_library_that_another_wheel_brings_by_its_search_path(tmp_path: Path) -> None:
    members = {"demo/mod.so": extension(needed=("libtvm_ffi.so",), rpath="$ORIGIN/../tvm_ffi/lib")}
    verdict = judged(tmp_path, members, requires=["apache-tvm-ffi>=0.1"])
    assert verdict.ok
    assert verdict.libraries.provided == ("libtvm_ffi.so",)
    assert "apache-tvm-ffi" in only(verdict.notes, "guessed-provider").message
    assert not judged(tmp_path, members, requires=["numpy"]).ok


@pytest.mark.parametrize(
    ("library", "expected"),
    [("libcusparse.so.12", "nvidia-cusparse-cu13"), ("libcusparseLt.so.0", "nvidia-cusparselt-cu13"),
     ("libcudart.so.13", "cuda-toolkit"), ("libcublasLt.so.13", "cuda-toolkit")],
)  # fmt: skip
def test_which_of_several_wheels_brings_it(tmp_path: Path, library: str, expected: str) -> None:
    requires = ["nvidia-cusparselt-cu13", "nvidia-cusparse-cu13", "cuda-toolkit[cublas,cudart]==13.0; x == 'y'"]
    members = {"demo/mod.so": extension(needed=(library,), rpath="$ORIGIN/../nvidia/cu13/lib")}
    verdict = judged(tmp_path, members, requires=requires)
    assert f"come with {expected}," in only(verdict.notes, "guessed-provider").message


@pytest.mark.parametrize("library", ["libother.so", "libcuda.so.1"])
def test_what_that_other_wheel_does_not_bring(tmp_path: Path, library: str) -> None:
    members = {"demo/mod.so": extension(needed=(library,), rpath="$ORIGIN/../nvidia/cu13/lib")}
    verdict = judged(tmp_path, members, requires=["nvidia-cuda-runtime-cu13"])
    assert only(verdict.violations, "missing-library").library == library


def test_excluded_libraries_by_soname_and_by_path(tmp_path: Path) -> None:
    members = {"demo/mod.so": extension(needed=(DEP, "libcudart.so.12", "libcuda.so.1"))}
    libraries = [
        outside("/usr/lib64/libdep.so.1"),
        outside("/usr/local/cuda/lib64/libcudart.so.12", real_path="/usr/local/cuda-12.1/lib64/libcudart.so.12.1"),
    ]
    terms = Terms(exclude=patterns("libdep.so*", "/usr/local/cuda*", "libcuda.so.1"))
    verdict = judged(tmp_path, members, terms=terms, libraries=libraries)
    assert verdict.ok
    assert verdict.libraries.excluded == ("libcuda.so.1", "libcudart.so.12", DEP)
    assert dict(verdict.matched)["/usr/local/cuda*"] == ("/usr/local/cuda-12.1/lib64/libcudart.so.12.1",)


def test_what_an_excluded_library_hides(tmp_path: Path) -> None:
    libraries = [
        outside("/usr/lib64/libdep.so.1", needed=("libc.so.6", "libdeep.so")),
        outside("/usr/lib64/libdeep.so"),
    ]
    verdict = judged(
        tmp_path, {"demo/mod.so": extension(needed=(DEP,))}, terms=Terms(exclude=patterns(DEP)), libraries=libraries
    )
    assert verdict.ok
    assert only(verdict.notes, "hidden-needs").message == "libdep.so.1 is excluded, and needs libdeep.so in turn"


def test_a_compiled_wheel_with_its_library(tmp_path: Path) -> None:
    library = native.shared(tmp_path / "libdep.so.1", "int dep(void) { return 1; }", "-Wl,-soname,libdep.so.1")
    source = "int dep(void); void *PyInit_mod(void) { dep(); return 0; }"
    plain = native.shared(tmp_path / "plain.so", source, library)
    linked = native.shared(tmp_path / "linked.so", source, library, "-Wl,-rpath,$ORIGIN/../demo.libs")
    inside = {"demo.libs/libdep.so.1": library.read_bytes()}
    good = judged(tmp_path, {**inside, "demo/mod.so": linked.read_bytes()}, UNTAGGED, claim="2.99")
    assert good.ok
    assert good.libraries.inside == (DEP,)
    bad = judged(tmp_path, {**inside, "demo/mod.so": plain.read_bytes()}, UNTAGGED, claim="2.99")
    assert only(bad.violations, "unreachable-library").member == "demo/mod.so"
