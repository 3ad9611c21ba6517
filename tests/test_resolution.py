from __future__ import annotations

import pytest

from elves import Recipe, make
from wainwright.auditing.processes import Loadable
from wainwright.auditing.resolution import SITE, Resolution, origin_path, resolve
from wainwright.formats.elf import read_elf


def loadable(member: str, **fields: object) -> Loadable:
    elf = read_elf(make(Recipe(**fields)))  # type: ignore[arg-type]
    return Loadable(member=member, path=f"{SITE}/{member}", elf=elf)


def user(member: str = "demo/mod.so", **fields: object) -> Loadable:
    return loadable(member, needed=("libdep.so.1",), **fields)


def dep(member: str = "demo.libs/libdep.so.1", **fields: object) -> Loadable:
    fields.setdefault("soname", "libdep.so.1")
    return loadable(member, **fields)


def provider(resolution: Resolution, member: str = "demo/mod.so", library: str = "libdep.so.1") -> str | None:
    return resolution.providers.get((member, library))


@pytest.mark.parametrize(
    "path", ["$ORIGIN/../demo.libs", "${ORIGIN}/../demo.libs", "/x:$ORIGIN/../demo.libs/", "$ORIGIN/./../demo.libs"]
)
@pytest.mark.parametrize("kind", ["rpath", "runpath"])
def test_a_search_path_leads_to_it(kind: str, path: str) -> None:
    assert provider(resolve([user(**{kind: path}), dep()])) == "demo.libs/libdep.so.1"


@pytest.mark.parametrize("path", ["$ORIGINAL/../demo.libs", "$ORIGIN", "../demo.libs", "/demo.libs", "$LIB"])
def test_a_search_path_that_leads_elsewhere(path: str) -> None:
    found = resolve([user(rpath=path), dep()])
    assert provider(found) is None
    assert found.unreached == {("demo/mod.so", "libdep.so.1"): ("demo.libs/libdep.so.1",)}


def test_it_goes_by_file_name_not_by_soname() -> None:
    found = resolve([user(rpath="$ORIGIN/../demo.libs"), dep("demo.libs/libother.so", soname="libdep.so.1")])
    assert provider(found) is None
    assert found.unreached[("demo/mod.so", "libdep.so.1")] == ("demo.libs/libother.so",)


def test_a_file_name_will_do_without_a_soname() -> None:
    assert provider(resolve([user(rpath="$ORIGIN/../demo.libs"), dep(soname=None)])) == "demo.libs/libdep.so.1"


def test_runpath_hides_rpath() -> None:
    assert provider(resolve([user(rpath="$ORIGIN/../demo.libs", runpath="$ORIGIN/x"), dep()])) is None


def test_rpath_is_inherited_from_the_loading_object() -> None:
    top = loadable("demo/mod.so", needed=("libmid.so",), rpath="$ORIGIN/../demo.libs")
    mid = loadable("demo.libs/libmid.so", needed=("libdep.so.1",))
    found = resolve([mid, top, dep()])
    assert provider(found, "demo.libs/libmid.so") == "demo.libs/libdep.so.1"


def test_runpath_is_not_inherited_but_by_musl() -> None:
    top = loadable("demo/mod.so", needed=("libmid.so",), runpath="$ORIGIN/../demo.libs")
    mid = loadable("demo.libs/libmid.so", needed=("libdep.so.1",))
    assert provider(resolve([top, mid, dep()]), "demo.libs/libmid.so") is None
    assert provider(resolve([top, mid, dep()], musl=True), "demo.libs/libmid.so") == "demo.libs/libdep.so.1"


def test_an_object_with_a_runpath_does_not_look_along_an_inherited_rpath() -> None:
    top = loadable("demo/mod.so", needed=("libmid.so",), rpath="$ORIGIN/../demo.libs")
    mid = loadable("demo.libs/libmid.so", needed=("libdep.so.1",), runpath="$ORIGIN/nowhere")
    assert provider(resolve([top, mid, dep()]), "demo.libs/libmid.so") is None


def test_a_sibling_has_loaded_it_already() -> None:
    first = user("demo/first.so", rpath="$ORIGIN/../demo.libs")
    second = user("demo/second.so")
    found = resolve([first, second, dep()])
    assert provider(found, "demo/second.so") == "demo.libs/libdep.so.1"


def test_a_sibling_loaded_it_under_its_file_name_and_the_soname_is_known_since() -> None:
    first = loadable("demo/first.so", needed=("libfile.so",), rpath="$ORIGIN/../demo.libs")
    found = resolve([first, user("demo/second.so"), dep("demo.libs/libfile.so")])
    assert provider(found, "demo/second.so") == "demo.libs/libfile.so"


