"""What of this machine's environment enters a container: an allow-list, no secret, and certificates as copies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PLAIN: Final = frozenset("LANG LC_ALL TERM TZ SOURCE_DATE_EPOCH".split())
# Of no use without a network. pip's own configuration file stays outside: it names folders of this machine.
NETWORK: Final = frozenset(
    """HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy
    PIP_DEFAULT_TIMEOUT PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS PIP_NO_INDEX PIP_PROXY PIP_RETRIES
    PIP_TRUSTED_HOST""".split()
)
# Each names a file of certificates: a container is given a copy, and the variable points at the copy.
CERTIFICATES: Final = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_LISTS: Final = frozenset({"PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"})
_USERINFO: Final = re.compile(r"//[^/@\s]+@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """What goes in: variables, files to copy (by their path in there), and what was held back, with why."""

    variables: Mapping[str, str]
    files: Mapping[str, Path]
    withheld: Mapping[str, str]


def passing(environ: Mapping[str, str], *, network: bool, folder: str) -> Passing:
    """Choose from `environ` what a container may see; copies of certificate files will lie in `folder` in there.

    A URL with a user name or password in it is a secret and stays outside, and so does one of this machine's files,
    which a container does not have. What a build needs beyond this, `[images.NAME] env` gives it in the open.
    """
    variables: dict[str, str] = {}
    withheld: dict[str, str] = {}
    for name in sorted(PLAIN | (NETWORK if network else frozenset())):
        value = environ.get(name, "")
        fit = []
        for part in value.split() if name in _LISTS else [value]:
            if why := _refused(name, part):
                withheld[name] = why
            elif part:
                fit.append(part)
        if fit:
            variables[name] = " ".join(fit)
    files: dict[str, Path] = {}
    for name in CERTIFICATES if network else ():
        source = Path(environ.get(name) or "/nonexistent")
        if source.is_file():
            target = next((inside for inside, known in files.items() if known == source), "")
            target = target or f"{folder}/{len(files)}-{source.name}"
            files[target] = source
            variables[name] = target
    return Passing(variables=variables, files=files, withheld=withheld)


def _refused(name: str, part: str) -> str:
    if _USERINFO.search(part):
        return "it holds a user name or a password"
    if part and name in _LISTS | {"PIP_INDEX_URL"} and not re.match(r"https?://", part):
        return "it names files of this machine"
    return ""
