from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import native
import releases
from misbehaving import Fault
from releases import Trial
from strict_github import OWNER, REPO
from tagged import Tagged, git, tagged
from wainwright.errors import Exit, WainwrightError
from wainwright.sessions import preflight, publish, release, report
from wainwright.sessions.graph import Selection
from wainwright.sessions.options import Options
from wainwright.sessions.pipeline import Pipeline
from wainwright.sessions.releasing import command

PASSWORD = "correct-horse-7391"  # noqa: S105


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tagged]:
    toml = releases.TOML.replace('repository = "owner/demo"', 'repository = "owner/demo"\nindex = true')
    with tagged(tmp_path, password=PASSWORD, toml=toml) as made:
        made.speak(monkeypatch)
        yield made


def pipeline(world: Tagged, **options: object) -> Pipeline:
    return world.pipeline(**options)


def go(world: Tagged, **options: object) -> None:
    publish.run(pipeline(world, **options), Selection())


def test_a_whole_release(world: Tagged, capsys: pytest.CaptureFixture[str]) -> None:
    preflight.run(pipeline(world), Selection())
    go(world)
    report.run(pipeline(world), Selection())
    release.run(pipeline(world), Selection())
    out, err = capsys.readouterr()
    assert "nothing stands in the way of v1.0 at internal, page" in err
    assert "release: v1.0 is complete: 1 wheel at internal, 2 wheels at page" in err
    wheel = world.trial.wheel("full")
    assert world.index.files == {wheel.name: wheel.read_bytes()}
    (public,) = world.github.public
    names = set(world.github.contents(public["id"]))
    assert {"SHA256SUMS", "manifest.json", wheel.name, f"{wheel.name}.metadata"} <= names
    assert public["body"].startswith("- the first\n\n## Wheels")
    assert f"{wheel.name}  public" in out
    assert (world.trial.wheelhouse / "pages" / "page" / "reduced" / "demo" / "index.html").exists()
    assert "reduced" in (world.trial.wheelhouse / "report.md").read_text()


def reported(world: Tagged, *words: str) -> str:
    work = replace(pipeline(world), options=Options(words=words))
    report.run(work, Selection())
    return (world.trial.wheelhouse / "report.md").read_text()


def test_the_report_without_a_tag_is_of_the_wheels_at_hand(world: Tagged) -> None:
    assert "Nothing is sealed yet." in reported(world)
    go(world)
    assert reported(world) == reported(world, "v1.0")
    assert "internal: public, " in reported(world)
    wheels = [world.trial.wheel(variant) for variant in ("full", "reduced")]
    for wheel in wheels:
        releases.make_wheel(wheel, says="of the next release")
    world.prove()
    assert "Nothing is sealed yet." in reported(world)
    assert "internal: public, " in reported(world, "v1.0")


def test_the_report_of_what_was_let_go_says_so(world: Tagged) -> None:
    go(world)
    shutil.rmtree(world.trial.wheelhouse / "sealed")
    with pytest.raises(WainwrightError) as caught:
        reported(world, "v1.0")
    assert "its receipts were let go" in caught.value.what


def test_again_writes_nothing(world: Tagged) -> None:
    go(world)
    writes = world.writes
    go(world)
    assert world.writes == writes + 1, "the probe of the index"


