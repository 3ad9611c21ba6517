"""A tagged and pushed project with proven wheels, an index and a GitHub: what a publication starts from."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import releases
import servers
from releases import Trial
from servers import Small
from strict_github import OWNER, REPO, TOKEN, StrictGitHub

PYPROJECT = '[project]\nname = "demo"\nversion = "1.0"\n'


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

    def prove(self) -> None:
        """Write the receipts anew, as of the commit that the tag has."""
        commit = git(self.root, "rev-parse", "v1.0^{commit}")
        for job in self.trial.jobs:
            self.trial.prove([job])
            facts = {"source": {"commit": commit, "changed": False}, "image": "sha256:" + "0" * 64}
            self.trial.write(job, "build", facts=facts)


@contextmanager
def tagged(
    folder: Path, *, password: str, upload: str = "{url}/legacy/", toml: str = releases.TOML
) -> Iterator[Tagged]:
    root = folder / "project"
    with Small(password=password).running() as index, StrictGitHub() as github:
        toml = toml.replace("https://packages.example.org/legacy/", upload.replace("{url}", index.url))
        trial = releases.trial(root, toml=toml.replace("owner/demo", f"{OWNER}/{REPO}"))
        (root / "pyproject.toml").write_text(PYPROJECT)
        (root / "CHANGELOG.md").write_text("# Changelog\n\n## 1.0\n\n- the first\n")
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
        made.prove()
        yield made
