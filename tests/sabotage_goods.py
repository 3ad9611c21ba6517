"""Good wheels to be sabotaged: extension and libraries, programs, the stable ABI, musl, another architecture.

What they need is linked against stubs: libraries that have the sonames and symbol versions of the real ones, so that
needs are exact whatever glibc this machine has.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import elves
import native
from sabotage import Draft, draft

# soname → version → symbols; the first versions are older than every claim here, the later ones newer
STUBS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "libc.so.6": {
        "GLIBC_2.2.5": ["puts", "__libc_start_main"], "GLIBC_2.17": ["clock_gettime"], "GLIBC_2.18": ["thread_atexit"],
        "GLIBC_2.25": ["getrandom"], "GLIBC_2.27": ["mlock2"], "GLIBC_2.34": ["pthread_create", "dlopen"],
        "GLIBC_2.99": ["from_the_future"], "GLIBC_PRIVATE": ["__libc_dlopen_mode"], "GLIBC_ABI_FUTURE": ["marker"],
    },
    "libm.so.6": {"GLIBC_2.2.5": ["floor"], "GLIBC_2.29": ["exp", "pow"]},
    "libdl.so.2": {"GLIBC_2.2.5": ["dlsym"]},
    "libpthread.so.0": {"GLIBC_2.2.5": ["pthread_join"], "GLIBC_2.30": ["pthread_mutex_clocklock"]},
    "librt.so.1": {"GLIBC_2.2.5": ["timer_create"], "GLIBC_2.34": ["shm_open"]},
    "ld-linux-x86-64.so.2": {"GLIBC_2.3": ["__tls_get_addr"], "GLIBC_2.35": ["__rseq_offset"]},
    "libstdc++.so.6": {
        "GLIBCXX_3.4": ["_ZNSs1"], "GLIBCXX_3.4.19": ["_ZNSs2"], "GLIBCXX_3.4.29": ["_ZNSt3new", "_ZNSt3old"],
        "GLIBCXX_3.4.99": ["_ZNSt4far"], "CXXABI_1.3": ["__cxa_throw"], "CXXABI_1.3.7": ["__cxa_seven"],
        "CXXABI_1.3.11": ["__cxa_eleven"], "CXXABI_FLOAT128": ["_ZTIg"],
    },
    "libgcc_s.so.1": {"GCC_3.0": ["_Unwind_Resume"], "GCC_4.8.0": ["__cpu_model"], "GCC_7.0.0": ["__divmodti4"]},
    "libz.so.1": {"ZLIB_1.2.0": ["inflateBack"], "ZLIB_1.2.9": ["crc32_z"], "ZLIB_1.2.12": ["crc32_combine_gen"]},
    "libatomic.so.1": {"LIBATOMIC_1.0": ["libat_load_16"]},
    "libc.musl-x86_64.so.1": {"": ["musl_puts"]},
}  # fmt: skip
FLAGS: Final = ("-nostdlib", "-O1", "-w", "-fno-builtin", "-fno-stack-protector", "-fcf-protection=none")


def source(*symbols: str, entry: str = "PyInit_mod", more: str = "") -> str:
    """C that calls these symbols."""
    declared = "".join(f"extern void {symbol}(void);\n" for symbol in symbols)
    calls = " ".join(f"{symbol}();" for symbol in symbols)
    return f"{declared}{more}\nvoid *{entry}(void) {{ {calls} return 0; }}\n"


class Yard:
    """Where native code is made. What is made twice is made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0
        self.shared = functools.cache(self._shared)
        self.program = functools.cache(self._program)

    @functools.cached_property
    def stubs(self) -> dict[str, Path]:
        """Each symbol with the stub that has it."""
        found = {}
        for soname, versions in STUBS.items():
            path = self.folder / "stubs" / soname
            names = [name for names in versions.values() for name in names]
            script = self.folder / f"{soname}.map"
            script.write_text("".join(f"{version} {{ {'; '.join(names)}; }};\n" for version, names in versions.items()))
            flags = () if "" in versions else (f"-Wl,--version-script={script}",)
            text = "".join(f"void {name}(void) {{}}\n" for name in names)
            native.shared(path, text, *FLAGS, f"-Wl,-soname,{soname}", *flags)
            found.update(dict.fromkeys(names, path))
        return found

    def _file(self, name: str) -> Path:
        self._count += 1
        return self.folder / f"{self._count}" / name

    def library(self, soname: str) -> Path:
        """Compile a library that needs nothing, to link against; its name is its soname."""
        path = self.folder / "libraries" / soname
        if not path.exists():
            native.shared(path, source(entry=symbol_of(soname)), *FLAGS, f"-Wl,-soname,{soname}")
        return path

    def _needed(self, symbols: Sequence[str]) -> list[Path]:
        return list(dict.fromkeys(self.stubs[symbol] for symbol in symbols if symbol in self.stubs))

    def _shared(
        self, *symbols: str, libraries: tuple[str, ...] = (), flags: tuple[str, ...] = (), soname: str = "",
        more: str = "", entry: str = "PyInit_mod",
    ) -> bytes:  # fmt: skip
        """Compile a library that calls these symbols of the stubs, and one of each library named."""
        linked = [self.library(name) for name in libraries]
        calls = [*symbols, *map(symbol_of, libraries)]
        named = (f"-Wl,-soname,{soname}",) if soname else ()
        text = source(*calls, entry=entry, more=more)
        made = native.shared(self._file("x.so"), text, *FLAGS, *self._needed(symbols), *linked, *named, *flags)
        return made.read_bytes()

    def _program(self, *symbols: str, flags: tuple[str, ...] = ()) -> bytes:
        text = source(*symbols, entry="_start")
        loader = "-Wl,--dynamic-linker=/lib64/ld-linux-x86-64.so.2"
        made = native.program(self._file("x"), text, *FLAGS, "-fPIE", "-pie", *self._needed(symbols), loader, *flags)
        return made.read_bytes()


