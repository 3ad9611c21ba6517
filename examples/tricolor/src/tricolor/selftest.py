"""`python -m tricolor.selftest`: the same numbers added in every way that was built."""

from __future__ import annotations

import sys

import tricolor

VALUES = [index / 4 for index in range(10_001)]  # quarters, so that every order of adding gives the same
EXPECTED = 10_000 * 10_001 / 8


def main() -> int:
    wrong = 0
    for backend in tricolor.built_backends():
        total = tricolor.sum(VALUES, backend=backend)
        print(f"{backend}: {total}")
        wrong += total != EXPECTED
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
