from __future__ import annotations

import csv
import hashlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wainwright.formats.record import hashed, parse_record, read_cells, write_record

DIGEST = hashlib.sha256(b"x").digest()
CELLS = hashed(b"x")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_any_line_ending(newline: str, last: bool) -> None:
    text = newline.join([f"a,{CELLS[0]},1", f'"b,""c""",{CELLS[0]},1', "d.dist-info/RECORD,,"]) + newline * last
    rows = parse_record(text)
    assert [row.path for row in rows] == ["a", 'b,"c"', "d.dist-info/RECORD"]
    assert (rows[0].algorithm, rows[0].digest, rows[0].size) == ("sha256", DIGEST, 1)
    assert (rows[2].algorithm, rows[2].digest, rows[2].size, rows[2].fault) == ("", b"", None, "")


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("a", "1 cells"),
        ("a,,,", "4 cells"),
        ("a,sha256,1", "not NAME=VALUE"),
        ("a,=abc,1", "not NAME=VALUE"),
        ("a,sha256=a$c,1", "not urlsafe base64"),
        ("a,sha256=ünï,1", "not urlsafe base64"),
        ("a,sha256=a,1", "not urlsafe base64"),
        ("a,,-1", "not a number"),
        ("a,,1e3", "not a number"),
        ("a,,²", "not a number"),
    ],
)
def test_a_row_that_is_wrong_stays_with_its_fault(line: str, fault: str) -> None:
    good, bad = parse_record(f"good,{CELLS[0]},1\n{line}\n")
    assert good.fault == ""
    assert fault in bad.fault
    assert bad.path == "a"


def test_weak_and_strong_hashes() -> None:
    rows = parse_record("a,md5=AAAA,1\nb,sha1=AAAA,1\nc,SHA384=AAAA,1\nd,sha512=AAAA,1\ne,sha224=AAAA,1\n")
    assert [row.strong for row in rows] == [False, False, True, True, False]


def test_padded_hashes_are_read() -> None:
    (row,) = parse_record(f"a,{CELLS[0]}=,1\n")
    assert (row.digest, row.fault) == (DIGEST, "")


def test_a_field_beyond_what_csv_reads() -> None:
    rows, fault = read_cells("a,,\n" + "x" * 200_000)
    assert rows == [["a", "", ""]]
    assert "behind line" in fault
    assert parse_record("a,,\n" + "x" * 200_000)[-1].fault == fault


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(st.lists(st.tuples(WORDS.filter(bool), WORDS, WORDS), max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_what_is_written_reads_back(rows: list[tuple[str, str, str]], newline: str) -> None:
    found, fault = read_cells("x\n" + write_record(rows, newline=newline).decode())
    assert (found[1:], fault) == ([list(row) for row in rows], "")


@given(st.text(st.sampled_from(",ab \r\n\t\v\u2028=")))
def test_text_without_quotes_is_split_as_csv_splits_it(text: str) -> None:
    found = csv.reader(io.StringIO(text, newline=""))
    assert read_cells(text) == (list(found), "")


@pytest.mark.parametrize("text", ["\na,,\n", "a,,\n\n\n", '"a",,\r\n\r\n'])
def test_empty_rows_are_told(text: str) -> None:
    row, fault = parse_record(text)
    assert (row.path, row.fault) == ("a", "")
    assert "empty rows" in fault.fault


@given(st.text())
def test_any_text_gives_rows_and_no_error(text: str) -> None:
    for row in parse_record(text):
        assert row.size is None or row.size >= 0
