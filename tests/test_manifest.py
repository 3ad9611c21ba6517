from __future__ import annotations

import dataclasses
import io
import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import releases
from releases import Trial
from wainwright.errors import Exit, WainwrightError
from wainwright.receipts import Artifact
from wainwright.releasing import manifest
from wainwright.releasing.kept import home
from wainwright.releasing.manifest import Manifest
from wainwright.releasing.proofs import Sealing, examine
from wainwright.releasing.sealing import seal


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return releases.trial(tmp_path)


def nothing(_: Manifest) -> tuple[str, ...]:
    return ()


def sealed(sealing: Sealing, *, reseal: bool = False) -> Manifest:
    return seal(sealing, reseal=reseal, public=nothing)


def refusals(sealing: Sealing) -> tuple[str, ...]:
    with pytest.raises(WainwrightError) as caught:
        sealed(sealing)
    assert caught.value.code is Exit.REFUSED
    return caught.value.details


def test_a_seal_fixes_every_file_with_its_evidence(trial: Trial) -> None:
    made = sealed(trial.sealing())
    full = next(file for file in made.wheels if file.variant == "full")
    artifact = Artifact.of(trial.wheel("full"))
    assert (full.name, full.size, full.sha256) == (artifact.name, artifact.size, artifact.sha256)
    assert full.job == trial.job("full").id
    assert full.destinations == ("internal", "page")
    assert set(full.receipts) == {"build", "audit", "smoke.debian10"}
    assert all(len(digest) == 64 for digest in full.receipts.values())
    assert full.requires_python == ">=3.10"
    assert made.commit == "c" * 40
    assert made.images == {name: f"sha256:{name}" for name in ("centos7", "debian10", "old")} | {"zig": "zig 0.13"}
    assert made.tools == {"auditwheel": "6.8.2", "zig": "0.13"}
    assert manifest.read(trial.wheelhouse, "v1.0") == made


def test_the_sboms_that_wheels_carry_go_to_release_pages_alone(trial: Trial) -> None:
    made = sealed(trial.sealing())
    boms = [file for file in made.files if file.kind == "sbom"]
    assert len(boms) == 2
    assert {place for file in boms for place in file.destinations} == {"page"}
    kept = home(trial.wheelhouse, "v1.0")
    assert all((kept / file.path).read_bytes() == b'{"bomFormat": "CycloneDX"}' for file in boms)


def download(made: Manifest, kept: Path, place: str, folder: Path) -> None:
    """Have a destination's files in a folder, with what goes there beside them."""
    folder.mkdir()
    for asset in (*(file.asset(kept) for file in made.bound_for(place)), *manifest.evidence(made, kept, place)):
        (folder / asset.name).write_bytes(asset.path.read_bytes())
        assert Artifact.of(folder / asset.name) == Artifact(name=asset.name, sha256=asset.sha256, size=asset.size)


def test_sha256sum_accepts_the_sums_beside_the_files(trial: Trial, tmp_path: Path) -> None:
    made = sealed(trial.sealing())
    for place, count in (("page", len(made.files)), ("internal", 1)):
        download(made, home(trial.wheelhouse, "v1.0"), place, tmp_path / place)
        subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path / place, check=True)
        assert len((tmp_path / place / "SHA256SUMS").read_text().splitlines()) == count


def test_one_name_for_two_files_at_two_destinations_is_summed_at_each(tmp_path: Path) -> None:
    toml = releases.TOML.replace('local-version = "reduced"\n', "").replace('glibc = ["2.17"]', 'glibc = ["2.27"]')
    two = releases.trial(tmp_path / "trial", toml=toml.replace('["internal", "page"]', '["internal"]'))
    made = sealed(two.sealing())
    assert len({file.name for file in made.wheels}) == 1
    for place in ("internal", "page"):
        download(made, home(two.wheelhouse, "v1.0"), place, tmp_path / place)
        subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path / place, check=True)


def test_sealing_again_changes_nothing(trial: Trial) -> None:
    first = sealed(trial.sealing())
    before = (trial.wheelhouse / "manifest.json").read_bytes()
    assert sealed(trial.sealing(now="2027-01-01T00:00:00+00:00")) == first
    assert (trial.wheelhouse / "manifest.json").read_bytes() == before


def test_a_stale_wheel_in_the_folder_is_not_taken_along(trial: Trial) -> None:
    releases.make_wheel(trial.wheelhouse / "full" / "demo-0.9-py3-none-any.whl")
    assert all("0.9" not in file.name for file in sealed(trial.sealing()).files)


def without_smoke(trial: Trial) -> None:
    trial.receipts.remove(trial.job("reduced").id, "smoke", "centos7")


def red_audit(trial: Trial) -> None:
    trial.write(trial.job("full"), "audit", passed=False, error="symbol-version: it needs glibc 2.34\nmore")


