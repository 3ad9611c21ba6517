from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import engine
from elves import Recipe, make
from projects import RELEASE, Project
from wainwright.declaration.release import Image
from wainwright.running.engines import platform_of
from wainwright.running.images import look

pytestmark = [pytest.mark.engine, pytest.mark.slow]

# libstdc++ 3.4.29, GCC 11: std::from_chars for floating-point numbers. Bullseye has 3.4.28, bookworm 3.4.30.
NEWER = """
#include <charconv>
extern "C" long PyInit_mod(void) {
    const char text[] = "1.5";
    double value = 0;
    std::from_chars(text, text + 3, value);
    return value > 1;
}
"""
OPENMP = """
#include <omp.h>
void *PyInit_mod(void) { return (void *)(long)omp_get_max_threads(); }
"""


def images(*names: str) -> str:
    """Declare Debian images: `bullseye`, `bookworm-build`; each is made if it is not here."""
    tables = []
    for name in names:
        suite, _, kind = name.partition("-")
        tables.append(f'[images.{name}]\nref = "{engine.debian(suite, kind).ref}"\n')
    return "\n".join(tables)


def release(*, build: str, smoke: list[str], glibc: str = "2.31", python: str = "3.9", more: str = "") -> str:
    """Give a release.toml that builds in one image and proves in others."""
    text = RELEASE.replace('source = "."', f'source = "."\npython = ["{python}"]')
    text = text.replace('[images.zig]\ntoolchain = "zig"\n', images(build, *smoke))
    text = text.replace("2.17", glibc).replace('image = "zig"', f'image = "{build}"')
    return text.replace('smoke = ["host"]', f"smoke = {json.dumps(smoke)}") + more


def in_cplusplus(project: Project) -> None:
    text = (project.root / "make.py").read_text()
    project.write("make.py", text.replace('"mod.c"', '"mod.cpp"').replace('"CC", "cc"', '"CXX", "c++"'))
    project.write("mod.cpp", NEWER)


def loading(project: Project) -> None:
    """Have the package load its own mod.so when it is imported, so that the process has mapped what that needs."""
    text = (project.root / "make.py").read_text()
    line = "import ctypes; ctypes.CDLL(__file__.replace('__init__.py', 'mod.so'))"
    project.write("make.py", text.replace('!r}\\n".encode()', f'!r}}\\n{line}\\n".encode()'))
    assert "CDLL" in (project.root / "make.py").read_text()


def without_glibc_in_its_name() -> Image:
    """Give bookworm with a compiler under a name that does not tell its glibc: else release.toml is refused at once."""
    return engine.made("newer", f"FROM {engine.debian('bookworm', 'build').ref}\n")


def test_the_audit_says_what_an_older_images_loader_will_say(tmp_path: Path) -> None:
    newer = without_glibc_in_its_name()
    text = release(build="bookworm-build", smoke=["bullseye-bare"], python="3.11")
    text = text.replace(f'"{engine.debian("bookworm", "build").ref}"', f'"{newer.ref}"')
    project = Project(tmp_path / "demo", release=text)
    in_cplusplus(project)
    audited = project.run("audit")
    assert audited.returncode == 6, audited.stderr
    for word in ("demo/mod.so", "libstdc++.so.6", "GLIBCXX_3.4.29", "from_chars"):
        assert word in audited.stderr
    project.write("release.toml", text + '\n[variants.full.audit]\nallow = ["symbol-version"]\n')
    smoked = project.run("smoke")
    assert smoked.returncode == 7, smoked.stderr
    assert "demo/mod.so: " in smoked.stderr
    assert "libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by demo/mod.so)" in smoked.stderr
    assert "bullseye" in smoked.stderr
    assert project.leftovers == []


def test_built_in_the_older_image_it_passes_everywhere(tmp_path: Path) -> None:
    text = release(build="bullseye-build", smoke=["bullseye", "bookworm-bare"])
    project = Project(tmp_path / "demo", release=text)
    done = project.run("smoke")
    assert done.returncode == 0, done.stderr
    assert project.wheels == ["demo-1.0-cp39-cp39-manylinux_2_31_x86_64.whl"]
    receipts = {
        name: json.loads((project.root / f"wheelhouse/receipts/full-2_31-cp39-x86_64.smoke.{name}.json").read_text())
        for name in ("bullseye", "bookworm-bare")
    }
    assert receipts["bullseye"]["engine"] == "docker"
    assert receipts["bullseye"]["publishable"]
    assert receipts["bullseye"]["facts"]["libc"] == "2.31"
    assert receipts["bullseye"]["facts"]["image"].startswith("sha256:")
    assert receipts["bookworm-bare"]["facts"]["python"] is None
    again = project.run("smoke")
    assert again.stderr.count("unchanged") == 4


