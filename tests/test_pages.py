from __future__ import annotations

import functools
import hashlib
import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import native
import releases
from wainwright.hosts.simplepage import parse
from wainwright.receipts import Artifact
from wainwright.releasing import pages
from wainwright.releasing.indexfolder import write
from wainwright.releasing.kept import home
from wainwright.releasing.manifest import Manifest
from wainwright.releasing.pages import Link
from wainwright.releasing.sealing import seal

TOML = releases.TOML.replace('repository = "owner/demo"', 'repository = "owner/demo"\nindex = true')
A, B = "a" * 64, "b" * 64


def link(name: str = "demo-1.0-py3-none-any.whl", sha256: str = A) -> Link:
    return Link(
        name=name, url=f"https://example.org/{name}", sha256=sha256, size=3, requires_python=">=3.10,<4", metadata=B
    )


@pytest.fixture
def trial(tmp_path: Path) -> releases.Trial:
    return releases.trial(tmp_path / "release", toml=TOML)


def sealed(trial: releases.Trial) -> Manifest:
    return seal(trial.sealing(), reseal=False, public=lambda _: ())


def test_both_forms_tell_the_same() -> None:
    there = [link(), link("demo-1.0+llvm-cp310-cp310-manylinux_2_17_x86_64.whl")]
    url = "https://example.org/simple/demo/"
    one = parse(pages.project_html("demo", there).encode(), content_type="text/html", url=url)
    two = parse(pages.project_json("demo", there).encode(), content_type="application/json", url=url)
    assert list(one) == list(two) == [each.name for each in there]
    assert {each.sha256 for each in one.values()} == {each.sha256 for each in two.values()} == {A}
    assert 'data-requires-python="&gt;=3.10,&lt;4"' in pages.project_html("demo", there)


@contextmanager
def served(folder: Path, *, index: str = "index.html") -> Iterator[tuple[str, list[str]]]:
    """Serve a folder as any static host does, one of the two forms for each page, and tell what was asked for."""
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        extensions_map = {  # noqa: RUF012 - the standard library has it so
            **http.server.SimpleHTTPRequestHandler.extensions_map,
            ".json": "application/vnd.pypi.simple.v1+json",
        }

        def do_GET(self) -> None:
            self.path += index if self.path.endswith("/") else ""
            super().do_GET()

        def log_message(self, *_: object) -> None:
            asked.append(self.path)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def version_of(python: str) -> tuple[int, ...]:
    """Give the version of an environment's pip."""
    code = "import pip; print(pip.__version__)"
    said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in said.split(".")[:2])


@pytest.mark.parametrize(("place", "expected"), [("reduced/", "reduced"), ("full/", "full"), ("", "reduced")])
def test_pip_takes_the_right_wheel_from_the_page(
    trial: releases.Trial, tmp_path: Path, place: str, expected: str
) -> None:
    made = sealed(trial)
    site = tmp_path / "site"
    with served(site) as (url, asked):
        download = site / "owner" / "demo" / "releases" / "download" / "v1.0"
        download.mkdir(parents=True)
        for file in made.bound_for("page"):
            (download / file.name).write_bytes((home(trial.wheelhouse, made.tag) / file.path).read_bytes())
        groups = pages.links(made, "page", release_url=f"{url}/owner/demo/releases/tag/v1.0")
        write(site / "index", made.name, groups)
        subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
        python = str(tmp_path / "venv" / "bin" / "python")
        pip = [python, "-m", "pip", "install", "--isolated", "--quiet", "--no-cache-dir", "--index-url"]
        done = subprocess.run(
            [*pip, f"{url}/index/{place}", "demo"], capture_output=True, text=True, env={}, check=False
        )
        assert done.returncode == 0, done.stderr
        said = subprocess.run(
            [python, "-c", "import demo; print(demo.SAYS)"], capture_output=True, text=True, check=True
        )
    assert said.stdout.strip() == trial.job(expected).id
    # pip 23.2 and later (PEP 714) read the metadata without the wheel; Debian 12 has 23.0.1.
    newer = version_of(python) >= (23, 2)
    assert any(path.endswith(".whl.metadata") for path in asked) == newer


@pytest.mark.network
@pytest.mark.parametrize("form", ["index.html", "index.json"])
def test_an_old_pip_installs_what_has_metadata_beside_it(tmp_path: Path, form: str) -> None:
    """Debian 12 has 23.0.1: it ends at PEP 658's own key in JSON, and in HTML takes a name with capitals for another's.

    The last of those pips is the first that Python 3.12 can run.
    """
    version = "23.0.1" if sys.version_info < (3, 12) else "23.1.2"
    site = tmp_path / "site"
    text = releases.metadata("Pebble.Trial", "1.0")
    files = {"pebble.py": b"SAYS = 'hello'\n", "pebble_trial-1.0.dist-info/METADATA": text}
    wheel = native.wheel(site / "pebble_trial-1.0-py3-none-any.whl", files)
    Path(f"{wheel}{pages.METADATA}").write_bytes(text)
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-cache-dir"]
    subprocess.run([*pip, f"pip=={version}"], check=True)
    with served(site, index=form) as (url, _):
        made = Link(
            name=wheel.name,
            url=f"{url}/{wheel.name}",
            sha256=Artifact.of(wheel).sha256,
            metadata=hashlib.sha256(text).hexdigest(),
        )
        write(site, "Pebble.Trial", {"": [made]})
        done = subprocess.run(
            [*pip, "--isolated", "--index-url", url, "pebble-trial"],
            capture_output=True, text=True, env={}, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
