"""The values behind release.toml: frozen, complete and sound once `config.load` has made them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from wainwright.auditing.terms import Pattern
from wainwright.values import Glibc, Python

if TYPE_CHECKING:
    from packaging.version import Version

NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})
DEFAULT_COMMAND: Final = "{python} -m pip wheel --no-deps --wheel-dir {out} {source}"
HOST: Final = "host"
LATEST: Final = "latest"  # in diff.against: the newest release before this one
NIGHTLY: Final = "nightly"  # there the newest nightly; after `--` it stands in place of a tag
PUBLIC: Final = frozenset({"pypi", "testpypi"})  # the indexes that twine knows by name without any ~/.pypirc


def _nothing() -> Mapping[Any, Any]:
    return NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """The source is a folder: what git tracks in it, or all of it outside git."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Sdist:
    """The source is a published sdist, pinned: `ujson==5.10.0`."""

    requirement: str

    @property
    def name(self) -> str:
        return self.requirement.partition("==")[0].strip()

    @property
    def version(self) -> str:
        return self.requirement.partition("==")[2].strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """The source is a revision of a git repository; `url` may be a local path."""

    url: str
    rev: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """What is released. `tag` holds `{version}` once; an empty `python` means the one that runs the pipeline."""

    source: Directory | Sdist | Git
    tag: str = "v{version}"
    python: tuple[Python, ...] = ()

    def version_of(self, tag: str) -> str | None:
        """Give the version that a git tag spells, or None for a tag of something else."""
        before, _, after = self.tag.partition("{version}")
        match = re.fullmatch(f"{re.escape(before)}(.+){re.escape(after)}", tag)
        return match[1] if match else None

    def release_of(self, tag: str) -> Version | None:
        """Give the version of the release that a tag is for, None for a tag that spells none (PEP 440)."""
        spelled = self.version_of(tag)
        if spelled is None:
            return None
        from packaging.version import InvalidVersion, Version

        try:
            return Version(spelled)
        except InvalidVersion:
            return None

    def is_path(self, against: str) -> bool:
        """Tell the path of a wheel or of a folder in `diff.against` from `latest`, `nightly` and a tag."""
        return (against.endswith(".whl") or "/" in against) and self.release_of(against) is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What having a backend, or lacking it, sets in a build."""

    env: Mapping[str, str] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Libraries:
    """Outside libraries by fate; see `[variants.NAME.libraries]`."""

    exclude: tuple[Pattern, ...] = ()
    exclude_optional: tuple[Pattern, ...] = ()
    bundle: tuple[Pattern, ...] = ()
    keep_name: tuple[Pattern, ...] = ()
    forbid: tuple[Pattern, ...] = ()
    provided_by: tuple[tuple[Pattern, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """A feature that a variant has or lacks."""

    name: str
    on: Settings = Settings()
    off: Settings = Settings()
    libraries: Libraries = Libraries()


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A named place in which jobs run. `memory` in bytes, `time_limit` in seconds, `cpus` may be a fraction."""

    name: str
    ref: str | None = None
    dockerfile: Path | None = None
    toolchain: Literal["zig"] | None = None
    fallback: Literal["zig"] | None = None
    python: Mapping[Python, str] = field(default_factory=_nothing)
    memory: int | None = None
    cpus: float | None = None
    time_limit: float | None = None
    env: Mapping[str, str] = field(default_factory=_nothing)

    @property
    def is_host(self) -> bool:
        """Whether it is this machine, bare or with a toolchain, and not a container."""
        return self.name == HOST or (self.toolchain is not None and self.ref is None and self.dockerfile is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A glibc floor, the image that builds for it, and those in which its wheels must prove themselves."""

    glibc: Glibc
    image: str
    smoke: tuple[str, ...] = (HOST,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """How a wheel is made. `command` may hold `{python}`, `{out}` and `{source}`."""

    before: tuple[str, ...] = ()
    command: str = DEFAULT_COMMAND
    env: Mapping[str, str] = field(default_factory=_nothing)
    network: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """How a built wheel becomes an audited one, and which rules are stricter or milder than their default."""

    mode: Literal["repair", "retag", "check"] = "repair"
    isa: str | None = None
    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    licences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a wheel must hold and must not, as patterns over member names; `max_size` in bytes."""

    require: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    max_size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Which libraries a process has mapped from inside the wheel, from outside it, and exactly once."""

    inside: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    once: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoke:
    """What an installed wheel must do. An empty `images` means those of the target."""

    images: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    backends: str | None = None
    loaded: Loaded | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """What a wheel is compared with, and which differences fail it.

    `against` is LATEST, NIGHTLY, a tag, or a path from the folder of release.toml.
    """

    against: str
    fail_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A named way to build the project. `image` and `python` are None, and `arch` empty, where the default holds."""

    name: str
    backends: tuple[str, ...]
    glibc: tuple[Glibc, ...]
    image: str | None = None
    python: tuple[Python, ...] | None = None
    arch: tuple[str, ...] = ()
    local_version: str | None = None
    publish: tuple[str, ...] = ()
    build: Build = Build()
    libraries: Libraries = Libraries()
    audit: Audit = Audit()
    wheel: Contents = Contents()
    smoke: Smoke = Smoke()
    diff: Diff | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where proven wheels go: a package index, or the release page of a repository. `max_size` in bytes a file.

    `repository` names a GitHub repository, or an index: one of PUBLIC, or by its section of ~/.pypirc.
    """

    name: str
    kind: Literal["index", "github"]
    repository: str | None = None
    url: str | None = None
    simple: str | None = None
    max_size: int | None = None
    local_versions: bool = False
    index: bool = False
    nightly: bool = False

    @property
    def is_known(self) -> bool:
        """Whether its pages and its rules are known, so that release.toml has nothing to say of them."""
        return self.kind == "github" or self.repository in PUBLIC


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The whole of a release.toml, in the order of the file; `root` is its folder."""

    path: Path
    root: Path
    project: Project
    backends: Mapping[str, Backend]
    images: Mapping[str, Image]
    targets: Mapping[Glibc, Target]
    variants: Mapping[str, Variant]
    publish: Mapping[str, Destination]
