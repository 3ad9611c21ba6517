from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

import releases
import servers
from faults_publication import play
from misbehaving import Fault
from servers import Server, Small
from strict_index import Habits, StrictIndex
from wainwright.completed import Completed, Run
from wainwright.declaration.release import Destination
from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.destinations import Asset
from wainwright.hosts.index import Index, connect
from wainwright.hosts.simplepage import PageError, parse, roots
from wainwright.receipts import Artifact
from wainwright.run import run

PASSWORD = "correct-horse-7391"  # noqa: S105 - for servers that live as long as a test
REAL = 12  # schedules of faults before each real server
WRONG = "wrong-password"
PYTHON = f"cp{sys.version_info.major}{sys.version_info.minor}"
NAME = f"demo-1.0-{PYTHON}-{PYTHON}-manylinux_2_17_x86_64.whl"


def asset(folder: Path, name: str = NAME, *, says: str = "hello") -> Asset:
    path = releases.make_wheel(folder / name, says=says)
    made = Artifact.of(path)
    return Asset(name=path.name, path=path, size=made.size, sha256=made.sha256)


def index(
    url: str,
    log: Path,
    *,
    password: str | None = PASSWORD,
    pauses: list[float] | None = None,
    simple: str | None = None,
    run: Run = run,
) -> Index:
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(log.parent), "TWINE_USERNAME": servers.USER}
    environ |= {"TWINE_PASSWORD": password} if password else {}
    environ |= {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
    return connect(
        Destination(name="internal", kind="index", url=url, simple=simple),
        project="Demo",
        run=run,
        log=log,
        environ=environ,
        pause=([] if pauses is None else pauses).append,
    )


@pytest.fixture
def small() -> Iterator[Small]:
    with Small(password=PASSWORD).running() as server:
        yield server


@pytest.fixture(scope="module")
def devpi(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with servers.devpi(tmp_path_factory.mktemp("devpi"), password=PASSWORD) as server:
        yield server


@pytest.fixture(scope="module")
def pypiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with servers.pypiserver(tmp_path_factory.mktemp("pypiserver") / "it", password=PASSWORD) as server:
        yield server


@pytest.mark.parametrize(
    ("upload", "simple"),
    [
        ("https://upload.example.org/legacy/", ("https://example.org/simple/",)),
        ("https://test.example.org/legacy/", ("https://test.example.org/simple/",)),
        ("https://example.org/pypi/legacy", ("https://example.org/pypi/simple/",)),
        ("http://me:secret@example.org:8080/", ("http://example.org:8080/simple/",)),
        (
            "https://example.org/user/dev/",
            ("https://example.org/user/dev/+simple/", "https://example.org/user/dev/simple/"),
        ),
        ("https://example.org/api/pypi/local", ("https://example.org/api/pypi/local/simple/",)),
        ("https://example.org/repository/x/simple", ("https://example.org/repository/x/simple/",)),
    ],
)
def test_the_simple_pages_beside_an_upload_address(upload: str, simple: tuple[str, ...]) -> None:
    assert roots(upload) == simple


def test_both_formats_tell_the_same_files() -> None:
    digest = "a" * 64
    link = f'<a href="demo-1.0%2Bllvm.whl#sha256={digest}" data-yanked="">demo</a>'
    html = f'<base href="https://files.example.org/x/">{link}<a>no</a>'
    one = parse(html.encode(), content_type="text/html; charset=utf-8", url="https://example.org/simple/demo/")
    files: list[dict[str, object]] = [{"filename": "demo-1.0+llvm.whl", "hashes": {"sha256": digest}, "size": 7}]
    files[0] |= {"yanked": "broken"}
    files[0]["url"] = "https://files.example.org/x/demo-1.0%2Bllvm.whl"
    data = json.dumps({"meta": {"api-version": "1.4"}, "files": files})
    kind = "application/vnd.pypi.simple.v1+json"
    two = parse(data.encode(), content_type=kind, url="https://example.org/simple/demo/")
    (left,), (right,) = one.values(), two.values()
    assert (left.name, left.url, left.sha256) == (right.name, right.url, right.sha256)
    assert (left.size, right.size) == (None, 7)
    assert left.yanked is right.yanked is True


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"hello", "text/plain"), (b"{", "application/json"), (b'{"meta": {"api-version": "2.0"}}', "application/json")],
)
def test_what_is_no_page_is_said(body: bytes, kind: str) -> None:
    with pytest.raises(PageError):
        parse(body, content_type=kind, url="https://example.org/")


