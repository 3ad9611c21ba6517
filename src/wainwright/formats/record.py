"""RECORD: one row for each member with its hash and size, read and written without losing what a row says."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Iterable, Sequence

from wainwright.light import Final, NamedTuple

# The binary distribution format: "The hash algorithm must be sha256 or better; specifically, md5, sha1 and sha224 are
# not permitted".
STRONG: Final = frozenset({"sha256", "sha384", "sha512", "sha3_256", "sha3_384", "sha3_512", "blake2b", "blake2s"})

BOM: Final = "\ufeff"
CSV_LIMIT: Final = 1 << 17  # letters of a cell, beyond which csv gives up


class Row(NamedTuple):
    """One row; a tuple, since wheels hold thousands.

    `cells` is the row as it stands; `fault` says why it cannot be understood, and is empty otherwise. `algorithm` and
    `digest` are empty, `size` None, where the row leaves them out, as RECORD's own does.
    """

    path: str
    algorithm: str
    digest: bytes
    size: int | None
    fault: str
    cells: tuple[str, ...]

    @property
    def strong(self) -> bool:
        return self.algorithm in STRONG


def parse_record(text: str) -> tuple[Row, ...]:
    """Read the rows in their order, whatever ends a line; a row that is wrong carries a fault, none is left out."""
    cells, fault = read_cells(text)
    rows = [_row(row) for row in cells if row]
    empty = f"it has empty rows ({len(cells) - len(rows)}), which pip cannot read" if len(rows) < len(cells) else ""
    rows += [Row(path="", algorithm="", digest=b"", size=None, fault=why, cells=()) for why in (fault, empty) if why]
    return tuple(rows)


def read_cells(text: str) -> tuple[list[list[str]], str]:
    """Split RECORD into rows of cells, as many as csv can read, and say why no more; the reason is empty otherwise.

    An empty row has no cell.
    """
    plain = _plain_lines(text)
    if plain is not None:
        return [line.split(",") if line else [] for line in plain], ""
    import csv

    rows: list[list[str]] = []
    lines = csv.reader(io.StringIO(text.removeprefix(BOM), newline=""))
    try:
        rows.extend(lines)
    except csv.Error as error:
        return rows, f"RECORD cannot be read behind line {lines.line_num}: {error}"
    return rows, ""


def read_lines(text: str) -> tuple[list[str], str]:
    """Split RECORD into rows as `row_line` gives them, without empty ones; the reason is that of `read_cells`."""
    plain = _plain_lines(text)
    if plain is not None:
        return list(filter(None, plain)), ""
    rows, fault = read_cells(text)
    return [row_line(row) for row in rows if row], fault


def _plain_lines(text: str) -> list[str] | None:
    """Give the rows where commas alone part their cells, as in nearly every RECORD; None where csv has to look."""
    lines = text.removeprefix(BOM).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if '"' in text or "\0" in text or max(map(len, lines)) >= CSV_LIMIT:
        return None
    return lines if lines[-1] else lines[:-1]


def _row(cells: list[str]) -> Row:
    path, hashed, size = (*cells, "", "", "")[:3]
    faults = [] if len(cells) == 3 else [f"it has {len(cells)} cells and should have 3"]
    algorithm, equals, text = hashed.partition("=")
    digest = b""
    if hashed and not (equals and algorithm and text):
        faults.append(f"its hash {hashed!r} is not NAME=VALUE")
    elif hashed:
        try:
            digest = unpadded(text)
        except ValueError:
            faults.append(f"its hash {hashed!r} is not urlsafe base64")
    if size and not (size.isascii() and size.isdigit() and len(size) < 20):
        faults.append(f"its size {size!r} is not a number")
        size = ""
    return Row(path, algorithm.lower(), digest, int(size) if size else None, "; ".join(faults), tuple(cells))


def unpadded(text: str) -> bytes:
    """Decode urlsafe base64 without its padding, as RECORD has it; raises ValueError."""
    try:
        return base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ValueError(str(error)) from error


def hashed(data: bytes) -> tuple[str, str]:
    """Give the two cells behind a path: `sha256=…` and the size."""
    import hashlib

    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode("ascii")
    return f"sha256={digest}", str(len(data))


def write_record(rows: Iterable[Sequence[str]], *, newline: str = "\n") -> bytes:
    """Write rows of cells, quoted only where csv must."""
    rows = list(rows)
    text = newline.join([",".join(row) for row in rows]) + newline * bool(rows)
    if _is_plain(text, rows, newline):  # as nearly all are, and many times as fast
        return text.encode("utf-8", "surrogateescape")
    import csv

    lines = _Lines()
    # With this terminator csv quotes both characters of a line's end, then the wanted one takes its place.
    csv.writer(lines, lineterminator="\r\n").writerows(rows)
    return "".join([line[:-2] + newline for line in lines]).encode("utf-8", "surrogateescape")


def row_line(cells: Sequence[str]) -> str:
    """Give one row as it is written, without what ends it."""
    return write_record([cells], newline="").decode("utf-8", "surrogateescape")


def _is_plain(text: str, rows: list[Sequence[str]], newline: str) -> bool:
    """Whether no cell holds what csv would quote: all commas and line ends are those between cells and rows."""
    return (
        all(text.count(letter) == newline.count(letter) * len(rows) for letter in "\r\n")
        and text.count(",") == sum(map(len, rows)) - len(rows)
        and '"' not in text
        and all(map(any, rows))
    )


class _Lines(list[str]):
    """What csv writes, a row each."""

    def write(self, line: str, /) -> None:
        self.append(line)
