"""Where an index's uploads go and with which credentials: release.toml, the environment, ~/.pypirc, the keyring."""

from __future__ import annotations

import configparser
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

from wainwright.addresses import place_of
from wainwright.declaration.complaints import guess
from wainwright.declaration.release import PUBLIC, Destination
from wainwright.errors import Exit, WainwrightError
from wainwright.masking import Mask, of_address, of_username, without_userinfo

TOKEN_USER: Final = "__token__"  # noqa: S105 - the user name that goes with every token


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An upload address without userinfo, and who uploads. What may be secret is kept out of every `repr`.

    Without a password, twine asks the keyring again, and for a token by Trusted Publishing where there is one. An empty
    password is one: some indexes take a token as the user's name alone.
    `source` says in words whence the password is.
    """

    url: str = field(repr=False)
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    source: str = "nowhere"
    ca_cert: str | None = None
    client_cert: str | None = None

    @property
    def mask(self) -> Mask:
        return Mask.of(self.username, self.password) | of_username(self.username) | of_address(self.url)


def variable(name: str, destination: str) -> str:
    """Name the variable of one destination: `TWINE_PASSWORD_INTERNAL` for `[publish.internal]`."""
    return f"{name}_{re.sub(r'[^A-Za-z0-9]', '_', destination).upper()}"


def account(destination: Destination, environ: Mapping[str, str], *, alone: bool) -> Account:
    """Find the account of an index, as twine would: the environment, the address, ~/.pypirc, the keyring.

    TWINE_USERNAME and TWINE_PASSWORD hold for an index that is `alone` in its release: one index's token is nobody
    else's business. TWINE_REPOSITORY_URL stands in for an index that is named by its repository. Raises
    WainwrightError (USAGE) when ~/.pypirc is broken or knows no such repository.
    """
    config = _config(destination, environ)
    address = _address(config, destination)
    parts = urlsplit(address)
    words = [(variable("TWINE_USERNAME", destination.name), variable("TWINE_PASSWORD", destination.name))]
    words += [("TWINE_USERNAME", "TWINE_PASSWORD")] if alone else []
    username = next((environ[user] for user, _ in words if environ.get(user)), None)
    password, source = next(((environ[key], key) for _, key in words if environ.get(key)), (None, "nowhere"))
    if password is None and parts.password:
        password, source = unquote(parts.password), f"url of publish.{destination.name}"
    if password is None and config.get("password"):
        password, source = config["password"], "~/.pypirc"
    if username is None:
        username = unquote(parts.username) if parts.username else config.get("username")
    if username is None and password is not None and password.startswith("pypi-"):
        username = TOKEN_USER
    plain = without_userinfo(address)
    if password is None:
        username, password = _from_keyring(plain, username)
        source = "the keyring" if password else "nowhere"
    if password is None and username not in {None, TOKEN_USER}:
        stated = [(environ.get(key), key) for _, key in words]
        stated += [(parts.password, f"url of publish.{destination.name}"), (config.get("password"), "~/.pypirc")]
        password, source = next((each for each in stated if each[0] == ""), (None, "nowhere"))
    return Account(
        url=plain,
        username=username,
        password=password,
        source=source,
        ca_cert=environ.get("TWINE_CERT") or config.get("ca_cert"),
        client_cert=environ.get("TWINE_CLIENT_CERT") or config.get("client_cert"),
    )


def address_of(destination: Destination, environ: Mapping[str, str]) -> str:
    """Give the upload address of an index without userinfo; raises WainwrightError as `account` does."""
    return without_userinfo(_address(_config(destination, environ), destination))


def _address(config: Mapping[str, str | None], destination: Destination) -> str:
    """Give what is written there, if it is an address; what is none is not shown, for there may be a password in it."""
    address = config["repository"] or ""
    if place_of(address) is None:
        whence = "TWINE_REPOSITORY_URL or ~/.pypirc names"
        raise WainwrightError(
            f"what {'its url' if destination.url else whence} is no address for uploads",
            code=Exit.USAGE,
            where=f"publish.{destination.name}",
            hint="an address such as https://packages.example.org/legacy/",
        )
    return address


def _config(destination: Destination, environ: Mapping[str, str]) -> Mapping[str, str | None]:
    if destination.url:
        return {"repository": destination.url}
    from twine.exceptions import TwineException
    from twine.utils import DEFAULT_CONFIG_FILE, get_repository_from_config

    name = destination.repository or destination.name
    file = environ.get("TWINE_CONFIG_FILE") or DEFAULT_CONFIG_FILE
    try:
        return get_repository_from_config(file, name, environ.get("TWINE_REPOSITORY_URL"))
    except (TwineException, KeyError, ValueError) as error:  # of a section without its repository, or with none
        first = f"[{name}] of {file} has no repository"
        if isinstance(error, TwineException):
            first = str(error.args[0]).splitlines()[0]
        meant = guess(name, _sections(file))
        advice = f"did you mean {meant}? Else " if meant and meant != name else ""
        hint = f"{advice}add [{name}] and its repository to {file}, name it in index-servers there, or give a url"
        raise WainwrightError(first, code=Exit.USAGE, where=f"publish.{destination.name}", hint=hint) from None


def _sections(file: str) -> tuple[str, ...]:
    """Name the repositories that a ~/.pypirc knows; a broken one knows those that need none."""
    from twine.exceptions import TwineException
    from twine.utils import get_config

    try:
        return tuple(sorted({*get_config(file), *PUBLIC}))
    except (OSError, ValueError, configparser.Error, TwineException):
        return tuple(sorted(PUBLIC))


def _from_keyring(url: str, username: str | None) -> tuple[str | None, str | None]:
    """Ask the keyring by twine's own rules; one that does not work holds nothing."""
    from twine.auth import CredentialInput, Private

    config = {"repository": url, "username": username, "password": None}
    resolver = Private(config, CredentialInput(username))
    username = username or (TOKEN_USER if resolver.is_pypi() else resolver.get_username_from_keyring())
    if username is None:
        return None, None
    resolver.input.username = username
    return username, resolver.get_password_from_keyring()
