from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from wainwright.completed import Completed
from wainwright.errors import Exit, WainwrightError
from wainwright.formats.elf import read_elf
from wainwright.run import run
from wainwright.running.places import passed_on
from wainwright.running.toolchain import ZIG_VERSION, default_cache, ensure_zig, environment, triple
from wainwright.values import Glibc

HERE = platform.machine()
FLOOR = Glibc(2, 17)


@pytest.fixture(scope="session")
def zig() -> Path:
    return ensure_zig(run, default_cache())


@pytest.fixture
def echoing(tmp_path: Path) -> Path:
    """Give a zig that only prints its arguments, one a line, where `environment` expects the real one."""
    program = tmp_path / "cache" / "zig-0" / "ziglang" / "zig"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    program.chmod(0o755)
    return program


def _passed(tools: Path, zig: Path, *flags: str, verb: str = "cc", arch: str = "x86_64") -> list[str]:
    """Give the flags of a command line that reach zig, without those that the wrapper adds itself."""
    env = environment(FLOOR, arch, tools, zig=zig)
    done = subprocess.run([env["CC" if verb == "cc" else "CXX"], *flags], capture_output=True, text=True, check=True)
    words = done.stdout.splitlines()
    assert words[:2] == [verb, "-target"]
    assert words[-2:] == ["-idirafter", str(tools / "include")]
    own = [word for word in words[3:-2] if not word.startswith("-ffile-prefix-map=")]
    assert own[:2] == ["-fno-sanitize=undefined", "-Wno-unused-command-line-argument"]
    return own[2:]


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        # Debian's, Fedora's and conda's Pythons
        ("-shared -Wl,-O1 -Wl,-Bsymbolic-functions -g -fwrapv", "-shared -g -fwrapv"),
        ("-flto=auto -ffat-lto-objects -fuse-linker-plugin -O2", "-O2"),
        ("-specs=/usr/lib/rpm/redhat/redhat-hardened-ld -Wl,-z,now", "-Wl,-z,now"),
        ("-Wl,-z,relro,-z,now,--as-needed,--build-id=sha1", "-Wl,-z,relro,-z,now,--as-needed,--build-id=sha1"),
        ("-Wl,-z -Wl,pack-relative-relocs -Wl,-z -Wl,noexecstack", "-Wl,-z,noexecstack"),
        ("-Wl,-zpack-relative-relocs -Wl,-zdefs", "-Wl,-z,defs"),
        # what projects add
        ("-Wl,--exclude-libs,ALL x.o", "x.o"),
        ("-Wl,--exclude-libs -Wl,ALL x.o", "x.o"),
        ("-Wl,--exclude-libs=ALL,--gc-sections", "-Wl,--gc-sections"),
        ("-Xlinker --exclude-libs -Xlinker ALL -Xlinker --gc-sections", "-Wl,--gc-sections"),
        ("-Wl,-Map=x.map,-rpath,$ORIGIN/../lib", "-Wl,-rpath,$ORIGIN/../lib"),
        ("-static-libgcc -static-libstdc++ -fuse-ld=gold", ""),
        # what would make a wheel for this machine alone, or is read in another sense
        ("-march=native -mtune=native -mcpu=native -mtune=generic -O3", "-O3"),
        ("-march=x86-64-v3 -march=x86-64 -march=haswell", "-march=x86_64_v3 -march=x86_64 -march=haswell"),
        ("--target=x86_64-unknown-linux-gnu -target x86_64-linux-gnu -m64", "-m64"),
        # this machine's glibc
        ("-I/usr/include -isystem /usr/include -I /usr/include/x86_64-linux-gnu -Isrc", "-Isrc"),
        ("-I/usr/include/python3.11 -I /opt/x", "-I/usr/include/python3.11 -I/opt/x"),
        ("-isystem /opt/x -idirafter /opt/y", "-isystem /opt/x -idirafter /opt/y"),
        ("-L/usr/lib/x86_64-linux-gnu -L /usr/lib64 -L/opt/lib", "-L/opt/lib"),
        ("/usr/lib/x86_64-linux-gnu/libm.so /lib64/libpthread.a /usr/lib/libdl.so.2", "-lm -lpthread -ldl"),
        ("/usr/lib/x86_64-linux-gnu/libmpfr.so", "/usr/lib/x86_64-linux-gnu/libmpfr.so"),
    ],
)
def test_what_zig_does_not_know_is_left_out(tmp_path: Path, echoing: Path, given: str, passed: str) -> None:
    assert " ".join(_passed(tmp_path / "tools", echoing, *given.split())) == passed


def test_what_means_something_is_left_for_zig_to_refuse(tmp_path: Path, echoing: Path) -> None:
    flags = ["-Wl,--defsym=a=b", "-Wl,--wrap=f", "-fopenmp"]
    assert _passed(tmp_path / "tools", echoing, *flags) == flags


