"""The wheels that are raced over: real ones by name and version, and one made here of 800 tiny libraries."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import native

REAL: Final = (  # project, version, Python, newest platform tag that pip may take
    ("scipy", "1.13.1", "3.11", "manylinux_2_17_x86_64"),
    ("ortools", "9.12.4544", "3.11", "manylinux_2_28_x86_64"),
    ("tilelang", "0.1.15", "3.11", "manylinux_2_28_x86_64"),
    ("taichi", "1.7.4", "3.11", "manylinux_2_27_x86_64"),
    ("pyside6_essentials", "6.11.2", "3.11", "manylinux_2_34_x86_64"),
    ("jaxlib", "0.10.2", "3.11", "manylinux_2_27_x86_64"),
    ("xgboost", "3.2.0", "3.11", "manylinux_2_28_x86_64"),
    ("tensorflow_cpu", "2.21.0", "3.11", "manylinux_2_27_x86_64"),
    ("torch", "2.14.1", "3.11", "manylinux_2_28_x86_64"),
)
QUICK: Final = ("scipy", "ortools")
TINY: Final = "tiny-1.0-cp311-cp311-manylinux_2_17_x86_64.whl"
COUNT: Final = 800
# An extension that needs a library from outside: what a repair has to graft
NEEDY: Final = "int dep(void); void *PyInit_needy(void) { return (void *)(long)dep(); }"
DEP: Final = "libdep.so.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """One wheel of the race; `largest` is its largest member in bytes."""

    name: str
    path: Path
    largest: int
    installed: int


def fetch(cache: Path, *, quick: bool, only: str | None = None) -> list[Wheel]:
    """Download what the cache lacks, and give all wheels, the smallest first."""
    cache.mkdir(parents=True, exist_ok=True)
    wheels = []
    for project, version, python, platform in REAL:
        if (quick and project not in QUICK) or (only and project not in only.split(",")):
            continue
        found = sorted(cache.glob(f"{project}-{version}-*.whl"))
        if not found:
            argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
            argv += ["--dest", str(cache), "--python-version", python, "--platform", platform, f"{project}=={version}"]
            subprocess.run(argv, check=True)
            found = sorted(cache.glob(f"{project}-{version}-*.whl"))
        wheels.append(_wheel(project, found[0]))
    if only is None or "tiny" in only.split(","):
        tiny = cache / TINY
        if not tiny.exists():
            make_tiny(tiny)
        wheels.insert(0, _wheel("800 tiny libraries", tiny))
    return wheels


def _wheel(name: str, path: Path) -> Wheel:
    with zipfile.ZipFile(path) as archive:
        sizes = [info.file_size for info in archive.infolist()]
    return Wheel(name=name, path=path, largest=max(sizes), installed=sum(sizes))


def make_tiny(path: Path) -> None:
    """Make the wheel of many members: one library, told apart by bytes behind its end that nothing reads."""
    built = native.shared(path.with_suffix(".so"), "int answer(void) { return 42; }", "-s")
    code = built.read_bytes()
    built.unlink()
    suffix = "cpython-311-x86_64-linux-gnu.so"
    native.wheel(path, {f"tiny/m{n:03}.{suffix}": code + n.to_bytes(4, "little") for n in range(COUNT)})


def make_dependency(folder: Path) -> Path:
    """Compile the outside library into its folder."""
    return native.shared(folder / DEP, "int dep(void) { return 42; }", f"-Wl,-soname,{DEP}")


def make_needy(wheel: Path, target: Path, dependency: Path) -> Path:
    """Copy a wheel, with one more extension that needs the outside library. All else stays as it is compressed."""
    from wainwright.formats.archive import Archive
    from wainwright.formats.record import hashed, parse_record, write_record
    from wainwright.formats.rewriting import Copied, Written, write_archive
    from wainwright.formats.wheelfile import read_dist_info, read_text
    from wainwright.formats.wheelname import parse_wheel_name

    name = parse_wheel_name(wheel.name)
    member = f"{name.distribution}_needy.cpython-311-x86_64-linux-gnu.so"
    built = native.shared(target.with_suffix(".so"), NEEDY, dependency)
    code = built.read_bytes()
    built.unlink()
    with Archive.open(wheel) as archive:
        record = read_dist_info(archive, name).record_name
        rows = [row.cells for row in parse_record(read_text(archive, record))]
        rows.insert(0, (member, *hashed(code)))
        members: list[Copied | Written] = [
            Written(name=record, data=write_record(rows), like=entry)
            if entry.name == record
            else Copied(archive=archive, entries=(entry,))
            for entry in archive.entries
        ]
        write_archive(target, [Written(name=member, data=code), *members])
    return target
