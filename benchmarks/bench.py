"""Races wainwright against what people use, on real wheels: `nox -s bench`, or `nox -s bench -- --quick`.

Ends with exit code 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # for the compiler

import samples  # noqa: E402
from contests import CONTESTS, Row, hold  # noqa: E402
from reporting import document, markdown, shortfalls  # noqa: E402
from starting import Start, measure  # noqa: E402


def main() -> int:
    options = _options()
    races: dict[str, list[Row]] = {}
    start: Start | None = None
    wheels = samples.fetch(options.cache, quick=options.quick, only=options.only)
    with tempfile.TemporaryDirectory(prefix=".race-", dir=options.cache) as folder:
        for name in options.contest.split(","):
            if name == "start":
                start = measure(ROOT, Path(folder, "start"))
                continue
            for wheel in wheels:
                row = hold(name, wheel, Path(folder, "race"), rounds=options.rounds, budget=options.budget)
                races.setdefault(name, []).append(row)
                over = f", {row.over_best:.2f} times the best possible" if row.over_best else ""
                print(f"{name} {wheel.name}: {row.ratio:.1f} times as fast{over}", file=sys.stderr, flush=True)
                _write(options.out, races, start)
    print(_write(options.out, races, start))
    missed = any(True for name, rows in races.items() for _ in shortfalls(CONTESTS[name][0], rows))
    return int(missed or (start is not None and not start.met))


def _write(folder: Path, races: dict[str, list[Row]], start: Start | None) -> str:
    """Write what is measured so far, since all of it takes an hour, and give it as text."""
    text = markdown(races, start)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bench.md").write_text(text + "\n", encoding="utf-8")
    (folder / "bench.json").write_text(json.dumps(document(races, start), indent=2) + "\n", encoding="utf-8")
    return text


def _options() -> argparse.Namespace:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wainwright" / "bench"
    parser = argparse.ArgumentParser(prog="nox -s bench --", description=__doc__, allow_abbrev=False)
    parser.add_argument("--quick", action="store_true", help="three wheels instead of ten")
    parser.add_argument("--only", metavar="NAMES", help="these wheels, such as tiny,scipy")
    parser.add_argument(
        "--contest", default=",".join([*CONTESTS, "start"]), metavar="NAMES", help="default: %(default)s"
    )
    parser.add_argument("--rounds", type=int, default=5, help="at most this often; default: %(default)s")
    parser.add_argument(
        "--budget", type=float, default=60, help="seconds for a command on a wheel; default: %(default)s"
    )
    parser.add_argument("--cache", type=Path, default=cache, help="where the wheels are kept; default: %(default)s")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where bench.md and bench.json go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
