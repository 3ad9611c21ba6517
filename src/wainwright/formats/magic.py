"""How files begin that are told by their first bytes."""

from __future__ import annotations


def looks_like_elf(prefix: bytes) -> bool:
    """Whether a file that begins so means to be ELF."""
    return prefix[:4] == b"\x7fELF"


def is_linker_script(start: bytes) -> bool:
    """Whether a file that begins so is text for ld: GNU ld takes any file that is no object for a script."""
    return b"\0" not in start and any(word in start for word in (b"GNU ld script", b"INPUT", b"GROUP"))
