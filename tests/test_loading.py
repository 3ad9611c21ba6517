from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import engine
import native
from wainwright.auditing.terms import Outside, Pattern, Terms
from wainwright.errors import WainwrightError
from wainwright.run import run
from wainwright.running import tracing
from wainwright.running.entering import enter
from wainwright.running.host import enter_host
from wainwright.running.loading import Answer, Unpacked, ask_loader, describe, left_out, refusals, unpack
from wainwright.running.standing import stand

EXT = "void *PyInit_mod(void) { return 0; }"
NEW = """
__asm__(".symver arc4random, arc4random@GLIBC_2.36");
unsigned arc4random(void);
void *PyInit_mod(void) { return (void *)(unsigned long)arc4random(); }
"""


def libraries(folder: Path) -> dict[str, bytes]:
    """Give a module that needs libone and libtwo, and those two."""
    one = native.shared(folder / "libone.so.1", "int one(void) { return 1; }", "-Wl,-soname,libone.so.1")
    two = native.shared(folder / "libtwo.so.1", "int two(void) { return 1; }", "-Wl,-soname,libtwo.so.1")
    source = "int one(void), two(void); long PyInit_mod(void) { return one() + two(); }"
    module = native.shared(folder / "mod.so", source, one, two, "-Wl,-rpath,$ORIGIN/../demo.libs")
    return {path.name: path.read_bytes() for path in (module, one, two)}


def wheel(folder: Path, members: dict[str, bytes]) -> Path:
    return native.wheel(folder / "demo-1.0-cp310-cp310-linux_x86_64.whl", members)


def answers(path: Path, folder: Path) -> tuple[Unpacked, tuple[Answer, ...]]:
    folder.mkdir()
    unpacked = unpack(path, folder)
    with enter_host(folder.parent / "host", run) as place:
        return unpacked, ask_loader(place, unpacked, arch="x86_64")


def test_a_wheel_that_loads(tmp_path: Path) -> None:
    made = libraries(tmp_path / "made")
    members = {"demo/mod.so": made["mod.so"], "demo.libs/libone.so.1": made["libone.so.1"]}
    members["demo.libs/libtwo.so.1"] = made["libtwo.so.1"]
    unpacked, said = answers(wheel(tmp_path, members), tmp_path / "elf")
    assert refusals(said, unpacked, Terms()) == ()
    found = dict(next(answer.found for answer in said if answer.member == "demo/mod.so"))
    assert found["libone.so.1"] == "demo/../demo.libs/libone.so.1"


def test_every_absent_library_is_named_at_once(tmp_path: Path) -> None:
    unpacked, said = answers(wheel(tmp_path, {"demo/mod.so": libraries(tmp_path / "made")["mod.so"]}), tmp_path / "elf")
    assert [str(refusal) for refusal in refusals(said, unpacked, Terms())] == [
        "demo/mod.so: libone.so.1 => not found",
        "demo/mod.so: libtwo.so.1 => not found",
    ]


def test_what_is_left_to_the_user_is_no_refusal(tmp_path: Path) -> None:
    unpacked, said = answers(wheel(tmp_path, {"demo/mod.so": libraries(tmp_path / "made")["mod.so"]}), tmp_path / "elf")
    at_build = Outside(
        name="libtwo.so.1",
        soname="libtwo.so.1",
        path="/usr/local/cuda/lib64/libtwo.so.1",
        real_path="/usr/local/cuda-11.2/lib64/libtwo.so.1.2",
        copy=tmp_path / "libtwo.so.1",
    )
    terms = Terms(exclude=(Pattern("/usr/local/cuda*"),), provided_by=((Pattern("libone.so.*"), "one"),))
    assert refusals(said, unpacked, terms, [at_build]) == ()
    assert left_out(said, terms, [at_build]) == ("libone.so.1", "libtwo.so.1")
    assert [refusal.words for refusal in refusals(said, unpacked, terms)] == ["libtwo.so.1 => not found"]


def test_a_library_that_a_sibling_must_load_first_is_no_refusal(tmp_path: Path) -> None:
    made = libraries(tmp_path / "made")
    members = {"demo/mod.so": made["mod.so"], "other/libone.so.1": made["libone.so.1"]}
    unpacked, said = answers(wheel(tmp_path, members), tmp_path / "elf")
    assert [refusal.words for refusal in refusals(said, unpacked, Terms())] == ["libtwo.so.1 => not found"]


def test_data_folders_are_laid_out_as_installers_do(tmp_path: Path) -> None:
    made = libraries(tmp_path / "made")
    members = {f"demo-1.0.data/platlib/demo.libs/{name}": made[name] for name in ("libone.so.1", "libtwo.so.1")}
    unpacked, said = answers(wheel(tmp_path, {"demo/mod.so": made["mod.so"], **members}), tmp_path / "elf")
    assert refusals(said, unpacked, Terms()) == ()
    assert "demo-1.0.data/platlib/demo.libs/libone.so.1" in {answer.member for answer in said}


def test_what_is_no_elf_file_is_passed_over(tmp_path: Path) -> None:
    members = {"demo/mod.so": b"GROUP ( libone.so.1 )", "demo/half.so": b"\x7fELF\2\1\1", "demo/x.py": b""}
    assert answers(wheel(tmp_path, members), tmp_path / "elf")[1] == ()


@pytest.mark.parametrize("name", ["../escaped.so", "/rooted.so", "a/../../up.so"])
def test_no_member_leaves_its_folder(name: str, tmp_path: Path) -> None:
    path = wheel(tmp_path, {name: native.shared(tmp_path / "mod.so", EXT).read_bytes()})
    with pytest.raises(WainwrightError):
        unpack(path, tmp_path / "elf")
    assert not list(tmp_path.glob("**/escaped.so")) + list(tmp_path.glob("**/up.so"))


