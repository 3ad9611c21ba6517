from __future__ import annotations

import base64
import dataclasses
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import releases
import servers
from misbehaving import Fault, Seen
from releases import Trial
from servers import Small
from strict_github import OWNER, REPO, TOKEN, StrictGitHub
from wainwright.declaration.release import Destination
from wainwright.errors import Exit, WainwrightError
from wainwright.finding import Finding, refuse
from wainwright.hosts.patience import Patience
from wainwright.hosts.sites import connected
from wainwright.hosts.tokens import Scope, scope
from wainwright.releasing import filechecks, kept
from wainwright.releasing.gitstate import Tree
from wainwright.releasing.manifest import File
from wainwright.releasing.preflight import Preflight
from wainwright.releasing.proofs import examine
from wainwright.releasing.sealing import seal
from wainwright.run import run

PASSWORD = "correct-horse-7391"  # noqa: S105


def git(folder: Path, *words: str) -> str:
    settings = ["-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", *settings, "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@dataclass
class World:
    """A tagged, pushed, clean project, an index and a GitHub; each test spoils one thing."""

    trial: Trial
    index: Small
    github: StrictGitHub
    open: ExitStack
    environ: dict[str, str]
    changes: dict[str, object] = field(default_factory=dict)
    skipped: str = ""

    @property
    def root(self) -> Path:
        return self.trial.release.root

    def preflight(self, *, files: tuple[File, ...] = ()) -> Preflight:
        hosts = self.open.enter_context(
            connected(
                self.trial.release.publish.values(),
                chosen=lambda name: name != self.skipped,
                project="demo",
                run=run,
                logs=self.root / "logs",
                environ=self.environ,
                patience=Patience(attempts=2, pause=0, sleep=lambda _: None),
                pause=lambda _: None,
            )
        )
        made = Preflight(
            jobs=self.trial.jobs,
            name="demo",
            tag="v1.0",
            version="1.0",
            said="1.0",
            tree=Tree(folder=self.root, run=run),
            hosts=hosts,
            run=run,
            wheelhouse=self.trial.wheelhouse,
            environ=self.environ,
            files=files,
        )
        return dataclasses.replace(made, **self.changes)  # type: ignore[arg-type]

    def said(self, *, files: tuple[File, ...] = ()) -> list[str]:
        return [str(finding) for finding in self.preflight(files=files).findings()]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    root = tmp_path / "project"
    with Small(password=PASSWORD).running() as index, StrictGitHub() as github, ExitStack() as stack:
        toml = releases.TOML.replace("https://packages.example.org/legacy/", index.upload)
        toml = toml.replace('repository = "owner/demo"', 'repository = "owner/demo"\nindex = true')
        trial = releases.trial(root, toml=toml.replace("owner/demo", f"{OWNER}/{REPO}"))
        (root / ".gitignore").write_text("/wheelhouse/\n/logs/\n")
        git(root, "init", "--quiet", "--initial-branch=main")
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "-m", "all")
        git(root, "tag", "-a", "v1.0", "-m", "1.0")
        subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "remote.git")], check=True)
        git(root, "remote", "add", "origin", str(tmp_path / "remote.git"))
        git(root, "push", "--quiet", "origin", "main", "v1.0")
        github.tags["v1.0"] = ("commit", git(root, "rev-parse", "HEAD"))
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "GITHUB_API_URL": github.api_url, "GH_TOKEN": TOKEN}
        environ |= {"TWINE_USERNAME": servers.USER, "TWINE_PASSWORD": PASSWORD}
        environ |= {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
        yield World(trial=trial, index=index, github=github, open=stack, environ=environ)


def built(world: World) -> tuple[File, ...]:
    return examine(world.trial.sealing())[0]


def test_nothing_stands_in_the_way_of_a_sound_release(world: World) -> None:
    assert world.said() == []
    assert world.said(files=built(world)) == []


def test_preflight_writes_nothing(world: World) -> None:
    world.said(files=built(world))
    assert world.index.files == {}
    assert [line for line in world.index.requests if line.startswith("POST")] == ["POST /legacy/"], "the probe"
    assert sum(world.github.count(method, ".*") for method in ("POST", "PATCH", "DELETE")) == 0


def no_tag(world: World) -> None:
    git(world.root, "tag", "-d", "v1.0")
    git(world.root, "push", "--quiet", "origin", ":v1.0")


def not_fetched(world: World) -> None:
    git(world.root, "tag", "-d", "v1.0")


def not_head(world: World) -> None:
    git(world.root, "commit", "--quiet", "--allow-empty", "-m", "more")


def not_pushed(world: World) -> None:
    git(world.root, "push", "--quiet", "origin", ":v1.0")


def moved(world: World) -> None:
    git(world.root, "commit", "--quiet", "--allow-empty", "-m", "more")
    git(world.root, "tag", "-f", "-a", "v1.0", "-m", "again")


def no_remote(world: World) -> None:
    git(world.root, "remote", "remove", "origin")


def lost_remote(world: World) -> None:
    git(world.root, "remote", "set-url", "origin", "https://me:secret-token-1@127.0.0.1:9/none.git")


def dirty(world: World) -> None:
    (world.root / "release.toml").write_text((world.root / "release.toml").read_text() + "# more\n")


def stranger(world: World) -> None:
    world.environ["TWINE_PASSWORD"] = "wrong-password"  # noqa: S105


def no_password(world: World) -> None:
    del world.environ["TWINE_PASSWORD"]


def no_token(world: World) -> None:
    del world.environ["GH_TOKEN"]


def may_not_push(world: World) -> None:
    world.github.push = False


def host_of_another_name(world: World) -> None:
    world.environ["GITHUB_API_URL"] = world.github.api_url.replace("127.0.0.1", "localhost")


def index_away(world: World) -> None:
    world.index.reads = [500] * 100


def already_there(world: World) -> None:
    world.index.files[world.trial.wheel("full").name] = b"of another build"


def already_public(world: World) -> None:
    world.github.add_release("v1.0")


def other_source(world: World) -> None:
    world.changes["said"] = "1.0.1"


def odd_version(world: World) -> None:
    world.changes |= {"version": "1.0-rc1", "said": None}


def no_tag_there(world: World) -> None:
    del world.github.tags["v1.0"]


def another_tag_there(world: World) -> None:
    world.github.tags["v1.0"] = ("commit", "1" * 40)


def latin(world: World) -> None:
    (world.root / "CHANGELOG.md").write_bytes(b"# 1.0\n\n- d\xe9j\xe0 vu\n")
    world.changes["root"] = world.root


def no_notes(world: World) -> None:
    (world.root / "CHANGELOG.md").write_text("# 0.9\n\n- old\n")
    world.changes["root"] = world.root
    world.github.plan = lambda seen: Fault(status=422) if seen.path.endswith("generate-notes") else None


def too_much(world: World) -> None:
    (world.root / "CHANGELOG.md").write_text("# 1.0\n\n" + "- more\n" * 20_000)
    world.changes["root"] = world.root


def no_remote_to_push_to(world: World) -> None:
    world.changes |= {"root": world.root, "push": True}


def refuses_to_tell(world: World) -> None:
    world.github.plan = lambda seen: Fault(status=422) if seen.path.endswith(f"/{REPO}") else None


def refuses_to_tell_of_tags(world: World) -> None:
    world.github.plan = lambda seen: Fault(status=422) if "/git/ref/" in seen.path else None


@pytest.mark.parametrize(
    ("spoil", "where", "what"),
    [
        (no_tag_there, "publish.page", f"{OWNER}/{REPO} does not have v1.0, and GitHub would make a tag of its own"),
        (another_tag_there, "publish.page", f"{OWNER}/{REPO} has v1.0 at commit 1111111"),
        (latin, "CHANGELOG.md", "this is not UTF-8"),
        (no_notes, f"{OWNER}/{REPO}", "CHANGELOG.md has no section for 1.0, and the host writes no notes"),
        (too_much, "CHANGELOG.md", "what is said of 1.0 has 139999 characters, and a release page takes 124300"),
        (no_remote_to_push_to, "project", f"no git remote leads to {OWNER}/{REPO}"),
        (refuses_to_tell, f"{OWNER}/{REPO}", "could not read the repository: HTTP 422"),
        (refuses_to_tell_of_tags, f"{OWNER}/{REPO}", "could not read the tag: HTTP 422"),
        (no_tag, "tag v1.0", "there is no such tag"),
        (not_fetched, "tag v1.0", "origin has it, and this clone does not"),
        (not_head, "tag v1.0", "and HEAD is"),
        (not_pushed, "tag v1.0", "origin does not have it"),
        (moved, "tag v1.0", "origin has it at commit"),
        (no_remote, "tag v1.0", "there is no remote"),
        (lost_remote, "remote origin", "does not say whether the tag is pushed"),
        (dirty, "", "the work tree differs from HEAD"),
        (stranger, "publish.internal", "does not let releaser in (403): the password is from TWINE_PASSWORD"),
        (no_password, "publish.internal", "there is no password"),
        (no_token, "demo", "no token for 127.0.0.1"),
        (may_not_push, "publish.page", "the token may not push"),
        (host_of_another_name, "demo", "the host calls itself http://127.0.0.1"),
        (index_away, "publish.internal", "answers 500"),
        (already_there, "publish.internal", "1.0 is there already, and what it was sealed with is not here"),
        (already_public, "publish.page", "the release v1.0 is public"),
        (other_source, "tag v1.0", "it stands for version 1.0, and the source says 1.0.1"),
        (odd_version, "tag v1.0", "1.0-rc1 is spelled 1.0rc1"),
    ],
)
def test_each_lack_is_found(world: World, spoil: Callable[[World], None], where: str, what: str) -> None:
    spoil(world)
    said = world.said()
    assert any(where in line.split(": ")[0] and what in line for line in said), said
    assert not any("secret-token-1" in line for line in said)


def test_a_tag_that_is_elsewhere_is_fetched_as_the_hint_says(world: World) -> None:
    not_fetched(world)
    (finding,) = world.preflight().findings()
    git(world.root, *finding.hint.split()[1:])
    assert world.said() == []


def test_everything_is_found_at_once(world: World) -> None:
    for spoil in (no_tag, dirty, stranger, may_not_push, other_source):
        spoil(world)
    assert len(world.said()) >= 5


def test_two_indexes_at_one_address_are_found(world: World) -> None:
    declared = dict(world.trial.release.publish)
    for name in ("pypi", "testpypi"):
        declared |= {name: Destination(name=name, kind="index", repository=name)}
    world.trial = dataclasses.replace(world.trial, release=dataclasses.replace(world.trial.release, publish=declared))
    world.environ["TWINE_REPOSITORY_URL"] = world.index.upload.rstrip("/")
    found = next(each for each in world.preflight().findings() if "its address" in each.what)
    assert (found.where, found.code) == ("publish.internal", Exit.USAGE)
    assert found.what == "its address is that of pypi, testpypi, too"
    assert found.hint.startswith("TWINE_REPOSITORY_URL stands in for all")


def test_a_skipped_destination_is_not_asked(world: World) -> None:
    world.skipped = "page"
    no_token(world)
    assert world.said() == []


def test_a_sealed_release_is_compared_by_digest(world: World) -> None:
    made = seal(world.trial.sealing(), reseal=False, public=lambda _: ())
    world.changes["manifest"] = made
    world.index.files[world.trial.wheel("full").name] = world.trial.wheel("full").read_bytes()
    assert world.said(files=made.files) == []
    world.index.files[world.trial.wheel("full").name] = b"another"
    assert any("is there already, and is another file" in line for line in world.said(files=made.files))


def test_what_a_host_does_not_tell_is_not_called_another_file(world: World) -> None:
    made = seal(world.trial.sealing(), reseal=False, public=lambda _: ())
    world.changes |= {"manifest": made, "wheelhouse": kept.home(world.trial.wheelhouse, "v1.0")}
    github = world.github
    release = github.add_release("v1.0")
    first, *others = made.bound_for("page")
    for file in others:
        content = (kept.home(world.trial.wheelhouse, "v1.0") / file.path).read_bytes()
        github.add_asset(release, file.name, content, digest=False)

    def describes(seen: Seen) -> Fault | None:  # as emulate does, instead of serving the bytes
        asset = github.assets.get(int(seen.path.rpartition("/")[2])) if "/releases/assets/" in seen.path else None
        return Fault(status=200, body=github.shown_asset(asset)) if asset else None

    github.plan = describes
    wrong, unknown = world.preflight(files=made.files).findings()
    assert (wrong.code, wrong.details) == (Exit.CONFLICT, (first.name,))
    assert (unknown.code, {*unknown.details}) == (Exit.REFUSED, {file.name for file in others})
    assert "the host neither tells the digests of these files nor serves their bytes" in unknown.what
    assert "release another version" not in unknown.hint


@pytest.fixture
def submodule(world: World, tmp_path: Path) -> Path:
    """Give the tagged project a submodule that asks to be ignored."""
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    (other / "a.c").write_text("int a;")
    git(other, "add", "a.c")
    git(other, "commit", "--quiet", "-m", "one")
    git(world.root, "submodule", "--quiet", "add", str(other), "deps/other")
    git(world.root, "config", "-f", ".gitmodules", "submodule.deps/other.ignore", "all")
    git(world.root, "commit", "--quiet", "-am", "with a submodule")
    git(world.root, "tag", "-f", "-a", "v1.0", "-m", "1.0")
    git(world.root, "push", "--quiet", "--force", "origin", "main", "v1.0")
    world.github.tags["v1.0"] = ("commit", git(world.root, "rev-parse", "HEAD"))
    assert world.said() == []
    return world.root / "deps" / "other"


def test_submodules_are_held_to_their_commits(world: World, submodule: Path) -> None:
    git(submodule, "commit", "--quiet", "--allow-empty", "-m", "two")
    (said,) = world.said()
    assert "submodule deps/other: it is at another commit" in said
    git(world.root, "add", "deps/other")
    (said,) = world.said()
    assert "the work tree differs from HEAD" in said
    assert "M  deps/other" in said


def test_what_is_edited_in_a_submodule_is_found(world: World, submodule: Path) -> None:
    (submodule / "made.o").write_text("not tracked")
    assert world.said() == []
    (submodule / "a.c").write_text("EDITED")
    (said,) = world.said()
    assert " M deps/other/a.c" in said


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_git_may_not_be_told_to_look_away(world: World, submodule: Path, flag: str) -> None:
    for folder, name in ((world.root, "release.toml"), (submodule, "a.c")):
        git(folder, "update-index", flag, name)
        (folder / name).write_text("# EDITED, NEVER COMMITTED")
    (said,) = world.said()
    assert "git was told not to look at these files" in said
    assert "release.toml" in said
    assert "deps/other/a.c" in said


def test_a_sparse_checkout_is_called_so(world: World) -> None:
    (world.root / "docs").mkdir()
    (world.root / "docs" / "a.md").write_text("a")
    git(world.root, "add", "docs")
    git(world.root, "commit", "--quiet", "-m", "with docs")
    git(world.root, "sparse-checkout", "set", "--no-cone", "/*", "!/docs/")
    said = "\n".join(world.said())
    assert "the checkout is sparse: it leaves out what belongs to the release" in said
    assert "docs/a.md" in said
    assert "told not to look" not in said


def test_a_file_over_the_limit_is_named_with_its_largest_members(tmp_path: Path) -> None:
    wheel = releases.make_wheel(tmp_path / "demo-1.0-cp310-cp310-manylinux_2_17_x86_64.whl", padding=50_000)
    destination = Destination(name="internal", kind="index", max_size=10_000)
    (found,) = filechecks.of_size(wheel, wheel.stat().st_size, destination)
    assert "demo/data.bin" in found.details[0]
    assert "10.0 kB is the limit there" in found.what
    assert len(found.details) <= 10
    assert list(filechecks.of_size(wheel, 100 * 1024 * 1024, Destination(name="x", kind="index"))) == []
    assert list(filechecks.of_size(wheel, 100 * 1024 * 1024 + 1, Destination(name="x", kind="index"))) != []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("demo-1.0-cp310-cp310-linux_x86_64.whl", "the platform tag linux_x86_64"),
        ("demo-1.0-cp310-cp310-manylinux_2_38_loongarch64.whl", "the platform tag manylinux_2_38_loongarch64"),
        ("demo-1.0+llvm-cp310-cp310-manylinux_2_17_x86_64.whl", "has a local version"),
        ("De.mo-1.0-cp310-cp310-manylinux_2_17_x86_64.whl", "is not normalised"),
        ("demo.whl", "not a wheel's file name"),
    ],
)
def test_names_that_an_index_refuses(name: str, said: str) -> None:
    (found,) = filechecks.of_name(name, Destination(name="internal", kind="index"))
    assert said in found.what


