"""Verdicts on real wheels, held against the table and against `auditwheel show`, on any host."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import corpus
from wainwright.auditing.audit import audit
from wainwright.auditing.policy import load_policies
from wainwright.auditing.verdict import Verdict
from wainwright.values import Glibc

pytestmark = [pytest.mark.network, pytest.mark.slow]
ROWS = corpus.rows()
PROCESSES = 2
DETAILED = {"symbol-version", "missing-library", "unreachable-library"}
ARCHES = ("x86_64", "aarch64", "i686", "ppc64le", "s390x", "armv7l", "riscv64")


@pytest.fixture(scope="module")
def wheels() -> dict[str, Path]:
    return corpus.fetch(ROWS)


@pytest.fixture(scope="module")
def verdicts(wheels: dict[str, Path]) -> dict[str, Verdict]:
    return {name: audit(path) for name, path in wheels.items()}


@pytest.fixture(scope="module")
def shown(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Ask auditwheel about every wheel, in two processes."""
    empty = str(tmp_path_factory.mktemp("empty"))
    script = str(Path(__file__).with_name("auditwheel_show.py"))
    largest_first = sorted(map(str, wheels.values()), key=lambda wheel: -Path(wheel).stat().st_size)
    running = [
        subprocess.Popen([sys.executable, script, empty, *largest_first[part::PROCESSES]], stdout=subprocess.PIPE)
        for part in range(PROCESSES)
    ]
    answers: dict[str, dict[str, Any]] = {}
    for process in running:
        out, _ = process.communicate()
        assert process.returncode == 0
        answers.update(json.loads(out))
    return answers


def test_the_corpus_is_wide() -> None:
    platforms = [name.removesuffix(".whl").split("-")[-1] for name in ROWS]
    assert len(ROWS) >= 60
    assert len({row["built"] for row in ROWS.values()}) >= 12
    for arch in ARCHES:
        assert sum(platform.endswith(arch) for platform in platforms) >= 4, arch
    assert sum("musllinux" in platform for platform in platforms) >= 12
    assert all(bool(row.get("violations")) == bool(row.get("why")) for row in ROWS.values())


def test_every_wheel_is_judged_as_the_table_says(verdicts: dict[str, Verdict]) -> None:
    wrong = []
    for name, verdict in verdicts.items():
        found: defaultdict[str, list[str]] = defaultdict(list)
        for said in verdict.violations:
            details = found[f"{said.rule} {said.member or ''}".strip()]
            if said.rule in DETAILED:
                details.append(said.version or said.library or "")
        expected = ROWS[name].get("violations", {})
        if {key: sorted(details) for key, details in found.items()} != expected:
            wrong.append(f"{name}: {dict(found)}, not {expected}")
        measured = ROWS[name].get("measured")  # absent where nothing of the wheel's architecture is inside
        if verdict.measured.tag != measured:
            wrong.append(f"{name}: measured {verdict.measured.tag}, not {measured}")
    assert not wrong, "\n".join(wrong)


def test_who_falls_short_really_needs_it(wheels: dict[str, Path], verdicts: dict[str, Verdict]) -> None:
    """Another reader of ELF, over section headers, finds each version need that is held against a wheel."""
    from elftools.elf.elffile import ELFFile  # type: ignore[import-untyped,import-not-found,unused-ignore]
    from elftools.elf.gnuversions import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        GNUVerNeedSection,
    )

    offenders = set()
    for name, verdict in verdicts.items():
        said = [found for found in verdict.violations if found.rule == "symbol-version"]
        for member in {found.member or "" for found in said}:
            with zipfile.ZipFile(wheels[name]) as archive:
                sections = ELFFile(io.BytesIO(archive.read(member))).iter_sections()
            needs = {
                (needed.name, version.name)
                for section in sections
                if isinstance(section, GNUVerNeedSection)
                for needed, versions in section.iter_versions()
                for version in versions
            }
            held = {(found.library, found.version) for found in said if found.member == member}
            assert held <= needs, (name, member, held - needs)
            offenders.add(name)
        assert all(found.symbols for found in said), name
    assert len(offenders) >= 8


def differences(verdict: Verdict, theirs: dict[str, Any]) -> set[str]:
    """Say in what auditwheel's verdict is another one. Its floors are those of its policies, at or above ours."""
    if "error" in theirs:
        return {"refused"}
    found = set()
    libraries = verdict.libraries
    if set(theirs["external_libs"]) != {*libraries.missing, *libraries.provided, *libraries.excluded}:
        found.add("external")
    if theirs["sym_tag"] != rounded(verdict):
        found.add("floor")
    clean = not libraries.missing and not libraries.provided
    if clean and not found and theirs["overall_tag"] != theirs["sym_tag"]:
        found.add("overall")
    return found


def rounded(verdict: Verdict) -> str | None:
    """Give the measured tag as the lowest policy at or above it."""
    glibc, arch = verdict.measured.glibc, verdict.arch
    if glibc is None or arch is None:
        return verdict.measured.tag
    versions = [entry.version for entry in load_policies().manylinux if arch in entry.symbols]
    above: Glibc | None = next((version for version in versions if version >= glibc), None)
    return f"manylinux_{above.slug}_{arch}" if above else None


def test_auditwheel_agrees_but_where_the_table_says_why(
    verdicts: dict[str, Verdict], shown: dict[str, dict[str, Any]]
) -> None:
    wrong = []
    for name, verdict in verdicts.items():
        found, explained = differences(verdict, shown[name]), set(ROWS[name].get("differs", {}))
        if found - explained:
            wrong.append(f"{name}: differs about {found - explained}: {verdict.measured.tag}, {shown[name]}")
        if explained - found:
            wrong.append(f"{name}: the table explains {explained - found}, about which both agree")
    assert not wrong, "\n".join(wrong)


def test_no_host_changes_a_verdict(wheels: dict[str, Path], verdicts: dict[str, Verdict], tmp_path: Path) -> None:
    """Judge in processes that see other programs, other libraries, or nothing of their environment."""
    small = sorted(wheels.values(), key=lambda wheel: wheel.stat().st_size)[:60]
    chosen = [*small, *(wheels[name] for name in ROWS if "lightgbm" in name or "numba" in name)]
    for soname in ("libgomp.so.1", "libc.so.6", "libstdc++.so.6", "libtbb.so.12"):
        (tmp_path / soname).write_bytes(b"no library")
    program = tmp_path / "patchelf"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    command = [sys.executable, "-m", "wainwright", "audit", "--json", *map(str, chosen)]
    changed = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "AUDITWHEEL_PLAT": "manylinux_2_5_x86_64"}
    before = [verdicts[path.name].to_json() for path in chosen]
    for env in ({}, {**os.environ, **changed}, {"LANG": "tr_TR.UTF-8", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7"}):
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        assert json.loads(done.stdout)["wheels"] == before
    # the path is for the wheel's process alone: Python itself could not start with such a libc
    code = (
        "import os, sys\n"
        "from wainwright.__main__ import main\n"
        "os.environ['LD_LIBRARY_PATH'] = sys.argv.pop(1)\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), *command[3:]], capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout)["wheels"] == before, done.stderr
