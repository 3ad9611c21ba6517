"""Prints release-toml.md: every key of release.toml, from the descriptions of its schema.

python docs/release_toml.py > docs/release-toml.md
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from wainwright.auditing.rules import RULES

Node = dict[str, Any]
SCHEMA: Final[Node] = json.loads(
    (Path(__file__).parent.parent / "src/wainwright/release.schema.json").read_text(encoding="utf-8")
)
HEAD: Final = """\
# release.toml, key by key

Made of the descriptions in [its schema](../src/wainwright/release.schema.json), which editors read too:
`python docs/release_toml.py > docs/release-toml.md`. [tests/example.toml](../tests/example.toml) uses every key. Keys
are in kebab-case, an unknown one is an error, and `nox -s check` reports every mistake at once.
"""
TABLES: Final = ("variants.NAME.libraries",)  # which do not say their own name, since a backend has such a table too
LIBRARIES: Final = "#/$defs/libraries"
CODE: Final = re.compile(r'\[[^\]]*\]|\{[^}]*\}|"[^"]*"')  # TOML amid words


def resolved(node: Node) -> Node:
    target = node.get("$ref")
    return SCHEMA["$defs"][target.rpartition("/")[2]] if target else node


def parts(text: str) -> tuple[str, str, str, str]:
    """Part a description: what is expected, an example of it, what it is for, and what holds where it is left out."""
    expected, _, meaning = text.partition(". ")
    kind, _, example = expected.rstrip(".").rpartition(" such as ")
    meaning, _, default = meaning.partition("Left out: ")
    return kind.rstrip(",") or example, example if kind else "", meaning.strip(), default.strip().rstrip(".")


def marked(text: str) -> str:
    return CODE.sub(lambda match: f"`{match[0]}`", text)


def told(key: str, node: Node, *, required: bool, lead: str) -> str:
    """Give a key's row; `lead` is what was said of the inline table that it is in."""
    kind, example, meaning, default = parts(resolved(node)["description"])
    if "$ref" in node:
        _, _, meaning, default = parts(f". {node['description']}")
    if required:
        default = "required"
    elif "default" in node:
        default = f"`{json.dumps(node['default'], ensure_ascii=False)}`"
    if node.get("$ref") == LIBRARIES:
        meaning += " Its keys are those of [variants.NAME.libraries]."
    return f"| `{key}` | {marked(kind)} | {default} | {marked(f'{lead} {meaning}'.strip())} | {marked(example)} |"


def is_table(path: str, node: Node) -> bool:
    return "properties" in node and (path in TABLES or "[" in node["description"].split(". ")[0])


def rows(path: str, node: Node, *, key: str = "", lead: str = "") -> Iterator[str]:
    """Give the rows of a table; one that is written inline, or is one of several forms, has its keys here."""
    for name, stated in node["properties"].items():
        inner, spelled, is_library = resolved(stated), f"{key}{name}", stated.get("$ref") == LIBRARIES
        if is_table(f"{path}.{name}", inner):
            continue
        forms = [] if is_library else [form for form in (inner, *inner.get("anyOf", ())) if "properties" in form]
        if inner not in forms:
            yield told(spelled, stated, required=name in node.get("required", ()), lead=lead)
        said = stated["description"] if "$ref" in stated else parts(inner["description"])[2]
        for form in forms:
            yield from rows(f"{path}.{name}", form, key=f"{spelled}.", lead=said if form is inner else "")


def sections(path: str, node: Node) -> Iterator[str]:
    """Give a section for each table, in the schema's order, those inside it behind it."""
    if is_table(path, node):
        text = node["description"]
        named = re.search(r"\[.*?\](?!\])", text)
        title = named[0] if named and path not in TABLES else f"[{path}]"
        body = list(rows(path, node))
        yield f"\n## {title}\n\n{marked(text.partition('. ')[2])}\n"
        if body:
            head = ["", "| key | type | default | meaning | example |", "| --- | --- | --- | --- | --- |"]
            yield "\n".join([*head, *body, ""])
    for key, inner in node.get("properties", {}).items():
        yield from sections(f"{path}.{key}".lstrip("."), resolved(inner))
    if isinstance(inner := node.get("additionalProperties"), dict):
        yield from sections(f"{path}.NAME", inner)


def kinds() -> Iterator[str]:
    """Say what the words of the tables mean."""
    yield "\n## Kinds of values\n\n| kind | what |\n| --- | --- |\n"
    for name, node in SCHEMA["$defs"].items():
        if "properties" not in node:
            choices = f": {', '.join(node['enum'])}" if "enum" in node else ""
            yield f"| {name} | {marked(node['description'])}{choices} |\n"


def rules() -> Iterator[str]:
    """Give the audit's rules, each with what stands above its function: what a wheel is held to, and by whose word."""
    yield "\n## Audit rules\n\n"
    yield "`audit.allow` lets a violation pass as a warning, `audit.deny` makes a violation of whatever is found.\n\n"
    yield "| rule | by default | what it holds a wheel to |\n| --- | --- | --- |\n"
    for rule in RULES:
        lines = (inspect.getcomments(rule.check) or "").splitlines()
        stated = " ".join(line.lstrip("# ") for line in lines).replace("|", "\\|")
        yield f"| `{rule.name}` | {rule.severity.value} | {stated} |\n"


def page() -> str:
    return "".join([HEAD, *sections("", SCHEMA), *kinds(), *rules()])


if __name__ == "__main__":
    print(page(), end="")
