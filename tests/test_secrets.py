"""Planted tokens turn up nowhere: no output, log, receipt, argument list or traceback."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

import servers
from misbehaving import Fault
from strict_github import TOKEN
from tagged import Tagged, git, tagged
from wainwright.declaration.release import Destination
from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.credentials import Account, account
from wainwright.masking import MASK, Mask
from wainwright.sourcing.gitremote import confidential

if TYPE_CHECKING:
    from typing_extensions import Self

PASSWORD = "pl@nted/Secret+of=the%tests"  # noqa: S105 - with every sign that addresses spell in another way
REMOTE = "remote-secret-5518"
HIDDEN = "elsewhere-secret-7714"  # in an address, or as a name
PROGRAM = """
import sys
from pathlib import Path
from wainwright.clock import Clock
from wainwright.declaration import config
from wainwright.sessions import preflight, publish, report
from wainwright.sessions.edge import closing_line, report as tell
from wainwright.errors import WainwrightError
from wainwright.sourcing.gitremote import confidential
from wainwright.sessions.graph import Selection
from wainwright.sessions.options import parse_posargs
from wainwright.sessions.pipeline import Pipeline
release, options = config.load(Path("release.toml")), parse_posargs(sys.argv[1:])
pipeline = Pipeline(release=release, options=options, clock=Clock(sleep=lambda _: None))
for session in (preflight, publish, report):
    try:
        session.run(pipeline, Selection())
    except WainwrightError as error:
        tell(error)
        print(closing_line("publish", error), file=sys.stderr)
"""


def spellings(*secrets: str) -> set[bytes]:
    found = set()
    for secret in secrets:
        pairs = [f"{user}:{secret}".encode() for user in (servers.USER, "__token__", "")]
        found |= {secret.encode(), quote(secret, safe="").encode(), base64.b64encode(secret.encode())}
        found |= {base64.b64encode(pair) for pair in pairs}
    return found


SECRETS = spellings(PASSWORD, TOKEN, REMOTE, HIDDEN)


class Watch:
    """Reads every process's command line, over and over, while the block runs."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self.environs: set[bytes] = set()  # of twine
        self.samples = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(0.01):
            self.samples += 1
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    self.seen.add(line := (process / "cmdline").read_bytes())
                    if b"\0twine\0" in line:
                        self.environs.add((process / "environ").read_bytes())
                except OSError:
                    continue


def leaks(data: bytes) -> list[bytes]:
    return [secret for secret in SECRETS if secret in data]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Tagged]:
    with tagged(tmp_path, password=PASSWORD) as made:
        yield made


def publish(world: Tagged, *words: str, **environ: str) -> tuple[subprocess.CompletedProcess[bytes], Watch]:
    env = {**world.environ, "VIRTUAL_ENV": os.environ.get("VIRTUAL_ENV", ""), **environ}
    with Watch() as watch:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, "v1.0", *words], cwd=world.root, env=env, capture_output=True, check=False
        )
    return done, watch


def search(world: Tagged, done: subprocess.CompletedProcess[bytes], watch: Watch) -> None:
    """Hold output, arguments and every file below the project against the planted secrets."""
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    assert leaks(done.stdout) == leaks(done.stderr) == [], done.stderr.decode()
    assert watch.samples > 0
    assert any(b"wainwright.sessions" in line for line in watch.seen)
    for line in watch.seen:
        assert leaks(line) == [], line
    for path in (*world.root.rglob("*"), *(world.root.parent / "remote.git").rglob("*")):
        if path.is_file() and path != world.root / ".git" / "config" and path.name != "release.toml":
            assert leaks(path.read_bytes()) == [], path


def calm(_: Tagged) -> None:
    pass


def echo(world: Tagged) -> None:
    world.index.faults = ["", *["echo"] * 20]  # the first request is the probe


def stranger(world: Tagged) -> None:
    world.index.password = "another"  # noqa: S105


def broken(world: Tagged) -> None:
    world.index.faults = ["", "reset", "stored, reset"]


def conflict(world: Tagged) -> None:
    world.index.files[world.trial.wheel("full").name] = b"another"


