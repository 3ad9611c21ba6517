from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

import releases
from misbehaving import Fault
from tagged import CLOCK, Tagged, git, tagged
from wainwright.clock import Clock
from wainwright.declaration.release import Directory
from wainwright.errors import Exit, WainwrightError
from wainwright.releasing.nightly import day_of, stands_for, version_of
from wainwright.sessions import preflight, publish, release, report
from wainwright.sessions.graph import Selection
from wainwright.sessions.options import Options
from wainwright.sessions.pipeline import Pipeline

DAY = date(2026, 1, 2)
VERSION = "1.1.dev20260102"
TAG = f"v{VERSION}"
TOML = releases.TOML.replace('repository = "owner/demo"', 'repository = "owner/demo"\nnightly = true')
PASSWORD = "correct-horse-7391"  # noqa: S105


@pytest.mark.parametrize(
    ("said", "released", "expected"),
    [
        ("1.1", [], "1.1.dev20260102"),
        ("1.1.dev0", ["1.0"], "1.1.dev20260102"),
        ("1.1rc1", ["1.0", "1.1rc1"], "1.1.dev20260102"),
        ("1.0", ["1.0"], "1.1.dev20260102"),
        ("1.0", ["1.0.0"], "1.0.1.dev20260102"),
        ("0.9.2", ["0.9.2", "0.9.10", "0.9.3"], "0.9.11.dev20260102"),
        ("1.0.post1", ["1.0"], "1.1.dev20260102"),
        (None, ["0.8.9", "0.9.0", "0.10.0.dev20260101"], "0.9.1.dev20260102"),
        (None, ["1.0.post2"], "1.1.dev20260102"),
        ("1!1.0", ["2.0"], "1!1.0.dev20260102"),
        ("1!1.0", ["1!1.0", "nonsense"], "1!1.1.dev20260102"),
        ("1.0+local", [], "1.0.dev20260102"),
        (None, [], None),
        ("unknown", [], None),
    ],
)
def test_a_nightly_comes_before_the_next_release(said: str | None, released: list[str], expected: str | None) -> None:
    assert version_of(DAY, said=said, released=released) == expected


def test_a_nightly_is_known_by_its_day() -> None:
    assert day_of(VERSION) == DAY
    assert day_of(f"{VERSION}+llvm") == DAY
    for other in ("1.1", "1.1.dev3", "1.1.dev20261301", "1.1.dev202601022", "x", ""):
        assert day_of(other) is None


@pytest.mark.parametrize(
    ("built", "said", "expected"),
    [
        ("1.0", "1.0", True),
        ("1.1", None, True),
        ("1.1.dev5+gabc", None, True),
        ("0.9", "1.0", False),
        ("x", "x", False),
    ],
)
def test_a_wheel_that_does_not_know_the_day(built: str, said: str | None, expected: bool) -> None:
    assert stands_for(built, VERSION, said) is expected
    assert not stands_for(built, "1.1", said), "the wheel of a release says it itself"


def test_a_process_has_one_day() -> None:
    assert Clock().began == Clock().began
    assert Clock(began=1767398399.0).day == DAY
    assert Clock(now=lambda: 1767312000.0).stamp() == "2026-01-02T00:00:00+00:00"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tagged]:
    with tagged(tmp_path, password=PASSWORD, toml=TOML, nightly=VERSION) as made:
        made.speak(monkeypatch)
        yield made


def go(world: Tagged, word: str = "nightly", **options: object) -> None:
    publish.run(world.pipeline(word, **options), Selection())


def tomorrow(world: Tagged, word: str) -> Pipeline:
    return replace(world.pipeline(word), clock=replace(CLOCK, began=CLOCK.began + 86_400))


def refusal(run: Callable[[], None]) -> WainwrightError:
    with pytest.raises(WainwrightError) as caught:
        run()
    return caught.value


def test_a_nightly_goes_where_nightlies_go(world: Tagged, capsys: pytest.CaptureFixture[str]) -> None:
    preflight.run(world.pipeline("nightly"), Selection())
    go(world)
    report.run(world.pipeline("nightly"), Selection())
    release.run(world.pipeline("nightly"), Selection())
    err = capsys.readouterr().err
    assert err.count("internal is left out: it takes no nightlies (nightly = true under [publish.internal]") == 2
    assert f"nothing stands in the way of {TAG} at page" in err
    assert f"release: {TAG} is complete: 2 wheels at page" in err
    assert world.index.requests == []
    (public,) = world.github.public
    assert (public["tag_name"], public["prerelease"]) == (TAG, True)
    assert world.github.tags[TAG] == ("commit", git(world.root, "rev-parse", "HEAD"))
    assert world.github.latest is None
    assert public["body"].startswith("- soon\n\n## Wheels")
    wheels = {name for name in world.github.contents(public["id"]) if name.endswith(".whl")}
    assert {name.split("-")[1] for name in wheels} == {VERSION, f"{VERSION}+reduced"}
    assert git(world.root, "tag") == "v1.0", "no tag was made here"


