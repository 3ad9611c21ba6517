"""Rules about needs: symbol versions above the claim, libraries that are missing, unreachable or must not be inside."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from wainwright.auditing.case import Case
from wainwright.auditing.claims import Claim
from wainwright.auditing.fates import DRIVERS, is_musl_library, plain_name
from wainwright.auditing.needs import RELR, VersionedNeed
from wainwright.auditing.processes import Loadable
from wainwright.auditing.resolution import origin_path
from wainwright.auditing.rules.objects import LIBRARY_NAME
from wainwright.auditing.terms import Pattern
from wainwright.auditing.verdict import Finding
from wainwright.light import Final

MOST_NAMED: Final = 12
LIBPYTHON_HINT: Final = "extension modules do not link against libpython: the interpreter has its symbols"
PRIVATE: Final = "GLIBC_PRIVATE"


# PEP 600: a wheel may depend on symbol versions "only if they are available" in the glibc of its tag; PEP 513 for the
# other namespaces: "GLIBC <= …, CXXABI <= …, GLIBCXX <= …, GCC <= …".
def symbol_version(case: Case) -> Iterator[Finding]:
    for need in case.needs:
        if need.weak or need.version == RELR:
            continue
        if need.provider is not None:
            yield from _inside(case, need)
            continue
        if need.version == PRIVATE or (case.musl and need.version.startswith("GLIBC_")):
            continue  # told by private-symbol, and by missing-library: musl has no such library at all
        short = [claim for claim in _judges(case) if not claim.offers(need.version)]
        if short:
            yield _too_new(case, need, short)


def _judges(case: Case) -> list[Claim]:
    """Give the claims that a member's needs are held against: of its own libc and architecture."""
    fitting = [claim for claim in case.claims if (claim.libc == "musl") == case.musl]
    return [claim for claim in fitting if claim.policy.arch == case.arch] or fitting


def _too_new(case: Case, need: VersionedNeed, short: list[Claim]) -> Finding:
    tags = ", ".join(claim.tag for claim in short)
    if need.glibc is None:
        message = f"it needs {need.version} of {need.library}{_named(need)}, which no policy offers"
        hint = "build it against an older glibc and compiler: in the image of the policy that the tag names"
    else:
        message = f"it needs {need.version} of {need.library}{_named(need)}, and {tags} does not offer that"
        lowest = f"; the lowest tag that fits the whole wheel is {case.measured.tag}" if case.measured.tag else ""
        hint = f"glibc {need.glibc} and later do: build in an older image, or raise the tag{lowest}"
    return Finding(
        rule="symbol-version", member=need.member, library=need.library, version=need.version, symbols=need.symbols,
        message=message, hint=hint,
    )  # fmt: skip


def _named(need: VersionedNeed) -> str:
    if not need.symbols:
        return ""
    more = len(need.symbols) - MOST_NAMED
    return f" ({', '.join(need.symbols[:MOST_NAMED])}{f' and {more} more' if more > 0 else ''})"


def _inside(case: Case, need: VersionedNeed) -> Iterator[Finding]:
    """glibc, match_symbol: a library with version definitions must define the one that is needed."""
    provider = case.wheel.by_name[need.provider or ""].elf
    if provider is None or need.version in provider.definitions:
        return
    if not provider.definitions:
        if not provider.versioned and not case.musl:
            yield _unversioned(need)
        return
    yield Finding(
        rule="symbol-version", member=need.member, library=need.library, version=need.version, symbols=need.symbols,
        message=f"it needs {need.version} of {need.library}{_named(need)}, which {need.provider} does not define",
        hint="the library inside is older than the one it was linked against",
    )  # fmt: skip


def _unversioned(need: VersionedNeed) -> Finding:
    """glibc, check_match: "We need a versioned symbol but haven't found any … it is a bug in the library"."""
    return Finding(
        rule="symbol-version", member=need.member, library=need.library, version=need.version, symbols=need.symbols,
        message=f"it needs {need.version} of {need.library}{_named(need)}, and {need.provider} has no symbol versions "
        "at all: an assertion in the loader ends the process",
        hint="link against the library that travels inside",
    )  # fmt: skip


