"""Runs git in a folder: on that folder's own repository, and with no question at a prompt."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from wainwright.completed import Completed, Run

# A git hook sets these for its own repository, and would turn every git here to that one.
OF_A_HOOK: Final = frozenset(
    """GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_DIR GIT_INDEX_FILE GIT_NAMESPACE GIT_OBJECT_DIRECTORY
    GIT_PREFIX GIT_WORK_TREE""".split()
)


def git(
    run: Run, folder: Path, *words: str, env: Mapping[str, str] | None = None, timeout: float | None = None
) -> Completed:
    """Run git and capture what it says; `env` is added to its environment, `timeout` is in seconds."""
    argv = ["git", "-C", str(folder), *words]
    return run(argv, env=environment(env), capture=True, timeout=timeout)


def environment(more: Mapping[str, str] | None = None) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in OF_A_HOOK}
    return kept | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"} | dict(more or {})
