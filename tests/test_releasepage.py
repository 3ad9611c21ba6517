from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

import httpx2
import pytest

from misbehaving import Fault, Seen
from strict_github import COMMIT, OWNER, REPO, TOKEN, Clock, StrictGitHub, sealed
from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.destinations import Asset, Destination
from wainwright.hosts.github import GitHub
from wainwright.hosts.mark import Mark, unmarked
from wainwright.hosts.patience import Patience
from wainwright.hosts.releasepage import ReleasePage
from wainwright.hosts.wanted import Wanted

FILES = {
    "demo-1.0+cpu-cp310-cp310-manylinux_2_17_x86_64.whl": b"wheel one",
    "demo-1.0-cp310-cp310-manylinux_2_27_x86_64.whl": b"wheel two",
    "SHA256SUMS": b"sums",
}
FIRST = next(iter(FILES))


@dataclass(frozen=True)
class World:
    server: StrictGitHub
    wanted: Wanted
    clock: Clock
    client: httpx2.Client

    @property
    def assets(self) -> tuple[Asset, ...]:
        return self.wanted.assets

    def page(self, **changes: Any) -> ReleasePage:
        patience = Patience(now=self.clock.now, sleep=self.clock.sleep, jitter=lambda: 1.0)
        github = GitHub(
            f"{OWNER}/{REPO}", token=TOKEN, api_url=self.server.api_url, patience=patience, client=self.client
        )
        return ReleasePage(github, replace(self.wanted, **changes))

    def release(self, **changes: Any) -> ReleasePage:
        page = self.page(**changes)
        page.listing()
        for asset in page.wanted.assets:
            page.put(asset)
        page.publish()
        return page

    def refused(self, act: Callable[[], object], code: Exit) -> str:
        with pytest.raises(WainwrightError) as caught:
            act()
        assert caught.value.code is code, caught.value
        return str(caught.value)

    def is_public_as_sealed(self) -> bool:
        (release,) = self.server.public
        assert self.server.contents(release["id"]) == FILES
        assert self.server.violations == []
        assert len(self.server.stored) == len(set(self.server.stored))
        return bool(release["tag_name"] == "v1.0" and release["body"] == "What is new")


@pytest.fixture(scope="module")
def client() -> Iterator[httpx2.Client]:
    with httpx2.Client() as client:
        yield client


@pytest.fixture
def world(tmp_path: Path, client: httpx2.Client) -> Iterator[World]:
    clock = Clock()
    wanted = Wanted(
        tag="v1.0", version="1.0", commit=COMMIT, title="Demo 1.0", notes="What is new", assets=sealed(tmp_path, FILES)
    )
    with StrictGitHub(now=clock.now) as server:
        server.tags["v1.0"] = ("commit", COMMIT)
        yield World(server=server, wanted=wanted, clock=clock, client=client)


def on(matches: Callable[[Seen], bool], *faults: Fault | None) -> Callable[[Seen], Fault | None]:
    """Give the faults, one a request, to those that match."""
    left = list(faults)
    return lambda seen: left.pop(0) if left and matches(seen) else None


def uploads(seen: Seen) -> bool:
    return seen.uploads


def undrafts(seen: Seen) -> bool:
    return seen.method == "PATCH"


def test_a_release_page_is_a_destination(world: World) -> None:
    destination: Destination = world.page()
    assert destination.listing() == {}
    assert not [entry for entry in world.server.log if entry[0] != "GET"]


def test_everything_is_complete_before_anything_is_public(world: World) -> None:
    world.release()
    assert world.is_public_as_sealed()
    writes = [(method, path.rpartition("/repos/")[0]) for method, path, _ in world.server.log if method != "GET"]
    assert writes == [("POST", "/api/v3"), *[("POST", "/api/uploads")] * 3, ("PATCH", "/api/v3")]
    assert world.server.latest == world.server.public[0]["id"]


def test_writes_are_a_second_apart(world: World) -> None:
    world.release()
    assert world.clock.waits == [1.0] * 4


