"""A wheel's file name as a value, with the spelling that was found."""

from __future__ import annotations

import re
from itertools import product

from wainwright.formats.zipdirectory import ArchiveError
from wainwright.light import Final, dataclass

# Versions as most are: PEP 440 has nothing to normalise in them, and packaging need not be imported.
PLAIN: Final = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){0,4}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelName:
    """A wheel's file name. The first six fields are as spelled, tag sets in their order; `tags` is their product."""

    filename: str
    distribution: str
    version: str
    build: str
    pythons: tuple[str, ...]
    abis: tuple[str, ...]
    platforms: tuple[str, ...]
    project: str  # PEP 503: my-pkg
    public_version: str  # PEP 440, normalised, with its local label

    @property
    def tags(self) -> frozenset[str]:
        return frozenset("-".join(tag) for tag in product(self.pythons, self.abis, self.platforms))

    @property
    def normalised(self) -> str:
        """The same file name as the binary distribution format wants it spelled."""
        parts = [self.project.replace("-", "_"), self.public_version.replace("-", "_")]
        sets = (self.pythons, self.abis, self.platforms)
        return "-".join([*parts, *([self.build] if self.build else []), *(".".join(tags) for tags in sets)]) + ".whl"


def parse_wheel_name(filename: str) -> WheelName:
    """Read `name-version[-build]-python-abi-platform.whl`; raises ArchiveError for what is no wheel's name.

    It takes what packaging's `parse_wheel_filename` takes, whose import is most of the time that a retag needs.
    """
    stem = filename.removesuffix(".whl")
    parts = stem.split("-")
    if stem == filename or len(parts) not in {5, 6}:
        raise _no_wheel_name(filename, "it has five or six parts between dashes, and ends with .whl")
    distribution, spelled, *build, python, abi, platform = parts
    if not re.fullmatch(r"[\w.]+", distribution) or "__" in distribution:
        raise _no_wheel_name(filename, f"{distribution!r} is not the name of a project")
    try:
        version = normal_version(spelled)
    except ValueError:
        raise _no_wheel_name(filename, f"{spelled!r} is not a version") from None
    if build and not re.match(r"[0-9]", build[0]):
        raise _no_wheel_name(filename, f"{build[0]!r} is not a build number, which begins with a digit")
    pythons, abis, platforms = (tuple(each.lower().split(".")) for each in (python, abi, platform))
    if not all((*pythons, *abis, *platforms)) or not all(map(str.isidentifier, pythons)):
        tags = f"{python}-{abi}-{platform}"
        raise _no_wheel_name(filename, f"{tags!r} is not a set of tags")
    return WheelName(
        filename=filename, distribution=distribution, version=spelled, build="".join(build), pythons=pythons,
        abis=abis, platforms=platforms, project=canonical_name(distribution), public_version=version,
    )  # fmt: skip


def _no_wheel_name(filename: str, why: str) -> ArchiveError:
    hint = "a wheel is named NAME-VERSION-PYTHON-ABI-PLATFORM.whl"
    return ArchiveError("this is not a wheel's file name", where=filename, hint=hint, details=(why,))


def canonical_name(project: str) -> str:
    """Normalise a project's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", project).lower()


def normal_version(text: str) -> str:
    """Normalise a version (PEP 440); raises ValueError for what is none."""
    if PLAIN.fullmatch(text):
        return text
    from packaging.version import Version

    return str(Version(text))


def same_version(one: str, other: str) -> bool:
    """Whether two versions mean the same (PEP 440), as 1.0 and 1.0.0 do; what is none equals itself."""
    if one == other:
        return True
    from packaging.version import Version

    try:
        return Version(one) == Version(other)
    except ValueError:  # InvalidVersion, and numbers of more digits than Python reads
        return False
