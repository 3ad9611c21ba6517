"""A container as a place: started from an image, filled and emptied by copy, and gone when its `with` block ends.

Nothing is mounted, so that a remote engine works and nothing here ends up owned by root.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wainwright.completed import Completed, Run, Watched
from wainwright.declaration.release import Image
from wainwright.errors import Exit
from wainwright.running import caching
from wainwright.running.containerpythons import VENV, find_in_container
from wainwright.running.copying import pack, settle
from wainwright.running.engines import Engine
from wainwright.running.images import Found
from wainwright.running.passing import Passing, passing
from wainwright.running.refusals import refusal, saying
from wainwright.running.starting import HOME, LABEL, client, remove, started, tell_kept
from wainwright.scratch import scratch
from wainwright.values import Python

if TYPE_CHECKING:
    from typing_extensions import Unpack

KEEP: Final = "WAINWRIGHT_KEEP"
KILLED: Final = 128 + 9  # as a shell tells of SIGKILL
# Variables that the engine's client reads itself: given by value on its command line where ours differs.
_CLIENT_READS: Final = ("CONTAINER", "DOCKER_", "LD_", "PODMAN", "REGISTRY_", "SSH_", "XDG_")
_CLIENT_NEEDS: Final = frozenset({"HOME", "PATH", "TMPDIR"})
# cgroup v2, then v1: how often the kernel has ended a process in here for want of memory, as a line `oom_kill N`.
_OOM: Final = "cat /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control 2>/dev/null; true"


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A `Place` in a running container."""

    engine: Engine
    name: str
    image: Image
    arch: str
    home: str
    inherited: Mapping[str, str]
    passed: Passing
    run_here: Run
    extra: Mapping[str, str] = field(default_factory=dict)
    cached: bool = False
    venvs: dict[Python, str] = field(default_factory=dict)

    @property
    def root(self) -> str:
        return f"{HOME}/job"

    def put(self, source: Path, target: str) -> None:
        """Copy a file or folder in; everything in there belongs to root, whoever has it here."""
        self.put_all({target: source})

    def put_all(self, files: Mapping[str, Path]) -> None:
        """Copy several in at once, by the path that each will have in there."""
        argv = [self.engine.program, "cp", "-", f"{self.name}:/"]
        with (
            tempfile.TemporaryFile() as said,
            scratch() as spool,
            client(argv, stdin=subprocess.PIPE, stdout=said, stderr=said, env=self.engine.spooling(spool)) as process,
        ):
            assert process.stdin is not None  # noqa: S101 - asked for above
            with suppress(BrokenPipeError), process.stdin as sink:  # what the client says tells more than our error
                pack(files, sink, below=HOME)
            if process.wait() != 0:
                said.seek(0)
                lines = said.read().decode("utf-8", "replace").splitlines()
                raise refusal("the files could not be copied into the container", lines, where=self.image.name)

    def get(self, source: str, target: Path) -> None:
        """Copy a file or folder out; it belongs to whoever runs this."""
        target.parent.mkdir(parents=True, exist_ok=True)
        follow = ["--follow-link"] if self.engine.name == "docker" else []  # podman always follows the last link
        with tempfile.TemporaryDirectory(prefix=".tmp-out-", dir=target.parent) as temporary:
            copied = Path(temporary) / "copied"
            self.engine.do(
                "cp",
                *follow,
                f"{self.name}:{source}",
                str(copied),
                what=f"{source} could not be copied out of the container",
                where=self.image.name,
            )
            settle(copied, target)

    def python(self, python: Python) -> str:
        """Make a virtual environment of its own for this container, and give its Python."""
        if python not in self.venvs:
            base = find_in_container(self, python)
            folder = f"{HOME}/venv-{python}"
            made = self.run([base, "-c", VENV, folder], env=self.environment())
            made.check(
                f"no virtual environment could be made with {base}",
                code=Exit.ENGINE,
                where=f"images.{self.image.name}",
                hint="in an image over Debian or Ubuntu: apt-get install python3-venv",
            )
            self.venvs[python] = f"{folder}/bin/python"
        return self.venvs[python]

    def environment(self) -> Mapping[str, str]:
        """Give the image's own variables, those of ours that are passed on, and the image's `env` of release.toml."""
        own = caching.variables(HOME) if self.cached else {}
        env = {"HOME": self.home, **self.inherited, **own, **self.passed.variables, **self.image.env, **self.extra}
        bins = [str(Path(python).parent) for python in self.venvs.values()]
        return env | {"PATH": ":".join([*bins, env.get("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")])}

    def run(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None = None, **watched: Unpack[Watched]
    ) -> Completed:
        """Run a command in there as root; when it takes too long, everything that runs in there is ended."""
        named, ours = _by_name(env, os.environ)
        dropped = [f"--unset={name}" for name in sorted(self.inherited.keys() - env.keys())]
        inner = ["env", *dropped, *argv] if dropped else list(argv)
        if not watched.get("capture"):  # two streams would come to the log in no certain order
            inner = ["sh", "-c", 'exec "$@" 2>&1', "sh", *inner]
        words = ["exec", "--user", "0:0", "--workdir", cwd or self.root, *named, self.name, *inner]
        done = self.run_here([self.engine.program, *words], env=ours, **watched)
        if done.timed_out:
            self.engine.ask("exec", "--user", "0:0", self.name, "sh", "-c", "kill -9 -1")
        elif not done.ok:
            done = self._explained(done)
        return done

    def run_plain(self, *argv: str) -> Completed:
        """Ask the container something in short, with its own environment."""
        return self.engine.ask("exec", "--user", "0:0", self.name, *argv)

    def _explained(self, done: Completed) -> Completed:
        """Add to the last lines what the engine or the kernel did, where the command itself could not say it."""
        said = "\n".join(done.tail).lower()
        if "exec format error" in said:
            return _with_line(done, f"{self.image.name}: {(saying(done.tail) or ('',))[0]}")
        seen = self.run_plain("sh", "-c", _OOM)
        if not seen.ok:
            return self._without_shell(done)
        if any(line.split()[:1] == ["oom_kill"] and line.split()[-1] != "0" for line in seen.stdout.splitlines()):
            memory = f" (memory = {self.image.memory / 1e6:g} MB)" if self.image.memory else ""
            # An earlier command may have taken that well; only this one's own words tell.
            here = "" if done.code == KILLED or "killed" in said else ", now or before, which may be why"
            return _with_line(
                done,
                f"{self.image.name}: the kernel ended a process in there for want of memory{memory}{here}: raise "
                f"`memory` of images.{self.image.name}, or run fewer jobs at once",
            )
        return done

    def _without_shell(self, done: Completed) -> Completed:
        form = "{{.State.Running}} {{.State.OOMKilled}} {{.State.ExitCode}}"
        state = self.engine.ask("inspect", "--format", form, self.name)
        running, used_up, code = state.stdout.split() if state.ok else ("false", "false", "")
        if running == "true":
            return _with_line(
                done, f"{self.image.name}: `sh` cannot be run in there any more: what ran before broke it"
            )
        end = f"exit code {code}" if code else "it was removed, or the engine was stopped"
        end = "it had used up its memory" if used_up == "true" else end
        line = f"{self.image.name}: the container has ended before its command: {end}"
        return replace(_with_line(done, line), lost=True)