@pytest.mark.parametrize(
    "empty",
    [
        '<!DOCTYPE html><html lang="en"><head><title>releaser/dev: links for demo</title></head></html>',
        "<html>\n<head><title>Links for demo</title></head><body><h1>Links for demo</h1></body></html>",
        '<html><head><meta name="pypi:repository-version" content="1.3"></head><body></body></html>',
        '<html><head><title>Simple Index</title><meta name="api-version" value="2" /></head><body></body></html>',
        '<html><head><title>Index of /simple/demo/</title></head><body><a href="../">../</a></body></html>',
    ],
)
def test_an_empty_page_of_an_index_says_what_it_is(empty: str) -> None:
    assert not [name for name in parse(empty.encode(), content_type="text/html", url="https://example.org/") if name]


WEB_PAGES = (
    "<html><body><h1>Scheduled maintenance</h1></body></html>",
    '<html><title>Sign in</title><body><form></form><a href="/password">Forgotten?</a></body></html>',
    '<html><title>demo</title><body><a href="mailto:us@example.org">write</a> of demo</body></html>',
    "<html><body></body></html>",
    "",
)


@pytest.mark.parametrize("body", WEB_PAGES)
def test_another_web_page_is_not_taken_for_an_empty_one(small: Small, tmp_path: Path, body: str) -> None:
    small.instead = body
    it, wheel = index(small.upload, tmp_path / "log"), asset(tmp_path)
    for act in (it.listing, lambda: it.put(wheel)):
        with pytest.raises(WainwrightError, match="neither lists files nor says that it would") as caught:
            act()
        assert caught.value.code is Exit.REFUSED
        assert "run the same command again" in caught.value.hint
    assert small.uploads == 0
    small.instead = None
    it.put(wheel)
    assert list(it.listing()) == [NAME]


def test_what_states_its_type_need_not_show_it() -> None:
    assert parse(b"", content_type="application/vnd.pypi.simple.v1+html", url="https://example.org/") == {}


def test_the_second_place_counts_where_the_first_has_a_page_of_its_own(tmp_path: Path) -> None:
    with Small(password=PASSWORD).running() as small:
        small.places["/a/dev/simple/demo/"] = "<title>Links for demo</title>"
        small.places["/a/dev/+simple/demo/"] = WEB_PAGES[0]
        it = index(f"{small.url}/a/dev/", tmp_path / "log")
        assert it.listing() == {}
        assert it.pages.root == f"{small.url}/a/dev/simple/"


def test_an_upload_is_listed_with_its_digest(small: Small, tmp_path: Path) -> None:
    it, wheel = index(small.upload, tmp_path / "log"), asset(tmp_path)
    assert it.listing() == {}
    it.put(wheel)
    assert it.listing()[NAME].sha256 == wheel.sha256
    assert small.files[NAME] == wheel.path.read_bytes()


@pytest.mark.parametrize("html", [True, False])
@pytest.mark.parametrize("hashes", ["sha256", "md5", ""])
def test_what_is_there_is_never_uploaded_again(tmp_path: Path, html: bool, hashes: str) -> None:
    with Small(password=PASSWORD, html=html, hashes=hashes).running() as small:
        wheel = asset(tmp_path)
        small.files[NAME] = wheel.path.read_bytes()
        it = index(small.upload, tmp_path / "log")
        it.listing()
        it.put(wheel)
        assert (small.uploads, small.listings) == (0, 1)


