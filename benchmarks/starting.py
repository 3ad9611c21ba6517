"""How long it takes to start: the processor time behind `wainwright audit --help`, and `nox -l` against bare Nox."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from measuring import Contestant, race

HELP_SECONDS: Final = 0.150
NOX_RATIO: Final = 1.5
ROUNDS: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """`help_cpu` beside what Python itself takes, and Nox with this release beside an empty noxfile, in seconds."""

    help_cpu: float
    python_cpu: float
    nox: float
    bare_nox: float

    @property
    def ratio(self) -> float:
        return self.nox / self.bare_nox

    @property
    def met(self) -> bool:
        return self.help_cpu < HELP_SECONDS and self.ratio <= NOX_RATIO


def measure(root: Path, folder: Path) -> Start:
    """Measure with the release.toml at `root`."""
    folder.mkdir(parents=True, exist_ok=True)
    empty, ours = folder / "empty.py", folder / "ours.py"
    empty.write_text("import nox\n")
    text = f"import wainwright.sessions\nwainwright.sessions.register({str(root / 'release.toml')!r})\n"
    ours.write_text(text)
    python = sys.executable
    found = race(
        (
            Contestant(name="help", argv=[python, "-m", "wainwright", "audit", "--help"]),
            Contestant(name="python", argv=[python, "-c", "pass"]),
            Contestant(name="nox", argv=[python, "-m", "nox", "-l", "-f", str(ours)]),
            Contestant(name="bare", argv=[python, "-m", "nox", "-l", "-f", str(empty)], accept=frozenset({3})),
        ),
        rounds=ROUNDS,
        budget=60,
    )
    return Start(
        help_cpu=found["help"].cpu, python_cpu=found["python"].cpu, nox=found["nox"].cpu, bare_nox=found["bare"].cpu
    )
