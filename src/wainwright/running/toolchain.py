"""The toolchain zig, fetched once and pinned: it compiles for any glibc and any architecture."""

from __future__ import annotations

import fcntl
import os
import platform
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Final

from wainwright.completed import Run
from wainwright.errors import Exit, WainwrightError
from wainwright.running.zigwrapper import compiler
from wainwright.values import Glibc

ZIG_VERSION: Final = "0.17.1"
# The wheels of ziglang for Linux, by architecture.
_HASHES: Final = {
    "x86_64": "ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54",
    "aarch64": "b7c5f02fccd40f89b999ee16a1f5ddced56e6182370f8affe494bcf8a28cf07e",
    "i686": "d0549d5db63961ad9ed83ef628a45e3309542410dbcb6010116f4f2a3274d966",
    "armv7l": "7ec229ead4a08f3bc537ed33fa8c0f811739b81a0d05afbea89db30afb4df1cc",
    "ppc64le": "d3bf27478d4593f2df7daf5c59b616a543b8f9e2cc9235bef84d8e54862a4334",
    "s390x": "87f24e5cdca55f5d47c1e20570eebb61a53957fafe4c35c69740e13affe407ba",
    "riscv64": "d65ae4223b0c351cb3b4596262b8d9773acc9ca94ef8ea9b5fe3ddfa07dd204f",
}
# Architecture as wheels spell it: zig's name, its ABI, the oldest glibc that zig knows of it, cargo's target.
_ARCHITECTURES: Final = {
    "x86_64": ("x86_64", "gnu", Glibc(2, 17), "X86_64_UNKNOWN_LINUX_GNU"),
    "i686": ("x86", "gnu", Glibc(2, 17), "I686_UNKNOWN_LINUX_GNU"),
    "aarch64": ("aarch64", "gnu", Glibc(2, 17), "AARCH64_UNKNOWN_LINUX_GNU"),
    "armv7l": ("arm", "gnueabihf", Glibc(2, 17), "ARMV7_UNKNOWN_LINUX_GNUEABIHF"),
    "ppc64le": ("powerpc64le", "gnu", Glibc(2, 19), "POWERPC64LE_UNKNOWN_LINUX_GNU"),
    "s390x": ("s390x", "gnu", Glibc(2, 17), "S390X_UNKNOWN_LINUX_GNU"),
    "riscv64": ("riscv64", "gnu", Glibc(2, 27), "RISCV64GC_UNKNOWN_LINUX_GNU"),
}
LIBCS: Final = ("manylinux_2_17", "manylinux_2_31", "musllinux_1_1")  # what ziglang's wheels say they run on
_SAME: Final = {"cc": ("gcc", "clang"), "c++": ("g++", "clang++")}  # other names for one tool
_SIMPLE: Final = {"ar": "ar", "ranlib": "ranlib", "ld": "ld.lld"}


