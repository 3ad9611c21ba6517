"""From the data of a release.toml that its schema allows to the frozen values behind it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from wainwright.auditing.terms import Pattern
from wainwright.declaration.release import (
    DEFAULT_COMMAND,
    HOST,
    Audit,
    Backend,
    Build,
    Contents,
    Destination,
    Diff,
    Directory,
    Git,
    Image,
    Libraries,
    Loaded,
    Project,
    Release,
    Sdist,
    Settings,
    Smoke,
    Target,
    Variant,
)
from wainwright.values import Glibc, Python

BYTES: Final = {"B": 1, "kB": 1000} | {
    f"{letter}{binary}B": step**power
    for binary, step in (("", 1000), ("i", 1024))
    for power, letter in enumerate("KMGT", start=1)
}
SECONDS: Final = {"s": 1, "min": 60, "h": 3600}


def unpack(data: dict[str, Any], path: Path) -> Release:
    """Make the values. Of a document with mistakes these are the sound parts, for the checks that go on."""
    root = path.parent.absolute()
    images = {name: _image(name, table, root) for name, table in data.get("images", {}).items()}
    targets = (_target(glibc, table) for glibc, table in data.get("targets", {}).items())
    return Release(
        path=path,
        root=root,
        project=_project(data.get("project", {}), root),
        backends=_frozen({name: _backend(name, table) for name, table in data.get("backends", {}).items()}),
        images=_frozen(images | {HOST: Image(name=HOST)}),
        targets=_frozen({target.glibc: target for target in targets}),
        variants=_frozen({name: _variant(name, table) for name, table in data.get("variants", {}).items()}),
        publish=_frozen({name: _destination(name, table) for name, table in data.get("publish", {}).items()}),
    )


def _project(table: dict[str, Any], root: Path) -> Project:
    match table.get("source", "."):
        case {"sdist": str(requirement)}:
            name, _, version = requirement.partition("==")
            source: Directory | Sdist | Git = Sdist(requirement=f"{name.strip()}=={version.strip()}")
        case {"git": str(url), "rev": str(rev)}:
            source = Git(url=str(root / url) if (root / url).exists() else url, rev=rev)
        case folder:
            source = Directory(path=Path(os.path.normpath(root / str(folder))))
    return Project(source=source, tag=table.get("tag", "v{version}"), python=_pythons(table))


def _pythons(table: dict[str, Any]) -> tuple[Python, ...]:
    return tuple(map(Python.parse, table.get("python", ())))


def _backend(name: str, table: dict[str, Any]) -> Backend:
    on, off = (Settings(env=_frozen(table.get(key, {}).get("env", {}))) for key in ("on", "off"))
    return Backend(name=name, on=on, off=off, libraries=_libraries(table.get("libraries", {})))


def _image(name: str, table: dict[str, Any], root: Path) -> Image:
    return Image(
        name=name,
        ref=table.get("ref"),
        dockerfile=root / table["dockerfile"] if "dockerfile" in table else None,
        toolchain=table.get("toolchain"),
        fallback=table.get("fallback"),
        python=_frozen({Python.parse(key): place for key, place in table.get("python", {}).items()}),
        memory=_bytes(table.get("memory")),
        cpus=table.get("cpus"),
        time_limit=_seconds(table.get("time-limit")),
        env=_frozen(table.get("env", {})),
    )


def _target(glibc: str, table: dict[str, Any]) -> Target:
    return Target(glibc=Glibc.parse(glibc), image=table["image"], smoke=tuple(table.get("smoke", (HOST,))))


def _libraries(table: dict[str, Any]) -> Libraries:
    return Libraries(
        exclude=_patterns(table, "exclude"),
        exclude_optional=_patterns(table, "exclude-optional"),
        bundle=_patterns(table, "bundle"),
        keep_name=_patterns(table, "keep-name"),
        forbid=_patterns(table, "forbid"),
        provided_by=tuple((Pattern(text), project) for text, project in table.get("provided-by", {}).items()),
    )


def _patterns(table: dict[str, Any], key: str) -> tuple[Pattern, ...]:
    return tuple(
        Pattern(entry) if isinstance(entry, str) else Pattern(entry["library"], entry["reason"])
        for entry in table.get(key, ())
        if isinstance(entry, str) or entry.keys() >= {"library", "reason"}
    )


def _variant(name: str, table: dict[str, Any]) -> Variant:
    audit, wheel, local = (table.get("audit", {}), table.get("wheel", {}), table.get("local-version"))
    build, diff = table.get("build", {}), table.get("diff", {})
    return Variant(
        name=name,
        backends=tuple(table.get("backends", ())),
        glibc=tuple(map(Glibc.parse, table.get("glibc", ()))),
        image=table.get("image"),
        python=_pythons(table) or None,
        arch=tuple(table.get("arch", ())),
        local_version=re.sub(r"[-_]", ".", local.lower()) if local else None,  # PEP 440's normal form
        publish=tuple(table.get("publish", ())),
        build=Build(
            before=tuple(build.get("before", ())),
            command=build.get("command", DEFAULT_COMMAND),
            env=_frozen(build.get("env", {})),
            network=build.get("network", True),
        ),
        libraries=_libraries(table.get("libraries", {})),
        audit=Audit(
            mode=audit.get("mode", "repair"),
            isa=audit.get("isa"),
            allow=frozenset(audit.get("allow", ())),
            deny=frozenset(audit.get("deny", ())),
            licences=tuple(audit.get("licences", ())),
        ),
        wheel=Contents(
            require=tuple(wheel.get("require", ())),
            forbid=tuple(wheel.get("forbid", ())),
            max_size=_bytes(wheel.get("max-size")),
        ),
        smoke=_smoke(table.get("smoke", {})),
        diff=Diff(against=diff["against"], fail_on=tuple(diff.get("fail-on", ()))) if "against" in diff else None,
    )


def _smoke(table: dict[str, Any]) -> Smoke:
    loaded = {key: tuple(patterns) for key, patterns in table.get("loaded", {}).items()}
    return Smoke(
        images=tuple(table.get("images", ())),
        imports=tuple(table.get("import", ())),
        run=tuple(table.get("run", ())),
        backends=table.get("backends"),
        loaded=Loaded(**loaded) if loaded else None,
    )


def _destination(name: str, table: dict[str, Any]) -> Destination:
    on_github = "/" in table.get("repository", "")
    return Destination(
        name=name,
        kind="github" if on_github else "index",
        repository=table.get("repository"),
        url=table.get("url"),
        simple=table.get("simple"),
        max_size=_bytes(table.get("max-size")),
        local_versions=table.get("local-versions", on_github),
        index=table.get("index", False),
        nightly=table.get("nightly", False),
    )


def _bytes(text: str | None) -> int | None:
    return round(_quantity(text, BYTES)) if text is not None else None


def _seconds(text: str | None) -> float | None:
    return _quantity(text, SECONDS) if text is not None else None


def _quantity(text: str, units: Mapping[str, int]) -> float:
    number, unit = re.fullmatch(r"([0-9.]+) ?([A-Za-z]+)", text).groups()  # type: ignore[union-attr]  # by the schema
    return float(number) * units[unit]


def _frozen(mapping: dict[Any, Any]) -> Mapping[Any, Any]:
    return MappingProxyType(dict(mapping))
