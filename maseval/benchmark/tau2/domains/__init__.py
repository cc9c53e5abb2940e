"""The worlds of tau2: ``DOMAINS`` names each, with its database, tools and files."""

from maseval.benchmark.tau2.domains.airline import AIRLINE
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.domains.retail import RETAIL
from maseval.benchmark.tau2.domains.telecom import TELECOM, TELECOM_WORKFLOW
from maseval.core.exceptions import MASEvalError

DOMAINS: dict[str, Domain] = {
    domain.name: domain for domain in (AIRLINE, RETAIL, TELECOM, TELECOM_WORKFLOW)
}


class UnknownDomainError(MASEvalError, ValueError):
    """The domain asked for is not one that tau2 has."""


def domain_named(domain: str | Domain) -> Domain:
    """The domain of that name; a domain object stands for itself."""
    if isinstance(domain, Domain):
        return domain
    try:
        return DOMAINS[domain]
    except KeyError:
        raise UnknownDomainError(
            f"Invalid domain {domain!r}; choose one of: {', '.join(sorted(DOMAINS))}"
        ) from None


__all__ = ["DOMAINS", "Domain", "UnknownDomainError", "domain_named"]
