"""Bytes on their way in: hashed, counted, and kept where a file is given."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import IO


class Sink:
    """Takes a download block by block. It begins `into` anew: what an attempt before has left there is gone."""

    def __init__(self, into: IO[bytes] | None = None) -> None:
        self.size = 0
        self._digest = hashlib.sha256()
        self._into = into
        if into is not None:
            into.seek(0)
            into.truncate()

    def take(self, block: bytes) -> None:
        self.size += len(block)
        self._digest.update(block)
        if self._into is not None:
            self._into.write(block)

    def take_all(self, blocks: Iterable[bytes]) -> None:
        for block in blocks:
            self.take(block)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()
