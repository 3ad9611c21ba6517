"""What a build with zig did not find, and why: zig sees none of the headers and libraries of the place it works in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

# Of zig and clang, lld, CMake, Meson, pkg-config
_ABSENT: Final = re.compile(
    r"fatal error: '([^']+)' file not found"
    r"|unable to find \w+ system library [\"']([^\"']+)[\"']"
    r"|unable to find library -l(\S+)"
    r"|Could NOT find (\w+)"
    r"|Dependency \"([^\"]+)\" not found"
    r"|No package '([^']+)' found"
)


def explanation(lines: Iterable[str]) -> str:
    """Say why what a failed build looked for may not be found; nothing when it looked for nothing."""
    found = dict.fromkeys(next(filter(None, match.groups())) for line in lines for match in _ABSENT.finditer(line))
    if not found:
        return ""
    if any(name.endswith("Python.h") for name in found):
        return "Python.h is not there: Python's headers are in a package of their own, python3-dev on Debian"
    return (
        f"zig does not see the machine's own headers and libraries, which are of another glibc: {', '.join(found)} "
        "must come with the source, from a package that the build requires, or from a folder that CFLAGS and LDFLAGS "
        "name; or build in a container image that has it, without zig"
    )