def symbol_of(soname: str) -> str:
    return "of_" + "".join(letter if letter.isalnum() else "_" for letter in soname)


PLAIN: Final = {"demo/__init__.py": b"from demo.mod import *\n", "demo/data.txt": b"nothing but text\n" * 40}
MODULE: Final = "demo/mod.cpython-310-x86_64-linux-gnu.so"
CORE, DEP, TOOL = "demo/libcore.so", "demo.libs/libdep-0123abcd.so.1", "demo/bin/tool"


def extension(yard: Yard) -> Draft:
    """A C++ extension, a library beside it (RUNPATH), one in demo.libs (RPATH), and what 2.17 may need at most."""
    old = ("puts", "clock_gettime", "floor", "_ZNSs2", "__cxa_seven", "__cpu_model", "inflateBack", "__tls_get_addr")
    dep = "libdep-0123abcd.so.1"
    members = {
        **PLAIN,
        MODULE: yard.shared(*old, libraries=("libcore.so",), flags=("-Wl,-rpath,$ORIGIN",)),
        CORE: yard.shared(
            "puts", libraries=(dep,), soname="libcore.so", entry=symbol_of("libcore.so"),
            flags=("-Wl,-rpath,$ORIGIN/../demo.libs", "-Wl,--disable-new-dtags"),
        ),
        DEP: yard.shared("puts", soname=dep, entry=symbol_of(dep)),
        "demo/bin/tool": yard.program("puts", "clock_gettime"),
    }  # fmt: skip
    return draft("demo-1.0-cp310-cp310-manylinux2014_x86_64.manylinux_2_17_x86_64.whl", members)


def programs(yard: Yard) -> Draft:
    """Executables for any Python, one of them installed onto PATH."""
    members = {
        "demo/__init__.py": b"import os\n",
        "demo/notes.txt": b"text\n" * 30,
        TOOL: yard.program("puts", "clock_gettime"),
        "demo-1.0.data/scripts/demo-tool": yard.program("puts"),
    }
    return draft("demo-1.0-py3-none-manylinux_2_17_x86_64.whl", members)


def stable(yard: Yard) -> Draft:
    """The stable ABI of 3.11: an extension and a plain library that both use Python."""
    python = ("PyModule_Create2", "PyType_FromSpec", "_Py_Dealloc")
    members = {
        **PLAIN,
        "demo/mod.abi3.so": yard.shared("puts", *python),
        "demo/libplain.so": yard.shared("puts", "PyLong_FromLong", soname="libplain.so"),
    }
    return draft("demo-1.0-cp311-abi3-manylinux_2_28_x86_64.whl", members)


def musl(yard: Yard) -> Draft:
    members = {
        **PLAIN,
        "demo/mod.cpython-310-x86_64-linux-musl.so": yard.shared(
            "musl_puts", libraries=("libcore.so",), flags=("-Wl,-rpath,$ORIGIN/../demo.libs",)
        ),
        "demo.libs/libcore.so": yard.shared("musl_puts", soname="libcore.so", entry=symbol_of("libcore.so")),
    }
    return draft("demo-1.0-cp310-cp310-musllinux_1_2_x86_64.whl", members)


def aarch64(_yard: Yard) -> Draft:
    """Another architecture than the one that judges."""
    recipe = elves.Recipe(
        machine=183, align=0x10000, needed=("libc.so.6", "libcore.so"), needs={"libc.so.6": ["GLIBC_2.17"]},
        runpath="$ORIGIN", symbols={"puts": (False, False, "GLIBC_2.17")},
    )  # fmt: skip
    core = elves.Recipe(machine=183, align=0x10000, needed=("libc.so.6",), soname="libcore.so")
    members = {
        **PLAIN,
        "demo/mod.cpython-310-aarch64-linux-gnu.so": elves.make(recipe),
        "demo/libcore.so": elves.make(core),
    }
    return draft("demo-1.0-cp310-cp310-manylinux_2_17_aarch64.whl", members)


GOODS: Final = {made.__name__: made for made in (extension, programs, stable, musl, aarch64)}