@pytest.mark.parametrize("hashes", ["sha256", ""])
def test_other_bytes_under_the_name_are_a_conflict_with_both_digests(tmp_path: Path, hashes: str) -> None:
    with Small(password=PASSWORD, hashes=hashes).running() as small:
        wheel = asset(tmp_path)
        small.files[NAME] = b"other"
        with pytest.raises(WainwrightError) as caught:
            index(small.upload, tmp_path / "log").put(wheel)
        assert caught.value.code is Exit.CONFLICT
        assert wheel.sha256 in str(caught.value)
        assert hashlib.sha256(b"other").hexdigest() in str(caught.value)
        assert (small.files[NAME], small.uploads) == (b"other", 0)


@pytest.mark.parametrize("fault", ["reset", "stored, reset", "stored, 502"])
def test_the_page_decides_what_a_broken_upload_has_left(small: Small, tmp_path: Path, fault: str) -> None:
    small.faults = [fault]
    wheel = asset(tmp_path)
    index(small.upload, tmp_path / "log").put(wheel)
    assert small.files == {NAME: wheel.path.read_bytes()}


def test_a_file_that_was_changed_since_the_seal_is_not_uploaded(small: Small, tmp_path: Path) -> None:
    wheel = asset(tmp_path)
    releases.make_wheel(wheel.path, says="changed")
    with pytest.raises(WainwrightError) as caught:
        index(small.upload, tmp_path / "log").put(wheel)
    assert caught.value.code is Exit.REFUSED
    assert small.uploads == 0


def test_what_is_written_into_a_file_while_twine_starts_is_not_uploaded(small: Small, tmp_path: Path) -> None:
    wheel = asset(tmp_path)
    sealed = wheel.path.read_bytes()
    given: list[Path] = []

    def starting(argv: Sequence[str | Path], **options: Any) -> Completed:
        given.append(Path(argv[-1]))
        assert given[-1].parent.stat().st_mode & 0o077 == 0, "nobody else writes there"
        wheel.path.write_bytes(b"unproven")
        return run(argv, **options)

    index(small.upload, tmp_path / "log", run=starting).put(wheel)
    assert small.files == {NAME: sealed}
    assert not given[0].parent.exists()


def test_an_attestation_goes_along(small: Small, tmp_path: Path) -> None:
    wheel = asset(tmp_path)
    attestation = wheel.path.with_name(f"{NAME}.publish.attestation")
    attestation.write_text("{}")
    given: list[Sequence[str | Path]] = []

    def starting(argv: Sequence[str | Path], **_: Any) -> Completed:
        given.append(argv)
        assert Path(argv[-1]).read_text() == "{}"
        return Completed(argv=(), code=1, seconds=0.0, tail=("HTTPError: 400 Bad Request",))

    with pytest.raises(WainwrightError):
        index(small.upload, tmp_path / "log", run=starting).put(wheel)
    assert "--attestations" in given[0]
    assert [Path(each).name for each in given[0][-2:]] == [NAME, attestation.name]


def test_bytes_that_the_index_garbled_are_a_conflict(small: Small, tmp_path: Path) -> None:
    small.faults = ["garbled"]
    it, wheel = index(small.upload, tmp_path / "log"), asset(tmp_path)
    it.put(wheel)
    it.listing()
    with pytest.raises(WainwrightError) as caught:
        it.put(wheel)
    assert caught.value.code is Exit.CONFLICT


def test_retries_end_and_are_spaced(small: Small, tmp_path: Path) -> None:
    small.faults = ["503"] * 100
    pauses: list[float] = []
    with pytest.raises(WainwrightError) as caught:
        index(small.upload, tmp_path / "log", pauses=pauses).put(asset(tmp_path))
    assert caught.value.code is Exit.RETRIES_EXHAUSTED
    assert pauses == [1.0, 2.0, 4.0, 8.0]
    assert "503" in str(caught.value)


