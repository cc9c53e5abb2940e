"""Compatibility of two runs: they must share rules and data; other differences are listed."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from maseval.core.exceptions import MASEvalError
from maseval.stats.result import Result

# Settings that define what is measured, at any depth of the configuration.
CONDITIONS = frozenset(
    {
        *("benchmark", "rules", "mode", "max_steps", "max_errors"),
        *("lenient_order_ids", "short_conversations"),
    }
)
# The simulated user, the judge and what models read: part of the setup, not of what is compared.
_SURROUNDINGS = ("user", "judge", "nl_assertions", "evaluator", "texts", "reasoning_policy")


class _NotRecorded:
    def __repr__(self) -> str:
        return "not recorded"


_NOT_RECORDED = _NotRecorded()


class IncomparableRunsError(MASEvalError, ValueError):
    """The runs were made under different rules; ``details["reasons"]`` lists which."""


@dataclass(frozen=True)
class Compatibility(Result):
    """The differences of two configurations, by consequence.

    ``refused`` holds the rules that differ, ``other_data`` the domains that cannot be compared.
    ``cautions`` name what surrounds the agent and differs; ``differing`` lists all other settings
    that do, which may well be what the comparison is about.
    """

    refused: list[str]
    other_data: dict[str, str]
    cautions: list[str]
    differing: list[str]


def compatibility(
    first: Mapping[str, Any], second: Mapping[str, Any], *, conditions: Collection[str] = CONDITIONS
) -> Compatibility:
    """Sort the differences between the configurations of two runs by consequence.

    ``data`` holds a fingerprint for each domain, ``tasks`` the ids of each domain's tasks; these
    two may stand beside the settings or within a benchmark's own part of them.
    """
    found = Compatibility([], {}, [], [])
    a, b = dict(_leaves(first)), dict(_leaves(second))
    agents = [{k: v for k, v in each.items() if k[0].startswith("agent")} for each in (a, b)]
    same_agent = bool(agents[0]) and agents[0] == agents[1]
    for path in sorted(a.keys() | b.keys()):
        one, other = a.get(path, _NOT_RECORDED), b.get(path, _NOT_RECORDED)
        if one != other:
            _record_difference(found, path, one, other, conditions, same_agent)
    return found


def check_compatible(
    first: Mapping[str, Any], second: Mapping[str, Any], *, names: tuple[str, str] = ("A", "B")
) -> Compatibility:
    """Return their compatibility; raise if the runs were made under different rules."""
    found = compatibility(first, second)
    if found.refused:
        raise IncomparableRunsError(
            f"{names[0]} and {names[1]} were made under different rules: "
            f"{'; '.join(found.refused)}. Run one of them again with the settings of the other",
            details={"reasons": found.refused},
        )
    return found


def _leaves(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield every setting with its path; tasks and trials are paired by what was run instead."""
    if not isinstance(value, Mapping):
        yield path, value
        return
    for key, part in value.items():
        if key not in ("tasks", "trials"):
            yield from _leaves(part, (*path, str(key)))


def _record_difference(
    found: Compatibility,
    path: tuple[str, ...],
    one: object,
    other: object,
    conditions: Collection[str],
    same_agent: bool,
) -> None:
    change = f"{'.'.join(path)}: {one!r} and {other!r}"
    one_sided = _NOT_RECORDED in (one, other)
    if len(path) > 1 and path[-2] == "data":
        if not one_sided:
            found.other_data[path[-1]] = f"different data ({one!r} and {other!r})"
    elif path[-1] in conditions and not one_sided:
        found.refused.append(change)
    elif path[-1] in conditions:
        found.cautions.append(change)
    elif any(word in part for part in path for word in _SURROUNDINGS):
        what, values = " ".join(path).replace("_", " "), f"({one!r} and {other!r})"
        if same_agent:
            text = f"the {what} differs {values}, the agent does not"
        else:
            text = f"the {what} differs too {values}"
        alone = "" if same_agent else " alone"
        found.cautions.append(f"{text}: the difference is not the agent's{alone}")
    else:
        found.differing.append(change)
