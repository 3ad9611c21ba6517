"""Where jobs run: what a place offers, and which place an image gives on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

from wainwright.errors import Exit, WainwrightError
from wainwright.release import Image
from wainwright.run import Completed
from wainwright.values import Python

# A build sees these of our environment and no others: a token in it is nobody's business in there.
PASSED_ON: Final = frozenset(
    """HOME LANG LC_ALL PATH SHELL TERM TMPDIR TZ USER SOURCE_DATE_EPOCH
    HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy
    CURL_CA_BUNDLE REQUESTS_CA_BUNDLE SSL_CERT_DIR SSL_CERT_FILE
    PIP_CACHE_DIR PIP_CERT PIP_CLIENT_CERT PIP_CONFIG_FILE PIP_CONSTRAINT PIP_DEFAULT_TIMEOUT PIP_EXTRA_INDEX_URL
    PIP_FIND_LINKS PIP_INDEX_URL PIP_NO_INDEX PIP_PROXY PIP_RETRIES PIP_TRUSTED_HOST""".split()
)


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """Give the part of `environment` that a job may see."""
    return {name: value for name, value in environment.items() if name in PASSED_ON}


class Place(Protocol):
    """A folder in a container or on the host, entered with `with`; everything goes in and comes out by copy."""

    @property
    def root(self) -> str:
        """The job's own folder in there; it is empty at first, and gone afterwards."""
        ...

    def put(self, source: Path, target: str) -> None:
        """Copy a file or folder in, as `target`."""
        ...

    def get(self, source: str, target: Path) -> None:
        """Copy a file or folder out, as `target`."""
        ...

    def python(self, python: Python) -> str:
        """Give the path of a CPython in there; raises WainwrightError (ENGINE) where there is none."""
        ...

    def environment(self) -> Mapping[str, str]:
        """Give what every command in there starts with."""
        ...

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | None = None,
        log: Path | None = None,
        timeout: float | None = None,
        capture: bool = False,
    ) -> Completed:
        """Run a command in there; `env` is its whole environment."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How an image is had here: by which engine, with which toolchain, and whether something else stands in for it."""

    image: Image
    engine: Literal["host"]
    toolchain: Literal["zig"] | None
    stands_in: bool

    def __str__(self) -> str:
        by = f"{self.engine} with {self.toolchain}" if self.toolchain else self.engine
        return f"{self.image.name} (stood in for by the {by})" if self.stands_in else self.image.name


def stand(image: Image) -> Standing:
    """Say how jobs of `image` run on this machine; raises WainwrightError (ENGINE) where they cannot."""
    if image.is_host:
        return Standing(image=image, engine="host", toolchain=image.toolchain, stands_in=False)
    if image.fallback:
        return Standing(image=image, engine="host", toolchain=image.fallback, stands_in=True)
    raise WainwrightError(
        f"nothing here can run the image {image.ref or image.dockerfile}: jobs run on the host alone so far",
        code=Exit.ENGINE,
        where=f"images.{image.name}",
        hint='give it fallback = "zig" to try things out on this machine, or declare an image with toolchain = "zig"',
    )
