"""What an index's API token says of itself, read without asking anybody: its expiry and the projects it is for.

The token is a macaroon in its second binary format; its caveats are JSON, as warehouse writes them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from packaging.utils import canonicalize_name

PREFIX: Final = "pypi-"
_END, _IDENTIFIER, _SIGNATURE = 0, 2, 6  # field types of libmacaroons' format 2
# warehouse's caveats: [0, expires at, not before], [1, [project names]], [2, [project ids]], [3, user id]
_EXPIRATION, _PROJECT_NAMES = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a token may be used for; None where it does not limit itself. Times in seconds since the epoch."""

    projects: frozenset[str] | None = None
    expires: float | None = None
    not_before: float | None = None

    def objections(self, project: str, *, now: float) -> tuple[str, ...]:
        """Say why this token would not be let in with an upload for `project`."""
        found = []
        if self.projects is not None and canonicalize_name(project) not in self.projects:
            found.append(f"the token is for {', '.join(sorted(self.projects))}, not for {project}")
        if self.expires is not None and now >= self.expires:
            found.append("the token has expired")
        if self.not_before is not None and now < self.not_before:
            found.append("the token is not valid yet")
        return tuple(found)


def scope(token: str) -> Scope:
    """Read a token's own limits; raises ValueError for what is no such token."""
    if not token.startswith(PREFIX):
        raise ValueError(f"an API token begins with {PREFIX}")
    text = token.removeprefix(PREFIX)
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return _limits([json.loads(each) for each in _caveats(data)])
    except (ValueError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise ValueError("the token is cut off, or was changed") from error


def _limits(caveats: list[Any]) -> Scope:
    projects: frozenset[str] | None = None
    expires: list[float] = []
    begins: list[float] = []
    for caveat in caveats:
        names = _projects(caveat)
        if names is not None:
            projects = names if projects is None else projects & names
        if isinstance(caveat, list) and len(caveat) == 3 and caveat[0] == _EXPIRATION:
            expires.append(float(caveat[1]))
            begins.append(float(caveat[2]))
    return Scope(projects=projects, expires=min(expires, default=None), not_before=max(begins, default=None))


def _projects(caveat: Any) -> frozenset[str] | None:
    if isinstance(caveat, list) and len(caveat) == 2 and caveat[0] == _PROJECT_NAMES:
        return frozenset(canonicalize_name(name) for name in caveat[1])
    if isinstance(caveat, dict) and isinstance(caveat.get("permissions"), dict):  # tokens made before 2022
        return frozenset(canonicalize_name(name) for name in caveat["permissions"].get("projects", ()))
    return None


def _caveats(data: bytes) -> Iterator[bytes]:
    """Give the identifiers behind the first section, each of which ends with its own mark."""
    if data[0] != 2:
        raise ValueError("the token is of another format")
    position, first = 1, True
    while data[position] != _END:
        identifier = b""
        while (kind := data[position]) != _END:
            length, position = _number(data, position + 1)
            if kind == _IDENTIFIER:
                identifier = data[position : position + length]
            position += length
        position += 1
        if not first:
            yield identifier
        first = False
    if data[position + 1] != _SIGNATURE:
        raise IndexError


def _number(data: bytes, position: int) -> tuple[int, int]:
    """Read a length, seven bits a byte, and give it with the position behind it."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, position
