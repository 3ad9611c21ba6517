"""Small projects for tests of the stages: a release.toml and a build script that makes whatever a test asks for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# Compiles mod.c with $CC and packs it as demo/mod.so; the environment asks for faults.
MAKE = """
import base64, hashlib, os, pathlib, subprocess, sys, zipfile

out = pathlib.Path(sys.argv[1])
ask = os.environ.get("MAKE", "")
name, version = os.environ.get("NAME", "demo"), os.environ.get("VERSION", "1.0")
python = "cp%d%d" % sys.version_info[:2]
tag = "py3-none-any" if ask == "pure" else f"{python}-{python}-" + os.environ.get("PLATFORM", "linux_x86_64")
print("making", ask or "a wheel", flush=True)
if ask == "fail":
    sys.exit("the compiler said no")
cc = os.environ.get("CC", "cc").split()
subprocess.check_call([*cc, "-shared", "-fPIC", "mod.c", "-o", "mod.so", *os.environ.get("FLAGS", "").split()])
files = {f"{name}/__init__.py": f"BACKENDS = {os.environ.get('BACKENDS', 'cpu').split()!r}\\n".encode()}
if ask != "pure":
    files[f"{name}/mod.so"] = pathlib.Path("mod.so").read_bytes()
info = f"{name}-{version}.dist-info"
files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\\nRoot-Is-Purelib: false\\nTag: {tag}\\n".encode()
files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n".encode()


def row(path, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(data)}\\n"


files[f"{info}/RECORD"] = ("".join(row(*file) for file in files.items()) + f"{info}/RECORD,,\\n").encode()
for build in {"none": [], "two": ["", "-1"]}.get(ask, [""]):
    with zipfile.ZipFile(out / f"{name}-{version}{build}-{tag}.whl", "w") as wheel:
        for path, data in files.items():
            wheel.writestr(path, data)
"""

RELEASE = """
[project]
source = "."

[backends.cpu]

[images.zig]
toolchain = "zig"

[targets."2.17"]
image = "zig"
smoke = ["host"]

[variants.full]
backends = ["cpu"]
glibc = ["2.17"]

[variants.full.build]
command = "{python} make.py {out}"
env = { }

[variants.full.smoke]
import = ["demo"]
run = ["python -c 'import demo'"]
backends = "python -c 'import demo; print(*demo.BACKENDS)'"
"""

PYPROJECT = """
[project]
name = "demo"
version = "1.0"
"""


class Project:
    """A project in a folder of its own, and the pipeline's command line in it."""

    def __init__(
        self, root: Path, *, release: str = RELEASE, source: str = "void *PyInit_mod(void) { return 0; }"
    ) -> None:
        self.root = root
        self.pids: list[int] = []
        root.mkdir(parents=True, exist_ok=True)
        self.write("release.toml", release)
        self.write("pyproject.toml", PYPROJECT)
        self.write("make.py", MAKE)
        self.write("mod.c", source)

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    def edit(self, old: str, new: str) -> None:
        """Change release.toml."""
        text = (self.root / "release.toml").read_text()
        assert old in text, old
        self.write("release.toml", text.replace(old, new))

    def build_env(self, **variables: str) -> None:
        """Set what the build script is asked for."""
        text = ", ".join(f'{name} = "{value}"' for name, value in variables.items())
        lines = (self.root / "release.toml").read_text().splitlines()
        self.write(
            "release.toml", "\n".join(f"env = {{ {text} }}" if line.startswith("env = ") else line for line in lines)
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "wainwright", *words],
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
            start_new_session=True,
        )
        self.pids.append(process.pid)
        return process

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        with self.start(*words) as process:
            out, err = process.communicate(timeout=300)
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    @property
    def wheels(self) -> list[str]:
        return sorted(path.name for path in (self.root / "wheelhouse").glob("*/*.whl"))

    @property
    def leftovers(self) -> list[str]:
        return [str(path.relative_to(self.root)) for path in self.root.rglob(".tmp-*")]
