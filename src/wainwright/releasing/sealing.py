"""Seals a release: fixes the bytes, hashes, tag and commit of what its receipts prove, before any remote write."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wainwright.errors import Exit, WainwrightError
from wainwright.releasing import manifest
from wainwright.releasing.extracts import extracts
from wainwright.releasing.holding import hold
from wainwright.releasing.kept import keep, prune
from wainwright.releasing.manifest import Manifest
from wainwright.releasing.proofs import Sealing, examine, images, toolchains


def seal(
    sealing: Sealing, *, reseal: bool, public: Callable[[Manifest], Sequence[str]], dry_run: bool = False
) -> Manifest:
    """Seal a tag, or give the seal that it has, held to its evidence.

    `public` tells what of an earlier seal is public already, or may be, in words. Raises WainwrightError (REFUSED) with
    every reason at once; nothing is written then, nor with `dry_run`.
    """
    known = manifest.read(sealing.wheelhouse, sealing.tag)
    if known is not None and not reseal:
        hold(known, sealing)
        if not dry_run:
            manifest.write(known, sealing.wheelhouse)  # one of its two copies may be lost
        return known
    if known is not None:
        demand_unseen(known, public(known))
    return _sealed(sealing, dry_run=dry_run)


def demand_unseen(known: Manifest, seen: Sequence[str]) -> None:
    """Raise WainwrightError (REFUSED) when anything of a seal is public, or may be: that is never sealed anew."""
    if seen:
        raise WainwrightError(
            f"{known.tag} is public, or may be, and what is public is never sealed anew",
            code=Exit.REFUSED,
            where="--reseal",
            details=tuple(seen),
            hint="release another version",
        )


def _sealed(sealing: Sealing, *, dry_run: bool) -> Manifest:
    files, refusals = examine(sealing)
    if refusals:
        count = f"{len(refusals)} reasons" if len(refusals) > 1 else "a reason"
        raise WainwrightError(
            f"{sealing.tag} is not sealed, for {count}", code=Exit.REFUSED, where=sealing.tag, details=refusals
        )
    beside = tuple(extracts(sealing.jobs, files, sealing.wheelhouse))
    made = Manifest(
        tag=sealing.tag,
        name=sealing.name,
        version=sealing.version,
        commit=sealing.commit,
        sealed=sealing.now,
        files=(*files, *(file for file, _ in beside)),
        source=sealing.source,
        images=images(sealing),
        tools={**sealing.tools, **toolchains(sealing)},
    )
    if not dry_run:
        carried = {file.path: data for file, data in beside}
        keep(sealing.wheelhouse, made.tag, files, sealing.receipts, carried)
        manifest.write(made, sealing.wheelhouse)
        prune(sealing.wheelhouse, made.tag)
    return made
