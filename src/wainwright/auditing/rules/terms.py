"""Rules about a variant's own terms: what must travel inside, what may not, patterns, sizes, other wheels."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from wainwright.auditing.case import Case
from wainwright.auditing.fates import plain_name
from wainwright.auditing.needs import RELR
from wainwright.auditing.requirements import applies
from wainwright.auditing.terms import Outside, Pattern
from wainwright.auditing.verdict import Finding
from wainwright.formats.wheelname import canonical_name
from wainwright.light import Final

MOST_GROWTH: Final = 1.2
LARGEST: Final = 10


def _inside(case: Case) -> dict[str, tuple[str, ...]]:
    """Give each library inside with the names that it bears: its file's, its soname, and both without a hash."""
    inside = {}
    for member, elf in case.objects():
        if elf.dynamic and not elf.interpreter:
            base = posixpath.basename(member.name)
            names = (base, elf.soname or base)
            inside[member.name] = tuple(dict.fromkeys((*names, *map(plain_name, names))))
    return inside


# release.toml: what `bundle` names "must travel inside; absent is an error".
def bundle(case: Case) -> Iterator[Finding]:
    inside = _inside(case) if case.terms.bundle else {}
    for pattern in case.terms.bundle:
        if _bears(pattern, inside, case):
            continue
        near = _near(pattern, case)
        hint = "repair the wheel in an image that has it, or correct the pattern"
        if any(pattern.matches_name(name) for name in case.fates.libraries.policy):
            near = ""
            hint = (
                "the tag's policy counts it to every system, so no repair takes it in: link it statically, or drop this"
            )
        yield Finding(
            rule="bundle", library=pattern.text, message=f"{pattern.text} must travel inside, and does not{near}",
            hint=hint,
        )  # fmt: skip


def _bears(pattern: Pattern, inside: dict[str, tuple[str, ...]], case: Case) -> bool:
    names = {name for found in inside.values() for name in found}
    if not pattern.is_path:
        return any(pattern.matches_name(name) for name in names)
    return any(pattern.matches(library) and names & {library.soname, library.name} for library in case.outside)


# auditwheel renames what it grafts to NAME-HASH.so; whoever opens the library by its name does not find that.
def keep_name(case: Case) -> Iterator[Finding]:
    for member, elf in case.objects() if case.terms.keep_name else ():
        base = posixpath.basename(member.name)
        own = plain_name(base)
        kept = next((p for p in case.terms.keep_name if own != base and p.matches_name(own)), None)
        soname = plain_name(elf.soname or base)
        kept = kept or next((p for p in case.terms.keep_name if own != base and p.matches_name(soname)), None)
        if kept is not None:
            yield Finding(
                rule="keep-name", member=member.name, library=own, hint="repair with keep-name: the hash comes off",
                message=f"it must keep its name {own}, since {kept.text} is opened by that name",
            )  # fmt: skip


# release.toml: `licences`, "what may travel inside, beside the project's own".
def licence(case: Case) -> Iterator[Finding]:
    allowed = {_words(text) for text in case.terms.licences}
    for member, library in _grafted(case) if allowed else ():
        if library.licence is not None and _words(library.licence) not in allowed:
            yield Finding(
                rule="licence", member=member, library=library.soname,
                message=f"{library.soname} is under {library.licence}, which is not among the licences allowed",
                hint="add the licence to audit.licences, or leave the library to the user's machine",
            )  # fmt: skip


# A library without a known licence may be allowed, or not: somebody has to look.
def unknown_licence(case: Case) -> Iterator[Finding]:
    for member, library in _grafted(case) if case.terms.licences else ():
        if library.licence is None:
            yield Finding(
                rule="licence", member=member, library=library.soname,
                message=f"nobody knows the licence of {library.soname} ({library.package or library.real_path})",
            )  # fmt: skip


def _grafted(case: Case) -> Iterator[tuple[str, Outside]]:
    """Give members that bear the name of a library of the build image."""
    for member, names in _inside(case).items():
        for library in case.outside:
            if {library.soname, library.name, posixpath.basename(library.real_path)} & set(names):
                yield member, library
                break


def _words(text: str) -> str:
    return " ".join(text.split()).casefold()


# Core metadata, Requires-Dist: "the names of some other distutils project required by this distribution".
def provided_by(case: Case) -> Iterator[Finding]:
    requires = case.info.metadata.requires_dist if case.info.metadata and case.terms.provided_by else ()
    declared = {_project(requirement) for requirement in requires if applies(requirement)}
    for pattern, distribution in case.terms.provided_by:
        if _project(distribution) not in declared:
            yield Finding(
                rule="provided-by", library=pattern.text,
                member=f"{case.info.folder}/METADATA" if case.info.folder else None,
                message=f"{distribution} is said to provide {pattern.text}, and no Requires-Dist names it for Linux",
                hint=f"add {distribution} to the project's dependencies",
            )  # fmt: skip


def _project(requirement: str) -> str:
    match = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", requirement)
    return canonical_name(match[1]) if match else ""


