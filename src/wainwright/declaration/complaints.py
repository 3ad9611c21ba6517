"""What the schema of release.toml finds wrong, in our words: built from the descriptions of its own nodes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema_rs

from wainwright.declaration.document import Document, KeyPath, Mistake

SCHEMA: Final = Path(__file__).parents[1] / "release.schema.json"
MISNAMED: Final = "expected the key to be "
MEANT: Final = "unknown key, did you mean "
CLOSE: Final = 0.85  # so close that it is the likelier reading than the same key elsewhere


@cache
def schema() -> dict[str, Any]:
    """Give the schema that editors read; the validator is made of the same one, so the two cannot differ."""
    loaded: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return loaded


def of_schema(document: Document) -> list[Mistake]:
    """Find everything that is wrong with the shape of the file."""
    validator = jsonschema_rs.Draft202012Validator(schema())
    mistakes = [
        mistake for error in validator.iter_errors(_json(document.data)) for mistake in _mistakes(document, error)
    ]
    # A name that cannot be is said once, and so is a key that is only spelt wrongly
    misnamed = {one.path for one in mistakes if one.text.startswith(MISNAMED)}
    misspelt = {(*one.path[:-1], one.text[len(MEANT) : -1]) for one in mistakes if one.text.startswith(MEANT)}
    return [
        one
        for one in mistakes
        if (one.path not in misnamed or one.text.startswith(MISNAMED))
        and (one.path not in misspelt or not one.text.endswith(", found nothing"))
    ]


def guess(name: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Give the name that was meant, if one is near enough."""
    import difflib  # wanted only when something is wrong

    plain = {each.lower().replace("_", "-"): each for each in names}
    wanted = name.lower().replace("_", "-")
    close = difflib.get_close_matches(wanted, list(plain), n=1, cutoff=cutoff)
    close += [each for each in plain if len(wanted) > 2 and each.startswith(wanted)]
    return plain[close[0]] if close else None


def found(value: Any) -> str:
    """Say what stands in the file."""
    if isinstance(value, str):
        return json.dumps(value if len(value) <= 60 else f"{value[:57]}…", ensure_ascii=False)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, dict):
        return f"a table with {', '.join(list(value)[:3])}" if value else "an empty table"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return "a date or a time"


