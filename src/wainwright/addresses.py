"""Which place an address names, however it is spelled. Pure."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

PORTS: Final = {"https": 443, "http": 80}


def place_of(address: str) -> tuple[object, ...] | None:
    """Give what all addresses of one place have alike; None for what is no address of HTTP."""
    try:
        parts = urlsplit(address)
        port = parts.port or PORTS[parts.scheme.lower()]
    except (ValueError, KeyError):
        return None
    host = (parts.hostname or "").lower()
    return (parts.scheme.lower(), host, port, parts.path.rstrip("/"), parts.query) if host else None
