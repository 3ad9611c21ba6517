"""Faults of the zip archive: what local headers, the directory, and the stream say, and how members are named."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace

import zips
from sabotage import UNREADABLE, Draft, Sabotage

LINK, PIPE, DEVICE, SOCKET = 0o120777 << 16, 0o010644 << 16, 0o020644 << 16, 0o140644 << 16


def faults(good: Draft) -> Iterator[Sabotage]:
    """Put every fault of an archive into the wheel, in native and in plain members."""
    for member in (good.objects[0], good.plain[0], f"{good.info}/METADATA"):
        yield from _disagreements(good, member)
        yield from _streams(good, member)
    for member in (good.objects[-1], good.plain[-1]):
        yield from _kinds(good, member)
        yield from _twice(good, member)
    yield from _names(good)
    yield from _frame(good)
    yield from _unreadable(good)
    yield from _bombs(good)


def _changed(good: Draft, member: str, change: Callable[[zips.Part], zips.Part]) -> bytes:
    return zips.archive(*(change(part) if part.name == member.encode() else part for part in good.parts()))


def _disagreements(good: Draft, member: str) -> Iterator[Sabotage]:
    data = good.members[member]
    packed = zips.deflated(data)
    path = struct.pack("<BI", 1, zlib.crc32(member.encode())) + b"demo/other"
    unicode_path = struct.pack("<HH", 0x7075, len(path)) + path
    changes: dict[str, Callable[[zips.Part], zips.Part]] = {
        "another name in the local header": lambda p: replace(p, local_name=p.name[:-1] + b"x"),
        "a longer name in the local header": lambda p: replace(p, local_name=p.name + b"x"),
        "another size in the local header": lambda p: replace(p, local={"size": len(data) + 1}),
        "another compressed size in the local header": lambda p: replace(p, local={"compressed": len(packed) - 1}),
        "another CRC in the local header": lambda p: replace(p, local={"crc": zlib.crc32(data) ^ 1}),
        "stored, says the local header": lambda p: replace(p, local={"method": 0}),
        "encrypted, says the local header": lambda p: replace(p, local={"flags": 1}),
        "a Unicode path of another file": lambda p: replace(p, extra=unicode_path, local_extra=unicode_path),
        "a data descriptor with another CRC": lambda p: replace(
            p, flags=8, local={"crc": 0, "compressed": 0, "size": 0},
            descriptor=struct.pack("<4s3I", b"PK\7\x08", zlib.crc32(data) ^ 1, len(packed), len(data)),
        ),
    }  # fmt: skip
    for title, change in changes.items():
        changed = _changed(good, member, change)
        # whose descriptor is wrong, its bytes belong to nobody
        also = {("archive-mismatch", None)} if "descriptor" in title else set()
        yield good.sabotage(f"{title}: {member}", "archive-mismatch", member, data=changed, also=also)


def _streams(good: Draft, member: str) -> Iterator[Sabotage]:
    data = good.members[member]
    packed = zips.deflated(data)
    flipped = bytearray(packed)
    flipped[len(packed) // 2] ^= 0x55
    wrong = zlib.crc32(data) ^ 0xFFFF
    size, length = len(data), len(packed)
    changes: dict[str, Callable[[zips.Part], zips.Part]] = {
        "a CRC that both headers have wrong": lambda p: replace(p, local={"crc": wrong}, central={"crc": wrong}),
        "a damaged stream": lambda p: replace(p, stream=bytes(flipped)),
        "a stream that is cut short": lambda p: replace(p, stream=packed[: length // 2]),
        "a stream with bytes behind its end": lambda p: replace(p, stream=packed + b"more"),
        "more bytes than it declares": lambda p: replace(p, local={"size": size - 1}, central={"size": size - 1}),
        "fewer bytes than it declares": lambda p: replace(p, local={"size": size + 1}, central={"size": size + 1}),
        "encryption": lambda p: replace(p, flags=1),
        "patched data": lambda p: replace(p, flags=0x20),
        "a version of zip to come": lambda p: replace(p, central={"needed": 64}),
        "an extra field that is cut short": lambda p: replace(p, extra=b"UT\5\0\1abc"),
        "a Unicode path without a name": lambda p: replace(p, extra=b"up\4\0\1abc"),
        "bzip2": lambda p: replace(p, method=12, stream=packed),
        "zstd": lambda p: replace(p, method=93, stream=packed),
    }
    fault = "dist-info" if ".dist-info/" in member else ""
    for title, change in changes.items():
        also = {(fault, member)} if fault else set()
        yield good.sabotage(
            f"{title}: {member}", "broken-member", member, data=_changed(good, member, change), also=also
        )


def _kinds(good: Draft, member: str) -> Iterator[Sabotage]:
    for title, external in (("link", LINK), ("pipe", PIPE), ("device", DEVICE), ("socket", SOCKET)):
        changed = _changed(good, member, lambda p, external=external: replace(p, external=external))  # type: ignore[misc]
        yield good.sabotage(f"a {title} at {member}", "symlink-member", member, data=changed)


def _twice(good: Draft, member: str) -> Iterator[Sabotage]:
    parts = good.parts()
    one = next(part for part in parts if part.name == member.encode())
    title = f"two members {member}"
    alike = {("identical-libraries", member)}
    yield good.sabotage(f"{title}, alike", "duplicate-member", member, data=zips.archive(*parts, one), also=alike)
    other = replace(one, data=one.data + b"\n")
    yield good.sabotage(f"{title}, the second another", "duplicate-member", member, data=zips.archive(*parts, other))
    yield good.sabotage(f"{title}, the first another", "duplicate-member", member, data=zips.archive(other, *parts))
    for name in (f"./{member}", member.replace("/", "//", 1), member.replace("/", "/./", 1)):
        twin = replace(one, name=name.encode())
        also = {("record-mismatch", name), ("identical-libraries", name)}
        yield good.sabotage(
            f"{name} beside {member}", "duplicate-member", name, data=zips.archive(*parts, twin), also=also
        )


def _names(good: Draft) -> Iterator[Sabotage]:
    for name in (
        "/etc/demo.conf", "../demo.conf", "demo/../../demo.conf", "demo\\demo.conf", "C:/demo.conf", "demo/x\0y.py",
        "c:demo",
    ):  # fmt: skip
        bad = good.with_members({name: b"text"})
        yield bad.sabotage(f"a member {name!r}", "unsafe-name", name)
    name = "demo/caf\udce9.txt"
    part = zips.Part(name=b"demo/caf\xe9.txt", data=b"text", flags=0x800)
    data = zips.archive(part, *good.parts())
    also = {("record-mismatch", name)}
    yield good.sabotage("a name that is not the UTF-8 it says", "unsafe-name", name, data=data, also=also)


def _frame(good: Draft) -> Iterator[Sabotage]:
    data, parts = good.bytes(), good.parts()
    between = [replace(parts[0]), replace(parts[1], before=b"hidden bytes"), *parts[2:]]
    yield good.sabotage("bytes between members", "archive-mismatch", None, data=zips.archive(*between))
    yield good.sabotage("bytes before the archive", "archive-mismatch", None, data=b"#!/bin/sh\nexit\n" + data)
    yield good.sabotage("bytes behind the archive", "archive-mismatch", None, data=data + b"trailing")
    yield good.sabotage(
        "a wrong count of members", "archive-mismatch", None, data=zips.archive(*parts, count=len(parts) + 1)
    )
    inner = zips.archive(zips.Part(name=parts[1].name, data=b"other", method=0))
    start = inner.index(b"PK\3\4")
    carrier = zips.Part(name=b"demo/carrier.bin", data=inner, method=0)
    draft = good.with_members({"demo/carrier.bin": inner})
    overlapping = zips.Part(
        name=parts[1].name, data=b"other", method=0, local=parts[1].local, central={"offset": 30 + 16 + start}
    )
    body = [carrier, *(part for part in draft.parts() if part.name not in {carrier.name, parts[1].name}), overlapping]
    yield draft.sabotage(
        "a member inside another one's data", "archive-mismatch", "demo/carrier.bin", data=zips.archive(*body),
        also={("record-mismatch", parts[1].name.decode()), ("archive-mismatch", None)},
    )  # fmt: skip


def _unreadable(good: Draft) -> Iterator[Sabotage]:
    data = good.bytes()
    for title, broken in {
        "an empty file": b"",
        "text": b"404: Not Found",
        "HTML": b"<!DOCTYPE html><html></html>",
        "half a download": data[: len(data) // 2],
        "an archive without its last byte": data[:-1],
        "an archive without its end": data[:-22],
        "a tar archive": good.members[good.objects[0]].ljust(10240, b"\0"),
        "a directory full of zeroes": data[:-300] + bytes(278) + data[-22:],
    }.items():
        yield good.sabotage(title, UNREADABLE, data=broken)


def _bombs(good: Draft) -> Iterator[Sabotage]:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    zeroes = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    name = good.plain[0]
    declared = {"size": 4_000_000_000}
    bomb = zips.Part(name=name.encode(), stream=zeroes, local=declared, central=declared)
    data = zips.archive(*(bomb if part.name == bomb.name else part for part in good.parts()))
    yield good.sabotage("a member that declares 4 GB", "broken-member", name, data=data)
    small = {"size": 100}
    bomb = replace(bomb, local=small, central=small)
    data = zips.archive(*(bomb if part.name == bomb.name else part for part in good.parts()))
    yield good.sabotage("64 MB in a member that declares 100 bytes", "broken-member", name, data=data)
    many = [
        zips.Part(name=f"demo/{i}".encode(), stream=zeroes, local={"size": 60 << 20}, central={"size": 60 << 20})
        for i in range(40)
    ]
    yield good.sabotage("2.4 GB in 40 members", UNREADABLE, data=zips.archive(*good.parts(), *many))