def test_what_is_already_there_costs_one_listing_a_page(world: World, tmp_path: Path) -> None:
    files = {f"demo-1.{number}-py3-none-any.whl": f"wheel {number}".encode() for number in range(200)}
    assets = sealed(tmp_path, files)
    world.release(assets=assets)
    world.server.log.clear()
    page = world.release(assets=assets)
    assert len(page.listing()) == 200
    paths = [(method, path.rpartition("releases")[2]) for method, path, _ in world.server.log]
    number = world.server.public[0]["id"]
    assert paths == [("GET", ""), *[("GET", f"/{number}/assets")] * 2]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(reset="before", store="none"),
        Fault(reset="in"),
        Fault(reset="after", store="none"),
        Fault(reset="after", store="starter"),
        Fault(reset="after"),
        Fault(reset="answer"),
        Fault(status=502, store="none"),
        Fault(status=502, store="starter"),
        Fault(status=502),
        Fault(status=500, store="cut"),
        Fault(store="cut"),
        Fault(store="flip"),
        Fault(null_digest=True),
        Fault(null_digest=True, store="flip"),
        Fault(status=502, null_digest=True),
        Fault(slow=0.05),
        Fault(status=429, store="none"),
        Fault(status=403, store="none", headers={"retry-after": "7"}),
        Fault(status=200, body=["what is this"]),
        Fault(status=422, store="whole", body={"message": "Validation Failed", "errors": [{"code": "already_exists"}]}),
    ],
    ids=repr,
)
def test_a_broken_upload_is_finished_in_the_same_run(world: World, fault: Fault) -> None:
    world.server.plan = on(uploads, None, fault)
    world.release()
    assert world.is_public_as_sealed()


@pytest.mark.parametrize(
    "fault",
    [Fault(reset="before", store="none"), Fault(reset="after"), Fault(status=502), Fault(reset="answer")],
    ids=repr,
)
@pytest.mark.parametrize("path", ["/releases", "/releases/1001"])
def test_creating_and_publishing_survive_a_lost_answer(world: World, fault: Fault, path: str) -> None:
    world.server.plan = on(lambda seen: seen.writes and seen.path.endswith(path), fault, fault)
    world.release()
    assert world.is_public_as_sealed()
    assert len(world.server.releases) == 1


def test_an_upload_that_never_works_ends_and_says_why(world: World) -> None:
    world.server.plan = on(uploads, *[Fault(status=502, store="starter")] * 99)
    told = world.refused(world.release, Exit.RETRIES_EXHAUSTED)
    assert "HTTP 502" in told
    assert not world.server.public
    world.server.plan = lambda _: None
    world.release()
    assert world.is_public_as_sealed()


def test_what_is_public_and_the_same_is_done(world: World) -> None:
    world.release()
    world.server.immutable = True
    world.server.public[0]["immutable"] = True
    world.server.log.clear()
    world.release()
    assert not [entry for entry in world.server.log if entry[0] != "GET"]


@pytest.mark.parametrize("immutable", [False, True])
def test_what_is_public_and_different_is_a_conflict_with_both_digests(world: World, *, immutable: bool) -> None:
    world.server.immutable = immutable
    release = world.server.add_release("v1.0")
    for name, content in FILES.items():
        world.server.add_asset(release, name, content if name != FIRST else b"other one")
    told = world.refused(world.release, Exit.CONFLICT)
    assert world.assets[0].sha256 in told
    assert world.server.holding(release)[FIRST]["digest"].removeprefix("sha256:") in told
    assert not [entry for entry in world.server.log if entry[0] != "GET"]


def test_a_public_release_without_a_file_is_a_conflict(world: World) -> None:
    world.server.add_release("v1.0")
    assert FIRST in world.refused(world.release, Exit.CONFLICT)


def test_a_public_release_with_another_file_is_a_conflict(world: World) -> None:
    world.release()
    world.server.add_asset(world.server.public[0]["id"], "extra.txt", b"extra")
    assert "extra.txt" in world.refused(world.release, Exit.CONFLICT)


def test_an_immutable_release_locks_only_what_is_complete(world: World) -> None:
    world.server.immutable = True
    world.release()
    assert world.server.public[0]["immutable"]
    assert world.is_public_as_sealed()


def test_leftovers_in_the_draft_are_replaced_and_nothing_else(world: World) -> None:
    page = world.page()
    page.put(world.assets[2])
    (draft,) = world.server.releases
    world.server.add_asset(draft, FIRST, b"", state="starter")
    world.server.add_asset(draft, world.assets[1].name, b"wheel twX")
    world.server.add_asset(draft, "left-over", b"", state="starter")
    world.release()
    assert world.is_public_as_sealed()
    assert world.server.count("DELETE", "/assets/") == 3


