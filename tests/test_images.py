from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import engine
from registry import registry
from wainwright.declaration.release import Image
from wainwright.errors import Exit, WainwrightError
from wainwright.running.having import PinError, have, have_anew, is_stale, pin_of
from wainwright.running.images import build, look, pull
from wainwright.running.pins import Lock, Pin, read_lock
from wainwright.running.pushing import push
from wainwright.running.standing import stand

ARCH = os.uname().machine


def lock(folder: Path, **pins: Pin) -> Lock:
    return Lock(path=folder / "release.lock", pins={(name, ARCH): pin for name, pin in pins.items()})


def test_a_lock_is_read_as_it_was_written(tmp_path: Path) -> None:
    pins = {
        ("old", "x86_64"): Pin(ref="quay.io/pypa/old", id="sha256:1", digest="sha256:2"),
        ("Odd-1", "aarch64"): Pin(ref="localhost:5000/odd:v1", id="sha256:3"),
    }
    written = read_lock(tmp_path).write(pins)
    assert read_lock(tmp_path) == written
    assert dict(written.pins) == pins
    assert (tmp_path / "release.lock").read_text().splitlines()[-10:] == [
        "version = 1",
        "",
        '[images."Odd-1"."aarch64"]',
        'ref = "localhost:5000/odd:v1"',
        'id = "sha256:3"',
        "",
        '[images."old"."x86_64"]',
        'ref = "quay.io/pypa/old"',
        'digest = "sha256:2"',
        'id = "sha256:1"',
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("version = 2", "version = 1 was expected, found 2"),
        ("version = ", "Invalid value"),
        ("version = 1\n[images.a.x86_64]\nref = 'x'", "an image without 'id'"),
        ("version = 1\nimages = 3", "an image without"),
    ],
)
def test_a_broken_lock_is_told(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "release.lock").write_text(text)
    with pytest.raises(WainwrightError) as caught:
        read_lock(tmp_path)
    assert why in caught.value.what
    assert caught.value.code == Exit.USAGE


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with registry(tmp_path_factory.mktemp("registry")) as place:
        yield place
    for image in engine.engine().ask("images", "--quiet", "--filter", f"reference={place}/*").stdout.split():
        forget(image)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    folder = tmp_path / "docker"
    folder.mkdir()
    (folder / "note").write_text("one\n")
    path = folder / "demo.Dockerfile"
    path.write_text(f"FROM {engine.debian('bullseye', 'bare').ref}\nCOPY note /note\n")
    return path


def forget(ref: str) -> None:
    engine.engine().ask("rmi", "--force", ref)


@pytest.mark.engine
def test_an_image_that_is_here_is_taken_without_asking_any_registry(tmp_path: Path) -> None:
    told: list[str] = []
    found = have(engine.engine(), engine.debian(), arch=ARCH, lock=lock(tmp_path), tell=told.append)
    assert found.digest.startswith("sha256:")
    assert found.platform == "linux/amd64"
    assert told == []


@pytest.mark.engine
def test_a_dockerfile_is_built_once_and_again_when_it_changes(recipe: Path, tmp_path: Path) -> None:
    image = Image(name="demo", ref="wainwright/test:demo", dockerfile=recipe)
    forget("wainwright/test:demo")
    told: list[str] = []
    first = have(engine.engine(), image, arch=ARCH, lock=lock(tmp_path), tell=told.append, log=tmp_path / "log")
    assert told == ["demo: building wainwright/test:demo from demo.Dockerfile for linux/amd64"]
    assert "COPY note" in (tmp_path / "log").read_text()
    assert have(engine.engine(), image, arch=ARCH, lock=lock(tmp_path)) == first
    recipe.write_text(recipe.read_text() + "ENV ADDED=1\n")
    assert is_stale(image, first)
    with pytest.raises(WainwrightError, match="built from another state of"):
        have(engine.engine(), image, arch=ARCH, lock=lock(tmp_path), fetch=False)
    second = have(engine.engine(), image, arch=ARCH, lock=lock(tmp_path))
    assert second.id != first.id
    assert second.env["ADDED"] == "1"
    (recipe.parent / "note").write_text("two\n")
    assert is_stale(image, second)
    assert have(engine.engine(), image, arch=ARCH, lock=lock(tmp_path)).id != second.id


