from __future__ import annotations

from pathlib import Path

import pytest

from wainwright.auditing.terms import Pattern
from wainwright.declaration import config
from wainwright.declaration.planning import Job, plan, select
from wainwright.declaration.release import Release
from wainwright.errors import Exit, WainwrightError
from wainwright.values import Glibc, Python

RELEASE = """
[project]
source = "."
python = ["3.11", "3.10"]

[backends.cpu]
[backends.cuda]
on = { env = { CMAKE_ARGS = "-DCUDA=ON", CUDA = "1" } }
off = { env = { CMAKE_ARGS = "-DCUDA=OFF" } }
libraries.exclude = ["libcuda.so.1", "/usr/local/cuda*"]
[backends.vulkan]
on = { env = { CMAKE_ARGS = "-DVULKAN=ON" } }
off = { env = { CMAKE_ARGS = "-DVULKAN=OFF" } }

[images.old]
ref = "registry.example.org/old:1"
[images.older]
ref = "registry.example.org/older:1"
[images.debian10]
ref = "debian:10"
[images.zig]
toolchain = "zig"

[targets."2.27"]
image = "old"
smoke = ["debian10"]
[targets."2.17"]
image = "older"
smoke = ["debian10", "host"]

[variants.full]
backends = ["vulkan", "cpu", "cuda"]
glibc = ["2.27", "2.17"]
publish = ["pypi", "page"]

[variants.reduced]
backends = ["cpu"]
glibc = ["2.5"]
image = "zig"
python = ["3.13t"]
arch = ["x86_64", "aarch64"]
local-version = "Reduced-1"
publish = ["page"]
[variants.reduced.build]
env = { CMAKE_ARGS = "-DALL=OFF" }
[variants.reduced.libraries]
bundle = ["libgomp.so.1"]
[variants.reduced.audit]
allow = ["absolute-rpath"]
[variants.reduced.wheel]
forbid = ["*.a"]
max-size = "1.5 MB"

[publish.pypi]
repository = "pypi"
[publish.page]
repository = "owner/name"
"""
RUNNING = Python(3, 12)


@pytest.fixture
def release(tmp_path: Path) -> Release:
    return _load(tmp_path, RELEASE)


@pytest.fixture
def jobs(release: Release) -> tuple[Job, ...]:
    return plan(release, python=RUNNING, arch="x86_64")


def _load(folder: Path, text: str) -> Release:
    path = folder / "release.toml"
    path.write_text(text, encoding="utf-8")
    return config.load(path)


def test_jobs_come_in_one_order(jobs: tuple[Job, ...]) -> None:
    assert [job.id for job in jobs] == [
        "full-2_17-cp310-x86_64",
        "full-2_17-cp311-x86_64",
        "full-2_27-cp310-x86_64",
        "full-2_27-cp311-x86_64",
        "reduced-2_5-cp313t-aarch64",
        "reduced-2_5-cp313t-x86_64",
    ]


def test_a_job_takes_from_its_target_what_its_variant_does_not_say(jobs: tuple[Job, ...]) -> None:
    full, reduced = jobs[0], jobs[-1]
    assert full.image.name == "older"
    assert [image.name for image in full.smoke_images] == ["debian10", "host"]
    assert [destination.name for destination in full.destinations] == ["pypi", "page"]
    assert reduced.image.toolchain == "zig"
    assert [image.name for image in reduced.smoke_images] == ["host"]


def test_backends_on_and_off_join_in_the_order_of_the_file(jobs: tuple[Job, ...]) -> None:
    assert jobs[0].env == {"CMAKE_ARGS": "-DCUDA=ON -DVULKAN=ON", "CUDA": "1"}


def test_the_variants_own_environment_goes_before_the_backends(jobs: tuple[Job, ...]) -> None:
    assert jobs[-1].env == {"CMAKE_ARGS": "-DALL=OFF"}


def test_terms_merge_the_backends_libraries(jobs: tuple[Job, ...]) -> None:
    assert jobs[0].terms.exclude == (Pattern("libcuda.so.1"), Pattern("/usr/local/cuda*"))
    terms = jobs[-1].terms
    assert terms.exclude == ()
    assert terms.bundle == (Pattern("libgomp.so.1"),)
    assert terms.allow == {"absolute-rpath"}
    assert terms.forbid_members == ("*.a",)
    assert terms.max_size == 1_500_000


def test_an_entry_that_backend_and_variant_share_is_there_once_with_the_variants_reason(tmp_path: Path) -> None:
    own = """[variants.full.libraries]
    exclude = ["libz.so.1", { library = "libcuda.so.1", reason = "the driver's" }]
    """
    job = plan(_load(tmp_path, RELEASE + own), python=RUNNING, arch="x86_64")[0]
    assert job.terms.exclude == (
        Pattern("libz.so.1"),
        Pattern("libcuda.so.1", "the driver's"),
        Pattern("/usr/local/cuda*"),
    )


def test_the_running_python_and_this_machine_stand_in(tmp_path: Path) -> None:
    text = RELEASE.replace('python = ["3.11", "3.10"]', "")
    jobs = plan(_load(tmp_path, text), python=RUNNING, arch="riscv64")
    assert [job.id for job in jobs[:2]] == ["full-2_17-cp312-riscv64", "full-2_27-cp312-riscv64"]


def test_filenames_say_what_only_the_build_can_tell(jobs: tuple[Job, ...]) -> None:
    full, reduced = jobs[0], jobs[-1]
    platforms = "manylinux2014_x86_64.manylinux_2_17_x86_64"
    assert full.filename("My.Pkg", "1.0") == f"my_pkg-1.0-cp310-*-{platforms}.whl"
    assert full.filename("demo") == f"demo-*-cp310-*-{platforms}.whl"
    assert jobs[2].filename("demo", "1.0") == "demo-1.0-cp310-*-manylinux_2_27_x86_64.whl"
    old = "manylinux1_x86_64.manylinux_2_5_x86_64"
    assert reduced.filename("demo", "1.0") == f"demo-1.0+reduced.1-cp313-cp313t-{old}.whl"
    assert reduced.filename("demo", "1.0+g12") == f"demo-1.0+reduced.1-cp313-cp313t-{old}.whl"
    assert reduced.filename("demo") == f"demo-*+reduced.1-cp313-cp313t-{old}.whl"


def test_select_by_pattern_variant_and_target(jobs: tuple[Job, ...]) -> None:
    assert select(jobs, only=None) == jobs
    assert select(jobs, only="full-*-cp311-*") == (jobs[1], jobs[3])
    assert select(jobs, only=None, variant="reduced") == jobs[4:]
    assert select(jobs, only=None, glibc=Glibc(2, 27)) == jobs[2:4]
    assert select(jobs, only="*cp311*", variant="full", glibc=Glibc(2, 27)) == (jobs[3],)


def test_a_pattern_of_another_variant_selects_nothing_and_is_no_mistake(jobs: tuple[Job, ...]) -> None:
    assert select(jobs, only="full-*", variant="reduced") == ()


def test_a_pattern_that_matches_no_job_says_what_there_is(jobs: tuple[Job, ...]) -> None:
    with pytest.raises(WainwrightError, match="no job's id matches 'full'") as caught:
        select(jobs, only="full")
    assert caught.value.code == Exit.NOTHING_SELECTED
    assert caught.value.hint == "try --only 'full-*'"
    with pytest.raises(WainwrightError) as caught:
        select(jobs, only="fuller-*")
    assert caught.value.hint.startswith("the jobs are full-2_17-cp310-x86_64, full-2_17-cp311-x86_64, ")