def test_two_members_in_one_place_are_named(tmp_path: Path) -> None:
    made = native.shared(tmp_path / "mod.so", EXT).read_bytes()
    path = wheel(tmp_path, {"demo/mod.so": made, "demo/mod.so/x.so": made})
    with pytest.raises(WainwrightError, match=r"'demo/mod\.so/x\.so' cannot be unpacked: another member"):
        unpack(path, tmp_path / "elf")


def test_a_member_may_be_called_anything(tmp_path: Path) -> None:
    made = native.shared(tmp_path / "mod.so", "int absent(void); int f(void) { return absent(); }", stub(tmp_path))
    names = [".files", "list", "demo/n\nlibx.so => /etc/passwd (0x00).so", "demo/n\u2028ew.so", "demo/a => b (0x1).so"]
    unpacked, said = answers(wheel(tmp_path, dict.fromkeys(names, made.read_bytes())), tmp_path / "elf")
    assert [(refusal.member, refusal.words) for refusal in refusals(said, unpacked, Terms())] == [
        (name, "libabsent.so.1 => not found") for name in names
    ]
    assert {name for answer in said for name, _ in answer.found} <= {"libc.so.6", "/lib64/ld-linux-x86-64.so.2"}


def stub(folder: Path) -> Path:
    return native.shared(folder / "libabsent.so", "int absent(void) { return 1; }", "-Wl,-soname,libabsent.so.1")


def test_what_an_earlier_wheel_left_is_not_found(tmp_path: Path) -> None:
    made = libraries(tmp_path / "made")
    members = {"demo/mod.so": made["mod.so"], "demo.libs/libone.so.1": made["libone.so.1"]}
    first = unpack(wheel(tmp_path / "1", members | {"demo.libs/libtwo.so.1": made["libtwo.so.1"]}), tmp_path / "a")
    second = unpack(wheel(tmp_path / "2", members), tmp_path / "b")
    with enter_host(tmp_path / "host", run) as place:
        assert refusals(ask_loader(place, first, arch="x86_64"), first, Terms()) == ()
        said = refusals(ask_loader(place, second, arch="x86_64"), second, Terms())
    assert [refusal.words for refusal in said] == ["libtwo.so.1 => not found"]


@pytest.mark.parametrize("ends", ["kill -9 $$", "exit 0"])
def test_a_loader_that_does_not_answer_is_an_error(ends: str, tmp_path: Path) -> None:
    path = wheel(tmp_path, {"demo/mod.so": native.shared(tmp_path / "mod.so", EXT).read_bytes()})
    unpacked = unpack(path, tmp_path / "elf")
    with enter_host(tmp_path / "host", run) as place:
        program = Path(place.root) / "sh"
        program.write_text(f"#!/bin/sh\n{ends}\n")
        program.chmod(0o755)
        asked = replace(place, extra={"PATH": f"{place.root}:/usr/bin:/bin"})
        with pytest.raises(WainwrightError, match="the image's loader"):
            tracing.ask_loader(asked, unpacked, arch="x86_64", env=asked.environment())


@pytest.mark.engine
@pytest.mark.parametrize("name", ["demo/new.so", "demo/n\u2028ew.so", "demo/n\new.so"])
def test_an_old_image_refuses_a_member_of_any_name(name: str, tmp_path: Path) -> None:
    path = wheel(tmp_path, {name: native.shared(tmp_path / "mod.so", NEW, "-nostartfiles").read_bytes()})
    unpacked = unpack(path, tmp_path / "elf")
    with enter(stand(engine.debian("bullseye", "bare")), tmp_path / "x", run, network=False) as place:
        (refusal,) = refusals(ask_loader(place, unpacked, arch="x86_64"), unpacked, Terms())
    assert refusal.member == name
    assert "version `GLIBC_2.36' not found" in refusal.words


@pytest.mark.engine
def test_the_loader_of_an_image_without_python_speaks(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"demo/mod.so": native.shared(tmp_path / "mod.so", NEW, "-nostartfiles").read_bytes()})
    unpacked = unpack(path, tmp_path / "elf")
    with enter(stand(engine.debian("bullseye", "bare")), tmp_path / "x", run, network=False) as place:
        said = ask_loader(place, unpacked, arch="x86_64")
        assert describe(place) == {
            "libc": "2.31",
            "libstdc++": "6.0.28",
            "os": "Debian GNU/Linux 11 (bullseye)",
        }
    assert [str(refusal) for refusal in refusals(said, unpacked, Terms())] == [
        "demo/mod.so: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.36' not found (required by demo/mod.so)"
    ]
    with enter(stand(engine.debian("bookworm", "bare")), tmp_path / "x", run, network=False) as place:
        assert refusals(ask_loader(place, unpacked, arch="x86_64"), unpacked, Terms()) == ()


@pytest.mark.engine
def test_a_place_without_glibc_says_so(tmp_path: Path) -> None:
    with enter(stand(engine.debian()), tmp_path / "x", run, network=False) as place:
        path = wheel(tmp_path, {"demo/mod.so": native.shared(tmp_path / "mod.so", EXT).read_bytes()})
        said = ask_loader(place, unpack(path, tmp_path / "elf"), arch="aarch64")
    assert [answer.words for answer in said] == [("there is no /lib/ld-linux-aarch64.so.1 here: no glibc for aarch64",)]
