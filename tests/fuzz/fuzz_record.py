# ruff: noqa: INP001 - a program, not a module
"""A coverage-guided fuzzer of RECORD, WHEEL and METADATA as texts: `python tests/fuzz/fuzz_record.py -runs=1000000`.

Needs atheris. Nothing may be raised: what is wrong becomes a fault of its row. What was read and is written again reads
the same.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]

with atheris.instrument_imports(include=["wainwright"]):
    from wainwright.formats.record import parse_record, write_record
    from wainwright.formats.wheelfile import expand, parse_metadata, parse_wheel

SEEDS = {
    "plain": "d.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\nd-1.dist-info/RECORD,,\n",
    "quoted": '"a,b",sha512=BBBB,1\r\n"say ""x""",md5=AA,\r\n"line\nline",,\r',
    "faulty": "a\nb,\nc,=,x\nd,sha256=*,-1\ne,sha256=AA==,1,1\n",
    "wheel": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py2.py3-none-any\nTag: cp310-abi3-linux_x86_64\n",
    "metadata": "Metadata-Version: 2.4\nName: d\nVersion: 1\nRequires-Dist: x>=1\n  folded\n\nText\n",
}


def one(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    rows = parse_record(text)
    whole = [row.cells for row in rows if row.cells]
    again = [row.cells for row in parse_record(write_record(whole).decode())]
    if again != whole:
        raise AssertionError(f"{whole!r} came back as {again!r}")
    for row in rows:
        if not row.fault and (row.size or 0) < 0:
            raise AssertionError(f"a negative size without a fault: {row}")
    wheel = parse_wheel(text)
    if not wheel.expanded and len(wheel.malformed) != len(wheel.tags):
        raise AssertionError(f"a tag stands for nothing and is not malformed: {wheel.tags}")
    parse_metadata(text)
    expand(text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as corpus:
        given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
        for name, seed in SEEDS.items():
            Path(corpus, name).write_text(seed, newline="")
        atheris.Setup([*sys.argv, *([] if given else [corpus])], one)
        atheris.Fuzz()
