"""A small release for tests: its release.toml, a wheel for each job, and the receipts that stages would leave."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import native
from wainwright.declaration import config
from wainwright.declaration.planning import Job, plan
from wainwright.declaration.release import Release
from wainwright.receipts import Artifact, Receipt, Receipts
from wainwright.releasing.proofs import Sealing
from wainwright.values import Python

TOML = """
[project]
source = "."
[backends.cpu]
[backends.cuda]
[images.old]
ref = "registry.example.org/old:1"
[images.zig]
toolchain = "zig"
[images.debian10]
ref = "debian:10"
[images.centos7]
ref = "centos:7"
[targets."2.27"]
image = "old"
smoke = ["debian10"]
[targets."2.17"]
image = "zig"
smoke = ["debian10", "centos7"]
[variants.full]
backends = ["cpu", "cuda"]
glibc = ["2.27"]
publish = ["internal", "page"]
[variants.reduced]
backends = ["cpu"]
glibc = ["2.17"]
local-version = "reduced"
publish = ["page"]
[publish.internal]
url = "https://packages.example.org/legacy/"
[publish.page]
repository = "owner/demo"
"""
DIGEST = "d" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A release whose wheels are built, audited and tested, as far as receipts can tell."""

    release: Release
    jobs: tuple[Job, ...]
    version: str

    @property
    def wheelhouse(self) -> Path:
        return self.release.root / "wheelhouse"

    @property
    def receipts(self) -> Receipts:
        return Receipts(self.wheelhouse / "receipts")

    def job(self, variant: str) -> Job:
        return next(job for job in self.jobs if job.variant.name == variant)

    def wheel(self, variant: str) -> Path:
        return next((self.wheelhouse / variant).glob("*.whl"))

    def sealing(self, **changes: Any) -> Sealing:
        sealing = Sealing(
            jobs=self.jobs,
            receipts=self.receipts,
            wheelhouse=self.wheelhouse,
            name="demo",
            version=self.version,
            tag=f"v{self.version}",
            commit="c" * 40,
            now="2026-01-02T03:04:05+00:00",
            tools={"auditwheel": "6.8.2"},
            inputs={
                (job.id, stage, image): DIGEST
                for job in self.jobs
                for stage, image in (("build", ""), ("audit", ""), *(("smoke", each.name) for each in job.smoke_images))
            },
        )
        return dataclasses.replace(sealing, **changes)

    def write(self, job: Job, stage: str, image: str = "", **changes: Any) -> None:
        """Write a receipt as the stage would, with some fields changed."""
        wheels = {"audit": self.wheelhouse / job.variant.name, "smoke": self.wheelhouse / job.variant.name}
        audited = next(path for path in wheels["audit"].glob("*.whl"))
        built = Artifact(name=audited.name.replace("manylinux", "linux"), sha256="b" * 64, size=1)
        place = self.release.images[image] if image else job.image
        receipt = Receipt(
            stage=stage,
            job=job.id,
            image=image or job.image.name,
            engine="host" if place.is_host else "docker",
            inputs=DIGEST,
            passed=True,
            publishable=True,
            started="2026-01-02T03:04:05+00:00",
            seconds=1.0,
            wheel=built if stage == "build" else Artifact.of(audited),
            source={"build": None, "audit": built, "smoke": Artifact.of(audited)}[stage],
            facts={
                "image": None if place.is_host else f"sha256:{place.name}",
                "toolchain": place.toolchain and f"{place.toolchain} 0.13",
                "source": {"commit": "c" * 40, "changed": False},
                "python": "3.11.7",
            },
        )
        self.receipts.write(dataclasses.replace(receipt, **changes), image=image)

    def prove(self, jobs: Iterable[Job] | None = None) -> None:
        """Write every receipt of these jobs, all of them by default."""
        for job in self.jobs if jobs is None else jobs:
            for stage in ("build", "audit"):
                self.write(job, stage)
            for image in job.smoke_images:
                self.write(job, "smoke", image.name)


def load(root: Path, toml: str = TOML) -> Release:
    root.mkdir(parents=True, exist_ok=True)
    path = root / "release.toml"
    path.write_text(toml)
    return config.load(path)


def members(name: str, text: str, *, sbom: bool = False, version: str = "1.0") -> dict[str, bytes]:
    found = {f"{name}/__init__.py": f"SAYS = {text!r}\n".encode()}
    if sbom:
        found[f"{name}-{version}.dist-info/sboms/auditwheel.cdx.json"] = b'{"bomFormat": "CycloneDX"}'
    return found


def metadata(name: str, version: str) -> bytes:
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        "Summary: a wheel of the tests",
        "Requires-Python: >=3.10",
        "Description-Content-Type: text/plain",
        "",
        "A wheel of the tests.",
        "",
    ]
    return "\n".join(lines).encode()


def make_wheel(path: Path, *, says: str = "hello", sbom: bool = False, padding: int = 0, version: str = "") -> Path:
    """Write a wheel of the version in its name, or of another in its METADATA."""
    name, spelled = path.name.split("-")[:2]
    files = members(name, says, sbom=sbom, version=spelled)
    files[f"{name}-{spelled}.dist-info/METADATA"] = metadata(name, version or spelled)
    if padding:
        files[f"{name}/data.bin"] = os.urandom(padding)
    return native.wheel(path, files)


def trial(root: Path, *, version: str = "1.0", toml: str = TOML, python: Python | None = None) -> Trial:
    """Make the release, a wheel for each job, and all receipts."""
    release = load(root, toml)
    python = python or Python.of_running()
    made = Trial(release=release, jobs=plan(release, python=python, arch="x86_64"), version=version)
    for job in made.jobs:
        name = job.filename("demo", version).replace("-*-", f"-{job.python.tag}-")
        make_wheel(made.wheelhouse / job.variant.name / name, says=job.id, sbom=True)
    made.prove()
    return made
