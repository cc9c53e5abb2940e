"""Several runs at once: one table, with p-values corrected for multiple testing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome
from maseval.stats.comparison import Difference, compare, shared_tasks
from maseval.stats.compatibility import check_compatible
from maseval.stats.intervals import LEVEL
from maseval.stats.result import Result
from maseval.stats.summary import Summary, summarise


@dataclass(frozen=True)
class Pair:
    """Two of the runs; ``adjusted`` is the p-value after Holm's correction."""

    names: tuple[str, str]
    main: Difference
    adjusted: float


@dataclass(frozen=True)
class ComparisonTable(Result):
    """Every run on the tasks that all of them share, and every pair of runs."""

    runs: dict[str, Summary]
    pairs: list[Pair]
    dropped: list[str]
    cautions: list[str]
    notes: list[str]


def compare_all(
    runs: Mapping[str, Iterable[Outcome]],
    *,
    configs: Mapping[str, Mapping[str, Any]] | None = None,
    k: int = 1,
    level: float = LEVEL,
) -> ComparisonTable:
    """Compare every run with every other on the tasks that all of them have."""
    if len(runs) < 2:
        raise ConfigurationError(f"{len(runs)} run cannot be compared; give two or more")
    kept = {name: list(outcomes) for name, outcomes in runs.items()}
    dropped, cautions = _without_other_data(kept, configs)
    trials, one_sided = shared_tasks(kept)
    common = next(iter(trials.values()))
    kept = {name: [each for each in run if each.key in common] for name, run in kept.items()}
    mains = {
        names: compare(kept[names[0]], kept[names[1]], names=names, k=k, up_to=0, level=level).main
        for names in combinations(kept, 2)
    }
    adjusted = holm([main.test.p_value for main in mains.values()])
    return ComparisonTable(
        runs={name: summarise(run, level=level) for name, run in kept.items()},
        pairs=[Pair(n, main, p) for (n, main), p in zip(mains.items(), adjusted, strict=True)],
        dropped=dropped + one_sided,
        cautions=cautions,
        notes=[
            f"all runs on the {len(common)} tasks they share; every task counts once",
            f"p-values of pass^{k}, {len(mains)} comparisons, Holm-corrected",
        ],
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values (Scand. J. Stat. 6, 1979), in the order given."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, position in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[position]))
        adjusted[position] = largest
    return adjusted


def _without_other_data(
    runs: dict[str, list[Outcome]], configs: Mapping[str, Mapping[str, Any]] | None
) -> tuple[list[str], list[str]]:
    """Remove the domains for which any two runs have different data."""
    if configs is None:
        return [], ["no configurations given: differences in data or rules cannot be detected"]
    other_data: dict[str, str] = {}
    cautions: dict[str, None] = {}
    for a, b in combinations(runs, 2):
        found = check_compatible(configs[a], configs[b], names=(a, b))
        other_data |= found.other_data
        cautions |= dict.fromkeys(found.cautions)
    for name, run in runs.items():
        runs[name] = [outcome for outcome in run if outcome.group not in other_data]
    return [f"domain {group!r}: {why}" for group, why in other_data.items()], list(cautions)
