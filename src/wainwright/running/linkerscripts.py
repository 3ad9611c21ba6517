"""Text files of linker commands that stand where a library is expected, and what they lead to.

`libgfortran.so` of a devtoolset is one (`INPUT ( /usr/lib64/libgfortran.so.3 … )`): only the linker reads it, and no
wheel ever needs it. Whoever names it in release.toml means the libraries that it names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

from wainwright.auditing.terms import Outside, Pattern, Terms
from wainwright.running.places import Place

# Looks where linkers look, and beside the libraries given: `script PATH` before the words of each, which are resolved
# as ld does: `name PATH REAL`. A script is a few lines; glibc's and ncurses' are in every image for building.
FIND: Final = r"""
folders=$(
  {
    printf '%s\n' "$@" /usr/local/lib /usr/local/lib64 /usr/lib /usr/lib64 /usr/lib/*-linux-gnu* /opt/rh/*/root/usr/lib*
    "${CC:-cc}" -print-search-dirs 2>/dev/null | sed -n 's/^libraries: =//p' | tr : '\n'
  } | while IFS= read -r folder; do [ -d "$folder" ] && (cd "$folder" && pwd -P); done | awk '!seen[$0]++'
)
find_word() {
  case $1 in
    /*) [ -e "$1" ] && echo "$1"; return ;;
    -l*) word=lib${1#-l}.so ;;
    *) word=$1 ;;
  esac
  for folder in "${2%/*}" $folders; do
    [ -e "$folder/$word" ] && echo "$folder/$word" && return
  done
}
for folder in $folders; do
  find "$folder" -maxdepth 1 -name '*.so*' -type f -size -9 -exec \
    grep -IlE '(GROUP|INPUT)[[:space:]]*\(' {} + 2>/dev/null
done | while IFS= read -r script; do
  printf 'script\t%s\n' "$script"
  tr '\n' ' ' <"$script" | sed -e 's#/\*[^*]*\*\**\([^/*][^*]*\*\**\)*/# #g' \
    -e 's/\(OUTPUT_FORMAT\|OUTPUT_ARCH\|SEARCH_DIR\|TARGET\) *([^)]*)/ /g' | tr '(),;" ' '\n' |
    while IFS= read -r word; do
      case $word in ''|GROUP|INPUT|AS_NEEDED) continue ;; esac
      path=$(find_word "${word#=}" "$script")
      [ -n "$path" ] && printf 'name\t%s\t%s\n' "$path" "$(readlink -f "$path")"
    done
done
true
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One such file in a build image, and the names of the libraries to which it leads, as DT_NEEDED spells them."""

    path: str
    leads_to: tuple[str, ...]

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name

    def is_named_by(self, pattern: Pattern) -> bool:
        """Whether a pattern names this very file; one with a star names what is there, and needs no following."""
        if pattern.is_path:
            return pattern.text in {self.path, self.path.removeprefix("/usr")}
        return pattern.text == self.name


def find_scripts(place: Place, libraries: Iterable[Outside], log: Path) -> tuple[Script, ...]:
    """Look for linker scripts in a place; what they name is spelled as the loader has spelled these libraries.

    It gives none where the place has no linker, or not the tools to look for them.
    """
    libraries = tuple(libraries)
    folders = {str(PurePosixPath(path).parent) for each in libraries for path in (each.path, each.real_path)}
    done = place.run(["sh", "-c", FIND, "sh", *sorted(folders)], env=place.environment(), log=log, capture=True)
    sonames = {library.real_path: library.soname for library in libraries}
    named = _parsed(done.stdout)
    scripts = (Script(path=path, leads_to=tuple(_leads_to(path, named, sonames))) for path in named)
    return tuple(script for script in scripts if script.leads_to)


def _parsed(text: str) -> dict[str, list[tuple[str, str]]]:
    """Read what FIND printed: the paths that each script names, as written and with every link resolved."""
    named: dict[str, list[tuple[str, str]]] = {}
    words: list[tuple[str, str]] = []
    for line in text.splitlines():
        kind, _, rest = line.partition("\t")
        if kind == "script":
            words = named.setdefault(rest, [])
        elif kind == "name":
            path, _, real = rest.partition("\t")
            words.append((path, real))
    return named


def _leads_to(
    script: str,
    named: Mapping[str, list[tuple[str, str]]],
    sonames: Mapping[str, str],
    seen: frozenset[str] = frozenset(),
) -> Iterator[str]:
    given: set[str] = set()
    for path, real in named[script]:
        if real in named:
            names = tuple(_leads_to(real, named, sonames, seen | {script})) if real not in seen | {script} else ()
        else:
            names = tuple(_name_of(path, real, sonames))
        for name in names:
            if name not in given:
                given.add(name)
                yield name


def _name_of(path: str, real: str, sonames: Mapping[str, str]) -> Iterator[str]:
    """Spell a library as DT_NEEDED does: as the loader found it, else by the first file name that has a version."""
    if real in sonames:
        yield sonames[real]
        return
    names = [PurePosixPath(each).name for each in (path, real)]
    name = next((name for name in names if ".so." in name), names[-1])
    if ".so" in name:  # an archive goes into what is linked
        yield name


def followed(terms: Terms, scripts: Iterable[Script]) -> Terms:
    """Give the terms with each pattern that names a linker script meaning what that leads to as well."""
    scripts = tuple(scripts)

    def follow(pattern: Pattern) -> Pattern:
        names = (name for script in scripts if script.is_named_by(pattern) for name in script.leads_to)
        return replace(pattern, leads_to=tuple(dict.fromkeys(names)))

    return replace(
        terms,
        exclude=tuple(map(follow, terms.exclude)),
        exclude_optional=tuple(map(follow, terms.exclude_optional)),
        bundle=tuple(map(follow, terms.bundle)),
        keep_name=tuple(map(follow, terms.keep_name)),
        forbid=tuple(map(follow, terms.forbid)),
        provided_by=tuple((follow(pattern), distribution) for pattern, distribution in terms.provided_by),
    )