def test_spaces_quotes_and_globs_reach_zig_as_they_are(tmp_path: Path, echoing: Path) -> None:
    flags = ['-DNAME="a b"', "-DX='*'", "-Wl,-rpath,/a b/*", "", "*"]
    assert _passed(tmp_path / "a folder" / "tools", echoing, *flags, verb="c++") == flags


def test_other_architectures_keep_their_own_flags(tmp_path: Path, echoing: Path) -> None:
    assert _passed(tmp_path / "x", echoing, "-mbranch-protection=standard", "-fcf-protection") == ["-fcf-protection"]
    flags = _passed(tmp_path / "a", echoing, "-mbranch-protection=standard", "-fcf-protection", arch="aarch64")
    assert flags == ["-mbranch-protection=standard"]


def test_that_native_is_left_out_is_said(tmp_path: Path, echoing: Path) -> None:
    env = environment(FLOOR, "x86_64", tmp_path / "tools", zig=echoing)
    done = subprocess.run([env["CC"], "-march=native"], capture_output=True, text=True, check=True)
    assert done.stderr == "wainwright: -march=native is left out: a wheel is for other machines too\n"


def test_paths_of_the_job_and_of_pips_build_environment_are_mapped_away(tmp_path: Path, echoing: Path) -> None:
    env = environment(FLOOR, "x86_64", tmp_path / "job" / "tools", zig=echoing)
    for flag in (["-I/x/pip-build-env-a1/overlay/include"], ["-isystem", "/x/pip-build-env-a1/overlay/include"]):
        done = subprocess.run([env["CC"], *flag], capture_output=True, text=True, check=True, cwd=tmp_path)
        assert f"-ffile-prefix-map={tmp_path}=." in done.stdout.splitlines()
        assert f"-ffile-prefix-map={tmp_path / 'job'}=." in done.stdout.splitlines()
        assert "-ffile-prefix-map=/x/pip-build-env-a1=/build-env" in done.stdout.splitlines()


@pytest.mark.parametrize(
    ("arch", "expected"),
    [
        ("x86_64", "x86_64-linux-gnu.2.17"),
        ("i686", "x86-linux-gnu.2.17"),
        ("aarch64", "aarch64-linux-gnu.2.17"),
        ("armv7l", "arm-linux-gnueabihf.2.17"),
        ("ppc64le", "powerpc64le-linux-gnu.2.27"),
        ("s390x", "s390x-linux-gnu.2.17"),
        ("riscv64", "riscv64-linux-gnu.2.27"),
    ],
)
def test_a_target_is_spelled_as_zig_spells_it(arch: str, expected: str) -> None:
    assert triple(Glibc.parse(expected.partition(".")[2]), arch) == expected


def test_what_zig_cannot_make_is_a_sentence() -> None:
    with pytest.raises(WainwrightError, match="not for sparc64") as error:
        triple(FLOOR, "sparc64")
    assert error.value.code is Exit.ENGINE
    with pytest.raises(WainwrightError, match=r"zig cannot compile for glibc 2\.12 on x86_64"):
        triple(Glibc(2, 12), "x86_64")
    with pytest.raises(WainwrightError, match=r"zig cannot compile for glibc 2\.17 on riscv64") as error:
        triple(FLOOR, "riscv64")
    assert error.value.hint.startswith("2.27 is the oldest")


def test_tools_may_be_written_twice_and_are_first_on_path(tmp_path: Path, echoing: Path) -> None:
    tools = tmp_path / "tools"
    assert environment(FLOOR, "x86_64", tools, zig=echoing) == environment(FLOOR, "x86_64", tools, zig=echoing)
    env = environment(FLOOR, "x86_64", tools, zig=echoing)
    for name in ("cc", "gcc", "clang", "c++", "g++", "ar", "ranlib", "x86_64-linux-gnu-gcc"):
        assert shutil.which(name, path=env["PATH"]) == str(tools / name)


def test_the_cache_is_where_xdg_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "wainwright"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the specification: to be ignored
    assert default_cache() == Path.home() / ".cache" / "wainwright"


def test_a_zig_that_is_there_is_not_fetched(echoing: Path) -> None:
    home = echoing.parents[1]
    home.rename(home.with_name(f"zig-{ZIG_VERSION}"))

    def nothing(argv: object, **options: object) -> Completed:
        raise AssertionError((argv, options))

    assert ensure_zig(nothing, home.parent) == home.parent / f"zig-{ZIG_VERSION}" / "ziglang" / "zig"


def test_a_zig_that_cannot_be_fetched_is_a_sentence_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    (tmp_path / ".zig-killed").mkdir()
    with pytest.raises(WainwrightError, match="cannot be fetched") as error:
        ensure_zig(run, tmp_path)
    assert error.value.code is Exit.ENGINE
    assert [path.name for path in tmp_path.iterdir()] == ["zig.lock"]


