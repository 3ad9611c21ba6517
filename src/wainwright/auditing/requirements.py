"""Requires-Dist on Linux: which requirements an installer follows there when it is asked for no extra."""

from __future__ import annotations

from itertools import product

from wainwright.light import Final

MINORS: Final = ("2.7", *(f"3.{minor}" for minor in range(6, 16)))
MACHINES: Final = ("x86_64", "aarch64")
IMPLEMENTATIONS: Final = (("cpython", "CPython"), ("pypy", "PyPy"))


def applies(requirement: str) -> bool:
    """Whether some Python on Linux would have it installed; what cannot be read is taken at its word."""
    _, semicolon, marker = requirement.partition(";")
    if not semicolon:
        return True
    from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName

    try:
        parsed = Marker(marker)
        return any(parsed.evaluate(_environment(*each)) for each in product(MINORS, MACHINES, IMPLEMENTATIONS))
    except (InvalidMarker, UndefinedEnvironmentName, ValueError):
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
