"""Wheels that look wrong and are right: whoever names one of these cries wolf."""

from __future__ import annotations

import base64
import hashlib
import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import elves
import zips
from judging import outside, patterns
from sabotage import Draft, Innocent, retagged
from sabotage_goods import MODULE, Yard, symbol_of
from wainwright.auditing.terms import Pattern, Terms
from wainwright.values import Glibc

EXTRA: Final = "demo/libextra.so"


def innocents(good: Draft, yard: Yard) -> Iterator[Innocent]:
    yield from _records(good)
    yield from _archives(good)
    yield from _tags(good, yard)
    yield from _native(good, yard)
    yield from _libraries(good, yard)
    yield from _terms(good, yard)


def _innocent(good: Draft, title: str, data: bytes | None = None, **options: Any) -> Innocent:
    return Innocent(title=title, filename=good.filename, data=good.bytes() if data is None else data, options=options)


def _records(good: Draft) -> Iterator[Innocent]:
    rows = good.record.decode().splitlines()
    joined = {
        "rows in another order": "".join(f"{row}\n" for row in reversed(rows)),
        "CRLF": "".join(f"{row}\r\n" for row in rows),
        "CR": "".join(f"{row}\r" for row in rows),
        "no line end at the end": "\n".join(rows),
        "quotes around names": "".join(f'"{row.split(",")[0]}",{row.split(",", 1)[1]}\n' for row in rows),
        "a byte order mark": "\ufeff" + good.record.decode(),
        "padded hashes": "".join(f"{_padded(row)}\n" for row in rows),
        "no sizes": "".join(f"{row.rpartition(',')[0]},\n" if ",," not in row else f"{row}\n" for row in rows),
        "RECORD's own row left out": "".join(f"{row}\n" for row in rows[:-1]),
    }  # fmt: skip
    for title, text in joined.items():
        yield _innocent(good, f"RECORD: {title}", good.bytes(text.encode()))
    for algorithm in ("sha384", "sha512", "sha3_256", "blake2b"):
        lines = []
        for member, data in good.members.items():
            digest = base64.urlsafe_b64encode(hashlib.new(algorithm, data).digest()).rstrip(b"=").decode()
            lines.append(f"{member},{algorithm}={digest},{len(data)}\n")
        yield _innocent(good, f"RECORD: {algorithm}", good.bytes("".join(lines).encode()))
    signed = [*good.parts(), *(zips.Part(name=f"{good.info}/RECORD.{kind}".encode()) for kind in ("jws", "p7s"))]
    yield _innocent(good, "signatures that RECORD does not list", zips.archive(*signed))
    odd = good.with_members({'demo/a, "b".txt': b"text", "demo/caf\u00e9.txt": b"text"})
    parts = [replace(part, flags=0x800) for part in odd.parts()]
    yield _innocent(good, "names with commas, quotes and accents", zips.archive(*parts))


def _padded(row: str) -> str:
    path, hashed, size = row.rsplit(",", 2)
    return f"{path},{hashed}=,{size}" if hashed else row


def _archives(good: Draft) -> Iterator[Innocent]:
    parts = good.parts()
    folders = [zips.Part(name=name, data=b"", method=0, external=0o40755 << 16) for name in (b"demo/", b"demo.libs/")]
    yield _innocent(good, "folders as members", zips.archive(*folders, *parts))
    yield _innocent(good, "everything stored", zips.archive(*(replace(part, method=0) for part in parts)))
    yield _innocent(good, "no Unix modes", zips.archive(*(replace(part, external=0) for part in parts)))
    yield _innocent(good, "dist-info first", zips.archive(*reversed(parts)))
    yield _innocent(good, "a comment", zips.archive(*parts, comment=b"PK\5\6 is no end"))
    streamed = zips.streamed({**good.members, good.record_name: good.record})
    yield _innocent(good, "data descriptors", streamed)
    mode = [replace(part, external=0o100777 << 16) for part in parts]
    yield _innocent(good, "everything executable", zips.archive(*mode))
    extra = struct.pack("<HHB", 0x5455, 1, 0)
    yield _innocent(
        good, "extra fields", zips.archive(*(replace(part, extra=extra, local_extra=extra * 2) for part in parts))
    )
    name = parts[0].name
    path = struct.pack("<BI", 1, zlib.crc32(name)) + name
    unicode_path = struct.pack("<HH", 0x7075, len(path)) + path
    same = replace(parts[0], extra=unicode_path, local_extra=unicode_path)
    yield _innocent(good, "a Unicode path of the same name", zips.archive(same, *parts[1:]))
    wide = [
        replace(
            part, local={"size": 0xFFFFFFFF, "compressed": 0xFFFFFFFF},
            local_extra=struct.pack("<HHQQ", 1, 16, len(part.data), len(zips.deflated(part.data))),
        )
        for part in parts
    ]  # fmt: skip
    yield _innocent(good, "ZIP64 sizes in every local header", zips.archive(*wide))


