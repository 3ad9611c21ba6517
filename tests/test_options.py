from __future__ import annotations

import pytest

from wainwright.errors import Exit, WainwrightError
from wainwright.sessions.options import parse_posargs


def test_every_option_means_the_same_in_any_order() -> None:
    one = parse_posargs(["v0.9.2", "--only", "llvm-*", "--jobs", "3", "--dry-run", "--json"])
    assert one == parse_posargs(["--json", "--jobs=3", "--dry-run", "--only=llvm-*", "v0.9.2"])
    assert (one.tag, one.only, one.jobs, one.dry_run, one.json) == ("v0.9.2", "llvm-*", 3, True, True)


def test_destinations_are_skipped_by_name() -> None:
    options = parse_posargs(["v1", "--skip", "github", "--skip=pypi", "--reseal"])
    assert (options.skip, options.reseal, options.push) == (("github", "pypi"), True, False)


def test_nothing_after_the_dashes() -> None:
    options = parse_posargs([])
    assert options.tag is None
    assert options.jobs >= 1


@pytest.mark.parametrize("wrong", [["--onyl", "x"], ["--jobs", "0"], ["--jobs", "many"], ["--only"]])
def test_a_wrong_option_is_one_error_that_lists_the_right_ones(wrong: list[str]) -> None:
    with pytest.raises(WainwrightError, match="--dry-run") as caught:
        parse_posargs(wrong)
    assert caught.value.code == Exit.USAGE
