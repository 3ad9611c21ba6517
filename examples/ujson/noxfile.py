from __future__ import annotations

import wainwright.sessions

wainwright.sessions.register()
