from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest
from packaging.version import Version

from misbehaving import Fault, Seen
from strict_github import OWNER, REPO, TOKEN, Clock, StrictGitHub
from strict_index import Habits, StrictIndex
from wainwright.declaration.release import Directory, Project
from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.credentials import Account
from wainwright.hosts.github import GitHub
from wainwright.hosts.indexpages import Pages
from wainwright.hosts.patience import Patience
from wainwright.releasing.earlier import Earlier, Question, on_index, on_page
from wainwright.releasing.manifest import File, Manifest

PROJECT = Project(source=Directory(path=Path()))
PAGES = Project(source=Directory(path=Path()), tag="demo/{version}")
BYTES = b"a wheel"
SHA256 = hashlib.sha256(BYTES).hexdigest()
NAME = "demo-1.0-cp310-cp310-manylinux_2_27_x86_64.whl"


def asked(against: str, own: str = "1.1", project: Project = PROJECT) -> Question:
    return Question(against=against, own=Version(own), project=project)


@pytest.mark.parametrize(
    ("against", "own", "there", "chosen"),
    [
        ("latest", "1.1", "0.9 0.10 1.1 1.2", "0.10"),
        ("latest", "1.1", "1.0 1.1rc1 1.1.dev20260102", "1.0"),
        ("latest", "1.1rc2", "1.0 1.1rc1", "1.0"),
        ("latest", "1.1.dev20260102", "1.0 1.1", "1.0"),
        ("latest", "1.0.post1", "1.0", "1.0"),
        ("latest", "1.0", "1.0 1.1", None),
        ("nightly", "1.1", "1.0 1.1.dev20260101 1.1.dev20260102 1.1.dev7 1.1rc1", "1.1.dev20260102"),
        # what is built between two nightlies bears the version of the release that is out
        ("nightly", "1.0", "1.0 1.1.dev20260101", "1.1.dev20260101"),
        ("nightly", "1.1.dev20260102", "1.1.dev20260101 1.1.dev20260102 1.1.dev20260103", "1.1.dev20260101"),
        ("nightly", "1.1", "1.0", None),
        ("v0.9.0", "1.1", "0.9 1.0", "0.9"),
        ("v1.1rc1", "1.0", "1.0 1.1rc1", "1.1rc1"),
        ("v0.8", "1.1", "0.9 1.0", None),
    ],
)
def test_which_release_is_meant(against: str, own: str, there: str, chosen: str | None) -> None:
    found = asked(against, own).choose(map(Version, there.split()))
    assert found == (Version(chosen) if chosen else None)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server(clock: Clock) -> Iterator[StrictGitHub]:
    with StrictGitHub(now=clock.now) as server:
        yield server
        assert server.violations == []
        assert {method for method, _, _ in server.log} <= {"GET"}


@pytest.fixture
def github(server: StrictGitHub, clock: Clock) -> Iterator[GitHub]:
    patience = Patience(now=clock.now, sleep=clock.sleep, jitter=lambda: 1.0)
    with GitHub(f"{OWNER}/{REPO}", token=TOKEN, api_url=server.api_url, patience=patience) as github:
        yield github


def sealed(*files: tuple[str, str, str]) -> bytes:
    """Write a manifest of wheels: name, variant, sha256."""
    made = (
        File(name=name, path=f"{variant}/{name}", size=1, sha256=sha256, kind="wheel", job="", variant=variant,
             destinations=("page",))
        for name, variant, sha256 in files
    )  # fmt: skip
    manifest = Manifest(tag="v1.0", name="demo", version="1.0", commit="", sealed="", files=tuple(made))
    return manifest.to_json().encode()


def got(earlier: Earlier | None, name: str = NAME) -> bytes:
    assert earlier
    (wheel,) = (each for each in earlier.wheels if each.name.filename == name)
    into = BytesIO()
    wheel.fetch(into, where=earlier.label)
    return into.getvalue()


