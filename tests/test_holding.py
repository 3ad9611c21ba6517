"""A sealed tag is held to its evidence: whatever is edited after the seal, nothing unproven is called sealed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import releases
from releases import Trial
from test_manifest import make_sdist
from wainwright.errors import Exit, WainwrightError
from wainwright.receipts import Artifact, Receipts
from wainwright.releasing import manifest
from wainwright.releasing.journal import JOURNAL, Journal
from wainwright.releasing.kept import home, receipts_of
from wainwright.releasing.manifest import Manifest
from wainwright.releasing.sealing import seal

COPIES = ("manifest.json", "seals/v1.0.json")


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    toml = releases.TOML.replace('repository = "owner/demo"', 'repository = "owner/demo"\nindex = true')
    made = releases.trial(tmp_path, toml=toml)
    make_sdist(made)
    sealed(made)
    return made


def sealed(trial: Trial, **changes: Any) -> Manifest:
    return seal(trial.sealing(**changes), reseal=False, public=lambda _: ())


def refused(trial: Trial, **changes: Any) -> WainwrightError:
    with pytest.raises(WainwrightError) as caught:
        sealed(trial, **changes)
    assert caught.value.code is Exit.REFUSED
    return caught.value


def kept(trial: Trial) -> Path:
    return home(trial.wheelhouse, "v1.0")


def kept_receipts(trial: Trial) -> Receipts:
    return receipts_of(kept(trial))


def edit(trial: Trial, change: Callable[[dict[str, Any]], object], copies: tuple[str, ...] = COPIES) -> None:
    """Edit the manifest by hand, and so that its copy says the same."""
    for name in copies:
        path = trial.wheelhouse / name
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data))


def entry(data: dict[str, Any], kind: str = "wheel", variant: str = "full") -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in data["files"] if (each["kind"], each["variant"]) == (kind, variant))
    return found


def fill(data: dict[str, Any], path: Path) -> None:
    made = Artifact.of(path)
    data.update(name=made.name, size=made.size, sha256=made.sha256)


def another_wheel(trial: Trial) -> None:
    wheel = kept(trial) / "full" / trial.wheel("full").name
    releases.make_wheel(wheel, says="never audited")
    edit(trial, lambda data: fill(entry(data), wheel))


def one_more_wheel(trial: Trial) -> None:
    wheel = releases.make_wheel(kept(trial) / "full" / "demo-1.0-py3-none-any.whl")

    def add(data: dict[str, Any]) -> None:
        data["files"].append(entry(data) | {"path": "full/demo-1.0-py3-none-any.whl"})
        fill(data["files"][-1], wheel)

    edit(trial, add)


def one_more_that_is_called_an_sdist(trial: Trial) -> None:
    one_more_wheel(trial)
    edit(trial, lambda data: data["files"][-1].update(kind="sdist", job="", variant="", receipts={}))


def no_receipts_in_the_manifest(trial: Trial) -> None:
    shutil.rmtree(kept_receipts(trial).folder)
    edit(trial, lambda data: [each.update(receipts={}) for each in data["files"]])


def one_receipt_less(trial: Trial) -> None:
    kept_receipts(trial).remove(trial.job("reduced").id, "smoke", "centos7")
    edit(trial, lambda data: entry(data, variant="reduced")["receipts"].pop("smoke.centos7"))


def another_sdist(trial: Trial) -> None:
    path = make_sdist(trial, version="6.6")
    shutil.copy2(path, kept(trial) / "sdist" / path.name)
    edit(trial, lambda data: fill(entry(data, kind="sdist", variant=""), path))


def another_sbom(trial: Trial) -> None:
    def change(data: dict[str, Any]) -> None:
        path = kept(trial) / entry(data, kind="sbom")["path"]
        path.write_text("{}")
        fill(entry(data, kind="sbom"), path)

    edit(trial, change)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (another_wheel, "and its audit receipt is for"),
        (one_more_wheel, "full/demo-1.0-py3-none-any.whl: nothing proves it"),
        (one_more_that_is_called_an_sdist, "full/demo-1.0-py3-none-any.whl: nothing proves it"),
        (no_receipts_in_the_manifest, "there is no audit receipt"),
        (one_receipt_less, "smoke in centos7: there is no receipt"),
        (another_sdist, "its PKG-INFO has version 6.6"),
        (another_sbom, "the manifest says sha256 ="),
    ],
)
def test_an_edited_manifest_proves_nothing(trial: Trial, spoil: Callable[[Trial], None], said: str) -> None:
    spoil(trial)
    error = refused(trial)
    assert "v1.0 is sealed, and what proves it does not bear it out" in error.what
    assert any(said in line for line in error.details), error.details
    assert "put back what was sealed, or seal anew with --reseal if nothing is public yet" in error.hint


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.update(version="6.6"), "sealed as version 6.6, and the tag stands for 1.0"),
        (lambda data: data.update(name="other"), "sealed as other, and the project is demo"),
        (lambda data: data.update(images={}), "the images that the manifest names are not those of the receipts"),
        (lambda data: entry(data).update(requires_python=""), "the manifest says requires_python = , and it is >=3.10"),
        (
            lambda data: entry(data, "sbom").update(destinations=["internal"]),
            "the manifest says destinations = internal",
        ),
        (lambda data: data["files"].append(entry(data)), "the manifest has a file twice"),
        (lambda data: data["files"].remove(entry(data, "sbom")), "and the manifest does not have it"),
    ],
)
def test_each_word_of_the_manifest_is_held(trial: Trial, change: Callable[[dict[str, Any]], None], said: str) -> None:
    edit(trial, change)
    assert any(said in line for line in refused(trial).details)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: entry(data).update(job=None),
        lambda data: entry(data).update(path=None),
        lambda data: entry(data).update(destinations="internal"),
        lambda data: entry(data).update(size="1"),
        lambda data: data.update(images=None),
        lambda data: data.update(version=1),
    ],
)
def test_what_is_no_manifest_any_more_is_not_read(trial: Trial, change: Callable[[dict[str, Any]], None]) -> None:
    edit(trial, change)
    assert "this is not a manifest that this version can read" in refused(trial).what


def test_one_edited_copy_is_told_by_the_other(trial: Trial) -> None:
    edit(trial, lambda data: entry(data).update(sha256="0" * 64), COPIES[:1])
    error = refused(trial)
    assert "its copy says otherwise" in error.what
    assert f"full/{trial.wheel('full').name} differs" in error.details


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_that_is_cut_short_is_written_again(trial: Trial, name: str) -> None:
    path = trial.wheelhouse / name
    whole = path.read_bytes()
    path.write_bytes(whole[:300])
    made = sealed(trial)
    assert path.read_bytes() == whole
    assert manifest.read(trial.wheelhouse, "v1.0") == made
    path.unlink()
    seal(trial.sealing(), reseal=False, public=lambda _: (), dry_run=True)
    assert not path.exists()
    sealed(trial)
    assert path.read_bytes() == whole


def test_both_copies_cut_short_are_refused(trial: Trial) -> None:
    for name in COPIES:
        (trial.wheelhouse / name).write_text("{")
    assert "this is not a manifest" in refused(trial).what


def test_a_receipt_that_is_gone_or_another_is_named(trial: Trial) -> None:
    job = trial.job("full").id
    path = kept_receipts(trial).path(job, "smoke", "debian10")
    path.write_text(path.read_text().replace("2026-01-02", "2026-01-03"))
    error = refused(trial)
    name = f"receipts/{job}.smoke.debian10.json"
    assert error.details == (f"{name}: it is not the receipt with which {trial.wheel('full').name} was sealed",)
    path.unlink()
    error = refused(trial)
    assert error.details == (f"{name}: the receipt with which {trial.wheel('full').name} was sealed is gone",)
    assert error.where == str(kept(trial))
    assert error.hint.startswith("put the sealed files back, or seal anew with --reseal if nothing is public yet")


def test_a_stage_that_fell_short_since_stops_it(trial: Trial) -> None:
    job = trial.job("full")
    trial.write(job, "smoke", "debian10", passed=False, wheel=None, error="ImportError: boom\nmore")
    (line,) = refused(trial).details
    assert line == f"job {job.id}: smoke.debian10 was run again since, and is red: ImportError: boom"
    other = Artifact(name="demo-1.1.whl", sha256="e" * 64, size=2)
    trial.write(job, "smoke", "debian10", passed=False, wheel=None, source=other, error="of the next version")
    sealed(trial)


def test_what_is_sealed_outlives_the_next_build(trial: Trial) -> None:
    first = manifest.read(trial.wheelhouse, "v1.0")
    assert first is not None
    wheel = trial.wheel("full")
    assert wheel.samefile(kept(trial) / "full" / wheel.name), "it takes no room of its own"
    shutil.rmtree(trial.receipts.folder)
    for variant in ("full", "reduced", "sdist"):
        shutil.rmtree(trial.wheelhouse / variant)
    assert sealed(trial) == first
    releases.make_wheel(wheel, says="the same name, built again")
    assert sealed(trial) == first
    assert first.altered(kept(trial)) == ()


def test_a_wheel_from_elsewhere_is_kept_as_it_is(tmp_path: Path) -> None:
    made = releases.trial(tmp_path)
    wheel = made.wheel("full")
    shutil.move(wheel, tmp_path / "elsewhere.whl")
    wheel.symlink_to(tmp_path / "elsewhere.whl")
    sealed(made)
    wheel.unlink()
    assert sealed(made).altered(kept(made)) == ()


def test_what_is_out_everywhere_is_kept_until_another_tag_is_sealed(trial: Trial) -> None:
    journal = Journal.open(kept(trial) / JOURNAL, "v1.0")
    journal.record("internal", "finished")
    next_one = {"tag": "v1.0.1", "version": "1.0.1"}
    for variant in ("full", "reduced"):
        old = trial.wheel(variant)
        releases.make_wheel(old.with_name(old.name.replace("1.0", "1.0.1")))
        old.unlink()
    trial.prove()
    sealed(trial, **next_one)
    assert kept(trial).exists(), "the page does not have it yet"
    journal.record("page", "finished")
    sealed(trial, **next_one)
    assert kept(trial).exists(), "nothing was sealed"
    seal(trial.sealing(**next_one), reseal=True, public=lambda _: ())
    assert not kept(trial).exists()
    assert home(trial.wheelhouse, "v1.0.1").exists()


def test_an_attestation_is_kept_beside_its_wheel(tmp_path: Path) -> None:
    made = releases.trial(tmp_path)
    wheel = made.wheel("full")
    wheel.with_name(f"{wheel.name}.publish.attestation").write_text("{}")
    sealed(made)
    assert (kept(made) / "full" / f"{wheel.name}.publish.attestation").read_text() == "{}"
