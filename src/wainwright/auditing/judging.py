"""From a case to its verdict: every rule asked, each finding weighed by the terms."""

from __future__ import annotations

from wainwright.auditing.case import Case
from wainwright.auditing.policy import load_policies
from wainwright.auditing.rules import RULES
from wainwright.auditing.terms import Terms
from wainwright.auditing.verdict import Finding, Need, Severity, Verdict
from wainwright.values import Glibc


def judge(case: Case) -> Verdict:
    """Ask every rule about one wheel."""
    found: dict[Severity, list[Finding]] = {severity: [] for severity in Severity}
    waived: dict[str, None] = {}
    for rule in RULES:
        severity = _weight(rule.name, rule.severity, case.terms)
        broken = sorted(rule.check(case), key=lambda finding: finding.order)
        found[severity].extend(broken)
        if broken and (rule.severity, severity) == (Severity.VIOLATION, Severity.WARNING):
            waived[rule.name] = None
    return Verdict(
        wheel=case.name.filename,
        sha256=case.wheel.sha256,
        arch=case.arch,
        claimed=tuple(claim.tag for claim in case.claims),
        measured=case.measured,
        libraries=case.fates.libraries,
        violations=tuple(found[Severity.VIOLATION]),
        warnings=tuple(found[Severity.WARNING]),
        notes=tuple(found[Severity.NOTE]),
        needs=_told(case),
        matched=tuple(case.fates.matched.items()),
        waived=tuple(waived),
    )


def _weight(name: str, severity: Severity, terms: Terms) -> Severity:
    """Terms move a rule: what is denied is a violation, what is allowed is only told."""
    if name in terms.deny:
        return Severity.VIOLATION
    if name in terms.allow and severity is Severity.VIOLATION:
        return Severity.WARNING
    return severity


def _told(case: Case) -> tuple[Need, ...]:
    """Give the needs above the lowest policy, the hardest first; symbols where they are sure to have been read."""
    policies = load_policies()
    lowest = policies.lowest(case.arch) if case.arch in policies.arches() else Glibc(0, 0)
    told = []
    for need in case.needs:
        if not need.counts or (need.glibc is not None and need.glibc <= lowest):
            continue
        decides = need.glibc is None or not all(claim.offers(need.version) for claim in case.claims)
        if need.glibc == case.measured.glibc:
            decides = decides or case.wheel.by_name[need.member].order in case.named
        told.append(need.told(with_symbols=decides))
    return tuple(sorted(told, key=_hardest_first))


def _hardest_first(need: Need) -> tuple[bool, tuple[int, int], str, str, str]:
    return (need.glibc is not None, _down(need.glibc), need.member, need.library, need.version)


def _down(glibc: Glibc | None) -> tuple[int, int]:
    return (-glibc.major, -glibc.minor) if glibc is not None else (0, 0)
