"""A real engine with real images for the tests marked `engine`: started and made where they are not there yet.

Without an engine these tests fail. They do not skip: a release that was never tried in a container is not tried.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from wainwright.declaration.release import Image
from wainwright.running.engines import Engine, find_engine, platform_of

SCRIPTS = Path(__file__).parent.parent / "docker"


@lru_cache
def engine() -> Engine:
    """Give the engine that answers; the daemon is started where that can be done."""
    _alone("start-engine.sh")
    return find_engine()


@lru_cache
def debian(suite: str = "bullseye", kind: str = "") -> Image:
    """Give a Debian image: with Python and venv, or of kind `bare` (without) or `build` (with a compiler as well)."""
    engine()
    _alone("make-base-images.sh", suite)
    name = f"{suite}-{kind}" if kind else suite
    return Image(name=name, ref=f"wainwright/debian:{name}")


def made(name: str, dockerfile: str, files: Mapping[str, bytes] | None = None) -> Image:
    """Build an image from the text of a Dockerfile, which may COPY these files."""
    with tempfile.TemporaryDirectory() as folder:
        for path, data in (files or {}).items():
            Path(folder, path).write_bytes(data)
        Path(folder, "Dockerfile").write_text(dockerfile)
        subprocess.run(
            [engine().program, "build", "-q", "--force-rm", "-t", f"wainwright/test:{name}", folder],
            check=True,
            capture_output=True,
        )
    return Image(name=name, ref=f"wainwright/test:{name}")


def foreign(ref: str, arch: str, files: Mapping[str, bytes]) -> Image:
    """Load an image of these files that says it is for another architecture: its programs need not run here."""
    layer = _tar({path: (data, 0o755) for path, data in files.items()})
    config = {
        "architecture": platform_of(arch).partition("/")[2],
        "os": "linux",
        "config": {"Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [ref], "Layers": ["layer.tar"]}]
    members = {"config.json": json.dumps(config).encode(), "manifest.json": json.dumps(manifest).encode()}
    whole = _tar({path: (data, 0o644) for path, data in {**members, "layer.tar": layer}.items()})
    subprocess.run([engine().program, "load", "-q"], input=whole, check=True, capture_output=True)
    return Image(name=ref.rpartition("/")[2].replace(":", "-"), ref=ref)


def _tar(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, (data, mode) in files.items():
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(data), mode
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def containers(*pids: int) -> set[str]:
    """Name the containers that these processes have started, or this one, running or not; others may be at work."""
    names: set[str] = set()
    for pid in pids or (os.getpid(),):
        done = engine().ask("ps", "--all", "--filter", f"label=wainwright.pid={pid}", "--format", "{{.Names}}")
        names.update(done.stdout.split())
    return names


def volumes(*names: str) -> set[str]:
    """Name the volumes of these containers."""
    done = engine().ask("inspect", "--format", "{{range .Mounts}}{{.Name}} {{end}}", *names) if names else None
    return set(done.stdout.split()) if done else set()


def left_over(pids: Sequence[int], volumes: Iterable[str] = ()) -> set[str]:
    """Name what is still there of these processes' containers and of the volumes, once there has been time to go."""
    give_up = time.monotonic() + 20
    while True:
        known = set(engine().ask("volume", "ls", "--quiet").stdout.split())
        left = containers(*pids) | (known & set(volumes))
        if not left or time.monotonic() > give_up:
            return left
        time.sleep(0.1)


def _alone(script: str, *words: str) -> None:
    """Run a script of docker/, one process at a time: workers of one test run start together."""
    with (Path(tempfile.gettempdir()) / f"wainwright-tests-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run([SCRIPTS / script, *words], stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 0, done.stderr
