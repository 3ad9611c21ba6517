"""Finds a CPython in a container: where manylinux images have it, on PATH, in a conda environment, or as declared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from wainwright.completed import Completed
from wainwright.declaration.release import Image
from wainwright.errors import Exit, WainwrightError
from wainwright.values import Python

# Asks each candidate for its version, and prints `path 3.13t`, up to the one that is wanted; words with a star that
# match nothing are passed over.
_ASK = """
for candidate in $1; do
  case $candidate in
    /*) path=$candidate ;;
    *) path=$(command -v "$candidate") || continue ;;
  esac
  [ -x "$path" ] || continue
  version=$("$path" -c 'import platform, sys, sysconfig
threaded = sysconfig.get_config_var("Py_GIL_DISABLED")
if platform.python_implementation() == "CPython":
    print("%d.%d%s" % (sys.version_info[0], sys.version_info[1], threaded and "t" or ""))' 2>/dev/null)
  [ -n "$version" ] && printf '%s %s\\n' "$path" "$version"
  [ -n "$version" ] && [ "$version" = "$2" ] && break
done
true
"""
# Makes a virtual environment as `python -m venv` does, without its three seconds: the wheels that ensurepip holds are
# unpacked, where it would run pip to have pip installed. The distribution's own folder of wheels is where Debian and
# Fedora keep them instead.
VENV = """
import glob, os, subprocess, sys, sysconfig, venv, zipfile
import ensurepip
target = sys.argv[1]
homes = [os.path.join(os.path.dirname(ensurepip.__file__), "_bundled"), "/usr/share/python-wheels"]
homes += [sysconfig.get_config_var("WHEEL_PKG_DIR") or ""]
names = ["pip"] + (["setuptools"] if sys.version_info < (3, 12) else [])
wheels = [(glob.glob("%s/%s-*.whl" % (home, name)) or [""])[0] for name in names for home in homes]
found = [wheel for wheel in wheels if wheel]
if not any("/pip-" in wheel for wheel in found):
    sys.exit(subprocess.call([sys.executable, "-m", "venv", target]))
venv.EnvBuilder(symlinks=True).create(target)
python = os.path.join(target, "bin", "python")
question = "import sysconfig; print(sysconfig.get_path('purelib'))"
site = subprocess.check_output([python, "-c", question]).decode().strip()
for wheel in {os.path.basename(wheel).split("-")[0]: wheel for wheel in reversed(found)}.values():
    zipfile.ZipFile(wheel).extractall(site)
for name in ("pip", "pip3", "pip%d.%d" % sys.version_info[:2]):
    path = os.path.join(target, "bin", name)
    with open(path, "w") as script:
        script.write("#!%s\\nimport sys\\nfrom pip._internal.cli.main import main\\nsys.exit(main())\\n" % python)
    os.chmod(path, 0o755)
"""
_FOLDERS = "/opt/conda /opt/miniconda* /opt/mambaforge /opt/miniforge* /root/miniconda* /root/miniforge*"


class Asked(Protocol):
    """The part of a container that is needed here."""

    @property
    def image(self) -> Image: ...

    def run_plain(self, *argv: str) -> Completed: ...


def find_in_container(container: Asked, python: Python) -> str:
    """Find a CPython of this version; raises WainwrightError (ENGINE) that says which ones the image has instead."""
    declared = container.image.python.get(python)
    for path, version in _ask(container, [declared] if declared else _candidates(python), wanted=str(python)):
        if version == str(python):
            return path
    where = f"images.{container.image.name}"
    if declared:
        raise WainwrightError(
            f"{declared} in the image is no CPython {python}",
            code=Exit.ENGINE,
            where=f'{where}.python."{python}"',
            hint=_seen(container),
        )
    raise WainwrightError(
        f"Python {python} is not in the image",
        code=Exit.ENGINE,
        where=where,
        hint=f"{_seen(container)}; name the path of another one in [{where}] python, or take {python} out of `python`",
    )


def _candidates(python: Python) -> Iterable[str]:
    name = f"python{python}"
    plain = f"cp{python.major}{python.minor}"
    yield f"/opt/python/{plain}-{python.tag}/bin/python"
    yield name
    yield f"python{python.major}"
    for folder in _FOLDERS.split():
        yield f"{folder}/envs/*/bin/{name}"
        yield f"{folder}/bin/{name}"
    yield f"/root/.pyenv/versions/{python.major}.{python.minor}*/bin/python"
    yield f"/usr/local/bin/{name}"


def pythons_in(container: Asked) -> tuple[str, ...]:
    """Give the versions of all CPythons that are declared or in the usual places, such as `3.10`; none without any."""
    everything = [*container.image.python.values()]
    everything += ["/opt/python/cp*/bin/python", "/usr/bin/python3.*[0-9]", "/usr/local/bin/python3.*[0-9t]", "python3"]
    for folder in _FOLDERS.split():
        everything += [f"{folder}/envs/*/bin/python3.*[0-9t]", f"{folder}/bin/python3.*[0-9t]"]
    everything += ["/root/.pyenv/versions/*/bin/python"]
    return tuple(dict.fromkeys(version for _, version in _ask(container, everything)))


def _seen(container: Asked) -> str:
    found = pythons_in(container)
    return f"the image has Python {', '.join(found)}" if found else "the image has no Python"


def _ask(container: Asked, candidates: Iterable[str], *, wanted: str = "") -> tuple[tuple[str, str], ...]:
    done = container.run_plain("sh", "-c", _ASK, "sh", " ".join(candidates), wanted)
    done.check("the image could not be asked for its Pythons", code=Exit.ENGINE, where=f"images.{container.image.name}")
    rows = (line.rpartition(" ") for line in done.stdout.splitlines())
    return tuple((path, version) for path, _, version in rows)