def test_a_dry_run_says_all_that_it_would_do(world: Tagged, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(path for path in world.root.rglob("*") if ".git/" not in str(path))
    go(world, dry_run=True)
    err = capsys.readouterr().err
    assert "v1.0 would be sealed" in err
    for said in ("create a draft", "upload demo-1.0", "upload SHA256SUMS", "make the release public"):
        assert f"would {said}" in err
    assert world.writes == 1, "the probe of the index"
    after = sorted(path for path in world.root.rglob("*") if ".git/" not in str(path))
    assert [path for path in after if path not in before and "dist" not in path.parts] == []


def test_a_dry_run_before_the_wheels_are_proven(world: Tagged, capsys: pytest.CaptureFixture[str]) -> None:
    world.trial.receipts.remove(world.trial.job("full").id, "smoke", "debian10")
    go(world, dry_run=True)
    assert "smoke in debian10: there is no receipt" in capsys.readouterr().err


def test_only_one_destination(world: Tagged) -> None:
    go(world, only="internal")
    assert len(world.index.files) == 1
    assert world.github.public == []
    go(world, only="page")
    assert len(world.github.public) == 1


def test_a_part_of_the_destinations_is_not_called_complete(world: Tagged, capsys: pytest.CaptureFixture[str]) -> None:
    go(world, only="internal")
    release.run(pipeline(world, only="internal"), Selection())
    assert "release: v1.0: 1 wheel at internal; left out this time: page" in capsys.readouterr().err


def test_a_part_of_the_jobs_is_no_release(world: Tagged) -> None:
    with pytest.raises(WainwrightError) as caught:
        go(world, only="full-*")
    assert "the whole declared set" in caught.value.what
    assert caught.value.code is Exit.USAGE


def test_a_tag_is_asked_for(world: Tagged) -> None:
    with pytest.raises(WainwrightError) as caught:
        publish.run(Pipeline(release=world.trial.release, options=Options()), Selection())
    assert caught.value.code is Exit.USAGE


def test_what_is_not_proven_is_not_published(world: Tagged) -> None:
    world.trial.write(world.trial.job("full"), "audit", publishable=False)
    with pytest.raises(WainwrightError) as caught:
        go(world)
    assert caught.value.code is Exit.REFUSED
    assert world.index.files == {}
    assert world.github.public == []


def test_a_wheel_changed_after_the_seal_stops_it(world: Tagged) -> None:
    go(world, only="internal")
    wheel = world.trial.wheel("reduced")
    wheel.write_bytes(wheel.read_bytes() + b"\0")
    writes = world.writes
    with pytest.raises(WainwrightError) as caught:
        go(world)
    assert caught.value.code is Exit.REFUSED
    assert "this is not what it was sealed with" in caught.value.what
    assert world.writes == writes


def test_a_lost_seal_of_what_is_public_is_found_first(world: Tagged) -> None:
    go(world)
    for name in ("manifest.json", "seals/v1.0.json"):
        (world.trial.wheelhouse / name).unlink()
    trial: Trial = world.trial
    releases.make_wheel(trial.wheel("full"), says="built again")
    world.prove()
    with pytest.raises(WainwrightError) as caught:
        go(world)
    assert caught.value.code in {Exit.CONFLICT, Exit.REFUSED}
    assert "is another file" in str(caught.value)
    assert not (world.trial.wheelhouse / "manifest.json").exists()


def test_a_lost_wheelhouse_is_put_back_as_the_hint_says(world: Tagged, tmp_path: Path) -> None:
    go(world)
    wheelhouse, saved = world.trial.wheelhouse, tmp_path / "saved" / "wheelhouse"
    shutil.copytree(wheelhouse, saved)
    shutil.rmtree(wheelhouse)
    with pytest.raises(WainwrightError) as caught:
        preflight.run(pipeline(world), Selection())
    assert caught.value.code is Exit.CONFLICT
    assert str(caught.value).count("put back wheelhouse/sealed/v1.0/ and wheelhouse/seals/v1.0.json from") == 2
    shutil.copytree(saved / "sealed" / "v1.0", wheelhouse / "sealed" / "v1.0")
    (wheelhouse / "seals").mkdir()
    shutil.copy2(saved / "seals" / "v1.0.json", wheelhouse / "seals")
    preflight.run(pipeline(world), Selection())
    public = list(world.github.public)
    go(world)
    assert world.github.public == public


def second(world: Tagged) -> tuple[str, ...]:
    """Have 1.1 tagged, pushed and proven; give what its pipeline is told."""
    pyproject = world.root / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace("1.0", "1.1"))
    git(world.root, "commit", "--quiet", "--all", "-m", "1.1")
    git(world.root, "tag", "-a", "v1.1", "-m", "1.1")
    git(world.root, "push", "--quiet", "origin", "main", "v1.1")
    world.github.tags["v1.1"] = ("commit", git(world.root, "rev-parse", "HEAD"))
    for variant in ("full", "reduced"):
        old = world.trial.wheel(variant)
        releases.make_wheel(old.with_name(old.name.replace("-1.0", "-1.1")), says=f"{variant} 1.1")
        old.unlink()
    world.prove("v1.1")
    return ("v1.1",)


