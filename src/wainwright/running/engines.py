"""Container engines through their command lines: which one answers here, and how it is asked."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from wainwright.completed import Completed, Run
from wainwright.errors import Exit, WainwrightError
from wainwright.run import run as run_here
from wainwright.running.refusals import refusal

Name = Literal["docker", "podman"]
NAMES: Final[tuple[Name, ...]] = ("docker", "podman")
CHOICE: Final = "WAINWRIGHT_ENGINE"
ELSEWHERE: Final = ("DOCKER_HOST", "DOCKER_CONTEXT")  # whoever sets one means this docker, and no other engine
PATIENCE: Final = 30.0  # seconds in which an engine says its version, or does not answer

# An architecture as wheels spell it, and as images do (GOARCH with its variant, in the OCI image specification).
PLATFORMS: Final = {
    "x86_64": "linux/amd64",
    "i686": "linux/386",
    "aarch64": "linux/arm64",
    "armv7l": "linux/arm/v7",
    "ppc64le": "linux/ppc64le",
    "s390x": "linux/s390x",
    "riscv64": "linux/riscv64",
    "loongarch64": "linux/loong64",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A container engine that answers: `version` is the server's, `arch` the architecture that it runs natively."""

    name: Name
    program: str
    version: str
    arch: str
    run: Run = run_here

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    def ask(self, *words: str, timeout: float | None = None) -> Completed:
        """Run one of its commands, and keep what it prints."""
        return self.run([self.program, *words], capture=True, timeout=timeout)

    def spooling(self, folder: Path) -> dict[str, str]:
        """Give the client's environment for `cp -`: podman spools all that it reads in TMPDIR, and leaves it."""
        user = os.getuid()
        # Without a folder for its state, podman that is not root's has that in TMPDIR, too.
        movable = user == 0 or "XDG_RUNTIME_DIR" in os.environ or Path(f"/run/user/{user}").is_dir()
        return {**os.environ, "TMPDIR": str(folder)} if self.name == "podman" and movable else dict(os.environ)

    def do(
        self, *words: str, what: str, where: str = "", log: Path | None = None, timeout: float | None = None
    ) -> Completed:
        """Run one of its commands that must succeed; raises WainwrightError (ENGINE) that says why it did not."""
        done = self.run([self.program, *words], log=log, timeout=timeout)
        if not done.ok:
            raise refusal(what, done.tail, ending=done.ending, where=where)
        return done


def find_engine(run: Run = run_here, environ: Mapping[str, str] | None = None) -> Engine:
    """Find the engine that WAINWRIGHT_ENGINE names, else the first that answers; each is asked once a process.

    That docker is passed over for podman is said, with the reason; where DOCKER_HOST or its like is set, it is not.
    Raises WainwrightError (ENGINE) that says of each one why not.
    """
    environ = os.environ if environ is None else environ
    choice, path = environ.get(CHOICE, ""), environ.get("PATH", os.defpath)
    named = tuple(name for name in ELSEWHERE if environ.get(name))
    key = (choice, path, *(environ.get(name, "") for name in ELSEWHERE))
    if key not in _asked:
        _asked[key] = _find(run, choice, path, named)
    found = _asked[key]
    if isinstance(found, WainwrightError):
        raise found
    return replace(found, run=run)


_asked: Final[dict[tuple[str, ...], Engine | WainwrightError]] = {}


def _find(run: Run, choice: str, path: str, named: Sequence[str]) -> Engine | WainwrightError:
    if choice == "none":
        return WainwrightError(f"{CHOICE} is none", code=Exit.ENGINE, hint=f"unset {CHOICE} to have one used")
    if choice and choice not in NAMES:
        return WainwrightError(
            f"there is no engine {choice!r}",
            code=Exit.ENGINE,
            where=CHOICE,
            hint=f"it is one of {', '.join(NAMES)}, none",
        )
    wanted = tuple(name for name in NAMES if choice in {"", name})
    refusals: list[WainwrightError] = []
    for name in wanted:
        program = shutil.which(name, path=path)
        if program is None:
            continue
        answer = _ask(name, program, run)
        if isinstance(answer, Engine):
            for refused in refusals:
                sys.stderr.write(f"{refused.what}: {answer} is used instead\n")
            return answer
        refusals.append(answer)
        if name == "docker" and named:
            break
    if refusals:
        first, *others = refusals
        return WainwrightError(
            first.what,
            code=Exit.ENGINE,
            where=" and ".join(named) or first.where,
            hint=f"{first.hint}; or unset {' and '.join(named)} to have podman looked for" if named else first.hint,
            details=(*first.details, *(str(other) for other in others)),
        )
    return WainwrightError(
        f"no container engine is on this machine: looked for {' and '.join(wanted)} on PATH",
        code=Exit.ENGINE,
        where=CHOICE if choice else "",
        hint="install one: `apt-get install docker.io`, or `apt-get install podman`",
    )


def _ask(name: Name, program: str, run: Run) -> Engine | WainwrightError:
    done = run([program, "version", "--format", "json"], capture=True, timeout=PATIENCE)
    if done.timed_out:
        return WainwrightError(
            f"{name} did not answer within {PATIENCE:.0f} s", code=Exit.ENGINE, hint="is its daemon stuck? restart it"
        )
    try:
        facts: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return refusal(f"{name} cannot be used", done.tail, ending=done.ending)
    # podman without a service is its own server; docker's shim over podman answers as podman does.
    server = facts.get("Server") or ({} if "ApiVersion" in (facts.get("Client") or {}) else facts.get("Client")) or {}
    if not done.ok or not server:
        return refusal(f"{name} cannot be used", done.tail, ending=done.ending)
    arch = server.get("Arch") or str(server.get("OsArch", "/")).partition("/")[2]
    machines = {platform.split("/")[1]: machine for machine, platform in PLATFORMS.items()}
    is_podman = name == "podman" or "APIVersion" in server
    return Engine(
        name="podman" if is_podman else "docker",
        program=program,
        version=str(server.get("Version", "?")),
        arch=machines.get(str(arch), str(arch)),
        run=run,
    )


def platform_of(arch: str) -> str:
    """Give an architecture as images spell it: `linux/arm64` for aarch64."""
    return PLATFORMS.get(arch, f"linux/{arch}")
