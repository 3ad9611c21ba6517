"""Says how many there are of something: `1 job`, `2 jobs`."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
