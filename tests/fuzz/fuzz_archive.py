# ruff: noqa: INP001 - a program, not a module
"""A coverage-guided fuzzer of the zip, dist-info and RECORD readers: `python tests/fuzz/fuzz_archive.py -runs=1000000`.

Needs atheris. Only ArchiveError and MemberError may come out, a MemberError only with its own member's name, and no
member may give more bytes than it declares. Without a folder of seeds it begins with hand-made archives.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]

sys.path.insert(0, str(Path(__file__).parent.parent))

with atheris.instrument_imports(include=["wainwright"]):
    from wainwright.formats.archive import Archive, ArchiveError, Limits, MemberError
    from wainwright.formats.record import parse_record, write_record
    from wainwright.formats.wheelfile import locate, read_dist_info
    from wainwright.formats.wheelname import parse_wheel_name

import zips

NAME = parse_wheel_name("d-1-py3-none-any.whl")
LIMITS = Limits(floor=1 << 20, ratio=1)
FILE = os.memfd_create("archive")  # no disk in the loop


def one(data: bytes) -> None:
    os.ftruncate(FILE, 0)
    os.pwrite(FILE, data, 0)
    try:
        archive = Archive.open(Path(f"/proc/self/fd/{FILE}"), limits=LIMITS)
    except ArchiveError:
        return
    with archive:
        for entry in archive.entries:
            try:
                member = archive.digest(entry, keep=lambda _: True)
            except MemberError as error:
                if error.member != entry.name:
                    raise AssertionError(f"{entry.name} is broken, {error.member} was named") from error
            else:
                if len(member.data or b"") != entry.size:
                    raise AssertionError(f"{entry.name} is not of its size")
            locate(entry.name, root_is_purelib=False)
        info = read_dist_info(archive, NAME)
        write_record([row.cells for row in info.record or ()])
    parse_record(data.decode("utf-8", "replace"))


def seeds(folder: Path) -> None:
    """Write the archives to begin with."""
    texts = {
        "d-1.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py2.py3-none-any\n",
        "d-1.dist-info/METADATA": b"Name: d\nVersion: 1\nRequires-Dist: x\n\nText\n",
        "d-1.dist-info/RECORD": b'd.py,sha256=AAAA,3\n"a,b",sha512=BBBB,\nd-1.dist-info/RECORD,,\n',
    }
    stored = [zips.Part(name=name.encode(), data=data, method=0) for name, data in texts.items()]
    deflated = [zips.Part(name=name.encode(), data=data) for name, data in texts.items()]
    odd = zips.Part(name=b"x", flags=0x800, extra=b"\1\0\0\0", local_extra=b"up\0\0")
    made = {
        "stored": zips.archive(*stored, comment=b"note"),
        "deflated": zips.archive(*deflated, odd),
        "streamed": zips.streamed(texts),
        "empty": zips.archive(),
    }
    for name, data in made.items():
        Path(folder, name).write_bytes(data)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as corpus:
        given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
        if not given:
            seeds(Path(corpus))
        atheris.Setup([*sys.argv, *([] if given else [corpus])], one)
        atheris.Fuzz()
