"""The bill of materials of what was grafted into a wheel: PEP 770, as CycloneDX 1.6."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from wainwright import __version__
from wainwright.light import Any, Final

SBOM: Final = "sboms/wainwright.cdx.json"  # PEP 770: software bills of materials live in .dist-info/sboms


@dataclass(frozen=True, slots=True, kw_only=True)
class Graft:
    """One library that now travels inside; `path` is where its build image had it, `sha256` of the file there."""

    name: str
    member: str
    path: str
    sha256: str
    package: str | None
    licence: str | None


def sbom(wheel: str, grafts: Iterable[Graft]) -> bytes:
    """Give the bill of materials of what was grafted, as JSON."""
    components: list[dict[str, Any]] = []
    for each in grafts:
        component: dict[str, Any] = {
            "type": "library",
            "bom-ref": each.member,
            "name": each.package or each.name,
            "hashes": [{"alg": "SHA-256", "content": each.sha256}],
            "properties": [
                {"name": "wainwright:soname", "value": each.name},
                {"name": "wainwright:member", "value": each.member},
                {"name": "wainwright:path", "value": each.path},
            ],
        }
        if each.licence:
            component["licenses"] = [{"expression": each.licence}]
        components.append(component)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {"type": "library", "bom-ref": wheel, "name": wheel},
            "tools": {"components": [{"type": "application", "name": "wainwright", "version": __version__}]},
        },
        "components": components,
        "dependencies": [{"ref": wheel, "dependsOn": [component["bom-ref"] for component in components]}],
    }
    return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()