def github_refuses(world: Tagged) -> None:
    body = {"message": f"Bad credentials: {TOKEN}"}
    world.github.plan = lambda seen: Fault(status=401, store="none", body=body) if seen.writes else None


def remote_away(world: Tagged) -> None:
    git(world.root, "remote", "set-url", "origin", f"http://me:{REMOTE}@127.0.0.1:9/none.git")


@pytest.mark.parametrize("spoil", [calm, echo, stranger, broken, conflict, github_refuses, remote_away])
def test_no_secret_is_shown_or_written(world: Tagged, spoil: Callable[[Tagged], None]) -> None:
    spoil(world)
    done, watch = publish(world)
    search(world, done, watch)
    if spoil is calm:
        assert world.index.files, done.stderr.decode()
        assert any(b"twine" in line for line in watch.seen), "twine was seen at work"
    else:
        assert b"error[E" in done.stderr or spoil is broken


def redeclare(world: Tagged, old: str, new: str) -> None:
    """Change release.toml, and move the tag there."""
    path = world.root / "release.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    git(world.root, "commit", "--quiet", "-am", "with a password")
    git(world.root, "tag", "-f", "-a", "v1.0", "-m", "1.0")
    git(world.root, "push", "--quiet", "--force", "origin", "main", "v1.0")
    world.github.tags["v1.0"] = ("commit", git(world.root, "rev-parse", "HEAD"))
    world.prove()


def test_a_password_in_the_address_of_release_toml(tmp_path: Path) -> None:
    with tagged(tmp_path, password=PASSWORD) as world:
        redeclare(world, "http://127", f"http://{servers.USER}:{quote(PASSWORD, safe='')}@127")
        world.environ.pop("TWINE_PASSWORD")
        for faults in (["", *["echo"] * 20], []):
            world.index.faults = faults
            done, watch = publish(world)
            for path in world.root.glob("wheelhouse/**/*"):
                assert not path.is_file() or leaks(path.read_bytes()) == [], path
            assert leaks(done.stderr) == leaks(done.stdout) == [], done.stderr.decode()
            assert [line for line in watch.seen if leaks(line)] == []
        assert world.index.files, done.stderr.decode()


@pytest.mark.parametrize("swallows", [False, True])
def test_a_password_in_the_address_of_the_simple_page(world: Tagged, swallows: bool) -> None:
    simple = f"{world.index.url.replace('://', f'://reader:{HIDDEN}@')}/simple/"
    redeclare(world, "[publish.page]", f'simple = "{simple}"\n[publish.page]')
    world.index.swallows = swallows
    for words in ((), ("--json",)):
        done, watch = publish(world, *words)
        search(world, done, watch)
        address = f"{world.index.url}/simple/demo/".encode()
        assert address in (done.stderr if swallows else done.stdout), "it is said where the project is"


def test_a_token_in_the_query_of_the_upload_address(world: Tagged) -> None:
    redeclare(world, "/legacy/", f"/legacy/?token={HIDDEN}")
    world.index.faults = ["", "", "400"]  # the first two are probes
    done, watch = publish(world)
    search(world, done, watch)
    assert b"the index does not take demo-1.0" in done.stderr
    world.index.password = "another"  # noqa: S105
    done, watch = publish(world)
    search(world, done, watch)
    assert b"/legacy/?token=*** does not let releaser in (403)" in done.stderr
    world.index.password = PASSWORD
    done, watch = publish(world)
    search(world, done, watch)
    assert world.index.files
    assert f"POST /legacy/?token={HIDDEN}" in world.index.requests


def test_a_token_as_the_user_name(world: Tagged) -> None:
    """Some indexes take it so, with an empty password; told is neither it nor that there is none."""
    world.index.user, world.index.password = HIDDEN, ""
    redeclare(world, "http://127", f"http://{HIDDEN}:@127")
    for name in ("TWINE_USERNAME", "TWINE_PASSWORD"):
        world.environ.pop(name)
    done, watch = publish(world)
    search(world, done, watch)
    assert world.index.files, done.stderr.decode()
    world.index.files.clear()
    world.index.user = "somebody else"
    done, watch = publish(world)
    search(world, done, watch)
    assert b"does not let *** in (403): the password is empty, from url of publish.internal" in done.stderr


