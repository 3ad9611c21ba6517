"""A git remote whose address may hold a password, handed to git so that no command line shows it.

Git gives the whole address to `git-remote-https` as an argument. So the address goes without userinfo, and the password
as a header, by the environment.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from wainwright.masking import without_userinfo


def confidential(url: str) -> tuple[str, Mapping[str, str]]:
    """Give an address that may be shown, and the environment in which git is let in there."""
    if "://" not in url:
        return url, {}
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or parts.username is None:
        return url, {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    clean = without_userinfo(url)
    header = f"Authorization: Basic {base64.b64encode(pair.encode()).decode()}"
    return clean, configured({f"http.{clean}.extraHeader": header})


def configured(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Give the environment that adds to git's configuration."""
    env = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env