# A pattern without effect is a library grafted, or left out, by mistake.
def unmatched_pattern(case: Case) -> Iterator[Finding]:
    for pattern in (*case.terms.exclude, *(pattern for pattern, _ in case.terms.provided_by)):
        if case.fates.matched.get(pattern.text):
            continue
        near = f", nor does {' or '.join(pattern.leads_to)}, to which it leads" if pattern.leads_to else ""
        near += _near(pattern, case)
        if pattern.is_path and not case.outside:
            near += " (no library's path is known here)"
        yield Finding(
            rule="unmatched-pattern", library=pattern.text, message=f"{pattern.text} matches no needed library{near}",
            hint="a pattern without a slash matches the soname whole: libdep.so.1 or libdep.so*",
        )  # fmt: skip


def _near(pattern: Pattern, case: Case) -> str:
    from pathlib import Path

    known = {library.name: library for library in case.outside}
    for name, _ in case.fates.libraries.needed_by:
        known.setdefault(name, Outside(name=name, soname=name, path="", real_path="", copy=Path()))
    candidates = [library for library in known.values() if library.real_path or not pattern.is_path]
    near = pattern.near_misses(candidates)
    return f"; near are {', '.join(near)}" if near else ""


# GNU ld, "Implicit Linker Scripts": a file that is no object is read as commands; `libdep.so` may be such a text.
def linker_script(case: Case) -> Iterator[Finding]:
    terms = case.terms
    provided = (pattern for pattern, _ in terms.provided_by)
    every = (*terms.exclude, *terms.exclude_optional, *terms.bundle, *terms.keep_name, *terms.forbid, *provided)
    for text, names in {pattern.text: pattern.leads_to for pattern in every if pattern.leads_to}.items():
        yield Finding(
            rule="linker-script", library=text,
            message=f"{text} is a text of linker commands in the build image, and is taken to mean {', '.join(names)}",
        )  # fmt: skip


# release.toml: what a wheel must hold, and what it must not.
def wheel_contents(case: Case) -> Iterator[Finding]:
    names = [member.name for member in case.wheel.members]
    for pattern in case.terms.require:
        if not any(fnmatchcase(name, pattern) for name in names):
            yield Finding(rule="wheel-contents", message=f"no member is named {pattern}, which it must hold")
    for pattern in case.terms.forbid_members:
        for name in names:
            if fnmatchcase(name, pattern):
                yield Finding(rule="wheel-contents", member=name, message=f"no member may be named {pattern}")


# release.toml: `max-size`; an index has a limit of its own for a file.
def max_size(case: Case) -> Iterator[Finding]:
    limit = case.terms.max_size
    if limit is None or case.wheel.size <= limit:
        return
    largest = sorted(case.wheel.members, key=lambda member: -member.size)[:LARGEST]
    told = ", ".join(f"{member.name} ({member.size / 1e6:.1f} MB)" for member in largest)
    yield Finding(
        rule="max-size", member=largest[0].name if largest else None,
        message=f"it has {case.wheel.size} bytes, more than the {limit} allowed; the largest members are {told}",
    )  # fmt: skip


# A repair that makes a wheel much larger has grafted what should have been excluded, or stored what was deflated.
def growth(case: Case) -> Iterator[Finding]:
    before = case.original_size
    if before and case.wheel.size > MOST_GROWTH * before:
        yield Finding(
            rule="growth", message=f"the repair made it {case.wheel.size / before:.2f} times as large "
            f"({before} to {case.wheel.size} bytes)", hint="look at what was grafted; exclude what the machine has",
        )  # fmt: skip


# What an excluded library needs in turn is needed as well, where the wheel runs.
def hidden_needs(case: Case) -> Iterator[Finding]:
    for library, needed in case.fates.hidden.items():
        yield Finding(
            rule="hidden-needs",
            library=library,
            message=f"{library} is excluded, and needs {', '.join(needed)} in turn",
        )


# Requires-Dist and the search path together tell which other wheel has the library; nobody has checked that it does.
def guessed_provider(case: Case) -> Iterator[Finding]:
    for library, distribution in case.fates.guessed.items():
        who = case.fates.libraries.who_needs(library)
        yield Finding(
            rule="guessed-provider", member=who[0] if who else None, library=library,
            message=f"{library} is taken to come with {distribution}, into whose folder the search path leads",
            hint='say so in release.toml, under [variants.NAME.libraries]: '
            f'provided-by = {{ "{library}" = "{distribution}" }}',
        )  # fmt: skip


# PEP 600 names glibc alone; a tag whose policy nobody has written down cannot be judged, nor one of another system.
def unjudged_tag(case: Case) -> Iterator[Finding]:
    for tag in case.platforms.unjudged:
        yield Finding(rule="unjudged-tag", message=f"no policy is known for {tag}: its libraries were not judged")


# GNU symbol versioning, VER_FLG_WEAK: the loader only warns when such a version is absent.
def weak_needs(case: Case) -> Iterator[Finding]:
    told: dict[tuple[str, str], list[str]] = {}
    for need in case.needs:
        above = need.provider is None and any(not claim.offers(need.version) for claim in case.claims)
        if need.weak and above and need.version != RELR:
            told.setdefault((need.library, need.version), []).append(need.member)
    for (library, version), members in told.items():
        more = f" and {len(members) - 1} others" if len(members) > 1 else ""
        yield Finding(
            rule="weak-need", member=members[0], library=library, version=version,
            message=f"{version} of {library} is needed weakly by {members[0]}{more}: it may be absent",
        )  # fmt: skip
