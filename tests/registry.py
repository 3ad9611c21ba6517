"""A container registry of Debian's package `docker-registry`, on a port of this machine, for as long as a test runs."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CONFIG = """
version: 0.1
log: {{level: error}}
storage:
  filesystem: {{rootdirectory: {folder}}}
  delete: {{enabled: true}}
http: {{addr: "127.0.0.1:{port}"}}
"""


@contextmanager
def registry(folder: Path) -> Iterator[str]:
    """Give `localhost:PORT`: engines speak plain HTTP to a registry of this machine."""
    program = shutil.which("docker-registry")
    assert program, "these tests push to a registry: apt-get install docker-registry"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = folder / "registry.yml"
    config.write_text(CONFIG.format(folder=folder / "registry", port=port))
    with subprocess.Popen([program, "serve", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        for _ in range(100):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        try:
            yield f"localhost:{port}"
        finally:
            process.terminate()
