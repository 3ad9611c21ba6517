from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tagged import git
from wainwright.errors import Exit, WainwrightError
from wainwright.hosts.simplepage import parse
from wainwright.releasing.indexfolder import push, write
from wainwright.releasing.pages import Link
from wainwright.run import run

A, B = "a" * 64, "b" * 64


def link(name: str = "demo-1.0-py3-none-any.whl", sha256: str = A) -> Link:
    return Link(name=name, url=f"https://example.org/{name}", sha256=sha256, size=3)


def test_earlier_releases_stay_listed(tmp_path: Path) -> None:
    write(tmp_path, "Demo", {"": [link()], "llvm": [link()]})
    write(tmp_path, "Demo", {"": [link("demo-2.0-py3-none-any.whl")]})
    data = json.loads((tmp_path / "demo" / "index.json").read_text())
    assert [each["filename"] for each in data["files"]] == ["demo-1.0-py3-none-any.whl", "demo-2.0-py3-none-any.whl"]
    assert data["versions"] == ["1.0", "2.0"]
    assert len(json.loads((tmp_path / "llvm" / "demo" / "index.json").read_text())["files"]) == 1


def test_another_file_under_a_listed_name_is_a_conflict(tmp_path: Path) -> None:
    write(tmp_path, "demo", {"": [link()]})
    with pytest.raises(WainwrightError) as caught:
        write(tmp_path, "demo", {"": [link(sha256=B)]})
    assert caught.value.code is Exit.CONFLICT


def test_a_variant_of_the_projects_name_has_no_address(tmp_path: Path) -> None:
    with pytest.raises(WainwrightError):
        write(tmp_path, "De.mo", {"": [link()], "de-mo": [link()]})


def test_the_pages_are_pushed_and_added_to(tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(remote)], check=True)
    first, second = {"": [link()]}, {"": [link("demo-2.0-py3-none-any.whl")]}
    assert push("demo", first, remote=str(remote), message="demo 1.0", run=run)
    assert not push("demo", first, remote=str(remote), message="demo 1.0", run=run)
    assert push("demo", second, remote=str(remote), message="demo 2.0", run=run)
    show = ["git", "-C", str(remote), "show", "gh-pages:demo/index.html"]
    page = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    assert "demo-1.0-py3" in page
    assert "demo-2.0-py3" in page


def test_a_remote_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(WainwrightError) as caught:
        push("demo", {"": [link()]}, remote=str(tmp_path / "none.git"), message="demo", run=run)
    assert "git ls-remote failed" in caught.value.what


def names(page: Path) -> list[str]:
    url = "https://example.org/"
    html = parse((page / "index.html").read_bytes(), content_type="text/html", url=url)
    data = json.loads((page / "index.json").read_text())
    listed = [each["filename"] for each in data["files"]] if "files" in data else []
    assert list(html) == listed
    return listed or [each["name"] for each in data["projects"]]


def test_another_project_stays_in_the_index(tmp_path: Path) -> None:
    write(tmp_path, "Other", {"": [link("other-1.0-py3-none-any.whl")], "llvm": [link("other-1.0-py3-none-any.whl")]})
    write(tmp_path, "demo", {"": [link()], "llvm": [link()]})
    for root in (tmp_path, tmp_path / "llvm"):
        assert names(root) == ["demo", "other"]
        assert 'href="other/"' in (root / "index.html").read_text()
        assert names(root / "other") == ["other-1.0-py3-none-any.whl"]


def test_a_project_may_not_take_the_place_of_anothers_variant(tmp_path: Path) -> None:
    write(tmp_path, "demo", {"": [link()], "llvm": [link()]})
    before = contents(tmp_path)
    with pytest.raises(WainwrightError, match="this is not the page that lies here"):
        write(tmp_path, "llvm", {"": [link("llvm-1.0-py3-none-any.whl")]})
    assert contents(tmp_path) == before


def contents(folder: Path) -> Mapping[str, str]:
    return {str(path): path.read_text() for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts}


def site(folder: Path) -> None:
    (folder / "index.html").write_text("<h1>The documentation of demo</h1>")


def api(folder: Path) -> None:
    (folder / "demo").mkdir()
    (folder / "demo" / "index.html").write_text("<h1>API of demo</h1>")


def search(folder: Path) -> None:
    (folder / "index.json").write_text('{"pages": []}')


def nested(folder: Path) -> None:
    (folder / "llvm").mkdir()
    (folder / "llvm" / "index.json").write_text("[" * 100_000)


def file(folder: Path) -> None:
    (folder / "demo").write_text("no folder")


def away(folder: Path) -> None:
    (folder.parent / "elsewhere").mkdir()
    (folder / "llvm").symlink_to(folder.parent / "elsewhere", target_is_directory=True)


def lost(folder: Path) -> None:
    write(folder, "demo", {"": [link("demo-0.9-py3-none-any.whl")]})
    (folder / "demo" / "index.json").unlink()


@pytest.mark.parametrize(
    ("spoil", "where"),
    [
        (site, "index.html"),
        (api, "demo/index.html"),
        (search, "index.json"),
        (nested, "llvm/index.json"),
        (file, "demo"),
        (away, "llvm"),
        (lost, "demo/index.html"),
    ],
)
def test_what_another_has_made_is_an_error_and_stays(tmp_path: Path, spoil: Callable[[Path], None], where: str) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    spoil(folder)
    before = contents(tmp_path)
    with pytest.raises(WainwrightError) as caught:
        write(folder, "demo", {"": [link()], "llvm": [link()]}, called="gh-pages")
    assert (caught.value.code, caught.value.where) == (Exit.CONFLICT, f"gh-pages: {where}")
    assert caught.value.hint
    assert contents(tmp_path) == before


def test_other_files_of_the_branch_are_left_alone(tmp_path: Path) -> None:
    remote, clone = tmp_path / "remote.git", tmp_path / "clone"
    subprocess.run(["git", "init", "--quiet", "--bare", str(remote)], check=True)
    clone.mkdir()
    git(clone, "init", "--quiet", "--initial-branch=gh-pages")
    (clone / "docs").mkdir()
    (clone / "docs" / "index.html").write_text("<h1>The documentation of demo</h1>\r\n")
    (clone / ".gitignore").write_text("*.json\ndemo/\n")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "-m", "the site")
    git(clone, "push", "--quiet", str(remote), "gh-pages")
    groups = {"": [link()]}
    assert push("demo", groups, remote=str(remote), message="demo 1.0", run=run, dry_run=True)
    assert git(remote, "log", "--oneline", "gh-pages").count("\n") == 0
    assert push("demo", groups, remote=str(remote), message="demo 1.0", run=run)
    changed = git(remote, "diff", "--name-only", "gh-pages^", "gh-pages").splitlines()
    assert changed == ["demo/index.html", "demo/index.json", "index.html", "index.json"]
    assert not push("demo", groups, remote=str(remote), message="demo 1.0", run=run, dry_run=True)
