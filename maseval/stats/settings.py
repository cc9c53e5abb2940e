"""Compatibility of runs: what their configurations say about comparing them."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from maseval.core.exceptions import MASEvalError
from maseval.stats.result import Result

# Settings that define what is measured, at any depth of the configuration.
CONDITIONS = frozenset(
    {
        "benchmark",
        "rules",
        "mode",
        "max_steps",
        "max_errors",
        "lenient_order_ids",
        "short_conversations",
    }
)
# The code of a run, by what it makes; what judges is compared by this, and not by its name.
_PARTS, _FILES = ("code", "parts"), ("code", "files")
_EVALUATOR = (*_PARTS, "evaluator")
CELL = "cell"
"""The key of a configuration under which a run has its levels of the factors of a grid."""
ANYWAY = "compared anyway, although judged differently or under different rules"
# The simulated user, the judge and what models read: part of the setup, not of what is compared.
_SURROUNDINGS = ("user", "judge", "nl_assertions", "evaluator", "texts", "reasoning_policy")


class _NotRecorded:
    def __repr__(self) -> str:
        return "not recorded"


_NOT_RECORDED = _NotRecorded()


class IncomparableRunsError(MASEvalError, ValueError):
    """The runs were judged otherwise or made under other rules; ``details["reasons"]`` says so."""


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


def compatibility(first: Mapping[str, Any], second: Mapping[str, Any]) -> Compatibility:
    """Sort the differences between the configurations of two runs by consequence.

    ``data`` holds a fingerprint for each domain, ``tasks`` the ids of each domain's tasks; these
    two may stand beside the settings or within a benchmark's own part of them. Where the code of
    the evaluators is known of both, that counts, and not what the benchmark is called. Of two cells
    of a grid, the factors are what is compared, and so is what the systems are called.
    """
    found = Compatibility([], {}, [], [])
    a, b = dict(_leaves(first)), dict(_leaves(second))
    factors = {path[1] for path in a.keys() & b.keys() if path[0] == CELL and path[1:]}
    named = factors or (_EVALUATOR in a and _EVALUATOR in b)
    # What one evaluator judges is measured alike, whatever class or file it comes from.
    conditions = CONDITIONS - {"benchmark"} if named else CONDITIONS
    agents = [{k: v for k, v in each.items() if _is_of_agent(k)} for each in (a, b)]
    same_agent = bool(agents[0]) and agents[0] == agents[1]
    files = []
    for path in sorted(a.keys() | b.keys()):
        one, other = a.get(path, _NOT_RECORDED), b.get(path, _NOT_RECORDED)
        # A hash tells nobody anything: files are listed by name, on one line.
        if one != other and path[:2] == _FILES:
            files.append(path[-1])
        elif one != other and (path[0] == CELL or factors & {path[-1], "_".join(path)}):
            found.differing.append(f"{'.'.join(path)}: {one!r} and {other!r}")
        elif one != other:
            _record_difference(found, path, one, other, conditions, same_agent)
    if files:
        found.differing.append(f"files of code: {', '.join(files)}")
    return found


def _is_of_agent(path: tuple[str, ...]) -> bool:
    return path[0].startswith("agent") or path == (*_PARTS, "agents")


def check_compatible(
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    *,
    names: tuple[str, str] = ("A", "B"),
    anyway: bool = False,
) -> Compatibility:
    """Return their compatibility; raise if they were judged otherwise or under other rules.

    With ``anyway`` that is a caution.
    """
    found = compatibility(first, second)
    reasons = "; ".join(found.refused)
    if reasons and not anyway:
        raise IncomparableRunsError(
            f"{names[0]} and {names[1]} were judged differently or under different rules: "
            f"{reasons}. Run one of them again with the code and settings of the other, or compare "
            "them anyway, which the output says (--anyway, anyway=True)",
            details={"reasons": found.refused},
        )
    marks = [f"{names[0]} and {names[1]} are {ANYWAY}: {reasons}"] if reasons else []
    return replace(found, cautions=[*marks, *found.cautions])


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
    if path[:2] == _PARTS:
        change = f"the code of the {path[-1]}"
    if path == _EVALUATOR:
        if one_sided:
            found.cautions.append(f"{change} is not recorded in one of the runs")
        else:
            found.refused.append(f"{change} differs")
    elif len(path) > 1 and path[-2] == "data":
        # What one run does not record cannot be said to differ.
        if not one_sided:
            found.other_data[path[-1]] = f"different data ({one!r} and {other!r})"
    elif path[-1] in conditions:
        (found.cautions if one_sided else found.refused).append(change)
    elif any(word in part for part in path for word in _SURROUNDINGS):
        what, values = " ".join(path).replace("_", " "), f" ({one!r} and {other!r})"
        if path[:2] == _PARTS:
            what, values = change.removeprefix("the "), ""
        if same_agent:
            text = f"the {what} differs{values}, the agent does not"
        else:
            text = f"the {what} differs too{values}"
        alone = "" if same_agent else " alone"
        found.cautions.append(f"{text}: the difference is not the agent's{alone}")
    else:
        found.differing.append(change)
