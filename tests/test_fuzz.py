"""The audit against hostile wheels: whatever the bytes are, a verdict or ArchiveError, in bounded time and memory."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elves
import zips
from sabotage import Draft, draft
from wainwright.auditing.audit import audit
from wainwright.auditing.rendering import render
from wainwright.auditing.terms import Pattern, Terms
from wainwright.auditing.verdict import Verdict, document
from wainwright.formats.archive import ArchiveError

NAME = "demo-1.0-cp311-abi3-manylinux_2_17_x86_64.whl"
INFO = "demo-1.0.dist-info"
TERMS = Terms(
    exclude_optional=(Pattern("libx*"),), bundle=(Pattern("libcore*"),), keep_name=(Pattern("libcore*"),),
    licences=("MIT",), require=("demo/*.so",), forbid_members=("*.a",), max_size=1 << 20,
)  # fmt: skip
FEW = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
MEMORY = 400 << 20  # bytes of address space beyond what Python and the modules have
TIME = 20  # seconds of processor time


def good() -> Draft:
    core = elves.Recipe(soname="libcore.so", definitions=("CORE_1",), needed=("libc.so.6",))
    module = elves.Recipe(
        needed=("libcore.so", "libc.so.6"), runpath="$ORIGIN",
        needs={"libc.so.6": ["GLIBC_2.17", "GLIBC_2.34?"], "libcore.so": ["CORE_1"]},
        symbols={"puts": (False, False, "GLIBC_2.17"), "PyModule_Create2": (False, False, None)},
        note=elves.abi_tag(3, 2, 0) + elves.gnu_property(0xC0008002, 1),
    )  # fmt: skip
    tool = elves.Recipe(interpreter="/lib64/ld-linux-x86-64.so.2", needed=("libc.so.6",))
    members = {
        "demo/mod.abi3.so": elves.make(module),
        "demo/libcore.so": elves.make(core),
        "demo-1.0.data/scripts/tool": elves.make(tool),
        "demo/__init__.py": b"from demo.mod import *\n",
    }
    return draft(NAME, members, requires=["numpy>=1"])


GOOD = good()
EDGES = st.sampled_from(
    [0, 1, 2, 7, 8, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, (1 << 63) - 1, (1 << 64) - 1]
)


@st.composite
def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    """Damage some bytes: flips, numbers at their edges, pieces cut, doubled or moved."""
    out = bytearray(data)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(0, len(out) - 1)))
        end = min(len(out), at + draw(st.integers(0, 64)))
        match draw(st.integers(0, 6)):
            case 0:
                out[at:end] = bytes(byte ^ draw(st.integers(1, 255)) for byte in out[at:end])
            case 1:
                form = draw(st.sampled_from(["<H", "<I", "<Q", ">I"]))
                size = struct.calcsize(form)
                value = draw(EDGES) & ((1 << (8 * size)) - 1)
                out[at : at + size] = struct.pack(form, value)
            case 2:
                del out[at:end]
            case 3:
                out[at:at] = out[at:end] * draw(st.integers(1, 3))
            case 4:
                out[at:at] = draw(st.binary(max_size=32))
            case 5:
                del out[at:]
            case _:
                out[at:end] = bytes(end - at)
    return bytes(out)


def survives(data: bytes, name: str = NAME) -> Verdict | None:
    """Judge; whatever comes out must be a verdict that can be shown, or an ArchiveError."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(folder, name)
        wheel.write_bytes(data)
        try:
            verdict = audit(wheel, terms=TERMS)
        except ArchiveError:
            return None
        assert audit(wheel, terms=TERMS).to_json() == verdict.to_json()
    assert render(verdict)
    assert json.dumps(document([verdict]))
    return verdict


def test_the_seed_is_sound() -> None:
    verdict = survives(GOOD.bytes())
    assert verdict is not None
    assert verdict.ok


@FEW
@given(mutated(GOOD.bytes()))
def test_a_damaged_archive(data: bytes) -> None:
    survives(data)


@FEW
@given(st.data(), st.sampled_from(sorted(GOOD.members)))
def test_a_damaged_member_in_a_sound_archive(data: st.DataObject, member: str) -> None:
    changed = data.draw(mutated(GOOD.members[member]))
    verdict = survives(GOOD.with_members({member: changed}).bytes())
    assert verdict is not None
    if member == "demo/__init__.py" and changed[:4] != b"\x7fELF":
        assert verdict.ok


@FEW
@given(mutated(GOOD.record))
def test_a_damaged_record(record: bytes) -> None:
    verdict = survives(GOOD.bytes(record))
    assert verdict is not None


@FEW
@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=60), st.text(max_size=12)), max_size=8))
def test_a_record_of_anything(rows: list[tuple[str, str, str]]) -> None:
    survives(GOOD.bytes("\n".join(",".join(row) for row in rows).encode("utf-8", "surrogatepass")))


@FEW
@given(st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=300))
def test_dist_info_of_anything(wheel: bytes, metadata: bytes, record: bytes) -> None:
    survives(GOOD.with_members({f"{INFO}/WHEEL": wheel, f"{INFO}/METADATA": metadata}).bytes(record))


@FEW
@given(st.lists(st.tuples(st.binary(max_size=40), st.binary(max_size=80), st.integers(0, (1 << 32) - 1)), max_size=6))
def test_members_of_any_name_and_mode(members: list[tuple[bytes, bytes, int]]) -> None:
    parts = [zips.Part(name=name, data=data, external=external) for name, data, external in members]
    survives(zips.archive(*GOOD.parts(), *parts))


