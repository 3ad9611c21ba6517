"""Every rule of the audit, in the order in which a reader wants to hear of them."""

from __future__ import annotations

from typing import Final

from wainwright.case import Rule
from wainwright.rules import libraries, objects
from wainwright.verdict import Severity

RULES: Final = (
    Rule(name="symbol-version", check=libraries.symbol_version),
    Rule(name="private-symbol", check=libraries.private_symbol),
    Rule(name="packed-relocations", check=objects.packed_relocations),
    Rule(name="musl-packed-relocations", check=objects.musl_packed_relocations, severity=Severity.NOTE),
    Rule(name="missing-library", check=libraries.missing_library),
    Rule(name="unreachable-library", check=libraries.unreachable_library),
    Rule(name="forbidden-library", check=libraries.forbidden_library),
    Rule(name="identical-libraries", check=libraries.identical_libraries, severity=Severity.WARNING),
    Rule(name="executable-stack", check=objects.executable_stack),
    Rule(name="unmarked-stack", check=objects.unmarked_stack, severity=Severity.WARNING),
    Rule(name="static-tls", check=objects.static_tls, severity=Severity.WARNING),
    Rule(name="absolute-rpath", check=objects.absolute_rpath, severity=Severity.WARNING),
    Rule(name="segment-alignment", check=objects.segment_alignment),
    Rule(name="page-size", check=objects.page_size, severity=Severity.WARNING),
    Rule(name="broken-elf", check=objects.broken_elf),
    Rule(name="debug-file", check=objects.debug_file),
    Rule(name="needs-without-library", check=objects.needs_without_library),
    Rule(name="isa", check=objects.isa),
)
