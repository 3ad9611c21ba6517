from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine
import native
from judging import extension
from projects import RELEASE, Project
from registry import registry
from test_loading import NEW
from wainwright.declaration.release import Image
from wainwright.running.images import pull
from wainwright.running.pushing import push, push_list

pytestmark = pytest.mark.engine
BOTH = (("build", "bullseye", "build"), ("newer", "bookworm", ""), ("bare", "bullseye", "bare"))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with registry(tmp_path_factory.mktemp("registry")) as place:
        yield place
    for image in engine.engine().ask("images", "--quiet", "--filter", f"reference={place}/*").stdout.split():
        engine.engine().ask("rmi", "--force", image)


def project(folder: Path, tables: str, *, build: str = "zig", smoke: str = "host", python: str = "3.11") -> Project:
    text = RELEASE.replace("[images.zig]", f"{tables}\n[images.zig]")
    text = text.replace('source = "."', f'source = "."\npython = ["{python}"]')
    text = text.replace('image = "zig"', f'image = "{build}"').replace('smoke = ["host"]', f'smoke = ["{smoke}"]')
    return Project(folder, release=text)


def with_dockerfile(folder: Path, address: str, name: str) -> Project:
    table = f'[images.base]\ndockerfile = "base.Dockerfile"\nref = "{address}/{name}:v1"\n'
    made = project(folder, table, build="base", smoke="base", python="3.9")
    made.edit("[variants.full.smoke]", '[variants.full.smoke]\nimages = ["host"]')
    # No compiler in there: what is pushed is to be small.
    made.edit("{python} make.py {out}", "cp {source}/*.whl {out}")
    wheel = "demo-1.0-cp39-cp39-linux_x86_64.whl"
    native.wheel(made.root / wheel, {"demo/__init__.py": b"", "demo/mod.so": extension()})
    made.write("base.Dockerfile", f"FROM {engine.debian().ref}\n")
    return made


