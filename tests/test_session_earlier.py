"""diff against what is published: real servers, the wheels that the audit leaves, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import native
import releases
import servers
from judging import extension
from misbehaving import Fault
from strict_github import OWNER, REPO, TOKEN, StrictGitHub
from strict_index import StrictIndex
from tagged import tagged
from wainwright.clock import Clock
from wainwright.declaration.config import load
from wainwright.errors import Exit, WainwrightError
from wainwright.receipts import Artifact, Receipt
from wainwright.sessions import diff, publish
from wainwright.sessions.graph import Selection
from wainwright.sessions.options import parse_posargs
from wainwright.sessions.pipeline import Pipeline

PASSWORD = "correct-horse-7391"  # noqa: S105
RELEASE = f"""
[project]
source = "."
python = ["3.10"]
[backends.cpu]
[images.zig]
toolchain = "zig"
[targets."2.27"]
image = "zig"
[variants.full]
backends = ["cpu"]
glibc = ["2.27"]
arch = ["x86_64"]
publish = ["internal", "page"]
[variants.full.diff]
against = "latest"
fail-on = ["added-library"]
[publish.internal]
url = "INDEX"
[publish.page]
repository = "{OWNER}/{REPO}"
nightly = true
"""
JOB = "full-2_27-cp310-x86_64"
OLD = {"demo/mod.so": extension()}
NEW = {"demo/mod.so": extension(needed=("libc.so.6", "libdep.so.1"))}


def name(version: str, floor: str = "2_27", python: str = "cp310") -> str:
    return f"demo-{version}-{python}-{python}-manylinux_{floor}_x86_64.whl"


class World:
    """A project whose wheel of 1.1 is audited, and an empty GitHub and index that it is published to."""

    def __init__(self, root: Path, github: StrictGitHub, index: StrictIndex) -> None:
        self.root, self.github, self.index = root, github, index
        self.text = RELEASE.replace("INDEX", index.upload)
        self.audited("1.1", OLD)

    def audited(self, version: str, members: dict[str, bytes]) -> None:
        """Leave a wheel and its receipt as the audit session does."""
        path = native.wheel(self.root / "wheelhouse" / "full" / name(version), members)
        receipt = Receipt(
            stage="audit", job=JOB, image="zig", engine="host", inputs="0" * 64, passed=True, publishable=True,
            started="2026-01-02T03:04:05+00:00", seconds=1.0, wheel=Artifact.of(path),
        )  # fmt: skip
        self.pipeline().receipts.write(receipt)

    def pipeline(self, *words: str) -> Pipeline:
        path = self.root / "release.toml"
        path.write_text(self.text)
        return Pipeline(release=load(path), options=parse_posargs(words), clock=Clock(sleep=lambda _: None))

    def against(self, word: str) -> None:
        self.text = self.text.replace('against = "latest"', f'against = "{word}"')

    def wheel(self, version: str, members: dict[str, bytes] = OLD, **tags: str) -> tuple[str, bytes]:
        path = native.wheel(self.root / "elsewhere" / name(version, **tags), members)
        return path.name, path.read_bytes()

    def on_page(self, version: str, members: dict[str, bytes] = OLD, **tags: str) -> int:
        release = self.github.add_release(f"v{version}", prerelease="dev" in version)
        return self.github.add_asset(release, *self.wheel(version, members, **tags))

    def run(self, *words: str) -> None:
        diff.run(self.pipeline(*words), Selection())

    def refused(self, *words: str) -> WainwrightError:
        with pytest.raises(WainwrightError) as caught:
            self.run(*words)
        assert TOKEN not in str(caught.value)
        return caught.value

    @property
    def kept(self) -> list[str]:
        return sorted(path.name for path in (self.root / "dist" / "earlier").rglob("*.whl"))

    @property
    def downloads(self) -> int:
        files = sum(path.startswith("/files/") for _, path, _ in self.index.log)
        return files + self.github.count("GET", "^/storage")

    @property
    def requests(self) -> int:
        return len(self.github.log) + len(self.index.log)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    for variable in list(os.environ):
        if variable.startswith(("TWINE_", "GITHUB_", "GH_")):
            monkeypatch.delenv(variable)
    with StrictGitHub() as github, StrictIndex(password=PASSWORD) as index:
        environ = {"GITHUB_API_URL": github.api_url, "GH_TOKEN": TOKEN, "HOME": str(tmp_path)}
        environ |= {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
        for variable, value in environ.items():
            monkeypatch.setenv(variable, value)
        yield World(tmp_path / "project", github, index)
        assert github.violations == index.violations == []
        assert {method for method, _, _ in (*github.log, *index.log)} <= {"GET"}
        assert not list(tmp_path.rglob(".tmp-*"))


def test_the_newest_earlier_release_is_what_fails_a_change(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    for version in ("0.9", "0.10", "1.1", "1.2"):
        world.on_page(version)
    world.run()
    out, err = capsys.readouterr()
    assert f"{name('0.10')} -> {name('1.1')}" in out
    assert f"diff {JOB}: downloading {name('0.10')} of v0.10 of {OWNER}/{REPO}" in err
    world.audited("1.1", NEW)
    error = world.refused()
    assert error.code == Exit.FELL_SHORT
    assert error.where == name("1.1")
    assert error.what.startswith("added-library: libdep.so.1 is missing and was not")
    assert (world.downloads, world.kept) == (1, [name("0.10")])


def test_the_wheel_of_a_tag_is_asked_for_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.on_page("0.9")
    world.on_page("1.0")
    world.against("v0.9")
    world.run()
    requests = world.requests
    monkeypatch.delenv("GH_TOKEN")
    world.run()
    assert (world.requests, world.kept) == (requests, [name("0.9")])


def test_what_was_tampered_with_is_fetched_again(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.on_page("1.0")
    world.against("v1.0")
    world.run()
    (kept,) = (world.root / "dist" / "earlier").rglob("*.whl")
    kept.write_bytes(kept.read_bytes() + b"\0")
    world.run()
    assert world.downloads == 2
    (kept.parent / "earlier.json").write_text("{")
    world.run()
    assert world.downloads == 2
    assert capsys.readouterr().out.count(f"{name('1.0')} -> {name('1.1')}") == 3


def test_one_earlier_wheel_is_kept(world: World) -> None:
    world.on_page("0.9")
    world.run()
    world.on_page("1.0")
    world.run()
    assert (world.downloads, world.kept) == (2, [name("1.0")])


def test_nightlies_are_compared_day_by_day(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    for version in ("1.0", "1.1.dev20260101", "1.1.dev20260102"):
        world.on_page(version)
    world.against("nightly")
    world.run()
    world.audited("1.1.dev20260102", OLD)
    world.run()
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("demo-")]
    assert lines == [
        f"{name('1.1.dev20260102')} -> {name('1.1')}",
        f"{name('1.1.dev20260101')} -> {name('1.1.dev20260102')}",
    ]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("latest", "no release before 1.1 is public at publish.page, publish.internal yet"),
        ("nightly", "no nightly is public at publish.page yet"),
    ],
)
def test_a_first_release_has_nothing_to_be_compared_with(
    world: World, capsys: pytest.CaptureFixture[str], word: str, said: str
) -> None:
    world.github.add_release("v1.0", draft=True)
    world.against(word)
    world.run("--json")
    out, err = capsys.readouterr()
    assert f"diff: {said}: there is nothing to compare with\n" in err
    assert out == '{"version": 1, "stage": "diff", "differences": []}\n'


def test_a_tag_that_is_named_must_be_there(world: World) -> None:
    world.on_page("1.0")
    world.github.add_release("v0.9", draft=True)
    world.against("v0.9")
    error = world.refused()
    assert (error.code, error.where) == (Exit.USAGE, "variants.full.diff.against")
    assert error.what == "there is no public release v0.9 at publish.page, publish.internal"


def test_an_index_is_asked_where_no_release_page_has_it(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.github.add_release("v1.0")  # notes alone
    for version in ("0.9", "1.0", "1.1"):
        world.index.take(*world.wheel(version))
    world.run()
    assert f"{name('1.0')} -> {name('1.1')}" in capsys.readouterr().out
    world.run()
    assert (world.downloads, world.kept) == (1, [name("1.0")])


def test_another_floor_is_no_other_wheel(world: World) -> None:
    world.text = world.text.replace('fail-on = ["added-library"]', 'fail-on = ["raised-floor"]')
    world.on_page("1.0", floor="2_17")
    error = world.refused()
    assert error.code == Exit.FELL_SHORT
    assert error.what.startswith("raised-floor: claimed manylinux_2_17_x86_64")


def test_a_release_without_such_a_wheel_is_no_pass(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.on_page("1.0", python="cp311")
    error = world.refused()
    assert (error.code, error.where) == (Exit.USAGE, "variants.full.diff.against")
    assert f"diff {JOB}: v1.0 of {OWNER}/{REPO}: there is no wheel of its kind" in capsys.readouterr().err


def test_several_wheels_that_fit_are_no_pass(world: World) -> None:
    world.on_page("1.0", floor="2_17")
    world.github.add_asset(min(world.github.releases), *world.wheel("1.0", floor="2_12"))
    error = world.refused()
    assert (error.code, error.details) == (Exit.USAGE, (name("1.0", "2_12"), name("1.0", "2_17")))


def test_without_a_token_it_is_said_which(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GH_TOKEN")
    error = world.refused()
    assert error.code == Exit.NOT_AUTHORISED
    assert "set GH_TOKEN or GITHUB_TOKEN" in error.hint
    monkeypatch.setenv("GH_TOKEN", "ghp_another")
    assert world.refused().code == Exit.NOT_AUTHORISED


def test_a_host_that_does_not_answer_is_no_first_release(world: World) -> None:
    world.github.plan = lambda _: Fault(status=503, store="none")
    assert world.refused().code == Exit.RETRIES_EXHAUSTED
    world.github.plan = lambda _: None
    world.index.plan = lambda _: Fault(reset="before")
    error = world.refused()
    assert (error.code, error.where) == (Exit.RETRIES_EXHAUSTED, "publish.internal")


def test_what_is_not_what_it_should_be_is_not_kept(world: World) -> None:
    asset = world.on_page("1.0")
    world.github.bytes[asset] += b"\0"
    assert world.refused().code == Exit.CONFLICT
    assert world.kept == []


def test_a_dry_run_asks_and_downloads_nothing(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.on_page("1.0")
    before = sorted(world.root.rglob("*"))
    world.run("--dry-run")
    err = capsys.readouterr().err
    assert f"would download {name('1.0')} of v1.0" in err
    assert "would compare " in err
    assert (world.downloads, sorted(world.root.rglob("*"))) == (0, before)


def test_the_command_line_ends_in_words(world: World) -> None:
    world.on_page("1.0")
    world.audited("1.1", NEW)
    words = [sys.executable, "-m", "wainwright", "diff", "--", "v1.1"]
    done = subprocess.run(words, cwd=world.root, capture_output=True, text=True, check=False)
    assert done.returncode == Exit.FELL_SHORT, done.stderr
    assert done.stderr.splitlines()[-1].startswith("diff: error[E01] added-library: libdep.so.1")
    assert "Traceback" not in done.stderr


def test_what_this_project_publishes_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two variants of one page are each compared with their own wheel of the release before."""
    diffs = "".join(f'[variants.{variant}.diff]\nagainst = "latest"\n' for variant in ("full", "reduced"))
    toml = releases.TOML.replace('local-version = "reduced"\n', "") + diffs
    with tagged(tmp_path, password=PASSWORD, toml=toml) as world:
        for variable, value in world.environ.items():
            if variable not in {"PATH", "PYTHONWARNINGS"}:
                monkeypatch.setenv(variable, value)
        publish.run(world.pipeline(), Selection())
        old = {job.id: world.trial.wheel(job.variant.name).name for job in world.trial.jobs}
        for job in world.trial.jobs:
            before = world.trial.wheel(job.variant.name)
            releases.make_wheel(before.with_name(before.name.replace("-1.0", "-1.1")))
            before.unlink()
            world.trial.write(job, "audit")
        capsys.readouterr()
        diff.run(world.pipeline("v1.1"), Selection())
        lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("demo-")]
        assert lines == [f"{old[job.id]} -> {world.trial.wheel(job.variant.name).name}" for job in world.trial.jobs]
        assert len(set(lines)) == 2


@pytest.mark.network
def test_a_real_index(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with servers.devpi(tmp_path / "devpi", password=PASSWORD) as real:
        world.text = world.text.replace(world.index.upload, real.upload).replace('["internal", "page"]', '["internal"]')
        files = [str(native.wheel(tmp_path / "made" / name(version), OLD)) for version in ("0.9", "1.0", "1.1")]
        twine = [sys.executable, "-m", "twine", "upload", "--non-interactive", "--repository-url", real.upload]
        twine += ["--username", real.user, "--password", real.password]
        subprocess.run([*twine, *files], check=True, capture_output=True)
        world.run()
    assert f"{name('1.0')} -> {name('1.1')}" in capsys.readouterr().out
