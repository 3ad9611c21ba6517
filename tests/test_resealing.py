"""--reseal on a tagged project with an index and a GitHub: nothing that is out, or may be, is ever sealed anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import releases
from misbehaving import Fault
from tagged import Tagged, tagged
from wainwright.errors import Exit, WainwrightError
from wainwright.releasing import kept, manifest
from wainwright.releasing.journal import JOURNAL, Journal
from wainwright.sessions import preflight, publish
from wainwright.sessions.graph import Selection, expand
from wainwright.sessions.releasing import Subject
from wainwright.sessions.resealing import public

PASSWORD = "correct-horse-7391"  # noqa: S105


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tagged]:
    with tagged(tmp_path, password=PASSWORD) as made:
        made.speak(monkeypatch)
        yield made


def go(world: Tagged, **options: object) -> None:
    publish.run(world.pipeline(**options), Selection())


def refused(world: Tagged, **options: object) -> WainwrightError:
    """Have --reseal refused, with the seal and what is out as they were."""
    releases.make_wheel(world.trial.wheel("full"), says="built again")
    world.prove()
    before, files = (world.trial.wheelhouse / "manifest.json").read_bytes(), dict(world.index.files)
    with pytest.raises(WainwrightError) as caught:
        go(world, reseal=True, **options)
    assert caught.value.code in {Exit.REFUSED, Exit.CONFLICT}
    assert (world.trial.wheelhouse / "manifest.json").read_bytes() == before
    assert world.index.files == files
    return caught.value


@pytest.mark.parametrize("choice", [{}, {"only": "page"}, {"skip": ("internal",)}, {"dry_run": True, "only": "page"}])
def test_the_index_is_asked_whatever_is_chosen(world: Tagged, choice: Mapping[str, Any]) -> None:
    go(world, only="internal")
    error = refused(world, **choice)
    assert "v1.0 is public, or may be" in error.what or "is there already" in str(error)
    assert not world.github.public
    with pytest.raises(WainwrightError, match=r"v1\.0 is public, or may be"):
        preflight.run(world.pipeline(reseal=True, **choice), Selection())


def test_nothing_is_built_anew_for_what_is_refused_then(world: Tagged) -> None:
    go(world, only="internal")
    build = next(task for task in expand(world.trial.release) if task.name == "build")
    with pytest.raises(WainwrightError, match=r"v1\.0 is public, or may be"):
        build.run(world.pipeline(reseal=True))


@pytest.mark.parametrize("choice", [{"only": "internal"}, {"skip": ("page",)}])
def test_the_page_is_asked_whatever_is_chosen(world: Tagged, choice: Mapping[str, Any]) -> None:
    go(world, only="page")
    assert "page has the release http" in str(refused(world, **choice))


@pytest.mark.parametrize("choice", [{}, {"only": "page"}])
def test_an_index_that_does_not_show_what_it_took_has_it(world: Tagged, choice: Mapping[str, Any]) -> None:
    world.index.swallows = True
    with pytest.raises(WainwrightError, match="that it does not show"):
        go(world)
    error = refused(world, **choice)
    assert f"internal was given {world.trial.wheel('full').name}, whatever it shows" in error.details


def test_an_upload_that_nobody_saw_end_may_have_ended_well(world: Tagged) -> None:
    world.index.faults = ["", *["503"] * 40]
    with pytest.raises(WainwrightError):
        go(world)
    (file,) = (sealed := manifest.read(world.trial.wheelhouse, "v1.0")).bound_for("internal")  # type: ignore[union-attr]
    assert sealed is not None
    folder = kept.home(world.trial.wheelhouse, "v1.0")
    journal = Journal.open(folder / JOURNAL, "v1.0")
    assert journal.taken("internal") == (), "it was seen to fail"
    journal.record("internal", "sent", file.asset(folder))  # as a run does that is killed while it uploads
    assert f"internal was given {file.name}" in str(refused(world))


def test_whoever_does_not_answer_may_have_it(world: Tagged) -> None:
    world.github.plan = lambda seen: Fault(status=401) if seen.writes else None
    with pytest.raises(WainwrightError):
        go(world)
    world.github.plan = lambda _: Fault(status=503)
    error = refused(world, only="internal")
    assert "is not told by every destination" in error.what
    assert error.details[0].startswith("page: ")
    assert "have each of them answer" in error.hint


def test_a_destination_that_is_declared_no_more_may_have_it(world: Tagged) -> None:
    go(world, only="internal")
    known = manifest.read(world.trial.wheelhouse, "v1.0")
    assert known is not None
    (kept.home(world.trial.wheelhouse, "v1.0") / JOURNAL).unlink()
    places = MappingProxyType({"page": world.trial.release.publish["page"]})
    pipeline = world.pipeline()
    later = replace(pipeline, release=replace(world.trial.release, publish=places, variants={}))
    with pytest.raises(WainwrightError) as caught:
        public(later, Subject.of(pipeline), known)
    assert caught.value.details == ("internal: release.toml does not declare it any more",)


def test_a_draft_of_the_earlier_seal_goes_also_where_it_is_not_chosen(world: Tagged) -> None:
    world.index.faults = ["", *["503"] * 40]
    with pytest.raises(WainwrightError):
        go(world)
    assert len(world.github.releases) == 1
    releases.make_wheel(world.trial.wheel("full"), says="built again")
    world.prove()
    world.index.faults = []
    go(world, reseal=True, only="internal")
    assert world.github.releases == {}
    go(world)
    wheel = world.trial.wheel("full")
    assert world.index.files == {wheel.name: wheel.read_bytes()}
    (page,) = world.github.public
    assert world.github.contents(page["id"])[wheel.name] == wheel.read_bytes()