def test_a_release_page_takes_local_versions() -> None:
    name = "demo-1.0+llvm-cp310-cp310-linux_x86_64.whl"
    assert list(filechecks.of_name(name, Destination(name="page", kind="github"))) == []


def test_twine_looks_at_descriptions(tmp_path: Path) -> None:
    import native

    good = releases.make_wheel(tmp_path / "demo-1.0-py3-none-any.whl")
    head = b"Metadata-Version: 2.1\nName: demo\nVersion: 1.1\nDescription-Content-Type: text/x-rst\n"
    text = head + b"\nHello\n==\n\n`broken\n"
    bad = native.wheel(tmp_path / "demo-1.1-py3-none-any.whl", {"demo-1.1.dist-info/METADATA": text})
    (found,) = filechecks.of_descriptions([good, bad], run)
    assert found.where == bad.name
    assert found.details


def token(*caveats: object) -> str:
    """Make a token as warehouse does, with a signature that means nothing."""

    def packet(kind: int, data: bytes) -> bytes:
        length = bytearray()
        number = len(data)
        while number >= 0x80:
            length.append(number & 0x7F | 0x80)
            number >>= 7
        return bytes([kind]) + bytes([*length, number]) + data

    head = packet(1, b"index.example.org") + packet(2, b"a" * 200) + b"\0"
    middle = b"".join(packet(2, json.dumps(caveat).encode()) + b"\0" for caveat in caveats)
    return "pypi-" + base64.urlsafe_b64encode(b"\2" + head + middle + b"\0" + packet(6, b"s" * 32)).decode().rstrip("=")


