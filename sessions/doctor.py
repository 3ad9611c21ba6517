"""doctor: what this machine lacks for the release, and how to get it."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Final

from wainwright.counting import counted
from wainwright.doctor import Finding, examine
from wainwright.errors import Exit, WainwrightError
from wainwright.sessions.graph import Selection
from wainwright.sessions.pipeline import Pipeline, tell

SIGNS: Final = {"right": "ok", "lacking": "LACKS", "note": "note"}


def run(pipeline: Pipeline, selection: Selection) -> None:
    """Say what is there and what is not; raises WainwrightError (FELL_SHORT) when something lacks."""
    findings: list[Finding] = []
    for finding in examine(
        pipeline.release,
        pipeline.jobs(selection),
        run=pipeline.run,
        cache=pipeline.cache,
        environ=os.environ,
    ):
        findings.append(finding)
        if not pipeline.options.json:
            print(f"{SIGNS[finding.state]:<6} {finding.subject:<24} {finding.what}", flush=True)
            if finding.mend:
                print(f"{'':<31} {finding.mend}", flush=True)
    if pipeline.options.json:
        tell({"version": 1, "findings": [asdict(finding) for finding in findings]})
    lacking = [finding for finding in findings if finding.state == "lacking"]
    if lacking:
        raise WainwrightError(
            f"{counted(len(lacking), 'thing')} lacking",
            code=Exit.FELL_SHORT,
            details=tuple(f"{finding.subject}: {finding.what}" for finding in lacking),
            hint="each has what mends it below it, above",
        )
