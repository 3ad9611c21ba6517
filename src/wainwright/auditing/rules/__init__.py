"""Every rule of the audit, in the order in which a reader wants to hear of them."""

from __future__ import annotations

from wainwright.auditing.case import Rule
from wainwright.auditing.rules import (
    archives,
    distinfo,
    installing,
    libraries,
    loader,
    objects,
    platforms,
    python,
    terms,
)
from wainwright.auditing.verdict import Severity
from wainwright.light import Final

WARNING: Final = Severity.WARNING
NOTE: Final = Severity.NOTE

RULES: Final = (
    # what the machine must offer
    Rule(name="symbol-version", check=libraries.symbol_version),
    Rule(name="private-symbol", check=libraries.private_symbol),
    Rule(name="packed-relocations", check=objects.packed_relocations),
    Rule(name="isa", check=objects.isa),
    Rule(name="abi3", check=python.abi3),
    Rule(name="weak-need", check=terms.weak_needs, severity=NOTE),
    Rule(name="musl-packed-relocations", check=objects.musl_packed_relocations, severity=NOTE),
    # libraries
    Rule(name="missing-library", check=libraries.missing_library),
    Rule(name="unreachable-library", check=libraries.unreachable_library),
    Rule(name="forbidden-library", check=libraries.forbidden_library),
    Rule(name="needs-without-library", check=objects.needs_without_library),
    Rule(name="bundle", check=terms.bundle),
    Rule(name="keep-name", check=terms.keep_name),
    Rule(name="provided-by", check=terms.provided_by),
    Rule(name="licence", check=terms.licence),
    Rule(name="licence", check=terms.unknown_licence, severity=WARNING),
    Rule(name="unmatched-pattern", check=terms.unmatched_pattern),
    Rule(name="identical-libraries", check=libraries.identical_libraries, severity=WARNING),
    Rule(name="linker-script", check=terms.linker_script, severity=NOTE),
    Rule(name="hidden-needs", check=terms.hidden_needs, severity=NOTE),
    Rule(name="guessed-provider", check=terms.guessed_provider, severity=NOTE),
    # each native member
    Rule(name="foreign-architecture", check=platforms.foreign_architecture),
    Rule(name="purelib-elf", check=platforms.purelib_elf),
    Rule(name="purelib-elf", check=platforms.purelib_library, severity=WARNING),
    Rule(name="purelib-elf", check=platforms.code_for_several, severity=WARNING),
    Rule(name="executable-stack", check=objects.executable_stack),
    Rule(name="unmarked-stack", check=objects.unmarked_stack, severity=WARNING),
    Rule(name="segment-alignment", check=objects.segment_alignment),
    Rule(name="page-size", check=objects.page_size, severity=WARNING),
    Rule(name="broken-elf", check=objects.broken_elf),
    Rule(name="broken-elf", check=loader.refused),
    Rule(name="interpreter", check=loader.interpreter),
    Rule(name="debug-file", check=objects.debug_file),
    Rule(name="static-tls", check=objects.static_tls, severity=WARNING),
    Rule(name="absolute-rpath", check=objects.absolute_rpath, severity=WARNING),
    # names and dist-info
    Rule(name="tag-mismatch", check=distinfo.tag_mismatch),
    Rule(name="tag-mismatch", check=distinfo.dead_tag),
    Rule(name="tag-mismatch", check=installing.module_name, severity=WARNING),
    Rule(name="name-mismatch", check=distinfo.name_mismatch),
    Rule(name="name-mismatch", check=distinfo.unnormalised_name, severity=WARNING),
    Rule(name="dist-info", check=distinfo.dist_info),
    Rule(name="dist-info", check=installing.refused),
    Rule(name="dist-info", check=installing.doubtful_fields, severity=WARNING),
    Rule(name="record-mismatch", check=distinfo.record_mismatch),
    Rule(name="compressed-tag", check=distinfo.compressed_tag, severity=NOTE),
    Rule(name="no-native-code", check=platforms.no_native_code, severity=NOTE),
    Rule(name="unjudged-tag", check=terms.unjudged_tag, severity=NOTE),
    # the archive
    Rule(name="broken-member", check=archives.broken_member),
    Rule(name="archive-mismatch", check=archives.archive_mismatch),
    Rule(name="duplicate-member", check=archives.duplicate_member),
    Rule(name="duplicate-member", check=installing.same_target, severity=WARNING),
    Rule(name="symlink-member", check=archives.symlink_member),
    Rule(name="unsafe-name", check=archives.unsafe_name),
    # what the variant asks for
    Rule(name="wheel-contents", check=terms.wheel_contents),
    Rule(name="max-size", check=terms.max_size),
    Rule(name="growth", check=terms.growth, severity=WARNING),
)