# What becomes of libgomp, and what the process maps then.
OPENMP_FATES = {
    "": 'inside = ["libgomp-*"], once = ["libgomp*"]',
    'exclude = ["libgomp.so.1"]': 'outside = ["libgomp*"], once = ["libgomp*"]',
    'keep-name = ["libgomp.so.1"]': 'inside = ["libgomp.so.1"], once = ["libgomp*"]',
}


def with_openmp() -> Image:
    """Give an image to prove wheels in that has GCC's runtime for OpenMP, and no compiler."""
    folder = "/usr/lib/x86_64-linux-gnu"
    build, plain = engine.debian("bullseye", "build").ref, engine.debian().ref
    return engine.made(
        "openmp", f"FROM {build} AS all\nFROM {plain}\nCOPY --from=all {folder}/libgomp.so.1 {folder}/\n"
    )


def test_openmp_grafted_left_out_and_kept_by_name_are_told_apart(tmp_path: Path) -> None:
    text = release(build="bullseye-build", smoke=["bullseye"]).replace(
        f'"{engine.debian().ref}"', f'"{with_openmp().ref}"'
    )
    text = text.replace("env = { }", 'env = { FLAGS = "-fopenmp" }')
    project = Project(tmp_path / "demo", release=text, source=OPENMP)
    loading(project)
    for libraries, loaded in OPENMP_FATES.items():
        more = f"\n[variants.full.libraries]\n{libraries}\n" if libraries else ""
        right = text.replace('backends = "python', f'loaded = {{ {loaded} }}\nbackends = "python') + more
        project.write("release.toml", right)
        done = project.run("smoke")
        assert done.returncode == 0, f"{libraries}: {done.stderr}"
        wrong = next(other for other in OPENMP_FATES.values() if other != loaded)
        project.write("release.toml", right.replace(loaded, wrong))
        done = project.run("smoke")
        assert done.returncode == 7, done.stderr
        assert "libgomp" in done.stderr
    assert "build full-2_31-cp39-x86_64: unchanged" in done.stderr


@pytest.mark.network
def test_a_published_openmp_project_grafted_left_out_and_kept_by_name(tmp_path: Path) -> None:
    """pykdtree's sdist: numpy and Cython come into the container from the index, and numpy again where it is proven."""
    text = release(build="bullseye-build", smoke=["bullseye"])
    text = text.replace(f'"{engine.debian().ref}"', f'"{with_openmp().ref}"')
    text = text.replace('source = "."', 'source = { sdist = "pykdtree==1.4.1" }')
    text = text.replace('command = "{python} make.py {out}"\nenv = { }', 'env = { USE_OMP = "1" }')
    text = text[: text.index("import = [")] + 'import = ["pykdtree.kdtree"]\n'
    project = Project(tmp_path / "pykdtree", release=text)
    wheels = {}
    for libraries, loaded in OPENMP_FATES.items():
        more = f"\nloaded = {{ {loaded} }}\n\n[variants.full.libraries]\n{libraries}\n"
        project.write("release.toml", text + more)
        done = project.run("smoke")
        assert done.returncode == 0, f"{libraries}: {done.stderr}"
        with zipfile.ZipFile(next((project.root / "wheelhouse").glob("*/*.whl"))) as wheel:
            wheels[libraries] = sorted(name for name in wheel.namelist() if "libgomp" in name)
    assert "build full-2_31-cp39-x86_64: unchanged" in done.stderr
    grafted, excluded, kept = wheels.values()
    assert len(grafted) == 1
    assert (excluded, kept) == ([], ["pykdtree.libs/libgomp.so.1"])
    project.write("release.toml", text + more.replace(loaded, OPENMP_FATES[""]))
    done = project.run("smoke")
    assert done.returncode == 7, done.stderr
    assert "libgomp" in done.stderr


