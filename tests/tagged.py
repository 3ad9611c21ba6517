"""A tagged and pushed project with proven wheels, an index and a GitHub: what a publication starts from."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import releases
import servers
import twine_here
from releases import Trial
from servers import Small
from strict_github import OWNER, REPO, TOKEN, StrictGitHub
from wainwright.clock import Clock
from wainwright.sessions.graph import STAGES
from wainwright.sessions.inputs import expected
from wainwright.sessions.options import Options
from wainwright.sessions.pipeline import Pipeline

CLOCK = Clock(sleep=lambda _: None, began=1767312000.0)  # 2026-01-02
PYPROJECT = """[project]
name = "demo"
version = "1.0"
readme = { text = "A demo.", content-type = "text/plain" }
"""


def git(folder: Path, *words: str) -> str:
    settings = ["-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", *settings, "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@dataclass
class Tagged:
    """`environ` is what a publication is given; the wheels lie in the project's wheelhouse with all receipts."""

    trial: Trial
    index: Small
    github: StrictGitHub
    environ: dict[str, str]

    @property
    def root(self) -> Path:
        return self.trial.release.root

    @property
    def writes(self) -> int:
        return self.index.uploads + sum(self.github.count(method, ".*") for method in ("POST", "PATCH", "DELETE"))

    def speak(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have `environ` be this process's own, without a word of other servers."""
        for name in list(os.environ):
            if name.startswith(("TWINE_", "GITHUB_", "GH_")):
                monkeypatch.delenv(name)
        for name, value in self.environ.items():
            if name not in {"PATH", "PYTHONWARNINGS"}:
                monkeypatch.setenv(name, value)

    def pipeline(self, *words: str, **options: object) -> Pipeline:
        """Give the pipeline as a session gets it, for `v1.0` unless told otherwise; nobody waits in it."""
        given = Options(words=words or ("v1.0",), **options)  # type: ignore[arg-type]
        return Pipeline(release=self.trial.release, options=given, clock=CLOCK, run=twine_here.run)

    def prove(self, *words: str) -> None:
        """Write the receipts anew, as of the commit that the tag has (or HEAD), and of source and release.toml."""
        commit = git(self.root, "rev-parse", "HEAD" if words else "v1.0^{commit}")
        for job in self.trial.jobs:
            self.trial.prove([job])
            built = self.trial.receipts.read(job.id, "build")
            assert built is not None
            source = {"source": {"commit": commit, "changed": False}}
            self.trial.write(job, "build", facts={**built.facts, **source})
        pipeline, receipts = self.pipeline(*words), self.trial.receipts
        with pipeline.swept():
            for stage in STAGES:
                for (job_id, proven, image), digest in expected(pipeline).items():
                    if proven == stage and (receipt := receipts.read(job_id, stage, image)):
                        receipts.write(replace(receipt, inputs=digest), image=image)


@contextmanager
def tagged(
    folder: Path, *, password: str, upload: str = "{url}/legacy/", toml: str = releases.TOML, nightly: str = ""
) -> Iterator[Tagged]:
    """Make it; with `nightly` the wheels are of that version, and a commit after the tag is checked out and pushed."""
    root = folder / "project"
    with Small(password=password).running() as index, StrictGitHub() as github:
        toml = toml.replace("https://packages.example.org/legacy/", upload.replace("{url}", index.url))
        toml = toml.replace("owner/demo", f"{OWNER}/{REPO}")
        trial = releases.trial(root, toml=toml, version=nightly or "1.0")
        (root / "pyproject.toml").write_text(PYPROJECT)
        (root / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n- soon\n\n## 1.0\n\n- the first\n")
        (root / ".gitignore").write_text("/wheelhouse/\n/dist/\n")
        git(root, "init", "--quiet", "--initial-branch=main")
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "-m", "all")
        git(root, "tag", "-a", "v1.0", "-m", "1.0")
        subprocess.run(["git", "init", "--quiet", "--bare", str(folder / "remote.git")], check=True)
        git(root, "remote", "add", "origin", str(folder / "remote.git"))
        git(root, "push", "--quiet", "origin", "main", "v1.0")
        github.tags["v1.0"] = ("commit", git(root, "rev-parse", "HEAD"))
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GITHUB_API_URL": github.api_url, "GH_TOKEN": TOKEN}
        environ |= {"TWINE_USERNAME": servers.USER, "TWINE_PASSWORD": password}
        environ |= {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring", "PYTHONWARNINGS": "error"}
        made = Tagged(trial=trial, index=index, github=github, environ=environ)
        if nightly:
            git(root, "commit", "--quiet", "--allow-empty", "-m", "more")
            git(root, "push", "--quiet", "origin", "main")
            made.prove("nightly")
        else:
            made.prove()
        yield made
