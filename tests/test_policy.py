from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wainwright.auditing.policy import Floor, Policies, load_policies
from wainwright.auditing.policyfile import installed_data
from wainwright.errors import WainwrightError
from wainwright.values import Glibc


@pytest.fixture(scope="module")
def policies() -> Policies:
    return load_policies()


def test_agrees_with_auditwheel_where_that_has_a_policy(policies: Policies) -> None:
    seen = 0
    for entry in json.loads(Path(installed_data(), "manylinux-policy.json").read_text()):
        for arch, limits in entry["symbol_versions"].items():
            floor = Glibc.parse(entry["name"].removeprefix("manylinux_"))
            policy = policies.at(floor, arch)
            assert policy.name == f"{entry['name']}_{arch}"
            assert policy.base == entry["name"]
            assert policy.libraries >= set(entry["lib_whitelist"])
            assert dict(policy.blacklist) == {name: set(names) for name, names in entry["blacklist"].items()}
            for namespace, versions in limits.items():
                refused = {version for version in versions if not policy.admits(f"{namespace}_{version}")}
                # of aarch64, and of some others, 2.17 lists 2.18, of which every symbol is on the blacklist
                assert refused <= ({"2.18"} if (namespace, entry["name"]) == ("GLIBC", "manylinux_2_17") else set())
                seen += 1
    assert seen > 400


@pytest.mark.parametrize("floor", ["2.13", "2.18", "2.25", "2.29", "2.33", "2.60"])
def test_floors_between_and_above_policies_are_exact(policies: Policies, floor: str) -> None:
    glibc = Glibc.parse(floor)
    policy = policies.at(glibc, "x86_64")
    assert policy.name == f"manylinux_{glibc.slug}_x86_64"
    assert policy.admits(f"GLIBC_{floor}")
    assert policy.admits("GLIBC_2.2.5")
    assert not policy.admits(f"GLIBC_{glibc.major}.{glibc.minor + 1}")
    assert not policy.admits("GLIBC_PRIVATE")
    assert policies.floor(["GLIBC_2.2.5", f"GLIBC_{floor}"], "x86_64") == Floor(
        glibc=glibc, because=(f"GLIBC_{floor}",)
    )


def test_other_limits_come_from_the_policy_below(policies: Policies) -> None:
    at_29, at_28, at_31 = (policies.at(Glibc(2, minor), "x86_64") for minor in (29, 28, 31))
    assert at_29.base == "manylinux_2_28"
    for version, admitted in (("GLIBCXX_3.4.24", True), ("GLIBCXX_3.4.28", False), ("CXXABI_1.3.11", True)):
        assert at_29.admits(version) is at_28.admits(version) is admitted
    assert at_31.admits("GLIBCXX_3.4.28")
    assert not policies.at(Glibc(2, 17), "x86_64").admits("CXXABI_1.3.11")
    assert policies.at(Glibc(2, 17), "x86_64").admits("ZLIB_1.2.5.2")
    assert at_29.admits("OPENSSL_3.0.0")  # of that, no policy speaks; its library is not in `libraries`


def test_versions_that_an_architecture_never_had(policies: Policies) -> None:
    assert not policies.at(Glibc(2, 28), "x86_64").admits("GLIBC_2.0")
    assert policies.at(Glibc(2, 28), "i686").admits("GLIBC_2.0")
    assert not policies.at(Glibc(2, 28), "aarch64").admits("GLIBC_2.5")
    assert policies.floor(["GLIBC_2.0"], "x86_64") == Floor(glibc=None, because=("GLIBC_2.0",))


def test_markers_are_admitted_where_the_data_has_them(policies: Policies) -> None:
    assert policies.at(Glibc(2, 36), "x86_64").admits("GLIBC_ABI_DT_RELR")
    assert policies.at(Glibc(2, 60), "x86_64").admits("GLIBC_ABI_DT_RELR")
    assert not policies.at(Glibc(2, 35), "x86_64").admits("GLIBC_ABI_DT_RELR")
    assert not policies.at(Glibc(2, 60), "x86_64").admits("GLIBC_ABI_OF_TOMORROW")
    assert policies.floor(["GLIBC_ABI_DT_RELR"], "x86_64").glibc == Glibc(2, 36)
    assert policies.floor(["GLIBC_ABI_OF_TOMORROW", "GLIBC_2.5"], "x86_64") == Floor(
        glibc=None, because=("GLIBC_ABI_OF_TOMORROW",)
    )


