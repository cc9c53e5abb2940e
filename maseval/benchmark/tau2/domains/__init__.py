"""The worlds of tau2, and how to add one: ``DOMAINS`` are those that come with maseval."""

from collections.abc import Mapping
from types import MappingProxyType

from maseval.benchmark.tau2.domains.airline import AIRLINE, AirlineDB, AirlineTools
from maseval.benchmark.tau2.domains.banking_knowledge import BANKING_DOMAINS
from maseval.benchmark.tau2.domains.base import DB, ToolKitBase, ToolType, is_tool
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.domains.library import LIBRARY
from maseval.benchmark.tau2.domains.registration import (
    BrokenDomainError,
    DomainRegistry,
    DuplicateDomainError,
    FindDomain,
    InvalidDomainError,
    UnknownDomainError,
)
from maseval.benchmark.tau2.domains.retail import RETAIL, RetailDB, RetailTools
from maseval.benchmark.tau2.domains.telecom import (
    TELECOM,
    TELECOM_WORKFLOW,
    TelecomDB,
    TelecomTools,
)

DOMAINS: Mapping[str, Domain] = MappingProxyType(
    {
        domain.name: domain
        for domain in (AIRLINE, RETAIL, TELECOM, TELECOM_WORKFLOW, *BANKING_DOMAINS, LIBRARY)
    }
)

_registry = DomainRegistry(DOMAINS)


def domain_named(domain: str | Domain) -> Domain:
    """The domain of that name; a domain object stands for itself."""
    return domain if isinstance(domain, Domain) else _registry.find(domain)


def domain_names() -> list[str]:
    """The names of all domains: maseval's own, the registered, those of installed packages."""
    return _registry.names()


def find_domains_with(find: FindDomain) -> None:
    """Let ``find`` look for the domains that nobody has registered."""
    _registry.find_elsewhere = find


def register_domain(domain: Domain, *, replace: bool = False) -> Domain:
    """Make a domain of your own known by its name, to Python and to every command.

    A domain that could not work is refused with an ``InvalidDomainError`` that lists its faults.
    ``replace`` puts it in the place of an earlier one that was registered under the same name.
    """
    return _registry.register(domain, replace=replace)


__all__ = [
    "DB",
    "DOMAINS",
    "AirlineDB",
    "AirlineTools",
    "BrokenDomainError",
    "Domain",
    "DuplicateDomainError",
    "InvalidDomainError",
    "RetailDB",
    "RetailTools",
    "TelecomDB",
    "TelecomTools",
    "ToolKitBase",
    "ToolType",
    "UnknownDomainError",
    "domain_named",
    "domain_names",
    "find_domains_with",
    "is_tool",
    "register_domain",
]
