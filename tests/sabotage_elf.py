"""Faults of single ELF files, put into a wheel's own members by patching bytes: headers, segments, dynamic tables."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from elves import Recipe, make
from sabotage import Draft, Named, Sabotage, retagged

PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_GNU_STACK = 1, 2, 3, 4, 0x6474E551
DT_NULL, DT_NEEDED, DT_STRTAB, DT_VERNEED, DT_RELR, DT_DEBUG = 0, 1, 5, 0x6FFFFFFE, 36, 21
MACHINES = {"x86_64": 62, "aarch64": 183, "s390x": 22, "ppc64le": 21, "riscv64": 243}
SEGMENT = struct.Struct("<IIQQQQQQ")  # type flags offset vaddr paddr filesz memsz align


class Patch:
    """A 64-bit little-endian ELF file, open for damage."""

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)
        assert data[:6] == b"\x7fELF\2\1", "the patches are for 64-bit little-endian files"
        (self.at,) = struct.unpack_from("<Q", data, 32)
        (self.count,) = struct.unpack_from("<H", data, 56)

    def segments(self) -> Iterator[tuple[int, list[int]]]:
        for number in range(self.count):
            at = self.at + number * SEGMENT.size
            yield at, list(SEGMENT.unpack_from(self.data, at))

    def segment(self, kind: int, nth: int = 0) -> tuple[int, list[int]]:
        return [found for found in self.segments() if found[1][0] == kind][nth]

    def set_segment(self, kind: int, field: int, value: int, nth: int = 0) -> bytes:
        at, values = self.segment(kind, nth)
        values[field] = value
        SEGMENT.pack_into(self.data, at, *values)
        return bytes(self.data)

    def has(self, kind: int) -> bool:
        return any(values[0] == kind for _, values in self.segments())

    def half(self, at: int, value: int) -> bytes:
        struct.pack_into("<H", self.data, at, value)
        return bytes(self.data)

    def dynamic(self, tag: int, value: int, new_tag: int | None = None) -> bytes:
        """Change the first entry of a tag."""
        _, values = self.segment(PT_DYNAMIC)
        for at in range(values[2], values[2] + values[5], 16):
            found, _ = struct.unpack_from("<QQ", self.data, at)
            if found == tag:
                struct.pack_into("<QQ", self.data, at, tag if new_tag is None else new_tag, value)
                return bytes(self.data)
        raise AssertionError(f"no dynamic entry has the tag {tag:#x}")

    def text(self, old: str, new: str) -> bytes:
        """Change a name of the same length."""
        assert len(old) == len(new)
        found = bytes(self.data).replace(old.encode() + b"\0", new.encode() + b"\0")
        assert found != bytes(self.data), f"{old} is not in the file"
        return found


def faults(good: Draft) -> Iterator[Sabotage]:
    """Put every fault of a single file into each of a few members."""
    for member in dict.fromkeys((good.objects[0], good.objects[-1])):
        yield from _stack(good, member)
        yield from _foreign(good, member)
        yield from _segments(good, member)
        yield from _broken(good, member)
        yield from _place(good, member)
        yield from _refused(good, member)
    for name in ("demo/more.cpython-311-x86_64-linux-gnu.so", "demo/more.abi3.so"):
        for title, data in (("nothing", b""), ("text", b"see above\n")):
            yield good.with_members({name: data}).sabotage(f"{title} in {name}", "broken-elf", name)


def _patched(good: Draft, member: str, data: bytes) -> Draft:
    return good.with_members({member: data})


def _stack(good: Draft, member: str) -> Iterator[Sabotage]:
    patch = Patch(good.members[member])
    if not patch.has(PT_GNU_STACK):
        return
    bad = _patched(good, member, patch.set_segment(PT_GNU_STACK, 1, 7))
    yield bad.sabotage(f"an executable stack: {member}", "executable-stack", member)
    if arch_of(good) == "x86_64":
        bad = _patched(good, member, Patch(good.members[member]).set_segment(PT_GNU_STACK, 0, 0))
        yield bad.sabotage(f"no word on the stack: {member}", "unmarked-stack", member, severity="warnings")


def arch_of(good: Draft) -> str:
    machine = struct.unpack_from("<H", good.members[good.objects[0]], 18)[0]
    return next(arch for arch, number in MACHINES.items() if number == machine)


def _foreign(good: Draft, member: str) -> Iterator[Sabotage]:
    for arch, machine in MACHINES.items():
        if arch not in {arch_of(good), "s390x"}:  # which is big-endian
            bad = _patched(good, member, Patch(good.members[member]).half(18, machine))
            base = member.rpartition("/")[2]
            # whoever needs the foreign library has lost it
            also: set[Named] = {
                (rule, other)
                for other in good.objects
                if other != member and base.encode() in good.members[other]
                for rule in ("missing-library", "unreachable-library", "needs-without-library", "symbol-version")
            }
            also |= {("missing-library", member), ("page-size", member)}
            also |= _lost(good, member)
            yield bad.sabotage(f"code for {arch}: {member}", "foreign-architecture", member, also=also)


def _lost(good: Draft, member: str) -> set[Named]:
    """Give what others may complain of once this member is none that they can load."""
    return {
        (rule, other)
        for other in (*good.objects, None)
        if other != member
        for rule in ("missing-library", "unreachable-library")
        if member.rpartition("/")[2].encode() in b"".join(good.members[name] for name in good.objects if name != member)
    }


def _segments(good: Draft, member: str) -> Iterator[Sabotage]:
    data = good.members[member]
    loads = [values for _, values in Patch(data).segments() if values[0] == PT_LOAD]
    code = next(nth for nth, values in enumerate(loads) if values[1] & 1)
    changes = [
        ("an alignment that was never kept", 7, 1 << 40, len(loads) - 1),
        ("an alignment that is no power of two", 7, 0x1800, len(loads) - 1),
    ]
    if code:  # nothing that the reader needs is in a segment of code alone
        changes += [
            ("an address off by 8", 3, loads[code][3] + 8, code),
            ("an offset off by 16", 2, loads[code][2] + 16, code),
        ]
    for title, field, value, nth in changes:
        bad = _patched(good, member, Patch(data).set_segment(PT_LOAD, field, value, nth))
        yield bad.sabotage(f"{title}: {member}", "segment-alignment", member, also={("page-size", member)})
    if arch_of(good) in {"aarch64", "ppc64le"}:
        patch = Patch(data)
        for nth in range(len(loads)):
            patch.set_segment(PT_LOAD, 7, 0x1000, nth)
        bad = _patched(good, member, bytes(patch.data))
        yield bad.sabotage(f"pages of 4 KiB: {member}", "page-size", member, severity="warnings")


def _broken(good: Draft, member: str) -> Iterator[Sabotage]:
    data = good.members[member]
    changes: dict[str, Callable[[], bytes]] = {
        "cut to half": lambda: data[: len(data) // 2],
        "cut by one byte": lambda: data[:-1],
        "cut inside its header": lambda: data[:40],
        "its first four bytes alone": lambda: data[:4],
        "program headers of another size": lambda: Patch(data).half(54, 57),
        "more program headers than fit": lambda: Patch(data).half(56, 60000),
        "a class that is none": lambda: data[:4] + b"\3" + data[5:],
        "a byte order that is none": lambda: data[:5] + b"\0" + data[6:],
        "a segment beyond the end": lambda: Patch(data).set_segment(PT_LOAD, 5, len(data) * 2),
        "a dynamic section that no segment loads": lambda: Patch(data).set_segment(PT_DYNAMIC, 3, 1 << 40),
        "a string table that no segment loads": lambda: Patch(data).dynamic(DT_STRTAB, 1 << 40),
        "a name outside the string table": lambda: Patch(data).dynamic(DT_NEEDED, 1 << 30),
    }
    for title, change in changes.items():
        try:
            damaged = change()
        except AssertionError:
            continue  # the file has no such entry
        bad = _patched(good, member, damaged)
        also = {*_lost(good, member), ("segment-alignment", member), ("missing-library", member)}
        yield bad.sabotage(f"{title}: {member}", "broken-elf", member, also=also)


def _place(good: Draft, member: str) -> Iterator[Sabotage]:
    data = good.members[member]
    folder = good.info.replace(".dist-info", ".data")
    name = f"{folder}/purelib/demo/{member.rpartition('/')[2]}"
    yield good.with_members({name: data}).sabotage(
        f"in purelib: {name}", "purelib-elf", name,
        also={("duplicate-member", name), ("identical-libraries", name), ("identical-libraries", member),
              ("missing-library", name), ("unreachable-library", name)},
    )  # fmt: skip
    if good.filename.split("-")[-2] != "none" and member == good.objects[0]:
        wheel = f"{good.info}/WHEEL"
        text = good.members[wheel].replace(b"Root-Is-Purelib: false", b"Root-Is-Purelib: true")
        also = {("purelib-elf", other) for other in good.objects}
        yield good.with_members({wheel: text}).sabotage("Root-Is-Purelib: true", "purelib-elf", member, also=also)
    if member == good.objects[0]:
        yield from _tags(good, member)


def _tags(good: Draft, member: str) -> Iterator[Sabotage]:
    """Claim more than the members' own platform."""
    own = good.filename.removesuffix(".whl").rpartition("-")[2]
    everyone = set(good.objects)
    also: set[Named] = {("purelib-elf", other) for other in everyone}
    for tags in ("any", f"{own}.any"):
        yield retagged(good, tags).sabotage(f"tags {tags}", "purelib-elf", member, also=also)
    other = "aarch64" if arch_of(good) == "x86_64" else "x86_64"
    tags = f"{own}.{own.partition('.')[0].replace(arch_of(good), other)}"
    also = {("foreign-architecture", name) for name in everyone}
    yield retagged(good, tags).sabotage(f"tags {tags}", "foreign-architecture", member, also=also)
    static = make(Recipe(kind=2, dynamic=False, machine=MACHINES[other]))
    for name in ("demo/bin/static", f"{good.info.removesuffix('.dist-info')}.data/scripts/static"):
        bad = good.with_members({name: static})
        yield bad.sabotage(f"a static program for {other}: {name}", "foreign-architecture", name)


def _refused(good: Draft, member: str) -> Iterator[Sabotage]:
    """Make of a module what the loader opens and refuses."""
    if "cpython" not in member and ".abi3" not in member:
        return
    data = good.members[member]
    changes = {"no type": (16, 0), "the type of a core dump": (16, 4)}
    if "musllinux" not in good.filename:  # musl does not look
        changes |= {"FreeBSD's": (7, 9), "an ABI of the future": (8, 200), "a version of the future": (20, 2)}
    for title, (at, value) in changes.items():
        bad = _patched(good, member, data[:at] + bytes([value]) + data[at + 1 :])
        yield bad.sabotage(f"{title}: {member}", "broken-elf", member, also=_lost(good, member))
