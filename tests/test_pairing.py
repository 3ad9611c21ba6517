from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

import releases
from wainwright.declaration.planning import Job, plan
from wainwright.errors import Exit, WainwrightError
from wainwright.formats.wheelname import parse_wheel_name
from wainwright.releasing.earlier import Earlier, Published
from wainwright.releasing.pairing import closest, counterpart, newest
from wainwright.values import Python

MANY = "manylinux_2_17_x86_64"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (f"demo-2.0-cp310-cp310-{MANY}.whl", ["demo-1.0-cp310-cp310-{0}.whl", "demo-1.1-cp310-cp310-{0}.whl"]),
        (f"demo-2.0+llvm-cp310-cp310-{MANY}.whl", ["demo-1.0+llvm-cp310-cp310-{0}.whl"]),
        (f"demo-2.0+cuda-cp310-cp310-{MANY}.whl",
         ["demo-1.0-cp310-cp310-{0}.whl", "demo-1.0+llvm-cp310-cp310-{0}.whl", "demo-1.1-cp310-cp310-{0}.whl"]),
        ("Demo-2.0-cp310-cp310-manylinux_2_34_x86_64.whl",
         ["demo-1.0-cp310-cp310-{0}.whl", "demo-1.1-cp310-cp310-{0}.whl",
          "demo-1.1-cp310-cp310-manylinux_2_28_x86_64.whl"]),
        ("demo-2.0-cp310-cp310-manylinux_2_28_x86_64.whl", ["demo-1.1-cp310-cp310-manylinux_2_28_x86_64.whl"]),
        ("demo-2.0-cp310-cp310-manylinux_2_17_aarch64.whl", []),
        (f"demo-2.0-cp311-cp311-{MANY}.whl", []),
        (f"demo-2.0-cp310-abi3-{MANY}.whl", []),
        ("demo-2.0-cp310-cp310-musllinux_1_2_x86_64.whl", []),
    ],
)  # fmt: skip
def test_which_wheel_stands_in_for_which(wanted: str, found: list[str]) -> None:
    others = [
        f"demo-1.0-cp310-cp310-{MANY}.whl", f"demo-1.0+llvm-cp310-cp310-{MANY}.whl", f"demo-1.1-cp310-cp310-{MANY}.whl",
        "demo-1.1-cp310-cp310-manylinux_2_28_x86_64.whl",
    ]  # fmt: skip
    chosen = [path.name for path in closest(Path(wanted), map(Path, others))]
    assert chosen == [each.format(MANY) for each in found]


def test_the_newest_is_so_by_version() -> None:
    names = [Path(f"demo-{version}-py3-none-any.whl") for version in ("0.9", "0.10", "0.10rc1")]
    assert newest(names) == names[1]
    assert newest([]) is None


PLAN = """
[project]
source = "."
python = ["3.10"]
[backends.cpu]
[images.zig]
toolchain = "zig"
[variants.full]
backends = ["cpu"]
image = "zig"
glibc = ["2.28"]
arch = ["x86_64"]
[variants.small]
backends = ["cpu"]
image = "zig"
glibc = ["2.17", "2.34"]
arch = ["x86_64"]
[variants.llvm]
backends = ["cpu"]
image = "zig"
glibc = ["2.17"]
arch = ["x86_64"]
local-version = "llvm"
"""


def _unread(_: object) -> NoReturn:
    raise AssertionError


def earlier(*offered: str) -> Earlier:
    """A release of wheels, each by its floor or its whole name, with the variant after a colon if that is told."""
    wheels = []
    for each in offered:
        text, _, variant = each.partition(":")
        name = text if text.endswith(".whl") else f"demo-1.0-cp310-cp310-{text}.whl"
        digests = frozenset({"0" * 64})
        made = Published(name=parse_wheel_name(name), digests=digests, download=_unread, variant=variant or None)
        wheels.append(made)
    return Earlier(label="v1.0 of octo/demo", wheels=tuple(wheels))


