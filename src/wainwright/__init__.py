"""A declarative release pipeline for native Python wheels on Linux."""

from __future__ import annotations

__version__ = "0.1.0"
