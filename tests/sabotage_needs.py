"""Faults of what native code needs: symbol versions, relocations, stack and TLS, processors, Python's stable ABI."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import elves
import native
from sabotage import Draft, Sabotage, retagged
from sabotage_elf import DT_DEBUG, DT_NEEDED, PT_DYNAMIC, PT_GNU_STACK, PT_LOAD, Patch
from sabotage_goods import MODULE, Yard
from wainwright.auditing.terms import Terms
from wainwright.values import Glibc

# library, version, symbols: each is more than 2.17 offers
TOO_NEW: Final = (
    ("libc.so.6", "GLIBC_2.18", ("thread_atexit",)),
    ("libc.so.6", "GLIBC_2.25", ("getrandom",)),
    ("libc.so.6", "GLIBC_2.27", ("mlock2",)),
    ("libc.so.6", "GLIBC_2.34", ("dlopen", "pthread_create")),
    ("libc.so.6", "GLIBC_2.99", ("from_the_future",)),
    ("libc.so.6", "GLIBC_ABI_FUTURE", ("marker",)),
    ("libm.so.6", "GLIBC_2.29", ("exp", "pow")),
    ("libpthread.so.0", "GLIBC_2.30", ("pthread_mutex_clocklock",)),
    ("librt.so.1", "GLIBC_2.34", ("shm_open",)),
    ("ld-linux-x86-64.so.2", "GLIBC_2.35", ("__rseq_offset",)),
    ("libstdc++.so.6", "GLIBCXX_3.4.29", ("_ZNSt3new", "_ZNSt3old")),
    ("libstdc++.so.6", "GLIBCXX_3.4.99", ("_ZNSt4far",)),
    ("libstdc++.so.6", "CXXABI_1.3.11", ("__cxa_eleven",)),
    ("libstdc++.so.6", "CXXABI_FLOAT128", ("_ZTIg",)),
    ("libgcc_s.so.1", "GCC_7.0.0", ("__divmodti4",)),
    ("libz.so.1", "ZLIB_1.2.9", ("crc32_z",)),
    ("libz.so.1", "ZLIB_1.2.12", ("crc32_combine_gen",)),
    ("libatomic.so.1", "LIBATOMIC_1.0", ("libat_load_16",)),
)
DATA: Final = "demo-1.0.data"
# Python 3.12's, 3.13's and 3.14's, and what is in no stable ABI
NEWER: Final = ("PyType_GetDict", "PyErr_GetRaisedException", "PyDict_GetItemRef", "PyType_GetModuleName")
UNSTABLE: Final = (
    "_PyLong_AsByteArray",
    "PyUnicode_AsUTF8AndSize_Unknown",
    "PyFrame_GetLasti",
    "_PyObject_NextNotImplemented",
)


def of_extension(good: Draft, yard: Yard) -> Iterator[Sabotage]:
    """Put every fault of a need into a wheel that claims 2.17."""
    yield from _versions(good, yard)
    yield from _claims(good, yard)
    yield from _private(good, yard)
    yield from _relocations(good)
    yield from _flags(good, yard)
    yield from _orphans(good, yard)
    yield from _providers(good, yard)


def _places(yard: Yard, symbols: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Give code that calls these symbols, wherever a wheel may have code."""
    shared, program = yard.shared("puts", *symbols), yard.program("puts", *symbols)
    yield "demo/extra.cpython-310-x86_64-linux-gnu.so", shared
    yield "demo/libextra.so.1.2", shared
    yield "demo/plugins/extra.bin", shared
    yield f"{DATA}/platlib/demo/extra.so", shared
    yield f"{DATA}/data/lib/libextra.so", shared
    yield "demo/bin/extra", program
    yield f"{DATA}/scripts/extra", program


