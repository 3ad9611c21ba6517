"""The mistakes in release.toml that no schema can see: names that nothing declares, and keys that are at odds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any, Final

from wainwright.addresses import place_of
from wainwright.auditing.terms import RULES, Pattern
from wainwright.declaration.complaints import found, guess
from wainwright.declaration.document import Document, KeyPath, Mistake, spell
from wainwright.declaration.release import HOST, PUBLIC

# Where a value must be one of the keys of a top table
NAMED: Final = (
    ("backends", "backend", ("variants", "*", "backends", "*")),
    ("images", "image", ("targets", "*", "image")),
    ("images", "image", ("targets", "*", "smoke", "*")),
    ("images", "image", ("variants", "*", "image")),
    ("images", "image", ("variants", "*", "smoke", "images", "*")),
    ("publish", "destination", ("variants", "*", "publish", "*")),
)
# What may be wrong in a part while others still lean on the part
HARMLESS: Final = {
    "backends": {"on", "off", "libraries"},
    "images": {"python", "memory", "cpus", "time-limit", "env"},
    "targets": {"smoke"},
    "variants": {"backends", "glibc", "publish", "build", "libraries", "audit", "wheel", "smoke", "diff"},
    "publish": {"simple", "max-size", "index", "nightly"},
}
PLACEHOLDERS: Final = frozenset({"python", "out", "source"})

# Two fates of one library that exclude each other, and whether a pattern of one may cover a name in the other
FATES: Final = (
    ("exclude", "bundle", True),
    ("exclude-optional", "bundle", True),
    ("forbid", "bundle", True),
    ("provided-by", "bundle", True),
    ("exclude", "keep-name", True),
    ("exclude-optional", "keep-name", True),
    ("forbid", "keep-name", True),
    ("provided-by", "keep-name", True),
    ("exclude", "forbid", False),
    ("exclude-optional", "forbid", False),
    ("exclude", "exclude-optional", False),
    ("exclude", "provided-by", False),
)


def of_document(document: Document, root: Path) -> list[Mistake]:
    """Find what is at odds within the file, and paths that lead nowhere from its folder."""
    return [
        *_undeclared(document),
        *_unknown_rules(document),
        *_untargeted(document),
        *_project(document, root),
        *_images(document, root),
        *_places(document),
        *_destinations(document),
        *_commands(document),
        *_clashing_names(document),
        *_repeated_libraries(document),
        *_fates(document),
    ]


def unusable(document: Document) -> Iterator[KeyPath]:
    """Give the parts that stand on something unsound, so that nothing is concluded from them."""
    usable = {table: {*_usable(document, table)} for table in HARMLESS}
    usable["images"].add(HOST)
    targets = set()
    for path, table in document.at("targets", "*"):
        if path[1] in usable["targets"] and table.get("image") in usable["images"]:
            targets.add(path[1])
        else:
            yield path
    for path, table in document.at("variants", "*"):
        is_placed = "image" not in table or table["image"] in usable["images"]
        if path[1] not in usable["variants"] or not is_placed or not document.is_sound(*path, "smoke", "images"):
            yield path
        elif "image" not in table:
            yield from (each for each, glibc in document.at(*map(str, path), "glibc", "*") if glibc not in targets)
    for name, _, pattern in NAMED:
        yield from (path for path, value in document.at(*pattern) if value not in usable[name])


def _usable(document: Document, table: str) -> Iterator[str]:
    """Name the parts of a table in which nothing is wrong but keys that other parts do not lean on."""
    spoilt = {
        path[1]
        for path in document.unsound
        if path[0] == table and len(path) > 1 and (len(path) == 2 or path[2] not in HARMLESS[table])
    }
    yield from (name for name in document.names(table) if name not in spoilt)


def _undeclared(document: Document) -> Iterator[Mistake]:
    for table, word, pattern in NAMED:
        known = document.names(table)
        if (table,) in document.unsound:
            continue
        for path, name in document.at(*pattern):
            if name in known or (table == "images" and name == HOST):
                continue
            meant = guess(name, known)
            advice = f"did you mean {found(meant)}?" if meant else f"add [{table}.{name}]"
            names = f" ({', '.join(known[:8])})" if known else ""
            yield Mistake(path, f"expected a declared {word}{names}, found {found(name)}; {advice}")


def _unknown_rules(document: Document) -> Iterator[Mistake]:
    for key in ("allow", "deny"):
        for path, name in document.at("variants", "*", "audit", key, "*"):
            if name not in RULES:
                meant = guess(name, sorted(RULES))
                advice = f"did you mean {found(meant)}?" if meant else f"the rules are {', '.join(sorted(RULES))}"
                yield Mistake(path, f"expected the name of an audit rule, found {found(name)}; {advice}")
    for path, table in document.at("variants", "*", "audit"):
        if document.is_sound(*path, "allow") and document.is_sound(*path, "deny"):
            for index, name in enumerate(table.get("deny", ())):
                if name in table.get("allow", ()):
                    yield Mistake(
                        (*path, "deny", index), f"{found(name)} is in allow as well; a rule is one or the other"
                    )


def _untargeted(document: Document) -> Iterator[Mistake]:
    targets = document.names("targets")
    variants = {*_usable(document, "variants")}
    if ("targets",) in document.unsound:
        return
    for path, glibc in document.at("variants", "*", "glibc", "*"):
        if path[1] in variants and glibc not in targets and "image" not in document.data["variants"][path[1]]:
            # Versions are alike by nature: only swapped digits are a slip of the hand
            meant = next((each for each in targets if sorted(each) == sorted(glibc)), None)
            add = f'add [targets."{glibc}"] with image = "…" and smoke = ["…"], or an image to the variant'
            advice = f"did you mean {found(meant)}?" if meant else add
            names = f" ({', '.join(targets)})" if targets else ""
            yield Mistake(path, f"expected a declared target{names}, found {found(glibc)}; {advice}")


def _project(document: Document, root: Path) -> Iterator[Mistake]:
    for path, text in document.at("project", "source"):
        if isinstance(text, str) and not (root / text).is_dir():
            yield Mistake(path, f"expected a folder, found {found(text)}, which is none")
    for path, text in document.at("project", "tag"):
        names = _placeholders(text)
        if names != ["version"]:
            yield Mistake(
                path, f'expected a text with {{version}} in it once, such as "v{{version}}", found {found(text)}'
            )


def _images(document: Document, root: Path) -> Iterator[Mistake]:
    for path, table in document.at("images", "*"):
        if path[1] == HOST:
            yield Mistake(path, 'expected another name, found "host", which is this machine and always there')
        elif document.is_sound(*path) and not table.keys() & {"ref", "dockerfile", "toolchain"}:
            yield Mistake(path, "expected a ref, a dockerfile or a toolchain, found none of them")
        elif "fallback" in table and document.is_sound(*path) and not table.keys() & {"ref", "dockerfile"}:
            yield Mistake(
                (*path, "fallback"), "a toolchain without a ref or a dockerfile is this machine, and takes no fallback"
            )
    for path, text in document.at("images", "*", "dockerfile"):
        if not (root / text).is_file():
            yield Mistake(path, f"expected a Dockerfile, found {found(text)}, where there is none")


def _places(document: Document) -> Iterator[Mistake]:
    """Find addresses that are none, and destinations at one place: what is meant for one would be the other's."""
    first: dict[object, str] = {}
    for path, table in document.at("publish", "*"):
        for key in ("url", "simple"):
            if key in table and place_of(table[key]) is None:
                yield Mistake((*path, key), "expected an address with a host, and a port below 65536 where it has one")
        repository = str(table.get("repository", ""))
        place = place_of(table.get("url", "")) or (repository.casefold() if "/" in repository else repository)
        other = first.setdefault(place, str(path[-1])) if place else path[-1]
        if other != path[-1]:
            yield Mistake(path, f"expected a destination of its own, found that of publish.{other}")


