from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import releases
from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.patience import Gone
from wainwright.releasing.notes import CHECK, MOST, changelog, compose, human, said_of, section, wheel_table
from wainwright.releasing.sealing import seal

MARKDOWN = """\
# Changelog

## [Unreleased]

- later

## [1.1] - 2026-02-03

### Added

- a thing

```
## 1.0 in code
```

## v1.0 (2026-01-02)

- the first

## 1.0rc1

- a try

[1.1]: https://example.org/1.1
"""

UNDERLINED = """\
Changes
=======

1.1.0 (2026-02-03)
------------------

Fixed
~~~~~

* a thing

1.1
---

* the first
"""


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("1.1", "### Added\n\n- a thing\n\n```\n## 1.0 in code\n```"),
        ("1.0", "- the first"),
        ("1.0rc1", "- a try"),
        ("1", None),
        ("2.0", None),
    ],
)
def test_a_versions_section(version: str, said: str | None) -> None:
    assert section(MARKDOWN, version) == said


def test_underlined_headings() -> None:
    assert section(UNDERLINED, "1.1.0") == "Fixed\n~~~~~\n\n* a thing"
    assert section(UNDERLINED, "1.1") == "* the first"


def test_a_changelog_goes_by_several_names(tmp_path: Path) -> None:
    assert changelog(tmp_path) is None
    (tmp_path / "HISTORY.md").write_text("# 1.0\n")
    assert changelog(tmp_path) == ("HISTORY.md", "# 1.0\n")


def nothing() -> str:
    raise Gone("could not have notes written: HTTP 404", where="octo/demo")


def test_the_changelog_speaks_first(tmp_path: Path) -> None:
    assert said_of(tmp_path, "1.0", generated=lambda: "merged") == "merged"
    (tmp_path / "CHANGELOG.md").write_bytes("\ufeff# 1.0\n\n- déjà vu\n".encode())
    assert said_of(tmp_path, "1.0", generated=nothing) == "- déjà vu"
    assert said_of(tmp_path, "1.1", generated=lambda: "") == ""


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        (b"# 1.0\n\n- d\xe9j\xe0 vu\n", "this is not UTF-8: invalid continuation byte at byte 10", "save it as UTF-8"),
        (b"# 0.9\n", "CHANGELOG.md has no section for 1.0, and the host writes no notes", "write a section `## 1.0`"),
        (b"# 1.0\n" + b"x" * 125_000, "what is said of 1.0 has 125000 characters", "shorten its section"),
    ],
)
def test_what_cannot_become_notes(tmp_path: Path, text: bytes, what: str, hint: str) -> None:
    (tmp_path / "CHANGELOG.md").write_bytes(text)
    with pytest.raises(WainwrightError) as caught:
        said_of(tmp_path, "1.0", generated=nothing)
    assert caught.value.code is Exit.REFUSED
    assert what in caught.value.what
    assert hint in caught.value.hint
    assert caught.value.where


def test_the_table_says_who_each_wheel_is_for(tmp_path: Path) -> None:
    trial = releases.trial(tmp_path)
    made = seal(trial.sealing(), reseal=False, public=lambda _: ())
    lines = wheel_table(made, trial.jobs).splitlines()
    assert len(lines) == 4
    assert "| full | cpu, cuda | 2.27 or later |" in lines[2]
    assert trial.wheel("full").name in lines[2]
    assert len(wheel_table(made, trial.jobs, destination="internal").splitlines()) == 3
    notes = compose("- the first", made, trial.jobs, destination="page")
    assert notes.startswith("- the first\n\n## Wheels\n\n| variant")


@pytest.mark.parametrize(
    ("count", "said", "has", "lacks"),
    [
        (500, "- the first", "| sha256 |", "The digests are in"),
        (700, "- the first", "The digests are in SHA256SUMS.", "| sha256 |"),
        (1000, "x" * 124_000, "1000 wheels: SHA256SUMS and manifest.json list them.", "| variant |"),
    ],
)
def test_a_table_that_no_release_page_takes_is_shortened(
    tmp_path: Path, count: int, said: str, has: str, lacks: str
) -> None:
    trial = releases.trial(tmp_path)
    made = seal(trial.sealing(), reseal=False, public=lambda _: ())
    wheel = made.wheels[0]
    many = tuple(replace(wheel, name=f"demo-1.0-{number}-{wheel.name[9:]}") for number in range(count))
    notes = compose(said, replace(made, files=many), trial.jobs, destination="page")
    assert len(notes) <= MOST
    assert notes.startswith(said)
    assert notes.endswith(f"{CHECK}\n")
    assert has in notes
    assert lacks not in notes


@pytest.mark.parametrize(
    ("size", "said"), [(999, "999 B"), (12_345, "12.3 kB"), (98_765_432, "98.8 MB"), (3 * 10**9, "3.0 GB")]
)
def test_sizes(size: int, said: str) -> None:
    assert human(size) == said
