"""The stages of a release, one file each, and the ways to run them: Nox, Tox, or neither."""

from __future__ import annotations

from wainwright.sessions.with_nox import register

__all__ = ["register"]
