"""A library of the build machine is collected by its loader, grafted by auditwheel, and loads from inside the wheel."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import engine
import native
from wainwright.auditing.audit import audit
from wainwright.auditing.graft import Grafted, graft
from wainwright.auditing.policy import load_policies
from wainwright.auditing.terms import Outside, Pattern, Terms
from wainwright.errors import Exit, WainwrightError
from wainwright.formats.elf import read_elf
from wainwright.run import run
from wainwright.running.collecting import collect, read_libraries
from wainwright.running.entering import enter
from wainwright.running.host import Host, enter_host
from wainwright.running.standing import stand
from wainwright.values import Glibc

ARCH = platform.machine()
NAME = f"demo-1.0-cp311-cp311-linux_{ARCH}.whl"
GLIBC = Glibc(2, 39)  # whatever compiler the tests have, the grafted result fits


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with enter_host(tmp_path / "place", run) as place:
        yield place


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """Give a wheel whose mod.so needs libdep.so.1, which needs libdeeper.so.1, both outside; other.so needs neither."""
    folder = tmp_path / "system"
    deeper = native.shared(folder / "libdeeper.so.1", "int deeper(void) { return 40; }", "-Wl,-soname,libdeeper.so.1")
    source = "int deeper(void); int dep(void) { return deeper() + 2; }"
    dep = native.shared(folder / "libdep.so.1.2", source, deeper, "-Wl,-soname,libdep.so.1", f"-Wl,-rpath,{folder}")
    (folder / "libdep.so.1").symlink_to(dep.name)
    source = "int dep(void); int answer(void) { return dep(); }"
    mod = native.shared(tmp_path / "mod.so", source, folder / "libdep.so.1", f"-Wl,-rpath,{folder}")
    other = native.shared(tmp_path / "other.so", "int other(void) { return 1; }")
    return native.wheel(
        tmp_path / NAME,
        {
            "demo/__init__.py": b"",
            "demo/mod.so": mod.read_bytes(),
            "demo/other.so": other.read_bytes(),
            "demo/data.bin": bytes(range(256)) * 64,
        },
    )


def collected(host: Host, wheel: Path) -> tuple[Outside, ...]:
    policy = load_policies().at(GLIBC, ARCH).libraries
    folder = wheel.parent / "libraries"
    collect(host, wheel, folder, arch=ARCH, policy=policy, log=wheel.parent / "log")
    return read_libraries(folder)


def grafted(host: Host, wheel: Path, terms: Terms | None = None) -> Grafted:
    libraries = collected(host, wheel)
    names = audit(wheel, claim=GLIBC, terms=terms, libraries=libraries).libraries.missing
    return graft(
        wheel,
        wheel.parent / "out",
        names=names,
        glibc=GLIBC,
        arch=ARCH,
        terms=terms or Terms(),
        libraries=libraries,
        run=run,
        log=wheel.parent / "log",
    )


def answer(wheel: Path, folder: Path) -> str:
    """Unpack a wheel elsewhere and ask its extension, with the outside libraries gone."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    (wheel.parent.parent / "system").rename(wheel.parent.parent / "gone")
    code = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).answer())"
    argv = [sys.executable, "-c", code, str(folder / "demo/mod.so")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr


def test_the_loader_of_the_place_says_where_libraries_are(host: Host, wheel: Path) -> None:
    libraries = {library.name: library for library in collected(host, wheel)}
    assert set(libraries) == {"libdep.so.1", "libdeeper.so.1"}
    dep = libraries["libdep.so.1"]
    assert dep.path == str(wheel.parent / "system/libdep.so.1")
    assert dep.real_path == str(wheel.parent / "system/libdep.so.1.2")
    assert dep.needed[0] == "libdeeper.so.1"
    assert dep.copy.read_bytes() == Path(dep.real_path).read_bytes()


def test_the_audit_names_what_is_missing_before_and_nothing_after(host: Host, wheel: Path) -> None:
    libraries = collected(host, wheel)
    before = audit(wheel, claim=GLIBC, libraries=libraries)
    assert before.libraries.missing == ("libdeeper.so.1", "libdep.so.1")
    assert {found.rule for found in before.violations} == {"missing-library"}
    after = audit(grafted(host, wheel).path, claim=GLIBC, libraries=libraries)
    assert after.ok, after.violations
    assert after.libraries.missing == ()


def test_a_grafted_wheel_works_without_the_system(host: Host, wheel: Path, tmp_path: Path) -> None:
    assert answer(grafted(host, wheel).path, tmp_path / "installed") == "42"


def test_only_what_was_patched_is_written_anew(host: Host, wheel: Path) -> None:
    result = grafted(host, wheel).path
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(result) as after:
        old = {info.filename: info.CRC for info in before.infolist()}
        new = {info.filename: info.CRC for info in after.infolist()}
        record = after.read("demo-1.0.dist-info/RECORD").decode()
        assert [info.filename for info in after.infolist()][-1] == "demo-1.0.dist-info/RECORD"
        assert after.testzip() is None
    changed = {name for name in old if new.get(name) != old[name]}
    assert changed == {"demo/mod.so", "demo-1.0.dist-info/RECORD"}
    added = sorted(set(new) - set(old))
    assert [name.partition("-")[0] for name in added if name.startswith("demo.libs/")] == [
        "demo.libs/libdeeper",
        "demo.libs/libdep",
    ]
    assert all(f"{name},sha256=" in record for name in added)


def test_the_bill_of_materials_says_what_travels_and_whence(host: Host, wheel: Path) -> None:
    done = grafted(host, wheel)
    system = wheel.parent / "system"
    assert {each.name: each.path for each in done.libraries} == {
        "libdep.so.1": str(system / "libdep.so.1.2"),
        "libdeeper.so.1": str(system / "libdeeper.so.1"),
    }
    with zipfile.ZipFile(done.path) as archive:
        bill = json.loads(archive.read("demo-1.0.dist-info/sboms/wainwright.cdx.json"))
        members = archive.namelist()
    assert bill["bomFormat"] == "CycloneDX"
    for component in bill["components"]:
        assert component["bom-ref"] in members
    digest = hashlib.sha256((system / "libdep.so.1.2").read_bytes()).hexdigest()
    assert {"alg": "SHA-256", "content": digest} in [component["hashes"][0] for component in bill["components"]]


def test_keep_name_leaves_the_hash_out(host: Host, wheel: Path, tmp_path: Path) -> None:
    done = grafted(host, wheel, Terms(keep_name=(Pattern("libdep.so.1"),)))
    with zipfile.ZipFile(done.path) as archive:
        names = archive.namelist()
        assert "demo.libs/libdep.so.1" in names
        assert read_elf(archive.read("demo.libs/libdep.so.1")).soname == "libdep.so.1"
        assert "libdep.so.1" in read_elf(archive.read("demo/mod.so")).needed
        assert any(name.startswith("demo.libs/libdeeper-") for name in names)
    assert answer(done.path, tmp_path / "installed") == "42"


def test_an_excluded_library_stays_outside_with_what_it_alone_needs(host: Host, wheel: Path) -> None:
    terms = Terms(exclude=(Pattern(f"{wheel.parent}/system*"),))
    libraries = collected(host, wheel)
    verdict = audit(wheel, claim=GLIBC, terms=terms, libraries=libraries)
    assert verdict.libraries.missing == ()
    assert verdict.libraries.excluded == ("libdep.so.1",)
    assert verdict.ok, verdict.violations
    assert any("libdeeper.so.1" in found.message for found in (*verdict.notes, *verdict.warnings))


def test_the_same_input_gives_the_same_bytes(host: Host, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first = grafted(host, wheel).path.read_bytes()
    for path in (wheel.parent / "out", wheel.parent / "libraries"):
        path.rename(path.with_name(f"{path.name}-1"))
    assert grafted(host, wheel).path.read_bytes() == first


def test_a_library_that_is_nowhere_is_one_error_and_leaves_nothing(host: Host, wheel: Path) -> None:
    with pytest.raises(WainwrightError, match=r"libnowhere\.so\.1 cannot be grafted") as caught:
        graft(
            wheel,
            wheel.parent / "out",
            names=("libnowhere.so.1",),
            glibc=GLIBC,
            arch=ARCH,
            terms=Terms(),
            libraries=collected(host, wheel),
            run=run,
        )
    assert caught.value.code == Exit.AUDIT
    assert list(wheel.parent.glob("out/**/*.whl")) == []


def test_a_collected_library_that_is_gone_is_an_error(host: Host, wheel: Path) -> None:
    library = collected(host, wheel)[0]
    library.copy.unlink()
    with pytest.raises(WainwrightError, match="run the build session again"):
        read_libraries(wheel.parent / "libraries")
    (wheel.parent / "libraries/libraries.json").write_text("{")
    with pytest.raises(WainwrightError, match="run the build session again"):
        read_libraries(wheel.parent / "libraries")


def test_a_graft_names_its_source_in_words(host: Host, wheel: Path) -> None:
    done = grafted(host, wheel)
    assert replace(done.libraries[0], package="libdep1").package == "libdep1"
    assert all(each.member.startswith("demo.libs/") for each in done.libraries)


def rivals(tmp_path: Path) -> Path:
    """Give a wheel of two modules, each of which finds a libdep.so.1 of its own."""
    members = {}
    for number, one in enumerate("ab"):
        source = f"int dep(void) {{ return {number}; }}"
        dep = native.shared(tmp_path / one / "libdep.so.1", source, "-Wl,-soname,libdep.so.1")
        source = f"int dep(void); int {one}(void) {{ return dep(); }}"
        members[f"demo/{one}.so"] = native.shared(
            tmp_path / f"{one}.so", source, dep, f"-Wl,-rpath,{dep.parent}"
        ).read_bytes()
    return native.wheel(tmp_path / NAME, members)


def test_two_libraries_of_one_name_are_an_error_that_names_both(host: Host, tmp_path: Path) -> None:
    wheel = rivals(tmp_path)
    with pytest.raises(WainwrightError, match=r"two different libraries are called libdep\.so\.1") as caught:
        collected(host, wheel)
    assert caught.value.details == tuple(f"{tmp_path}/{one}/libdep.so.1, needed by demo/{one}.so" for one in "ab")


def test_two_libraries_of_one_name_may_be_left_to_the_user(host: Host, tmp_path: Path) -> None:
    wheel = rivals(tmp_path)
    policy = load_policies().at(GLIBC, ARCH).libraries
    left = [Pattern("libdep.so.*")]
    (dep,) = collect(host, wheel, tmp_path / "out", arch=ARCH, policy=policy, log=tmp_path / "log", left=left)
    assert dep.path == f"{tmp_path}/a/libdep.so.1"


def test_the_same_library_in_two_places_is_one(host: Host, tmp_path: Path) -> None:
    wheel = rivals(tmp_path)
    (tmp_path / "b/libdep.so.1").write_bytes((tmp_path / "a/libdep.so.1").read_bytes())
    assert [library.name for library in collected(host, wheel)] == ["libdep.so.1"]


def test_a_library_that_is_needed_by_its_path_is_seen_and_cannot_be_grafted(host: Host, tmp_path: Path) -> None:
    library = native.shared(tmp_path / "system/libplain.so", "int plain(void) { return 1; }")
    module = native.shared(tmp_path / "mod.so", "int plain(void); int f(void) { return plain(); }", library)
    wheel = native.wheel(tmp_path / NAME, {"demo/mod.so": module.read_bytes()})
    (found,) = collected(host, wheel)
    assert (found.name, found.path) == (str(library), str(library))
    assert found.copy.parent == tmp_path / "libraries"
    with pytest.raises(WainwrightError, match="the wheel needs it by its path"):
        grafted(host, wheel)
    assert audit(wheel, claim=GLIBC, terms=Terms(exclude=(Pattern(f"{library.parent}/*"),)), libraries=[found]).ok


def test_a_name_that_looks_like_an_answer_copies_nothing_out(host: Host, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        members = {"demo/n\nlibx.so => /etc/passwd (0x00).so": archive.read("demo/other.so")}
    assert collected(host, native.wheel(wheel, members)) == ()


@pytest.mark.engine
def test_a_licence_may_stand_behind_a_tab(tmp_path: Path) -> None:
    library = native.shared(
        tmp_path / "libdep.so.1", "int dep(void) { return 1; }", "-Wl,-soname,libdep.so.1", "-nostdlib"
    )
    module = native.shared(tmp_path / "mod.so", "int dep(void); int f(void) { return dep(); }", library, "-nostdlib")
    wheel = native.wheel(tmp_path / NAME, {"demo/mod.so": module.read_bytes()})
    copyright_file = b"Files: *\nLicense:\tMIT\tor so\n"
    image = engine.made(
        "tab",
        """FROM wainwright/debian:bullseye
COPY libdep.so.1 /usr/lib/
COPY copyright /usr/share/doc/libdep1/copyright
RUN echo /usr/lib/libdep.so.1 > /var/lib/dpkg/info/libdep1.list && printf 'Package: libdep1\\nStatus: install ok \
installed\\nVersion: 1\\nArchitecture: all\\nMaintainer: x\\nDescription: x\\n\\n' >> /var/lib/dpkg/status && ldconfig
""",
        {"libdep.so.1": library.read_bytes(), "copyright": copyright_file},
    )
    policy = load_policies().at(GLIBC, ARCH).libraries
    with enter(stand(image), tmp_path / "x", run, network=False) as place:
        (dep,) = collect(place, wheel, tmp_path / "out", arch=ARCH, policy=policy, log=tmp_path / "log")
    assert (dep.package, dep.licence) == ("libdep1", "MIT\tor so")