def refused(act: Callable[[], object], code: Exit) -> str:
    with pytest.raises(WainwrightError) as caught:
        act()
    assert caught.value.code is code
    return str(caught.value)


def test_a_release_page_is_found_among_others(server: StrictGitHub, github: GitHub) -> None:
    server.add_asset(server.add_release("v1.0"), NAME, BYTES)
    server.add_release("v1.0.5", draft=True)
    server.add_release("v1.0.4", prerelease=True)
    server.add_release("docs-1.0.3")
    server.add_release("v1.1")
    earlier = on_page(github, asked("latest"))
    assert earlier
    assert earlier.label == f"v1.0 of {OWNER}/{REPO}"
    assert got(earlier) == BYTES
    assert on_page(github, asked("v1.0.5")) is None, "a draft"
    assert on_page(github, asked("v1")) is None, "a tag is taken by its letter"
    tagged = on_page(github, asked("v1.0.4"))
    assert tagged
    assert tagged.wheels == ()


def test_tags_may_be_spelled_in_any_way(server: StrictGitHub, github: GitHub) -> None:
    server.add_asset(server.add_release("demo/1.0"), NAME, BYTES)
    server.add_release("other/1.0.9")
    assert got(on_page(github, asked("latest", project=PAGES))) == BYTES
    assert got(on_page(github, asked("demo/1.0", project=PAGES))) == BYTES


def test_only_whole_wheels_are_offered(server: StrictGitHub, github: GitHub) -> None:
    release = server.add_release("v1.0")
    server.add_asset(release, NAME, b"", state="starter")
    for name in ("demo-1.0.tar.gz", "demo.whl", "SHA256SUMS.asc"):
        server.add_asset(release, name, b"x")
    earlier = on_page(github, asked("latest"))
    assert earlier
    assert earlier.wheels == ()


def test_the_manifest_tells_whose_a_wheel_is_and_its_digest(server: StrictGitHub, github: GitHub) -> None:
    release = server.add_release("v1.0")
    server.add_asset(release, NAME, BYTES, digest=False)
    server.add_asset(release, "manifest.json", sealed((NAME, "full", SHA256)))
    earlier = on_page(github, asked("latest"))
    assert earlier
    assert [each.variant for each in earlier.wheels] == ["full"]
    assert got(earlier) == BYTES


@pytest.mark.parametrize("manifest", [b"{}", b"[", b'{"name": "a web page"}', b"x" * 100])
def test_another_programs_manifest_is_passed_over(server: StrictGitHub, github: GitHub, manifest: bytes) -> None:
    release = server.add_release("v1.0")
    server.add_asset(release, NAME, BYTES, digest=False)
    server.add_asset(release, "manifest.json", manifest)
    server.add_asset(release, "SHA256SUMS", f"{SHA256} *{NAME}\nnonsense\n{'0' * 64}  other.whl\n".encode())
    earlier = on_page(github, asked("latest"))
    assert got(earlier) == BYTES
    assert earlier
    assert [each.variant for each in earlier.wheels] == [None]


def test_without_any_digest_nothing_is_taken(server: StrictGitHub, github: GitHub) -> None:
    server.add_asset(server.add_release("v1.0"), NAME, BYTES, digest=False)
    told = refused(lambda: got(on_page(github, asked("latest"))), Exit.REFUSED)
    assert f"nothing there tells the sha256 of {NAME}" in told


def test_what_is_not_what_was_told_is_refused(server: StrictGitHub, github: GitHub) -> None:
    release = server.add_release("v1.0")
    asset = server.add_asset(release, NAME, BYTES)
    earlier = on_page(github, asked("latest"))
    server.bytes[asset] = b"another"
    assert "is not what the release says that it is" in refused(lambda: got(earlier), Exit.CONFLICT)
    server.bytes[asset] = BYTES
    sums = server.add_asset(release, "SHA256SUMS", f"{'0' * 64}  {NAME}\n".encode())
    told = refused(lambda: got(on_page(github, asked("latest"))), Exit.CONFLICT)
    assert told.count("told:") == 2
    server.bytes[sums] = b"another"
    assert "SHA256SUMS is not what" in refused(lambda: on_page(github, asked("latest")), Exit.CONFLICT)