def _versions(good: Draft, yard: Yard) -> Iterator[Sabotage]:
    for number, (library, version, symbols) in enumerate(TOO_NEW):
        for nth, (member, data) in enumerate(_places(yard, symbols)):
            if nth in {number % 7, 5, (number + 3) % 7}:  # programs always, each other place in turn
                also = {("private-symbol", member)} if library == "libz.so.1" else set()  # 2.17 lists some by name
                yield good.with_members({member: data}).sabotage(
                    f"{version} of {library}: {member}", "symbol-version", member, library=library, version=version,
                    symbols=symbols, also=also,
                )  # fmt: skip
    # the same by hand: another version of the same length, in a wheel that is otherwise right
    for old, new in (("GLIBC_2.17", "GLIBC_2.43"), ("GLIBCXX_3.4.19", "GLIBCXX_3.4.34"), ("GCC_4.8.0", "GCC_9.9.9")):
        data = Patch(good.members[MODULE]).text(old, new)
        yield good.with_members({MODULE: data}).sabotage(f"{new} by hand", "symbol-version", MODULE, version=new)


def _claims(good: Draft, yard: Yard) -> Iterator[Sabotage]:
    """Make the tag lie, rather than the code."""
    new = yard.shared("puts", "mlock2")
    for platform, claim in (
        ("manylinux1_x86_64.manylinux_2_28_x86_64", None),
        ("manylinux_2_28_x86_64.manylinux2010_x86_64", None),
        ("manylinux_2_26_x86_64", None),
        ("manylinux_2_25_x86_64", None),
        ("manylinux_2_18_x86_64.manylinux_2_35_x86_64.linux_x86_64", None),
        ("linux_x86_64", "2.26"),
        ("manylinux_2_34_x86_64", "2.17"),
        ("manylinux_2_28_x86_64.musllinux_1_1_x86_64", "2.26"),
    ):
        wheel = retagged(good.with_members({MODULE: new}), platform)
        options = {"claim": Glibc.parse(claim)} if claim else {}
        also = {("missing-library", name) for name in good.objects} if "musl" in platform else set()
        also |= {("symbol-version", "demo/bin/tool")}  # its 2.17 is too much for manylinux1
        yield wheel.sabotage(
            f"2.27 is needed, {claim or platform} claimed", "symbol-version", MODULE, library="libc.so.6",
            version="GLIBC_2.27", symbols=("mlock2",), options=options, also=also,
        )  # fmt: skip


def _private(good: Draft, yard: Yard) -> Iterator[Sabotage]:
    for member, data in _places(yard, ("__libc_dlopen_mode",)):
        yield good.with_members({member: data}).sabotage(
            f"GLIBC_PRIVATE: {member}", "private-symbol", member, library="libc.so.6", symbols=("__libc_dlopen_mode",)
        )
    member = "demo/libextra.so"
    for name in ("_tr_init", "_dist_code"):
        data = elves.make(elves.Recipe(needed=("libz.so.1", "libc.so.6"), symbols={name: (False, False, None)}))
        yield good.with_members({member: data}).sabotage(
            f"zlib's own {name}", "private-symbol", member, library="libz.so.1", symbols=(name,)
        )


def _relocations(good: Draft) -> Iterator[Sabotage]:
    relr = ((36, 0x10000), (35, 8), (37, 8))
    marker = {"libc.so.6": ["GLIBC_2.2.5", "GLIBC_ABI_DT_RELR"]}
    for title, recipe in {
        "packed relocations, libc not needed": elves.Recipe(tags=relr),
        "packed relocations without their marker": elves.Recipe(tags=relr, needed=("libc.so.6",)),
        "packed relocations": elves.Recipe(tags=relr, needed=("libc.so.6",), needs=marker),
        "packed relocations of a program": elves.Recipe(tags=relr, interpreter="/lib64/ld-linux-x86-64.so.2"),
    }.items():
        for platform in ("manylinux_2_17_x86_64", "manylinux_2_35_x86_64"):
            wheel = retagged(good.with_members({"demo/libextra.so": elves.make(recipe)}), platform)
            yield wheel.sabotage(f"{title}", "packed-relocations", "demo/libextra.so")


