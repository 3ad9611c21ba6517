"""What docs/ says is held against what it is made of."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from wainwright.declaration import complaints
from wainwright.declaration.cautions import cautions
from wainwright.declaration.config import load
from wainwright.declaration.planning import plan
from wainwright.declaration.unpack import unpack
from wainwright.values import Python

ROOT = Path(__file__).parent.parent


def test_the_reference_of_release_toml_is_made_of_its_schema() -> None:
    argv = [sys.executable, str(ROOT / "docs/release_toml.py")]
    made = subprocess.run(argv, capture_output=True, check=True, encoding="utf-8").stdout
    current = (ROOT / "docs/release-toml.md").read_text(encoding="utf-8")
    assert current == made, "python docs/release_toml.py > docs/release-toml.md"


def _keys(node: dict[str, Any], place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any], bool]]:
    """Give every key that holds no table, as its table states it, and whether it must be there."""
    for key, stated in node.get("properties", {}).items():
        inner = complaints._resolved(stated)
        if "properties" in inner:
            yield from _keys(inner, (*place, key))
        elif isinstance(inner.get("additionalProperties"), dict) and "properties" in inner["additionalProperties"]:
            yield from _keys(inner["additionalProperties"], (*place, key, "NAME"))
        else:
            yield (*place, key), stated, key in node.get("required", ())


def test_every_key_that_may_be_left_out_says_what_holds_then() -> None:
    silent = [
        ".".join(place)
        for place, stated, required in _keys(complaints.schema())
        if not required and "default" not in stated and "Left out: " not in stated["description"]
    ]
    assert silent == []


def test_the_defaults_are_those_that_hold(tmp_path: Path) -> None:
    least: dict[str, Any] = {
        "project": {"source": "."},
        "backends": {"cpu": {}},
        "images": {"zig": {"toolchain": "zig"}},
        "targets": {"2.17": {"image": "zig"}},
        "variants": {"full": {"backends": ["cpu"], "glibc": ["2.17"]}},
        "publish": {"pypi": {"repository": "pypi"}},
    }
    least["variants"]["full"] |= {"diff": {"against": "latest"}, "smoke": {"loaded": {"once": []}}}
    names = {"backends": "cpu", "images": "zig", "targets": "2.17", "variants": "full", "publish": "pypi"}
    spelled: dict[str, Any] = deepcopy(least)
    for place, stated, _ in _keys(complaints.schema()):
        if "default" in stated:
            *tables, key = (names[place[0]] if part == "NAME" else part for part in place)
            table = spelled
            for part in tables:
                table = table.setdefault(part, {})
            table[key] = stated["default"]
    assert spelled != least
    path = tmp_path / "release.toml"
    found, wanted = unpack(spelled, path), unpack(least, path)
    for name in ("project", "backends", "images", "targets", "variants", "publish"):
        assert getattr(found, name) == getattr(wanted, name), name


def test_the_release_toml_of_the_readme_is_right_and_proves_what_it_says(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (tmp_path / "release.toml").write_text(readme.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    jobs = plan(load(tmp_path / "release.toml"), python=Python(3, 12), arch="x86_64")
    assert [job.id for job in jobs] == ["full-2_17-cp311-x86_64"]
    assert cautions(jobs, here=None) == ()