def red_smoke(trial: Trial) -> None:
    trial.write(trial.job("full"), "smoke", "debian10", passed=False, error="import demo failed")


def another_wheel(trial: Trial) -> None:
    trial.wheel("full").write_bytes(trial.wheel("full").read_bytes() + b"\0")


def rebuilt(trial: Trial) -> None:
    other = Artifact(name="demo.whl", sha256="e" * 64, size=2)
    trial.write(trial.job("full"), "build", wheel=other)


def stale_smoke(trial: Trial) -> None:
    other = Artifact(name="demo.whl", sha256="e" * 64, size=2)
    trial.write(trial.job("full"), "smoke", "debian10", wheel=other)


def no_wheel(trial: Trial) -> None:
    trial.wheel("reduced").unlink()


def no_audit(trial: Trial) -> None:
    trial.receipts.remove(trial.job("reduced").id, "audit")


def no_build(trial: Trial) -> None:
    trial.receipts.remove(trial.job("full").id, "build")


def stand_in_build(trial: Trial) -> None:
    trial.write(trial.job("full"), "audit", publishable=False)


def stand_in_smoke(trial: Trial) -> None:
    trial.write(trial.job("full"), "smoke", "debian10", publishable=False)


def fallback_called_publishable(trial: Trial) -> None:
    facts = {"source": {"commit": "c" * 40, "changed": False}, "toolchain": "zig 0.13"}
    trial.write(trial.job("full"), "build", engine="host", facts=facts)


def fallback_in_smoke_called_publishable(trial: Trial) -> None:
    trial.write(trial.job("full"), "smoke", "debian10", engine="host", facts={"python": "3.11.7"})


def stood_in_and_called_publishable(trial: Trial) -> None:
    trial.write(trial.job("full"), "smoke", "debian10", facts={"python": "3", "image": "sha256:1", "stands-in": True})


def no_digest_of_its_image(trial: Trial) -> None:
    trial.write(trial.job("full"), "smoke", "debian10", facts={"python": "3.11.7"})


def container_for_the_host(trial: Trial) -> None:
    trial.write(trial.job("reduced"), "build", engine="docker")


def no_toolchain(trial: Trial) -> None:
    trial.write(trial.job("reduced"), "build", facts={"source": {"commit": "c" * 40, "changed": False}})


def red_smoke_called_green(trial: Trial) -> None:
    trial.write(trial.job("full"), "smoke", "debian10", error="ImportError: boom\nmore")


def violations_called_green(trial: Trial) -> None:
    trial.write(trial.job("full"), "audit", facts={"verdict": {"violations": [{"rule": "symbol-version"}]}})


def smoke_of_another_image(trial: Trial) -> None:
    job, receipts = trial.job("reduced").id, trial.receipts
    shutil.copy2(receipts.path(job, "smoke", "debian10"), receipts.path(job, "smoke", "centos7"))


def other_commit(trial: Trial) -> None:
    trial.write(trial.job("full"), "build", facts={"source": {"commit": "a" * 40, "changed": False}})


def changed_tree(trial: Trial) -> None:
    trial.write(trial.job("full"), "build", facts={"source": {"commit": "c" * 40, "changed": True}})


def other_version(trial: Trial) -> None:
    releases.make_wheel(trial.wheel("full"), version="1.0.1")
    trial.prove([trial.job("full")])


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (without_smoke, ["reduced", "smoke in centos7: there is no receipt"]),
        (red_audit, ["full", "its audit is red: symbol-version: it needs glibc 2.34"]),
        (red_smoke, ["full", "smoke in debian10: it is red: import demo failed"]),
        (another_wheel, ["full", "and its audit receipt is for"]),
        (rebuilt, ["full", "its audit receipt is stale: another wheel was built since"]),
        (stale_smoke, ["full", "smoke in debian10: its receipt is stale, for sha256 eeee"]),
        (no_wheel, ["reduced", "is declared and is not in the wheelhouse"]),
        (no_audit, ["reduced", "there is no audit receipt"]),
        (no_build, ["full", "there is no green build receipt"]),
        (stand_in_build, ["full", "a stand-in for the image old has built it"]),
        (stand_in_smoke, ["full", "smoke in debian10: a stand-in for the image has tested it"]),
        (fallback_called_publishable, ["full", "build: its receipt is of this machine, and old is a container"]),
        (fallback_in_smoke_called_publishable, ["full", "smoke in debian10: its receipt is of this machine"]),
        (stood_in_and_called_publishable, ["full", "says that something stood in for the image"]),
        (no_digest_of_its_image, ["full", "smoke in debian10: its receipt names no digest of the image debian10"]),
        (container_for_the_host, ["reduced", "its receipt is of a container (docker), and zig is this machine"]),
        (no_toolchain, ["reduced", "its receipt is of no toolchain, and zig has toolchain = zig"]),
        (red_smoke_called_green, ["full", "its receipt says passed, and holds an error: ImportError: boom"]),
        (violations_called_green, ["full", "audit: its receipt says passed, and lists violations"]),
        (smoke_of_another_image, ["reduced", "is of the image debian10, and release.toml says centos7"]),
        (other_commit, ["full", "it was built from commit aaaa"]),
        (changed_tree, ["full", "it was built from a work tree that differed"]),
        (other_version, ["full", "has version 1.0.1, and v1.0 stands for 1.0"]),
    ],
)
def test_each_lack_is_refused_by_name(trial: Trial, spoil: Callable[[Trial], None], said: list[str]) -> None:
    spoil(trial)
    lines = refusals(trial.sealing())
    assert any(all(words in line for words in said) for line in lines), lines
    assert not (trial.wheelhouse / "manifest.json").exists()


