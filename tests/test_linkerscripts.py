from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import native
from judging import extension, judged, only, outside, patterns, rules
from wainwright.auditing.terms import Outside, Pattern, Terms
from wainwright.run import run
from wainwright.running.collecting import collect, read_libraries, read_scripts
from wainwright.running.host import enter_host
from wainwright.running.linkerscripts import Script, find_scripts, followed

DEP = "libdep.so.1"
NEEDS_DEP = {"demo/mod.so": extension(needed=("libc.so.6", DEP))}
SCRIPT = Script(path="/usr/lib64/libdep.so", leads_to=(DEP, "libmore.so.2"))


def found(folder: Path, tmp_path: Path, libraries: tuple[Outside, ...]) -> dict[str, tuple[str, ...]]:
    with enter_host(tmp_path / "host", run) as host:
        scripts = find_scripts(host, libraries, tmp_path / "log")
    return {script.name: script.leads_to for script in scripts if script.path.startswith(f"{folder}/")}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("INPUT ( {folder}/libdep.so.1 )", (DEP,)),
        (
            "/* GNU ld script */\nOUTPUT_FORMAT(elf64-x86-64)\nGROUP(libdep.so.1 AS_NEEDED(libmore.so.2))",
            SCRIPT.leads_to,
        ),
        ("/* several\n lines * of\n GROUP(libno.so.1) */ GROUP ( -ldep )", (DEP,)),  # libdep.so, a link
        ("INPUT(libmore.so.2, libdep.a)", ("libmore.so.2",)),
        ("INPUT(libchain.so)", (DEP,)),  # one script leads to another
        ("INPUT(-lround)", ()),  # and one to itself
        ("INPUT(libabsent.so.4)", ()),
    ],
)
def test_what_a_script_leads_to(tmp_path: Path, text: str, names: tuple[str, ...]) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    native.shared(folder / "libdep.so.1.2", "int dep(void) { return 1; }", f"-Wl,-soname,{DEP}")
    for link in (DEP, "libdep.so"):
        (folder / link).symlink_to("libdep.so.1.2")
    native.shared(folder / "libmore.so.2", "int more(void) { return 1; }", "-Wl,-soname,libmore.so.2")
    (folder / "libdep.a").write_bytes(b"!<arch>\n")
    (folder / "libchain.so").write_text("GROUP(libdep.so.1.2)")
    (folder / "libround.so").write_text("INPUT(libround.so)")
    (folder / "libround.so" if "round" in text else folder / "libtext.so").write_text(text.format(folder=folder))
    library = replace(outside(f"{folder}/{DEP}"), real_path=f"{folder}/libdep.so.1.2")
    seen = found(folder, tmp_path, (library,))
    assert seen.get("libtext.so", ()) == names
    assert seen["libchain.so"] == (DEP,)
    assert seen.keys() <= {"libtext.so", "libchain.so"}


@pytest.mark.parametrize(
    ("text", "leads"),
    [
        ("libdep.so", SCRIPT.leads_to),
        ("/usr/lib64/libdep.so", SCRIPT.leads_to),
        ("/lib64/libdep.so", SCRIPT.leads_to),
        ("libdep*", ()),
        ("/usr/lib64/*", ()),
        ("/usr/lib64", ()),
        ("libdep.so.1", ()),
    ],
)
def test_a_pattern_that_names_a_script_is_followed(text: str, leads: tuple[str, ...]) -> None:
    terms = followed(Terms(exclude=patterns(text), provided_by=((Pattern(text), "dep"),)), [SCRIPT])
    assert terms.exclude[0].leads_to == leads
    assert terms.provided_by[0][0].leads_to == leads


@pytest.mark.parametrize("text", ["libdep.so", "/usr/lib64/libdep.so"])
def test_excluding_the_script_excludes_what_it_leads_to(tmp_path: Path, text: str) -> None:
    unfollowed = Terms(exclude=patterns(text))
    assert rules(judged(tmp_path, NEEDS_DEP, terms=unfollowed).violations) == ["missing-library", "unmatched-pattern"]
    libraries = (outside("/opt/new/lib64/libdep.so.1"),)
    verdict = judged(tmp_path, NEEDS_DEP, terms=followed(unfollowed, [SCRIPT]), libraries=libraries)
    assert verdict.ok
    assert verdict.libraries.excluded == (DEP,)
    assert f"is taken to mean {DEP}, libmore.so.2" in only(verdict.notes, "linker-script").message


def test_a_script_that_leads_to_nothing_needed(tmp_path: Path) -> None:
    terms = followed(Terms(exclude=patterns("libdep.so")), [SCRIPT])
    verdict = judged(tmp_path, {"demo/mod.so": extension()}, terms=terms)
    message = only(verdict.violations, "unmatched-pattern").message
    assert "libdep.so matches no needed library, nor does libdep.so.1 or libmore.so.2, to which it leads" in message


def test_the_other_fates_follow_it_too(tmp_path: Path) -> None:
    hashed = {"demo.libs/libdep-0123abcd.so.1": extension(soname="libdep-0123abcd.so.1")}
    script = patterns("libdep.so")
    cases = {
        "bundle": Terms(bundle=script),
        "keep-name": Terms(keep_name=script),
        "forbidden-library": Terms(forbid=script),
    }
    for rule, terms in cases.items():
        verdict = judged(tmp_path, hashed, terms=followed(terms, [SCRIPT]))
        assert rules(verdict.violations) == ([] if rule == "bundle" else [rule])
    unfollowed = judged(tmp_path, hashed, terms=cases["bundle"])
    assert rules(unfollowed.violations) == ["bundle"]
    provided = followed(Terms(provided_by=((script[0], "dep"),)), [SCRIPT])
    assert judged(tmp_path, NEEDS_DEP, terms=provided, requires=["dep"]).libraries.provided == (DEP,)


def test_what_is_collected_tells_the_scripts(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    native.shared(folder / DEP, "int dep(void) { return 1; }", f"-Wl,-soname,{DEP}")
    (folder / "libdep.so").write_text(f"INPUT({DEP})")
    module = native.shared(
        tmp_path / "mod.so", "int dep(void); int PyInit_mod(void) { return dep(); }", f"-Wl,-rpath,{folder}",
        str(folder / DEP),
    )  # fmt: skip
    wheel = native.wheel(tmp_path / "demo-1.0-cp310-cp310-linux_x86_64.whl", {"demo/mod.so": module.read_bytes()})
    with enter_host(tmp_path / "host", run) as host:
        collect(host, wheel, tmp_path / "libraries", arch="x86_64", policy=("libc.so.6",), log=tmp_path / "log")
    assert [library.soname for library in read_libraries(tmp_path / "libraries")] == [DEP]
    scripts = {script.path: script.leads_to for script in read_scripts(tmp_path / "libraries")}
    assert scripts[f"{folder}/libdep.so"] == (DEP,)
