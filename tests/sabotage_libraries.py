"""Faults of libraries: missing, out of reach, forbidden, and what a variant's terms ask of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from elves import Recipe, make
from judging import outside, patterns
from sabotage import Draft, Sabotage
from sabotage_goods import CORE, DEP, MODULE, Yard, symbol_of
from wainwright.auditing.terms import Pattern, Terms

DRIVERS: Final = (
    "libcuda.so.1", "libcuda.so", "libcuda.so.535.54.03", "libcudadebugger.so.1", "libnvidia-ml.so.1",
    "libnvidia-ptxjitcompiler.so.1", "libnvidia-nvvm.so.4", "libnvcuvid.so.1", "libnvoptix.so.1", "libvulkan.so.1",
    "libGL.so.1", "libGLX.so.0", "libGLdispatch.so.0", "libOpenGL.so.0", "libEGL.so.1", "libGLX_nvidia.so.0",
    "libEGL_mesa.so.0",
)  # fmt: skip
EXTRA: Final = "demo/libextra.so"


def faults(good: Draft, yard: Yard) -> Iterator[Sabotage]:
    """Put every fault of a library into the wheel, and every one that terms can find."""
    yield from _missing(good, yard)
    yield from _unreachable(good, yard)
    yield from _programs(good, yard)
    yield from _misfits(good, yard)
    yield from _forbidden(good, yard)
    yield from _patterns(good, yard)
    yield from _bundles(good)
    yield from _contents(good)


def _needs(yard: Yard, *libraries: str, path: str = "") -> bytes:
    return yard.shared("puts", libraries=libraries, flags=(f"-Wl,-rpath,{path}",) if path else ())


def _missing(good: Draft, yard: Yard) -> Iterator[Sabotage]:
    for libraries in (("libabsent.so.1",), ("libabsent.so.1", "libgone.so.2"), ("libgomp.so.1",), ("libcrypt.so.1",),
                      ("libpython3.10.so.1.0",), ("libssl.so.3", "libcrypto.so.3")):  # fmt: skip
        for member in (EXTRA, MODULE):
            wheel = good.with_members({member: _needs(yard, *libraries)})
            also = {("needs-without-library", member)}
            for library in libraries:
                yield wheel.sabotage(
                    f"{library} is absent: {member}", "missing-library", member, library=library, also=also
                )
    # what is missing needs more in turn: all of it is told at once
    given = [outside("/usr/lib64/libabsent.so.1", needed=("libc.so.6", "libdeeper.so.3"))]
    wheel = good.with_members({EXTRA: _needs(yard, "libabsent.so.1")})
    also = {("missing-library", EXTRA)}
    yield wheel.sabotage(
        "a library that an absent one needs", "missing-library", None, library="libdeeper.so.3",
        options={"libraries": given}, also=also,
    )  # fmt: skip


def _unreachable(good: Draft, yard: Yard) -> Iterator[Sabotage]:
    library = "libfar.so.1"
    inside = f"demo.libs/{library}"
    far = yard.shared("puts", soname=library, entry=symbol_of(library))
    for title, path in {
        "no search path": "", "a path of the build machine": "/build/demo.libs",
        "the wrong folder": "$ORIGIN/../other.libs",
        "a folder too deep": "$ORIGIN/demo.libs", "one .. too many": "$ORIGIN/../../demo.libs",
        "its own folder": "$ORIGIN",
        "no dollar sign": "ORIGIN/../demo.libs",
    }.items():  # fmt: skip
        for member in (EXTRA, "demo/sub/extra.cpython-310-x86_64-linux-gnu.so"):
            if title == "one .. too many" and "sub" in member:
                continue  # which is right there
            wheel = good.with_members({member: _needs(yard, library, path=path), inside: far})
            also = {("absolute-rpath", member)}
            yield wheel.sabotage(
                f"{library} is inside, {title}: {member}", "unreachable-library", member, library=library, also=also
            )
    hashed = {"demo.libs/libfar-89abcdef.so.1": far, EXTRA: _needs(yard, library, path="$ORIGIN/../demo.libs")}
    yield good.with_members(hashed).sabotage(
        "inside under another file name", "unreachable-library", EXTRA, library=library
    )
    top = yard.shared("puts", libraries=(library,), soname="libtop.so", entry=symbol_of("libtop.so"))
    asks = yard.shared("puts", libraries=("libtop.so",), flags=("-Wl,-rpath,$ORIGIN:$ORIGIN/../demo.libs",))
    wheel = good.with_members({EXTRA: asks, "demo/libtop.so": top, inside: far})
    yield wheel.sabotage(
        "RUNPATH of who loads it, which is not inherited", "unreachable-library", "demo/libtop.so", library=library
    )
    run = make(Recipe(needed=(library, "libc.so.6"), interpreter="/lib64/ld-linux-x86-64.so.2"))
    loads = _needs(yard, library, path="$ORIGIN/../demo.libs")
    wheel = good.with_members({MODULE: loads, inside: far, "demo/bin/run": run})
    yield wheel.sabotage(
        "a program needs what an extension loads", "unreachable-library", "demo/bin/run", library=library
    )
    for title, path in {"no folder": "$ORIGIN/nope/../libs", "two folders": "$ORIGIN/../demo/no/pe/../../libs"}.items():
        asks = _needs(yard, library, path=path)
        yield good.with_members({EXTRA: asks, f"demo/libs/{library}": far}).sabotage(
            f"a way that leads through {title}", "unreachable-library", EXTRA, library=library
        )
    wheel = good.with_members({DEP: None, f"elsewhere/{DEP.rpartition('/')[2]}": good.members[DEP]})
    yield wheel.sabotage("its folder was renamed", "unreachable-library", CORE)


def _programs(good: Draft, yard: Yard) -> Iterator[Sabotage]:
    """Give programs another loader, and modules a C library that no process takes from a wheel."""
    for path in ("/nix/store/0123-glibc-2.17/lib/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1", "ld-linux.so"):
        run = make(Recipe(needed=("libc.so.6",), interpreter=path))
        bad = good.with_members({"demo/bin/run": run})
        yield bad.sabotage(f"a program started by {path}", "interpreter", "demo/bin/run")
    libc = make(Recipe(soname="libc.so.6", definitions=("GLIBC_2.2.5", "GLIBC_2.34")))
    asks = yard.shared("puts", "dlopen", flags=("-Wl,-rpath,$ORIGIN",))
    bad = good.with_members({EXTRA: asks, "demo/libc.so.6": libc})
    yield bad.sabotage("a C library inside", "symbol-version", EXTRA, version="GLIBC_2.34", symbols=("dlopen",))


def _misfits(good: Draft, yard: Yard) -> Iterator[Sabotage]:
    user = _needs(yard, "libdep.so", path="$ORIGIN")
    for title, data in {
        "linker commands": b"/* GNU ld script */\nINPUT ( libdep.so.1 )\n",
        "a group of linker commands": b"GROUP ( /lib/libdep.so.1 AS_NEEDED ( -lm ) )\n",
        "an archive": b"!<arch>\n",
        "text": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
        "nothing": b"",
    }.items():
        wheel = good.with_members({EXTRA: user, "demo/libdep.so": data})
        yield wheel.sabotage(
            f"{title} where a library is needed", "missing-library", "demo/libdep.so", library="libdep.so"
        )
    wheel = good.with_members({"demo/libtwin.so": good.members[CORE]})
    yield wheel.sabotage(
        "two copies of one library", "identical-libraries", "demo/libtwin.so", severity="warnings",
    )  # fmt: skip


def _forbidden(good: Draft, yard: Yard) -> Iterator[Sabotage]:
    for soname in DRIVERS:
        data = yard.shared("puts", soname=soname)
        member = f"demo/{soname}"
        yield good.with_members({member: data}).sabotage(f"{soname} inside", "forbidden-library", member)
    for soname in ("libcuda.so.1", "libvulkan.so.1", "libnvidia-ml.so.1"):
        stem, _, rest = soname.partition(".so")
        hashed = f"demo.libs/{stem}-0123abcd.so{rest}"
        named = yard.shared("puts", soname=hashed.rpartition("/")[2])
        yield good.with_members({hashed: named}).sabotage(f"{soname}, grafted", "forbidden-library", hashed)
        member = "demo/libdriver.so"
        bad = good.with_members({member: yard.shared("puts", soname=soname)})
        yield bad.sabotage(f"{soname} under another file name", "forbidden-library", member)
        member = f"demo/{soname}"
        bad = good.with_members({member: yard.shared("puts")})
        yield bad.sabotage(f"{soname} without a soname", "forbidden-library", member)
    terms = Terms(
        forbid=(*patterns("libcudart*", "libnvrtc*", "demo.libs/libbad*"), Pattern("libgomp*", "one copy is torch's"))
    )
    for soname in (
        "libcudart.so.12",
        "libcudart-0123abcd.so.11.0",
        "libnvrtc.so.12",
        "libnvrtc-builtins.so.12.4",
        "libgomp.so.1",
    ):
        member = f"demo.libs/{soname}"
        bad = good.with_members({member: yard.shared("puts", soname=soname)})
        yield bad.sabotage(f"{soname}, which the terms forbid", "forbidden-library", member, options={"terms": terms})


def _patterns(good: Draft, yard: Yard) -> Iterator[Sabotage]:
    """Terms that miss what they mean."""
    wheel = good.with_members({EXTRA: _needs(yard, "libdep.so.1")})
    cuda = outside("/usr/local/cuda/lib64/libdep.so.1", real_path="/usr/local/cuda-12.4/lib64/libdep.so.1.2")
    missing = {("missing-library", EXTRA)}
    for text, libraries in (
        ("libdep.so", ()), ("libdep.so.2", ()), ("dep*", ()), ("libDEP.so.1", ()), ("/usr/local/cuda*", ()),
        ("libdep.so", (cuda,)), ("/opt/cuda*", (cuda,)), ("/usr/local/cuda-11*", (cuda,)), ("/usr/local/cud", (cuda,)),
        ("/lib64/libdep.so.1", (cuda,)),
    ):  # fmt: skip
        options: dict[str, Any] = {"terms": Terms(exclude=patterns(text)), "libraries": libraries}
        yield wheel.sabotage(
            f"{text} matches nothing", "unmatched-pattern", None, library=text, options=options, also=missing
        )
    terms = Terms(provided_by=((Pattern("libdep.so.1"), "apache-dep"),))
    member = f"{good.info}/METADATA"
    yield wheel.sabotage(
        "no Requires-Dist for what another wheel brings", "provided-by", member, options={"terms": terms}
    )
    about = good.members[member] + b"Requires-Dist: apache-dep-extra>=1\n"
    other = wheel.with_members({member: about})
    yield other.sabotage("a Requires-Dist of another project", "provided-by", member, options={"terms": terms})
    terms = Terms(provided_by=((Pattern("libnothing.so"), "apache-dep"),))
    other = wheel.with_members({member: good.members[member] + b"Requires-Dist: Apache_Dep>=1\n"})
    yield other.sabotage(
        "nothing needs what another wheel brings", "unmatched-pattern", None, library="libnothing.so",
        options={"terms": terms}, also=missing,
    )  # fmt: skip
    top = outside("/usr/lib/libdep.so.1", needed=("libc.so.6", "libhidden.so.1"))
    options = {"terms": Terms(exclude=patterns("libdep.so.1")), "libraries": (top,)}
    yield wheel.sabotage(
        "an excluded library hides what it needs", "hidden-needs", None, library="libdep.so.1", severity="notes",
        options=options,
    )  # fmt: skip


def _bundles(good: Draft) -> Iterator[Sabotage]:
    for text in ("libgomp.so.1", "libdep.so", "libcore.so.1", "libgomp*"):
        terms = Terms(bundle=patterns(text))
        yield good.sabotage(f"{text} is to be inside", "bundle", None, library=text, options={"terms": terms})
    for text in ("libdep.so.1", "libdep*"):
        terms = Terms(keep_name=patterns(text))
        yield good.sabotage(f"{text} is to keep its name", "keep-name", DEP, options={"terms": terms})
    library = replace(outside("/usr/lib64/libcore.so", licence="AGPL-3.0-only"), copy=Path("libcore.so"))
    terms = Terms(licences=("MIT", "GPL-3.0 WITH GCC-exception-3.1"))
    options = {"terms": terms, "libraries": (library,)}
    yield good.sabotage("a licence that is not allowed", "licence", CORE, library="libcore.so", options=options)
    options = {"terms": terms, "libraries": (replace(library, licence=None),)}
    yield good.sabotage("a licence that nobody knows", "licence", CORE, severity="warnings", options=options)


def _contents(good: Draft) -> Iterator[Sabotage]:
    for text in ("demo/_lib/core/*.so", "demo/mod.pyd", "*.txt.gz"):
        terms = Terms(require=(text,))
        yield good.sabotage(f"{text} is required", "wheel-contents", None, options={"terms": terms})
    for text, member in (("*.a", "demo/libcore.a"), ("tests/*", "tests/test_demo.py"), ("demo/*.c", "demo/sub/mod.c")):
        wheel = good.with_members({member: b"text"})
        terms = Terms(forbid_members=(text,))
        yield wheel.sabotage(f"{member} is forbidden", "wheel-contents", member, options={"terms": terms})
    largest = max(good.members, key=lambda member: len(good.members[member]))
    yield good.sabotage("over its size", "max-size", largest, options={"terms": Terms(max_size=1000)})