def test_all_refusals_come_at_once(trial: Trial) -> None:
    red_smoke(trial)
    no_wheel(trial)
    stand_in_build(trial)
    assert len(refusals(trial.sealing())) == 3


def test_a_receipt_of_other_inputs_is_stale(trial: Trial) -> None:
    job = trial.job("reduced").id
    changed = {(job, "build", ""): "new", (job, "smoke", "centos7"): "new"}
    lines = refusals(trial.sealing(inputs={**(trial.sealing().inputs or {}), **changed}))
    assert [line.split(": ")[1] for line in lines] == ["build", "smoke in centos7"]


def test_a_wheel_that_nobody_has_imported_is_refused(trial: Trial) -> None:
    job = trial.job("reduced")
    bare = {"image": "sha256:bare", "python": None}
    trial.write(job, "smoke", "centos7", facts=bare)
    assert examine(trial.sealing())[1] == (), "debian10 has a Python"
    trial.write(job, "smoke", "debian10", facts=bare)
    (line,) = refusals(trial.sealing())
    said = "no smoke image (debian10, centos7) has a Python, so the loader alone has looked at it"
    assert line == f"job {job.id}: nobody has imported it: {said}"


def test_the_tag_decides_the_version(trial: Trial) -> None:
    lines = refusals(trial.sealing(tag="v1.1", version="1.1"))
    assert any("stands for 1.1+reduced" in line for line in lines)
    assert any(line.endswith("stands for 1.1") for line in lines)


def test_two_wheels_of_one_name_for_one_destination(tmp_path: Path) -> None:
    toml = releases.TOML.replace('local-version = "reduced"\n', "").replace('glibc = ["2.17"]', 'glibc = ["2.27"]')
    two = releases.trial(
        tmp_path, toml=toml.replace('local-version = "reduced"', "").replace('publish = ["page"]', "publish = []")
    )
    reduced = two.job("reduced")
    clashing = dataclasses.replace(reduced, destinations=(two.release.publish["page"],))
    lines = refusals(two.sealing(jobs=(two.job("full"), clashing)))
    assert any("goes to page, and so does that of job full" in line for line in lines), lines


def test_a_sealed_tag_holds_its_bytes(trial: Trial) -> None:
    sealed(trial.sealing())
    releases.make_wheel(trial.wheel("full"), says="rebuilt")
    trial.prove()
    with pytest.raises(WainwrightError) as caught:
        sealed(trial.sealing())
    assert caught.value.code is Exit.REFUSED
    assert "sealed with sha256" in caught.value.details[0]
    assert "--reseal" in caught.value.hint


def test_a_sealed_tag_holds_its_commit_and_its_jobs(trial: Trial) -> None:
    sealed(trial.sealing())
    with pytest.raises(WainwrightError) as caught:
        sealed(trial.sealing(commit="f" * 40, jobs=(trial.job("full"),)))
    assert len(caught.value.details) == 2


def test_reseal_fixes_other_bytes_while_nothing_is_public(trial: Trial) -> None:
    first = sealed(trial.sealing())
    releases.make_wheel(trial.wheel("full"), says="rebuilt")
    trial.prove()
    second = sealed(trial.sealing(), reseal=True)
    assert second != first
    assert manifest.read(trial.wheelhouse, "v1.0") == second


def test_reseal_is_refused_once_anything_is_public(trial: Trial) -> None:
    first = sealed(trial.sealing())
    with pytest.raises(WainwrightError) as caught:
        seal(trial.sealing(), reseal=True, public=lambda known: (f"internal has {known.wheels[0].name}",))
    assert caught.value.code is Exit.REFUSED
    assert "internal has" in caught.value.details[0]
    assert manifest.read(trial.wheelhouse, "v1.0") == first


