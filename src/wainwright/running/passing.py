"""What of this machine's environment enters a container: an allow-list, no secret, and files as copies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

PLAIN: Final = frozenset("LANG LC_ALL TERM TZ SOURCE_DATE_EPOCH".split())
_PROXIES: Final = "HTTP_PROXY HTTPS_PROXY NO_PROXY".split()
# Engines put these into containers of their own accord, passwords and all: docker out of config.json, podman out of the
# environment.
PROXIES: Final = tuple(name for upper in (*_PROXIES, "ALL_PROXY", "FTP_PROXY") for name in (upper, upper.lower()))
# Of no use without a network. pip's own configuration file stays outside: it names folders of this machine.
NETWORK: Final = frozenset(
    """PIP_DEFAULT_TIMEOUT PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS PIP_NO_INDEX PIP_PROXY PIP_RETRIES
    PIP_TRUSTED_HOST""".split()
).union(_PROXIES, map(str.lower, _PROXIES))
# Each names a file of certificates: a container is given a copy, and the variable points at the copy.
CERTIFICATES: Final = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
INDEXES: Final = frozenset({"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"})
_LISTS: Final = frozenset({"PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"})
_SCHEME: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
# Behind the scheme, if there is one: `user@host`, or a password, which may hold a slash.
_USERINFO: Final = re.compile(r"^[^/@]+@|:.*@")
_DISTRIBUTIONS: Final = (".whl", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """What goes in: variables, files to copy (by their path in there), and what was held back, with why."""

    variables: Mapping[str, str]
    files: Mapping[str, Path]
    withheld: Mapping[str, str]

    def lacking_indexes(self, given: Mapping[str, str]) -> tuple[str, ...]:
        """Name the variables without which pip in there would ask another index than pip here; `given` has others."""
        names = self.withheld.keys() & INDEXES - given.keys()
        if {**self.variables, **given}.get("PIP_NO_INDEX", "").lower() in {"1", "on", "true", "yes", "t", "y"}:
            names &= {"PIP_FIND_LINKS"}
        return tuple(sorted(names))


def passing(environ: Mapping[str, str], *, network: bool, folder: str) -> Passing:
    """Choose from `environ` what a container may see; copies of files will lie in `folder` in there.

    A value with a user name or password in it is a secret and stays outside, and so does one of this machine's files,
    unless it is a folder of distributions. What a build needs beyond this, `[images.NAME] env` gives it in the open.
    """
    variables: dict[str, str] = {}
    withheld: dict[str, str] = {}
    files: dict[str, Path] = {}
    for name in sorted(PLAIN | (NETWORK if network else frozenset())):
        value = environ.get(name, "")
        fit: list[str] = []
        for part in value.split() if name in _LISTS else [value]:
            if name == "PIP_FIND_LINKS" and (source := _folder(part)):
                fit.append(f"{folder}/links-{len(fit)}")
                files |= {f"{fit[-1]}/{path.name}": path for path in _distributions(source)}
            elif why := _refused(name, part):
                withheld[name] = why
            elif part:
                fit.append(part)
        if fit:
            variables[name] = " ".join(fit)
    for name in CERTIFICATES if network else ():
        source = Path(environ.get(name) or "/nonexistent")
        if source.is_file():
            target = next((inside for inside, known in files.items() if known == source), "")
            target = target or f"{folder}/{len(files)}-{source.name}"
            files[target] = source
            variables[name] = target
    return Passing(variables=variables, files=files, withheld=withheld)


def _folder(part: str) -> Path | None:
    path = Path(unquote(urlsplit(part).path) if part.startswith("file:") else part)
    path = path.expanduser() if part.startswith("~") else path
    return path if part and path.is_dir() else None


def _distributions(folder: Path) -> Iterator[Path]:
    """Give what pip finds in a folder; whatever else lies there is nobody's business in a container."""
    return (path for path in sorted(folder.iterdir()) if path.name.endswith(_DISTRIBUTIONS) and path.is_file())


def _refused(name: str, part: str) -> str:
    if name in NETWORK and _USERINFO.search(_SCHEME.sub("", part)):
        return "it holds a user name or a password"
    if part and name in INDEXES and not re.match(r"https?://", part):
        return "it names files of this machine"
    return ""
