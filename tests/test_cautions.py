from __future__ import annotations

import json
from pathlib import Path

import pytest

from projects import RELEASE, Project
from wainwright.declaration import config
from wainwright.declaration.cautions import cautions
from wainwright.declaration.planning import plan
from wainwright.values import Glibc, Python

IMAGES = """
[images.centos7]
ref = "docker.io/library/centos:7"
[images.debian10]
ref = "debian:10"
[images.bookworm]
ref = "debian:bookworm-slim"
[images.own]
ref = "registry.example.org/own:1"
"""


def told(folder: Path, smoke: str, *, here: Glibc | None = None, old: str = "", new: str = "") -> tuple[str, ...]:
    text = RELEASE.replace('smoke = ["host"]', f"smoke = {smoke}").replace(old, new) + IMAGES
    (folder / "release.toml").write_text(text)
    jobs = plan(config.load(folder / "release.toml"), python=Python(3, 12), arch="x86_64")
    return cautions(jobs, here=here)


@pytest.mark.parametrize(
    ("smoke", "here", "oldest"),
    [
        ('["debian10", "bookworm"]', None, "debian10, has glibc 2.28"),
        ('["bookworm", "host"]', Glibc(2, 31), "host, has glibc 2.31"),
        ('["debian10", "centos7"]', None, None),
        ('["debian10", "own"]', None, None),
        ('["host"]', Glibc(2, 17), None),
        ('["host"]', None, None),
    ],
)
def test_wheels_that_are_proven_on_newer_glibcs_alone_are_warned_of(
    tmp_path: Path, smoke: str, here: Glibc | None, oldest: str | None
) -> None:
    lines = told(tmp_path, smoke, here=here)
    assert len(lines) == bool(oldest)
    if oldest:
        assert lines[0].startswith('targets."2.17".smoke: ')
        assert oldest in lines[0]
        assert "nothing proves that wheels run on 2.17" in lines[0]


def test_the_images_of_a_variant_are_warned_of_where_they_stand(tmp_path: Path) -> None:
    own = '[variants.full.smoke]\nimages = ["debian10"]'
    (line,) = told(tmp_path, '["centos7"]', old="[variants.full.smoke]", new=own)
    assert line.startswith("variants.full.smoke.images: ")


def test_a_variant_that_nobody_uses_is_warned_of(tmp_path: Path) -> None:
    text = RELEASE.partition("[variants.full.smoke]")
    (line,) = told(tmp_path, '["centos7"]', old=text[1] + text[2], new="")
    assert line.startswith("variants.full.smoke: neither import nor run")
    lines = text[2].strip().splitlines()
    for kept in lines:
        assert told(tmp_path, '["centos7"]', old="\n".join(lines), new=kept) == ()


def test_check_and_plan_warn_and_are_content(tmp_path: Path) -> None:
    demo = Project(tmp_path / "demo", release=RELEASE.replace('["host"]', '["debian10"]') + IMAGES)
    done = demo.run("check")
    assert done.returncode == 0
    assert done.stderr.splitlines()[0].startswith('warning: targets."2.17".smoke: ')
    assert done.stderr.splitlines()[1] == "release.toml is right: 1 variant, 1 target, 1 job"
    assert "\nwarnings:\n  targets." in demo.run("plan").stdout
    for session in ("check", "plan"):
        (line,) = json.loads(demo.run(session, "--", "--json").stdout)["warnings"]
        assert "nothing proves that wheels run on 2.17" in line