def test_another_tag_does_not_break_the_first_seal(trial: Trial, tmp_path: Path) -> None:
    first = sealed(trial.sealing())
    other = releases.trial(tmp_path / "other", version="2.0")
    second = sealed(other.sealing(wheelhouse=other.wheelhouse))
    manifest.write(second, trial.wheelhouse)
    assert manifest.read(trial.wheelhouse, "v1.0") == first
    assert manifest.read(trial.wheelhouse, "v2.0") == second
    assert manifest.read(trial.wheelhouse, "v3.0") is None


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 2}', '{"format": 1, "files": [{}]}'])
def test_a_broken_manifest_is_never_taken_for_none(trial: Trial, text: str) -> None:
    (trial.wheelhouse / "manifest.json").write_text(text)
    with pytest.raises(WainwrightError) as caught:
        manifest.read(trial.wheelhouse, "v1.0")
    assert caught.value.code is Exit.REFUSED


def test_a_manifest_names_no_file_outside_the_wheelhouse(trial: Trial) -> None:
    sealed(trial.sealing())
    path = trial.wheelhouse / "manifest.json"
    data = json.loads(path.read_text())
    data["files"][0]["path"] = "../../etc/passwd"
    with pytest.raises(WainwrightError):
        manifest.parse(json.dumps(data), where="manifest.json")


def test_an_sdist_is_the_last_of_its_destination(trial: Trial) -> None:
    made = sealed(trial.sealing())
    sdist = dataclasses.replace(made.wheels[0], name="a-sdist.tar.gz", kind="sdist")
    order = dataclasses.replace(made, files=(sdist, *made.files)).bound_for("internal")
    assert [file.kind for file in order] == ["wheel", "sdist"]


def test_the_evidence_is_written_again_when_lost(trial: Trial) -> None:
    made = sealed(trial.sealing())
    first = manifest.evidence(made, trial.wheelhouse, "page")
    assert manifest.evidence(made, trial.wheelhouse / "elsewhere", "page", dry_run=True)[0].sha256 == first[0].sha256
    assert not (trial.wheelhouse / "elsewhere").exists()
    first[0].path.unlink()
    assert manifest.evidence(made, trial.wheelhouse, "page") == first
    assert first[0].path.exists()
    assert [asset.name for asset in first] == ["SHA256SUMS", "manifest.json"]


def test_nothing_to_publish_is_said(tmp_path: Path) -> None:
    toml = releases.TOML.replace('publish = ["internal", "page"]\n', "").replace('publish = ["page"]\n', "")
    lines = refusals(releases.trial(tmp_path, toml=toml).sealing())
    assert lines == ("no variant names a destination: add publish = […] to one",)


def test_examining_writes_nothing(trial: Trial) -> None:
    before = sorted(trial.wheelhouse.rglob("*"))
    files, lines = examine(trial.sealing())
    assert (len(files), lines) == (2, ())
    assert sorted(trial.wheelhouse.rglob("*")) == before


def make_sdist(trial: Trial, *, version: str = "1.0", source: bytes = b"code\n") -> Path:
    path = trial.wheelhouse / "sdist" / "demo-1.0.tar.gz"
    path.parent.mkdir(exist_ok=True)
    info = f"Metadata-Version: 2.1\nName: demo\nVersion: {version}\n".encode()
    with tarfile.open(path, "w:gz") as archive:
        for name, data in {"PKG-INFO": info, "demo.py": source, "setup.cfg": b"[egg_info]\n"}.items():
            member = tarfile.TarInfo(f"demo-1.0/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def tracked(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "blob"
    file.write_bytes(b"code\n")
    done = subprocess.run(["git", "hash-object", str(file)], capture_output=True, text=True, check=True)
    return {"demo.py": done.stdout.strip(), "setup.cfg": "0" * 40}


def test_the_tags_own_sdist_is_sealed_along_and_goes_last(trial: Trial, tmp_path: Path) -> None:
    make_sdist(trial)
    made = sealed(trial.sealing(tracked=tracked(tmp_path)))
    assert [file.kind for file in made.bound_for("internal")] == ["wheel", "sdist"]
    assert made.bound_for("page")[-1].name == "demo-1.0.tar.gz"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"source": b"other\n"}, "demo.py in it is not the tagged one"),
        ({"version": "1.1"}, "its PKG-INFO has version 1.1"),
    ],
)
def test_an_sdist_of_something_else_is_refused(trial: Trial, tmp_path: Path, change: dict[str, Any], said: str) -> None:
    make_sdist(trial, **change)
    (line,) = refusals(trial.sealing(tracked=tracked(tmp_path)))
    assert said in line


def test_a_broken_sdist_is_refused_and_a_stale_one_is_not_seen(trial: Trial) -> None:
    path = make_sdist(trial)
    path.rename(path.with_name("demo-0.9.tar.gz"))
    assert all(file.kind != "sdist" for file in examine(trial.sealing())[0])
    path.write_bytes(b"nothing")
    assert "it cannot be read" in refusals(trial.sealing())[0]