def _flags(good: Draft, yard: Yard) -> Iterator[Sabotage]:
    """Let the compiler and the linker make the fault."""
    tls = "__thread int shared_number; int tell(void) { return shared_number; }"
    initial = ("-ftls-model=initial-exec",)
    execstack = "-Wl,-z,execstack"
    stack = (execstack,) if native.accepts("-shared", "-nostdlib", execstack) else ()
    for member in ("demo/libextra.so", "demo/extra.cpython-310-x86_64-linux-gnu.so", f"{DATA}/platlib/demo/extra.so"):
        bad = good.with_members({member: _stacked(yard.shared("puts", flags=stack))})
        yield bad.sabotage(f"linked with an executable stack: {member}", "executable-stack", member)
        bad = good.with_members({member: yard.shared("puts", more=tls, flags=initial)})
        yield bad.sabotage(f"static TLS: {member}", "static-tls", member, severity="warnings")
    member = "demo/bin/extra"
    bad = good.with_members({member: _stacked(yard.program("puts", flags=stack))})
    yield bad.sabotage("a program with an executable stack", "executable-stack", member)
    member = "demo/libextra.so"
    for tags in ("-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"):
        for path in ("/build/x", "/usr/local/lib", "$ORIGIN:/home/ci/build", "/build/x:$ORIGIN/../demo.libs", "lib",
                     "./lib", "$LIB/x"):  # fmt: skip
            bad = good.with_members({member: yard.shared("puts", flags=(f"-Wl,-rpath,{path}", tags))})
            yield bad.sabotage(f"{tags} {path}", "absolute-rpath", member, severity="warnings")
    for level in (2, 3, 4):
        note = elves.gnu_property(0xC0008002, 1 << (level - 1))
        bad = good.with_members({member: elves.make(elves.Recipe(note=note, needed=("libc.so.6",)))})
        yield bad.sabotage(f"x86-64-v{level}", "isa", member)
        if level > 2:
            terms = Terms(isa="x86-64-v2")
            yield bad.sabotage(f"x86-64-v{level}, where v2 is allowed", "isa", member, options={"terms": terms})
    pack = "-Wl,-z,pack-relative-relocs"
    if native.accepts("-shared", "-nostdlib", pack):
        text = "static int one; int *pointers[] = { &one, &one, &one };"
        bad = good.with_members({member: yard.shared(more=text, flags=(pack,))})
        yield bad.sabotage("relocations that the linker packed", "packed-relocations", member)


def _stacked(data: bytes) -> bytes:
    """Have the mark of an executable stack also where the linker makes none: zig's knows no such flag."""
    return Patch(data).set_segment(PT_GNU_STACK, 1, 7)


def _orphans(good: Draft, yard: Yard) -> Iterator[Sabotage]:
    """Take away the need of a library, and leave the need of its versions."""
    member = "demo/libextra.so"
    for library, version, symbol in (
        ("libm.so.6", "GLIBC_2.2.5", "floor"), ("libstdc++.so.6", "GLIBCXX_3.4", "_ZNSs1"),
        ("libz.so.1", "ZLIB_1.2.0", "inflateBack"), ("librt.so.1", "GLIBC_2.2.5", "timer_create"),
    ):  # fmt: skip
        data = Patch(yard.shared(symbol, "puts")).dynamic(DT_NEEDED, 0, new_tag=DT_DEBUG)
        yield good.with_members({member: data}).sabotage(
            f"versions of {library}, which is not needed", "needs-without-library", member, library=library,
            version=version,
        )  # fmt: skip


