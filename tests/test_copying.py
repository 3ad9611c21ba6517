from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from wainwright.running.copying import pack


@pytest.mark.parametrize("kib", range(20, 60, 4))
def test_nothing_follows_the_end_of_what_is_packed(kib: int, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"x" * (kib << 10))
    stream = io.BytesIO()
    pack({"/wainwright/job/source": source}, stream, below="/wainwright")
    stream.seek(0)
    with tarfile.open(fileobj=stream) as tar:
        *_, last = tar.getmembers()
    # POSIX, pax: two blocks of zeros end an archive; podman's `cp` fails on some streams that go on after them.
    assert len(stream.getvalue()) == last.offset_data + last.size + 2 * tarfile.BLOCKSIZE
    assert last.name == "wainwright/job/source"
