"""auditwheel's policy files, read without importing auditwheel, and checked for the shape that is known here."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from types import MappingProxyType

from wainwright.errors import Exit, WainwrightError
from wainwright.light import Any, NoReturn, dataclass
from wainwright.values import Glibc


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One policy as auditwheel has it, for every architecture; `symbols` is architecture → namespace → versions.

    Of these only one architecture's are ever asked for, so that they stay the lists that JSON gave.
    """

    name: str
    version: Glibc
    symbols: Mapping[str, Mapping[str, Sequence[str]]]
    libraries: frozenset[str]
    blacklist: Mapping[str, frozenset[str]]

    def versions(self, arch: str) -> dict[str, frozenset[str]]:
        """Give the versions of each namespace on one architecture."""
        return {name: frozenset(versions) for name, versions in self.symbols[arch].items()}


def installed_data() -> str:
    """Find the folder of auditwheel's data; raises WainwrightError where it is not installed."""
    spec = find_spec("auditwheel")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        return posixpath.join(place, "policy")
    raise WainwrightError("auditwheel is not installed", code=Exit.AUDIT, hint="python -m pip install auditwheel")


def read_policies(path: str, prefix: str) -> tuple[Entry, ...]:
    """Read one file, lowest policy first; `prefix` is how its policies are named: `manylinux_`, `musllinux_`."""
    try:
        data = json.loads(_read(path))
    except (OSError, ValueError) as error:
        _differs(path, str(error))
    if not isinstance(data, list):
        _differs(path, "it is not a list of policies")
    entries = [
        _entry(path, item, prefix) for item in data if not (isinstance(item, dict) and item.get("name") == "linux")
    ]
    entries.sort(key=lambda entry: entry.version)
    if not entries:
        _differs(path, "it has no policies")
    return tuple(entries)


def _entry(path: str, item: Any, prefix: str) -> Entry:
    name = item.get("name") if isinstance(item, dict) else None
    if not isinstance(name, str) or not name.startswith(prefix):
        _differs(path, f"a policy is named {name!r}")
    symbols, libraries, blacklist = (item.get(key) for key in ("symbol_versions", "lib_whitelist", "blacklist"))
    try:
        version = Glibc.parse(name.removeprefix(prefix))
    except ValueError:
        _differs(path, f"a policy is named {name!r}")
    if not (isinstance(symbols, dict) and all(map(_is_lists, symbols.values()))):
        _differs(path, f"symbol_versions of {name} are not lists by architecture and namespace")
    if not (_is_names(libraries) and _is_lists(blacklist)):
        _differs(path, f"lib_whitelist or blacklist of {name} are not lists of names")
    if prefix == "manylinux_" and not all("GLIBC" in limits for limits in symbols.values()):
        _differs(path, f"{name} has no limit for GLIBC")
    return Entry(
        name=name,
        version=version,
        symbols=MappingProxyType(symbols),
        libraries=frozenset(libraries),
        blacklist=MappingProxyType({library: frozenset(names) for library, names in blacklist.items()}),
    )


def _read(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123 - an audit starts without pathlib
        return file.read()


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and set(map(type, value)) <= {str}


def _is_lists(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_names, value.values()))


def _differs(path: str, how: str) -> NoReturn:
    raise WainwrightError(
        f"auditwheel's policy data is not as it is known here: {how}",
        code=Exit.AUDIT,
        where=path,
        hint="install a version of auditwheel that this version of wainwright was tested with: 'auditwheel>=6.8,<7'",
    )