def test_a_file_that_nobody_sealed_is_not_published_and_not_deleted(world: World) -> None:
    world.page().put(world.assets[0])
    (draft,) = world.server.releases
    world.server.add_asset(draft, "by-hand.txt", b"by hand")
    assert "by-hand.txt" in world.refused(world.release, Exit.CONFLICT)
    assert not world.server.public
    assert "by-hand.txt" in world.server.holding(draft)


def test_two_drafts_are_an_error(world: World) -> None:
    world.server.add_release("v1.0", draft=True)
    world.server.add_release("v1.0", draft=True)
    told = world.refused(world.release, Exit.CONFLICT)
    assert "more than one draft" in told
    assert told.count("/releases/tag/untagged-") == 2


def test_the_empty_draft_of_a_run_that_began_at_the_same_time_is_removed(world: World) -> None:
    world.page().put(world.assets[0])
    world.server.add_release("v1.0", draft=True, body=Mark(seal=world.wanted.seal, run="ab").on("What is new"))
    world.release()
    assert world.is_public_as_sealed()
    assert len(world.server.releases) == 1


def test_a_draft_far_down_the_list_is_found(world: World) -> None:
    world.page().put(world.assets[0])
    for number in range(230):
        world.server.add_release(f"v0.{number}")
    world.server.log.clear()
    page = world.page()
    assert page.page() is not None
    assert world.server.count("GET", "/releases$") == 3


def test_a_draft_that_somebody_wrote_is_taken_up_with_its_notes(world: World) -> None:
    draft = world.server.add_release("v1.0", draft=True, body="Written by hand\r\n\r\nwith care")
    world.release()
    (release,) = world.server.public
    assert release["id"] == draft
    assert release["body"] == "Written by hand\n\nwith care"
    assert world.server.contents(draft) == FILES


def test_a_complete_file_in_somebody_elses_draft_is_not_replaced(world: World) -> None:
    draft = world.server.add_release("v1.0", draft=True, body="Written by hand")
    world.server.add_asset(draft, FIRST, b"not ours")
    told = world.refused(world.release, Exit.CONFLICT)
    assert world.assets[0].sha256 in told
    assert world.server.contents(draft)[FIRST] == b"not ours"


def test_the_draft_of_another_seal_is_left_alone_until_somebody_discards_it(world: World, tmp_path: Path) -> None:
    world.page().put(world.assets[0])
    other = sealed(tmp_path, FILES | {FIRST: b"built again"})
    told = world.refused(lambda: world.release(assets=other), Exit.CONFLICT)
    assert "other files" in told
    world.page(assets=other).discard()
    assert not world.server.releases
    world.release(assets=other)
    assert world.server.violations == []
    world.refused(world.page(assets=other).discard, Exit.REFUSED)
    assert len(world.server.public) == 1


def test_a_later_run_takes_the_draft_over_and_the_earlier_one_stops(world: World) -> None:
    earlier = world.page()
    for asset in world.assets:
        earlier.put(asset)
    world.page().put(world.assets[0])
    told = world.refused(earlier.publish, Exit.PARTLY_PUBLISHED)
    assert "another run" in told
    assert not world.server.public
    world.release()
    assert world.is_public_as_sealed()


@pytest.mark.parametrize("request_of_publishing", range(4))
def test_a_draft_that_is_taken_over_while_it_is_published_is_left_to_the_later_run(
    world: World, request_of_publishing: int
) -> None:
    earlier = world.page()
    for asset in world.assets:
        earlier.put(asset)
    calm = [Fault()] * request_of_publishing  # the list, its assets, the tag, the draft
    world.server.plan = on(lambda _: True, *calm, Fault(run=lambda: world.page().put(world.assets[0])))
    assert "another run" in world.refused(earlier.publish, Exit.PARTLY_PUBLISHED)
    assert not world.server.public


def test_an_upload_under_way_cannot_become_public_while_a_later_run_deletes_it(world: World) -> None:
    """The earlier run's upload ends, and it goes on to publish, in the moment before the later run's delete arrives."""
    begun, go_on = Event(), Event()
    earlier = world.page()

    def finish() -> str:
        for asset in reversed(world.assets):
            earlier.put(asset)
        return world.refused(earlier.publish, Exit.PARTLY_PUBLISHED)

    def suspend() -> None:
        begun.set()
        go_on.wait(10)

    with ThreadPoolExecutor(1) as pool:
        world.server.plan = on(lambda seen: seen.query.get("name") == FIRST, Fault(during=suspend))
        told = pool.submit(finish)
        assert begun.wait(10)

        def resume() -> None:
            go_on.set()
            assert "another run" in told.result(10)

        world.server.plan = on(lambda seen: seen.method == "DELETE", Fault(run=resume))
        world.release()
    assert told.done()
    (release,) = world.server.public
    assert world.server.contents(release["id"]) == FILES
    assert world.server.violations == []