def test_an_empty_password_is_one_for_a_user_who_is_named(tmp_path: Path) -> None:
    def found(**environ: str) -> Account:
        destination = Destination(name="ours", kind="index", repository="ours")
        return account(destination, {"TWINE_CONFIG_FILE": str(file), **environ}, alone=True)

    file = tmp_path / "pypirc"
    section = "[distutils]\nindex-servers = ours\n[ours]\nrepository = https://example.org/legacy/\n"
    file.write_text(f"{section}username = {HIDDEN}\npassword =\n")
    assert (found().username, found().password, found().source) == (HIDDEN, "", "~/.pypirc")
    assert (found(TWINE_PASSWORD=PASSWORD).password, found(TWINE_USERNAME="__token__").password) == (PASSWORD, None)
    file.write_text(section)
    assert (found(TWINE_USERNAME="me", TWINE_PASSWORD="").password, found(TWINE_PASSWORD="").password) == ("", None)


def test_twine_is_given_no_token_of_others(world: Tagged) -> None:
    """What it is given is read from the real process, while it runs."""
    others = ("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "TWINE_PASSWORD_OTHER")
    done, watch = publish(world, **dict.fromkeys(others, TOKEN))
    search(world, done, watch)
    ours = [environ for environ in watch.environs if f"HOME={world.environ['HOME']}\0".encode() in environ]
    assert any(b"TWINE_PASSWORD=" in environ for environ in ours), "twine was seen at work"
    assert not any(TOKEN.encode() in environ for environ in ours)


def test_a_pypirc_is_read_by_twines_rules(tmp_path: Path) -> None:
    file = tmp_path / "pypirc"
    file.write_text(f"[pypi]\nusername = __token__\npassword = {PASSWORD}\n")
    found = account(
        Destination(name="pypi", kind="index", repository="pypi"), {"TWINE_CONFIG_FILE": str(file)}, alone=True
    )
    assert (found.username, found.password, found.source) == ("__token__", PASSWORD, "~/.pypirc")
    assert found.url.endswith("/legacy/")
    assert PASSWORD not in repr(found)


def test_any_repository_of_a_pypirc_may_be_named(tmp_path: Path) -> None:
    file = tmp_path / "pypirc"
    servers_of_it = (
        "[distutils]\nindex-servers =\n  ours\n  nowhere\n[ours]\nrepository = https://example.org/legacy/\n"
    )
    others = "[nowhere]\nusername = me\n[ours_old]\nrepository = https://example.org/old/\n"
    file.write_text(servers_of_it + others)

    def named(repository: str) -> str:
        destination = Destination(name="own", kind="index", repository=repository)
        return account(destination, {"TWINE_CONFIG_FILE": str(file)}, alone=True).url

    assert named("ours") == "https://example.org/legacy/"
    for name, said, advice in (
        ("our", f"Missing 'our' section from {file}.", "did you mean ours? "),
        ("pypl", f"Missing 'pypl' section from {file}.", "did you mean pypi? "),
        ("ours_old", f"Missing 'ours_old' section from {file}.", "did you mean ours? "),
        ("nowhere", f"[nowhere] of {file} has no repository", ""),
    ):
        with pytest.raises(WainwrightError) as caught:
            named(name)
        error = caught.value
        assert (error.code, error.where, error.what) == (Exit.USAGE, "publish.own", said)
        assert error.hint.startswith(advice or f"add [{name}]")


def test_a_broken_pypirc_tells_nothing_of_what_is_in_it(tmp_path: Path) -> None:
    file = tmp_path / "pypirc"
    file.write_text(f"[pypi\npassword = {PASSWORD}\n")
    with pytest.raises(WainwrightError) as caught:
        account(Destination(name="pypi", kind="index", repository="pypi"), {"TWINE_CONFIG_FILE": str(file)}, alone=True)
    assert PASSWORD not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "text",
    [
        "\\xe9",
        "\\x00",
        "[ours",
        "[ours]\\nrepository=http://me:{}@[/",
        "[ours]\\nrepository=http://me:{}@h:99999/",
        "[ours]\\nrepository=me:{}@h/legacy",
        "[ours]\\nrepository=",
        "[ours]\\nrepository=ftp://me:{}@h/",
    ],
)
def test_a_pypirc_may_hold_anything(tmp_path: Path, text: str) -> None:
    file = tmp_path / "pypirc"
    given = text.encode().decode("unicode_escape").replace("{}", quote(PASSWORD, safe=""))
    file.write_bytes(f"[distutils]\nindex-servers = ours\n{given}\nusername = me\n".encode("latin-1"))
    declared = Destination(name="own", kind="index", repository="ours")
    with pytest.raises(WainwrightError) as caught:
        account(declared, {"TWINE_CONFIG_FILE": str(file)}, alone=True)
    assert (caught.value.code, caught.value.where) == (Exit.USAGE, "publish.own")
    assert caught.value.hint
    assert leaks(str(caught.value).encode()) == []


