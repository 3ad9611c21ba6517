"""A parsed release.toml of which some parts are known to be wrong, so that checks of the others can go on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

KeyPath = tuple[str | int, ...]


def spell(path: KeyPath) -> str:
    """Give a key path as TOML spells it: `variants.llvm.glibc[0]`, `targets."2.17".image`."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            plain = re.fullmatch(r"[A-Za-z0-9_-]+", key)
            text += ("." if text else "") + (key if plain else json.dumps(key, ensure_ascii=False))
    return text


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong, and where."""

    path: KeyPath
    text: str

    def __str__(self) -> str:
        return f"{spell(self.path)}: {self.text}" if self.path else self.text


@dataclass(frozen=True, slots=True)
class Document:
    """The data of the file and the key paths in it that hold nothing sound."""

    data: dict[str, Any]
    unsound: frozenset[KeyPath] = frozenset()

    def without(self, paths: Iterable[KeyPath]) -> Document:
        return Document(self.data, self.unsound | frozenset(paths))

    def is_sound(self, *path: str | int) -> bool:
        """Whether nothing at this path, above it or below it is known to be wrong."""
        return not any(bad[: len(path)] == path[: len(bad)] for bad in self.unsound)

    def at(self, *pattern: str) -> Iterator[tuple[KeyPath, Any]]:
        """Give what is sound of each part at a pattern, such as `variants * glibc *`."""
        yield from self._walk((), self.data, pattern)

    def _walk(self, path: KeyPath, value: Any, pattern: tuple[str, ...]) -> Iterator[tuple[KeyPath, Any]]:
        if path in self.unsound:
            return
        if not pattern:
            yield path, self._prune(path, value)
            return
        for key, part in _parts(value):
            if pattern[0] in {"*", key}:
                yield from self._walk((*path, key), part, pattern[1:])

    def names(self, table: str) -> tuple[str, ...]:
        """Give the keys of a top table, the unsound ones too: what is declared wrongly is not unknown as well."""
        found = self.data.get(table)
        return tuple(found) if isinstance(found, dict) else ()

    def original(self, path: KeyPath) -> Any:
        value: Any = self.data
        for key in path:
            value = value[key]
        return value

    def pruned(self) -> dict[str, Any]:
        """Give the sound parts alone."""
        return dict(self._prune((), self.data))

    def _prune(self, path: KeyPath, value: Any) -> Any:
        kept = [
            (key, self._prune((*path, key), part)) for key, part in _parts(value) if (*path, key) not in self.unsound
        ]
        if isinstance(value, dict):
            return dict(kept)
        return [part for _, part in kept] if isinstance(value, list) else value

    def in_order(self, mistakes: Iterable[Mistake]) -> tuple[Mistake, ...]:
        """Sort mistakes as the file goes, each once; what is missing comes after what is there."""
        return tuple(sorted(dict.fromkeys(mistakes), key=lambda mistake: self._place(mistake.path)))

    def _place(self, path: KeyPath) -> tuple[int, ...]:
        place, value = [], self.data
        for key in path:
            keys = [each for each, _ in _parts(value)]
            place.append(keys.index(key) if key in keys else len(keys))
            if key not in keys:
                break
            value = value[key]  # type: ignore[index]  # a list's key is its index
        return tuple(place)


def _parts(value: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()