def test_notes_that_are_published_in_the_moment_of_taking_over_are_put_back(world: World) -> None:
    first = world.page()
    for asset in world.assets:
        first.put(asset)

    def publish() -> None:
        first.publish()

    world.server.plan = on(undrafts, Fault(run=publish))
    world.release()
    assert world.is_public_as_sealed()


def test_a_host_without_digests_is_downloaded_from_once(world: World) -> None:
    world.server.digests = False
    world.release()
    assert world.is_public_as_sealed()
    assert world.server.count("GET", "/storage") == 3
    assert world.server.violations == []


def test_a_download_that_breaks_is_taken_again(world: World) -> None:
    world.server.digests = False
    world.server.plan = on(lambda seen: seen.path.startswith("/storage"), Fault(reset="answer"), Fault(reset="answer"))
    world.release()
    assert world.is_public_as_sealed()


@pytest.mark.parametrize(
    ("published", "changes", "latest"),
    [
        (["v0.9", "v0.9.1"], {}, True),
        (["v0.9", "v1.1"], {}, False),
        (["nightly", "v1.0rc1"], {}, True),
        (["v0.9"], {"prerelease": True}, False),
        (["release-2.0"], {"version_of": lambda tag: tag.removeprefix("release-")}, False),
    ],
)
def test_only_the_newest_version_becomes_the_latest(
    world: World, published: list[str], changes: dict[str, Any], *, latest: bool
) -> None:
    for tag in published:
        world.server.latest = world.server.add_release(tag)
    world.release(**changes)
    newest = next(release["id"] for release in world.server.public if release["tag_name"] == "v1.0")
    assert (world.server.latest == newest) is latest


def test_a_tag_that_points_elsewhere_is_a_conflict(world: World) -> None:
    world.server.tags["v1.0"] = ("tag", "a" * 40)
    world.server.tag_objects["a" * 40] = ("commit", "2" * 40)
    told = world.refused(world.release, Exit.CONFLICT)
    assert COMMIT in told
    assert "2" * 40 in told
    assert not world.server.releases


def test_a_tag_that_moves_in_the_middle_is_a_conflict(world: World) -> None:
    world.server.plan = on(uploads, Fault(run=lambda: world.server.tags.update({"v1.0": ("commit", "2" * 40)})))
    world.refused(world.release, Exit.CONFLICT)
    assert not world.server.public


def test_a_file_that_changed_since_it_was_sealed_never_arrives(world: World) -> None:
    world.assets[0].path.write_bytes(b"wheel 0ne")
    told = world.refused(world.release, Exit.REFUSED)
    assert "no longer" in told
    assert not world.server.stored
    world.assets[0].path.write_bytes(FILES[FIRST])
    world.release()
    assert world.is_public_as_sealed()


def test_a_name_that_the_host_changes_in_its_own_way_is_recognised(world: World, tmp_path: Path) -> None:
    assets = sealed(tmp_path, {"notes ~ of 1.txt": b"notes", "caf\u00e9.txt": b"coffee"})
    world.release(assets=assets)
    stored = {name for _, name, _ in world.server.stored}
    assert not stored & {asset.name for asset in assets}
    page = world.release(assets=assets)
    assert set(page.listing()) == {asset.name for asset in assets}
    assert len(world.server.stored) == 2


def test_a_draft_that_is_deleted_in_the_middle_is_made_again(world: World) -> None:
    def delete() -> None:
        with world.server.lock:
            world.server.releases.clear()
            world.server.assets.clear()

    world.server.plan = on(uploads, None, Fault(run=delete))
    told = world.refused(world.release, Exit.PARTLY_PUBLISHED)
    assert FIRST in told
    world.release()
    assert world.server.violations == []
    assert world.server.contents(world.server.public[0]["id"]) == FILES


def test_the_mark_is_invisible_and_leaves_with_the_draft(world: World) -> None:
    world.page().put(world.assets[0])
    (draft,) = world.server.releases.values()
    assert draft["body"].startswith("What is new\n\n<!-- wainwright ")
    assert unmarked(draft["body"]) == "What is new"
    world.release()
    assert world.is_public_as_sealed()
