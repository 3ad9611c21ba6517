"""Gives a release's sessions to Tox 4, in a toxfile.py that says `from wainwright.sessions.with_tox import *`.

Each environment runs `python -m wainwright NAME`, which pulls in what the session requires (Tox's own `depends` only
orders) and whose exit code Tox keeps. The pipeline's own Python runs it: it brings its own environments.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from tox.config.loader.memory import MemoryLoader
from tox.config.sets import ConfigSet
from tox.config.types import Command, EnvList
from tox.plugin import impl
from tox.session.state import State

from wainwright.declaration.config import load
from wainwright.errors import WainwrightError
from wainwright.sessions.edge import report
from wainwright.sessions.graph import Task, expand

__all__ = ["tox_add_core_config", "tox_extend_envs"]


@cache
def _tasks() -> tuple[Task, ...]:
    try:
        return expand(load(Path("release.toml")))
    except WainwrightError as error:
        report(error)
        sys.exit(int(error.code))


@impl
def tox_extend_envs() -> tuple[str, ...]:
    """Name the environments."""
    return tuple(task.name for task in _tasks())


@impl
def tox_add_core_config(core_conf: ConfigSet, state: State) -> None:
    """Say what each environment does, and which bare Tox runs; what a tox.ini says about it comes first."""
    core_conf.loaders.append(MemoryLoader(env_list=EnvList([task.name for task in _tasks() if task.default])))
    posargs = list(state.conf.pos_args(None) or ())
    for task in _tasks():
        state.conf.memory_seed_loaders[task.name].append(
            MemoryLoader(
                description=task.doc,
                package="skip",
                skip_install=True,
                deps=[],
                depends=EnvList(task.requires),
                labels=list(task.tags),
                pass_env=["*"],
                allowlist_externals=[sys.executable],
                commands=[Command([sys.executable, "-m", "wainwright", task.name, "--", *posargs])],
            )
        )