def listed(page: Path) -> list[str]:
    return json.loads((page / "demo" / "index.json").read_text())["versions"]  # type: ignore[no-any-return]


def test_a_refusal_in_the_middle_tells_what_is_public_and_how_the_others_are_finished(world: Tagged) -> None:
    world.index.faults = ["", *["503"] * 40]  # the first request is the probe
    with pytest.raises(WainwrightError):
        go(world)
    world.index.faults = []
    wheel = world.trial.wheel("full").name
    world.index.files[wheel] = b"of somebody else"
    for session in (preflight, publish):
        with pytest.raises(WainwrightError) as caught:
            session.run(pipeline(world), Selection())
        assert caught.value.code is Exit.CONFLICT
        assert "nothing is public" in caught.value.details
        assert f"  internal: {wheel} (something else is there)" in caught.value.details
        assert f"  page: {wheel} (in the draft)" in caught.value.details
        assert caught.value.hint.endswith("publish -- v1.0 --skip internal")
    go(world, skip=("internal",))
    assert len(world.github.public) == 1
    with pytest.raises(WainwrightError) as caught:
        preflight.run(pipeline(world), Selection())
    assert f"  page: {wheel}" in caught.value.details
    assert "to finish" not in str(caught.value)


def test_the_index_lists_what_was_released_elsewhere(world: Tagged, capsys: pytest.CaptureFixture[str]) -> None:
    go(world)
    index = world.trial.wheelhouse / "pages" / "page"
    before = (index / "index.html").read_bytes(), (index / "reduced" / "demo" / "index.json").read_bytes()
    shutil.rmtree(index.parent)  # as on another machine
    go(world)
    assert before == ((index / "index.html").read_bytes(), (index / "reduced" / "demo" / "index.json").read_bytes())
    shutil.rmtree(index.parent)
    world.github.add_asset(world.github.add_release("v0.9"), "manifest.json", b"of another program")
    words = second(world)
    publish.run(world.pipeline(*words), Selection())
    assert listed(index) == ["1.0", "1.0+reduced", "1.1", "1.1+reduced"]
    assert listed(index / "reduced") == ["1.0+reduced", "1.1+reduced"]
    assert "page: the index lists v1.0, too" in capsys.readouterr().err
    reads = world.github.count("GET", "/storage")
    publish.run(world.pipeline(*words), Selection())
    assert world.github.count("GET", "/storage") == reads + 1, "what is listed is not read again"


def test_what_the_branch_lists_is_listed_here_and_what_is_listed_here_is_pushed(world: Tagged) -> None:
    pages = pushed_to(world)
    go(world)
    words = second(world)
    publish.run(world.pipeline(*words, push=True), Selection())
    pushed = json.loads(git(pages, "show", "gh-pages:demo/index.json"))
    assert pushed["versions"] == ["1.0", "1.0+reduced", "1.1", "1.1+reduced"]
    index = world.trial.wheelhouse / "pages" / "page"
    shutil.rmtree(index)
    reads = world.github.count("GET", "/storage")
    publish.run(world.pipeline(*words, push=True), Selection())
    assert listed(index) == pushed["versions"]
    assert world.github.count("GET", "/storage") == reads, "the branch tells it"


def test_the_index_is_pushed_where_asked(world: Tagged) -> None:
    with pytest.raises(WainwrightError, match="no git remote leads to octo/demo") as caught:
        go(world, push=True)
    assert (caught.value.code, world.index.files, world.github.releases) == (Exit.REFUSED, {}, {})
    pages = pushed_to(world)
    go(world, push=True)
    assert "reduced" in git(pages, "show", "gh-pages:reduced/demo/index.html")
    assert git(world.root.parent / "remote.git", "branch", "--list", "gh-pages") == "", "origin is no release page"