def _tags(good: Draft, yard: Yard) -> Iterator[Innocent]:
    new = good.with_members({MODULE: yard.shared("puts", "mlock2")})
    for platform in ("manylinux_2_27_x86_64", "manylinux_2_28_x86_64", "linux_x86_64", "manylinux_2_39_x86_64"):
        yield _innocent(retagged(new, platform), f"2.27 is needed, {platform} claimed")
    yield _innocent(retagged(new, "manylinux_2_17_x86_64"), "2.27 is needed, 2.27 is the claim", claim=Glibc(2, 27))
    exact = good.with_members({MODULE: yard.shared("puts", "getrandom")})
    yield _innocent(retagged(exact, "manylinux_2_25_x86_64"), "2.25 is needed, 2.25 claimed")
    future = good.with_members({MODULE: yard.shared("puts", "from_the_future")})
    yield _innocent(retagged(future, "manylinux_2_99_x86_64"), "newer than all data, and claimed")
    yield _innocent(retagged(future, "linux_x86_64"), "no claim at all")
    for lines in (b"\r\n", b"\n"):
        wheel = f"{good.info}/WHEEL"
        text = good.members[wheel].replace(b"\n", lines)
        shuffled = b"".join(reversed(text.splitlines(keepends=True)))
        yield _innocent(good.with_members({wheel: text}), f"WHEEL with {lines!r}")
        yield _innocent(good.with_members({wheel: shuffled}), f"WHEEL upside down with {lines!r}")
    head, version, rest = good.filename.split("-", 2)
    yield _innocent(replace(good, filename=f"{head}-{version}-1build-{rest}"), "a build tag")
    tags = "manylinux2014_x86_64.manylinux_2_17_x86_64"
    compressed = retagged(good, tags)
    wheel = f"{good.info}/WHEEL"
    text = b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp310-cp310-" + tags.encode() + b"\n"
    yield _innocent(compressed.with_members({wheel: text}), "one compressed Tag line")


def _native(good: Draft, yard: Yard) -> Iterator[Innocent]:
    weak = elves.Recipe(needed=("libc.so.6",), needs={"libc.so.6": ["GLIBC_2.2.5", "GLIBC_2.38?"]})
    yield _innocent(good.with_members({EXTRA: elves.make(weak)}), "a weak need above the claim")
    relr = elves.Recipe(
        tags=((36, 0x10000), (35, 8)), needed=("libc.so.6",), needs={"libc.so.6": ["GLIBC_ABI_DT_RELR"]}
    )
    packed = good.with_members({EXTRA: elves.make(relr)})
    for platform in ("manylinux_2_36_x86_64", "manylinux_2_39_x86_64", "linux_x86_64"):
        yield _innocent(retagged(packed, platform), f"packed relocations, {platform}")
    objects = {
        "demo/lib/libx.a": b"!<arch>\n", "demo/lib/x.o": elves.make(elves.Recipe(kind=1, dynamic=False, machine=183)),
        "demo/firmware.elf": elves.make(elves.Recipe(kind=1, dynamic=False, machine=243, bits=32)),
        "demo/libx.dylib": b"\xcf\xfa\xed\xfe", "demo/x.dll": b"MZ\x90\0",
        "demo/x.cubin.o": elves.make(elves.Recipe(kind=1, machine=190, dynamic=False)),
        "demo/libgfortran.so": b"/* GNU ld script */ INPUT ( libgfortran.so.3 )", "demo/x.wasm": b"\0asm\1\0\0\0",
    }  # fmt: skip
    yield _innocent(good.with_members(objects), "archives, objects, linker scripts and foreign formats")
    static = elves.make(elves.Recipe(kind=2, dynamic=False, interpreter=None))
    yield _innocent(good.with_members({"demo/bin/static": static}), "a static program")
    for note in (elves.gnu_property(0xC0008002, 1), elves.abi_tag(3, 2, 0)):
        plain = elves.make(elves.Recipe(note=note, needed=("libc.so.6",)))
        yield _innocent(good.with_members({EXTRA: plain}), "a note of the plain processor, or of an old kernel")
    level = elves.make(elves.Recipe(note=elves.gnu_property(0xC0008002, 4), needed=("libc.so.6",)))
    yield _innocent(good.with_members({EXTRA: level}), "v3, which is allowed", terms=Terms(isa="x86-64-v3"))
    python = {"demo/__init__.py": b"", "demo/tool.py": b"#!/usr/bin/env python\n"}
    yield _innocent(good.with_members({**dict.fromkeys(good.objects), **python}), "no native code at all")
    for path in ("$ORIGIN", "${ORIGIN}/../demo.libs", "$ORIGIN:$ORIGIN/../demo.libs", "$ORIGIN/../../../.."):
        built = yard.shared("puts", flags=(f"-Wl,-rpath,{path}",))
        yield _innocent(good.with_members({EXTRA: built}), f"a search path {path}")