def default_cache() -> Path:
    """Where the pipeline keeps what it fetches, as the XDG base directory specification has it."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "wainwright"


def ensure_zig(run: Run, cache: Path, *, arch: str | None = None) -> Path:
    """Give zig's program, fetched into `cache` by pip when it is not there yet; raises WainwrightError (ENGINE).

    `arch` is that of the machine on which it will run: another one for a remote engine. Several threads and processes
    may ask at once: one fetches, under a lock, into a folder that is then renamed.
    """
    cache = cache.absolute()
    foreign = arch if arch != platform.machine() else None
    home = cache / "-".join(filter(None, ("zig", ZIG_VERSION, foreign)))
    zig = home / "ziglang" / "zig"
    if zig.exists():
        return zig
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "zig.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not zig.exists():
                _fetch(run, cache, home, foreign)
    except OSError as error:
        raise WainwrightError(
            f"zig cannot be kept: {error.strerror}",
            code=Exit.ENGINE,
            where=str(error.filename or cache),
            hint="XDG_CACHE_HOME names another folder; it needs 400 MB",
        ) from error
    return zig


def _fetch(run: Run, cache: Path, home: Path, foreign: str | None) -> None:
    for left in cache.glob(".zig-*"):  # of a run that was killed: the lock is ours, so nobody is at work there
        shutil.rmtree(left, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(prefix=".zig-", dir=cache))
    try:
        wanted = temporary / "requirements.txt"
        hashes = " ".join(f"--hash=sha256:{digest}" for digest in _HASHES.values())
        wanted.write_text(f"ziglang=={ZIG_VERSION} {hashes}\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
        options = ["--no-deps", "--no-compile", "--only-binary=:all:", "--require-hashes"]
        options += [f"--platform={libc}_{foreign}" for libc in LIBCS] if foreign else []
        fetched = run([*pip, *options, "--target", temporary / "zig", "-r", wanted], log=None)
        fetched.check(
            f"zig {ZIG_VERSION} cannot be fetched",
            code=Exit.ENGINE,
            hint=f"it is `ziglang=={ZIG_VERSION}` on the package index, and pip fetches it with its own configuration",
        )
        if foreign is None:
            told = run([temporary / "zig" / "ziglang" / "zig", "version"], capture=True)
            told.check(f"zig {ZIG_VERSION} does not run on this machine", code=Exit.ENGINE)
        (temporary / "zig").replace(home)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def triple(glibc: Glibc, arch: str) -> str:
    """Spell a target for zig: `x86_64-linux-gnu.2.17`; raises WainwrightError for what zig cannot make."""
    if arch not in _ARCHITECTURES:
        known = ", ".join(_ARCHITECTURES)
        raise WainwrightError(f"zig compiles for {known}, and not for {arch}", code=Exit.ENGINE)
    name, abi, oldest, _ = _ARCHITECTURES[arch]
    if glibc < oldest:
        raise WainwrightError(
            f"zig cannot compile for glibc {glibc} on {arch}",
            code=Exit.ENGINE,
            hint=f"{oldest} is the oldest; an older target needs a container image",
        )
    return f"{name}-linux-{abi}.{glibc}"


def environment(glibc: Glibc, arch: str, folder: Path, *, zig: Path) -> Mapping[str, str]:
    """Write the tools of one job on this machine into `folder`, and give the variables by which builds find them."""
    tools = folder.absolute()
    objects = zig.parents[1].with_name(f"{zig.parents[1].name}-objects")
    write_tools(tools, glibc, arch, zig=zig, at=tools, objects=objects, crosses=arch != platform.machine())
    _link_python_headers(tools / "include")
    return variables(arch, tools, path=os.environ.get("PATH", os.defpath))


def write_tools(
    folder: Path, glibc: Glibc, arch: str, *, zig: PurePath, at: PurePath, objects: PurePath, crosses: bool = False
) -> None:
    """Write the tools of one job into `folder`, from where they may be copied: they are to stand `at`.

    The folder above `at` is taken to be the job's own; paths below it are kept out of what is compiled. `zig` is the
    program, and `objects` the folder of what it has compiled for all jobs, as the tools will find both.
    """
    target = triple(glibc, arch)
    folder.mkdir(parents=True, exist_ok=True)
    for verb, others in _SAME.items():
        script = compiler(verb, zig=zig, target=target, root=at.parent, tools=at, global_cache=objects)
        _write_tool(folder / verb, script)
        for other in (*others, *(f"{arch}-linux-gnu-{name}" for name in (others[0],))):
            _link(folder / other, verb)
    for name, verb in _SIMPLE.items():
        _write_tool(folder / name, f'#!/bin/sh\nexec {shlex.quote(str(zig))} {verb} "$@"\n')
    (folder / "include").mkdir(exist_ok=True)
    (folder / "toolchain.cmake").write_text(_cmake(at, arch, crosses=crosses), encoding="utf-8")


def variables(arch: str, tools: PurePath, *, path: str) -> dict[str, str]:
    """Give the variables by which builds find the tools that stand in `tools`; `path` is their PATH without them.

    setuptools, CMake, Meson, autotools and cargo read these; `gcc` by name is found first on PATH. -g0 and
    --strip-debug keep this machine's paths, and megabytes of libc++'s debug information, out of the wheel.
    """
    *_, cargo = _ARCHITECTURES[arch]
    return {
        "PATH": os.pathsep.join([str(tools), path]),
        "CC": str(tools / "cc"),
        "CXX": str(tools / "c++"),
        "AR": str(tools / "ar"),
        "RANLIB": str(tools / "ranlib"),
        "LDSHARED": f"{tools / 'cc'} -shared",
        "LDCXXSHARED": f"{tools / 'c++'} -shared",
        "CFLAGS": "-g0",
        "CXXFLAGS": "-g0",
        "LDFLAGS": "-Wl,--strip-debug",
        "CMAKE_TOOLCHAIN_FILE": str(tools / "toolchain.cmake"),
        f"CARGO_TARGET_{cargo}_LINKER": str(tools / "cc"),
    }


def _write_tool(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def _link(path: Path, target: str | Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def _link_python_headers(include: Path) -> None:
    """Make Debian's <x86_64-linux-gnu/python3.11/pyconfig.h> found, without this machine's glibc headers beside it."""
    for headers in Path("/usr/include").glob("*-linux-*/python3.*"):
        (include / headers.parent.name).mkdir(exist_ok=True)
        _link(include / headers.parent.name / headers.name, headers)


def _cmake(tools: PurePath, arch: str, *, crosses: bool) -> str:
    """Write CMake's toolchain file. It names a system only for another architecture: else CMake would run no checks."""
    lines = [
        f'set(CMAKE_C_COMPILER "{tools / "cc"}")',
        f'set(CMAKE_CXX_COMPILER "{tools / "c++"}")',
        f'set(CMAKE_AR "{tools / "ar"}" CACHE FILEPATH "")',
        f'set(CMAKE_RANLIB "{tools / "ranlib"}" CACHE FILEPATH "")',
        # What the wrapper has removed as this machine's own is not to be found in the first place.
        "list(APPEND CMAKE_IGNORE_PATH /usr/include /usr/lib /usr/lib64 /lib /lib64)",
        f"list(APPEND CMAKE_IGNORE_PATH /usr/lib/{arch}-linux-gnu /lib/{arch}-linux-gnu)",
        # CMake's own link-time optimisation asks for gcc's or llvm's archiver.
        'set(CMAKE_INTERPROCEDURAL_OPTIMIZATION OFF CACHE BOOL "")',
    ]
    if crosses:
        lines += ["set(CMAKE_SYSTEM_NAME Linux)", f"set(CMAKE_SYSTEM_PROCESSOR {arch})"]
    return "\n".join([*lines, ""])
