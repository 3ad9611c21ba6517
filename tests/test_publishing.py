from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import releases
import servers
from misbehaving import Fault, Seen
from servers import Small
from strict_github import COMMIT, OWNER, REPO, TOKEN, StrictGitHub
from twine_here import run
from wainwright.declaration.release import Destination
from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.destinations import Asset
from wainwright.hosts.github import GitHub
from wainwright.hosts.index import Index, connect
from wainwright.hosts.patience import Patience
from wainwright.hosts.releasepage import ReleasePage
from wainwright.hosts.wanted import Wanted
from wainwright.receipts import Artifact
from wainwright.releasing.journal import Journal
from wainwright.releasing.publication import Row, State, failure, table
from wainwright.releasing.publishing import Publication, Site

PASSWORD = "correct-horse-7391"  # noqa: S105
COMMAND = "nox -s publish -- v1.0"


def asset(path: Path) -> Asset:
    made = Artifact.of(path)
    return Asset(name=path.name, path=path, size=made.size, sha256=made.sha256)


@dataclass
class World:
    """An index and a GitHub on loopback, and the sealed files."""

    index: Small
    github: StrictGitHub
    folder: Path
    assets: tuple[Asset, ...]
    said: list[str] = field(default_factory=list)
    open: ExitStack = field(default_factory=ExitStack)

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    def sites(self) -> tuple[Site, ...]:
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder)}
        environ |= {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
        environ |= {"TWINE_USERNAME": servers.USER, "TWINE_PASSWORD": PASSWORD}
        declared = Destination(name="internal", kind="index", url=self.index.upload)
        index = connect(
            declared, project="demo", run=run, log=self.logs / "internal", environ=environ, pause=self.sleep
        )
        patience = Patience(attempts=3, pause=0, sleep=self.sleep)
        github = GitHub(f"{OWNER}/{REPO}", token=TOKEN, api_url=self.github.api_url, patience=patience)
        self.open.enter_context(github)
        wanted = Wanted(tag="v1.0", version="1.0", commit=COMMIT, title="demo 1.0", notes="notes", assets=self.assets)
        page = ReleasePage(github, wanted)
        sites: dict[str, Index | ReleasePage] = {"internal": index, "page": page}
        return tuple(Site(name=name, remote=remote, assets=self.assets) for name, remote in sites.items())

    def publication(self, *, dry_run: bool = False, only: str = "") -> Publication:
        return Publication(
            sites=[site for site in self.sites() if only in site.name],
            journal=Journal.open(self.folder / "journal.json", "v1.0"),
            say=self.said.append,
            command=COMMAND,
            dry_run=dry_run,
            pause=self.sleep,
        )

    def sleep(self, seconds: float) -> None:
        """No test waits."""

    @property
    def public(self) -> dict[str, str]:
        """What stands on the public release page, by name, with digests."""
        release = next(iter(self.github.public), None)
        contents = self.github.contents(release["id"]) if release else {}
        return {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}

    @property
    def writes(self) -> int:
        """How many requests wanted to change something on GitHub."""
        return sum(self.github.count(method, ".*") for method in ("POST", "PATCH", "DELETE"))

    @property
    def sealed(self) -> dict[str, str]:
        return {asset.name: asset.sha256 for asset in self.assets}

    @property
    def indexed(self) -> dict[str, str]:
        return {name: hashlib.sha256(data).hexdigest() for name, data in self.index.files.items()}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    names = [f"demo-1.0-cp3{minor}-cp3{minor}-manylinux_2_17_x86_64.whl" for minor in (10, 11, 12)]
    assets = tuple(asset(releases.make_wheel(tmp_path / "wheels" / name, says=name)) for name in names)
    with Small(password=PASSWORD).running() as index, StrictGitHub() as github:
        made = World(index=index, github=github, folder=tmp_path, assets=assets)
        with made.open:
            yield made


def test_all_of_it_arrives_in_the_one_safe_order(world: World) -> None:
    seen: list[tuple[str, int]] = []

    def watch(request: Seen) -> Fault | None:
        if request.writes:
            seen.append((request.method, len(world.index.files)))
        return None

    world.github.plan = watch
    rows = world.publication().run()
    assert world.public == world.indexed == world.sealed
    assert {row.state for row in rows} == {State.PUBLIC}
    assert seen[-1] == ("PATCH", 3), "made public when the index was full"
    assert all(indexed == 0 for method, indexed in seen if method == "POST"), "the draft was complete before"


def test_again_costs_no_upload_and_one_listing(world: World) -> None:
    world.publication().run()
    uploads, listings = world.index.uploads, world.index.listings
    writes = world.writes
    world.publication().run()
    assert world.index.uploads == uploads
    assert world.index.listings == listings + 1
    assert world.writes == writes


def test_a_lost_journal_changes_nothing(world: World) -> None:
    world.publication(only="internal").run()
    for text in (None, "{", "[]", '{"format": 1, "tag": "v1.0", "destinations": 3}'):
        path = world.folder / "journal.json"
        path.unlink() if text is None else path.write_text(text)
        uploads = world.index.uploads
        world.publication(only="internal").run()
        assert world.index.uploads == uploads


def test_the_journal_tells_what_was_done_and_when(world: World) -> None:
    world.publication().run()
    entries = json.loads((world.folder / "journal.json").read_text())["destinations"]
    first = world.assets[0]
    assert entries["internal"][first.name].keys() == {"sha256", "sent", "uploaded", "verified"}
    assert "published" in entries["page"][""]


def test_what_has_vanished_is_told(world: World) -> None:
    world.publication(only="internal").run()
    del world.index.files[world.assets[0].name]
    world.said.clear()
    world.publication(only="internal").run()
    assert any("and is gone" in line for line in world.said)
    assert world.indexed == world.sealed


def test_the_same_command_uploads_only_what_is_missing(world: World) -> None:
    world.index.faults = ["", "503", *["503"] * 40]
    with pytest.raises(WainwrightError) as caught:
        world.publication().run()
    error = caught.value
    assert error.code is Exit.PARTLY_PUBLISHED
    assert error.hint.endswith(f"to finish: {COMMAND}")
    assert f"  internal: {world.assets[0].name}" in error.details
    assert f"  internal: {world.assets[1].name} (not there)" in error.details
    assert world.github.public == [], "the draft stays a draft"
    world.index.faults = []
    before = world.index.uploads
    world.publication().run()
    assert world.index.uploads - before == 2
    assert world.public == world.indexed == world.sealed


def test_retries_exhausted_with_nothing_public(world: World) -> None:
    world.index.faults = ["503"] * 40
    with pytest.raises(WainwrightError) as caught:
        world.publication(only="internal").run()
    assert caught.value.code is Exit.RETRIES_EXHAUSTED
    assert "nothing is public" in caught.value.details


def test_another_file_under_a_name_stops_everything_before_any_write(world: World) -> None:
    world.index.files[world.assets[2].name] = b"another"
    with pytest.raises(WainwrightError) as caught:
        world.publication().run()
    assert caught.value.code is Exit.CONFLICT
    assert world.assets[2].sha256 in str(caught.value)
    assert hashlib.sha256(b"another").hexdigest() in str(caught.value)
    assert world.index.uploads == 0
    assert world.writes == 0


def test_every_conflict_is_named(world: World) -> None:
    for each in world.assets:
        world.index.files[each.name] = b"another"
    with pytest.raises(WainwrightError) as caught:
        world.publication().run()
    assert caught.value.code is Exit.CONFLICT
    assert all(each.sha256 in str(caught.value) for each in world.assets)


def test_a_dry_run_reads_all_and_writes_nothing(world: World) -> None:
    world.publication(dry_run=True).run()
    assert world.index.uploads == 0
    assert world.writes == 0
    assert sum("would upload" in line for line in world.said) == 6
    assert "page: would create a draft" in world.said
    assert "page: would make the release public" in world.said
    assert not (world.folder / "journal.json").exists()


def test_a_dry_run_of_what_is_done_would_do_nothing(world: World) -> None:
    world.publication().run()
    world.said.clear()
    world.publication(dry_run=True).run()
    assert not any("would" in line for line in world.said)


def test_each_destination_resumes_alone(world: World) -> None:
    world.publication(only="page").run()
    assert (world.public, world.indexed) == (world.sealed, {})
    world.publication(only="internal").run()
    assert world.indexed == world.sealed


def test_one_index_that_fails_does_not_hold_up_another(world: World, tmp_path: Path) -> None:
    with Small(password="another one").running() as closed:  # noqa: S106
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TWINE_USERNAME": "me", "TWINE_PASSWORD": PASSWORD}
        declared = Destination(name="closed", kind="index", url=closed.upload)
        other = connect(declared, project="demo", run=run, log=tmp_path / "log2", environ=environ, pause=world.sleep)
        publication = world.publication()
        publication.sites = [Site(name="closed", remote=other, assets=world.assets), *publication.sites]
        with pytest.raises(WainwrightError) as caught:
            publication.run()
    assert caught.value.code is Exit.PARTLY_PUBLISHED
    assert "does not let me in (403)" in caught.value.what, "the cause is named"
    assert world.indexed == world.sealed
    assert world.github.public == []


def broken_off(publication: Publication) -> WainwrightError:
    with pytest.raises(WainwrightError) as caught:
        publication.run()
    return caught.value


def unseen(world: World, error: WainwrightError) -> bool:
    """Say whether an error tells that all files were uploaded to the index, and not that any is public, or is not."""
    told = ["uploaded, and not seen there yet:", *(f"  internal: {asset.name}" for asset in world.assets)]
    return error.code is Exit.PARTLY_PUBLISHED and error.details == tuple(told) and "does not show" in error.what


def test_what_an_index_does_not_show_is_not_taken_for_done(world: World) -> None:
    world.index.swallows = True
    assert unseen(world, broken_off(world.publication(only="internal")))
    error = broken_off(world.publication(only="internal"))
    assert unseen(world, error)
    assert world.index.uploads == 3
    journal = world.folder / "journal.json"
    assert f"if it has lost that, delete {journal} first" in error.hint
    journal.unlink()
    world.index.swallows = False
    world.publication(only="internal").run()
    assert world.indexed == world.sealed


def test_what_was_uploaded_is_not_uploaded_again_while_the_page_is_stale(world: World) -> None:
    world.index.stale = True
    assert unseen(world, broken_off(world.publication(only="internal")))
    world.said.clear()
    error = broken_off(world.publication())
    assert error.code is Exit.PARTLY_PUBLISHED
    assert "nothing is public" not in str(error)
    assert any("is not seen there yet: it is waited for" in line for line in world.said)
    assert world.github.public == []
    publication = world.publication()
    pauses = iter(range(2))

    def pause(_: float) -> None:
        world.index.stale = next(pauses, None) is not None

    publication.pause = pause
    publication.run()
    assert world.public == world.indexed == world.sealed
    assert world.index.uploads == 3


def test_a_page_that_leads_to_another_host_is_named(world: World) -> None:
    world.index.moved = f"{world.index.url.replace('127.0.0.1', 'localhost')}/simple/"
    for _ in range(2):
        error = broken_off(world.publication(only="internal"))
        assert unseen(world, error)
        assert "leads to localhost, which counts as another index" in error.hint
    assert world.index.uploads == 3


def test_a_journal_that_cannot_be_written_holds_nothing_up(world: World) -> None:
    (world.folder / "journal.json").mkdir()
    (world.logs / "internal").mkdir(parents=True)
    world.publication().run()
    assert world.public == world.indexed == world.sealed
    assert sum("journal.json cannot be written" in line for line in world.said) == 1


def test_what_the_system_refuses_in_the_middle_leaves_with_what_is_public(world: World) -> None:
    publication = world.publication(only="internal")

    def fill(line: str) -> None:
        if "uploaded" in line:
            shutil.rmtree(world.logs)
            world.logs.write_text("a file where a folder was")

    publication.say = fill
    error = broken_off(publication)
    assert error.code is Exit.PARTLY_PUBLISHED
    assert (error.what, error.where) == ("File exists", str(world.logs))
    assert f"  internal: {world.assets[0].name}" in error.details
    assert f"  internal: {world.assets[1].name} (not there)" in error.details
    assert error.hint.endswith(f"to finish: {COMMAND}")
    world.logs.unlink()
    world.publication().run()
    assert world.public == world.indexed == world.sealed
    assert world.index.uploads == 3


def test_a_file_that_somebody_added_to_the_public_release_is_told_before_anything_is_written(world: World) -> None:
    world.publication(only="page").run()
    (release,) = world.github.public
    world.github.add_asset(release["id"], "demo-1.0-py3-none-any.whl", b"by somebody")
    for dry_run in (True, False):
        error = broken_off(world.publication(dry_run=dry_run))
        assert error.code is Exit.CONFLICT
        assert "demo-1.0-py3-none-any.whl" in error.details
        assert "to finish" not in error.hint, "no command finishes that"
    assert world.index.uploads == 0


@pytest.mark.parametrize("status", [401, 403, 404, 422, 503])
def test_partly_published_is_called_so_whatever_has_broken_it_off(world: World, status: int) -> None:
    body = {"message": "no, thank you", "errors": [{"code": "invalid", "field": "target_commitish"}]}
    fault = Fault(status=status, store="none", body=body)
    world.github.plan = lambda seen: fault if seen.method == "PATCH" else None
    error = broken_off(world.publication())
    assert error.code is Exit.PARTLY_PUBLISHED
    assert "no, thank you" in error.what, "the cause is named"
    assert error.hint.endswith(f"to finish: {COMMAND}")
    world.github.plan = lambda _: None
    world.publication().run()
    assert world.public == world.indexed == world.sealed


def test_nothing_is_called_public_or_not_that_was_not_looked_at(world: World) -> None:
    world.index.reads = [503] * 20
    error = broken_off(world.publication())
    assert error.code is Exit.RETRIES_EXHAUSTED
    assert "nothing is known to be public" in error.details
    assert f"  internal: {world.assets[0].name} (not looked at)" in error.details


@pytest.mark.parametrize("step", [1, 2, 3, 5, 8, 11, 13])
def test_cut_off_at_any_request_the_next_run_converges(world: World, step: int) -> None:
    count = iter(range(1, 10000))
    world.github.plan = lambda _: Fault(reset="after") if next(count) >= step else None
    with pytest.raises(WainwrightError):
        world.publication().run()
    assert world.github.public == [] or world.public == world.sealed
    world.github.plan = lambda _: None
    world.publication().run()
    assert world.public == world.indexed == world.sealed
    assert world.index.uploads == 3
    assert world.github.violations == []


def test_the_table_names_every_file_with_its_digest(world: World) -> None:
    lines = table(world.publication().run())
    assert lines[0].startswith("internal: http://127.0.0.1")
    assert sum(each.sha256 in line for each in world.assets for line in lines) == 6


def test_a_failure_that_running_again_cannot_mend_keeps_its_code() -> None:
    row = Row(destination="internal", name="demo.whl", sha256="0" * 64, size=1, state=State.PUBLIC)
    made = failure(WainwrightError("no", code=Exit.NOT_AUTHORISED), [row], command="again")
    assert made.code is Exit.NOT_AUTHORISED
    assert made.details == ("public:", "  internal: demo.whl")
    assert made.hint == "to finish: again"


def test_a_destination_with_something_else_is_left_out_by_what_finishes_the_others() -> None:
    def row(name: str, state: State) -> Row:
        return Row(destination=name, name="demo.whl", sha256="0" * 64, size=1, state=state)

    error = WainwrightError("no", code=Exit.CONFLICT, hint="release another version")
    made = failure(error, [row("internal", State.OTHER), row("page", State.DRAFT)], command=COMMAND)
    assert made.hint == f"release another version\nto finish the others: {COMMAND} --skip internal"
    made = failure(error, [row("internal", State.OTHER), row("page", State.PUBLIC)], command=COMMAND)
    assert made.hint == "release another version"
    made = failure(error, [row("internal", State.PUBLIC), row("page", State.STALE)], command=COMMAND)
    assert made.hint == "release another version"


@pytest.mark.parametrize("uploaded", [0, 3])
def test_an_interrupt_tells_what_is_public_and_what_finishes(world: World, uploaded: int) -> None:
    """The signal comes with the first request to GitHub that finds so many files on the index."""

    def interrupt(seen: Seen) -> Fault | None:
        begun = seen.uploads if uploaded == 0 else len(world.index.files) == uploaded
        return Fault(run=lambda: os.kill(os.getpid(), signal.SIGINT), status=503) if begun else None

    world.github.plan = interrupt
    with pytest.raises(WainwrightError) as caught:
        world.publication().run()
    error = caught.value
    assert (error.what, error.code) == ("interrupted", Exit.INTERRUPTED)
    assert error.hint == f"to finish: {COMMAND}"
    assert world.github.public == []
    if uploaded:
        assert error.details[: uploaded + 1] == ("public:", *(f"  internal: {each.name}" for each in world.assets))
        assert f"  page: {world.assets[0].name} (in the draft)" in error.details
    else:
        assert error.details[0] == "nothing is public"
        assert f"  page: {world.assets[0].name} (broken off in the middle)" in error.details
    world.github.plan = lambda _: None
    world.publication().run()
    assert world.public == world.indexed == world.sealed
    assert world.index.uploads == len(world.assets)


def test_two_hundred_files_that_are_there_cost_one_listing_a_page(world: World) -> None:
    assets = []
    for number in range(200):
        path = world.folder / "many" / f"demo-1.0-{number}-py3-none-any.whl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"wheel %d" % number)
        assets.append(asset(path))
    world.assets = tuple(assets)
    world.index.files |= {each.name: each.path.read_bytes() for each in assets}
    release = world.github.add_release("v1.0")
    for each in assets:
        world.github.add_asset(release, each.name, each.path.read_bytes())
    rows = world.publication().run()
    assert {row.state for row in rows} == {State.PUBLIC}
    assert (world.index.uploads, world.index.listings, world.writes) == (0, 1, 0)
    assert world.github.count("GET", r"/releases/\d+/assets") <= 3
    assert world.github.count("GET", r"/releases/assets/") == 0, "nothing is downloaded"
