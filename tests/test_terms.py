from __future__ import annotations

from pathlib import Path

import pytest

from wainwright.auditing.terms import RULES, Outside, Pattern, Terms

CUDART = Outside(
    name="libcudart.so.11.0",
    soname="libcudart.so.11.0",
    path="/usr/local/cuda/lib64/libcudart.so.11.0",
    real_path="/usr/local/cuda-11.2/targets/x86_64-linux/lib/libcudart.so.11.2.72",
    copy=Path("libraries/libcudart.so.11.0"),
)
GOMP = Outside(
    name="libgomp.so.1",
    soname="libgomp.so.1",
    path="/lib64/libgomp.so.1",
    real_path="/usr/lib64/libgomp.so.1.0.0",
    copy=Path("libraries/libgomp.so.1"),
)


@pytest.mark.parametrize(
    "text",
    [
        "libcudart.so.11.0",
        "libcudart*",
        "libcudart.so.*",
        "libcudart.so.1[0-9].?",
        "/usr/local/cuda*",
        "/usr/local/cuda",  # the folder's link, as the loader went
        "/usr/local/cuda/",
        "/usr/local/cuda-11.2",  # the folder itself, links resolved
        "/usr/local/cuda-*/targets",
        "/usr/local/*/libcudart*",
        "/usr/local/cuda/lib64/libcudart.so.11.0",
    ],
)
def test_a_pattern_matches(text: str) -> None:
    assert Pattern(text).matches(CUDART)
    assert not Pattern(text).matches(GOMP)


@pytest.mark.parametrize(
    "text",
    ["libcudart.so", "libcudart", "LIBCUDART*", "cudart*", "/usr/local/cud", "/usr/local/cuda-11", "/opt/cuda*"],
)
def test_a_pattern_does_not_match(text: str) -> None:
    assert not Pattern(text).matches(CUDART)


def test_a_soname_and_the_name_that_is_asked_for_may_differ() -> None:
    library = Outside(name="libx.so", soname="libx.so.3", path="/l/libx.so", real_path="/l/libx.so.3", copy=Path("x"))
    assert Pattern("libx.so").matches(library)
    assert Pattern("libx.so.3").matches(library)


def test_a_pattern_knows_its_kind() -> None:
    assert Pattern("/usr/*").is_path
    assert not Pattern("libx*").is_path
    assert not Pattern("libx*").matches_path("libx.so")
    assert not Pattern("/usr/libx.so").matches_name("/usr/libx.so")
    assert Pattern("libx.so.1").is_literal
    assert not Pattern("libx.so.[12]").is_literal


def test_near_misses_name_what_was_meant() -> None:
    assert Pattern("libgomp.so").near_misses([CUDART, GOMP]) == ("libgomp.so.1",)
    assert Pattern("libcudrt.so.11.0").near_misses([CUDART, GOMP]) == ("libcudart.so.11.0",)
    assert Pattern("/usr/lib/libgomp.so.1").near_misses([CUDART, GOMP]) == ("/usr/lib64/libgomp.so.1.0.0",)
    assert Pattern("libwholly-else.so.9").near_misses([CUDART, GOMP]) == ()
    assert Pattern("libgomp.so").near_misses([GOMP, GOMP]) == ("libgomp.so.1",)
    assert Pattern("/opt/*/libcudart.so").near_misses([CUDART, GOMP]) == (CUDART.real_path,)


@pytest.mark.parametrize("text", ["libdep.so.1", "libm.so.6", "libgcc_s.so.1", "*", "/usr/lib/libdep.so.1", "lib*"])
def test_what_is_like_every_other_library_was_not_meant(text: str) -> None:
    system = ("libc.so.6", "libdl.so.2", "libpthread.so.0", "libgomp.so.1", "libstdc++.so.6")
    paths = [Outside(name=one, soname=one, path="", real_path=f"/usr/lib/{one}", copy=Path(one)) for one in system]
    assert Pattern(text).near_misses(paths) == ()


def test_empty_terms_add_nothing() -> None:
    assert Terms() == Terms(exclude=(), allow=frozenset(), max_size=None)


def test_rules_are_spelt_as_keys_are() -> None:
    assert all(rule == rule.lower().replace("_", "-").strip() for rule in RULES)
