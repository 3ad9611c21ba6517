"""Faults of what a wheel says of itself: RECORD, WHEEL, METADATA, file name, and the folders of both."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import zips
from sabotage import Draft, Named, Sabotage, retagged

Rows = list[list[str]]


def faults(good: Draft) -> Iterator[Sabotage]:
    """Put every fault of dist-info into the wheel."""
    for member in (good.objects[0], good.plain[0], f"{good.info}/METADATA", f"{good.info}/WHEEL"):
        yield from _rows(good, member)
    yield from _edited(good)
    yield from _record(good)
    yield from _tags(good)
    yield from _names(good)
    yield from _folders(good)
    yield from _refused(good)


def _rows(good: Draft, member: str) -> Iterator[Sabotage]:
    data = good.members[member]
    rows = list(csv.reader(io.StringIO(good.record.decode())))
    at = next(number for number, row in enumerate(rows) if row[0] == member)
    right = rows[at]
    sha = right[1]
    turned = sha[:-1] + ("A" if sha[-1] != "A" else "E")

    def with_row(*cells: Sequence[str]) -> bytes:
        return _written([*rows[:at], *map(list, cells), *rows[at + 1 :]])

    for title, record in {
        "no row": with_row(),
        "a wrong hash": with_row([member, _hash("sha256", b"other"), right[2]]),
        "a hash that differs in its last letters": with_row([member, turned, right[2]]),
        "a wrong size": with_row([member, sha, str(len(data) + 1)]),
        "no hash": with_row([member, "", right[2]]),
        "no hash and no size": with_row([member, "", ""]),
        "a row without its size's cell": with_row([member, sha]),
        "a row with a fourth cell": with_row([*right, ""]),
        "md5": with_row([member, _hash("md5", data), right[2]]),
        "sha1": with_row([member, _hash("sha1", data), right[2]]),
        "sha224": with_row([member, _hash("sha224", data), right[2]]),
        "an unknown hash": with_row([member, "sha999=AAAA", right[2]]),
        "hexadecimal in place of base64": with_row([member, f"sha256={hashlib.sha256(data).hexdigest()}", right[2]]),
        "sha256 in the name of sha512": with_row([member, sha.replace("sha256", "sha512"), right[2]]),
        "a size that is no number": with_row([member, sha, "many"]),
        "a negative size": with_row([member, sha, "-1"]),
        "two rows alike": with_row(right, right),
        "two rows, the second wrong": with_row(right, [member, _hash("sha256", b"other"), right[2]]),
        "two rows, the first wrong": with_row([member, _hash("sha256", b"other"), right[2]], right),
    }.items():
        yield good.sabotage(f"{title}: {member}", "record-mismatch", member, data=good.bytes(record))


def _hash(algorithm: str, data: bytes) -> str:
    digest = hashlib.new(algorithm, data, usedforsecurity=False).digest()
    return f"{algorithm}={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


def _written(rows: Rows) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def _edited(good: Draft) -> Iterator[Sabotage]:
    """Edit members after RECORD was written."""
    for member in (good.plain[-1], f"{good.info}/WHEEL", f"{good.info}/METADATA", good.objects[-1]):
        edited = good.with_members({member: good.members[member] + b"\n"})
        data = edited.bytes(good.record)
        yield good.sabotage(f"edited afterwards: {member}", "record-mismatch", member, data=data)
    added = good.with_members({"demo/late.py": b"late = True\n"})
    yield good.sabotage("added afterwards", "record-mismatch", "demo/late.py", data=added.bytes(good.record))
    gone = good.with_members({good.plain[0]: None})
    yield good.sabotage("taken out afterwards", "record-mismatch", good.plain[0], data=gone.bytes(good.record))
    case = good.plain[0].upper()
    renamed = good.with_members({case: good.members[good.plain[0]], good.plain[0]: None})
    also: set[Named] = {("record-mismatch", good.plain[0])}
    yield good.sabotage("renamed afterwards", "record-mismatch", case, data=renamed.bytes(good.record), also=also)


def _record(good: Draft) -> Iterator[Sabotage]:
    name = good.record_name
    yield good.sabotage("no RECORD", "dist-info", name, data=zips.archive(*good.parts()[:-1]))
    yield good.sabotage(
        "RECORD is not UTF-8", "dist-info", name, data=good.bytes(b"demo/caf\xe9,sha256=AAAA,1\n" + good.record)
    )
    everyone: set[Named] = {("record-mismatch", member) for member in good.members}
    for title, record in {"an empty RECORD": b"", "a RECORD of its own row alone": f"{name},,\n".encode()}.items():
        member = good.objects[0]
        yield good.sabotage(title, "record-mismatch", member, data=good.bytes(record), also=everyone)
    half = good.record[: good.record.index(b"\n", len(good.record) // 2) + 1]
    lost = next(member for member in good.members if f"{member},".encode() not in half)
    yield good.sabotage("half of RECORD", "record-mismatch", lost, data=good.bytes(half), also=everyone)
    ghost = good.record + f"demo/ghost.py,{_hash('sha256', b'')},0\n".encode()
    for title, record in {"an empty row": b"\n" + good.record, "an empty row at the end": good.record + b"\n"}.items():
        yield good.sabotage(title, "record-mismatch", name, data=good.bytes(record))
    yield good.sabotage("a row for what is absent", "record-mismatch", "demo/ghost.py", data=good.bytes(ghost))


def _tags(good: Draft) -> Iterator[Sabotage]:
    member = f"{good.info}/WHEEL"
    lines = good.members[member].decode().splitlines(keepends=True)
    tags = [line for line in lines if line.startswith("Tag:")]
    rest = [line for line in lines if not line.startswith("Tag:") and line.strip()]
    first = tags[0].removeprefix("Tag:").strip()
    python, abi, platform = first.split("-")

    def with_tags(*found: str) -> bytes:
        return "".join([*rest, *(f"Tag: {tag}\n" for tag in found)]).encode()

    own = [tag.removeprefix("Tag:").strip() for tag in tags]
    for title, text in {
        "no Tag line": with_tags(),
        "an empty Tag line": with_tags(""),
        "an empty Tag line beside the right ones": with_tags(*own, ""),
        "half a tag": with_tags(f"{python}-{abi}"),
        "half a tag beside the right ones": with_tags(*own, python),
        "a tag of four parts": with_tags(*own, f"{first}-x"),
        "another platform": with_tags(f"{python}-{abi}-linux_{platform.partition('_')[2][-6:]}"),
        "any": with_tags(f"{python}-{abi}-any"),
        "another Python": with_tags(*(tag.replace(python, "cp39", 1) for tag in own)),
        "another ABI": with_tags(*(f"{tag.split('-')[0]}-cp37m-{tag.split('-')[2]}" for tag in own)),
        "one tag more": with_tags(*own, f"{python}-{abi}-manylinux_2_39_x86_64"),
        "a lower tag more": with_tags(*own, f"{python}-{abi}-manylinux1_x86_64"),
        "spaces in a tag": with_tags(*own[1:], f"{python}-{abi}- {platform}"),
    }.items():
        bad = good.with_members({member: text})
        yield bad.sabotage(f"WHEEL: {title}", "tag-mismatch", member)
    head, _, set_of = good.filename.removesuffix(".whl").rpartition("-")
    yield good.sabotage(
        "a tag added to the file name alone", "tag-mismatch", member, filename=f"{head}-{set_of}.linux_x86_64.whl",
        also={("foreign-architecture", name) for name in good.objects},
    )  # fmt: skip
    if len(tags) > 1:
        bad = good.with_members({member: with_tags(*own[1:])})
        yield bad.sabotage("WHEEL: one tag less", "tag-mismatch", member)


def _names(good: Draft) -> Iterator[Sabotage]:
    member = f"{good.info}/METADATA"
    text = good.members[member].decode()
    name = next(line for line in text.splitlines() if line.startswith("Name:"))
    version = next(line for line in text.splitlines() if line.startswith("Version:"))
    for title, changed in {
        "another Name": text.replace(name, "Name: other", 1),
        "no Name": text.replace(f"{name}\n", "", 1).replace(f"{name}\r\n", "", 1),
        "another Version": text.replace(version, f"{version}.post7", 1),
        "no Version": text.replace(f"{version}\n", "", 1).replace(f"{version}\r\n", "", 1),
        "what is no header before both": f"No header: x\n{text}",
        "a Version that is none": text.replace(version, "Version: unknown", 1),
    }.items():
        bad = good.with_members({member: changed.encode()})
        yield bad.sabotage(f"METADATA: {title}", "name-mismatch", member)
    distribution, number, rest = good.filename.split("-", 2)
    folders = {name.split("/")[0] for name in good.members if "-" in name.split("/")[0]}  # .dist-info, .data
    also: set[Named] = {("name-mismatch", member), *(("name-mismatch", folder) for folder in folders)}
    for title, filename in {
        "a file name of another version": f"{distribution}-{number}.1-{rest}",
        "a file name of another project": f"other-{number}-{rest}",
        "a local version in the file name alone": f"{distribution}-{number}+cu129-{rest}",
    }.items():
        yield good.sabotage(title, "name-mismatch", good.info, filename=filename, also=also)
    spelled = f"{distribution.upper()}-{number}-{rest}"
    yield good.sabotage("a name in capitals", "name-mismatch", None, filename=spelled, severity="warnings")
    other = f"other-{number}.data"
    bad = good.with_members({f"{other}/data/share/x.txt": b"x"})
    yield bad.sabotage("a data folder of another project", "name-mismatch", other)
    other = f"{distribution}-99.data"
    bad = good.with_members({f"{other}/data/share/x.txt": b"x"})
    yield bad.sabotage("a data folder of another version", "name-mismatch", other)


def _folders(good: Draft) -> Iterator[Sabotage]:
    info = good.info
    distribution, version = good.filename.split("-")[:2]
    for other in (f"other-{version}.dist-info", f"{distribution}-0.0.1.dist-info"):
        bad = good.with_members({f"{other}/METADATA": b"Name: other\nVersion: 1\n", f"{other}/WHEEL": b"\n"})
        also: set[Named] = {("name-mismatch", other)}
        yield bad.sabotage(f"a second folder {other}", "dist-info", other, also=also)
    for file in ("METADATA", "WHEEL"):
        parts = [part for part in good.parts() if part.name != f"{info}/{file}".encode()]
        record = good.with_members({f"{info}/{file}": None})
        parts[-1] = replace(parts[-1], data=native_record(record, good))
        yield good.sabotage(f"no {file}", "dist-info", f"{info}/{file}", data=zips.archive(*parts))
        bad = good.with_members({f"{info}/{file}": b"Caf\xe9: x\n" + good.members[f"{info}/{file}"]})
        yield bad.sabotage(f"{file} is not UTF-8", "dist-info", f"{info}/{file}")
    moved = {name.replace(info, "elsewhere"): data for name, data in good.members.items()}
    parts = [zips.Part(name=name.encode(), data=data) for name, data in moved.items()]
    yield good.sabotage("no dist-info at all", "dist-info", None, data=zips.archive(*parts))
    member = f"{info}/WHEEL"
    text = good.members[member].decode()
    line = next(line for line in text.splitlines() if line.startswith("Wheel-Version"))
    for changed in ("Wheel-Version: 2.0", "Wheel-Version:", "Wheel-Version: one", "X: y"):
        bad = good.with_members({member: text.replace(line, changed, 1).encode()})
        yield bad.sabotage(f"WHEEL says {changed}", "dist-info", member)


def native_record(changed: Draft, good: Draft) -> bytes:
    """Write the RECORD of a draft that has lost the file by which its folder is found."""
    import native

    return native.record(changed.members, good.record_name)


def _refused(good: Draft) -> Iterator[Sabotage]:
    """Give what installers refuse, in a wheel that can be read."""
    folder = f"{good.info.removesuffix('.dist-info')}.data"
    for member in (f"{folder}/bogus/demo.py", f"{folder}/demo.py"):
        yield good.with_members({member: b""}).sabotage(f"in no scheme: {member}", "dist-info", member)
    name = f"{good.plain[0]}/inside.py"
    bad = good.with_members({name: b""})
    yield bad.sabotage(f"a file as a folder: {name}", "dist-info", good.plain[0])
    points = f"{good.info}/entry_points.txt"
    for text in ("demo =", "demo = demo.cli", "demo"):
        bad = good.with_members({points: f"[console_scripts]\n{text}\n".encode()})
        yield bad.sabotage(f"a script without its function: {text}", "dist-info", points)
    for text in ("[demo.plugins]\ndemo.plugin", "[demo.plugins]\n; of old", "[demo.plugins]\n\xff=demo"):
        bad = good.with_members({points: text.encode("latin-1")})
        yield bad.sabotage(f"entry points that pip cannot read: {text!r}", "dist-info", points)
    metadata = f"{good.info}/METADATA"
    for text in ("numpy (>=1.0.*)", "numpy 1.0", "numpy; python_version", ">=1", f"numpy; {'(' * 5000}"):
        bad = good.with_members({metadata: f"Requires-Dist: {text}\n".encode() + good.members[metadata]})
        yield bad.sabotage(f"Requires-Dist: {text[:30]}", "dist-info", metadata)
    wheel = f"{good.info}/WHEEL"
    fields = good.members[wheel]
    root = fields.replace(b"Root-Is-Purelib: false", b"Root-Is-Purelib: no")
    for title, changed, severity in (
        ("Wheel-Version 1.x", re.sub(rb"Wheel-Version: .*", b"Wheel-Version: 1.x", fields), "violations"),
        ("two Wheel-Versions", b"Wheel-Version: 1.0\n" + fields, "warnings"),
        ("Root-Is-Purelib: no", root, "warnings"),
    ):
        if changed != fields:
            yield good.with_members({wheel: changed}).sabotage(title, "dist-info", wheel, severity=severity)
    for tag in ("manylinux_2_17", "manylinux_2_17_amd64", "manylinux_1_9_x86_64", "manylinux_2_99999999999_x86_64"):
        also: set[Named] = {("foreign-architecture", member) for member in good.objects}
        also |= {(rule, member) for member in good.objects for rule in ("missing-library", "symbol-version")}
        yield retagged(good, tag).sabotage(f"a tag {tag}", "tag-mismatch", None, also=also)
