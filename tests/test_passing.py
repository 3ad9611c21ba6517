from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import engine
from projects import Project
from test_scenarios import release
from wainwright.declaration.release import Image
from wainwright.errors import Exit
from wainwright.run import run
from wainwright.running.containers import Container, enter_container
from wainwright.running.containerzig import with_zig
from wainwright.running.images import look
from wainwright.running.passing import passing
from wainwright.running.standing import stand

PASSWORD = "S3CRET"  # noqa: S105
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("https_proxy", "http://u:S3CRET@p:1"),
        ("https_proxy", "u:S3CRET@p:1"),
        ("PIP_PROXY", "u:S3CRET@p:1"),
        ("PIP_PROXY", "S3CRET@p:1"),
        ("PIP_INDEX_URL", "https://S3CRET@packages.example.org/simple"),
        ("PIP_INDEX_URL", "https://u:S3/CRET@packages.example.org/simple"),
        ("PIP_EXTRA_INDEX_URL", "https://a.example.org u:S3CRET@packages.example.org/simple"),
    ],
)
def test_a_password_stays_outside_with_and_without_a_scheme(name: str, value: str) -> None:
    passed = passing({name: value}, network=True, folder="/in")
    assert "S3" not in str(passed.variables)
    assert passed.withheld == {name: "it holds a user name or a password"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("https_proxy", "http://proxy.example.org:3128"),
        ("HTTPS_PROXY", "proxy.example.org:3128"),
        ("NO_PROXY", "localhost,.example.org,[::1]:80"),
        ("PIP_INDEX_URL", "https://packages.example.org/@team/simple"),
        ("PIP_TRUSTED_HOST", "packages.example.org:8443"),
    ],
)
def test_what_is_no_secret_passes(name: str, value: str) -> None:
    passed = passing({name: value}, network=True, folder="/in")
    assert (passed.variables, passed.withheld) == ({name: value}, {})
    assert passing({name: value}, network=False, folder="/in").variables == {}


def test_of_a_folder_of_distributions_these_alone_go_in(tmp_path: Path) -> None:
    for name in ("a-1-py3-none-any.whl", "b-1.tar.gz", ".env", "notes.txt"):
        (tmp_path / name).touch()
    value = f"{tmp_path} https://packages.example.org/wheels file://{tmp_path}"
    passed = passing({"PIP_FIND_LINKS": value}, network=True, folder="/in")
    links = passed.variables["PIP_FIND_LINKS"].split()
    assert links == ["/in/links-0", "https://packages.example.org/wheels", "/in/links-2"]
    assert sorted(passed.files) == [
        f"/in/links-{number}/{name}" for number in (0, 2) for name in ("a-1-py3-none-any.whl", "b-1.tar.gz")
    ]
    assert passed.withheld == {}


def test_an_index_that_stays_outside_is_lacking_unless_another_is_given() -> None:
    environ = {"PIP_INDEX_URL": f"https://u:{PASSWORD}@packages.example.org/simple", "PIP_FIND_LINKS": "/no/such"}
    passed = passing(environ, network=True, folder="/in")
    assert passed.lacking_indexes({}) == ("PIP_FIND_LINKS", "PIP_INDEX_URL")
    assert passed.lacking_indexes({"PIP_INDEX_URL": ""}) == ("PIP_FIND_LINKS",)
    assert passed.lacking_indexes({"PIP_NO_INDEX": "1"}) == ("PIP_FIND_LINKS",)
    assert passing({}, network=True, folder="/in").lacking_indexes({}) == ()