def _with_line(done: Completed, line: str) -> Completed:
    return replace(done, tail=(*done.tail, line))


@contextmanager
def enter_container(
    engine: Engine,
    image: Image,
    found: Found,
    run: Run,
    *,
    arch: str,
    network: bool = True,
    extra: Mapping[str, str] | None = None,
    cache: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Iterator[Container]:
    """Start a container of `found` for one job; it is removed, with its volumes, whatever happens.

    With `cache`, a folder, it is given the downloads of earlier jobs in this image, and leaves its own there. With
    WAINWRIGHT_KEEP=1 one that fails stays, and the way into it is printed. Raises WainwrightError (ENGINE) when it
    cannot be started.
    """
    environ = os.environ if environ is None else environ
    keep = environ.get(KEEP, "") not in {"", "0"}
    name = f"{LABEL}-{secrets.token_hex(6)}"
    failed: BaseException | None = None
    with ExitStack() as stack:
        home = stack.enter_context(started(engine, image, found, name, arch=arch, network=network, keep=keep))
        stack.callback(lambda: tell_kept(engine, name, image, failed) if keep and failed else remove(engine, name))
        container = Container(
            engine=engine,
            name=name,
            image=image,
            arch=arch,
            home=found.env.get("HOME", home),
            inherited=found.env,
            passed=passing(environ, network=network, folder=f"{HOME}/passed"),
            run_here=run,
            extra=extra or {},
            cached=cache is not None,
        )
        _tell_withheld(container)
        try:
            if container.passed.files:
                container.put_all(container.passed.files)
            if cache is not None:
                caching.bring(container, caching.file_of(cache, found.id), HOME)
            yield container
            if cache is not None:
                caching.keep(container, caching.file_of(cache, found.id), HOME)
        except BaseException as error:
            failed = error
            raise


def _tell_withheld(container: Container) -> None:
    for name, why in container.passed.withheld.items():
        if name not in container.image.env and name not in _told:
            _told.add(name)
            sys.stderr.write(f"{name} stays outside of containers: {why}\n")
            sys.stderr.flush()


_told: Final[set[str]] = set()


def _by_name(env: Mapping[str, str], ours: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Give the client's options for `env`, and the client's own environment, which holds the values."""
    options: list[str] = []
    client = dict(ours)
    for name, value in sorted(env.items()):
        read_by_client = name in _CLIENT_NEEDS or name.startswith(_CLIENT_READS)
        if read_by_client and ours.get(name) != value:
            options.append(f"--env={name}={value}")
        else:
            client[name] = value
            options.append(f"--env={name}")
    return options, client