def _libraries(good: Draft, yard: Yard) -> Iterator[Innocent]:
    newer = elves.Recipe(
        soname="libstdc++.so.6", definitions=("GLIBCXX_3.4", "GLIBCXX_3.4.19", "GLIBCXX_3.4.29", "CXXABI_1.3.7"),
        needed=("libc.so.6",),
    )  # fmt: skip
    inside = {"demo/libstdc++.so.6": elves.make(newer), EXTRA: yard.shared("_ZNSt3new", flags=("-Wl,-rpath,$ORIGIN",))}
    yield _innocent(good.with_members(inside), "a newer libstdc++ inside")
    far = yard.shared("puts", soname="libfar.so.1", entry=symbol_of("libfar.so.1"))
    user = yard.shared("puts", libraries=("libfar.so.1",))
    loader = yard.shared("puts", libraries=("libfar.so.1",), flags=("-Wl,-rpath,$ORIGIN/../demo.libs",))
    sibling = {"demo.libs/libfar.so.1": far, EXTRA: user, "demo/loader.cpython-310-x86_64-linux-gnu.so": loader}
    yield _innocent(good.with_members(sibling), "a library that a sibling has loaded")
    top = yard.shared("puts", libraries=("libfar.so.1",), soname="libtop.so", entry=symbol_of("libtop.so"))
    path = ("-Wl,-rpath,$ORIGIN:$ORIGIN/../demo.libs", "-Wl,--disable-new-dtags")
    inherited = {
        "demo.libs/libfar.so.1": far, "demo/libtop.so": top,
        EXTRA: yard.shared("puts", libraries=("libtop.so",), flags=path),
    }  # fmt: skip
    yield _innocent(good.with_members(inherited), "RPATH of who loads it, which is inherited")
    for soname in ("libOpenCL.so.1", "libcudart.so.12", "libEGL.so", "libGLESv2.so", "libGLEW.so.2.2", "libcudnn.so.9"):
        yield _innocent(good.with_members({f"demo/{soname}": yard.shared("puts", soname=soname)}), f"{soname} inside")
    stub = {"demo/stubs/libcuda.so": yard.shared("puts", soname="libcuda.so.1")}
    yield _innocent(good.with_members(stub), "a stub of the driver, to link against")
    data = "demo-1.0.data/data/lib"
    moved = {
        f"{data}/libfar.so.1": far,
        EXTRA: yard.shared("puts", libraries=("libfar.so.1",), flags=("-Wl,-rpath,$ORIGIN/../../../",)),
    }
    yield _innocent(good.with_members(moved), "a library in the data folder, found from site-packages")


def _terms(good: Draft, yard: Yard) -> Iterator[Innocent]:
    user = good.with_members({EXTRA: yard.shared("puts", libraries=("libdep.so.1",))})
    cuda = outside("/usr/local/cuda/lib64/libdep.so.1", real_path="/usr/local/cuda-12.4/lib64/libdep.so.1.2")
    for text in ("libdep.so.1", "libdep.so*", "lib*.so.[0-9]", "/usr/local/cuda*", "/usr/local/cuda",
                 "/usr/local/cuda-12.4",
                 "/usr/local/cuda/lib64", "/usr/local/cuda-*/lib64/libdep.so.*"):  # fmt: skip
        yield _innocent(user, f"{text} is excluded", terms=Terms(exclude=patterns(text)), libraries=(cuda,))
    optional = Terms(exclude_optional=patterns("libhip*.so.*"))
    yield _innocent(good, "an optional pattern that matches nothing", terms=optional)
    member = f"{good.info}/METADATA"
    about = good.members[member].replace(
        b"Version: 1.0\n", b"Version: 1.0\nRequires-Dist: Apache_TVM-ffi>=0.1; python_version > '3'\n", 1
    )
    terms = Terms(provided_by=((Pattern("libdep.so.1"), "apache-tvm-ffi"),))
    yield _innocent(user.with_members({member: about}), "another wheel provides it, and is required", terms=terms)
    for wanted in ("libdep-0123abcd.so.1", "libdep.so.1", "libdep*", "libcore.so"):
        yield _innocent(good, f"{wanted} is to be inside", terms=Terms(bundle=patterns(wanted)))
    yield _innocent(good, "libcore keeps its name", terms=Terms(keep_name=patterns("libcore.so")))
    library = replace(outside("/usr/lib/libcore.so", licence="mit"), copy=Path("libcore.so"))
    yield _innocent(good, "a licence that is allowed", terms=Terms(licences=("MIT",)), libraries=(library,))
    full = Terms(require=("demo/*.so", "demo/__init__.py"), forbid_members=("*.a", "tests/*"), max_size=10_000_000)
    yield _innocent(good, "contents as they should be", terms=full)