def test_an_absent_driver_hides_no_other_library(tmp_path: Path) -> None:
    """Images for CUDA have a stub to link with, and no driver: the loader must go on to libgomp all the same."""
    stub = engine.made(
        "driver",
        f"FROM {engine.debian('bullseye', 'build').ref}\nRUN mkdir /stubs && echo 'int cuInit(int x) {{ return x; }}'"
        " >/tmp/cuda.c && cc -shared -fPIC /tmp/cuda.c -o /stubs/libcuda.so -Wl,-soname,libcuda.so.1\n",
    )
    text = release(build="bullseye-build", smoke=["bullseye"])
    text = text.replace(f'"{engine.debian("bullseye", "build").ref}"', f'"{stub.ref}"')
    text = text.replace("env = { }", 'env = { FLAGS = "-L/stubs -lcuda -fopenmp" }')
    text += '\n[variants.full.libraries]\nexclude = ["libcuda.so.1"]\n'
    source = OPENMP.replace("{ return", "{ return cuInit(0) ? 0 :").replace("void *Py", "int cuInit(int);\nvoid *Py")
    done = Project(tmp_path / "demo", release=text, source=source).run("smoke")
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "demo" / "wheelhouse").glob("full/*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert any("libgomp-" in name for name in archive.namelist())


def test_a_library_that_only_the_build_image_has_below_a_linker_script(tmp_path: Path) -> None:
    """As in a devtoolset: libonly.so is a text that leads the linker to the library itself."""
    only = engine.made(
        "only-here",
        f"FROM {engine.debian('bullseye', 'build').ref}\n"
        "RUN echo 'int only(void) { return 1; }' >/tmp/only.c && cc -shared -fPIC /tmp/only.c"
        " -o /usr/lib/libonly.so.1.2 -Wl,-soname,libonly.so.1 && ldconfig"
        " && echo 'INPUT ( /usr/lib/libonly.so.1.2 -lgcc )' >/usr/lib/libonly.so\n",
    )
    plain = release(build="bullseye-build", smoke=["bullseye"]).replace(
        f'"{engine.debian("bullseye", "build").ref}"', f'"{only.ref}"'
    )
    plain = plain.replace("env = { }", 'env = { FLAGS = "-lonly" }')
    text = plain + '\n[variants.full.audit]\nmode = "retag"\nallow = ["missing-library"]\n'
    project = Project(
        tmp_path / "demo", release=text, source="int only(void); long PyInit_mod(void) { return only(); }"
    )
    done = project.run("smoke")
    assert done.returncode == 7, done.stderr
    assert "demo/mod.so: libonly.so.1 => not found" in done.stderr

    project.write("release.toml", plain + '\n[variants.full.libraries]\nexclude = ["libonly.so"]\n')
    done = project.run("smoke")
    assert done.returncode == 0, done.stderr
    assert "build full-2_31-cp39-x86_64: unchanged" in done.stderr
    assert (
        "libonly.so is a text of linker commands in the build image, and is taken to mean libonly.so.1" in done.stderr
    )
    project.write("release.toml", plain + '\n[variants.full.libraries]\nkeep-name = ["/usr/lib/libonly.so"]\n')
    done = project.run("smoke")
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next((project.root / "wheelhouse").glob("*/*.whl"))) as wheel:
        assert "demo.libs/libonly.so.1" in wheel.namelist()


CUDA = """
int cudaRuntimeGetVersion(int *version);
long PyInit_mod(void) { int version; return cudaRuntimeGetVersion(&version); }
"""


def cuda_runtime(folder: Path) -> bytes:
    """Give NVIDIA's own libcudart.so.12, from its wheel on the package index."""
    words = [
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
        str(folder),
        "nvidia-cuda-runtime-cu12==12.4.127",
    ]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return archive.read("nvidia/cuda_runtime/lib/libcudart.so.12")