def test_the_same_day_again_changes_nothing(world: Tagged, capsys: pytest.CaptureFixture[str]) -> None:
    go(world)
    writes = world.writes
    git(world.root, "commit", "--quiet", "--allow-empty", "-m", "later that day")
    capsys.readouterr()
    go(world)
    assert world.writes == writes
    release.run(world.pipeline("nightly"), Selection())
    said = capsys.readouterr().err
    assert "page: the release is public, with " in said
    assert f"and HEAD, {git(world.root, 'rev-parse', 'HEAD')}, is not in it: the next nightly is tomorrow's" in said


def test_the_same_day_without_the_seal_says_that_it_is_there(world: Tagged) -> None:
    go(world)
    writes = world.writes
    (world.trial.wheelhouse / "manifest.json").unlink()
    (world.trial.wheelhouse / "seals" / f"{TAG}.json").unlink()
    error = refusal(lambda: preflight.run(world.pipeline("nightly"), Selection()))
    assert error.code is Exit.CONFLICT
    assert f"the release {TAG} is public" in str(error)
    assert "the next nightly is tomorrow's" in str(error)
    assert world.writes == writes


def test_what_broke_is_finished_by_the_name_that_it_has_also_tomorrow(world: Tagged) -> None:
    world.github.plan = lambda seen: None if not seen.uploads else Fault(status=401)
    error = refusal(lambda: go(world))
    assert f"-- {TAG}" in error.hint
    world.github.plan = lambda _: None
    git(world.root, "commit", "--quiet", "--allow-empty", "-m", "another day")
    publish.run(tomorrow(world, TAG), Selection())
    assert [page["tag_name"] for page in world.github.public] == [TAG]


def test_another_days_nightly_is_made_by_nobody(world: Tagged) -> None:
    error = refusal(lambda: publish.run(tomorrow(world, TAG), Selection()))
    assert (error.code, world.writes) == (Exit.USAGE, 0)
    assert "is the nightly of another day" in error.what


def test_a_nightly_wants_a_commit_a_clean_tree_and_a_push(world: Tagged) -> None:
    git(world.root, "commit", "--quiet", "--allow-empty", "-m", "not pushed")
    (world.root / "pyproject.toml").write_text("# changed\n" + (world.root / "pyproject.toml").read_text())
    said = str(refusal(lambda: preflight.run(world.pipeline("nightly"), Selection())))
    assert "the work tree differs from HEAD" in said
    assert "it is not pushed: origin does not have it" in said
    assert "no such tag" not in said
    assert world.writes == 0
    git(world.root, "checkout", "--quiet", "--", ".")
    error = refusal(lambda: preflight.run(world.pipeline("nightly"), Selection()))
    git(world.root, *str(error).partition("hint: git ")[2].split())
    preflight.run(world.pipeline("nightly"), Selection())


def test_a_shallow_clone_does_not_know_what_is_out(world: Tagged, tmp_path: Path) -> None:
    git(
        tmp_path,
        "clone",
        "--quiet",
        "--depth=1",
        "--branch=main",
        f"file://{tmp_path / 'remote.git'}",
        str(tmp_path / "shallow"),
    )
    root = tmp_path / "shallow"
    tree_of = replace(
        world.trial.release, root=root, project=replace(world.trial.release.project, source=Directory(path=root))
    )
    said = str(refusal(lambda: preflight.run(replace(world.pipeline("nightly"), release=tree_of), Selection())))
    assert "the clone is shallow" in said
    assert "fetch-depth: 0" in said


def test_destinations_without_nightlies_are_no_place_for_one(world: Tagged) -> None:
    error = refusal(lambda: go(world, only="internal"))
    assert (error.code, error.where) == (Exit.NOTHING_SELECTED, "--only")
    assert "internal takes no nightlies" in error.what
    none = replace(world.trial.release.publish["page"], nightly=False)
    release_toml = replace(world.trial.release, publish=dict(world.trial.release.publish) | {"page": none})
    error = refusal(lambda: publish.run(replace(world.pipeline("nightly"), release=release_toml), Selection()))
    assert (error.code, error.what) == (Exit.USAGE, "no destination takes nightlies")


def test_only_the_jobs_of_a_nightly_are_planned(tmp_path: Path) -> None:
    toml = TOML.replace('publish = ["internal", "page"]', 'publish = ["internal"]')
    loaded = releases.load(tmp_path / "project", toml)
    (tmp_path / "project" / "pyproject.toml").write_text('[project]\nname = "demo"\nversion = "1.1"\n')
    given = Pipeline(release=loaded, options=Options(words=("nightly",)), clock=CLOCK)
    assert (given.tag, given.version) == (TAG, VERSION)
    assert [(job.variant.name, [place.name for place in job.destinations]) for job in given.plan] == [
        ("reduced", ["page"])
    ]


def test_nobody_knows_the_next_release(tmp_path: Path) -> None:
    given = Pipeline(release=releases.load(tmp_path / "project", TOML), options=Options(words=("nightly",)))
    with pytest.raises(WainwrightError, match="which release comes next is not known"):
        _ = given.version
