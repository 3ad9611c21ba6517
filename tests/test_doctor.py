from __future__ import annotations

from pathlib import Path

import pytest

import releases
from wainwright.doctor import examine
from wainwright.run import run

SECOND = '[publish.in-house]\nurl = "https://packages.example.net/legacy/"\nlocal-versions = true\n'
TWO = releases.TOML.replace('publish = ["page"]', 'publish = ["page", "in-house"]') + SECOND


@pytest.fixture(autouse=True)
def _nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")


def said(root: Path, toml: str, **environ: str) -> dict[str, tuple[str, str]]:
    """Give by destination what doctor says of its token, and what mends it."""
    found = examine(releases.load(root, toml), (), run=run, cache=root, environ=environ)
    return {each.subject: (each.what, each.mend) for each in found if each.subject.startswith("publish.")}


def test_the_variables_of_a_lone_index(tmp_path: Path) -> None:
    what, mend = said(tmp_path, releases.TOML)["publish.internal"]
    assert what.startswith("no password")
    assert "set TWINE_USERNAME and TWINE_PASSWORD;" in mend
    environ = {"TWINE_USERNAME": "me", "TWINE_PASSWORD": "secret-1"}
    assert said(tmp_path, releases.TOML, **environ)["publish.internal"] == ("a password from TWINE_PASSWORD", "")
    unused = releases.TOML + SECOND
    assert said(tmp_path, unused, **environ)["publish.internal"] == ("a password from TWINE_PASSWORD", "")


def test_of_several_indexes_each_has_its_own(tmp_path: Path) -> None:
    lone = {"TWINE_USERNAME": "me", "TWINE_PASSWORD": "secret-1"}
    assert (
        "set TWINE_USERNAME_IN_HOUSE and TWINE_PASSWORD_IN_HOUSE;" in said(tmp_path, TWO, **lone)["publish.in-house"][1]
    )
    environ = {"TWINE_PASSWORD_IN_HOUSE": "secret-1"}
    what, mend = said(tmp_path, TWO, **environ)["publish.in-house"]
    assert what == "a password, and no user name"
    assert mend.startswith("set TWINE_USERNAME_IN_HOUSE;")
    environ["TWINE_USERNAME_IN_HOUSE"] = "me"
    assert said(tmp_path, TWO, **environ)["publish.in-house"] == ("a password from TWINE_PASSWORD_IN_HOUSE", "")


def test_a_token_names_its_user_itself(tmp_path: Path) -> None:
    environ = {"TWINE_PASSWORD": "pypi-secret", "GITHUB_TOKEN": "ghp_secret"}
    found = said(tmp_path, releases.TOML, **environ)
    assert found["publish.internal"] == ("a password from TWINE_PASSWORD", "")
    assert found["publish.page"] == ("a token in the environment", "")
    assert "set GITHUB_TOKEN;" in said(tmp_path, releases.TOML)["publish.page"][1]


def test_an_index_that_nobody_knows_is_said(tmp_path: Path) -> None:
    toml = releases.TOML.replace('url = "https://packages.example.org/legacy/"', 'repository = "unheard-of"')
    assert "unheard-of" in said(tmp_path, toml)["publish.internal"][0]
