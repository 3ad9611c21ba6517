"""Runs twine on one file, and reads from what it says how it went."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from wainwright.completed import Run
from wainwright.hosts.credentials import Account
from wainwright.hosts.destinations import Asset
from wainwright.hosts.github import TOKENS
from wainwright.hosts.indexpages import BUSY
from wainwright.hosts.sealedfile import private_copy

LIMIT: Final = 3600.0  # seconds for one file
ATTESTATION: Final = ".publish.attestation"  # what twine looks for behind a file's name
UNAUTHORISED: Final = frozenset({"NonInteractive", "TrustedPublishingFailure"})
INVALID: Final = frozenset(
    {"InvalidDistribution", "InvalidConfiguration", "UnsupportedConfiguration", "RedirectDetected"}
)
# What is not twine's business: tokens of others, and its own variables, which are set anew for each index
_HIDDEN: Final = (*TOKENS, "GITHUB_API_TOKEN", "TWINE_")
_STATUS: Final = re.compile(r"HTTPError: ([1-5][0-9][0-9])\b")
_FAILURE: Final = re.compile(
    r"(?:ERROR\s+)?(?:\w+\.)*(\w*(?:Error|Timeout|Failure|Distribution|Configuration|Detected|NonInteractive)): "
)


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Give what twine is given of an environment; its messages are to stay on one line each."""
    return {name: value for name, value in environ.items() if not name.startswith(_HIDDEN)} | {"COLUMNS": "500"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """How one call of twine went: the HTTP status or twine's own complaint by name, and what was said, masked."""

    ok: bool
    status: int | None
    failure: str | None
    said: tuple[str, ...]

    @property
    def is_unauthorised(self) -> bool:
        return self.status in {401, 403} or self.failure in UNAUTHORISED

    @property
    def is_final(self) -> bool:
        """Whether trying again cannot help: the index has judged, or twine has before it asked."""
        if self.status is not None:
            return self.status < 500 and self.status not in BUSY
        return self.failure in UNAUTHORISED | INVALID


@dataclass(frozen=True, slots=True, kw_only=True)
class Twine:
    """Uploads to one index. `environ` is what twine is given, less what it must not see; `log` gets what it says."""

    account: Account
    run: Run
    log: Path
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)

    def upload(self, asset: Asset) -> Upload:
        """Upload one sealed file, with its attestations if they lie beside it.

        Secrets go by the environment, with the address, which may hold one: a command line is everybody's to read.
        `--skip-existing` is never said: it goes by the name alone.
        """
        account = self.account
        argv = [sys.executable, "-m", "twine", "--no-color", "upload", "--non-interactive", "--disable-progress-bar"]
        given = {
            "TWINE_REPOSITORY_URL": account.url,
            "TWINE_USERNAME": account.username,
            "TWINE_PASSWORD": account.password,
            "TWINE_CERT": account.ca_cert or None,
            "TWINE_CLIENT_CERT": account.client_cert or None,
        }
        env = environment(self.environ) | {name: value for name, value in given.items() if value is not None}
        with private_copy(asset, self.log.parent) as path:
            attestation = asset.path.with_name(f"{asset.name}{ATTESTATION}")
            files = [path]
            if attestation.exists():
                argv.append("--attestations")
                files.append(shutil.copyfile(attestation, path.with_name(attestation.name)))
            done = self.run([*argv, *files], env=env, timeout=LIMIT)  # no log of its own: what is written is masked
        said = account.mask.lines(done.tail)
        self._write(account.mask(f"$ twine upload {asset.path}, to {account.url}"), *said, f"({done.ending})")
        return read(done.ok, said)

    def _write(self, *lines: str) -> None:
        with suppress(OSError), self.log.open("a", encoding="utf-8") as log:  # how an upload went counts without it
            log.writelines(f"{line}\n" for line in lines)


def read(ok: bool, said: tuple[str, ...]) -> Upload:
    """Find status and complaint in what twine said; of a traceback the last line is kept, which names the error."""
    lines = tuple(line.strip() for line in said if line.strip())
    statuses = [match[1] for line in lines if (match := _STATUS.search(line))]
    failures = [match[1] for line in lines if (match := _FAILURE.match(line))]
    told = [line for line in lines if _STATUS.search(line) or _FAILURE.match(line)]
    return Upload(
        ok=ok,
        status=int(statuses[-1]) if statuses else None,
        failure=failures[-1] if failures else None,
        said=tuple(dict.fromkeys([*told, *lines[-1:]])),
    )