def test_python_itself_loads_extension_modules() -> None:
    core = loadable("demo/_core.so", soname="_core.so")._replace(extension=True)
    found = resolve([core, loadable("demo/more.so", needed=("_core.so",))])
    assert provider(found, "demo/more.so", "_core.so") == core.member


def test_another_architecture_is_passed_over() -> None:
    wrong = dep("demo/a/libdep.so.1", machine=183)
    right = dep("demo/b/libdep.so.1")
    found = resolve([user(rpath="$ORIGIN/a:$ORIGIN/b"), wrong, right])
    assert provider(found) == "demo/b/libdep.so.1"
    assert resolve([user(), wrong]).unreached == {}


def test_what_is_no_elf_file_ends_the_load() -> None:
    text = Loadable(member="demo/libdep.so.1", path=f"{SITE}/demo/libdep.so.1", elf=None)
    found = resolve([user(rpath="$ORIGIN:$ORIGIN/../demo.libs"), text, dep()])
    assert provider(found) is None
    assert found.misfits == {("demo/mod.so", "libdep.so.1"): "demo/libdep.so.1"}


def test_a_needed_path_is_taken_as_a_path() -> None:
    top = loadable("demo/mod.so", needed=("$ORIGIN/../demo.libs/libdep.so.1",))
    assert provider(resolve([top, dep()]), library="$ORIGIN/../demo.libs/libdep.so.1") == "demo.libs/libdep.so.1"


def test_circles_end() -> None:
    one = loadable("demo/a.so", needed=("b.so",), rpath="$ORIGIN")
    two = loadable("demo/b.so", needed=("a.so", "b.so"), rpath="$ORIGIN/.")
    assert len(resolve([one, two]).providers) == 3


def test_programs_find_libraries_in_any_python() -> None:
    elf = user().elf
    program = loadable("x", needed=("libdep.so.1",), rpath="$ORIGIN/../lib/python3.11/site-packages/demo.libs")
    program = Loadable(member="demo-1.0.data/scripts/run", path="/prefix/bin/run", elf=program.elf)
    assert elf is not None
    assert provider(resolve([program, dep()]), program.member) == "demo.libs/libdep.so.1"


def test_the_entry_that_would_lead_there() -> None:
    assert origin_path(user(), dep()) == "$ORIGIN/../demo.libs"
    assert origin_path(user(), dep("demo/libdep.so.1")) == "$ORIGIN"


def program(member: str = "demo/bin/run", **fields: object) -> Loadable:
    return user(member, interpreter="/lib64/ld-linux-x86-64.so.2", **fields)


def test_a_program_is_a_process_of_its_own() -> None:
    first = user("demo/first.so", rpath="$ORIGIN/../demo.libs")._replace(extension=True)
    other = program("demo/bin/other", rpath="$ORIGIN/../../demo.libs")
    found = resolve([first, other, program(), dep()])
    assert provider(found, "demo/bin/run") is None
    assert found.unreached == {("demo/bin/run", "libdep.so.1"): ("demo.libs/libdep.so.1",)}
    assert provider(found, "demo/bin/other") == "demo.libs/libdep.so.1"


def test_a_program_s_library_needs_what_the_program_itself_has_loaded() -> None:
    mid = loadable("demo.libs/libmid.so", needed=("libdep.so.1",), soname="libmid.so")
    needed = ("libmid.so", "libdep.so.1")
    run = loadable("demo/bin/run", needed=needed, runpath="$ORIGIN/../../demo.libs", kind=2)
    assert provider(resolve([run, mid, dep()]), mid.member) == "demo.libs/libdep.so.1"
    alone = loadable("demo/bin/run", needed=needed[:1], runpath="$ORIGIN/../../demo.libs", kind=2)
    first = user("demo/first.so", rpath="$ORIGIN/../demo.libs")._replace(extension=True)
    assert provider(resolve([alone, first, mid, dep()]), mid.member) is None


def test_a_library_that_only_programs_load_does_nothing_for_extensions() -> None:
    run = program(rpath="$ORIGIN/../../demo.libs")
    mod = user("demo/mod.so")._replace(extension=True)
    assert provider(resolve([run, mod, dep()])) is None


@pytest.mark.parametrize("name", ["libc.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2"])
def test_what_every_process_holds_is_never_taken_from_inside(name: str) -> None:
    mod = loadable("demo/mod.so", needed=(name,), rpath="$ORIGIN")
    found = resolve([mod, loadable(f"demo/{name}", soname=name)])
    assert (found.providers, found.unreached, found.misfits) == ({}, {}, {})