# glibc manual, symbol versions: GLIBC_PRIVATE is for symbols "only to be used by the libraries of glibc itself". PEP
# 513 blacklists symbols that some distributions' libz and libc lack.
def private_symbol(case: Case) -> Iterator[Finding]:
    for need in case.needs:
        if need.version == PRIVATE and need.counts and case.claims:
            yield Finding(
                rule="private-symbol", member=need.member, library=need.library, version=need.version,
                symbols=need.symbols, message=f"it needs glibc's own insides ({PRIVATE}){_named(need)}, "
                "which change from one build of glibc to the next", hint="do not link against symbols of GLIBC_PRIVATE",
            )  # fmt: skip
    judges = _judges(case)
    for member, elf in case.objects() if judges else ():
        undefined = {symbol.name for symbol in member.symbols if not symbol.defined and not symbol.weak}
        for library, names in judges[0].policy.blacklist.items() if undefined else ():
            if library in elf.needed and (member.name, library) not in case.resolution.providers and names & undefined:
                symbols = tuple(sorted(names & undefined))
                yield Finding(
                    rule="private-symbol", member=member.name, library=library, symbols=symbols,
                    message=f"it needs {', '.join(symbols)} of {library}, which not every {judges[0].tag} system has",
                    hint="link that library statically, or let it travel inside",
                )  # fmt: skip


# PEP 513: "the wheel's binary executables or shared objects may not link against externally-provided libraries except
# those in the following list"; PEP 600 keeps that as a matter of good practice, auditwheel's policies hold the list.
def missing_library(case: Case) -> Iterator[Finding]:
    if not case.claims:
        return
    unreached = {library for _, library in case.resolution.unreached}
    for library in case.fates.libraries.missing:
        if library in unreached:
            continue
        who = case.fates.libraries.who_needs(library)
        misfit = next((name for (_, lib), name in case.resolution.misfits.items() if lib == library), None)
        if misfit is not None:
            yield _misfit(case, misfit, library, who)
            continue
        tags = ", ".join(claim.tag for claim in _judges(case) if library not in claim.policy.libraries)
        yield Finding(
            rule="missing-library",
            member=next((name for name in who if name in case.wheel.by_name), None),
            library=library,
            message=f"{library} is neither inside nor part of {tags or case.claims[0].tag}; "
            f"needed by {', '.join(who[:MOST_NAMED])}{' …' if len(who) > MOST_NAMED else ''}",
            hint=LIBPYTHON_HINT if library.startswith("libpython") else _missing_hint(case),
        )
    yield from _other_libc(case)


def _missing_hint(case: Case) -> str:
    if case.terms.variant:
        keys = f"variants.{case.terms.variant}"
        return f'{keys}.audit.mode = "repair" grafts it, {keys}.libraries.exclude leaves it to the user\'s machine'
    return "repair the wheel, or leave the library to the user's machine with --exclude"


def _other_libc(case: Case) -> Iterator[Finding]:
    """Of a wheel that claims both libcs, tell who needs the one that the other claim's systems lack."""
    strange = [claim for claim in case.claims if (claim.libc == "musl") != case.musl]
    for member, elf in case.objects() if strange else ():
        libc = next((name for name in elf.needed if name == "libc.so.6" or is_musl_library(name)), None)
        if libc is not None and is_musl_library(libc) == case.musl:
            tags = ", ".join(claim.tag for claim in strange)
            yield Finding(
                rule="missing-library",
                member=member.name,
                library=libc,
                message=f"it needs {libc}, which no {tags} system has",
                hint="build one wheel for each libc",
            )


def _misfit(case: Case, misfit: str, library: str, who: tuple[str, ...]) -> Finding:
    script = case.wheel.by_name[misfit].script
    what = "a text file of linker commands" if script else "no library that can be loaded"
    return Finding(
        rule="missing-library", member=misfit, library=library,
        message=f"{', '.join(who)} needs {library}, and finds {what} there",
        hint="ship the library itself: follow the linker script to the file that it names" if script else None,
    )  # fmt: skip


