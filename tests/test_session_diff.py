from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from judging import extension
from native import wheel
from wainwright.declaration.config import load
from wainwright.errors import Exit, WainwrightError
from wainwright.receipts import Artifact, Receipt
from wainwright.sessions.diff import run
from wainwright.sessions.graph import Selection
from wainwright.sessions.options import parse_posargs
from wainwright.sessions.pipeline import Pipeline

RELEASE = """
[project]
source = "."
python = ["3.10"]
[backends.cpu]
[images.zig]
toolchain = "zig"
[targets."2.17"]
image = "zig"
[targets."2.27"]
image = "zig"
[variants.reduced]
backends = ["cpu"]
glibc = ["2.17"]
arch = ["x86_64"]
[variants.full]
backends = ["cpu"]
glibc = ["2.27"]
arch = ["x86_64"]
"""
DIFF = """
[variants.full.diff]
against = "./old"
fail-on = ["added-library", "grown=50%"]
"""
TAGS = {"reduced": ("2_17", "manylinux2014_x86_64.manylinux_2_17_x86_64"), "full": ("2_27", "manylinux_2_27_x86_64")}
OLD = {"demo/mod.so": extension()}
NEW = {"demo/mod.so": extension(needed=("libc.so.6", "libdep.so.1"))}


PYPROJECT = '[project]\nname = "demo"\nversion = "1.1"\n'


def name(variant: str, version: str = "1.0") -> str:
    return f"demo-{version}-cp310-cp310-{TAGS[variant][1]}.whl"


def pipeline(root: Path, *words: str, toml: str = RELEASE + DIFF) -> Pipeline:
    path = root / "release.toml"
    path.write_text(toml)
    return Pipeline(release=load(path), options=parse_posargs(words))


def audited(root: Path, variant: str, members: dict[str, bytes], *, version: str = "1.1", passed: bool = True) -> Path:
    """Leave a wheel and its receipt as the audit session does."""
    path = wheel(root / "wheelhouse" / variant / name(variant, version), members)
    receipt = Receipt(
        stage="audit", job=f"{variant}-{TAGS[variant][0]}-cp310-x86_64", image="zig", engine="host", inputs="0" * 64,
        passed=passed, publishable=True, started="2026-01-02T03:04:05+00:00", seconds=1.0, wheel=Artifact.of(path),
    )  # fmt: skip
    pipeline(root).receipts.write(receipt)
    return path


def refused(work: Pipeline) -> WainwrightError:
    with pytest.raises(WainwrightError) as caught:
        run(work, Selection())
    return caught.value


def test_the_table_says_against_what_and_what_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for version in ("0.9", "0.10"):
        wheel(tmp_path / "old" / name("full", version), OLD)
    audited(tmp_path, "reduced", NEW)
    audited(tmp_path, "full", OLD)
    run(pipeline(tmp_path), Selection())
    assert f"{name('full', '0.10')} -> {name('full', '1.1')}" in capsys.readouterr().out
    audited(tmp_path, "full", NEW)
    error = refused(pipeline(tmp_path))
    assert error.code == Exit.FELL_SHORT
    assert error.where == name("full", "1.1")
    assert error.what.startswith("added-library: libdep.so.1 is missing and was not")


def test_an_old_wheel_is_compared_with_the_audited_one_of_its_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = wheel(tmp_path / name("reduced"), OLD)
    audited(tmp_path, "reduced", NEW)
    audited(tmp_path, "full", NEW)
    run(pipeline(tmp_path, str(old)), Selection())  # this variant has no conditions
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("demo-")]
    assert lines == [f"{old.name} -> {name('reduced', '1.1')}"]


def test_the_conditions_of_a_variant_hold_for_its_wheels_however_they_are_named(tmp_path: Path) -> None:
    old = wheel(tmp_path / name("full"), OLD)
    new = audited(tmp_path, "full", NEW)
    assert refused(pipeline(tmp_path, str(old))).code == Exit.FELL_SHORT
    assert refused(pipeline(tmp_path, str(old), str(new))).code == Exit.FELL_SHORT
    run(pipeline(tmp_path, str(new), str(old)), Selection())


