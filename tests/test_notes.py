from __future__ import annotations

from pathlib import Path

import pytest

import releases
from wainwright.releasing.notes import changelog, compose, human, section, wheel_table
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
    assert changelog(tmp_path) == "# 1.0\n"


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
    ("size", "said"), [(999, "999 B"), (12_345, "12.3 kB"), (98_765_432, "98.8 MB"), (3 * 10**9, "3.0 GB")]
)
def test_sizes(size: int, said: str) -> None:
    assert human(size) == said
