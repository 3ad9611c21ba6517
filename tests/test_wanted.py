from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from wainwright.hosts.destinations import Asset
from wainwright.hosts.wanted import MAX_SIZE, Wanted, objections

WHEEL = Asset(name="demo-1.0-py3-none-any.whl", path=Path("demo"), size=5, sha256="a" * 64)
WANTED = Wanted(tag="v1.0", version="1.0", commit="1" * 40, title="", notes="", assets=(WHEEL,))


def test_a_seal_names_tag_commit_and_files_and_no_more() -> None:
    other = replace(WHEEL, name="b.whl")
    both = replace(WANTED, assets=(WHEEL, other))
    assert both.seal == replace(WANTED, assets=(other, WHEEL), notes="other", title="other").seal
    changed = [
        replace(WANTED, tag="v1.1"),
        replace(WANTED, commit="2" * 40),
        replace(WANTED, assets=(replace(WHEEL, sha256="b" * 64),)),
        both,
    ]
    assert len({WANTED.seal, *(wanted.seal for wanted in changed)}) == 5


def test_what_github_would_not_take_is_said_beforehand() -> None:
    assert objections([WHEEL]) == ()
    assert objections([replace(WHEEL, name="demo-1.0+cu129-py3-none-any.whl")]) == ()
    (told,) = objections([replace(WHEEL, size=MAX_SIZE)])
    assert "2 GiB" in told
    (told,) = objections([replace(WHEEL, size=0)])
    assert "empty" in told
    (told,) = objections([replace(WHEEL, name="demo-1!2.0.tar.gz")])
    assert "demo-1.2.0.tar.gz" in told
    assert objections([replace(WHEEL, name="release notes.txt")]) == ()
    told, _ = objections([replace(WHEEL, name="a b.txt"), replace(WHEEL, name="a~b.txt")])
    assert "a.b.txt" in told
    assert "1001 files" in objections([replace(WHEEL, name=f"{number}.whl") for number in range(1001)])[0]
