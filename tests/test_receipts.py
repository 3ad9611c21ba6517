from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from wainwright.receipts import Artifact, Receipt, Receipts, digest_of


def receipt(wheel: Path, **changes: object) -> Receipt:
    values: dict[str, object] = {
        "stage": "build",
        "job": "full-2_27-cp311-x86_64",
        "image": "zig",
        "engine": "host",
        "inputs": digest_of({"source": "1"}),
        "passed": True,
        "publishable": True,
        "started": "2026-01-01T00:00:00+00:00",
        "seconds": 1.5,
        "wheel": Artifact.of(wheel),
    }
    return Receipt(**(values | changes))  # type: ignore[arg-type]


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "demo-1.0-py3-none-linux_x86_64.whl"
    path.write_bytes(b"a wheel")
    return path


def test_an_artifact_is_bound_to_bytes(wheel: Path) -> None:
    assert Artifact.of(wheel).sha256 == hashlib.sha256(b"a wheel").hexdigest()


def test_a_receipt_comes_back_as_it_was_written(tmp_path: Path, wheel: Path) -> None:
    receipts = Receipts(tmp_path / "receipts")
    written = receipt(wheel, source=Artifact.of(wheel), facts={"a": 1})
    receipts.write(written)
    assert receipts.read("full-2_27-cp311-x86_64", "build") == written
    assert [path.name for path in receipts.folder.iterdir()] == ["full-2_27-cp311-x86_64.build.json"]


def test_a_receipt_proves_its_wheel_and_inputs_alone(tmp_path: Path, wheel: Path) -> None:
    green = receipt(wheel)
    assert green.proves(digest_of({"source": "1"}), tmp_path)
    assert not green.proves(digest_of({"source": "2"}), tmp_path)
    assert not receipt(wheel, passed=False).proves(green.inputs, tmp_path)
    wheel.write_bytes(b"A wheel")
    assert not green.proves(green.inputs, tmp_path)
    wheel.unlink()
    assert not green.proves(green.inputs, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": 2}',
        '{"version": 1}',
        '{"version": 1, "job": "other", "stage": "build"}',
        '{"version": 1, "job": "full-2_27-cp311-x86_64", "stage": "build", "wheel": 3, "source": null}',
    ],
)
def test_half_a_receipt_reads_as_none(tmp_path: Path, text: str) -> None:
    receipts = Receipts(tmp_path)
    receipts.path("full-2_27-cp311-x86_64", "build").write_text(text)
    assert receipts.read("full-2_27-cp311-x86_64", "build") is None


def test_every_shortening_of_a_receipt_reads_as_none(tmp_path: Path, wheel: Path) -> None:
    receipts = Receipts(tmp_path / "receipts")
    receipts.write(receipt(wheel))
    path = receipts.path("full-2_27-cp311-x86_64", "build")
    whole = path.read_bytes()
    for length in range(0, len(whole) - 2, 7):
        path.write_bytes(whole[:length])
        assert receipts.read("full-2_27-cp311-x86_64", "build") is None


def test_the_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert digest_of({"a": 1, "b": {"c": 2, "d": 3}}) == digest_of({"b": {"d": 3, "c": 2}, "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": 2})


def test_a_receipt_is_json_with_its_format(tmp_path: Path, wheel: Path) -> None:
    receipts = Receipts(tmp_path)
    receipts.write(receipt(wheel), image="debian10")
    data = json.loads((tmp_path / "full-2_27-cp311-x86_64.build.debian10.json").read_text())
    assert (data["version"], data["wheel"]["name"]) == (1, wheel.name)