@pytest.mark.network
def test_several_threads_fetch_zig_once(zig: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: ensure_zig(run, default_cache()), range(4))) == {zig}
    assert run([zig, "version"], capture=True).stdout.strip() == ZIG_VERSION


SOURCE = """
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <Python.h>
void *start(void *(*f)(void *)) { pthread_t t; return pthread_create(&t, 0, f, 0) ? 0 : dlopen("libm.so.6", 1); }
double power(double x) { return pow(x, exp(x)); }
const char *where(void) { return __FILE__; }
PyObject *PyInit_mod(void) { return 0; }
"""


def _pythons() -> list[str]:
    """Give this Python and Debian's own, whose headers are split over two folders, where that one has headers."""
    code = "import sysconfig; print(sysconfig.get_paths()['include'])"
    found = []
    for python in {sys.executable, "/usr/bin/python3"}:
        if Path(python).exists():
            include = run([python, "-c", code], capture=True).stdout.strip()
            found += [include] if Path(include, "Python.h").exists() else []
    return found


@pytest.mark.network
def test_a_remote_engine_of_another_architecture_is_given_its_own_zig(tmp_path: Path) -> None:
    arch, machine = ("aarch64", 183) if platform.machine() != "aarch64" else ("x86_64", 62)
    fetched = ensure_zig(run, tmp_path, arch=arch)
    with fetched.open("rb") as program:
        assert program.read(20)[18:] == bytes([machine, 0])  # e_machine
    shutil.rmtree(fetched.parents[1])


@pytest.mark.network
@pytest.mark.parametrize("glibc", [FLOOR, Glibc(2, 27)])
def test_what_is_compiled_needs_no_newer_glibc_and_knows_no_path(zig: Path, tmp_path: Path, glibc: Glibc) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "mod.c").write_text(SOURCE)
    env = os.environ | environment(glibc, HERE, tmp_path / "tools", zig=zig)
    includes = _pythons()
    assert includes
    for include in includes:
        flags = ["-shared", "-fPIC", "-O2", "-g", f"-I{include}", *env["LDFLAGS"].split()]
        done = run([env["CC"], *flags, folder / "mod.c", "-o", tmp_path / "mod.so", "-lm", "-ldl"], env=env, cwd=folder)
        done.check("it cannot be compiled", code=Exit.BUILD)
        data = (tmp_path / "mod.so").read_bytes()
        assert str(tmp_path).encode() not in data
        needs = [need.version.removeprefix("GLIBC_") for need in read_elf(data).needs]
        assert max(tuple(map(int, need.split("."))) for need in needs) <= (glibc.major, glibc.minor)
        assert ("2.27" in needs) is False  # pow and exp are versioned anew in 2.29


@pytest.mark.network
def test_cpp_brings_its_own_runtime_and_exceptions_work(zig: Path, tmp_path: Path) -> None:
    (tmp_path / "x.cc").write_text(
        '#include <stdexcept>\n#include <string>\n#include <vector>\nextern "C" int f(int n) {\n'
        "  try { std::vector<std::string> v; return v.at(n).size(); }\n"
        "  catch (const std::out_of_range &) { return 42; }\n}\n"
    )
    env = os.environ | environment(FLOOR, HERE, tmp_path / "tools", zig=zig)
    out = tmp_path / "x.so"
    done = run([env["CXX"], "-shared", "-fPIC", *env["LDFLAGS"].split(), tmp_path / "x.cc", "-o", out], env=env)
    done.check("it cannot be compiled", code=Exit.BUILD)
    elf = read_elf(out.read_bytes())
    assert not [name for name in elf.needed if "stdc++" in name or "c++" in name or "gcc" in name]
    asked = run([sys.executable, "-c", f"import ctypes; print(ctypes.CDLL({str(out)!r}).f(1))"], capture=True)
    assert asked.stdout.strip() == "42"


@pytest.mark.network
def test_the_example_is_built_alike_twice_without_a_compiler(zig: Path, tmp_path: Path) -> None:
    example = Path(__file__).parent.parent / "examples" / "tricolor"
    wheels = []
    for place in ("one", "another/place"):
        job = tmp_path / place
        shutil.copytree(example, job / "source")
        env = passed_on(os.environ) | {"PATH": "/usr/bin:/bin", "HOME": str(job), "SOURCE_DATE_EPOCH": "315532800"}
        env |= environment(FLOOR, HERE, job / "tools", zig=zig)
        pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps"]
        run([*pip, "--wheel-dir", job / "out", job / "source"], env=env, cwd=job).check(
            "it cannot be built", code=Exit.BUILD
        )
        (wheel,) = (job / "out").iterdir()
        wheels.append(wheel.read_bytes())
    assert wheels[0] == wheels[1]
