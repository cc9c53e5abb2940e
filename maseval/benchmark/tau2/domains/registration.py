"""All known domains: those of maseval, those registered, those of installed packages.

Each of maseval's is loaded when it is asked for: most programs use one domain, and the others would
take longer to load than all the rest of tau2. A package offers a domain by an entry point in the
group ``maseval.domains``. Packages are asked only when a name is not known yet or when all names
are wanted, and one that fails spoils nothing but itself.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from maseval.benchmark.tau2.data import VARIANT_MARK
from maseval.core.exceptions import MASEvalError
from maseval.core.lazy import find_entry_points

if TYPE_CHECKING:  # whoever only asks for a name needs neither
    from importlib.metadata import EntryPoint

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


GROUP = "maseval.domains"

_log = logging.getLogger(__name__)


class UnknownDomainError(MASEvalError, ValueError):
    """There is no domain of that name."""


class DuplicateDomainError(MASEvalError, ValueError):
    """Another domain already has that name."""


class InvalidDomainError(MASEvalError, ValueError):
    """The domain could not work: a file is missing, a tool is not described, ..."""


FindDomain = Callable[[str], "Domain | None"]


class DomainRegistry:
    """Domains by name; ``installed`` says which entry points there are."""

    def __init__(
        self,
        built_in: "Mapping[str, Domain]",
        installed: "Callable[[], Iterable[EntryPoint]]" = lambda: find_entry_points(GROUP),
    ) -> None:
        self._built_in = built_in
        self._added: dict[str, Domain] = {}
        self._installed = installed
        self._asked = False
        self._broken: dict[str, str] = {}
        self.find_elsewhere: FindDomain = lambda name: None
        """Asked for a name that nobody has registered; may raise ``UnknownDomainError``."""
        # An entry point may itself register domains, hence re-entrant.
        self._lock = threading.RLock()

    def register(self, domain: "Domain", *, replace: bool = False) -> "Domain":
        """Make a domain known by its name; see ``register_domain``."""
        _require_sound(domain)
        with self._lock:
            known = self._find(domain.name)
            if known not in (None, domain):
                self._check_replacement(domain, replace)
            self._added[domain.name] = domain
        return domain

    def _find(self, name: str) -> "Domain | None":
        return self._added.get(name) or self._built_in.get(name)

    def _check_replacement(self, domain: "Domain", replace: bool) -> None:
        if domain.name in self._built_in:
            raise DuplicateDomainError(
                f"{domain.name!r} is a domain of maseval itself, and its name always means the "
                "same; give yours another one"
            )
        if not replace:
            raise DuplicateDomainError(
                f"a domain named {domain.name!r} is already registered; give this one another "
                "name, or replace it with register_domain(domain, replace=True)"
            )

    def find(self, name: str) -> "Domain":
        if self._find(name) is None:
            self._ask_packages()
        found = self._find(name) or self.find_elsewhere(name)
        if found is None:
            raise self._unknown_domain(name)
        return found

    def names(self) -> list[str]:
        """All names, sorted."""
        self._ask_packages()
        return sorted({*self._built_in, *self._added})

    def _ask_packages(self) -> None:
        with self._lock:
            if self._asked:
                return
            self._asked = True
            for entry_point in self._installed():
                try:
                    self.register(_load_domain(entry_point))
                except Exception as error:  # a stranger's code: its fault must not become ours
                    package = f" of {entry_point.dist.name}" if entry_point.dist else ""
                    self._broken[entry_point.name] = (
                        f"the entry point {entry_point.name} = {entry_point.value!r}{package} in "
                        f"{GROUP} failed with {type(error).__name__}: {error}"
                    )
                    _log.warning("%s", self._broken[entry_point.name])

    def _unknown_domain(self, name: str) -> UnknownDomainError:
        if name in self._broken:
            return UnknownDomainError(f"Invalid domain {name!r}: {self._broken[name]}")
        import difflib

        every = self.names()
        known = [each for each in every if "@" not in each]
        alike = difflib.get_close_matches(str(name), every, n=1)
        hint = f"did you mean {alike[0]!r}? " if alike else ""
        failed = f"; failed to load: {', '.join(sorted(self._broken))}" if self._broken else ""
        return UnknownDomainError(
            f"Invalid domain {name!r}; {hint}choose one of: {', '.join(known)}{failed}; or name "
            "the file of your own: --domain FILE.py:NAME"
        )


def _require_sound(domain: "Domain") -> None:
    from maseval.benchmark.tau2.domains.domain import Domain
    from maseval.benchmark.tau2.domains.faults import faults

    if not isinstance(domain, Domain):
        raise InvalidDomainError(f"{domain!r} is not a Domain; make one with Domain(name=..., ...)")
    found = faults(domain)
    if found:
        raise InvalidDomainError(
            f"domain {domain.name!r} cannot be registered:\n" + "\n".join(f"- {f}" for f in found)
        )


def _load_domain(entry_point: "EntryPoint") -> "Domain":
    from maseval.benchmark.tau2.domains.domain import Domain

    offered = entry_point.load()
    domain: Domain = offered if isinstance(offered, Domain) or not callable(offered) else offered()
    if isinstance(domain, Domain) and domain.name != entry_point.name:
        raise InvalidDomainError(
            f"it gives a domain named {domain.name!r}; entry point and domain must have one name"
        )
    return domain


_registry = DomainRegistry(DOMAINS)


def domain_named(domain: "str | Domain") -> "Domain":
    """The domain of that name; a domain object stands for itself."""
    if not isinstance(domain, str) and hasattr(domain, "toolkit"):  # it need not be imported here
        return domain
    return _registry.find(domain)  # type: ignore[arg-type]  # which says that it is unknown


def domain_names() -> list[str]:
    """The names of all domains: maseval's own, the registered, those of installed packages."""
    return _registry.names()


def find_domains_with(find: FindDomain) -> None:
    """Let ``find`` look for the domains that nobody has registered."""
    _registry.find_elsewhere = find


def register_domain(domain: "Domain", *, replace: bool = False) -> "Domain":
    """Make a domain of your own known by its name, to Python and to every command.

    A domain that could not work is refused with an ``InvalidDomainError`` that lists its faults.
    ``replace`` puts it in the place of an earlier one that was registered under the same name.
    """
    return _registry.register(domain, replace=replace)
