"""Where jobs run: what a place offers, and what of our environment a job on this machine may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from wainwright.completed import Completed, Watched
from wainwright.running.standing import Standing, stand
from wainwright.values import Python

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["PASSED_ON", "Place", "Standing", "passed_on", "stand"]

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
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None = None, **watched: Unpack[Watched]
    ) -> Completed:
        """Run a command in there; `env` is its whole environment."""
        ...
