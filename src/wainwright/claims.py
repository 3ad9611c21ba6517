"""What a wheel claims by its platform tags: for each manylinux or musllinux tag, the policy that it must keep."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from wainwright.policy import Policies, Policy
from wainwright.values import LEGACY_ALIASES, Glibc

# PEP 600, PEP 656, and the legacy names of PEP 513, 571 and 599
PLATFORM: Final = re.compile(
    r"(?:linux|(?P<libc>many|musl)linux_(?P<version>[0-9]+_[0-9]+)|(?P<legacy>manylinux[0-9]+))_(?P<arch>\w+)"
)
LEGACY: Final = {alias: Glibc(*version) for version, (alias, _) in LEGACY_ALIASES.items()}
# Other names of what is the same code to the loader
SAME: Final = {"armv6l": "armv7l", "armv8l": "armv7l", "i386": "i686", "i486": "i686", "i586": "i686"}
RELR_GLIBC: Final = Glibc(2, 36)


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
        """Whether glibc's loader understands DT_RELR; musl's does since 1.2.4, which a musllinux tag cannot say."""
        return self.libc == "musl" or self.policy.version >= RELR_GLIBC


@lru_cache(maxsize=4096)
def _admits(policy: Policy, version: str) -> bool:
    return policy.admits(version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Platforms:
    """A wheel's platform tags read: the claims, lowest first, architectures, and tags that no policy is for.

    `anywhere` is whether `any` is among them: the promise that nothing inside depends on a platform.
    """

    claims: tuple[Claim, ...]
    arches: tuple[str, ...]
    unjudged: tuple[str, ...]
    linux: bool  # whether any tag is Linux's
    anywhere: bool


def read_platforms(platforms: Iterable[str], policies: Policies) -> Platforms:
    """Read a file name's platform tags."""
    claims: dict[str, Claim] = {}
    arches: dict[str, None] = {}
    unjudged: list[str] = []
    linux = False
    platforms = tuple(platforms)
    for tag in dict.fromkeys(platforms):
        match = PLATFORM.fullmatch(tag)
        if match is None:
            continue
        linux = True
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
        claims=tuple(ordered), arches=tuple(arches), unjudged=tuple(unjudged), linux=linux, anywhere="any" in platforms,
    )  # fmt: skip


def _policy(policies: Policies, libc: str, version: Glibc, arch: str) -> Policy:
    return policies.at(version, arch) if libc == "glibc" else policies.musl(version, arch)


def claim_of(glibc: Glibc, arch: str, policies: Policies) -> Claim:
    """Give the claim that somebody makes for a wheel, whatever its tags are."""
    return Claim(tag=f"manylinux_{glibc.slug}_{arch}", policy=policies.at(glibc, arch))
