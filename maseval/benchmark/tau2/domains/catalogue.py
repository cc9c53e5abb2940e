"""The domains that come with maseval, each of which is loaded when it is asked for.

Most programs use one domain, and the others would take longer to load than all the rest of tau2.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the names of domains are known without what makes one
    from maseval.benchmark.tau2.domains.domain import Domain

VARIANT_MARK = "@"
"""What stands between a domain and the way in which it searches, as in banking_knowledge@bm25."""


def _as_it_is(domain: "Domain") -> "Domain":
    return domain


class DomainCatalogue(Mapping[str, "Domain"]):
    """Domains by name; listing them all loads them all.

    ``places`` are the packages of the domains, and their names there: each means a domain, or a
    tuple of one and its variants. ``adapt`` makes of each what it is in this catalogue, once.
    """

    def __init__(
        self, places: Mapping[str, str], adapt: "Callable[[Domain], Domain]" = _as_it_is
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