def test_images_are_built_pinned_pushed_and_held_to_their_pin(address: str, tmp_path: Path) -> None:
    demo = with_dockerfile(tmp_path / "demo", address, "held")
    would = demo.run("images", "--", "--dry-run")
    assert f"would build {address}/held:v1" in would.stderr
    assert not (demo.root / "release.lock").exists()
    done = demo.run("images", "--", "--push", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["images"]
    lock = (demo.root / "release.lock").read_text()
    assert row["digest"] in lock
    assert demo.run("images").returncode == 0
    assert (demo.root / "release.lock").read_text() == lock
    built = demo.run("build")
    assert built.returncode == 0, built.stderr
    receipt = json.loads((demo.root / "wheelhouse/receipts/full-2_17-cp39-x86_64.build.json").read_text())
    assert receipt["facts"]["image"] == row["digest"]

    demo.write("base.Dockerfile", f"FROM {engine.debian().ref}\nENV ADDED=1\n")
    engine.engine().ask("rmi", "--force", f"{address}/held:v1")
    stopped = demo.run("images", "--", "--update")
    assert stopped.returncode == 0, stopped.stderr
    demo.write("release.lock", lock)
    stopped = demo.run("build")
    assert stopped.returncode == 4, stopped.stderr
    assert f"release.lock pins {row['digest']}" in stopped.stderr
    assert f"{address}/held:v1 is now sha256:" in stopped.stderr


def test_the_image_that_built_a_wheel_proves_nothing_under_another_name(tmp_path: Path) -> None:
    build, alias = engine.debian("bullseye", "build").ref or "", "wainwright/test:alias"
    engine.engine().ask("tag", build, alias)
    tables = f'[images.build]\nref = "{build}"\n[images.alias]\nref = "{alias}"\n'
    demo = project(tmp_path / "demo", tables, build="build", smoke="alias", python="3.9")
    demo.edit("2.17", "2.31")
    assert demo.run("check").returncode == 0
    done = demo.run("smoke")
    assert done.returncode == 7, done.stderr
    assert f"{alias} is the very image that built the wheel, sha256:" in done.stderr


def test_an_image_that_stands_on_the_one_that_built_a_wheel_proves_nothing(tmp_path: Path) -> None:
    build = engine.debian("bullseye", "build").ref or ""
    tables = f'[images.build]\nref = "{build}"\n[images.above]\ndockerfile = "above.Dockerfile"\n'
    demo = project(tmp_path / "demo", tables, build="build", smoke="above", python="3.9")
    demo.write("above.Dockerfile", f"FROM {build}\nRUN touch /above\n")
    demo.edit("2.17", "2.31")
    done = demo.run("smoke")
    assert done.returncode == 7, done.stderr
    assert "wainwright/above:latest was made from the image that built the wheel, sha256:" in done.stderr


def test_several_architectures_are_pushed_as_one_list(address: str, tmp_path: Path) -> None:
    base = Image(name="base", ref=f"{address}/base:v1")
    for arch in ("x86_64", "aarch64"):
        engine.foreign(base.ref or "", arch, {"arch": arch.encode()})
        push(engine.engine(), base, arch=arch, of_several=True)
    push_list(engine.engine(), base, arches=("x86_64", "aarch64"))
    engine.engine().ask("rmi", "--force", base.ref or "")

    table = f'[images.both]\ndockerfile = "both.Dockerfile"\nref = "{address}/both:v1"\n'
    demo = project(tmp_path / "demo", table, build="both", smoke="both", python="3.9")
    demo.edit("[variants.full.smoke]", '[variants.full.smoke]\nimages = ["host"]')
    demo.edit('glibc = ["2.17"]', 'glibc = ["2.17"]\narch = ["x86_64", "aarch64"]')
    demo.write("both.Dockerfile", f"FROM {base.ref}\nCOPY make.py /note\n")
    done = demo.run("images", "--", "--push", "--json")
    assert done.returncode == 0, done.stderr
    digests = {row["arch"]: row["digest"] for row in json.loads(done.stdout)["images"]}
    assert f"both: pushing the list {address}/both:v1 of aarch64, x86_64" in done.stderr
    request = urllib.request.Request(
        f"http://{address}/v2/both/manifests/v1",
        headers={"Accept": "application/vnd.docker.distribution.manifest.list.v2+json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        listed = {row["platform"]["architecture"]: row["digest"] for row in json.load(answer)["manifests"]}
    assert listed == {"amd64": digests["x86_64"], "arm64": digests["aarch64"]}
    # Another machine has each by its pin, and by the one tag.
    for row in engine.engine().ask("images", "--quiet", f"{address}/both").stdout.split():
        engine.engine().ask("rmi", "--force", row)
    for arch, digest in digests.items():
        pulled = pull(engine.engine(), Image(name="both", ref=f"{address}/both:v1"), arch=arch, digest=digest)
        assert pulled.digest == digest
    assert demo.run("images").returncode == 0


def test_an_image_that_there_is_not_is_named(address: str, tmp_path: Path) -> None:
    demo = with_dockerfile(tmp_path / "demo", address, "unknown")
    done = demo.run("images", "--", "bases")
    assert done.returncode == 3, done.stderr
    assert "did you mean base?" in done.stderr
    done = demo.run("compat", "--", "bases")
    assert done.returncode == 2, done.stderr
    assert "'bases' is not a tag of this project" in done.stderr
    assert "and has an image 'base'" in done.stderr


def test_a_local_image_that_has_changed_is_pinned_anew(tmp_path: Path) -> None:
    ref = "wainwright/test:moving"
    engine.made("moving", f"FROM {engine.debian('bullseye', 'bare').ref}\nENV STATE=1\n")
    tables = f'[images.moving]\nref = "{ref}"\n[images.away]\nref = "localhost:1/away:v1"\n'
    demo = project(tmp_path / "demo", tables, smoke="moving")
    # Of the two images, the jobs that are left use one.
    only = ("--only", "full-*")
    assert demo.run("images", "--", *only).returncode == 0
    moved = engine.made("moving", f"FROM {engine.debian('bullseye', 'bare').ref}\nENV STATE=2\n")
    assert demo.run("smoke").returncode == 4
    done = demo.run("images", "--", "--update", *only)
    assert done.returncode == 0, done.stderr
    assert f"moving: no registry gives {moved.ref}: the one that is here is taken, by its id" in done.stderr
    assert demo.run("images", "--", "moving").returncode == 0
    assert demo.run("images", "--", "--only", "moving").returncode == 3


def test_every_image_that_cannot_be_had_is_named_at_once(tmp_path: Path) -> None:
    tables = '[images.one]\nref = "localhost:1/one:v1"\n[images.two]\ndockerfile = "two.Dockerfile"\n'
    demo = project(tmp_path / "demo", tables)
    demo.write("two.Dockerfile", f"FROM {engine.debian('bullseye', 'bare').ref}\nRUN echo it broke && exit 9\n")
    done = demo.run("images")
    assert done.returncode == 4, done.stderr
    for word in ("images.one", "cannot be reached", "images.two", "two.Dockerfile does not build", "it broke"):
        assert word in done.stderr


def test_compat_says_which_images_a_wheel_does_not_load_in_and_why(tmp_path: Path) -> None:
    tables = f'[images.old]\nref = "{engine.debian("bullseye", "bare").ref}"\n'
    tables += f'[images.new]\nref = "{engine.debian("bookworm", "bare").ref}"\n'
    # The source asks for glibc 2.36, and is built for it.
    demo = project(tmp_path / "demo", tables)
    demo.edit("2.17", "2.36")
    demo.write("mod.c", NEW)
    done = demo.run("compat")
    assert done.returncode == 0, done.stderr
    assert "glibc 2.31   does not" in done.stdout
    assert "version `GLIBC_2.36' not found (required by demo/mod.so)" in done.stdout
    assert "glibc 2.36   loads" in done.stdout
    done = demo.run("compat", "--", "old", engine.debian("bookworm", "bare").ref or "", "--json")
    table = json.loads(done.stdout.splitlines()[-1])
    assert [(row["image"], row["loads"]) for row in table["wheels"]] == [
        ("old", False),
        (engine.debian("bookworm", "bare").ref, True),
    ]
    assert table["images"]["old"]["libstdc++"] == "6.0.28"
    kept = (demo.root / "wheelhouse/compat.md").read_text()
    assert "| does not | `demo/mod.so: " in kept
    assert demo.run("compat", "--", "localhost:1/no/such:v1").returncode == 4
    assert (demo.root / "wheelhouse/compat.md").read_text() == kept


def test_the_doctor_names_each_lack_with_what_mends_it(tmp_path: Path) -> None:
    tables = (
        f'[images.here]\nref = "{engine.debian("bullseye", "bare").ref}"\n[images.away]\nref = "localhost:1/x:v1"\n'
    )
    tables += '[publish.page]\nrepository = "owner/name"\n'
    demo = project(tmp_path / "demo", tables, build="here", smoke="away", python="3.9")
    demo.edit("2.17", "2.31")
    done = demo.run("doctor", "--", "--json")
    assert done.returncode == 1, done.stderr
    findings = {(row["subject"], row["state"]): row for row in json.loads(done.stdout)["findings"]}
    assert ("engine", "right") in findings
    assert "Python 3.9 is not in the image" in findings["images.here", "lacking"]["what"]
    assert findings["images.away", "lacking"]["mend"] == "nox -s images -- away"
    assert ("git", "right") in findings
    assert "LACKS" in demo.run("doctor").stdout


def test_the_doctor_gives_the_engines_own_words(tmp_path: Path) -> None:
    ref = engine.debian("bullseye", "bare").ref
    demo = project(tmp_path / "demo", f'[images.tiny]\nref = "{ref}"\nmemory = "1 MB"\n', smoke="tiny")
    done = demo.run("doctor")
    assert done.returncode == 1, done.stderr
    assert f"no container of {ref} could be started; docker: Error response from daemon: Minimum memory" in done.stdout
    assert f"see what `docker run --rm {ref} true` says" in done.stdout


def test_a_python_that_a_smoke_image_lacks_is_named_before_anything_is_built(tmp_path: Path) -> None:
    images = {name: engine.debian(suite, kind).ref for name, suite, kind in BOTH}
    tables = "".join(f'[images.{name}]\nref = "{ref}"\n' for name, ref in images.items())
    demo = project(tmp_path / "demo", tables, build="build", smoke="newer", python="3.9")
    demo.edit("2.17", "2.31")
    done = demo.run("smoke")
    assert done.returncode == 4, done.stderr
    assert "images.newer: Python 3.9 is not in the image, and a smoke image that has a Python must have" in done.stderr
    assert not list((demo.root / "wheelhouse").glob("receipts/*"))
    # One without any Python has its loader look.
    demo.edit('smoke = ["newer"]', 'smoke = ["bare"]')
    done = demo.run("smoke")
    assert done.returncode == 0, done.stderr
    assert "no smoke image has a Python, so nothing of [variants.full.smoke] was tried" in done.stderr
    # What is built already needs no container to see that it is.
    demo.edit('smoke = ["bare"]', 'smoke = ["newer"]')
    again = demo.run("build")
    assert (again.returncode, "unchanged" in again.stderr) == (0, True)


def doctored(
    demo: Project, monkeypatch: pytest.MonkeyPatch, *, engine: str = ""
) -> tuple[int, dict[tuple[str, str], str]]:
    monkeypatch.setenv("WAINWRIGHT_ENGINE", engine)
    done = demo.run("doctor", "--", "--json")
    return done.returncode, {(row["subject"], row["state"]): row["what"] for row in json.loads(done.stdout)["findings"]}


def test_an_image_without_python_lacks_one_only_where_it_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = f'[images.bare]\nref = "{engine.debian("bullseye", "bare").ref}"\n'
    code, findings = doctored(project(tmp_path / "proves", tables, smoke="bare"), monkeypatch)
    assert code == 0, findings
    assert "its loader looks at each wheel" in findings["images.bare", "note"]
    builds = project(tmp_path / "builds", tables, build="bare")
    builds.edit("2.17", "2.31")
    code, findings = doctored(builds, monkeypatch)
    assert code == 1
    assert "Python 3.11 is not in the image" in findings["images.bare", "lacking"]


def test_a_smoke_image_with_another_python_lacks_the_one_that_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = f'[images.other]\nref = "{engine.debian().ref}"\n'
    code, findings = doctored(project(tmp_path / "demo", tables, smoke="other"), monkeypatch)
    assert code == 1
    assert "Python 3.11 is not in the image" in findings["images.other", "lacking"]


@pytest.mark.parametrize(("choice", "unless"), [("none", "an engine answers"), ("", "it can be had")])
def test_an_image_with_a_fallback_is_no_lack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choice: str, unless: str
) -> None:
    tables = '[images.away]\nref = "localhost:1/x:v1"\nfallback = "zig"\n'
    demo = project(tmp_path / "demo", tables, build="away")
    code, findings = doctored(demo, monkeypatch, engine=choice)
    assert code == 0, findings
    stands_in = f"unless {unless}, the host with zig stands in, and nothing made or proven so is published"
    assert findings["images.away", "note"] == stands_in
    assert not choice or ("engine", "note") in findings
    demo.edit('fallback = "zig"', "")
    assert doctored(demo, monkeypatch, engine=choice)[0] == 1