def _providers(good: Draft, yard: Yard) -> Iterator[Sabotage]:
    """Bring a library that is older than what it was linked against."""
    member = "demo/libstdc++.so.6"
    own = elves.Recipe(soname="libstdc++.so.6", definitions=("GLIBCXX_3.4", "CXXABI_1.3"), needed=("libc.so.6",))
    user = "demo/libextra.so"
    wheel = good.with_members({member: elves.make(own), user: yard.shared("_ZNSt3new", flags=("-Wl,-rpath,$ORIGIN",))})
    yield wheel.sabotage(
        "the libstdc++ inside is too old", "symbol-version", user, library="libstdc++.so.6", version="GLIBCXX_3.4.29",
        also={("symbol-version", MODULE)},
    )  # fmt: skip
    debug = Patch(good.members["demo/libcore.so"])
    debug.set_segment(PT_DYNAMIC, 5, 0)
    for nth in range(sum(1 for _, values in debug.segments() if values[0] == PT_LOAD)):
        debug.set_segment(PT_LOAD, 5, 0, nth)
    for name in ("demo/libcore.debug.so", "demo/libextra.so.1.2.3"):
        bad = good.with_members({name: bytes(debug.data)})
        yield bad.sabotage(f"debug information named as a library: {name}", "debug-file", name)
    bad = good.with_members({"demo/libcore.so": bytes(debug.data)})
    also = {("missing-library", "demo/libcore.so")}
    yield bad.sabotage("debug information where a library is needed", "debug-file", "demo/libcore.so", also=also)


def of_stable(good: Draft, yard: Yard) -> Iterator[Sabotage]:
    """Use more of Python than the stable ABI of 3.11 has."""
    for symbol in (*NEWER, *UNSTABLE):
        for member in ("demo/mod.abi3.so", "demo/libplain.so", "demo/libextra.so"):
            data = yard.shared("puts", "PyLong_FromLong", symbol)
            yield good.with_members({member: data}).sabotage(f"{symbol}: {member}", "abi3", member, symbols=(symbol,))


def of_musl(good: Draft, yard: Yard) -> Iterator[Sabotage]:
    for member, data in {
        "demo/libextra.so": yard.shared("puts"), "demo/bin/extra": yard.program("puts"),
        good.objects[0]: yard.shared("puts", "clock_gettime"),
    }.items():  # fmt: skip
        yield good.with_members({member: data}).sabotage(
            f"glibc's library for musl: {member}", "missing-library", member, library="libc.so.6",
            also={("interpreter", member)},
        )  # fmt: skip
    data = yard.shared("musl_puts", "_ZNSs1")
    yield good.with_members({"demo/libextra.so": data}).sabotage(
        "libstdc++ that musl's systems need not have", "missing-library", "demo/libextra.so", library="libstdc++.so.6"
    )


def of_aarch64(good: Draft, _yard: Yard) -> Iterator[Sabotage]:
    """Need more than was promised, of an architecture that this machine is not."""
    for version, symbol in (
        ("GLIBC_2.34", "dlopen"),
        ("GLIBC_2.18", "__cxa_thread_atexit_impl"),
        ("GLIBC_2.38", "strlcpy"),
    ):
        recipe = elves.Recipe(
            machine=183, align=0x10000, needed=("libc.so.6",), needs={"libc.so.6": ["GLIBC_2.17", version]},
            symbols={symbol: (False, False, version)},
        )  # fmt: skip
        yield good.with_members({"demo/libextra.so": elves.make(recipe)}).sabotage(
            version,
            "symbol-version",
            "demo/libextra.so",
            version=version,
            symbols=(symbol,),
            also={("private-symbol", "demo/libextra.so")},
        )
    for machine, bits in ((62, 64), (3, 32), (40, 32), (21, 64)):
        data = elves.make(elves.Recipe(machine=machine, bits=bits, needed=("libc.so.6",), align=0x10000))
        for member in ("demo/libextra.so", "demo/extra.so"):
            yield good.with_members({member: data}).sabotage(
                f"machine {machine}: {member}", "foreign-architecture", member
            )
