"""What a wheel claims by its platform tags: for each manylinux or musllinux tag, the policy that it must keep."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from wainwright.auditing.policy import Policies, Policy
from wainwright.light import Final, dataclass
from wainwright.values import LEGACY_ALIASES, Glibc

# PEP 600, PEP 656, and the legacy names of PEP 513, 571 and 599
PLATFORM: Final = re.compile(
    r"(?:linux|(?P<libc>many|musl)linux_(?P<version>[0-9]+_[0-9]+)|(?P<legacy>manylinux[0-9]+))_(?P<arch>\w+)"
)
LEGACY: Final = {alias: Glibc(*version) for version, (alias, _) in LEGACY_ALIASES.items()}
# Other names of what is the same code to the loader
SAME: Final = {"armv6l": "armv7l", "armv8l": "armv7l", "i386": "i686", "i486": "i686", "i586": "i686"}
# What people write for the name that Linux has, and pip's tags with it
MEANT: Final = {"amd64": "x86_64", "x64": "x86_64", "x86": "i686", "arm64": "aarch64", "ppc64el": "ppc64le"}
X86: Final = frozenset({"x86_64", "i686"})
# packaging.tags, platform_tags: "CentOS 6 (glibc 2.12) … manylinux1 (glibc 2.5)" for x86, 2.17 for all others
OLDEST: Final = {True: Glibc(2, 5), False: Glibc(2, 17)}
LINUX: Final = re.compile(r"(?:many|musl)?linux(?:[0-9_].*)?")
RELR_GLIBC: Final = Glibc(2, 36)
RELR_MUSL: Final = Glibc(1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One tag and the policy behind it. Each tag is a claim of its own: installers believe any."""

    tag: str
    policy: Policy

    @property
    def libc(self) -> str:
        return self.policy.libc

    def offers(self, version: str) -> bool:
        """Whether every system of the claim has this version of the library that it is needed from."""
        return _admits(self.policy, version)

    @property
    def relocates_packed(self) -> bool:
        """Whether some system of the claim has a loader that understands DT_RELR.

        Of glibc each has; musl's does since 1.2.4, and a musllinux tag says no more than 1.2.
        """
        return self.policy.version >= (RELR_MUSL if self.libc == "musl" else RELR_GLIBC)


@lru_cache(maxsize=4096)
def _admits(policy: Policy, version: str) -> bool:
    return policy.admits(version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Platforms:
    """A wheel's platform tags read: the claims, lowest first, architectures, and tags that no policy is for.

    `dead` are tags that no installer ever takes, each with the reason as a clause.
    `anywhere` is whether `any` is among them: the promise that nothing inside depends on a platform.
    """

    claims: tuple[Claim, ...]
    arches: tuple[str, ...]
    unjudged: tuple[str, ...]
    dead: tuple[tuple[str, str], ...]
    linux: bool  # whether any tag is Linux's
    anywhere: bool


def read_platforms(platforms: Iterable[str], policies: Policies) -> Platforms:
    """Read a file name's platform tags."""
    claims: dict[str, Claim] = {}
    arches: dict[str, None] = {}
    unjudged: list[str] = []
    dead: dict[str, str] = {}
    linux = False
    platforms = tuple(platforms)
    for tag in dict.fromkeys(platforms):
        match = PLATFORM.fullmatch(tag)
        linux = linux or match is not None or LINUX.fullmatch(tag) is not None
        why = _why_dead(tag, match)
        if why:
            dead[tag] = why
        if match is None and not why and tag != "any":
            unjudged.append(tag)
        if match is None or why:
            continue
        arch = SAME.get(match["arch"], match["arch"])
        arches[arch] = None
        libc = "musl" if match["libc"] == "musl" else "glibc"
        version = Glibc.parse(match["version"]) if match["version"] else LEGACY.get(match["legacy"] or "")
        if version is None:
            if match["legacy"]:
                unjudged.append(tag)
        elif arch not in policies.arches(libc):
            unjudged.append(tag)
        else:
            claims[tag] = Claim(tag=tag, policy=_policy(policies, libc, version, arch))
    ordered = sorted(claims.values(), key=lambda claim: (claim.libc, claim.policy.version, claim.tag))
    return Platforms(
        claims=tuple(ordered), arches=tuple(arches), unjudged=tuple(unjudged), dead=tuple(dead.items()), linux=linux,
        anywhere="any" in platforms,
    )  # fmt: skip


def _why_dead(tag: str, match: re.Match[str] | None) -> str:
    """Say why pip takes a tag on no system; empty where it does on some, or where the tag is not Linux's."""
    if match is None:
        return "it names no architecture" if LINUX.fullmatch(tag) else ""
    arch, legacy, spelled = match["arch"], match["legacy"], match["version"]
    if arch in MEANT:
        return f"Linux calls that architecture {MEANT[arch]}"
    if re.fullmatch(r"x86_64_v[0-9]", arch):
        return "no tag names a level of the processor"
    if legacy and legacy not in LEGACY:
        return f"there is no {legacy}: since PEP 600 a tag spells glibc's version, as manylinux_2_28_{arch} does"
    if not spelled and not legacy:
        return ""
    try:
        version = Glibc.parse(spelled) if spelled else LEGACY[legacy]
    except ValueError:
        return f"{spelled} is no version of a C library"
    if spelled and version.slug != spelled:
        return f"its version is spelled {version.slug}"
    oldest = OLDEST[arch in X86]
    if match["libc"] != "musl" and version < oldest:
        return f"installers know no manylinux before glibc {oldest} on {arch}"
    return ""


def _policy(policies: Policies, libc: str, version: Glibc, arch: str) -> Policy:
    return policies.at(version, arch) if libc == "glibc" else policies.musl(version, arch)


def claim_of(glibc: Glibc, arch: str, policies: Policies) -> Claim:
    """Give the claim that somebody makes for a wheel, whatever its tags are."""
    return Claim(tag=f"manylinux_{glibc.slug}_{arch}", policy=policies.at(glibc, arch))