@pytest.mark.engine
def test_a_dockerfile_that_fails_shows_its_end(recipe: Path, tmp_path: Path) -> None:
    recipe.write_text(f"FROM {engine.debian('bullseye', 'bare').ref}\nRUN echo the compiler said no && false\n")
    with pytest.raises(WainwrightError, match=r"demo\.Dockerfile does not build") as caught:
        build(engine.engine(), Image(name="demo", dockerfile=recipe), arch=ARCH, log=tmp_path / "log")
    assert caught.value.code == Exit.ENGINE
    assert "the compiler said no" in "\n".join(caught.value.details)
    with pytest.raises(WainwrightError, match="there is no such Dockerfile"):
        build(engine.engine(), Image(name="demo", dockerfile=tmp_path / "absent"), arch=ARCH)


@pytest.mark.engine
def test_push_pin_forget_and_pull_by_digest(address: str, recipe: Path, tmp_path: Path) -> None:
    image = Image(name="demo", ref=f"{address}/demo:v1", dockerfile=recipe)
    have(engine.engine(), image, arch=ARCH, lock=lock(tmp_path))
    pushed = push(engine.engine(), image, arch=ARCH)
    pin = pin_of(pushed)
    assert pin.digest in pushed.digests
    forget(image.ref or "")
    told: list[str] = []
    pulled = have(engine.engine(), image, arch=ARCH, lock=lock(tmp_path, demo=pin), tell=told.append)
    assert pulled.digest == pin.digest
    assert told == [f"demo: pulling {address}/demo@{pin.digest} for linux/amd64"]


@pytest.mark.engine
def test_an_image_that_is_not_the_pinned_one_stops_with_both_digests(
    address: str, recipe: Path, tmp_path: Path
) -> None:
    image = Image(name="moved", ref=f"{address}/moved:latest", dockerfile=recipe, fallback="zig")
    old = build(engine.engine(), image, arch=ARCH)
    old = push(engine.engine(), image, arch=ARCH)
    (recipe.parent / "note").write_text("two\n")
    build(engine.engine(), image, arch=ARCH)
    new = push(engine.engine(), image, arch=ARCH)
    with pytest.raises(PinError) as caught:
        stand(image, arch=ARCH, lock=lock(tmp_path, moved=pin_of(old)))
    assert caught.value.code == Exit.ENGINE
    assert caught.value.details == (f"release.lock pins {old.digest}", f"{image.ref} is now {new.digest}")
    assert "--update" in caught.value.hint
    renamed = replace(image, ref=f"{address}/other:latest")
    with pytest.raises(PinError):
        stand(renamed, arch=ARCH, lock=lock(tmp_path, moved=pin_of(old)))


@pytest.mark.engine
def test_an_edited_dockerfile_is_told_where_its_image_is_pinned(recipe: Path, tmp_path: Path) -> None:
    image = Image(name="edited", ref="wainwright/test:edited", dockerfile=recipe)
    pins = lock(tmp_path, edited=pin_of(build(engine.engine(), image, arch=ARCH)))
    recipe.write_text(recipe.read_text() + f"ENV ADDED={tmp_path.name}\n")
    with pytest.raises(PinError, match=r"demo\.Dockerfile, or what it copies, has changed since") as caught:
        have(engine.engine(), image, arch=ARCH, lock=pins)
    assert caught.value.hint == "`images -- edited --update` builds and pins it anew"


@pytest.mark.engine
def test_another_machine_is_told_to_have_a_built_image_pushed(recipe: Path, tmp_path: Path) -> None:
    image = Image(name="alone", ref="wainwright/test:alone", dockerfile=recipe)
    forget(image.ref or "")
    elsewhere = Pin(ref=image.ref or "", id="sha256:1")
    told: list[str] = []
    with pytest.raises(PinError) as caught:
        have(engine.engine(), image, arch=ARCH, lock=lock(tmp_path, alone=elsewhere), tell=told.append)
    assert told == []
    assert caught.value.details == (
        "release.lock pins sha256:1, which is in no registry: one machine alone has it",
        "wainwright/test:alone is not here",
    )
    assert "`images -- alone --update --push`" in caught.value.hint