@pytest.mark.network
def test_cuda_stays_outside_through_a_folder_link_and_must_not_be_inside(tmp_path: Path) -> None:
    cuda = engine.made(
        "cuda",
        f"FROM {engine.debian('bullseye', 'build').ref}\nCOPY libcudart.so.12 /usr/local/cuda-12.4/lib64/\n"
        "RUN ln -s libcudart.so.12 /usr/local/cuda-12.4/lib64/libcudart.so && ln -s cuda-12.4 /usr/local/cuda"
        " && echo /usr/local/cuda/lib64 >/etc/ld.so.conf.d/cuda.conf && ldconfig\n",
        {"libcudart.so.12": cuda_runtime(tmp_path)},
    )
    text = release(build="bullseye-build", smoke=["bullseye"])
    text = text.replace(f'"{engine.debian("bullseye", "build").ref}"', f'"{cuda.ref}"')
    text = text.replace("env = { }", 'env = { FLAGS = "-L/usr/local/cuda/lib64 -lcudart" }')
    project = Project(tmp_path / "demo", release=text, source=CUDA)
    project.write("release.toml", text + '\n[variants.full.libraries]\nforbid = ["libcudart*"]\n')
    done = project.run("audit")
    assert done.returncode == 6, done.stderr
    assert "libcudart.so.12" in done.stderr
    assert project.wheels == []
    excluded = '\n[variants.full.libraries]\nforbid = ["libcudart*"]\nexclude = ["/usr/local/cuda*"]\n'
    project.write("release.toml", text + excluded)
    done = project.run("smoke")
    assert done.returncode == 0, done.stderr
    assert "build full-2_31-cp39-x86_64: unchanged" in done.stderr
    with zipfile.ZipFile(next((project.root / "wheelhouse").glob("*/*.whl"))) as wheel:
        assert not any("cudart" in name for name in wheel.namelist())
    receipt = json.loads((project.root / "wheelhouse/receipts/full-2_31-cp39-x86_64.smoke.bullseye.json").read_text())
    assert receipt["facts"]["left-to-the-user"] == ["libcudart.so.12"]


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"ref": "localhost:1/absent:v1"}, 4, ["images.bullseye-build", "the registry cannot be reached from here"]),
        ({"ref": "UPPER/case:v1"}, 4, ["this is not an image's name"]),
        (
            {"memory": "200 MB", "command": "python3 -c 'x = bytearray(10**9)'"},
            5,
            ["for want of memory", "memory = 200 MB"],
        ),
        ({"time-limit": "3 s", "command": "sleep 600"}, 5, ["stopped after 3 s"]),
        ({"command": "cat /dev/zero >/dev/full"}, 4, ["No space left on device", "that disk is its engine's"]),
        ({"command": "exec /no/such/program"}, 5, ["the build failed"]),
        (
            {"command": "false", "network": "false"},
            5,
            ["the build has no network (variants.full.build.network = false)"],
        ),
        ({"python": "3.8"}, 4, ["Python 3.8 is not in the image", "the image has Python 3.9"]),
    ],
)
def test_what_can_go_wrong_in_a_container(change: dict[str, str], code: int, words: list[str], tmp_path: Path) -> None:
    text = release(build="bullseye-build", smoke=["bullseye"], python=change.get("python", "3.9"))
    ref = f'ref = "{engine.debian("bullseye", "build").ref}"\n'
    if "ref" in change:
        text = text.replace(ref, f'ref = "{change["ref"]}"\n')
    for key in ("memory", "time-limit"):
        if key in change:
            text = text.replace(ref, f'{ref}{key} = "{change[key]}"\n')
    if "network" in change:
        text = text.replace("command = ", f"network = {change['network']}\ncommand = ")
    if "command" in change:
        text = text.replace('command = "{python} make.py {out}"', f'command = "{change["command"]}"')
    project = Project(tmp_path / "demo", release=text)
    done = project.run("build")
    assert done.returncode == code, done.stderr
    for word in words:
        assert word in done.stderr
    assert engine.containers(*project.pids) == set()


# Each with its e_machine, and how the kernel's list of binary formats would call its handler.
OTHERS = {"riscv64": (243, "riscv64"), "s390x": (22, "s390x"), "ppc64le": (21, "ppc64le"), "aarch64": (183, "aarch64")}