def test_floor_says_what_sets_it(policies: Policies) -> None:
    assert policies.floor([], "x86_64") == Floor(glibc=Glibc(2, 5), because=())
    assert policies.floor([], "aarch64") == Floor(glibc=Glibc(2, 17), because=())
    assert policies.floor(["GLIBC_2.14", "GLIBC_2.33", "CXXABI_1.3.9"], "x86_64").because == ("GLIBC_2.33",)
    found = policies.floor(["GLIBC_2.14", "GLIBCXX_3.4.20", "GLIBCXX_3.4.21"], "x86_64")
    assert found == Floor(glibc=Glibc(2, 24), because=("GLIBCXX_3.4.20", "GLIBCXX_3.4.21"))
    assert policies.floor(["GLIBCXX_3.4.99"], "x86_64").glibc is None


def test_below_the_lowest_policy(policies: Policies) -> None:
    assert policies.lowest("riscv64") == Glibc(2, 31)
    policy = policies.at(Glibc(2, 28), "riscv64")
    assert policy.base is None
    assert policy.admits("GLIBC_2.27")
    assert not policy.admits("GLIBC_2.29")
    assert not policy.admits("GLIBCXX_3.4")
    assert "libc.so.6" in policy.libraries
    assert not policies.at(Glibc(2, 17), "loongarch64").admits("GLIBC_2.36")


def test_the_loader_of_the_architecture_may_be_needed(policies: Policies) -> None:
    libraries = policies.at(Glibc(2, 17), "x86_64").libraries
    assert "ld-linux-x86-64.so.2" in libraries
    assert "ld-linux-aarch64.so.1" not in libraries


def test_blacklist_of_glibc_ends_where_exact_versions_take_over(policies: Policies) -> None:
    symbol = "__cxa_thread_atexit_impl"
    assert symbol in policies.at(Glibc(2, 14), "x86_64").blacklist["libc.so.6"]
    assert symbol in policies.at(Glibc(2, 17), "x86_64").blacklist["libc.so.6"]
    assert "libc.so.6" not in policies.at(Glibc(2, 18), "x86_64").blacklist
    assert "inflate_fast" in policies.at(Glibc(2, 18), "x86_64").blacklist["libz.so.1"]


def test_musl(policies: Policies) -> None:
    policy = policies.musl(Glibc(1, 2), "i686")
    assert policy.name == "musllinux_1_2_i686"
    assert {"libc.so", "libc.musl-x86.so.1", "libz.so.1"} <= policy.libraries
    assert "libc.so.6" not in policy.libraries
    assert not policy.admits("GLIBC_2.17")
    assert policies.musl(Glibc(1, 9), "x86_64").base == "musllinux_1_2"
    assert policies.musl(Glibc(1, 1), "x86_64").base == "musllinux_1_1"
    assert "libc.musl-armv7.so.1" in policies.musl(Glibc(1, 2), "armv7l").libraries


def test_no_policy_for_such_a_machine(policies: Policies) -> None:
    with pytest.raises(WainwrightError, match="mips64el") as caught:
        policies.at(Glibc(2, 17), "mips64el")
    assert "x86_64" in caught.value.hint
    with pytest.raises(WainwrightError):
        policies.floor(["GLIBC_2.17"], "mips64el")
    with pytest.raises(WainwrightError, match="musllinux"):
        policies.musl(Glibc(1, 2), "ppc64")


GOOD: dict[str, Any] = {
    "name": "manylinux_2_17",
    "symbol_versions": {"x86_64": {"GLIBC": ["2.17"]}},
    "lib_whitelist": ["libc.so.6"],
    "blacklist": {},
}


@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        ["manylinux_2_17"],
        [{**GOOD, "name": "centos_7"}],
        [{**GOOD, "name": "manylinux_new"}],
        [{**GOOD, "symbol_versions": []}],
        [{**GOOD, "symbol_versions": {"x86_64": {"GLIBC": "2.17"}}}],
        [{**GOOD, "symbol_versions": {"x86_64": {"GLIBCXX": ["3.4"]}}}],
        [{**GOOD, "lib_whitelist": None}],
        [{**GOOD, "blacklist": {"libz.so.1": [1]}}],
        [{key: value for key, value in GOOD.items() if key != "blacklist"}],
    ],
)
def test_data_of_another_shape_is_refused(tmp_path: Path, data: object) -> None:
    (tmp_path / "manylinux-policy.json").write_text(json.dumps(data))
    with pytest.raises(WainwrightError, match="policy data") as caught:
        load_policies(tmp_path)
    assert caught.value.where.endswith("manylinux-policy.json")
    assert "auditwheel" in caught.value.hint


def test_data_that_is_absent_or_broken(tmp_path: Path) -> None:
    with pytest.raises(WainwrightError, match="policy data"):
        load_policies(tmp_path)
    (tmp_path / "manylinux-policy.json").write_bytes(b"[{")
    with pytest.raises(WainwrightError, match="policy data"):
        load_policies(tmp_path)


def test_auditwheel_itself_is_not_imported() -> None:
    code = "from wainwright.auditing.policy import load_policies; load_policies();"
    code += "import sys; print('auditwheel' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
