"""A finding: one thing that stands in the way of a release, found before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from wainwright.errors import Exit, WainwrightError


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is wrong, where, and what to do; `code` is what it would have ended a publication with."""

    where: str
    what: str
    hint: str = ""
    details: tuple[str, ...] = ()
    code: Exit = Exit.REFUSED

    @classmethod
    def of(cls, error: WainwrightError, where: str = "") -> Finding:
        return cls(where=error.where or where, what=error.what, hint=error.hint, details=error.details, code=error.code)

    @property
    def error(self) -> WainwrightError:
        """The error that it ends with where nothing else can be looked at."""
        return WainwrightError(self.what, code=self.code, where=self.where, hint=self.hint, details=self.details)

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}", *(f"  {line}" for line in self.details)]
        lines += [f"  hint: {line}" for line in self.hint.splitlines()]
        return "\n".join(lines)


def gather(checks: Iterable[Callable[[], Iterable[Finding]]]) -> tuple[Finding, ...]:
    """Carry out every check; one that breaks off becomes a finding itself, and the others go on."""
    found: list[Finding] = []
    for check in checks:
        try:
            found += check()
        except WainwrightError as error:
            found.append(Finding.of(error))
    return tuple(dict.fromkeys(found))


def refuse(findings: Sequence[Finding], what: str) -> None:
    """Raise WainwrightError with all findings, if there are any: REFUSED, or the code that all of them share."""
    if not findings:
        return
    codes = {finding.code for finding in findings}
    count = f"{len(findings)} things" if len(findings) > 1 else "one thing"
    raise WainwrightError(
        f"{count} must be mended before {what}",
        code=codes.pop() if len(codes) == 1 else Exit.REFUSED,
        details=tuple(str(finding) for finding in findings),
    )