def test_a_broken_download_is_begun_anew(server: StrictGitHub, github: GitHub, clock: Clock) -> None:
    server.add_asset(server.add_release("v1.0"), NAME, BYTES)
    earlier = on_page(github, asked("latest"))
    left = [Fault(reset="answer"), Fault(status=503)]

    def plan(seen: Seen) -> Fault | None:
        return left.pop() if left and seen.path.startswith("/storage" if len(left) == 1 else "/api") else None

    server.plan = plan
    assert got(earlier) == BYTES
    assert left == []
    assert len(clock.waits) == 2


def test_an_asset_that_goes_meanwhile_is_said(server: StrictGitHub, github: GitHub) -> None:
    asset = server.add_asset(server.add_release("v1.0"), NAME, BYTES)
    earlier = on_page(github, asked("latest"))
    del server.assets[asset]
    told = refused(lambda: got(earlier), Exit.RETRIES_EXHAUSTED)
    assert f"could not download {NAME}" in told
    assert "run the same command again" in told


@pytest.mark.parametrize("html", [True, False])
def test_an_index_has_every_release_on_one_page(html: bool) -> None:
    with StrictIndex(password="x", habits=Habits(html=html)) as index:  # noqa: S106
        pages = at(index)
        assert on_index(pages, asked("latest")) is None
        others = [NAME.replace("-1.0-", f"-{version}-") for version in ("0.9", "1.0.1", "1.1", "1.1rc1", "1.0+llvm")]
        for name in (NAME, *others, "demo-1.0.2.tar.gz", "demo-1.0.egg"):
            index.take(name, BYTES)
        index.yanked.add(NAME.replace("-1.0-", "-1.0.1-"))
        earlier = on_index(pages, asked("latest"))
        assert earlier
        assert earlier.label == "1.0 at publish.internal"
        assert [each.name.version for each in earlier.wheels] == ["1.0", "1.0+llvm"]
        assert got(earlier) == BYTES
        taken_back = on_index(pages, asked("v1.0.1"))
        assert got(taken_back, NAME.replace("-1.0-", "-1.0.1-")) == BYTES


def test_what_an_index_serves_is_held_against_its_page() -> None:
    with StrictIndex(password="x", habits=Habits(digests=False)) as index:  # noqa: S106
        index.take(NAME, BYTES)
        assert "nothing there tells the sha256" in refused(
            lambda: got(on_index(at(index), asked("latest"))), Exit.REFUSED
        )
    with StrictIndex(password="x") as index:  # noqa: S106
        index.take(NAME, BYTES)
        earlier = on_index(at(index), asked("latest"))
        index.files[NAME] = b"another"
        assert "is not what the release says" in refused(lambda: got(earlier), Exit.CONFLICT)


def test_no_index_at_the_address_is_not_no_release() -> None:
    with StrictIndex(password="x") as index:  # noqa: S106
        index.plan = lambda _: Fault(status=404)
        told = refused(lambda: on_index(at(index), asked("latest")), Exit.REFUSED)
        assert "no simple page was found" in told


def at(index: StrictIndex) -> Pages:
    return Pages(where="publish.internal", project="demo", account=Account(url=index.upload), pause=lambda _: None)


def test_a_name_that_leads_elsewhere_is_no_wheel() -> None:
    with StrictIndex(password="x") as index:  # noqa: S106
        index.take("demo-1.0-cp310-cp310-x/../../../etc.whl", BYTES)
        index.take(NAME, BYTES)
        earlier = on_index(at(index), asked("latest"))
        assert earlier
        assert [each.name.filename for each in earlier.wheels] == [NAME]