def _json(value: Any) -> Any:
    # TOML's dates and times are no JSON; no schema here takes a null, so each is refused where it stands
    if isinstance(value, dict):
        return {key: _json(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_json(part) for part in value]
    return value if isinstance(value, str | int | float) else None


def _mistakes(document: Document, error: jsonschema_rs.ValidationError) -> Iterator[Mistake]:
    path, kind = tuple(error.instance_path), error.kind
    node = _node(error.schema_path[:-1])
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.AnyOf):
        yield from _alternatives(document, error, node, kind.context)
    elif isinstance(kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
        for key in kind.unexpected:
            yield Mistake((*path, key), _unknown(key, node, path))
    elif isinstance(kind, jsonschema_rs.ValidationErrorKind.Required):
        wanted = _resolved(node["properties"][kind.property])
        yield Mistake((*path, kind.property), f"expected {_expected(wanted)}, found nothing")
    elif isinstance(kind, jsonschema_rs.ValidationErrorKind.PropertyNames):
        misnamed = str(kind.error.instance)
        yield Mistake(
            (*path, misnamed), f"{MISNAMED}{_expected(node)}, found {found(misnamed)}{_belongs(misnamed, path)}"
        )
    elif isinstance(kind, jsonschema_rs.ValidationErrorKind.UniqueItems):
        items = document.original(path)
        again = next(index for index, item in enumerate(items) if item in items[:index])
        yield Mistake((*path, again), f"expected each entry once, found {found(items[again])} again")
    else:
        value = document.original(path)
        yield Mistake(path, f"expected {_expected(node)}, found {found(value)}{_advice(node, value, path)}")


def _alternatives(
    document: Document,
    error: jsonschema_rs.ValidationError,
    node: dict[str, Any],
    branches: list[list[jsonschema_rs.ValidationError]],
) -> Iterator[Mistake]:
    """Report inside the alternative that was meant: the one of the found type, of several tables the likest one."""
    path = tuple(error.instance_path)
    value = document.original(path)
    kind = "string" if isinstance(value, str) else "object" if isinstance(value, dict) else None
    options = [_resolved(option) for option in node["anyOf"]]
    fitting = [index for index, option in enumerate(options) if option.get("type") == kind]
    if kind == "object":
        shared = {index: len(value.keys() & options[index]["properties"].keys()) for index in fitting}
        fitting = sorted((index for index in fitting if shared[index]), key=lambda index: -shared[index])
    if fitting:
        for inner in branches[fitting[0]]:
            yield from _mistakes(document, inner)
    else:
        yield Mistake(path, f"expected {_expected(node)}, found {found(value)}")


def _advice(node: dict[str, Any], value: Any, path: KeyPath) -> str:
    """Say what would mend a value, where that is plain."""
    options = node.get("enum") or node.get("examples") or ()
    if isinstance(value, str) and (meant := guess(value, options)):
        return f"; did you mean {found(meant)}?"
    if "enum" in node and any(found(option) not in node["description"] for option in options):
        return f"; the choices are {', '.join(options)}"
    if isinstance(value, int | float) and not isinstance(value, bool) and node.get("type", "string") == "string":
        return "; write it in quotes"
    if node.get("type") == "array" and isinstance(value, str):
        return f"; write [{found(value)}]"
    if node.get("type") == "boolean" and isinstance(value, str) and value in {"true", "false"}:
        return "; write it without quotes"
    if node.get("type") == "object" and path:
        return _belongs(str(path[-1]), path[:-1])
    return ""


def _unknown(key: str, node: dict[str, Any], path: KeyPath) -> str:
    known = node["properties"]
    if meant := guess(key, known, CLOSE):
        return f"{MEANT}{meant}?"
    if belongs := _belongs(key, path):
        return f"unknown key{belongs}"
    if meant := guess(key, known):
        return f"{MEANT}{meant}?"
    return f"unknown key; the keys here are {', '.join(known)}"


def _belongs(key: str, path: KeyPath) -> str:
    """Say where a key has its place, if it is one of another table: the nearest such table, or all that are as near."""
    places = [place for place, keys in _tables() if key in keys]

    def near(place: tuple[str, ...]) -> tuple[int, int]:
        return sum(1 for ours, theirs in zip(path, place, strict=False) if theirs in {ours, "NAME"}), -len(place)

    if not places or any(near(place) == (len(path), -len(path)) for place in places):
        return ""
    best = max(map(near, places))
    spelt = [f"[{'.'.join(place)}]" if place else "the top" for place in places if near(place) == best]
    return f"; {key} belongs under {' or '.join(spelt)}"


@cache
def _tables() -> tuple[tuple[tuple[str, ...], frozenset[str]], ...]:
    """Give every table of the schema with its keys; `NAME` stands for a key that the file chooses."""
    tables = []

    def walk(node: dict[str, Any], place: tuple[str, ...]) -> None:
        node = _resolved(node)
        if "properties" in node:
            tables.append((place, frozenset(node["properties"])))
        for key, inner in node.get("properties", {}).items():
            walk(inner, (*place, key))
        if isinstance(inner := node.get("additionalProperties"), dict):
            walk(inner, (*place, "NAME"))

    walk(schema(), ())
    return tuple(tables)


def _node(path: Iterable[str | int]) -> dict[str, Any]:
    node: Any = schema()
    for key in path:
        node = node[key]
    return _resolved(node)


def _resolved(node: dict[str, Any]) -> dict[str, Any]:
    target = node.get("$ref")
    return _node(target.removeprefix("#/").split("/")) if target else node


def _expected(node: dict[str, Any]) -> str:
    """Give a description's first sentence, which says what a value is; the others say what it is for."""
    text: str = node["description"]
    return text.split(". ", 1)[0].rstrip(".")
