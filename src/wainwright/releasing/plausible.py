"""Whether a receipt agrees with itself and with the image that release.toml declares: anyone can edit a receipt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wainwright.declaration.release import HOST, Image
from wainwright.receipts import Receipt


def contradictions(receipt: Receipt, image: Image) -> Iterator[str]:
    """Say what a receipt that claims to prove something cannot be, given the image that it is to be of.

    A receipt that is red or a stand-in's claims nothing.
    """
    if not receipt.passed or not receipt.publishable:
        return
    if receipt.error:
        yield f"its receipt says passed, and holds an error: {receipt.reason}"
    verdict = receipt.facts.get("verdict")
    if isinstance(verdict, Mapping) and verdict.get("violations"):
        yield "its receipt says passed, and lists violations"
    if receipt.facts.get("stands-in"):
        yield "its receipt calls it publishable, and says that something stood in for the image"
    if receipt.image != image.name:
        yield f"its receipt is of the image {receipt.image}, and release.toml says {image.name}"
    elif image.is_host and receipt.engine != HOST:
        yield f"its receipt is of a container ({receipt.engine}), and {image.name} is this machine"
    elif not image.is_host and receipt.engine == HOST:
        yield f"its receipt is of this machine, and {image.name} is a container"
    elif not image.is_host and receipt.stage != "audit" and not receipt.facts.get("image"):
        yield f"its receipt names no digest of the image {image.name}"
    elif receipt.stage == "build" and bool(receipt.facts.get("toolchain")) != (image.toolchain is not None):
        by, said = receipt.facts.get("toolchain") or "no toolchain", image.toolchain or "none"
        yield f"its receipt is of {by}, and {image.name} has toolchain = {said}"
