from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.tags import sys_tags

import releases
from wainwright.declaration.choosing import Offer, User, answer, choices, choose, offers, platforms, ranks, warnings
from wainwright.declaration.planning import Job, plan
from wainwright.values import Glibc, Python

FULL = Offer(name="demo-1.0-cp310-cp310-manylinux_2_27_x86_64.whl", variant="full", backends=frozenset({"cpu", "cuda"}))
REDUCED = Offer(
    name="demo-1.0-cp310-cp310-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
    variant="reduced",
    backends=frozenset({"cpu"}),
)
LABELLED = Offer(
    name="demo-1.0+reduced-cp310-cp310-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
    variant="reduced",
    backends=frozenset({"cpu"}),
)


def user(glibc: str = "2.31", pip: str = "26.0", python: str = "3.10", arch: str = "x86_64") -> User:
    return User(python=Python.parse(python), pip=pip, glibc=Glibc.parse(glibc), arch=arch)


def taken(user: User, *there: Offer) -> str | None:
    found = choose(user, there).taken
    return found.variant if found else None


@pytest.mark.parametrize(
    ("glibc", "expected"),
    [("2.12", None), ("2.17", "reduced"), ("2.26", "reduced"), ("2.27", "full")],
)
def test_the_newest_floor_that_runs_is_taken(glibc: str, expected: str | None) -> None:
    assert taken(user(glibc), REDUCED, FULL) == expected


def test_an_old_pip_takes_the_reduced_one_everywhere() -> None:
    assert taken(user("2.39", pip="20.2", python="3.9"), REDUCED, FULL) is None
    old = [
        Offer(name=each.name.replace("310", "39"), variant=each.variant, backends=each.backends)
        for each in (FULL, REDUCED)
    ]
    assert taken(user("2.39", pip="20.2", python="3.9"), *old) == "reduced"
    assert taken(user("2.39", pip="20.3", python="3.9"), *old) == "full"


def test_a_local_version_beats_the_same_without() -> None:
    assert taken(user("2.39"), LABELLED, FULL) == "reduced"


def test_the_own_abi_beats_abi3_whatever_the_floor() -> None:
    stable = Offer(name=FULL.name.replace("cp310-cp310", "cp39-abi3"), variant="full", backends=FULL.backends)
    assert taken(user("2.39"), stable, REDUCED) == "reduced"
    assert taken(user("2.39"), stable) == "full"


def test_free_threaded_pythons_take_their_own_alone() -> None:
    threaded = Offer(name=FULL.name.replace("cp310-cp310", "cp313-cp313t"), variant="full", backends=FULL.backends)
    assert taken(user(python="3.13t"), threaded) == "full"
    assert taken(user(python="3.13"), threaded) is None


def test_a_higher_build_number_decides_last() -> None:
    again = Offer(name=FULL.name.replace("1.0-", "1.0-1-"), variant="again", backends=FULL.backends)
    assert taken(user(), FULL, again) == "again"


def test_each_pip_knows_the_tags_of_its_time() -> None:
    assert list(platforms(user("2.17", pip="8.1"))) == ["linux_x86_64", "manylinux1_x86_64"]
    assert list(platforms(user("2.17", pip="19.3")))[1:3] == ["manylinux2014_x86_64", "manylinux2010_x86_64"]
    assert list(platforms(user("2.18", pip="20.3", arch="aarch64"))) == [
        "linux_aarch64", "manylinux_2_18_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64",
    ]  # fmt: skip


@pytest.mark.skipif(
    not os.environ.get("CI") and platform.libc_ver()[0] != "glibc", reason="the running Python has no glibc"
)
def test_the_running_python_agrees() -> None:
    glibc = Glibc.parse(platform.libc_ver()[1])
    me = User(python=Python.of_running(), pip="26.0", glibc=glibc, arch=platform.machine())
    assert list(ranks(me)) == list(sys_tags())


def test_pip_itself_chooses_the_same(tmp_path: Path) -> None:
    me = Python.of_running()
    glibc = Glibc.parse(platform.libc_ver()[1])
    names = [each.name.replace("cp310", me.tag.removesuffix("t")) for each in (FULL, REDUCED, LABELLED)]
    for group in (names[:2], names, names[1:2]):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for name in group:
            releases.make_wheel(folder / name)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--isolated",
            "--no-index",
            "--no-deps",
            "--quiet",
            "--disable-pip-version-check",
        ]
        subprocess.run([*pip, "--find-links", str(folder), "--dest", str(folder / "got"), "demo"], check=True, env={})
        there = [Offer(name=name, variant=name, backends=frozenset()) for name in group]
        who = User(python=me, pip="26.0", glibc=glibc, arch=platform.machine())
        assert taken(who, *there) == next((folder / "got").iterdir()).name


def jobs(tmp_path: Path, toml: str = releases.TOML) -> tuple[Job, ...]:
    return plan(releases.load(tmp_path, toml), python=Python.parse("3.9"), arch="x86_64")


def test_what_each_place_offers(tmp_path: Path) -> None:
    there = offers(jobs(tmp_path), "Demo", "1.0")
    assert {place: [offer.variant for offer in offered] for place, offered in there.items()} == {"internal": ["full"]}


def both(tmp_path: Path) -> tuple[Job, ...]:
    toml = releases.TOML.replace('local-version = "reduced"\npublish = ["page"]', 'publish = ["internal"]')
    return jobs(tmp_path, toml)


def test_the_reduced_one_wins_for_users_of_an_old_pip(tmp_path: Path) -> None:
    planned = both(tmp_path)
    lines, warned = answer(planned, "demo", "1.0")
    what = "internal: pip takes reduced although full would run there too"
    assert warned == (f"{what}, for Python 3.9 with pip 19.3, 20.2 on glibc 2.27-2.39",)
    assert "internal, Python 3.9 (x86_64), pip 20.2: reduced on glibc 2.17-2.39" in lines
    assert "internal, Python 3.9 (x86_64), pip 26.0: reduced on glibc 2.17, full on glibc 2.27-2.39" in lines


def test_what_nobody_ever_gets_is_said() -> None:
    same = Offer(name=LABELLED.name, variant="reduced", backends=LABELLED.backends)
    there = {"page": (FULL, same)}
    people = [user(glibc) for glibc in ("2.17", "2.27", "2.39")]
    lines = warnings(there, choices(there, people))
    assert lines[0].startswith("page: pip takes reduced although full would run there too")
    assert lines[1] == f"page: nobody ever gets {FULL.name}: pip prefers reduced wherever it runs"


def test_a_linux_tag_for_another_machine_is_nobodys() -> None:
    there = {"page": (Offer(name=FULL.name.replace("x86_64", "s390x"), variant="full", backends=FULL.backends),)}
    assert warnings(there, choices(there, [user()])) == (
        f"page: nobody ever gets {FULL.name.replace('x86_64', 's390x')}: no pip that runs it takes it",
    )
