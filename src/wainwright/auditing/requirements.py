"""Requires-Dist: what is a requirement, and which an installer on Linux follows when it is asked for no extra.

packaging is imported for the rare ones alone, since that takes as long as the audit of a small wheel.
"""

from __future__ import annotations

import re
from itertools import product

from wainwright.light import Final

MINORS: Final = ("2.7", *(f"3.{minor}" for minor in range(6, 16)))
MACHINES: Final = ("x86_64", "aarch64")
IMPLEMENTATIONS: Final = (("cpython", "CPython"), ("pypy", "PyPy"))

# What nearly all look like: a name with extras, versions, a marker. Few parts stand twice, since compiling takes its
# time, and no space may be repeated, so that nothing is tried twice.
CLAUSE: Final = (
    r"(?:[=!]= ?[0-9]+(?:\.[0-9]+)*\.\*|(?:[<>]=? ?|[=!]= ?|~= ?[0-9]+\.)[0-9]+(?:\.[0-9]+)*"
    r"(?:(?:a|b|rc|\.post|\.dev)[0-9]+)?)"
)
VARIABLE: Final = (
    "(?:extra|(?:python|implementation)_version|python_full_version|os_name|sys_platform|implementation_name"
    "|platform_(?:machine|system|python_implementation))"
)
PLAIN: Final = (
    r"[A-Za-z0-9]+(?:[._-]+[A-Za-z0-9]+)*(?:\[[a-z0-9]+(?:[-_.,][a-z0-9]+)*\])?"
    rf" ?(\()?(?:{CLAUSE}(?: ?, ?(?=[<>=!~])|(?=[ ;)]|\Z)))*(?(1)\)) ?"
    rf"""(?:; ?(?:{VARIABLE} ?(?:[<>]=?|[=!]=) ?(?:"[^'"]*"|'[^'"]*')(?: (?:and|or) (?=[a-z])|\Z))+)?"""
)


def is_requirement(text: str) -> bool:
    """Whether pip takes a Requires-Dist for one (PEP 508)."""
    if re.fullmatch(PLAIN, text):
        return True
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        Requirement(text)
    except (InvalidRequirement, RecursionError):
        return False
    return True


def applies(requirement: str) -> bool:
    """Whether some Python on Linux would have it installed; what cannot be read is taken at its word."""
    _, semicolon, marker = requirement.partition(";")
    if not semicolon:
        return True
    from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName

    try:
        parsed = Marker(marker)
        return any(parsed.evaluate(_environment(*each)) for each in product(MINORS, MACHINES, IMPLEMENTATIONS))
    except (InvalidMarker, UndefinedEnvironmentName, ValueError, RecursionError):
        return True


def _environment(minor: str, machine: str, implementation: tuple[str, str]) -> dict[str, str]:
    return {
        "extra": "",
        "implementation_name": implementation[0],
        "implementation_version": f"{minor}.0",
        "os_name": "posix",
        "platform_machine": machine,
        "platform_python_implementation": implementation[1],
        "platform_system": "Linux",
        "platform_release": "",
        "platform_version": "",
        "python_full_version": f"{minor}.0",
        "python_version": minor,
        "sys_platform": "linux",
    }