@contextmanager
def with_proxies(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have proxies with a password where docker's client takes them from, and where podman does."""
    proxy = f"http://u:{PASSWORD}@proxy.example.org:3128"
    keys = ("httpProxy", "httpsProxy", "ftpProxy", "allProxy", "noProxy")
    (folder / "config.json").write_text(json.dumps({"proxies": {"default": dict.fromkeys(keys, proxy)}}))
    with monkeypatch.context() as patch:
        patch.setenv("DOCKER_CONFIG", str(folder))
        for name in PROXIES:
            patch.setenv(name, proxy)
            patch.setenv(name.lower(), proxy)
        yield


def seen(container: Container) -> str:
    done = container.run(["sh", "-c", "env; cat /proc/1/environ"], env=container.environment(), capture=True)
    return done.check("the environment cannot be seen", code=Exit.ENGINE).stdout


@pytest.mark.engine
@pytest.mark.parametrize("network", [True, False])
def test_no_proxy_enters_by_the_engines_own_doing(
    network: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = look(engine.engine(), engine.debian().ref or "")
    assert found is not None
    image = Image(name="x", ref=engine.debian().ref, env={"http_proxy": "http://open.example.org"})
    with (
        with_proxies(tmp_path, monkeypatch),
        enter_container(engine.engine(), image, found, run, arch="x86_64", network=network) as container,
    ):
        inside = seen(container)
        inspected = engine.engine().ask("inspect", container.name).stdout
    assert "http_proxy=http://open.example.org\n" in inside
    assert PASSWORD not in inside + inspected


@pytest.mark.engine
@pytest.mark.slow
def test_no_proxy_is_committed_with_zig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = engine.made("proxied", f"FROM {engine.debian().ref}\nLABEL of={tmp_path}\n")
    standing = stand(image)
    with with_proxies(tmp_path, monkeypatch):
        equipped = with_zig(standing, run, Path.home() / ".cache" / "wainwright", tell=print)
    assert equipped.found is not None
    assert equipped.found != standing.found
    inspected = engine.engine().ask("image", "inspect", equipped.found.id).stdout
    engine.engine().ask("rmi", equipped.found.id, image.ref or "")
    assert "wainwright" in inspected
    assert PASSWORD not in inspected


def depending(folder: Path) -> Project:
    """Give a project whose wheel depends on `dependency`, and is smoke-tested in a container."""
    project = Project(folder, release=release(build="bullseye-build", smoke=["bullseye"]))
    text = (project.root / "make.py").read_text()
    changed = text.replace("Version: {version}\\n", "Version: {version}\\nRequires-Dist: dependency\\n")
    assert changed != text
    project.write("make.py", changed)
    project.edit("import demo'\"]", "import dependency'\"]")
    return project


def dependency(folder: Path) -> None:
    """Make a wheel of `dependency`."""
    info = "dependency-1.dist-info"
    folder.mkdir()
    with zipfile.ZipFile(folder / "dependency-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("dependency.py", "")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: dependency\nVersion: 1\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", f"dependency.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")


@pytest.mark.engine
@pytest.mark.slow
def test_dependencies_come_from_a_folder_and_never_from_another_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = depending(tmp_path / "demo")
    monkeypatch.setenv("PIP_INDEX_URL", f"https://u:{PASSWORD}@packages.example.org/simple")
    done = project.run("smoke")
    assert done.returncode == 7, done.stderr
    assert "without PIP_INDEX_URL in the container" in done.stderr
    assert "PIP_FIND_LINKS=FOLDER" in done.stderr
    assert done.stderr.count("PIP_INDEX_URL stays outside of containers") == 1
    assert PASSWORD not in done.stderr + done.stdout
    dependency(tmp_path / "folder")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "folder"))
    done = project.run("smoke")
    assert done.returncode == 0, done.stderr


@pytest.mark.engine
@pytest.mark.slow
def test_a_wheel_cannot_lean_on_what_the_image_sets(tmp_path: Path) -> None:
    image = engine.made(
        "leaning",
        f"FROM {engine.debian().ref}\nRUN mkdir /opt/hidden && touch /opt/hidden/hidden.py\n"
        "ENV LD_LIBRARY_PATH=/opt/hidden LD_PRELOAD= PYTHONPATH=/opt/hidden\n",
    )
    text = release(build="bullseye-build", smoke=["bullseye"])
    project = Project(tmp_path / "demo", release=text.replace(f'"{engine.debian().ref}"', f'"{image.ref}"'))
    leaning = (
        "import importlib.util, os; assert importlib.util.find_spec('hidden') is None; "
        "assert not {'LD_LIBRARY_PATH', 'PYTHONPATH', 'LD_PRELOAD'} & os.environ.keys()"
    )
    project.edit("\"python -c 'import demo'\"", f'"""python -c "{leaning}" """')
    done = project.run("smoke")
    assert done.returncode == 0, done.stderr
