"""A domain of your own, from the file it is written in: ``--domain shop.py:SHOP``.

Only what a user typed is loaded. A name that stands in a file or a run never is, since loading
runs code.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from maseval.app.running.own_code import OwnCode, load_named
from maseval.benchmark.tau2.domains import (
    Domain,
    DuplicateDomainError,
    InvalidDomainError,
    register_domain,
)
from maseval.core.exceptions import ConfigurationError


class DomainImportError(ConfigurationError):
    """The domain that an option names cannot be found or loaded."""


class _Origin(NamedTuple):
    """``file.py:NAME``, and the hash of the file."""

    reference: str
    sha256: str | None


_DOMAIN = OwnCode("domain", "domain", "shop.py:SHOP or package.module:SHOP", DomainImportError)
_origins: dict[str, _Origin] = {}
_names: dict[tuple[Path, str, str | None], str] = {}


def named_domain(given: str) -> str:
    """The name of the domain that was typed; one in a file is loaded and registered first."""
    if ":" not in given:
        return given
    place, _, name = given.rpartition(":")
    file = Path(place)
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None
    key = file.resolve(), name, sha256
    if key not in _names:
        domain = _registered(given)
        _origins[domain.name] = _Origin(f"{file.name}:{name}", sha256)
        _names[key] = domain.name
    return _names[key]


def _registered(given: str) -> Domain:
    found = load_named(given, _DOMAIN)
    if not isinstance(found, Domain):
        raise DomainImportError(f"{given} is {found!r}; it must be a Domain")
    try:
        return register_domain(found, replace=True)
    except (InvalidDomainError, DuplicateDomainError) as error:
        raise DomainImportError(f"{given}: {error}") from error


def own_domains(names: Iterable[str]) -> dict[str, dict[str, str | None]]:
    """Where the domains come from, of those that were loaded; for the run's configuration."""
    return {name: _origins[name]._asdict() for name in names if name in _origins}
