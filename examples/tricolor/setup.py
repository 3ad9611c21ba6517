"""Chooses the backends to compile; everything else is in pyproject.toml."""

from __future__ import annotations

import os
import sys

from setuptools import Extension, setup

LIBRARIES = {"loop": [], "threads": ["pthread"], "dl": ["dl"]}

chosen = os.environ.get("TRICOLOR_BACKENDS", " ".join(LIBRARIES)).split()
unknown = sorted(set(chosen) - set(LIBRARIES))
if unknown or not chosen:
    sys.exit(f"TRICOLOR_BACKENDS={' '.join(chosen)!r}: choose one or more of {', '.join(LIBRARIES)}")
backends = [name for name in LIBRARIES if name in chosen]

setup(
    ext_modules=[
        Extension(
            "tricolor._native",
            sources=["src/tricolor/_native.c", *(f"src/tricolor/{name}.c" for name in backends)],
            depends=["src/tricolor/backends.h"],
            include_dirs=["src/tricolor"],
            define_macros=[(f"WITH_{name.upper()}", "1") for name in backends],
            libraries=[library for name in backends for library in LIBRARIES[name]],
        )
    ]
)
