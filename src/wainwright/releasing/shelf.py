"""Where the earlier wheel of a job is kept, so that it is downloaded once, and the answer for a tag asked for once."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from wainwright.receipts import Artifact, replace_text
from wainwright.releasing.earlier import Published

RECORD: Final = "earlier.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """A folder below `root` for the one wheel that a job was last compared with, and a record of which that was.

    What is half lies in `root` itself, which is swept.
    """

    root: Path
    job: str

    @property
    def folder(self) -> Path:
        return self.root / "earlier" / self.job

    def known(self, question: str) -> Path | None:
        """Give the wheel that was the answer to this very question, if its bytes are still those."""
        try:
            record = json.loads((self.folder / RECORD).read_bytes())
            kept, asked = Artifact(**record["wheel"]), record["question"]
            path = self.folder / Path(kept.name).name
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None
        return path if asked == question and path.is_file() and Artifact.of(path) == kept else None

    def place(self, wheel: Published) -> Path:
        return self.folder / wheel.name.filename

    def holds(self, wheel: Published) -> bool:
        path = self.place(wheel)
        return path.is_file() and wheel.digests == {Artifact.of(path).sha256}

    def fetch(self, wheel: Published, *, where: str) -> None:
        """Download the wheel in place of any other; raises WainwrightError as its own `fetch`."""
        with tempfile.TemporaryDirectory(prefix=".tmp-earlier-", dir=self.root) as temporary:
            fresh = Path(temporary, "wheel")
            with fresh.open("w+b") as file:
                wheel.fetch(file, where=where)
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            fresh.replace(self.place(wheel))

    def record(self, wheel: Published, question: str) -> None:
        """Note that the wheel here is the answer to a question."""
        record = {"question": question, "wheel": asdict(Artifact.of(self.place(wheel)))}
        replace_text(self.folder / RECORD, json.dumps(record, indent=2) + "\n")
