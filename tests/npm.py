"""Installs pinned programs and data from npm into a cache folder, once a machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

PINS = {
    "emulate": ("emulate@0.12.2", "node@22.23.3"),
    "recordings": ("@octokit/fixtures-server@8.1.7", "@octokit/fixtures@23.1.1"),
    "description": ("@octokit/openapi@23.0.2",),
}


def install(name: str) -> Path:
    """Give the node_modules folder of a set of packages; fails with npm's own words where they cannot be had."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wainwright" / "npm"
    packages = PINS[name]
    folder = cache / "-".join(package.replace("/", "-").lstrip("@") for package in packages)
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=cache, prefix=".tmp-"))
        try:
            scripts = [] if name == "emulate" else ["--ignore-scripts"]  # node's package links its program by a script
            argv = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(temporary), *scripts, *packages]
            done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=temporary)
            assert done.returncode == 0, f"npm install {' '.join(packages)}: {done.stdout}{done.stderr}"
            if not folder.is_dir():  # another test process may have been faster
                temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder / "node_modules"