def test_a_page_that_fails_for_a_while_is_asked_again(small: Small, tmp_path: Path) -> None:
    small.reads = [500, 429, 200]
    pauses: list[float] = []
    assert index(small.upload, tmp_path / "log", pauses=pauses).listing() == {}
    assert pauses == [1.0, 2.0]


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{servers.free_port()}/legacy/"
    with pytest.raises(WainwrightError) as caught:
        index(url, tmp_path / "log").listing()
    assert caught.value.code is Exit.RETRIES_EXHAUSTED


@pytest.mark.parametrize("status", ["401", "403"])
def test_a_stranger_is_told_whence_the_password_was(small: Small, tmp_path: Path, status: str) -> None:
    small.faults = [status]
    with pytest.raises(WainwrightError) as caught:
        index(small.upload, tmp_path / "log").put(asset(tmp_path))
    assert caught.value.code is Exit.NOT_AUTHORISED
    assert "the password is from TWINE_PASSWORD" in str(caught.value)
    assert small.uploads == 1


def test_without_a_password_nothing_is_sent(small: Small, tmp_path: Path) -> None:
    with pytest.raises(WainwrightError) as caught:
        index(small.upload, tmp_path / "log", password=None).put(asset(tmp_path))
    assert caught.value.code is Exit.NOT_AUTHORISED
    assert "there is no password" in str(caught.value)
    assert small.uploads == 0


@pytest.mark.parametrize("status", ["400", "413"])
def test_a_judgement_is_not_tried_again(small: Small, tmp_path: Path, status: str) -> None:
    small.faults = [status] * 9
    with pytest.raises(WainwrightError) as caught:
        index(small.upload, tmp_path / "log").put(asset(tmp_path))
    assert caught.value.code is Exit.REFUSED
    assert caught.value.hint
    assert small.uploads == 1


def test_an_index_that_wants_to_know_who_reads(small: Small, tmp_path: Path) -> None:
    small.readable = False
    it, wheel = index(small.upload, tmp_path / "log"), asset(tmp_path)
    it.put(wheel)
    assert it.listing()[NAME].sha256 == wheel.sha256


def test_a_page_of_another_host_is_not_this_index(small: Small, tmp_path: Path) -> None:
    with Small(password="").running() as public:
        public.files[NAME] = b"the public one"
        small.moved = f"{public.url.replace('127.0.0.1', 'localhost')}/simple/demo/"
        assert index(small.upload, tmp_path / "log").listing() == {}


def test_the_probe_knows_friend_from_stranger(small: Small, tmp_path: Path) -> None:
    assert index(small.upload, tmp_path / "log").pages.probe() is None
    refused = index(small.upload, tmp_path / "log", password=WRONG).pages.probe()
    assert refused is not None
    assert refused.code is Exit.NOT_AUTHORISED
    assert small.files == {}


@pytest.mark.parametrize(
    ("faults", "waits"),
    [
        ([Fault(status=429, headers={"Retry-After": "30"}), Fault(status=503)], [30.0, 2.0]),
        ([Fault(status=503, headers={"Retry-After": "99999"})], [120.0]),
        ([Fault(reset="answer"), Fault(reset="before")], [1.0, 2.0]),
    ],
)
def test_a_page_is_asked_for_until_all_of_it_has_come(tmp_path: Path, faults: list[Fault], waits: list[float]) -> None:
    with StrictIndex(password=PASSWORD) as strict:
        strict.take(NAME, b"wheel")
        strict.plan = lambda _: faults.pop(0) if faults else None
        pauses: list[float] = []
        it = index(strict.upload, tmp_path / "log", pauses=pauses, simple=f"{strict.origin}/simple/")
        assert list(it.listing()) == [NAME]
        assert pauses == waits


