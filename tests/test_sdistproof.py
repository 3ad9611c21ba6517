from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from tagged import git
from wainwright.errors import Exit, WainwrightError
from wainwright.releasing.gitstate import Tree
from wainwright.releasing.sdistproof import objections
from wainwright.run import run

INFO = b"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"
CODE = b"code\n"
Member = tuple[str, bytes | str]  # a name with its bytes, or with what it links to
SOUND: tuple[Member, ...] = (("demo-1.0", b""), ("demo-1.0/PKG-INFO", INFO), ("demo-1.0/demo.py", CODE))


def blob(data: bytes) -> str:
    done = subprocess.run(["git", "hash-object", "--stdin"], input=data, capture_output=True, check=True)
    return done.stdout.decode().strip()


def sdist(folder: Path, members: tuple[Member, ...], *, kind: bytes = tarfile.SYMTYPE) -> Path:
    path = folder / "demo-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members:
            member = tarfile.TarInfo(name)
            if isinstance(data, str):
                member.type, member.linkname = kind, data
                archive.addfile(member)
            elif name in {".", "demo-1.0", "./demo-1.0"}:
                member.type = tarfile.DIRTYPE
                archive.addfile(member)
            else:
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    return path


def said(path: Path, **tracked: str) -> list[str]:
    names = {"demo.py": blob(CODE), "link.py": blob(b"demo.py"), **tracked}
    return list(objections(path, name="demo", version="1.0", tracked=names))


def test_the_tags_own_files_pass_also_below_a_dot_and_as_the_links_that_they_are(tmp_path: Path) -> None:
    assert said(sdist(tmp_path, SOUND)) == []
    dotted = ((".", b""), *((f"./{name}", data) for name, data in SOUND))
    assert said(sdist(tmp_path, (*dotted, ("./demo-1.0/made.egg-info/top.txt", b"by the backend")))) == []
    assert said(sdist(tmp_path, (*SOUND, ("demo-1.0/link.py", "demo.py")))) == []


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ((("./demo-1.0/demo.py", b"evil"),), "demo.py is in it twice"),
        ((("demo-1.0/./demo.py", b"evil"),), "demo.py is in it twice"),
        ((("demo-1.0//demo.py", b"evil"),), "demo.py is in it twice"),
        ((("demo-1.0/PKG-INFO", INFO),), "PKG-INFO is in it twice"),
        ((("demo-1.0/x/../demo.py", b"evil"),), "demo-1.0/x/../demo.py in it is outside demo-1.0/"),
        ((("/demo-1.0/demo.py", b"evil"),), "/demo-1.0/demo.py in it is outside demo-1.0/"),
        ((("other/setup.py", b"evil"),), "other/setup.py in it is outside demo-1.0/"),
        ((("demo-1.0/link.py", "evil.py"),), "link.py in it is not the tagged one"),
        ((("demo-1.0/untracked.py", "demo.py"),), "untracked.py in it is not the tagged one"),
        (
            (("demo-1.0/link.py", "demo.py"), ("demo-1.0/link.py/more.py", b"evil")),
            "link.py/more.py in it is below demo-1.0/link.py, which is no folder",
        ),
    ],
)
def test_nothing_takes_the_place_of_a_tagged_file(tmp_path: Path, more: tuple[Member, ...], expected: str) -> None:
    assert said(sdist(tmp_path, (*SOUND, *more))) == [expected]


def test_a_tagged_file_is_no_link_to_another_member(tmp_path: Path) -> None:
    members: tuple[Member, ...] = (*SOUND[:2], ("demo-1.0/evil.py", b"evil"), ("demo-1.0/demo.py", "evil.py"))
    assert said(sdist(tmp_path, members)) == ["demo.py in it is not the tagged one"]
    hard = (*members[:3], ("demo-1.0/demo.py", "demo-1.0/evil.py"))
    assert said(sdist(tmp_path, hard, kind=tarfile.LNKTYPE)) == ["demo.py in it is neither a file nor a folder"]


def test_what_cannot_be_read_or_has_no_metadata_is_refused(tmp_path: Path) -> None:
    assert said(sdist(tmp_path, SOUND[2:])) == ["it has no PKG-INFO"]
    (tmp_path / "demo-1.0.tar.gz").write_bytes(b"nothing")
    assert "it cannot be read" in said(tmp_path / "demo-1.0.tar.gz")[0]


def test_without_gits_list_of_files_nothing_is_compared_and_nothing_goes_on(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    with pytest.raises(WainwrightError) as caught:
        Tree(folder=tmp_path, run=run).tracked("c" * 40)
    assert caught.value.code is Exit.REFUSED
    assert "git does not list the files of commit cccc" in caught.value.what
