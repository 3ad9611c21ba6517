from __future__ import annotations

import nox

import wainwright.sessions

# A project that uses wainwright needs no more than this.
wainwright.sessions.register()

# What follows is for those who work on wainwright itself.
nox.needs_version = ">=2026.4"
PYPROJECT = nox.project.load_toml("pyproject.toml")


def install(session: nox.Session, group: str) -> None:
    session.install("-e.", *nox.project.dependency_groups(PYPROJECT, group))


@nox.session(default=False)
def tests(session: nox.Session) -> None:
    """Run the test suite; what an absent engine or npm leaves out fails where CI is set."""
    install(session, "test")
    session.run("pytest", *(session.posargs or ["-n", "auto", "--dist", "loadfile"]))


@nox.session(default=False)
def lint(session: nox.Session) -> None:
    """Check style and format."""
    install(session, "lint")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session(default=False)
def types(session: nox.Session) -> None:
    """Check the types of the library, the sessions, the tests and the noxfile."""
    # mypy follows files, not import hooks: a strict editable install is a folder of links.
    session.install("-e.", "--config-settings=editable_mode=strict", *nox.project.dependency_groups(PYPROJECT, "types"))
    session.run("mypy", "-p", "wainwright")
    session.run("mypy", "tests", "benchmarks", "docs", "noxfile.py", "toxfile.py", env={"MYPYPATH": "tests:benchmarks"})


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Race against auditwheel, wheel and cp on real wheels; -- --quick for three of them, -- --help for the rest."""
    session.install(".", *nox.project.dependency_groups(PYPROJECT, "bench"))
    session.run("python", "benchmarks/bench.py", *session.posargs)


@nox.session(default=False)
def fuzz(session: nox.Session) -> None:
    """Fuzz each reader and the whole audit, guided by coverage: a minute each; -- -runs=1000000 for a long run."""
    session.install("-e.", *nox.project.dependency_groups(PYPROJECT, "fuzz"))
    bounds = ("-timeout=10", "-rss_limit_mb=2048", "-max_len=65536")  # a hang or a bomb is a finding, too
    for target in ("elf", "archive", "record", "wheel"):
        options = session.posargs or ["-max_total_time=60"]
        session.run("python", f"tests/fuzz/fuzz_{target}.py", *bounds, *options)