def test_what_drips_is_given_up(tmp_path: Path) -> None:
    """Every byte comes in time, the whole would take half a minute: the head, the page, the file, the probe."""
    with StrictIndex(password=PASSWORD, habits=Habits(html=True, digests=False)) as strict:
        wheel = asset(tmp_path)
        strict.take(NAME, wheel.path.read_bytes())
        it = index(strict.upload, tmp_path / "log", simple=f"{strict.origin}/simple/")
        it.listing()
        it.pages.longest = 0.2
        strict.plan = lambda _: Fault(drip=0.05)
        began = time.monotonic()
        for act in (it.listing, lambda: it.holds(wheel)):
            with pytest.raises(WainwrightError, match="does not answer") as caught:
                act()
            assert caught.value.code is Exit.RETRIES_EXHAUSTED
            assert "no whole answer in 0.2 s" in str(caught.value)
        assert "no whole answer in 0.2 s" in str(it.pages.probe())
        assert time.monotonic() - began < 10
        strict.plan = lambda _: None
        assert it.holds(wheel)


def test_a_download_for_its_digest_is_begun_again(tmp_path: Path) -> None:
    with StrictIndex(password=PASSWORD, habits=Habits(html=True, digests=False)) as strict:
        wheel = asset(tmp_path)
        strict.take(NAME, wheel.path.read_bytes())
        broken = [Fault(reset="answer")]
        strict.plan = lambda seen: broken.pop() if broken and seen.path.startswith("/files/") else None
        it = index(strict.upload, tmp_path / "log", simple=f"{strict.origin}/simple/")
        it.listing()
        assert it.holds(wheel)
        strict.plan = lambda seen: Fault(reset="answer") if seen.path.startswith("/files/") else None
        with pytest.raises(WainwrightError, match="does not answer") as caught:
            it.holds(wheel)
        assert caught.value.code is Exit.RETRIES_EXHAUSTED


@pytest.mark.network
@pytest.mark.parametrize("kind", ["devpi", "pypiserver"])
def test_real_servers(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    server: Server = request.getfixturevalue(kind)
    it, wheel = index(server.upload, tmp_path / "log"), asset(tmp_path)
    stranger = index(server.upload, tmp_path / "log", password=WRONG)
    assert it.listing() == {}
    assert it.pages.probe() is None
    assert (refused := stranger.pages.probe()) is not None
    assert refused.code is Exit.NOT_AUTHORISED
    with pytest.raises(WainwrightError) as caught:
        stranger.put(wheel)
    assert caught.value.code is Exit.NOT_AUTHORISED
    it.put(wheel)
    assert it.pages.root == server.simple
    assert it.pages.read()[NAME].name == NAME
    it.put(wheel)
    other = asset(tmp_path / "other", says="something else")
    with pytest.raises(WainwrightError) as caught:
        it.put(other)
    assert caught.value.code is Exit.CONFLICT
    installed(server.simple, tmp_path / "venv")


def installed(simple: str, venv: Path) -> None:
    """Install from an index into a fresh environment, and import."""
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    python = str(venv / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--index-url", simple, "demo"]
    done = subprocess.run(pip, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    said = subprocess.run([python, "-c", "import demo; print(demo.SAYS)"], capture_output=True, text=True, check=True)
    assert said.stdout == "hello\n"


@pytest.mark.network
@pytest.mark.parametrize("kind", ["devpi", "pypiserver"])
def test_faults_before_a_real_server(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server: Server = request.getfixturevalue(kind)
    met: Counter[str] = Counter()
    with httpx2.HTTPTransport() as inner:
        for seed in range(100, 100 + REAL):
            met += play(seed, tmp_path / str(seed), inner, tmp_path / "wheels", real=server)
    faults = sum(count for name, count in met.items() if name.startswith("index: "))
    with capsys.disabled():
        print(f"\n{kind}: {REAL} schedules of faults before a real server, {faults} faults on the way to it")  # noqa: T201