@pytest.mark.parametrize(
    ("caveats", "expected"),
    [
        ([], Scope()),
        ([[1, ["Demo", "other"]]], Scope(projects=frozenset({"demo", "other"}))),
        ([{"version": 1, "permissions": {"projects": ["demo"]}}], Scope(projects=frozenset({"demo"}))),
        ([{"version": 1, "permissions": "user"}], Scope()),
        ([[0, 2000, 1000], [3, "id"]], Scope(expires=2000.0, not_before=1000.0)),
    ],
)
def test_what_a_token_says_of_itself(caveats: list[object], expected: Scope) -> None:
    assert scope(token(*caveats)) == expected


def test_a_token_for_another_project_is_found_without_asking() -> None:
    limits = scope(token([1, ["other"]], [0, 2000, 0]))
    assert limits.objections("demo", now=1000) == ("the token is for other, not for demo",)
    assert limits.objections("other", now=3000) == ("the token has expired",)


NESTED = base64.urlsafe_b64encode(b"\2" + b"\1\1a\2\1b\0" + b"\2\xa0\x8d\x06" + b"[" * 100_000 + b"\0\0").decode()
ODD: list[object] = [[0, None, None], [0, "soon", 0], [1, 5], [1, None], [1, [5]], {"permissions": {"projects": None}}]


