"""Wheels of hand-made ELF members, judged: what the tests of the audit and of its rules share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import native
from elves import Recipe, make
from wainwright.auditing.audit import audit
from wainwright.auditing.terms import Outside, Pattern
from wainwright.auditing.verdict import Finding, Verdict
from wainwright.values import Glibc

OLD = "demo-1.0-cp310-cp310-manylinux_2_17_x86_64.whl"
UNTAGGED = "demo-1.0-cp310-cp310-linux_x86_64.whl"
AARCH64 = 183


def extension(**fields: Any) -> bytes:
    """An ELF member that needs glibc's oldest version, unless told otherwise."""
    fields.setdefault("needed", ("libc.so.6",))
    fields.setdefault("needs", {"libc.so.6": ["GLIBC_2.2.5"]} if "libc.so.6" in fields["needed"] else {})
    return make(Recipe(**fields))


def judged(folder: Path, members: Mapping[str, bytes], name: str = OLD, **options: Any) -> Verdict:
    """Judge a wheel of these members."""
    tags: Sequence[str] | None = options.pop("tags", None)
    requires: Sequence[str] = options.pop("requires", ())
    wheel = native.wheel(folder / name, members, tags=tags, requires=requires)
    if isinstance(options.get("claim"), str):
        options["claim"] = Glibc.parse(options["claim"])
    return audit(wheel, **options)


def patterns(*texts: str) -> tuple[Pattern, ...]:
    return tuple(Pattern(text) for text in texts)


def outside(path: str, *, needed: Sequence[str] = (), **fields: Any) -> Outside:
    """A library of a build image, by its path there."""
    name = path.rpartition("/")[2]
    real = fields.pop("real_path", path)
    return Outside(name=name, soname=name, path=path, real_path=real, copy=Path(name), needed=tuple(needed), **fields)


def only(findings: Sequence[Finding], rule: str) -> Finding:
    """The one finding there is, which must be of this rule."""
    assert [found.rule for found in findings] == [rule], findings
    return findings[0]


def rules(findings: Sequence[Finding]) -> list[str]:
    return [found.rule for found in findings]
