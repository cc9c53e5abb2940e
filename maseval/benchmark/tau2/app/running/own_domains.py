"""Domains of your own, in a file: ``--domain shop.py:SHOP``.

Loading a domain runs its code. So only files that somebody typed on this machine are loaded, never
one that a run or a results file names. Their places are remembered beside the user's other state:
a command that meets the domain's name in a run knows where it is.
"""

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from maseval.app.running.own_code import OwnCode, load_named
from maseval.benchmark.tau2.domains import (
    Domain,
    DuplicateDomainError,
    InvalidDomainError,
    UnknownDomainError,
    domain_named,
    register_domain,
)
from maseval.core.exceptions import ConfigurationError
from maseval.core.storage.files import write_json


class _DomainOrigin(NamedTuple):
    """The ``file.py:NAME`` of an own domain, and the hash of the file."""

    reference: str
    sha256: str | None


_DOMAIN = OwnCode("domain", "domain", "shop.py:SHOP or package.module:SHOP")
_origins: dict[str, _DomainOrigin] = {}
_names: dict[tuple[Path, str, str | None], str] = {}


def domain_name(given: str) -> str:
    """Return the name of a domain that was typed; one in a file is loaded and registered first."""
    if ":" not in given:
        return given
    place, _, name = given.rpartition(":")
    file = Path(place)
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None
    key = file.resolve(), name, sha256
    if key not in _names:
        domain = _register_own(given)
        _origins[domain.name] = _DomainOrigin(f"{file.name}:{name}", sha256)
        _names[key] = domain.name
        if sha256 is not None:
            _remember(domain.name, f"{key[0]}:{name}")
    return _names[key]


def _register_own(given: str) -> Domain:
    found = load_named(given, _DOMAIN)
    if not isinstance(found, Domain):
        raise ConfigurationError(f"{given} is {found!r}; it must be a Domain")
    try:
        return register_domain(found, replace=True)
    except (InvalidDomainError, DuplicateDomainError) as error:
        raise ConfigurationError(f"{given}: {error}") from error


def own_domain_origins(names: Iterable[str]) -> dict[str, dict[str, str | None]]:
    """Return the files of those domains that were loaded, for the run's configuration."""
    return {name: _origins[name]._asdict() for name in names if name in _origins}


def _state_file() -> Path:
    import platformdirs  # takes long to load

    return platformdirs.user_state_path("maseval") / "domains.json"


def _known_places() -> dict[str, str]:
    """Return the place of each domain; nothing if the file is not there or not ours."""
    try:
        found = json.loads(_state_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): str(place) for name, place in found.items()} if found else {}


def _remember(name: str, place: str) -> None:
    known = _known_places()
    if known.get(name) != place:
        # A home that cannot be written to costs the convenience, not the run.
        with suppress(OSError):
            write_json(_state_file(), {**known, name: place})


def find_remembered(name: str) -> Domain | None:
    """Load the domain of that name from the file in which it was last; None if there is none."""
    place = _known_places().get(name)
    if place is None:
        return None
    file = Path(place.rpartition(":")[0])
    if not file.is_file():
        raise UnknownDomainError(
            f"the domain {name!r} was in {file}, which is not there any more; name its file once "
            "to make it known again: maseval tau2 tasks --domain FILE.py:NAME"
        )
    return domain_named(name) if domain_name(place) == name else None
