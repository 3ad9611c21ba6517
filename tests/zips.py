"""Zip archives made byte by byte, so that each record can lie on its own."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Part:
    """A member; `local` and `central` override fields of its two headers by name."""

    name: bytes
    data: bytes = b"content"
    method: int = 8
    flags: int = 0
    external: int = 0o100644 << 16
    stream: bytes | None = None
    local: dict[str, int] = field(default_factory=dict)
    central: dict[str, int] = field(default_factory=dict)
    local_name: bytes | None = None
    local_extra: bytes = b""
    extra: bytes = b""
    descriptor: bytes = b""
    before: bytes = b""


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def archive(*parts: Part, comment: bytes = b"", count: int | None = None) -> bytes:
    body = directory = b""
    for part in parts:
        stream = part.stream
        if stream is None:
            stream = deflated(part.data) if part.method == 8 else part.data
        common = {
            "flags": part.flags, "method": part.method, "crc": zlib.crc32(part.data), "compressed": len(stream),
            "size": len(part.data),
        }  # fmt: skip
        body += part.before
        central = {**common, "offset": len(body), **part.central}
        raw = part.name if part.local_name is None else part.local_name
        body += _local({**common, **part.local}, raw, part.local_extra) + stream + part.descriptor
        directory += _central(central, part)
    total = len(parts) if count is None else count
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, total, total, len(directory), len(body), len(comment))
    return body + directory + end + comment


def _local(values: dict[str, int], name: bytes, extra: bytes) -> bytes:
    keys = ("flags", "method")
    sizes = [values[key] for key in ("crc", "compressed", "size")]
    fixed = struct.pack("<4s5H3I2H", b"PK\3\4", 20, *(values[k] for k in keys), 0, 33, *sizes, len(name), len(extra))
    return fixed + name + extra


def _central(values: dict[str, int], part: Part) -> bytes:
    keys = ("flags", "method")
    sizes = [values[key] for key in ("crc", "compressed", "size")]
    return (
        struct.pack(
            "<4s6H3I5H2I", b"PK\1\2", 3 << 8 | 20, values.get("needed", 20), *(values[k] for k in keys), 0, 33, *sizes,
            len(part.name), len(part.extra), 0, 0, 0, part.external, values["offset"],
        )
        + part.name + part.extra
    )  # fmt: skip


class Unseekable(io.RawIOBase):
    """A file that only grows, on which zipfile writes data descriptors."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, block: object) -> int:
        before = len(self.data)
        self.data += bytes(memoryview(block))  # type: ignore[arg-type]
        return len(self.data) - before


def streamed(members: dict[str, bytes]) -> bytes:
    """Write members as to a pipe: sizes stand behind the data."""
    sink = Unseekable()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in members.items():
            target.writestr(name, data)
    return bytes(sink.data)
