"""Native code for tests: a C compiler, whichever there is, and wheels around what it makes."""

from __future__ import annotations

import base64
import csv
import functools
import hashlib
import io
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

gcc = shutil.which("gcc")
have_gcc = gcc is not None


def zig() -> list[str] | None:
    """Find zig: the one of the ziglang wheel, else one on PATH."""
    spec = find_spec("ziglang")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        binary = Path(place, "zig")
        if binary.exists():
            return [str(binary)]
    found = shutil.which("zig")
    return [found] if found else None


@functools.cache
def compiler() -> tuple[str, ...]:
    if gcc:
        return (gcc,)
    found = zig()
    if found:  # without its checks, which would need a runtime of their own
        return (*found, "cc", "-fno-sanitize=all")
    other = shutil.which("cc")
    assert other, "the tests need a C compiler: gcc, cc, or the ziglang wheel"
    return (other,)


def cc(*args: str | Path) -> None:
    """Run the C compiler; what it complains about is in the error."""
    done = subprocess.run([*compiler(), *map(str, args)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, args))}\n{done.stderr}"


def compiled(path: Path, source: str, *flags: str | Path) -> Path:
    """Compile C to whatever the flags say."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{path.name}.c")
        file.write_text(source)
        cc(file, "-o", path, *flags)
    return path


@functools.cache
def accepts(*flags: str) -> bool:
    """Whether the compiler can do it: linkers differ, and static libraries may be absent."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            compiled(Path(folder, "out"), "int main(void) { return 0; }", *flags)
        except AssertionError:
            return False
    return True


def shared(path: Path, source: str, *flags: str | Path) -> Path:
    """Compile C to a shared object."""
    return compiled(path, source, "-shared", "-fPIC", *flags)


def program(path: Path, source: str, *flags: str | Path) -> Path:
    """Compile C to an executable."""
    return compiled(path, source, *flags)


def wheel(
    path: Path, members: Mapping[str, bytes], tags: Sequence[str] | None = None, requires: Sequence[str] = ()
) -> Path:
    """Write a wheel of these members; WHEEL, METADATA and RECORD are added unless given. Tags: the filename's own."""
    name, version, *_, python, abi, platform = path.name.removesuffix(".whl").split("-")
    if tags is None:
        tags = [f"{p}-{a}-{t}" for p in python.split(".") for a in abi.split(".") for t in platform.split(".")]
    info = f"{name}-{version}.dist-info"
    files = dict(members)
    lines = ["Wheel-Version: 1.0", "Generator: tests", "Root-Is-Purelib: false", *(f"Tag: {tag}" for tag in tags)]
    files.setdefault(f"{info}/WHEEL", "\n".join([*lines, ""]).encode())
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {r}" for r in requires),
    ]
    files.setdefault(f"{info}/METADATA", "\n".join([*lines, ""]).encode())
    files.setdefault(f"{info}/RECORD", record(files, f"{info}/RECORD"))
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in files.items():
            entry = zipfile.ZipInfo(member, (2020, 2, 2, 2, 2, 2))
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return path


def record(files: Mapping[str, bytes], own: str) -> bytes:
    """Write RECORD: sha256 and size of every file but itself."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    for member, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.writerow([member, f"sha256={digest}", len(data)])
    rows.writerow([own, "", ""])
    return out.getvalue().encode()
