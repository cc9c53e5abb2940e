"""All known domains: those of maseval, and those that are registered.

Each of maseval's is loaded when it is asked for: most programs use one domain, and the others would
take longer to load than all the rest of tau2.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from maseval.benchmark.tau2.data import VARIANT_MARK
from maseval.core.exceptions import MASEvalError

if TYPE_CHECKING:  # whoever only asks for a name does not need it
    from maseval.benchmark.tau2.domains.domain import Domain


class DomainCatalogue(Mapping[str, "Domain"]):
    """Domains by name; listing them all loads them all.

    ``places`` are the packages of the domains, and their names there: each means a domain, or a
    tuple of one and its variants. ``adapt`` makes of each what it is in this catalogue, once.
    """

    def __init__(
        self, places: Mapping[str, str], adapt: "Callable[[Domain], Domain]" = lambda each: each
    ) -> None:
        self._places = places
        self._adapt = adapt
        self._loaded: dict[str, dict[str, Domain]] = {}
        self._asked: dict[str, Domain] = {}

    def __getitem__(self, name: str) -> "Domain":
        found = self._asked.get(name)
        if found is None:
            found = self._variants_of(str(name).partition(VARIANT_MARK)[0])[name]
            self._asked[name] = found
        return found

    def __contains__(self, name: object) -> bool:
        # A name without a mark is known without what it means.
        return isinstance(name, str) and (name in self._places or super().__contains__(name))

    def __iter__(self) -> Iterator[str]:
        for name in self._places:
            yield from self._variants_of(name)

    def __len__(self) -> int:
        return sum(len(self._variants_of(name)) for name in self._places)

    def _variants_of(self, name: str) -> "dict[str, Domain]":
        if name not in self._loaded:
            package, _, attribute = self._places[name].partition(":")
            found = getattr(import_module(f"{__package__}.{package}"), attribute)
            variants = found if isinstance(found, tuple) else (found,)
            # The first of two threads decides: what is known of a domain is kept by its identity.
            self._loaded.setdefault(name, {each.name: self._adapt(each) for each in variants})
        return self._loaded[name]


PLACES = {
    "airline": "airline:AIRLINE",
    "retail": "retail:RETAIL",
    "telecom": "telecom:TELECOM",
    "telecom-workflow": "telecom:TELECOM_WORKFLOW",
}
"""The domains that every release has."""

BANKING = {"banking_knowledge": "banking_knowledge:BANKING_DOMAINS"}

DOMAINS = DomainCatalogue({**PLACES, **BANKING, "library": "library:LIBRARY"})


class UnknownDomainError(MASEvalError, ValueError):
    """There is no domain of that name."""


class DuplicateDomainError(MASEvalError, ValueError):
    """Another domain already has that name."""


class InvalidDomainError(MASEvalError, ValueError):
    """The domain could not work: a file is missing, a tool is not described, ..."""


FindDomain = Callable[[str], "Domain | None"]

_added: "dict[str, Domain]" = {}
_adding = threading.Lock()
_find_elsewhere: FindDomain | None = None


def register_domain(domain: "Domain", *, replace: bool = False) -> "Domain":
    """Make a domain of your own known by its name, to Python and to every command.

    A domain that could not work is refused with an ``InvalidDomainError`` that lists its faults.
    ``replace`` puts it in the place of an earlier one that was registered under the same name.
    """
    _require_sound(domain)
    with _adding:
        # Two threads may register at once; the same domain again is no second one.
        if _known(domain.name) not in (None, domain):
            _check_replacement(domain, replace)
        _added[domain.name] = domain
    return domain


def _known(name: str) -> "Domain | None":
    return _added.get(name) or DOMAINS.get(name)


def _check_replacement(domain: "Domain", replace: bool) -> None:
    if domain.name in DOMAINS:
        raise DuplicateDomainError(
            f"{domain.name!r} is a domain of maseval itself, and its name always means the "
            "same; give yours another one"
        )
    if not replace:
        raise DuplicateDomainError(
            f"a domain named {domain.name!r} is already registered; give this one another "
            "name, or replace it with register_domain(domain, replace=True)"
        )


def _require_sound(domain: "Domain") -> None:
    from maseval.benchmark.tau2.domains.domain import Domain, faults

    if not isinstance(domain, Domain):
        raise InvalidDomainError(f"{domain!r} is not a Domain; make one with Domain(name=..., ...)")
    found = faults(domain)
    if found:
        raise InvalidDomainError(
            f"domain {domain.name!r} cannot be registered:\n" + "\n".join(f"- {f}" for f in found)
        )


def find_domains_with(find: FindDomain) -> None:
    """Let ``find`` look for what nobody has registered; it may raise ``UnknownDomainError``."""
    global _find_elsewhere
    _find_elsewhere = find


def is_domain(name: str) -> bool:
    """Return True if a domain has that name; no other is loaded to find out."""
    return name in _added or name in DOMAINS


def domain_names() -> list[str]:
    """The names of all domains, sorted: maseval's own and the registered."""
    return sorted({*DOMAINS, *_added})


def domain_named(domain: "str | Domain") -> "Domain":
    """The domain of that name; a domain object stands for itself."""
    if not isinstance(domain, str):
        if hasattr(domain, "toolkit"):  # it need not be imported here
            return domain
        raise _unknown_domain(domain)
    found = _known(domain) or (_find_elsewhere and _find_elsewhere(domain))
    if found is None:
        raise _unknown_domain(domain)
    return found


def _unknown_domain(name: object) -> UnknownDomainError:
    # Of use for an error alone, which most processes never see.
    import difflib

    every = domain_names()
    # Variants would make the list long; a misspelt variant is still suggested.
    known = [each for each in every if VARIANT_MARK not in each]
    alike = difflib.get_close_matches(str(name), every, n=1)
    hint = f"did you mean {alike[0]!r}? " if alike else ""
    return UnknownDomainError(
        f"Invalid domain {name!r}; {hint}choose one of: {', '.join(known)}; or name the file "
        "of your own: --domain FILE.py:NAME"
    )