@FEW
@given(st.sampled_from((32, 64)), st.booleans(), st.integers(0, 300), st.integers(0, 5), st.data())
def test_files_of_any_class_and_machine(bits: int, little: bool, machine: int, kind: int, data: st.DataObject) -> None:
    recipe = elves.Recipe(
        bits=bits, little=little, machine=machine, kind=kind, needed=("libc.so.6",), needs={"libc.so.6": ["GLIBC_2.9"]},
        symbols={"f": (False, False, "GLIBC_2.9")}, rpath="$ORIGIN:/x",
    )  # fmt: skip
    survives(GOOD.with_members({"demo/odd.so": data.draw(mutated(elves.make(recipe)))}).bytes())


def bombs() -> Iterator[tuple[str, bytes]]:
    """Give small wheels that would become large, or take long, in each way that a reader could be led to."""
    parts = GOOD.parts()
    zeroes = zips.deflated(bytes(64 << 20))

    def of_size(name: str, size: int, stream: bytes = zeroes) -> zips.Part:
        return zips.Part(name=name.encode(), stream=stream, local={"size": size}, central={"size": size})

    yield "a member that declares 4 GB", zips.archive(*parts, of_size("demo/x.bin", 4_000_000_000))
    yield "a member that says nothing of its 64 MB", zips.archive(*parts, of_size("demo/x.bin", 10))
    yield "2.4 GB in 40 members", zips.archive(*parts, *(of_size(f"demo/{n}.bin", 60 << 20) for n in range(40)))
    kernel = zips.Part(name=b"demo/kernel", data=bytes(16 << 20))
    shared = [
        zips.Part(name=f"demo/{n}".encode(), stream=b"", central={"offset": 0, "size": 16 << 20, "compressed": 16000})
        for n in range(500)
    ]
    yield "500 members that share their bytes", zips.archive(kernel, *shared, *parts)
    for file, text in {
        "RECORD": b"a,,\n", "WHEEL": b"Tag: a-b-c\n", "METADATA": b"a:\n", "METADATA ": b" \n", "RECORD ": b",",
        "RECORD  ": b'"', "WHEEL ": b"Tag: " + b"a." * 30 + b"a-" + b"b." * 30 + b"b-any\n",
    }.items():  # fmt: skip
        member = f"{INFO}/{file.strip()}"
        for size in (60 << 20, 60_000):
            data = GOOD.members.get(member, b"") + text * (size // len(text))
            files = [part if part.name != member.encode() else zips.Part(name=part.name, data=data) for part in parts]
            yield f"{size} bytes of {text[:20]!r} in {file}", zips.archive(*files)
    tags = b"Tag: " + b"-".join(b".".join([letter] * 3000) for letter in (b"a", b"b", b"c")) + b"\n"
    yield (
        "27 billion tags in one line",
        GOOD.with_members({f"{INFO}/WHEEL": GOOD.members[f"{INFO}/WHEEL"] + tags}).bytes(),
    )
    yield (
        "20,000 members",
        zips.archive(*parts, *(zips.Part(name=b"d/%d" % n, data=b"", method=0) for n in range(20_000))),
    )
    for title, data in elf_bombs():
        yield title, GOOD.with_members({"demo/bomb.so": data}).bytes()


def elf_bombs() -> Iterator[tuple[str, bytes]]:
    needed = elves.make(elves.Recipe(needed=["lib" + "x" * 4000 + ".so"] * 1000))
    yield "1000 long names", needed
    many = {f"lib{n}.so.1": [f"V_{n}_{k}" for k in range(100)] for n in range(300)}
    yield "30,000 version needs", elves.make(elves.Recipe(needed=tuple(many), needs=many))
    symbols = {f"Py{n:06d}": (False, False, None) for n in range(50_000)}
    yield "50,000 Python symbols", elves.make(elves.Recipe(needed=("libc.so.6",), symbols=symbols))
    yield (
        "a long search path",
        elves.make(elves.Recipe(needed=("libq.so",) * 50, rpath=":".join(["$ORIGIN/" + "../" * 20] * 60))),
    )
    head = elves.make(elves.Recipe(needed=("libc.so.6",)))
    yield "128 MB of zeroes behind a header", head + bytes(128 << 20)
    patched = bytearray(head)
    struct.pack_into("<H", patched, 56, 0xFFFE)
    yield "65,534 program headers", bytes(patched) + bytes(4 << 20)


def test_bombs_stay_small(tmp_path: Path) -> None:
    complaints = [f"{title}: {text}" for title, data in bombs() if (text := gone_off(title, data, tmp_path / NAME))]
    assert not complaints, "\n".join(complaints)


def gone_off(title: str, data: bytes, wheel: Path) -> str:
    """Judge a bomb in a process of its own; say what went wrong, the empty text when nothing did."""
    wheel.write_bytes(data)
    largest = 128 << 20 if "128 MB" in title else 0  # an ELF file is held whole, once
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from wainwright.formats.archive import ArchiveError\n"
        "from wainwright.auditing.audit import audit\n"
        "import wainwright.auditing.rules, packaging.utils, abi3info, csv, hashlib\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10\n"
        f"before = peak()\nresource.setrlimit(resource.RLIMIT_CPU, ({TIME}, {TIME}))\n"
        "try:\n    verdict = audit(Path(sys.argv[1]))\n    print(len(verdict.violations))\n"
        "except ArchiveError as error:\n    print(error)\n"
        f"grown = peak() - before\nassert grown < {MEMORY + 2 * largest}, grown\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(wheel)], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"exit {done.returncode} {done.stdout[-200:]} {done.stderr[-1000:]}"