def _destinations(document: Document) -> Iterator[Mistake]:
    for path, table in document.at("publish", "*"):
        repository = table.get("repository")
        if repository is None and "url" not in table and document.is_sound(*path):
            yield Mistake(path, "expected a repository or a url, found neither")
        elif repository is not None and "url" in table:
            yield Mistake((*path, "url"), "expected a repository or a url, found both")
        for key in ("simple", "local-versions"):
            if key in table and repository is not None and (repository in PUBLIC or "/" in repository):
                yield Mistake((*path, key), f"{key} is for an index of your own, not for {found(repository)}")
        if "index" in table and document.is_sound(*path, "index") and "/" not in str(repository):
            yield Mistake((*path, "index"), "index is for a GitHub repository; this destination is an index itself")
        if table.get("nightly") is True and document.is_sound("project") and "sdist" in _source(document):
            what = "a nightly is made of what changes from day to day, and project.source is a pinned sdist"
            yield Mistake((*path, "nightly"), what)


def _source(document: Document) -> dict[str, Any]:
    source = document.data.get("project", {}).get("source")
    return source if isinstance(source, dict) else {}


def _commands(document: Document) -> Iterator[Mistake]:
    for path, text in document.at("variants", "*", "build", "command"):
        names = _placeholders(text)
        if names is None:
            yield Mistake(path, f"expected braces in pairs, found {found(text)}; a brace of its own is written twice")
            continue
        for name in dict.fromkeys(names):
            if name not in PLACEHOLDERS:
                meant = guess(name, sorted(PLACEHOLDERS))
                advice = f"did you mean {{{meant}}}?" if meant else "a brace of its own is written twice"
                yield Mistake(path, f"expected {{python}}, {{out}} or {{source}}, found {{{name}}}; {advice}")


