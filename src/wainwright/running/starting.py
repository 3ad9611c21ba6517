"""The life of a job's container: started, kept for a look where that is wished for, and removed.

Its first process reads the standard input that the engine's client holds open for us: however this process ends, by
SIGKILL too, that input closes, the container ends, and the engine removes it.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, NoReturn

from wainwright.declaration.release import Image
from wainwright.errors import Exit, WainwrightError
from wainwright.running.engines import PATIENCE, Engine, platform_of
from wainwright.running.images import Found, ref_of
from wainwright.running.passing import PROXIES
from wainwright.running.refusals import refusal
from wainwright.scratch import scratch

HOME: Final = "/wainwright"  # everything of ours in a container; short, since programs' first lines hold its paths
LABEL: Final = "wainwright"
IDLE: Final = f"""
command -v cat >/dev/null || {{ echo "no cat" >&2; exit 1; }}
mkdir -p {HOME}/job && printf "%s\\n" "${{HOME:-/root}}" && exec cat >/dev/null
""".strip()


@contextmanager
def started(
    engine: Engine, image: Image, found: Found, name: str, *, arch: str, network: bool, keep: bool
) -> Iterator[str]:
    """Start the container and wait until it runs; gives root's home folder in there."""
    limits = [f"--memory={image.memory}", f"--memory-swap={image.memory}"] if image.memory else []
    limits += [f"--cpus={image.cpus}"] if image.cpus else []
    argv = [
        *(engine.program, "run", "--interactive", "--pull=never", f"--name={name}"),
        *(f"--label={LABEL}=job", f"--label={LABEL}.pid={os.getpid()}"),  # whose it is, where one is left over
        *(f"--platform={platform_of(arch)}", "--user=0:0", "--workdir=/", "--entrypoint=sh"),
        *([] if keep else ["--rm"]),
        *([] if network else ["--network=none"]),
        *(["--http-proxy=false"] if engine.name == "podman" else []),
        *(f"--env={name}=" for name in PROXIES),
        *limits,
        found.id,
        *("-c", IDLE if not keep else IDLE.replace("exec cat", "cat") + "; exec sleep 86400"),
    ]
    with (
        tempfile.TemporaryFile() as said,
        scratch() as folder,  # podman leaves a file `oom` where it stands
        client(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, cwd=folder) as process,
    ):
        assert process.stdout is not None  # noqa: S101 - asked for above
        try:
            home = process.stdout.readline().decode("utf-8", "replace").strip()
            if not home:
                process.wait()
                said.seek(0)
                _raise_start(engine, image, said.read().decode("utf-8", "replace").splitlines())
        except BaseException:
            try:
                _let_start(process)
            finally:
                remove(engine, name)
            raise
        yield home


def _let_start(process: subprocess.Popen[bytes]) -> None:
    """Wait until there is a container to remove: one whose client is ended too early is created, and stays."""
    assert process.stdin is not None  # noqa: S101 - asked for by the caller, as is stdout
    assert process.stdout is not None  # noqa: S101
    process.stdin.close()
    select.select([process.stdout], [], [], PATIENCE)


def _raise_start(engine: Engine, image: Image, lines: Sequence[str]) -> NoReturn:
    where = f"images.{image.name}"
    text = "\n".join(lines)
    what = f"no container of {ref_of(image)} could be started"
    lacking = ""
    if "executable file not found" in text or '"sh": stat' in text or text == "no cat":
        lacking = f"the image has no {'`cat`' if text == 'no cat' else 'shell (`sh` on its PATH)'}"
        hint = "jobs need `sh` and `cat`: choose an image with a shell, such as the -slim one instead of distroless"
    elif "no such file or directory" in text:
        lacking = "its shell cannot be run, since the dynamic loader that it asks for is not in the image"
        hint = "an image made by hand must hold the loader, libc and all that `sh` needs"
    if lacking:
        raise WainwrightError(f"{what}: {lacking}", code=Exit.ENGINE, where=where, hint=hint, details=tuple(lines)[-3:])
    see = f"see what `{engine.name} run --rm {ref_of(image)} true` says: no job runs where that fails"
    raise refusal(what, lines, where=where, hint=see)


@contextmanager
def client(argv: Sequence[str], **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """Run the engine's client beside us, out of reach of the terminal's Ctrl-C, and end it when the block ends."""
    process: subprocess.Popen[bytes] = subprocess.Popen(argv, start_new_session=True, **options)  # type: ignore[call-overload]
    try:
        yield process
    except BaseException:
        process.kill()
        raise
    finally:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        process.wait()


def remove(engine: Engine, name: str) -> None:
    """Remove a container by force. In a session of its own: a second Ctrl-C ends our waiting, not the removal."""
    commands = [[engine.program, "rm", "--force", "--volumes", name]]
    if engine.name == "podman":  # its `rm --force` waits ten seconds for a polite end first
        commands.insert(0, [engine.program, "kill", name])
    quiet = subprocess.DEVNULL
    for words in commands:
        subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True).wait()


def tell_kept(engine: Engine, name: str, image: Image, error: BaseException) -> None:
    """Say how to enter a container that stays, and how to remove it."""
    whose = getattr(error, "where", "") or f"images.{image.name}"
    sys.stderr.write(
        f"the container that failed is kept ({whose}). Enter it:  "
        f"{engine.name} exec -it --workdir {HOME}/job {name} sh\n"
        f"remove it:  {engine.name} rm --force --volumes {name}\n"
    )
    sys.stderr.flush()