def test_one_indexs_token_is_nobody_elses() -> None:
    environ = {"TWINE_USERNAME": "me", "TWINE_PASSWORD": PASSWORD, "TWINE_PASSWORD_INTERNAL": "inner-secret"}
    environ |= {"TWINE_USERNAME_INTERNAL": "inner"}
    inner = Destination(name="internal", kind="index", url="https://packages.example.org/legacy/")
    other = Destination(name="other", kind="index", url="https://other.example.org/legacy/")
    assert account(inner, environ, alone=False).password == "inner-secret"  # noqa: S105
    assert account(inner, environ, alone=False).username == "inner"
    assert account(other, environ, alone=False).password is None
    assert account(other, environ, alone=True).password == PASSWORD


def test_a_repository_may_be_replaced_by_the_environment() -> None:
    environ = {"TWINE_REPOSITORY_URL": "https://me:pw-in-url@example.org/legacy/"}
    found = account(Destination(name="pypi", kind="index", repository="pypi"), environ, alone=True)
    assert (found.url, found.username, found.password) == ("https://example.org/legacy/", "me", "pw-in-url")


@pytest.mark.parametrize(
    "text",
    [
        f"a {PASSWORD} b",
        f"https://me:{quote(PASSWORD, safe='')}@example.org/",
        "Authorization: Basic " + base64.b64encode(f"me:{PASSWORD}".encode()).decode(),
        "https://anybody:unknown-secret@example.org/x",
        "the token pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAw was refused",
        f"Bad credentials: {TOKEN}",
    ],
)
def test_a_mask_hides_every_spelling(text: str) -> None:
    hidden = Mask.of("me", PASSWORD)(text)
    assert MASK in hidden
    assert leaks(hidden.encode()) == []
    assert "unknown-secret" not in hidden
    assert "AgEIcHlwaS5vcmcC" not in hidden


def test_a_mask_leaves_other_text_alone() -> None:
    text = "Uploading demo-1.0-py3-none-any.whl to https://example.org/legacy/"
    assert Mask.of("me", PASSWORD)(text) == text
    assert Mask.of("me", "")(text) == text


def test_git_is_given_no_password_by_argument() -> None:
    address, env = confidential(f"https://me:{quote(PASSWORD, safe='')}@example.org/demo.git")
    assert address == "https://example.org/demo.git"
    assert env["GIT_CONFIG_KEY_0"] == "http.https://example.org/demo.git.extraHeader"
    assert base64.b64decode(env["GIT_CONFIG_VALUE_0"].split()[-1]).decode() == f"me:{PASSWORD}"
    for plain in (
        "git@example.org:demo.git",
        "/srv/demo.git",
        "https://example.org/demo.git",
        "ssh://git@example.org/x",
    ):
        assert confidential(plain) == (plain, {})


def test_nothing_that_holds_a_secret_shows_it() -> None:
    held = Account(url="https://example.org/legacy/", username="me", password=PASSWORD, source="TWINE_PASSWORD")
    assert PASSWORD not in repr(held)
    assert PASSWORD not in repr(held.mask)
