from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import engine
from wainwright.declaration.release import Image
from wainwright.errors import Exit, WainwrightError
from wainwright.run import run
from wainwright.running.containers import Container, enter_container
from wainwright.running.entering import enter, lacking_pythons
from wainwright.running.images import look
from wainwright.running.places import Place
from wainwright.running.standing import stand
from wainwright.values import Python

pytestmark = pytest.mark.engine


@contextmanager
def inside(
    image: Image, *, network: bool = False, environ: Mapping[str, str] | None = None, keep: bool = False
) -> Iterator[Container]:
    environ = dict(environ or {}) | ({"WAINWRIGHT_KEEP": "1"} if keep else {})
    found = look(engine.engine(), image.ref or "")
    assert found is not None
    with enter_container(
        engine.engine(), image, found, run, arch="x86_64", network=network, environ=environ
    ) as container:
        yield container


def text(place: Place, script: str, **env: str) -> str:
    return place.run(["sh", "-ec", script], env={**place.environment(), **env}, capture=True).stdout


def test_enter_runs_a_command_in_the_image(tmp_path: Path) -> None:
    with enter(stand(engine.debian()), tmp_path, run) as place:
        done = place.run(["sed", "-n", "s/^VERSION_ID=//p", "/etc/os-release"], env=place.environment(), capture=True)
        assert done.stdout == '"11"\n'
        assert text(place, "pwd; id -u; ls") == f"{place.root}\n0\n"
        assert len(engine.containers()) == 1
    assert engine.containers() == set()
    assert list(tmp_path.iterdir()) == []