def jobs(folder: Path) -> tuple[Job, ...]:
    return plan(releases.load(folder, PLAN), python=Python.parse("3.10"), arch="x86_64")


@pytest.mark.parametrize(
    ("variant", "wheel", "offered", "found"),
    [
        ("full", "2_28", ["manylinux_2_17_x86_64", "manylinux_2_28_x86_64"], "manylinux_2_28_x86_64"),
        # the floor was another one, and the other wheel is another job's
        ("full", "2_28", ["manylinux_2_17_x86_64", "manylinux_2_27_x86_64"], "manylinux_2_27_x86_64"),
        ("full", "2_28", ["manylinux_2_17_x86_64"], None),
        ("small", "2_17", ["manylinux2014_x86_64", "manylinux_2_28_x86_64"], "manylinux2014_x86_64"),
        ("small", "2_17", ["manylinux_2_12_x86_64"], "manylinux_2_12_x86_64"),
        # as its manifest says, it was this variant's
        ("full", "2_28", ["manylinux_2_17_x86_64:full", "manylinux_2_28_x86_64:small"], "manylinux_2_17_x86_64"),
        ("full", "2_28", ["manylinux_2_28_x86_64:small"], None),
        ("full", "2_28", ["manylinux_2_28_aarch64", "musllinux_1_2_x86_64"], None),
        ("full", "2_28", ["demo-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"], None),
        ("full", "2_28", ["demo-1.0-cp310-abi3-manylinux_2_28_x86_64.whl"], None),
        # local versions tell variants apart
        ("full", "2_28", ["demo-1.0+llvm-cp310-cp310-manylinux_2_28_x86_64.whl"], None),
        ("llvm", "2_17", ["manylinux_2_17_x86_64"], None),
        ("llvm", "2_17", ["manylinux_2_17_x86_64", "demo-1.0+llvm-cp310-cp310-manylinux_2_12_x86_64.whl"],
         "demo-1.0+llvm-cp310-cp310-manylinux_2_12_x86_64.whl"),
        # of build numbers pip takes the highest
        ("full", "2_28", ["manylinux_2_28_x86_64", "demo-1.0-9-cp310-cp310-manylinux_2_28_x86_64.whl",
                          "demo-1.0-10-cp310-cp310-manylinux_2_28_x86_64.whl"],
         "demo-1.0-10-cp310-cp310-manylinux_2_28_x86_64.whl"),
    ],
)  # fmt: skip
def test_which_wheel_of_a_release_is_a_jobs(
    tmp_path: Path, variant: str, wheel: str, offered: list[str], found: str | None
) -> None:
    every = jobs(tmp_path)
    job = next(each for each in every if each.variant.name == variant and each.glibc.slug == wheel)
    name = parse_wheel_name(job.filename("demo", "1.1").replace("*", "cp310"))
    match = counterpart(job, name, earlier(*offered), plan=every)
    assert (match.name if match else None) == (earlier(found).wheels[0].name if found else None)


def test_what_a_build_marks_itself_is_compared_with_what_was_released(tmp_path: Path) -> None:
    every = jobs(tmp_path)
    name = parse_wheel_name("demo-1.1.dev3+g1234abc-cp310-cp310-manylinux_2_28_x86_64.whl")
    match = counterpart(every[0], name, earlier("manylinux_2_28_x86_64"), plan=every)
    assert match
    assert match.name.public_version == "1.0"


def test_several_wheels_that_fit_are_named(tmp_path: Path) -> None:
    every = jobs(tmp_path)
    name = parse_wheel_name("demo-1.1-cp310-cp310-manylinux_2_28_x86_64.whl")
    with pytest.raises(WainwrightError) as caught:
        counterpart(every[0], name, earlier("manylinux_2_26_x86_64", "manylinux_2_27_x86_64"), plan=every)
    assert caught.value.code is Exit.USAGE
    assert caught.value.where == "variants.full.diff.against"
    assert caught.value.details == tuple(f"demo-1.0-cp310-cp310-manylinux_2_{minor}_x86_64.whl" for minor in (26, 27))