def _placeholders(text: str) -> list[str] | None:
    """Give the names in braces, with whatever follows them there; None where braces do not pair."""
    try:
        parts = list(Formatter().parse(text))
    except ValueError:
        return None
    return [
        name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
        for _, name, spec, conversion in parts
        if name is not None
    ]


def _clashing_names(document: Document) -> Iterator[Mistake]:
    """Sessions spell `-` as `_`: two variants must not share `build_a_b`."""
    sessions: dict[str, str] = {}
    for path, _ in document.at("variants", "*"):
        name = str(path[1])
        first = sessions.setdefault(name.replace("-", "_"), name)
        if first != name:
            session = f"build_{name.replace('-', '_')}"
            yield Mistake(path, f"expected another name than {found(first)} has, found the same session {session}")


def _repeated_libraries(document: Document) -> Iterator[Mistake]:
    """Find one pattern twice in a list, once as a text and once as a table: the schema sees two values there."""
    for pattern in (("backends", "*", "libraries", "*"), ("variants", "*", "libraries", "*")):
        for path, _ in document.at(*pattern):
            seen: dict[str, KeyPath] = {}
            for place, text in _entries(document, path):
                if seen.setdefault(text, place) != place:
                    yield Mistake(place, f"expected each library once, found {found(text)} again")


def _fates(document: Document) -> Iterator[Mistake]:
    for path, table in document.at("variants", "*"):
        owners = [path]
        if document.is_sound(*path, "backends"):
            owners += [("backends", name) for name in table.get("backends", ())]
        for first, second, covers in FATES:
            for (here, text), (there, other) in _pairs(document, owners, first, second):
                same = text == other or (covers and _covers(text, other))
                if same:
                    kinds = f"{first} and {second}"
                    yield Mistake(there, f"{found(other)} has two fates, {kinds}: see {spell(here)}")


def _pairs(
    document: Document, owners: list[KeyPath], first: str, second: str
) -> Iterator[tuple[tuple[KeyPath, str], tuple[KeyPath, str]]]:
    def every(kind: str) -> list[tuple[KeyPath, str]]:
        return [entry for owner in owners for entry in _entries(document, (*owner, "libraries", kind))]

    theirs = every(second)
    yield from ((one, other) for one in every(first) for other in theirs)


def _entries(document: Document, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    for place, entry in document.at(*map(str, path), "*"):
        if "provided-by" in path:
            yield place, str(place[-1])
        elif isinstance(entry, str):
            yield place, entry
        elif "library" in entry:
            yield place, entry["library"]


def _covers(one: str, other: str) -> bool:
    return any(
        Pattern(wide).matches_name(narrow) or Pattern(wide).matches_path(narrow)
        for wide, narrow in ((one, other), (other, one))
        if Pattern(narrow).is_literal
    )
