from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from wainwright.declaration.release import Directory, Git, Sdist
from wainwright.errors import Exit, WainwrightError
from wainwright.run import run
from wainwright.sourcing.sdists import unpack
from wainwright.sourcing.sources import Prepared, digest_of, identify, prepare

PYPROJECT = '[project]\nname = "demo"\nversion = "1.5"\n'


@pytest.fixture(autouse=True)
def git_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Give git a configuration and an author that do not depend on who runs the tests."""
    config = tmp_path / "gitconfig"
    config.write_text("[user]\nname = T\nemail = t@example.org\n[init]\ndefaultBranch = main\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "protocol.file.allow=always", "-C", str(folder), *words]
    return str(subprocess.run(command, check=True, capture_output=True, text=True).stdout).strip()


def _write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def _repository(folder: Path, **files: str) -> Path:
    _write(folder, pyproject_dot_toml=PYPROJECT, **files)
    _git(folder, "init", "-q")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", "first")
    return folder


def _prepare(source: Directory | Sdist | Git, tmp_path: Path) -> Prepared:
    return prepare(source, tmp_path / "out" / "source", run=run, cache=tmp_path / "cache")


def _files(tree: Path) -> list[str]:
    return sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_symlink() or path.is_file())


def test_of_a_work_tree_the_tracked_files_are_taken_as_they_are(tmp_path: Path) -> None:
    repository = _repository(tmp_path / "r", src__a_dot_c="old", src__gone_dot_c="x", _dot_gitignore="dist/\n")
    _write(repository, src__a_dot_c="new", untracked="x", dist__old_dot_whl="x", src__added_dot_c="x")
    (repository / "src" / "gone.c").unlink()
    _git(repository, "add", "src/added.c")
    prepared = _prepare(Directory(path=repository), tmp_path)
    assert _files(prepared.path) == [".gitignore", "pyproject.toml", "src/a.c", "src/added.c"]
    assert (prepared.path / "src" / "a.c").read_text() == "new"
    assert (prepared.name, prepared.version) == ("demo", "1.5")
    assert prepared.origin["commit"] == _git(repository, "rev-parse", "HEAD")
    assert prepared.origin["changed"] is True
    assert prepared.path == tmp_path / "out" / "source"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["source"]


def test_a_folder_below_the_top_of_a_work_tree_stands_for_itself(tmp_path: Path) -> None:
    repository = _repository(tmp_path / "r", examples__demo__setup_dot_py="x", other_dot_py="x")
    prepared = _prepare(Directory(path=repository / "examples" / "demo"), tmp_path)
    assert _files(prepared.path) == ["setup.py"]
    assert prepared.origin["changed"] is False


def test_a_folder_of_which_git_tracks_nothing_is_an_error(tmp_path: Path) -> None:
    repository = _repository(tmp_path / "r")
    _write(repository, new__setup_dot_py="x")
    with pytest.raises(WainwrightError, match="git tracks no file") as error:
        _prepare(Directory(path=repository / "new"), tmp_path)
    assert "git add" in error.value.hint
    assert not (tmp_path / "out" / "source").exists()


def test_a_repository_without_a_commit_is_taken_too(tmp_path: Path) -> None:
    _write(tmp_path / "r", a="x")
    _git(tmp_path / "r", "init", "-q")
    _git(tmp_path / "r", "add", "a")
    prepared = _prepare(Directory(path=tmp_path / "r"), tmp_path)
    assert _files(prepared.path) == ["a"]
    assert prepared.origin["commit"] is None


def test_variables_of_a_git_hook_do_not_mislead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository, other = _repository(tmp_path / "r", mine="x"), _repository(tmp_path / "other", foreign="x")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert _files(_prepare(Directory(path=repository), tmp_path).path) == ["mine", "pyproject.toml"]


def test_links_and_executable_bits_are_kept(tmp_path: Path) -> None:
    repository = _write(tmp_path / "r", run_dot_sh="x", plain="x", d__f="x")
    (repository / "run.sh").chmod(0o755)
    (repository / "link").symlink_to("plain")
    (repository / "folder").symlink_to("d")
    (repository / "dangling").symlink_to("nowhere")
    for kind in ("outside git", "in git"):
        if kind == "in git":
            _git(repository, "init", "-q")
            _git(repository, "add", "-A")
        tree = _prepare(Directory(path=repository), tmp_path).path
        assert os.access(tree / "run.sh", os.X_OK), kind
        assert not os.access(tree / "plain", os.X_OK), kind
        links = [(tree / name).readlink() for name in ("link", "folder", "dangling")]
        assert links == [Path("plain"), Path("d"), Path("nowhere")], kind


def _commit(repository: Path, tmp_path: Path, folder: str = ".") -> Prepared:
    """Prepare what HEAD has."""
    head = _git(repository, "rev-parse", "HEAD")
    source, target = Directory(path=repository / folder), tmp_path / "out" / "source"
    return prepare(source, target, run=run, cache=tmp_path / "cache", commit=head)


def test_of_a_commit_the_files_are_taken_as_git_has_them(tmp_path: Path) -> None:
    repository = _repository(
        tmp_path / "r",
        d__a_dot_c="old",
        d__b_dot_c="old",
        d__crlf_dot_txt="one\n",
        _dot_gitattributes="*.txt eol=crlf\n",
    )
    (repository / "d" / "run.sh").write_text("x")
    (repository / "d" / "run.sh").chmod(0o755)
    (repository / "d" / "link").symlink_to("a.c")
    _git(repository, "add", "-A")
    _git(repository, "commit", "-q", "-m", "more")
    (repository / "d" / "crlf.txt").unlink()
    _git(repository, "checkout", "-q", "--", ".")
    whole, below = _prepare(Directory(path=repository), tmp_path), _prepare(Directory(path=repository / "d"), tmp_path)
    assert _commit(repository, tmp_path).digest == whole.digest
    assert _commit(repository, tmp_path, "d").digest == below.digest
    _git(repository, "update-index", "--assume-unchanged", "d/b.c")
    _write(repository, d__a_dot_c="new", d__b_dot_c="new", d__untracked="x")
    prepared = _commit(repository, tmp_path)
    assert prepared.digest == whole.digest
    assert prepared.origin["changed"] is False
    assert (prepared.origin["uncommitted"], prepared.origin["untracked"]) == (["d/a.c", "d/b.c"], ["d/untracked"])
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["source"]
    assert (repository / "d" / "a.c").read_text() == "new", "nothing is written to the work tree"


def test_a_commit_with_nothing_in_the_folder_is_an_error(tmp_path: Path) -> None:
    repository = _repository(tmp_path / "r")
    _write(repository, new__setup_dot_py="x")
    with pytest.raises(WainwrightError, match="git tracks no file"):
        _commit(repository, tmp_path, "new")
    assert not (tmp_path / "out" / "source").exists()


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_what_git_was_told_not_to_look_at_counts_as_changed(tmp_path: Path, flag: str) -> None:
    repository = _repository(tmp_path / "r", a="old", sub__b="x")
    _git(repository, "update-index", flag, "a")
    _write(repository, a="new")
    assert _prepare(Directory(path=repository), tmp_path).origin["changed"] is True
    assert _prepare(Directory(path=repository / "sub"), tmp_path).origin["changed"] is False


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    """Give a repository with a submodule that has a submodule."""
    inner = _repository(tmp_path / "inner", deep="x")
    library = _repository(tmp_path / "library", code_dot_c="x")
    _git(library, "submodule", "add", "-q", str(inner), "third/inner")
    _git(library, "commit", "-q", "-m", "inner")
    top = _repository(tmp_path / "top", main="x")
    _git(top, "submodule", "add", "-q", str(library), "libs/library")
    _git(top, "submodule", "update", "-q", "--init", "--recursive")
    _git(top, "commit", "-q", "-m", "library")
    return top


NESTED = [
    ".gitmodules",
    "libs/library/.gitmodules",
    "libs/library/code.c",
    "libs/library/pyproject.toml",
    "libs/library/third/inner/deep",
    "libs/library/third/inner/pyproject.toml",
    "main",
    "pyproject.toml",
]


def test_submodules_are_taken_at_their_recorded_commits(nested: Path, tmp_path: Path) -> None:
    prepared = _prepare(Directory(path=nested), tmp_path)
    assert _files(prepared.path) == NESTED
    assert set(prepared.origin["submodules"]) == {"libs/library", "libs/library/third/inner"}


def test_a_submodule_that_is_not_checked_out_is_named_with_the_command_that_mends_it(
    nested: Path, tmp_path: Path
) -> None:
    _git(nested, "submodule", "deinit", "-q", "-f", "libs/library")
    with pytest.raises(WainwrightError, match=r"submodule libs/library is recorded at .* not checked out") as error:
        _prepare(Directory(path=nested), tmp_path)
    command = error.value.hint.partition(";")[0].replace("git ", "git -c protocol.file.allow=always ", 1)
    subprocess.run(command.split(), check=True, capture_output=True)
    assert _files(_prepare(Directory(path=nested), tmp_path).path) == NESTED


def test_a_submodule_at_another_commit_is_named(nested: Path, tmp_path: Path) -> None:
    inner = nested / "libs" / "library" / "third" / "inner"
    _git(inner, "commit", "-q", "--allow-empty", "-m", "moved on")
    with pytest.raises(WainwrightError, match=r"submodule libs/library/third/inner is recorded at .* it is at"):
        _prepare(Directory(path=nested), tmp_path)


def test_an_edit_in_a_submodule_that_asks_to_be_ignored(nested: Path, tmp_path: Path) -> None:
    before = _prepare(Directory(path=nested), tmp_path)
    library = nested / "libs" / "library"
    for repository, name in ((nested, "libs/library"), (library, "third/inner")):
        _git(repository, "config", "-f", ".gitmodules", f"submodule.{name}.ignore", "all")
        _git(repository, "config", f"submodule.{name}.ignore", "all")
    _git(nested, "update-index", "--assume-unchanged", ".gitmodules")
    _write(library, third__inner__deep="EDITED")
    assert _prepare(Directory(path=nested), tmp_path).origin["changed"] is True
    prepared = _commit(nested, tmp_path)
    assert prepared.digest == before.digest
    assert prepared.origin["submodules"] == before.origin["submodules"]
    assert "libs/library/third/inner/deep" in prepared.origin["uncommitted"]
    _git(library / "third" / "inner", "commit", "-q", "-a", "-m", "moved on")
    assert _commit(nested, tmp_path).digest == before.digest, "the recorded commit is still there"
    shutil.rmtree(library / "third" / "inner")
    with pytest.raises(WainwrightError, match=r"submodule libs/library/third/inner is recorded at .* not checked out"):
        _commit(nested, tmp_path)


def test_outside_git_a_folder_is_taken_whole_without_results(tmp_path: Path) -> None:
    folder = _write(
        tmp_path / "f", src__build__x_dot_py="x", build__o="x", dist__w="x", wheelhouse__w="x", _dot_tox__x="x",
        src____pycache____x="x", _dot_venv__x="x", _dot_nox__x="x", _dot_hidden="x",
    )  # fmt: skip
    (folder / "src" / "__pycache__").mkdir()
    (folder / "src" / "__pycache__" / "x.pyc").touch()
    (folder / "empty").mkdir()
    os.mkfifo(folder / "pipe")
    prepared = _prepare(Directory(path=folder), tmp_path)
    assert [name for name in _files(prepared.path) if "pycache" not in name] == [".hidden", "src/build/x.py"]
    assert (prepared.path / "empty").is_dir()
    assert not (prepared.path / "src" / "__pycache__").exists()
    assert prepared.origin["commit"] is None


def test_a_target_inside_the_source_is_not_copied_into_itself(tmp_path: Path) -> None:
    folder = _write(tmp_path / "f", a="x")
    for _ in range(2):
        prepared = prepare(Directory(path=folder), folder / "work" / "source", run=run, cache=tmp_path)
        assert _files(prepared.path) == ["a"]


def test_a_folder_that_is_absent_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WainwrightError, match="no such folder") as error:
        _prepare(Directory(path=tmp_path / "absent"), tmp_path)
    assert error.value.code is Exit.USAGE


def test_the_digest_depends_on_names_contents_and_executable_bits_alone(tmp_path: Path) -> None:
    folder = _write(tmp_path / "f", a="1", b__c="2")
    first = digest_of(folder)
    copy = shutil.copytree(folder, tmp_path / "copy")
    os.utime(copy / "a", (1, 1))
    (copy / "a").chmod(0o600)
    assert digest_of(copy) == first
    (copy / "a").chmod(0o755)
    changed = {first, digest_of(copy)}
    (copy / "a").chmod(0o644)
    (copy / "a").rename(copy / "A")
    changed.add(digest_of(copy))
    (copy / "A").rename(copy / "a")
    (copy / "a").write_text("3")
    changed.add(digest_of(copy))
    (copy / "a").unlink()
    (copy / "a").symlink_to("1")
    changed.add(digest_of(copy))
    (copy / "a").unlink()
    (copy / "a").mkdir()
    changed.add(digest_of(copy))
    assert len(changed) == 6


def test_the_digest_is_the_same_from_a_folder_and_from_its_clone(tmp_path: Path) -> None:
    repository = _repository(tmp_path / "r", a__b="x")
    (repository / "tool").write_text("x")
    (repository / "tool").chmod(0o755)
    _git(repository, "add", "-A")
    _git(repository, "commit", "-q", "-m", "tool")
    time.sleep(0.01)
    digests = {_prepare(Directory(path=repository), tmp_path).digest}
    digests.add(_prepare(Git(url=str(repository), rev="main"), tmp_path).digest)
    digests.add(_prepare(Git(url=repository.as_uri(), rev="HEAD"), tmp_path).digest)
    assert len(digests) == 1


def test_a_revision_is_a_tag_a_branch_or_a_commit(tmp_path: Path) -> None:
    repository = _repository(tmp_path / "r", a="first")
    first = _git(repository, "rev-parse", "HEAD")
    _git(repository, "tag", "-a", "v1", "-m", "v1")
    _write(repository, a="second")
    _git(repository, "commit", "-q", "-am", "second")
    _git(repository, "checkout", "-q", "-b", "side", first)
    _write(repository, a="third")
    _git(repository, "commit", "-q", "-am", "third")
    for rev, text in (("v1", "first"), (first, "first"), (first[:10], "first"), ("main", "second"), ("side", "third")):
        prepared = _prepare(Git(url=str(repository), rev=rev), tmp_path)
        assert (prepared.path / "a").read_text() == text
        assert prepared.origin["commit"] == _git(repository, "rev-parse", f"{rev}^{{commit}}")
        assert prepared.origin["rev"] == rev
        assert not (prepared.path / ".git").exists()


def test_a_revision_comes_with_its_submodules(nested: Path, tmp_path: Path) -> None:
    prepared = _prepare(Git(url=str(nested), rev="main"), tmp_path)
    assert _files(prepared.path) == NESTED
    assert len(prepared.origin["submodules"]) == 2


def test_a_repository_or_a_revision_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    repository = _repository(tmp_path / "r", a="x")
    with pytest.raises(WainwrightError, match="no revision 'v9'"):
        _prepare(Git(url=str(repository), rev="v9"), tmp_path)
    with pytest.raises(WainwrightError, match="cannot be cloned") as error:
        _prepare(Git(url=str(tmp_path / "absent"), rev="v9"), tmp_path)
    assert any("absent" in line for line in error.value.details)
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"pyproject_dot_toml": PYPROJECT}, ("demo", "1.5")),
        ({"pyproject_dot_toml": '[project]\nname = "demo"\ndynamic = ["version"]\n'}, ("demo", None)),
        ({"pyproject_dot_toml": "[build-system]\n"}, (None, None)),
        ({"pyproject_dot_toml": "not = [toml"}, (None, None)),
        ({"setup_dot_cfg": "[metadata]\nname = demo\nversion = 2.0\n"}, ("demo", "2.0")),
        ({"setup_dot_cfg": "[metadata]\nname = demo\nversion = attr: demo.__version__\n"}, ("demo", None)),
        ({"PKG-INFO": "Metadata-Version: 2.1\nName: demo\nVersion: 3.0\n\ntext"}, ("demo", "3.0")),
        ({}, (None, None)),
    ],
)
def test_name_and_version_are_read_where_they_are_static(
    tmp_path: Path, files: dict[str, str], expected: tuple[str | None, str | None]
) -> None:
    folder = _write(tmp_path / "f", a="x", **files)
    assert identify(Directory(path=folder)) == expected
    prepared = _prepare(Directory(path=folder), tmp_path)
    assert (prepared.name, prepared.version) == expected


def test_of_an_sdist_the_pin_says_name_and_version() -> None:
    assert identify(Sdist(requirement="ujson==6.1.0")) == ("ujson", "6.1.0")
    assert identify(Git(url="x", rev="y")) == (None, None)


def _tar(path: Path, *members: tuple[str, dict[str, object]]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, attributes in members:
            info = tarfile.TarInfo(name)
            data = b"x" if attributes.get("type", tarfile.REGTYPE) == tarfile.REGTYPE else b""
            info.size = len(data)
            for key, value in attributes.items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(data))
    return path


def test_an_sdist_is_unpacked_with_its_links_and_executable_bits(tmp_path: Path) -> None:
    archive = _tar(
        tmp_path / "demo-1.tar.gz",
        ("demo-1", {"type": tarfile.DIRTYPE, "mode": 0o700}),
        ("demo-1/a", {"mode": 0o600}),
        ("./demo-1/d/run", {"mode": 0o4755}),
        ("demo-1/link", {"type": tarfile.SYMTYPE, "linkname": "d/run"}),
        ("demo-1/d/back", {"type": tarfile.SYMTYPE, "linkname": "../a"}),
        ("demo-1/hard", {"type": tarfile.LNKTYPE, "linkname": "demo-1/a"}),
    )
    unpack(archive, tmp_path / "tree")
    assert _files(tmp_path / "tree") == ["a", "d/back", "d/run", "hard", "link"]
    assert (tmp_path / "tree" / "d" / "run").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "tree" / "hard").read_text() == "x"
    assert (tmp_path / "tree" / "d" / "back").readlink() == Path("../a")


def test_an_sdist_may_be_a_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "demo-1.zip", "w") as archive:
        archive.writestr("demo-1/a", "x")
        archive.writestr("demo-1/d/", "")
    unpack(tmp_path / "demo-1.zip", tmp_path / "tree")
    assert _files(tmp_path / "tree") == ["a"]


@pytest.mark.parametrize(
    "members",
    [
        [("../evil", {})],
        [("/evil", {})],
        [("demo-1/../../evil", {})],
        [("demo-1/l", {"type": tarfile.SYMTYPE, "linkname": "/etc"}), ("demo-1/l/evil", {})],
        [("demo-1/l", {"type": tarfile.SYMTYPE, "linkname": "../../x"})],
        [("demo-1/l", {"type": tarfile.SYMTYPE, "linkname": "."}), ("demo-1/l/evil", {})],
        [("demo-1/p", {"type": tarfile.FIFOTYPE})],
        [("demo-1/h", {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"})],
        [("demo-1/a", {}), ("demo-2/a", {})],
        [("a", {})],
        [],
    ],
)
def test_an_sdist_that_reaches_outside_or_is_no_sdist_is_an_error(
    tmp_path: Path, members: list[tuple[str, dict[str, object]]]
) -> None:
    archive = _tar(tmp_path / "in.tar.gz", *members)
    (tmp_path / "work").mkdir()
    with pytest.raises(WainwrightError) as error:
        unpack(archive, tmp_path / "work" / "tree")
    assert error.value.code is Exit.BUILD
    assert "in.tar.gz" in error.value.where
    assert list((tmp_path / "work").iterdir()) == []
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize("keep", [0, 10, 1000, 3000])
def test_an_sdist_that_is_cut_short_is_an_error(tmp_path: Path, keep: int) -> None:
    archive = _tar(tmp_path / "in.tar.gz", *((f"demo-1/{number}", {}) for number in range(1000)))
    assert archive.stat().st_size > 3000
    archive.write_bytes(archive.read_bytes()[:keep])
    with pytest.raises(WainwrightError, match=r"cannot be unpacked|holds 0"):
        unpack(archive, tmp_path / "tree")


def _index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    """Make pip look in one folder alone, that holds demo 1.0 as an sdist with that build backend."""
    folder = tmp_path / "demo-1.0"
    _write(folder, pyproject_dot_toml=f'[build-system]\nrequires = ["absent-backend"]\n{backend}')
    _write(folder, **{"PKG-INFO": "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"})
    (tmp_path / "links").mkdir()
    with tarfile.open(tmp_path / "links" / "demo-1.0.tar.gz", "w:gz") as tar:
        tar.add(folder, "demo-1.0")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))


@pytest.mark.parametrize(
    "backend",
    [
        'build-backend = "absent.backend"\n',
        'build-backend = "absent:inner.object"\n',
        'build-backend = "own"\nbackend-path = ["."]\n',
        "",
    ],
)
def test_an_sdist_is_fetched_without_its_build_backend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    _index(tmp_path, monkeypatch, backend)
    prepared = _prepare(Sdist(requirement="demo==1.0"), tmp_path)
    assert _files(prepared.path) == ["PKG-INFO", "pyproject.toml"]
    assert (prepared.name, prepared.version) == ("demo", "1.0")
    assert prepared.origin["file"] == "demo-1.0.tar.gz"
    assert len(prepared.origin["sha256"]) == 64
    shutil.rmtree(tmp_path / "links")  # the second time it comes from the cache
    assert _prepare(Sdist(requirement="demo==1.0"), tmp_path) == prepared


def test_an_sdist_that_does_not_exist_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _index(tmp_path, monkeypatch, "")
    with pytest.raises(WainwrightError, match=r"there is no sdist demo==9\.0") as error:
        _prepare(Sdist(requirement="demo==9.0"), tmp_path)
    assert error.value.code is Exit.USAGE
    assert error.value.details == ("ERROR: No matching distribution found for demo==9.0",)
    assert list((tmp_path / "cache" / "sdists").iterdir()) == []


@pytest.mark.network
def test_an_sdist_whose_metadata_wants_a_compiler_is_fetched_from_the_index(tmp_path: Path) -> None:
    prepared = _prepare(Sdist(requirement="contourpy==1.3.3"), tmp_path)
    assert prepared.origin["sha256"] == "083e12155b210502d0bca491432bb04d56dc3432f95a979b429f2848c3dbe880"
    assert (prepared.path / "meson.build").exists()
