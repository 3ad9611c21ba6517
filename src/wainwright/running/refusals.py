"""What container engines refuse, and what it means: their words, ours, and what to do next."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from wainwright.errors import Exit, WainwrightError

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# What engines say, what it means, and what to do. The first that matches counts.
_SAYINGS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), what, hint)
    for pattern, what, hint in (
        (
            r"permission denied while trying to connect|dial unix .*: permission denied|Got permission denied",
            "the engine may not be used by this user",
            "add yourself to its group (`sudo usermod -aG docker $USER`, then log in anew), or use rootless podman",
        ),
        (
            (
                r"Cannot connect to the Docker daemon|Is the docker daemon running|Cannot connect to Podman"
                r"|error during connect|docker\.sock: connect|unable to connect to Podman"
            ),
            "the engine's daemon does not answer",
            "start it (`sudo systemctl start docker`), or look at DOCKER_HOST and `docker context ls`",
        ),
        (
            r"exec format error|exec user process caused.*format",
            "this machine cannot run programs of the image's architecture (exec format error)",
            (
                "install qemu-user-static and binfmt-support, or `docker run --privileged --rm tonistiigi/binfmt "
                "--install all`; or choose an image for this machine"
            ),
        ),
        (
            (
                r"no matching manifest for|no image found in (?:manifest list|image index) for"
                r"|does not match the specified platform|image with reference .* was found but"
            ),
            "the image is not made for this platform",
            "name an image of that architecture, or leave the architecture out of the variant's `arch`",
        ),
        (
            r"no space left on device",
            "the engine's disk is full (no space left on device)",
            "`docker system df` says what takes the room, `docker system prune` frees what nothing uses",
        ),
        (
            r"short-name .* did not resolve",
            "podman wants the registry in the image's name",
            "write docker.io/library/debian:12 for debian:12, or set unqualified-search-registries",
        ),
        (
            r"unauthorized|authentication required|no basic auth credentials",
            "the registry wants a login",
            "`docker login REGISTRY`; credentials stay in the engine's own store",
        ),
        (
            (
                r"manifest unknown|pull access denied|repository does not exist|access to the resource is denied"
                r"|manifest for .* not found|name unknown|not found: manifest"
            ),
            "the registry does not have this image, or does not show it without a login",
            "look at how its name and tag are spelled; for a private one, `docker login` first",
        ),
        (
            r"invalid reference format|invalid reference:",
            "this is not an image's name",
            "a name is spelled registry.example.org/folder/name:tag, in lower case",
        ),
        (
            (
                r"no such host|i/o timeout|TLS handshake timeout|connection refused|network is unreachable"
                r"|Temporary failure in name resolution|server misbehaving|EOF$"
            ),
            "the registry cannot be reached from here",
            "look at the network and the daemon's proxy; `docker/make-base-images.sh` makes Debian images without one",
        ),
        (
            r"x509: |certificate signed by unknown authority",
            "the registry's certificate is not trusted by the engine",
            "give the engine your organisation's certificates (/etc/docker/certs.d/REGISTRY/ca.crt)",
        ),
        (
            r"No such image|image not known|unable to find image",
            "the image is not on this machine",
            "the `images` session pulls or builds it",
        ),
    )
)


def refusal(what: str, lines: Sequence[str], *, ending: str = "", where: str = "", hint: str = "") -> WainwrightError:
    """Make an error of what an engine said, in its words and in ours; `hint` is for words that are not known."""
    lines = [_COLOUR.sub("", line) for line in lines]
    reason, hint = saying(lines) or (ending, hint)
    return WainwrightError(
        f"{what}: {reason}" if reason else what,
        code=Exit.ENGINE,
        where=where,
        hint=hint,
        details=tuple(line for line in lines if line and not line.startswith(("Run 'docker", "See 'docker")))[-12:],
    )


def saying(lines: Sequence[str]) -> tuple[str, str] | None:
    """Give what an engine's words mean and what to do, or None where they are not known."""
    text = "\n".join(lines)
    return next(((what, hint) for pattern, what, hint in _SAYINGS if pattern.search(text)), None)
