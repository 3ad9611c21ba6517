"""Recipes: what an image is built from, its Dockerfile and the files that this takes, as one digest."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

RECIPE: Final = "wainwright.dockerfile"  # a label: the digest of the recipe that an image was built from


def recipe_of(dockerfile: Path) -> str:
    """Give the sha256 of a recipe."""
    return hashlib.sha256(dockerfile.read_bytes()).hexdigest()