@pytest.mark.parametrize(
    "text",
    ["", "ghp_x", "pypi-", "pypi-AgEI", token()[:-9], "pypi-!!", "pypi-é", "pypi-Aw==", f"pypi-{NESTED}"]
    + [token(caveat) for caveat in ODD],
)
def test_what_is_no_token(text: str) -> None:
    with pytest.raises(ValueError, match="token"):
        scope(text)


def test_a_tokens_limits_become_a_finding(world: World) -> None:
    world.environ |= {"TWINE_USERNAME": "__token__", "TWINE_PASSWORD": token([1, ["other"]])}
    said = world.said()
    assert any("the token is for other, not for demo" in line for line in said)
    assert not any(world.environ["TWINE_PASSWORD"] in line for line in said)


def test_findings_of_one_kind_keep_their_code() -> None:
    one = Finding(where="a", what="no", code=Exit.NOT_AUTHORISED)
    for findings, code in (([one], Exit.NOT_AUTHORISED), ([one, Finding(where="b", what="no")], Exit.REFUSED)):
        with pytest.raises(WainwrightError) as caught:
            refuse(findings, "v1.0 can be published")
        assert caught.value.code is code
        assert len(caught.value.details) == len(findings)
    refuse([], "v1.0 can be published")


def test_what_a_commit_has(world: World) -> None:
    tree = Tree(folder=world.root, run=run)
    commit = tree.commit_of("v1.0")
    assert commit is not None
    blob = git(world.root, "rev-parse", "v1.0:release.toml")
    assert tree.tracked(commit)["release.toml"] == blob