@pytest.mark.engine
def test_an_image_of_no_registry_is_had_anew_as_it_is_here(recipe: Path) -> None:
    made = build(engine.engine(), Image(name="local", ref="localhost:1/local:v1", dockerfile=recipe), arch=ARCH)
    told: list[str] = []
    local = Image(name="local", ref=made.ref)
    assert have_anew(engine.engine(), local, arch=ARCH, tell=told.append) == made
    assert told[-1] == "local: no registry gives localhost:1/local:v1: the one that is here is taken, by its id"
    assert pin_of(made) == Pin(ref=made.ref, id=made.id)
    forget(made.ref)
    with pytest.raises(WainwrightError, match="the registry cannot be reached"):
        have_anew(engine.engine(), local, arch=ARCH, tell=told.append)


@pytest.mark.engine
def test_an_image_of_a_registry_is_had_anew_from_there_or_not_at_all(recipe: Path, tmp_path: Path) -> None:
    with registry(tmp_path) as place:
        image = Image(name="known", ref=f"{place}/known:v1", dockerfile=recipe)
        build(engine.engine(), image, arch=ARCH)
        known = push(engine.engine(), image, arch=ARCH)
        image = replace(image, dockerfile=None)
        assert have_anew(engine.engine(), image, arch=ARCH) == known
    with pytest.raises(WainwrightError, match="the registry cannot be reached"):
        have_anew(engine.engine(), image, arch=ARCH)
    # Another name of it is known to no registry: no other machine could pull by it.
    engine.engine().ask("tag", known.ref, "wainwright/test:known")
    other = look(engine.engine(), "wainwright/test:known")
    assert other is not None
    assert (other.id, other.digest) == (known.id, known.id)
    forget(known.ref)


@pytest.mark.engine
def test_the_end_of_a_dockerfile_that_fails_is_plain_text(recipe: Path) -> None:
    bare = engine.debian("bullseye", "bare").ref
    recipe.write_text(f"FROM {bare}\nRUN printf '\\033[1;31mred\\033[0m words\\n' && false\n")
    with pytest.raises(WainwrightError) as caught:
        build(engine.engine(), Image(name="demo", dockerfile=recipe), arch=ARCH)
    assert "red words" in caught.value.details
    assert not any("\x1b" in line for line in caught.value.details)


@pytest.mark.engine
def test_an_image_that_the_registry_does_not_have(address: str, tmp_path: Path) -> None:
    image = Image(name="absent", ref=f"{address}/absent:v1")
    with pytest.raises(WainwrightError, match="the registry does not have this image") as caught:
        stand(image, arch=ARCH, lock=lock(tmp_path))
    assert caught.value.code == Exit.ENGINE
    assert caught.value.where == "images.absent"
    standing = stand(replace(image, fallback="zig"), arch=ARCH, lock=lock(tmp_path))
    assert (standing.engine, standing.toolchain, standing.stands_in) == ("host", "zig", True)
    assert "the registry does not have this image" in str(standing)


@pytest.mark.engine
def test_a_registry_that_cannot_be_reached() -> None:
    image = Image(name="far", ref="localhost:1/far:v1")
    with pytest.raises(WainwrightError, match="the registry cannot be reached from here"):
        pull(engine.engine(), image, arch=ARCH)
    assert look(engine.engine(), "localhost:1/far:v1") is None


@pytest.mark.engine
def test_an_image_for_another_platform_is_not_taken_for_ours(tmp_path: Path) -> None:
    other = "aarch64" if ARCH == "x86_64" else "x86_64"
    with pytest.raises(WainwrightError) as caught:
        stand(Image(name="debian", ref=engine.debian().ref), arch=other, lock=lock(tmp_path), fetch=False)
    assert f"is not here for linux/{'arm64' if other == 'aarch64' else 'amd64'}" in caught.value.what


def test_without_an_engine_the_fallback_stands_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WAINWRIGHT_ENGINE", "none")
    image = Image(name="old", ref="quay.io/pypa/manylinux2014_x86_64", fallback="zig")
    standing = stand(image, lock=lock(tmp_path))
    assert (standing.engine, standing.stands_in, standing.digest) == ("host", True, "")
    assert str(standing) == "old (stood in for by the host with zig: WAINWRIGHT_ENGINE is none)"
    with pytest.raises(WainwrightError, match="WAINWRIGHT_ENGINE is none"):
        stand(replace(image, fallback=None), lock=lock(tmp_path))
    monkeypatch.setenv("WAINWRIGHT_ENGINE", "rkt")
    with pytest.raises(WainwrightError, match="there is no engine 'rkt'") as caught:
        stand(replace(image, fallback=None), lock=lock(tmp_path))
    assert "fallback" not in caught.value.hint
    assert stand(Image(name="host")).engine == "host"
