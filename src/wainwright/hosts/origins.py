"""Whose an address is: what must agree before a secret that is meant for one address goes to another. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

from wainwright.addresses import PORTS


def origin(url: str) -> tuple[str, str, int | None]:
    """Give scheme, host and port; the port is None where none can be told, as for an address that is none."""
    try:
        parts = urlsplit(url)
        scheme = parts.scheme.lower()
        return scheme, (parts.hostname or "").lower(), parts.port or PORTS.get(scheme)
    except ValueError:
        return "", "", None