def test_programs_of_another_architecture_are_told_as_such(tmp_path: Path) -> None:
    handled = {path.name for path in Path("/proc/sys/fs/binfmt_misc").glob("qemu-*")}
    arch, (machine, _) = next(each for each in OTHERS.items() if f"qemu-{each[1][1]}" not in handled)
    shell = make(Recipe(kind=2, machine=machine, little=arch != "s390x", dynamic=False))
    other = engine.foreign(f"wainwright/test:{arch}", arch, {"bin/sh": shell})
    text = release(build="bullseye-build", smoke=["bullseye"])
    text = text.replace(f'"{engine.debian("bullseye", "build").ref}"', f'"{other.ref}"')
    text = text.replace('glibc = ["2.31"]', f'glibc = ["2.31"]\narch = ["{arch}"]')
    project = Project(tmp_path / "demo", release=text)
    done = project.run("build")
    assert done.returncode == 4, done.stderr
    assert "this machine cannot run programs of the image's architecture (exec format error)" in done.stderr
    assert "install qemu-user-static and binfmt-support" in done.stderr
    assert engine.containers(*project.pids) == set()
    # An image of this machine's architecture alone does not stand in for another's.
    native = text.replace(f'"{other.ref}"', f'"{engine.debian("bullseye", "build").ref}"')
    refused = Project(tmp_path / "native", release=native).run("build")
    assert refused.returncode == 4, refused.stderr
    assert f"for {platform_of(arch)}" in refused.stderr
    assert f"the one that is here is for {platform_of(os.uname().machine)}" in refused.stderr


def test_smoke_commands_that_take_too_long_together_are_stopped(tmp_path: Path) -> None:
    text = release(build="bullseye-build", smoke=["bullseye"]).replace(
        "import demo'\"]", "import demo'\", 'sleep 6', 'sleep 7']"
    )
    ref = f'ref = "{engine.debian().ref}"\n'
    project = Project(tmp_path / "demo", release=text.replace(ref, f'{ref}time-limit = "10 s"\n'))
    done = project.run("smoke")
    assert done.returncode == 7, done.stderr
    assert "stopped after 10 s, its time limit" in done.stderr


def test_without_an_engine_there_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(tmp_path / "demo", release=release(build="bullseye-build", smoke=["bullseye"]))
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such.sock")
    monkeypatch.setenv("WAINWRIGHT_ENGINE", "docker")
    done = project.run("build")
    assert done.returncode == 4, done.stderr
    assert "the engine's daemon does not answer" in done.stderr
    assert 'fallback = "zig"' in done.stderr


# On glibc 2.34 and later, gcc makes of this a need of GLIBC_2.34.
THREADS = """
#include <Python.h>
#include <pthread.h>
static void *nothing(void *x) { return x; }
PyMODINIT_FUNC PyInit_mod(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    static struct PyModuleDef mod = {PyModuleDef_HEAD_INIT, "mod", NULL, -1};
    return PyModule_Create(&mod);
}
"""


def test_zig_in_a_container_compiles_for_an_older_glibc_than_the_images(tmp_path: Path) -> None:
    text = release(build="bookworm-build", smoke=["bookworm", "bullseye-bare"], glibc="2.17", python="3.11")
    newer = without_glibc_in_its_name()
    ref = f'ref = "{engine.debian("bookworm", "build").ref}"\n'
    text = text.replace(ref, f'ref = "{newer.ref}"\ntoolchain = "zig"\n')
    text = text.replace("env = { }", 'env = { FLAGS = "-I/usr/include/python3.11" }')
    text = text.replace('import = ["demo"]', 'import = ["demo", "demo.mod"]')
    project = Project(tmp_path / "demo", release=text, source=THREADS)
    done = project.run("smoke")
    assert done.returncode == 0, done.stderr
    assert project.wheels == ["demo-1.0-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"]
    job = "full-2_17-cp311-x86_64"
    built = json.loads((project.root / f"wheelhouse/receipts/{job}.build.json").read_text())
    assert built["publishable"]
    assert built["facts"]["toolchain"].startswith("zig ")
    found = look(engine.engine(), newer.ref or "")
    assert found is not None
    assert built["facts"]["image"] == found.digest
    proven = json.loads((project.root / f"wheelhouse/receipts/{job}.smoke.bullseye-bare.json").read_text())
    assert proven["publishable"]
    assert proven["facts"]["libc"] == "2.31"
    project.write("release.toml", text.replace('toolchain = "zig"\n', ""))
    refused = project.run("audit")
    assert refused.returncode == 6, refused.stderr
    assert "GLIBC_2.34" in refused.stderr
