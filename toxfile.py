from __future__ import annotations

from wainwright.sessions.with_tox import *  # noqa: F403