# ld.so(8): a library is searched for along DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH, the cache and the default path; where
# none leads to the folder inside the wheel, it is as good as absent, or another copy is taken.
def unreachable_library(case: Case) -> Iterator[Finding]:
    files: dict[str, Loadable] = {file.member: file for file in case.files}
    missing = set(case.fates.libraries.missing)
    for (member, library), inside in case.resolution.unreached.items():
        if library in missing:
            entry = origin_path(files[member], files[inside[0]])
            yield Finding(
                rule="unreachable-library", member=member, library=library,
                message=f"{library} is inside as {inside[0]}, but no search path of {member} leads there",
                hint=f"add {entry} to its RPATH: patchelf --add-rpath '{entry}'",
            )  # fmt: skip


# The driver's part of CUDA, Vulkan and GL must be that of the machine's kernel module; what a variant forbids, it says.
def forbidden_library(case: Case) -> Iterator[Finding]:
    taken = set(case.resolution.providers.values())
    for member, elf in case.objects():
        base = member.name.rpartition("/")[2]
        if not (case.terms.forbid or base.startswith("lib") or (elf.soname or "").startswith("lib")):
            continue  # as every driver does
        if not elf.dynamic or ("stubs" in member.name.split("/") and member.name not in taken):
            continue
        names = {plain_name(base), base, *([plain_name(elf.soname), elf.soname] if elf.soname else [])}
        pattern = _first(case.terms.forbid, names, member.name)
        if pattern is None and not any(map(DRIVERS.fullmatch, names)):
            continue
        reason = pattern.reason if pattern is not None and pattern.reason else ""
        library = _original_soname(case, names, plain_name(elf.soname or base))
        yield Finding(
            rule="forbidden-library", member=member.name, library=library,
            message=f"{library} must not travel inside: "
            + (reason or (f"{pattern.text} is forbidden here" if pattern else "it belongs to the machine's driver")),
            hint=_forbidden_hint(case, library, is_grafted=plain_name(base) != base),
        )  # fmt: skip


def _original_soname(case: Case, names: set[str], default: str) -> str:
    """Give the soname that a library had before it was grafted: a graft calls libx.so.1 libx-0a1b2c3d.so.1.0.0."""
    of = (each for each in case.outside if names & {each.soname, each.name, posixpath.basename(each.real_path)})
    return next((each.soname for each in of), default)


def _forbidden_hint(case: Case, library: str, *, is_grafted: bool) -> str:
    exclude = f"repair it again with --exclude {library}"
    if case.terms.variant:
        exclude = f'variants.{case.terms.variant}.libraries.exclude = ["{library}"]'
    hint = f"leave it to the user's machine: {exclude}"
    return hint if is_grafted else f"have the build leave it out; should it be missed then, {hint}"


def _first(patterns: tuple[Pattern, ...], names: set[str], member: str) -> Pattern | None:
    return next(
        (
            pattern
            for pattern in patterns
            if any(pattern.matches_name(name) for name in names) or pattern.matches_path(f"/{member}")
        ),
        None,
    )


# Two copies of one library in one process have two states: two thread pools of OpenMP, two heaps.
def identical_libraries(case: Case) -> Iterator[Finding]:
    copies: dict[tuple[int, str, bytes], list[str]] = {}
    for member, elf in case.objects():
        if elf.dynamic and LIBRARY_NAME.search(member.name):
            copies.setdefault((member.size, member.algorithm, member.digest), []).append(member.name)
    for (size, _, digest), names in copies.items():
        if digest and len(names) > 1:
            yield Finding(
                rule="identical-libraries", member=names[1],
                message=f"{', '.join(names)} are the same {size} bytes",
                hint="wheels know no links: keep one, and name it where it is needed",
            )  # fmt: skip
