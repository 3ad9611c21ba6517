"""Receipts: what a stage saw and decided about one wheel, as JSON, bound to the wheel's sha256."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A wheel as a receipt binds it: its file name, the sha256 of its bytes (hex), its size in bytes."""

    name: str
    sha256: str
    size: int

    @classmethod
    def of(cls, path: Path) -> Artifact:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256") if hasattr(hashlib, "file_digest") else _digest(file)
        return cls(name=path.name, sha256=digest.hexdigest(), size=path.stat().st_size)


def _digest(file: Any) -> Any:
    """Hash as `hashlib.file_digest` does, which Python 3.10 lacks."""
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One stage's evidence about one job's wheel.

    `inputs` is the digest of everything that the result depends on; `source` the wheel that went in, which chains this
    receipt to the one before; `facts` what the stage saw, in its own words. A receipt that did not pass holds `error`
    and proves nothing. `publishable` is false when a stand-in did the work.
    """

    stage: str
    job: str
    image: str
    engine: str
    inputs: str
    passed: bool
    publishable: bool
    started: str
    seconds: float
    wheel: Artifact | None = None
    source: Artifact | None = None
    error: str = ""
    log: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """The first line of what went wrong."""
        return self.error.partition("\n")[0] or "no reason given"

    def evidence(self, folder: Path) -> Path | None:
        """Give the wheel in `folder` that this receipt is bound to, if it is green and the bytes are still those."""
        if not self.passed or self.wheel is None:
            return None
        path = folder / self.wheel.name
        same = path.is_file() and path.stat().st_size == self.wheel.size and Artifact.of(path) == self.wheel
        return path if same else None

    def proves(self, inputs: str, folder: Path) -> bool:
        """Say whether this receipt was made of `inputs`, and is evidence for a wheel in `folder`."""
        return self.inputs == inputs and self.evidence(folder) is not None


def _is_sound(receipt: Receipt) -> bool:
    """Say whether every value is what it should be, and each file name a name: anyone can edit a receipt."""
    wheels = [each for each in (receipt.wheel, receipt.source) if each is not None]
    texts = (receipt.inputs, receipt.image, receipt.engine, receipt.error, receipt.log, receipt.started)
    return (
        all(isinstance(each, str) for each in texts)
        and isinstance(receipt.passed, bool)
        and isinstance(receipt.publishable, bool)
        and isinstance(receipt.facts, dict)
        and isinstance(receipt.seconds, (int, float))
        and 0 <= receipt.seconds < 1 << 31
        and all(map(_is_bound, wheels))
    )


def _is_bound(wheel: Artifact) -> bool:
    return (
        wheel.name == Path(wheel.name).name
        and wheel.name.endswith(".whl")
        and re.fullmatch(r"[0-9a-f]{64}", wheel.sha256) is not None
        and type(wheel.size) is int
        and 0 <= wheel.size < 1 << 63
    )


def digest_of(parts: Mapping[str, Any]) -> str:
    """Give the sha256 (hex) over the canonical JSON of `parts`; the order of keys and of sets does not matter."""
    text = json.dumps(plain(parts), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def plain(value: Any) -> Any:
    """Give values, dataclasses and mappings among them, as JSON knows them."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(plain, value))
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


@dataclass(frozen=True, slots=True)
class Receipts:
    """The folder of receipts: `JOB.STAGE.json`, and for a stage with several images `JOB.STAGE.IMAGE.json`."""

    folder: Path

    def path(self, job: str, stage: str, image: str = "") -> Path:
        return self.folder / ".".join(filter(None, (job, stage, image, "json")))

    def read(self, job: str, stage: str, image: str = "") -> Receipt | None:
        """Read a receipt; one that is absent, half or of another format proves nothing and reads as None."""
        try:
            data = json.loads(self.path(job, stage, image).read_bytes())
            json.dumps(data, ensure_ascii=False).encode()  # a lone surrogate cannot be shown
            if data.pop("version") != FORMAT or (data["job"], data["stage"]) != (job, stage):
                return None
            for key in ("wheel", "source"):
                data[key] = Artifact(**data[key]) if data[key] else None
            receipt = Receipt(**data)
            return receipt if _is_sound(receipt) else None
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def write(self, receipt: Receipt, *, image: str = "") -> None:
        """Write a receipt whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(receipt.job, receipt.stage, image)
        text = json.dumps({"version": FORMAT, **plain(receipt)}, indent=2, sort_keys=True)
        replace_text(path, text + "\n")

    def remove(self, job: str, stage: str, image: str = "") -> None:
        self.path(job, stage, image).unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """Put `text` at `path` by a rename, so that a reader sees the old file or the new one."""
    temporary = path.with_name(f".tmp-{os.getpid()}-{path.name}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