def pushed_to(world: Tagged) -> Path:
    """Give the repository of the release page, to which another remote than origin leads."""
    pages = world.root.parent / OWNER / f"{REPO}.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(pages)], check=True)
    git(world.root, "remote", "add", "upstream", str(pages))
    return pages


def test_a_web_site_on_the_branch_is_found_before_anything_is_public(world: Tagged, tmp_path: Path) -> None:
    pages, site = pushed_to(world), tmp_path / "site"
    site.mkdir()
    git(site, "init", "--quiet", "--initial-branch=gh-pages")
    (site / "index.html").write_text("<h1>The documentation of demo</h1>")
    git(site, "add", "--all")
    git(site, "commit", "--quiet", "-m", "the site")
    git(site, "push", "--quiet", str(pages), "gh-pages")
    before = git(pages, "rev-parse", "gh-pages")
    for dry_run in (True, False):
        with pytest.raises(WainwrightError) as caught:
            go(world, push=True, dry_run=dry_run)
        assert (caught.value.code, caught.value.where) == (Exit.CONFLICT, "gh-pages: index.html")
    assert (world.index.files, world.github.releases) == ({}, {})
    assert git(pages, "rev-parse", "gh-pages") == before


def test_json(world: Tagged, capsys: pytest.CaptureFixture[str]) -> None:
    go(world, json=True)
    (line,) = capsys.readouterr().out.splitlines()
    said = json.loads(line)
    assert {each["state"] for each in said["files"]} == {"public"}


def rebuild(world: Tagged) -> None:
    releases.make_wheel(world.trial.wheel("full"), says="built again")
    world.prove()


def test_reseal_is_refused_once_anything_is_public(world: Tagged) -> None:
    go(world, only="internal")
    rebuild(world)
    before = (world.trial.wheelhouse / "manifest.json").read_bytes()
    for dry_run in (True, False):
        with pytest.raises(WainwrightError) as caught:
            go(world, reseal=True, dry_run=dry_run)
        assert caught.value.code in {Exit.REFUSED, Exit.CONFLICT}
        assert (world.trial.wheelhouse / "manifest.json").read_bytes() == before


def test_reseal_of_what_nobody_can_see_replaces_the_draft(world: Tagged) -> None:
    world.index.faults = ["", *["503"] * 40]  # the first request is the probe
    with pytest.raises(WainwrightError):
        go(world)
    assert len(world.github.releases) == 1, "a draft"
    rebuild(world)
    world.index.faults = []
    with pytest.raises(WainwrightError) as caught:
        go(world)
    assert "is sealed, and this is not what it was sealed with" in caught.value.what
    go(world, reseal=True)
    assert world.index.files == {world.trial.wheel("full").name: world.trial.wheel("full").read_bytes()}
    assert len(world.github.public) == len(world.github.releases) == 1


def build_the_next(world: Tagged) -> None:
    """Tag 1.1, and make its wheels as the stages do: what is there of each job goes first."""
    for name in ("pyproject.toml", "CHANGELOG.md"):
        path = world.root / name
        path.write_text(path.read_text().replace("1.0", "1.1"))
    git(world.root, "commit", "--quiet", "--all", "-m", "1.1")
    git(world.root, "tag", "-a", "v1.1", "-m", "1.1")
    git(world.root, "push", "--quiet", "origin", "main", "v1.1")
    world.github.tags["v1.1"] = ("commit", git(world.root, "rev-parse", "HEAD"))
    for job in world.trial.jobs:
        world.pipeline("v1.1").discard(job)
        name = job.filename("demo", "1.1").replace("-*-", f"-{job.python.tag}-")
        releases.make_wheel(world.trial.wheelhouse / job.variant.name / name, says="1.1", sbom=True)
    world.prove("v1.1")


