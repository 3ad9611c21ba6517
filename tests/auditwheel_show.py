"""`auditwheel show --json` of many wheels in one process: its start costs more than most of its verdicts.

The libraries of this machine are kept out of its sight (--ldpaths with an empty folder), or its verdict would be one on
the machine. Arguments: that folder, then wheels; prints one JSON object, a wheel's name → what it printed.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import sys
from pathlib import Path
from typing import Any


def show(wheel: Path, empty: str) -> dict[str, Any]:
    from auditwheel.main import main  # type: ignore[import-untyped,import-not-found,unused-ignore]

    out = io.StringIO()
    sys.argv = ["auditwheel", "show", "--json", "--ldpaths", empty, str(wheel)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            code = main()
    except SystemExit as error:
        code = error.code
    except Exception as error:  # noqa: BLE001 - it has no errors of its own: whatever it raises is its answer
        return {"error": f"{type(error).__name__}: {error}"}
    try:
        found: dict[str, Any] = json.loads(out.getvalue())
    except json.JSONDecodeError:
        return {"error": f"exit {code}: {out.getvalue()[-500:]}"}
    return found


if __name__ == "__main__":
    logging.raiseExceptions = False  # it logs to the stream that is redirected
    folder, *wheels = sys.argv[1:]
    answers = {Path(wheel).name: show(Path(wheel), folder) for wheel in wheels}
    print(json.dumps(answers))  # noqa: T201 - the answer
