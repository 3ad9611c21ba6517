"""Keeps secrets out of whatever is shown or written: known values in every spelling, and userinfo in addresses."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit, urlunsplit

MASK: Final = "***"
TOKEN_LENGTH: Final = 16  # characters: a user name that is as long may be a token
SHORTEST: Final = 4  # characters: to mask a shorter one would garble every text, and hide nothing
_USERINFO: Final = re.compile(r"(?<=://)[^/@\s]+@")
# Tokens that show by themselves what they are: an index's, GitHub's, and what stands in an Authorization header
_TOKENS: Final = re.compile(r"\b(pypi-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,})")
_HEADER: Final = re.compile(r"(?i)(\bauthorization['\"]?\s*[:=]\s*['\"]?(?:basic|bearer|token)\s+)[^\s'\",]+")


@dataclass(frozen=True, slots=True)
class Mask:
    """The secrets of one destination. Called with a text, it gives the text without them."""

    secrets: frozenset[str] = frozenset()

    @classmethod
    def of(cls, username: str | None, *passwords: str | None) -> Mask:
        """Make a mask for passwords, also as they stand in addresses and in basic authentication."""
        found = set()
        for password in passwords:
            if password and len(password) >= SHORTEST:
                pair = f"{username or ''}:{password}".encode()
                found |= {password, quote(password, safe=""), quote_plus(password), base64.b64encode(pair).decode()}
                found.add(base64.b64encode(password.encode()).decode())
        return cls(frozenset(found))

    def __call__(self, text: str) -> str:
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, MASK)
        text = _TOKENS.sub(MASK, _USERINFO.sub(f"{MASK}@", text))
        return _HEADER.sub(rf"\g<1>{MASK}", text)

    def __or__(self, other: Mask) -> Mask:
        return Mask(self.secrets | other.secrets)

    def lines(self, texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(self(text) for text in texts)

    def __repr__(self) -> str:
        return f"Mask({len(self.secrets)} secrets)"


def of_address(url: str) -> Mask:
    """Make a mask for what an address may hold in confidence: user name, password, and the values of its query."""
    try:
        parts = urlsplit(url)
    except ValueError:  # whoever asks there is told
        return Mask()
    values = [value for _, value in parse_qsl(parts.query)]
    username, password = unquote(parts.username or ""), unquote(parts.password or "")
    return Mask.of(username, password, *values) | of_username(username)


def of_username(username: str | None) -> Mask:
    """Make a mask for a user name that is long enough to be a token: some indexes take one without a password."""
    return Mask.of(None, username) if username and len(username) >= TOKEN_LENGTH else Mask()


def without_userinfo(url: str) -> str:
    """Give an address without user name and password, fit to be shown; what is none only loses what looks like them."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return _USERINFO.sub("", url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
