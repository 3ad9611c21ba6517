"""The way into a place, whichever it is: a container of an image, or the host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from wainwright.completed import Run
from wainwright.declaration.release import NOTHING
from wainwright.errors import WainwrightError
from wainwright.running.containerpythons import find_in_container, pythons_in
from wainwright.running.containers import Container, enter_container
from wainwright.running.host import Host, enter_host, find_python
from wainwright.running.standing import Standing
from wainwright.values import Python


@contextmanager
def enter(
    standing: Standing,
    folder: Path,
    run: Run,
    *,
    network: bool = True,
    extra: Mapping[str, str] | None = None,
    cache: Path | None = None,
) -> Iterator[Host | Container]:
    """Enter the place of one job; it is gone when the block ends, whatever happens.

    `folder` is where the host keeps what is temporary. `network` is enforced in containers alone. `extra` is added to
    the environment. `cache` keeps what jobs in one image have fetched; containers alone need it. Raises WainwrightError
    (ENGINE) when there is no getting in.
    """
    if standing.container is None or standing.found is None:
        # What stands in for an image does not have the paths that are declared for the image.
        pythons = NOTHING if standing.stands_in else standing.image.python
        with enter_host(folder, run, pythons=pythons, extra=extra) as host:
            yield host
        return
    with enter_container(
        standing.container,
        standing.image,
        standing.found,
        run,
        arch=standing.arch,
        network=network,
        extra=extra,
        cache=cache if network else None,
    ) as container:
        yield container


def lacking_pythons(standing: Standing, pythons: Iterable[Python], run: Run) -> tuple[WainwrightError, ...]:
    """Look for Pythons before anything is built; gives one error for each that the place lacks."""
    lacking: list[WainwrightError] = []
    wanted = tuple(dict.fromkeys(pythons))
    if standing.container is None or standing.found is None:
        declared = NOTHING if standing.stands_in else standing.image.python
        for python in wanted:
            try:
                find_python(python, declared, run)
            except WainwrightError as error:
                lacking.append(error)
        return tuple(lacking)
    with enter_container(
        standing.container, standing.image, standing.found, run, arch=standing.arch, network=False
    ) as container:
        for python in wanted:
            try:
                find_in_container(container, python)
            except WainwrightError as error:
                lacking.append(error)
    return tuple(lacking)


def has_python(place: Host | Container) -> bool:
    """Whether there is any CPython in a place: an image without one proves a wheel by its loader alone."""
    return isinstance(place, Host) or bool(pythons_in(place))


def is_without_python(standing: Standing, run: Run) -> bool:
    """Whether an image is one without any CPython."""
    if standing.container is None or standing.found is None:
        return False
    with enter_container(
        standing.container, standing.image, standing.found, run, arch=standing.arch, network=False
    ) as container:
        return not has_python(container)
