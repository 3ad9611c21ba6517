from __future__ import annotations

import os
from pathlib import Path

import pytest

import engine
from wainwright.errors import Exit, WainwrightError
from wainwright.running.engines import find_engine, platform_of
from wainwright.running.refusals import refusal, saying


def program(folder: Path, name: str, script: str) -> dict[str, str]:
    """Put a program of this name on a PATH that has nothing else; gives that environment."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return {"PATH": str(folder)}


def lacking(environ: dict[str, str]) -> WainwrightError:
    with pytest.raises(WainwrightError) as caught:
        find_engine(environ=environ)
    assert caught.value.code == Exit.ENGINE
    return caught.value


def test_no_engine_on_this_machine(tmp_path: Path) -> None:
    error = lacking({"PATH": str(tmp_path)})
    assert str(error) == (
        "no container engine is on this machine: looked for docker and podman on PATH\n"
        "hint: install one: `apt-get install docker.io`, or `apt-get install podman`"
    )


def test_an_engine_that_there_is_not(tmp_path: Path) -> None:
    assert lacking({"PATH": str(tmp_path), "WAINWRIGHT_ENGINE": "rkt"}).what == "there is no engine 'rkt'"
    assert lacking({"PATH": str(tmp_path), "WAINWRIGHT_ENGINE": "podman"}).what.endswith("looked for podman on PATH")
    assert lacking({"PATH": str(tmp_path), "WAINWRIGHT_ENGINE": "none"}).what == "WAINWRIGHT_ENGINE is none"


DENIED = (
    "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: "
    'Get "http://%2Fvar%2Frun%2Fdocker.sock/v1.50/version": dial unix /var/run/docker.sock: connect: permission denied'
)


def test_an_engine_that_may_not_be_used(tmp_path: Path) -> None:
    script = (
        f"""echo '{{"Client":{{"Version":"28.2.2","ApiVersion":"1.50"}},"Server":null}}'; echo '{DENIED}' >&2; exit 1"""
    )
    error = lacking(program(tmp_path, "docker", script))
    assert error.what == "docker cannot be used: the engine may not be used by this user"
    assert "usermod -aG docker" in error.hint


def test_the_first_that_answers_is_taken_and_why_no_earlier_one_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program(tmp_path, "docker", "echo 'Cannot connect to the Docker daemon. Is the docker daemon running?' >&2; exit 1")
    said = '{"Client": {"APIVersion": "4.3.1", "Version": "4.3.1", "OsArch": "linux/arm64"}}'
    environ = program(tmp_path, "podman", f"echo '{said}'")
    found = find_engine(environ=environ)
    assert (found.name, found.version, found.arch) == ("podman", "4.3.1", "aarch64")
    find_engine(environ=environ)
    said = "docker cannot be used: the engine's daemon does not answer: podman 4.3.1 is used instead\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("name", ["DOCKER_HOST", "DOCKER_CONTEXT"])
def test_no_other_is_taken_for_the_one_that_is_named(name: str, tmp_path: Path) -> None:
    program(tmp_path, "docker", f"echo '{DENIED}' >&2; exit 1")
    said = '{"Client": {"APIVersion": "4.3.1", "Version": "4.3.1", "OsArch": "linux/arm64"}}'
    environ = program(tmp_path, "podman", f"echo '{said}'")
    error = lacking({**environ, name: "elsewhere"})
    assert str(error).startswith(f"{name}: docker cannot be used: the engine may not be used by this user\n")
    assert error.hint.endswith(f"or unset {name} to have podman looked for")
    assert find_engine(environ={**environ, name: "elsewhere", "WAINWRIGHT_ENGINE": "podman"}).name == "podman"


def test_docker_that_is_podman_is_known_for_what_it_is(tmp_path: Path) -> None:
    said = '{"Client": {"APIVersion": "4.3.1", "Version": "4.3.1", "OsArch": "linux/amd64"}}'
    assert find_engine(environ=program(tmp_path, "docker", f"echo '{said}'")).name == "podman"


@pytest.mark.engine
def test_a_daemon_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such.sock")
    monkeypatch.setenv("WAINWRIGHT_ENGINE", "docker")
    error = lacking(dict(os.environ))
    assert error.what == "docker cannot be used: the engine's daemon does not answer"
    assert "systemctl start docker" in error.hint


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("exec /bin/sh: exec format error", "exec format error"),
        ("no matching manifest for linux/arm64/v8 in the manifest list entries", "not made for this platform"),
        ("write /var/lib/docker/tmp/x: no space left on device", "disk is full"),
        (
            "Error response from daemon: manifest for debian:nope not found: manifest unknown",
            "does not have this image",
        ),
        ("pull access denied for nope, repository does not exist or may require 'docker login'", "does not have"),
        ("dial tcp: lookup quay.io on 192.0.2.53:53: no such host", "cannot be reached"),
        ("unauthorized: access to the requested resource is not authorized", "wants a login"),
        ("x509: certificate signed by unknown authority", "not trusted"),
        ("Error response from daemon: No such image: foo:bar", "not on this machine"),
        ("invalid reference format: repository name must be lowercase", "not an image's name"),
    ],
)
def test_what_engines_say_is_explained(line: str, meaning: str) -> None:
    found = saying([line])
    assert found is not None
    assert meaning in found[0]
    error = refusal("it failed", ["first", line, "Run 'docker run --help' for more information"])
    assert error.details == ("first", line)
    assert error.hint


def test_platforms() -> None:
    assert platform_of("x86_64") == "linux/amd64"
    assert platform_of("aarch64") == "linux/arm64"
    assert platform_of("sparc64") == "linux/sparc64"


@pytest.mark.engine
def test_the_engine_of_this_machine_answers() -> None:
    found = engine.engine()
    assert found.version[0].isdigit()
    assert found.arch == os.uname().machine