def test_a_half_public_release_is_finished_after_the_next_one(
    world: Tagged, capsys: pytest.CaptureFixture[str]
) -> None:
    first = {wheel.name: wheel.read_bytes() for wheel in map(world.trial.wheel, ("full", "reduced"))}
    world.github.plan = lambda seen: Fault(status=401, store="none") if seen.method == "PATCH" else None
    go(world, only="internal")
    with pytest.raises(WainwrightError):
        go(world)
    world.github.plan = lambda _: None
    assert (len(world.index.files), world.github.public) == (1, [])
    build_the_next(world)
    publish.run(world.pipeline("v1.1"), Selection())
    git(world.root, "checkout", "--quiet", "v1.0")
    capsys.readouterr()
    go(world)
    report.run(pipeline(world), Selection())
    assert [page["tag_name"] for page in world.github.public] == ["v1.0", "v1.1"]
    page = next(page for page in world.github.public if page["tag_name"] == "v1.0")
    held = world.github.contents(page["id"])
    assert {name: data for name, data in held.items() if name.endswith(".whl")} == first
    assert "report: 2 of 2 jobs proven" in capsys.readouterr().err


def test_a_manifest_that_is_cut_short_is_mended_by_its_copy(world: Tagged) -> None:
    go(world, only="internal")
    path = world.trial.wheelhouse / "manifest.json"
    whole = path.read_bytes()
    path.write_bytes(whole[:300])
    preflight.run(pipeline(world), Selection())
    go(world)
    assert path.read_bytes() == whole
    assert len(world.github.public) == 1


def test_what_proves_a_sealed_wheel_is_asked_before_every_upload(world: Tagged) -> None:
    go(world, only="internal")
    kept = world.trial.wheelhouse / "sealed" / "v1.0" / "receipts"
    (kept / f"{world.trial.job('reduced').id}.smoke.centos7.json").unlink()
    writes = world.writes
    with pytest.raises(WainwrightError) as caught:
        go(world, only="page")
    assert caught.value.code is Exit.REFUSED
    assert "the receipt with which demo-1.0+reduced" in str(caught.value)
    assert "is gone" in str(caught.value)
    assert "seal anew with --reseal if nothing is public yet; else release another version" in caught.value.hint
    assert world.writes == writes


def test_the_command_that_finishes_has_what_is_still_to_be_done(world: Tagged) -> None:
    def hint(**options: object) -> str:
        world.index.faults = ["", *["503"] * 40]  # the first request is the probe
        with pytest.raises(WainwrightError) as caught:
            go(world, **options)
        return caught.value.hint

    pushed_to(world)
    assert hint(push=True).endswith("publish -- v1.0 --push")
    assert hint(only="internal", skip=("page",)).endswith("publish -- v1.0 --only internal --skip page")
    assert hint(reseal=True).endswith("publish -- v1.0"), "it is sealed anew by now"
    finishing = command(pipeline(world, reseal=True, dry_run=True), "publish")
    assert finishing.endswith("publish -- v1.0 --reseal"), "a dry run has sealed nothing"


def test_skipped_destinations_wait(world: Tagged) -> None:
    go(world, skip=("page",))
    assert (len(world.index.files), world.github.releases) == (1, {})
    with pytest.raises(WainwrightError) as caught:
        go(world, skip=("page", "internal"))
    assert caught.value.code is Exit.NOTHING_SELECTED
    with pytest.raises(WainwrightError) as caught:
        go(world, skip=("pages",))
    assert caught.value.code is Exit.USAGE


PROGRAM = """
from pathlib import Path
from wainwright.clock import Clock
from wainwright.declaration import config
from wainwright.sessions import publish
from wainwright.sessions.graph import Selection
from wainwright.sessions.options import Options
from wainwright.sessions.pipeline import Pipeline
clock = Clock(sleep=lambda _: None)
release, options = config.load(Path("release.toml")), Options(words=("v1.0",))
publish.run(Pipeline(release=release, options=options, clock=clock), Selection())
"""


