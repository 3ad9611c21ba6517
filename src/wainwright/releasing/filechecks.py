"""What a destination would refuse of a file: its name, its tags, its size, its description."""

from __future__ import annotations

import os
import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from packaging.version import InvalidVersion, Version

from wainwright.completed import Run
from wainwright.declaration.release import Destination
from wainwright.errors import WainwrightError
from wainwright.finding import Finding
from wainwright.formats.wheelname import parse_wheel_name
from wainwright.hosts.uploading import environment
from wainwright.masking import Mask
from wainwright.releasing.notes import human

DEFAULT_LIMIT: Final = 100 * 1024 * 1024  # bytes a file, where release.toml has no max-size: the public index's
PROJECT_LIMIT: Final = 10 * 1024**3  # bytes of all files of a project there
LARGEST: Final = 10  # members that are named when a wheel is too large
# warehouse's forklift: these architectures have manylinux and musllinux tags, and a plain linux tag is refused.
_ARCHS: Final = "x86_64|i686|aarch64|armv7l|ppc64le|s390x|riscv64"
_TAKEN: Final = re.compile(rf"any|(manylinux1|manylinux2010|manylinux2014|(many|musl)linux_\d+_\d+)_({_ARCHS})")


def of_version(version: str, where: str) -> Iterator[Finding]:
    """Hold a version to PEP 440's own spelling of it."""
    try:
        normal = str(Version(version))
    except InvalidVersion:
        yield Finding(where=where, what=f"{version} is no version (PEP 440)")
        return
    if normal != version:
        yield Finding(where=where, what=f"{version} is spelled {normal} (PEP 440)", hint=f"tag it with {normal}")


def of_name(name: str, destination: Destination) -> Iterator[Finding]:
    """Hold a wheel's name against what the destination takes; a release page takes any."""
    where = f"publish.{destination.name}"
    try:
        wheel = parse_wheel_name(name)
    except WainwrightError as error:
        yield Finding.of(error, where)
        return
    if wheel.normalised != name:
        what = f"{name} is not normalised, and indexes refuse it: {wheel.normalised}"
        yield Finding(where=where, what=what, hint="a newer build backend spells it so")
    if destination.kind != "index":
        return
    if "+" in wheel.public_version and not destination.local_versions:
        what = f"{name} has a local version, and indexes refuse those"
        yield Finding(where=where, what=what, hint="set local-versions = true there if this one takes them")
    refused = [platform for platform in wheel.platforms if not _TAKEN.fullmatch(platform)]
    if refused:
        what = f"{name} has the platform tag {', '.join(refused)}, which indexes refuse"
        yield Finding(where=where, what=what, hint='a mode of "repair" or "retag" gives it the tag that it measures')


def of_size(path: Path, size: int, destination: Destination) -> Iterator[Finding]:
    """Hold a file's size against the destination's limit, and name the members that make it so large."""
    limit = destination.max_size or (DEFAULT_LIMIT if destination.kind == "index" else None)
    if limit is None or size <= limit:
        return
    where = f"publish.{destination.name}"
    yield Finding(
        where=where,
        what=f"{path.name} has {human(size)}, and {human(limit)} is the limit there",
        details=largest(path),
        hint=f"ask for a higher limit, and say it as max-size in [{where}]",
    )


def largest(path: Path) -> tuple[str, ...]:
    """Name the largest members of a wheel by what they take in it."""
    if not zipfile.is_zipfile(path):
        return ()
    with zipfile.ZipFile(path) as archive:
        members = sorted(archive.infolist(), key=lambda member: member.compress_size, reverse=True)[:LARGEST]
    return tuple(
        f"{human(each.compress_size):>9} ({human(each.file_size)} unpacked)  {each.filename}" for each in members
    )


def of_descriptions(paths: Sequence[Path], run: Run) -> Iterator[Finding]:
    for path in paths:
        said = described(path, run)
        if said is not None:
            yield Finding(where=path.name, what="twine check --strict fails", details=said)


def described(path: Path, run: Run) -> tuple[str, ...] | None:
    """Have twine look whether an index could show a file's description, strictly: give what it says if not."""
    argv = [sys.executable, "-m", "twine", "--no-color", "check", "--strict", str(path)]
    done = run(argv, env=environment(os.environ))
    if done.ok:
        return None
    said = (line.strip() for line in done.tail if line.strip() and not line.startswith("Checking "))
    return Mask().lines(said)
