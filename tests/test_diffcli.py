from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import native
import wainwright
from judging import OLD, extension
from wainwright.__main__ import main
from wainwright.comparing.diffrendering import size
from wainwright.errors import Exit

GOOD = extension()
NEW = extension(needed=("libc.so.6", "libdep.so.1"), needs={"libc.so.6": ["GLIBC_2.14"]}, runpath="$ORIGIN/x|y")
SCHEMA = Path(wainwright.__file__).with_name("diff.schema.json")


@pytest.fixture
def pair(tmp_path: Path) -> list[str]:
    old = native.wheel(tmp_path / "old" / OLD, {"demo/mod.so": GOOD, "demo/gone.py": b""})
    new = native.wheel(
        tmp_path / "new" / OLD, {"demo/mod.so": NEW, "demo/a|`b.py": b"x" * 5000}, requires=("numpy>=1",)
    )
    return [str(old), str(new)]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["diff", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_exit_codes(pair: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, *pair)[0] == Exit.RIGHT
    assert run(capsys, *pair, "--fail-on", "removed-library")[0] == Exit.RIGHT
    assert run(capsys, *pair, "--fail-on", "removed-library,raised-floor")[0] == Exit.FELL_SHORT
    assert run(capsys, *pair, "--fail-on=removed-library", "--fail-on=added-library")[0] == Exit.FELL_SHORT
    code, out, err = run(capsys, pair[0], str(tmp_path / OLD))
    assert (code, out) == (Exit.USAGE, "")
    assert err.startswith("error: ")
    code, _, err = run(capsys, *pair, "--fail-on", "grow=5%")
    assert code == Exit.USAGE
    assert "did you mean grown=10%?" in err


@pytest.mark.parametrize("words", [["--json", "--markdown"], ["--nonsense"], ["third.whl"]])
def test_bad_arguments(pair: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *pair, *words)
    assert (code, out) == (Exit.USAGE, "")
    assert err.startswith("error: ")


def valid(text: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(text)
    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(data)
    return data


def test_json_keeps_to_its_schema(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = valid(run(capsys, *pair, "--json", "--fail-on", "raised-floor")[1])
    assert found["libraries"]["missing"] == {"added": ["libdep.so.1"], "removed": []}
    assert [member["member"] for member in found["members"]["added"]] == ["demo/a|`b.py"]
    assert [failure["condition"] for failure in found["failures"]] == ["raised-floor"]
    assert found["rpaths"] == [{"member": "demo/mod.so", "kind": "runpath", "old": [], "new": ["$ORIGIN/x|y"]}]
    same = valid(run(capsys, pair[0], pair[0], "--json")[1])
    assert same["alike"] is True


def test_text(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, *pair, "--fail-on", "added-library")[1].splitlines()
    assert lines[0] == f"{OLD} -> {OLD}"
    assert "    + libdep.so.1  missing" in lines
    assert "    ~ measured  manylinux_2_5_x86_64 -> manylinux_2_14_x86_64 (raised)" in lines
    assert "    - demo/gone.py  0 bytes" in lines
    assert "    ~ demo/mod.so  runpath none -> $ORIGIN/x|y" in lines
    assert "    + numpy>=1  Requires-Dist" in lines
    assert lines[-1] == "  fails on added-library: libdep.so.1 is missing and was not"
    assert run(capsys, pair[0], pair[0])[1].splitlines() == [lines[0], "  nothing differs"]


def test_markdown_holds_whatever_names_hold(pair: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, *pair, "--markdown", "--fail-on", "added-library")[1]
    assert text.startswith(f"### `{OLD}` → `{OLD}`\n\n- **fails on `added-library`**: libdep.so.1")
    assert "| `+` | `` demo/a\\|`b.py `` | `5.0 kB` |" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 4 for row in rows)
    assert "Nothing differs." in run(capsys, pair[0], pair[0], "--markdown")[1]


def test_long_lists_are_cut_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = native.wheel(tmp_path / "old" / OLD, {"demo/mod.so": GOOD})
    new = native.wheel(tmp_path / "new" / OLD, {"demo/mod.so": GOOD, **{f"demo/{n:03}": b"" for n in range(70)}})
    text = run(capsys, str(old), str(new))[1]
    assert "    and 30 more" in text.splitlines()
    assert "demo/069" not in text
    assert "| | and 30 more | |" in run(capsys, str(old), str(new), "--markdown")[1]
    assert len(json.loads(run(capsys, str(old), str(new), "--json")[1])["members"]["added"]) == 70


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (999_499, "999.5 kB"), (999_950, "1.0 MB"),
     (12_340_000, "12.3 MB"), (2_500_000_000, "2.50 GB")],
)  # fmt: skip
def test_sizes_as_people_read_them(count: int, text: str) -> None:
    assert size(count) == text