@pytest.mark.parametrize("step", [1, 4, 7, 9])
def test_killed_at_any_step_the_next_run_finishes(world: Tagged, step: int) -> None:
    """The step is the number of the write, to the index or to GitHub, after which the process is killed for good."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=world.root, stderr=subprocess.DEVNULL)
    try:
        while process.poll() is None and world.writes < step:
            time.sleep(0.005)
    finally:
        process.kill()
        process.wait()
    assert world.writes >= step
    assert not world.github.public or len(world.index.files) == 1
    go(world)
    wheel = world.trial.wheel("full")
    assert world.index.files == {wheel.name: wheel.read_bytes()}
    (public,) = world.github.public
    assert len(world.github.contents(public["id"])) == 8
    assert len(world.github.releases) == 1
    assert world.github.violations == []
    assert not any(path.name.startswith(".tmp") for path in world.trial.wheelhouse.rglob("*"))


DESCRIBED = 'readme = { text = "A demo.", content-type = "text/plain" }\n'


def refused(world: Tagged) -> str:
    with pytest.raises(WainwrightError) as caught:
        preflight.run(pipeline(world), Selection())
    assert caught.value.code == Exit.REFUSED
    return str(caught.value)


def commit(world: Tagged) -> None:
    """Move the tag to what the folder holds now."""
    git(world.root, "commit", "--quiet", "--all", "-m", "more")
    git(world.root, "tag", "-f", "-a", "v1.0", "-m", "1.0")
    git(world.root, "push", "--quiet", "--force", "origin", "main", "v1.0")
    world.github.tags["v1.0"] = ("commit", git(world.root, "rev-parse", "HEAD"))


def test_preflight_looks_at_what_is_stated_before_anything_is_built(world: Tagged) -> None:
    shutil.rmtree(world.trial.wheelhouse)
    preflight.run(pipeline(world), Selection())
    pyproject = world.root / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace(DESCRIBED, ""))
    commit(world)
    assert "[project] of pyproject.toml: twine check --strict will fail" in refused(world)


def test_a_tag_is_built_from_what_its_commit_has(world: Tagged, capsys: pytest.CaptureFixture[str]) -> None:
    tracked = world.root / "pyproject.toml"
    before = tracked.read_text()
    git(world.root, "update-index", "--assume-unchanged", tracked.name)
    tracked.write_text(f"{before}# EDITED, NEVER COMMITTED\n")
    of_tag, of_tree = pipeline(world), Pipeline(release=world.trial.release, options=Options())
    with of_tag.swept():
        assert (of_tag.source.path / tracked.name).read_text() == before
    assert "not built, since v1.0 is built from commit" in capsys.readouterr().err
    with of_tree.swept():
        assert (of_tree.source.path / tracked.name).read_text() == tracked.read_text()
    assert "git was told not to look at these files" in refused(world)


def test_preflight_has_twine_look_at_the_wheels_that_are_there(world: Tagged) -> None:
    wheel = world.trial.wheel("full")
    head = b"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nDescription-Content-Type: text/x-rst\n"
    native.wheel(wheel, {"demo-1.0.dist-info/METADATA": head + b"\nHello\n==\n\n`broken\n"})
    world.prove()
    assert f"{wheel.name}: twine check --strict fails" in refused(world)
    # A wheel of an earlier commit is going to be built again.
    (world.root / "more.txt").write_text("more")
    git(world.root, "add", "more.txt")
    commit(world)
    preflight.run(pipeline(world), Selection())


def test_preflight_names_what_makes_a_wheel_too_large(world: Tagged) -> None:
    releases.make_wheel(world.trial.wheel("full"), padding=2000)
    world.prove()
    index = replace(world.trial.release.publish["internal"], max_size=1000)
    release_toml = replace(world.trial.release, publish={**world.trial.release.publish, "internal": index})
    with pytest.raises(WainwrightError) as caught:
        preflight.run(replace(pipeline(world), release=release_toml), Selection())
    assert "1.0 kB is the limit there" in str(caught.value)
    assert "demo/data.bin" in str(caught.value)
