"""A git remote whose address may hold a password, handed to git so that no command line shows it.

Git gives the whole address to `git-remote-https` as an argument. So the address goes without userinfo, and the password
as a header, by the environment.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from wainwright.masking import without_userinfo


def confidential(url: str, *, siblings: bool = False) -> tuple[str, Mapping[str, str]]:
    """Give an address that may be shown, and the environment in which git is let in there.

    With `siblings` it is let in to the host's other repositories too: a submodule's address may be `../other.git`.
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # no address at all: git will say so
        return url, {}
    if parts.scheme not in {"http", "https"} or parts.username is None:
        return url, {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    clean = without_userinfo(url)
    place = f"{parts.scheme}://{urlsplit(clean).netloc}/" if siblings else clean
    header = f"Authorization: Basic {base64.b64encode(pair.encode()).decode()}"
    return clean, configured({f"http.{place}.extraHeader": header})


def configured(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Give the environment that adds to git's configuration, behind what the environment adds already."""
    given = os.environ.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isdecimal() else 0
    env = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for number, (key, value) in enumerate(settings.items(), first):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env
