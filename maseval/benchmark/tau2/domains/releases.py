"""A release of the benchmark: its rules and tools, and whose tasks are worked on with them.

Rules and tasks of two releases may be combined: ``1.0.1+tasks.0.2.0`` means the tasks of v0.2.0
under the rules, and with the tools, of v1.0.1.

After tau2-bench v0.2.0 to v1.0.1, src/tau2/ (MIT, Sierra Research).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from maseval.benchmark.tau2.data import VERIFIED, UnknownVersionError, version_titled
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.domains.registration import BANKING, PLACES, DomainCatalogue
from maseval.benchmark.tau2.versions import RULES_0_2_0, RULES_1_0_1, RULES_VERIFIED, RuleSet

if TYPE_CHECKING:  # each is loaded when it is used
    from maseval.benchmark.tau2.domains import Domain

_TASKS = "+tasks."


@dataclass(frozen=True)
class Release:
    """A release of tau2-bench: rules, tools and tasks, chosen together.

    ``domains`` are the domains as this release has them; a domain that it does not change stands
    for itself. ``tasks_of`` is the release whose tasks and splits are used, if not its own.
    """

    rules: RuleSet
    domains: "Mapping[str, Domain]"
    tasks_of: "Release | None" = None

    @property
    def version(self) -> str:
        """The version whose rules and tools are used: ``0.2.0``, ``1.0.1`` or ``verified``."""
        return self.rules.version

    @property
    def name(self) -> str:
        """The name by which ``release_named`` finds it again."""
        return self.version + (f"{_TASKS}{self.tasks_of.version}" if self.tasks_of else "")

    def __reduce__(self) -> tuple[Any, ...]:
        # In another process it is the one of that name, as what is known of a domain is kept by
        # its identity.
        return release_named, (self.name,)

    @property
    def tasks(self) -> "Release":
        return self.tasks_of or self

    def with_tasks_of(self, other: "Release") -> "Release":
        """The same rules and tools for the tasks of another release."""
        # A release with its own tasks names none, so that it has only one name.
        tasks_of = None if other.version == self.version else other
        return self if tasks_of is self.tasks_of else replace(self, tasks_of=tasks_of)

    def domain(self, domain: "str | Domain") -> "Domain":
        """A domain as this release has it; one that is not the original's stands for itself."""
        chosen = domain_named(domain)
        if self.domains.get(chosen.name) is chosen:
            return chosen
        having = [each for each in RELEASES.values() if each.domains.get(chosen.name) is chosen]
        if having and chosen.name not in self.domains:
            raise UnknownVersionError(
                f"{self.version} does not have {chosen.name}, which came with "
                f"{having[0].version}; choose that version (--data-version {having[0].version}, "
                f"or version={having[0].version!r} in Python)"
            )
        return self.domains[chosen.name] if having else chosen


# Later releases keep all tasks of a domain in one file, and the splits in another.
def _with_splits(version: str, places: Mapping[str, str]) -> DomainCatalogue:
    def adapt(domain: "Domain") -> "Domain":
        if domain.version == version:  # it came with this release
            return domain
        return replace(
            domain,
            version=version,
            task_files={"base": "tasks.json"},
            splits_file="split_tasks.json",
        )

    return DomainCatalogue({**PLACES, **places}, adapt)


V0_2_0 = Release(RULES_0_2_0, DomainCatalogue(PLACES))
V1_0_1 = Release(
    RULES_1_0_1, _with_splits("1.0.1", {"retail": "retail:RETAIL_WITH_ITEMS", **BANKING})
)
V_VERIFIED = Release(
    RULES_VERIFIED, _with_splits(VERIFIED, {"retail": "retail:RETAIL_WITH_FAULTY_ITEMS"})
)

RELEASES: Mapping[str, Release] = MappingProxyType(
    {release.version: release for release in (V0_2_0, V1_0_1, V_VERIFIED)}
)
DEFAULT_RELEASE = V0_2_0

AnyVersion = str | Release | None
"""A release, its name, or None for the default."""


def release_named(version: AnyVersion = None) -> Release:
    """The release of that name: ``0.2.0``, ``v1.0.1``, ``verified``, ``1.0.1+tasks.0.2.0``."""
    match version:
        case None:
            return DEFAULT_RELEASE
        case Release():
            return version
        case str():
            return _read_name(version)
        case _:
            raise _unknown_version(version)


@cache
def _read_name(name: str) -> Release:
    rules, mixed, tasks = name.partition(_TASKS)
    found = _require_release(rules, name)
    return found.with_tasks_of(_require_release(tasks, name)) if mixed else found


def release_of(domain: "str | Domain", version: AnyVersion = None) -> Release:
    """The release that was asked for; without any, the one that the domain belongs to."""
    if version is None:
        version = domain_named(domain).version
    return release_named(version)


def _require_release(name: str, asked: str) -> Release:
    try:
        return RELEASES[version_titled(name)]
    except KeyError:
        raise _unknown_version(asked) from None


def _unknown_version(asked: object) -> UnknownVersionError:
    known = ", ".join(RELEASES)
    return UnknownVersionError(
        f"version is {asked!r}; choose one of: {known}, or combine the rules of one with the tasks "
        f"of the other, such as '1.0.1{_TASKS}0.2.0'"
    )