def test_files_go_in_and_come_out_as_they_are(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep" / "er").mkdir(parents=True)
    (source / "deep" / "er" / "run me").write_text("#!/bin/sh\necho ran\n")
    (source / "deep" / "er" / "run me").chmod(0o755)
    (source / "link").symlink_to("deep/er")
    (source / "ünïcode").write_bytes(b"\0\xff" * 1000)
    with inside(engine.debian()) as place:
        place.put(source, f"{place.root}/a/b/source")
        place.put(source / "ünïcode", f"{place.root}/single")
        assert text(place, "'a/b/source/link/run me'; stat -c %u:%g a/b/source single; readlink a/b/source/link") == (
            "ran\n0:0\n0:0\ndeep/er\n"
        )
        text(place, "mkdir -m 0555 shut && touch a/b/source/new && chown -R 1234:1234 a && ln -s single alias")
        place.get(f"{place.root}/a/b/source", tmp_path / "out")
        place.get(f"{place.root}/shut", tmp_path / "shut")
        place.get(f"{place.root}/alias", tmp_path / "followed")
        (tmp_path / "merged").mkdir()
        (tmp_path / "merged" / "old").touch()
        place.get(f"{place.root}/a/b/source", tmp_path / "merged")
    assert (tmp_path / "out" / "ünïcode").read_bytes() == b"\0\xff" * 1000
    assert os.access(tmp_path / "out" / "deep" / "er" / "run me", os.X_OK)
    assert (tmp_path / "out" / "link").readlink() == Path("deep/er")
    assert (tmp_path / "followed").read_bytes() == b"\0\xff" * 1000
    assert sorted(path.name for path in (tmp_path / "merged").iterdir()) == ["deep", "link", "new", "old", "ünïcode"]
    owners = {(path.lstat().st_uid, path.lstat().st_gid) for path in tmp_path.rglob("*")}
    assert owners == {(os.getuid(), os.getgid())}


def test_what_is_not_there_cannot_be_copied_out(tmp_path: Path) -> None:
    with inside(engine.debian()) as place, pytest.raises(WainwrightError, match="could not be copied out") as caught:
        place.get("/no/such", tmp_path / "out")
    assert caught.value.code == Exit.ENGINE
    assert list(tmp_path.iterdir()) == []


def test_the_environment_is_an_allow_list(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.pem"
    bundle.write_text("certificates")
    secrets = {
        "GITHUB_TOKEN": "secret",
        "TWINE_PASSWORD": "secret",
        "PIP_INDEX_URL": "https://me:secret@packages.example.org/simple",
        "HTTPS_PROXY": "http://me:secret@proxy.example.org",
    }
    harmless = {
        "LANG": "C.UTF-8",
        "PIP_CERT": str(bundle),
        "SSL_CERT_FILE": str(bundle),
        "PIP_CONFIG_FILE": str(bundle),
        "PIP_FIND_LINKS": f"{bundle} https://packages.example.org/wheels",
    }
    with inside(engine.debian(), network=True, environ=secrets | harmless) as place:
        seen = text(place, "env; cat $PIP_CERT $SSL_CERT_FILE; cat /proc/1/environ")
        stored = engine.engine().ask("inspect", place.name).stdout
    assert "secret" not in seen + stored
    assert "certificatescertificates" in seen
    assert "PIP_FIND_LINKS=https://packages.example.org/wheels\n" in seen
    assert "PIP_CONFIG_FILE" not in seen
    assert place.passed.withheld.keys() == {"PIP_INDEX_URL", "HTTPS_PROXY", "PIP_FIND_LINKS"}


def test_values_stay_off_the_command_line_and_reach_the_command_whole() -> None:
    with inside(engine.debian()) as place:
        odd = "two\nlines = 'quoted' $HOME"
        done = place.run(
            ["printenv", "ODD", "HOME"], env={**place.environment(), "ODD": odd, "HOME": "/x"}, capture=True
        )
    assert done.stdout == f"{odd}\n/x\n"
    assert not any("quoted" in word for word in done.argv)


def test_env_is_the_whole_environment() -> None:
    image = engine.made("environment", f"FROM {engine.debian().ref}\nENV LD_LIBRARY_PATH=/opt/lib OTHER=1\n")
    with inside(image) as place:
        assert text(place, 'echo "$LD_LIBRARY_PATH $OTHER"') == "/opt/lib 1\n"
        env = {name: value for name, value in place.environment().items() if name != "LD_LIBRARY_PATH"}
        assert (
            place.run(["sh", "-c", 'echo "${LD_LIBRARY_PATH-unset} $OTHER"'], env=env, capture=True).stdout
            == "unset 1\n"
        )


def test_network_false_is_enforced() -> None:
    with inside(engine.debian(), network=False) as place:
        assert text(place, "cat /proc/net/dev | grep -c :") == "1\n"  # the loopback alone


def test_the_log_has_the_output_as_it_comes(tmp_path: Path) -> None:
    with inside(engine.debian()) as place:
        done = place.run(["sh", "-c", "echo one; echo two >&2; exit 3"], env={}, log=tmp_path / "log")
    assert done.code == 3
    assert (tmp_path / "log").read_text().splitlines()[1:] == ["one", "two"]


def test_a_command_that_hangs_is_ended_in_there_too() -> None:
    with inside(engine.debian()) as place:
        started = time.monotonic()
        done = place.run(["sh", "-c", "sleep 600 & sleep 600"], env=place.environment(), timeout=2)
        assert done.timed_out
        assert time.monotonic() - started < 20
        # What is left of them waits to be reaped, which the container's end does.
        assert "sleep) S" not in text(place, "cat /proc/[0-9]*/stat")


def test_an_image_without_cat_is_a_sentence() -> None:
    image = engine.made("catless", f"FROM {engine.debian().ref}\nRUN rm /bin/cat\n")
    with pytest.raises(WainwrightError, match="the image has no `cat`") as caught, inside(image):
        pass
    assert caught.value.code == Exit.ENGINE


def test_a_command_that_breaks_the_shell_is_told_from_a_container_that_has_ended() -> None:
    with inside(engine.debian()) as place:
        place.run(["rm", "/bin/sh"], env=place.environment())
        broken = place.run(["sh", "-c", "true"], env=place.environment())
        assert "`sh` cannot be run in there any more" in broken.tail[-1]
        assert not broken.lost
    with inside(engine.debian()) as place:
        engine.engine().ask("kill", place.name)
        gone = place.run(["true"], env=place.environment())
    assert "the container has ended before its command" in gone.tail[-1]
    with pytest.raises(WainwrightError) as caught:
        gone.check("the build failed", code=Exit.BUILD)
    assert caught.value.code == Exit.ENGINE


def test_memory_that_ran_out_before_is_not_blamed_for_a_later_failure() -> None:
    image = replace(engine.debian(), memory=64 << 20)
    with inside(image) as place:
        hungry = "python3 -c 'x = bytearray(1 << 30)' || true"
        assert place.run(["sh", "-c", hungry], env=place.environment()).ok
        done = place.run(["sh", "-c", "echo wrong; exit 3"], env=place.environment())
    assert done.tail[0] == "wrong"
    assert ", now or before, which may be why: raise `memory`" in done.tail[-1]


def test_the_kernel_ending_a_process_for_memory_is_said() -> None:
    image = replace(engine.debian(), memory=64 << 20)
    with inside(image) as place:
        done = place.run(["python3", "-c", "x = bytearray(1 << 30); print(len(x))"], env=place.environment())
    assert not done.ok
    assert "for want of memory (memory = 67.1089 MB)" in done.tail[-1]


def test_a_container_that_goes_away_is_said() -> None:
    with inside(engine.debian()) as place:
        engine.engine().ask("kill", place.name)
        done = place.run(["true"], env=place.environment())
    assert not done.ok
    assert "the container has ended" in done.tail[-1]


def test_an_image_without_a_shell() -> None:
    image = engine.made(
        "shell-less", f"FROM {engine.debian().ref} AS all\nFROM scratch\nCOPY --from=all /etc/os-release /\n"
    )
    with pytest.raises(WainwrightError, match="the image has no shell") as caught, inside(image):
        pass
    assert caught.value.code == Exit.ENGINE
    assert engine.containers() == set()


def test_an_image_without_a_loader() -> None:
    recipe = f"FROM {engine.debian().ref} AS all\nFROM scratch\nCOPY --from=all /bin/dash /bin/sh\nENV PATH=/bin\n"
    with pytest.raises(WainwrightError, match="dynamic loader") as caught, inside(engine.made("loader-less", recipe)):
        pass
    assert caught.value.code == Exit.ENGINE


def test_a_disk_that_is_full_in_there() -> None:
    with inside(engine.debian()) as place:
        done = place.run(["sh", "-c", "cat /dev/zero >/dev/full"], env=place.environment())
        with pytest.raises(WainwrightError, match="No space left on device") as caught:
            done.check("the build failed", code=Exit.BUILD)
    assert caught.value.code == Exit.ENGINE


def test_pythons_are_found_where_images_have_them(tmp_path: Path) -> None:
    image = engine.made(
        "pythons",
        f"FROM {engine.debian().ref}\nRUN mkdir -p /opt/conda/envs/py39/bin"
        " && mv /usr/bin/python3.9 /opt/conda/envs/py39/bin/ && rm /usr/bin/python3\n",
    )
    standing = stand(image)
    with enter(standing, tmp_path, run) as place:
        executable = place.python(Python(3, 9))
        assert text(place, f"{executable} -c 'import sys; print(sys.version_info[:2])'") == "(3, 9)\n"
    lacking = lacking_pythons(standing, [Python(3, 9), Python(3, 12), Python(3, 13, threaded=True)], run)
    assert [str(error).splitlines()[0] for error in lacking] == [
        "images.pythons: Python 3.12 is not in the image",
        "images.pythons: Python 3.13t is not in the image",
    ]
    assert "the image has Python 3.9" in lacking[0].hint


def test_a_declared_python_must_be_what_it_is_declared_to_be(tmp_path: Path) -> None:
    image = replace(engine.debian(), python={Python(3, 8): "/usr/bin/python3", Python(3, 9): "/usr/bin/python3"})
    with enter(stand(image), tmp_path, run) as place:
        assert place.python(Python(3, 9))
        with pytest.raises(WainwrightError, match=r"/usr/bin/python3 in the image is no CPython 3\.8"):
            place.python(Python(3, 8))


def test_a_failed_container_is_kept_on_demand(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(WainwrightError, match="it failed"), inside(engine.debian(), keep=True) as place:
        place.run(["sh", "-c", "touch evidence; false"], env={}).check("it failed", code=Exit.BUILD, where="job one")
    told = capfd.readouterr().err
    assert "is kept (job one). Enter it:" in told
    assert f"exec -it --workdir {place.root} {place.name} sh" in told
    assert place.name in engine.containers()
    assert "evidence" in engine.engine().ask("exec", place.name, "ls", place.root).stdout
    engine.engine().ask("rm", "--force", "--volumes", place.name)
    with inside(engine.debian(), keep=True) as place:
        pass
    assert place.name not in engine.containers()


LONG = """
import sys
from pathlib import Path
from wainwright.running.entering import enter
from wainwright.declaration.release import Image
from wainwright.run import interruptible, run
from wainwright.running.standing import stand
with interruptible(), enter(stand(Image(name="x", ref=sys.argv[1])), Path(sys.argv[2]), run) as place:
    print(place.name, flush=True)
    place.run(["sleep", "600"], env=place.environment())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_container_outlives_its_process(number: signal.Signals, tmp_path: Path) -> None:
    image = engine.made("volumes", f"FROM {engine.debian().ref}\nVOLUME /data\n")
    with subprocess.Popen(
        [sys.executable, "-c", LONG, image.ref or "", tmp_path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        name = process.stdout.readline().decode().strip()
        assert engine.containers(process.pid) == {name}
        volumes = engine.volumes(name)
        assert len(volumes) == 1
        while "sleep 600" not in engine.engine().ask("top", name, "-eo", "pid,args").stdout:
            time.sleep(0.05)
        process.send_signal(number)
        process.wait(20)
    assert engine.left_over([process.pid], volumes) == set()


def test_downloads_are_carried_to_the_next_job_and_pips_own_wheels_are_not(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    standing = stand(engine.debian())
    fill = "mkdir -p $PIP_CACHE_DIR/http/a $PIP_CACHE_DIR/wheels; cd $PIP_CACHE_DIR; echo kept | tee http/a/x wheels/y"
    for expected in (0, 1):
        with enter(standing, tmp_path / "x", run, cache=cache) as place:
            assert text(place, 'ls -A "$PIP_CACHE_DIR/http" 2>/dev/null | wc -l; true') == f"{expected}\n"
            text(place, fill)
    with enter(standing, tmp_path / "x", run, cache=cache) as place:
        assert text(place, 'cat "$PIP_CACHE_DIR/http/a/x"; ls "$PIP_CACHE_DIR"') == "kept\nhttp\n"
    (kept,) = cache.rglob("*.tar")
    assert kept.stat().st_uid == os.getuid()


def test_a_job_that_fails_leaves_the_cache_as_it_was(tmp_path: Path) -> None:
    with (
        pytest.raises(WainwrightError, match="it failed"),
        enter(stand(engine.debian()), tmp_path / "x", run, cache=tmp_path / "cache") as place,
    ):
        place.run(
            ["sh", "-c", 'mkdir -p "$PIP_CACHE_DIR" && echo >"$PIP_CACHE_DIR/x"; false'], env=place.environment()
        ).check("it failed", code=Exit.BUILD)
    assert not list((tmp_path / "cache").rglob("*.tar"))