def test_for_machines_it_is_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wheel(tmp_path / "old" / name("full"), OLD)
    audited(tmp_path, "full", NEW)
    refused(pipeline(tmp_path, "--json"))
    found = json.loads(capsys.readouterr().out)
    assert found["stage"] == "diff"
    assert [each["libraries"]["missing"]["added"] for each in found["differences"]] == [["libdep.so.1"]]


def test_a_dry_run_reads_no_wheel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wheel(tmp_path / "old" / name("full"), OLD)
    audited(tmp_path, "full", NEW)
    run(pipeline(tmp_path, "--dry-run"), Selection())
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("diff: would compare ")


def test_what_has_not_passed_its_audit_is_not_compared(tmp_path: Path) -> None:
    old = wheel(tmp_path / name("full"), OLD)
    audited(tmp_path, "full", NEW, passed=False)
    assert refused(pipeline(tmp_path, str(old))).hint == "run the audit session first"


@pytest.mark.parametrize(
    ("words", "toml", "code", "what"),
    [
        (("a.whl", "b.whl", "c.whl"), RELEASE, Exit.USAGE, "it compares two wheels, and was given 3"),
        (("absent.whl",), RELEASE, Exit.USAGE, "there is no wheel here"),
        ((), RELEASE, Exit.NOTHING_SELECTED, "there is nothing to compare"),
        ((), RELEASE + DIFF, Exit.USAGE, "there is no wheel here"),
    ],
)
def test_mistakes(tmp_path: Path, words: tuple[str, ...], toml: str, code: Exit, what: str) -> None:
    audited(tmp_path, "full", OLD)
    error = refused(pipeline(tmp_path, *words, toml=toml))
    assert (error.code, error.what) == (code, what)


def test_a_gate_that_compares_nothing_is_not_passed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wheel(tmp_path / "old" / "other-1.0-cp310-cp310-manylinux_2_27_x86_64.whl", OLD)
    audited(tmp_path, "full", OLD)
    error = refused(pipeline(tmp_path))
    assert error.where == "variants.full.diff.against"
    assert "full-2_27-cp310-x86_64: ./old holds no earlier wheel of its kind" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["v1.1", "nightly"])
def test_a_tag_is_what_it_is_to_every_session(tmp_path: Path, capsys: pytest.CaptureFixture[str], word: str) -> None:
    wheel(tmp_path / "old" / name("full", "1.0"), OLD)
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    version = pipeline(tmp_path, word).version or ""
    audited(tmp_path, "full", OLD, version=version)
    run(pipeline(tmp_path, word), Selection())
    run(pipeline(tmp_path), Selection())
    assert capsys.readouterr().out.count(f"{name('full')} -> {name('full', version)}") == 2


@pytest.mark.parametrize("words", [(), ("v1.1",), ("nightly",), ("old",)])
def test_wheels_of_another_version_are_not_taken_for_this_one(tmp_path: Path, words: tuple[str, ...]) -> None:
    old = wheel(tmp_path / "old" / name("full", "1.0"), OLD)
    audited(tmp_path, "full", OLD, version="1.0")
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    error = refused(pipeline(tmp_path, *(str(old.parent) if word == "old" else word for word in words)))
    assert (error.code, error.hint) == (Exit.NOTHING_SELECTED, "run the audit session first")
    assert error.what.startswith("the audited wheels are of 1.0, and 1.1")


def test_two_wheels_are_compared_without_what_asks_hosts(tmp_path: Path) -> None:
    old, new = wheel(tmp_path / name("full"), OLD), wheel(tmp_path / name("full", "1.1"), OLD)
    (tmp_path / "release.toml").write_text(RELEASE)
    code = "import sys; from wainwright.__main__ import main; code = main(); print(code, *sys.modules)"
    words = ["diff", "--", str(old), str(new), "--json"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert not {"requests", "httpx2", "ghapi", "wainwright.releasing.earlier"} & set(done.stdout.split())
