"""Recipes: what an image is built from, its Dockerfile and the files that this copies, as one digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from glob import iglob
from pathlib import Path
from typing import Final

from wainwright.receipts import Artifact

RECIPE: Final = "wainwright.dockerfile"  # a label: the digest of the recipe that an image was built from
_COPIES: Final = re.compile(r"^\s*(?:COPY|ADD)\s+((?:--\S+\s+)*)(.+)$", re.IGNORECASE | re.MULTILINE)


def recipe_of(dockerfile: Path) -> str:
    """Give the sha256 of a Dockerfile and of the files and folders beside it that COPY and ADD name.

    The whole context, as in `COPY . /source`, is not looked at: what a pipeline makes lies in there, too.
    """
    text = dockerfile.read_bytes()
    recipe = hashlib.sha256(text)
    for path in _copied(text.decode("utf-8", "replace"), dockerfile.parent):
        recipe.update(f"\0{path.relative_to(dockerfile.parent)}\0".encode(errors="surrogateescape"))
        recipe.update(Artifact.of(path).sha256.encode())
    return recipe.hexdigest()


def _copied(text: str, context: Path) -> Iterator[Path]:
    for flags, words in _COPIES.findall(re.sub(r"\\\s*\n", " ", text)):
        if "--from=" in flags:  # another image, or a stage of this one
            continue
        sources = re.findall(r'"([^"]+)"', words) if words.startswith('["') else words.split()
        for source in sources[:-1]:
            name = source.strip("/")
            if name in {"", "."} or ".." in Path(name).parts:
                continue
            found = iglob(name, root_dir=context)  # noqa: PTH207 - Path.glob refuses some names
            for path in sorted(context / each for each in found):
                yield from (each for each in sorted([path, *path.rglob("*")]) if each.is_file())
