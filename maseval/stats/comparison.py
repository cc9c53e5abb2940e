"""Comparison of runs, paired by task: two runs in detail, or several in one table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from statistics import fmean
from typing import Any, TypeVar

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, Place, TaskKey
from maseval.core.words import count_of
from maseval.stats.clusters import PairedScores, in_order, places_of, pool
from maseval.stats.intervals import LEVEL, Interval, mean_interval
from maseval.stats.measures import Measure, places_of_tasks, quantity_by_task
from maseval.stats.planning import Pairs, SamplePlan, plan
from maseval.stats.result import IF_KNOWN, Result
from maseval.stats.settings import check_compatible
from maseval.stats.sign_flip import FlipTest, cluster_flip_test, sign_flip_test
from maseval.stats.summary import Summary, summarise
from maseval.stats.trials import (
    Trials,
    are_shares,
    by_task,
    fewest_trials,
    mean_cost,
    measure_name,
    pass_hat_k,
)

UP_TO = 4
SURE = 0.05
"""The largest p-value at which a difference is called sure."""


@dataclass(frozen=True)
class Difference(Result):
    """One pass^k of one group in both runs; ``difference`` is second - first."""

    group: str | None
    tasks: int
    k: int
    first: float
    second: float
    difference: float
    interval: Interval
    test: FlipTest
    clusters: int | None = field(default=None, metadata=IF_KNOWN)
    """The number of clusters that the tasks are of; None if each is one of its own."""
    label: str | None = field(default=None, metadata=IF_KNOWN)
    """What is compared, where it is not the verdict: ``resisted^k``."""
    unit: str | None = field(default=None, metadata=IF_KNOWN)
    """The unit of a quantity, which may be empty; None of shares."""

    @property
    def name(self) -> str:
        return measure_name(self.k, self.label)

    @property
    def units(self) -> tuple[int, str]:
        """The number of what the test and the interval are over, and what it is."""
        return (self.tasks, "task") if self.clusters is None else (self.clusters, "cluster")


@dataclass(frozen=True)
class Pair:
    """Two of the runs; ``adjusted`` is the p-value after Holm's correction."""

    names: tuple[str, str]
    main: Difference
    adjusted: float

    @property
    def sure(self) -> bool:
        """True if the difference is not taken for chance, among as many as there are."""
        return self.adjusted <= SURE


@dataclass(frozen=True)
class Flip:
    """A task whose pass rate differs between the two runs."""

    group: str
    task: str
    first: Trials
    second: Trials

    @property
    def change(self) -> float:
        """The pass rate of the second run - that of the first."""
        return self.second.passed / self.second.total - self.first.passed / self.first.total

    @property
    def fully(self) -> bool:
        """True if all trials passed in one run and none in the other."""
        return abs(self.change) == 1


@dataclass(frozen=True)
class Comparison(Result):
    """Runs on the tasks that all of them share, and the main difference of every two of them.

    Of two runs alone there is more: the ``differences`` of every k and group, whose p-values are
    exploratory, the tasks that ``flipped``, and a ``plan`` of what would decide it. ``comparable``
    tasks are in all runs, on the same data, with or without a verdict. ``dropped`` lists what not
    every run has, or has on different data or without a verdict.
    """

    runs: dict[str, Summary]
    pairs: list[Pair]
    comparable: int
    differences: list[Difference] = field(default_factory=list)
    flipped: list[Flip] = field(default_factory=list)
    plan: SamplePlan | None = None
    dropped: list[str] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.runs)

    @property
    def main(self) -> Difference:
        """The difference of the first two runs in the pass^k that was asked for."""
        return self.pairs[0].main

    def to_dict(self) -> dict[str, Any]:
        found = super().to_dict()
        return {"names": [*self.names], "main": found["pairs"][0]["main"], **found}


def compare(
    first: Iterable[Outcome],
    second: Iterable[Outcome],
    *,
    names: tuple[str, str] = ("A", "B"),
    configs: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None,
    k: int = 1,
    level: float = LEVEL,
    margin: float = 0.0,
    anyway: bool = False,
) -> Comparison:
    """Compare two runs, paired by task, as ``compare_all`` does; differences are second - first."""
    if names[0] == names[1]:
        raise ConfigurationError(f"both runs are called {names[0]!r}; give each its own name")
    return compare_all(
        dict(zip(names, (first, second), strict=True)),
        configs=None if configs is None else dict(zip(names, configs, strict=True)),
        k=k,
        level=level,
        margin=margin,
        anyway=anyway,
    )


def compare_all(
    runs: Mapping[str, Iterable[Outcome]],
    *,
    configs: Mapping[str, Mapping[str, Any]] | None = None,
    k: int = 1,
    level: float = LEVEL,
    margin: float = 0.0,
    anyway: bool = False,
    apart: bool = False,
    label: str | None = None,
) -> Comparison:
    """Compare every run with every other on the tasks that all of them have.

    Args:
        runs: The outcomes of each run, by its name.
        configs: Their configurations. Runs under different rules, or with other code of the
            evaluators, are refused; domains with different data are left out.
        k: The pass^k that the main comparison is about.
        level: That of the intervals.
        margin: The largest negligible difference: what is beyond it is to be decided.
        anyway: Do not refuse, but name what differs as a caution.
        apart: Whether runs that have no task in common, as cells of different domains, stand side
            by side: all is about the runs with the same tasks.
        label: What ``passed`` of the outcomes says, where it is not the verdict: ``resisted^k``.
    """
    if len(runs) < 2:
        raise ConfigurationError(f"{len(runs)} run cannot be compared; give two or more")
    kept = {name: list(outcomes) for name, outcomes in runs.items()}
    places = places_of(chain(*kept.values()))
    dropped, cautions, comparable = list[str](), dict[str, None](), 0
    trials: dict[str, dict[TaskKey, Trials]] = {}
    mains: dict[tuple[str, str], Difference] = {}
    # Cells of other domains share no task: each group of runs that do is compared by itself, and no
    # task is dropped for lacking a partner that it cannot have.
    for names in runs_by_tasks(kept) if apart else [list(kept)]:
        alike = {name: kept[name] for name in names}
        other_data, others = _drop_other_data(alike, configs, anyway)
        shared, one_sided = _shared_tasks(alike, places)
        dropped += other_data + one_sided
        cautions |= dict.fromkeys(others)
        comparable += len(set.union(*tasks_in_all(alike, places).values()))
        trials |= shared
        check_k(k, fewest_trials([one for each in shared.values() for one in each.values()]))
        # The last one has all domains together, which is what the main comparison is about.
        group = _groups(shared[names[0]])[-1]
        for a, b in combinations(names, 2):
            mains[a, b] = _difference(group, shared[a], shared[b], k, level, places, label)
    kept = {name: [each for each in run if each.key in trials[name]] for name, run in kept.items()}
    # All pairs are one family: whoever looks at them all finds a difference by chance too often.
    adjusted = holm([main.test.p_value for main in mains.values()])
    found = Comparison(
        runs={name: summarise(run, label=label) for name, run in kept.items()},
        pairs=[Pair(n, main, p) for (n, main), p in zip(mains.items(), adjusted, strict=True)],
        comparable=comparable,
        dropped=dropped,
        cautions=list(cautions),
    )
    if len(runs) == 2:
        costs = mean_cost(kept[found.names[0]]), mean_cost(kept[found.names[1]])
        return _with_details(found, trials, k, level, margin, costs, places)
    notes = [
        f"all runs on the {len({*chain(*trials.values())})} tasks they share; every task "
        "counts once",
        f"p-values of {measure_name(k, label)}, {len(mains)} comparisons, Holm-corrected",
    ]
    return replace(found, notes=notes)


def _with_details(
    found: Comparison,
    trials: Mapping[str, Mapping[TaskKey, Trials]],
    k: int,
    level: float,
    margin: float,
    costs: tuple[float | None, float | None],
    places: Mapping[TaskKey, Place],
) -> Comparison:
    """Add what is said of two runs alone; ``costs`` are those of one simulation in each."""
    first, second = found.names
    a, b = trials[first], trials[second]
    by_cluster = not a.keys() & b.keys()
    if not by_cluster and any(a[key].total != b[key].total for key in a):
        unequal = f"{first} and {second} have different numbers of trials for some tasks"
        found.cautions.append(f"{unequal}; for k > 1 the test is approximate")
    # Two attacks on the same user tasks have no task in common; only the sums of a cluster can be
    # set side by side.
    c, d = (_by_cluster(each, places) if by_cluster else each for each in (a, b))
    flips = (Flip(*key, c[key], d[key]) for key in c)
    most = min(UP_TO, fewest_trials([*a.values(), *b.values()]))
    if are_shares([*a.values(), *b.values()]):
        most = 1  # of a share, there is no second power
    pairs = Pairs([*a.values()], [*b.values()], k, in_order(places, a), in_order(places, b))
    return replace(
        found,
        differences=[
            _difference(group, a, b, each, level, places, found.main.label)
            for group in _groups(a)
            for each in sorted({k, *range(1, most + 1)})
        ],
        flipped=sorted((e for e in flips if e.change), key=lambda each: -abs(each.change)),
        plan=plan(pairs, found.main.test.p_value, level, costs, margin),
        notes=_notes(first, second, bool(places), by_cluster),
    )


def check_k(k: int, most: int) -> None:
    if not 1 <= k <= most:
        raise ConfigurationError(
            f"pass^{k} cannot be compared: some shared task has only "
            f"{count_of(most, 'trial')} with a "
            f"verdict; choose k from 1 to {most}"
        )


def _groups(tasks: Iterable[TaskKey]) -> list[str | None]:
    groups: list[str | None] = [*dict.fromkeys(key.domain for key in tasks)]
    return [*groups, *([None] if len(groups) > 1 else [])]


def _difference(
    group: str | None,
    a: Mapping[TaskKey, Trials],
    b: Mapping[TaskKey, Trials],
    k: int,
    level: float,
    places: Mapping[TaskKey, Place],
    label: str | None = None,
) -> Difference:
    first, second = (
        {key: pass_hat_k(*one, k) for key, one in run.items() if group in (None, key.domain)}
        for run in (a, b)
    )
    if not places:
        # Fractions: the test counts sums that are exactly equal, which floats of thirds never are.
        exact = [second[key] - score for key, score in first.items()]
        return Difference(
            group=group,
            tasks=len(exact),
            k=k,
            first=fmean(first.values()),
            second=fmean(second.values()),
            difference=float(sum(exact) / len(exact)),
            interval=mean_interval([*map(float, exact)], level, bounds=(-1.0, 1.0)),
            test=sign_flip_test(exact),
            label=label,
        )
    pools = (pool(each.values(), [places[key] for key in each]) for each in (first, second))
    found = PairedScores(*pools)
    return Difference(
        group=group,
        # Paired by cluster, the runs may have different numbers of its tasks.
        tasks=max(len(first), len(second)),
        k=k,
        first=found.means[0],
        second=found.means[1],
        difference=found.difference,
        interval=found.interval(level),
        test=cluster_flip_test(found.parts),
        clusters=len(found.parts),
        label=label,
    )


def _by_cluster(
    tasks: Mapping[TaskKey, Trials], places: Mapping[TaskKey, Place]
) -> dict[TaskKey, Trials]:
    """Add up the trials of each cluster's tasks."""
    found: dict[TaskKey, Trials] = {}
    for key, each in tasks.items():
        total, passed = found.get(places[key].cluster, (0, 0))
        found[places[key].cluster] = Trials(total + each.total, passed + each.passed)
    return found


def _notes(first: str, second: str, clustered: bool, by_cluster: bool) -> list[str]:
    paired = "paired by task; every task counts once"
    if by_cluster:
        paired = (
            "paired by cluster, as the runs have different tasks of each; a cluster has the weight "
            "that it has in the run with more of its tasks"
        )
    elif clustered:
        paired = (
            "paired by task; every task counts by its weight, and the test and the interval are "
            "over clusters of tasks"
        )
    return [
        f"differences are {second} \u2212 {first}, {paired}",
        "the test is that of the main comparison; p-values of other k and groups are exploratory "
        "and not corrected for multiple testing",
        "the test decides if there is a difference; the interval says how large it may be on tasks "
        "like these, and is wider than the test",
    ]


def runs_by_tasks(runs: Mapping[str, Iterable[Outcome]]) -> list[list[str]]:
    """Return the names of runs that have tasks or clusters with a verdict in common.

    Some may have them by way of others only.
    """
    return connected(
        {
            name: {each.place.cluster for each in run if each.passed is not None}
            for name, run in runs.items()
        }
    )


NameT = TypeVar("NameT")


def connected(sets: Mapping[NameT, set[TaskKey]]) -> list[list[NameT]]:
    """Return the names of sets that have something in common, also by way of others."""
    groups: list[tuple[list[NameT], set[TaskKey]]] = []
    for name, each in sets.items():
        names, keys = [name], {*each}
        # A new set may join several groups that had nothing in common until now.
        for other in [group for group in groups if group[1] & keys]:
            groups.remove(other)
            names, keys = [*other[0], *names], keys | other[1]
        groups.append((names, keys))
    return [names for names, _ in groups]


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values (Scand. J. Stat. 6, 1979), in the order given."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, position in enumerate(order):
        # No adjusted p-value may lie below that of a smaller one.
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[position]))
        adjusted[position] = largest
    return adjusted


def tasks_in_all(
    runs: Mapping[str, Iterable[Outcome]], places: Mapping[TaskKey, Place]
) -> dict[str, set[TaskKey]]:
    """Return the tasks that all runs have; without any, those of clusters that all have."""
    keys = {name: {each.key for each in run} for name, run in runs.items()}
    if common := set.intersection(*keys.values()):
        return dict.fromkeys(keys, common)
    if not places:
        return dict.fromkeys(keys, common)
    clusters = {name: {places[key].cluster for key in mine} for name, mine in keys.items()}
    shared = set.intersection(*clusters.values())
    return {
        name: {key for key in mine if places[key].cluster in shared} for name, mine in keys.items()
    }


def _shared_tasks(
    runs: Mapping[str, Iterable[Outcome]], places: Mapping[TaskKey, Place]
) -> tuple[dict[str, dict[TaskKey, Trials]], list[str]]:
    """Return the trials of the tasks with a verdict in all runs, in one order, and all others.

    Runs that have no task in common are paired by cluster, and have those of common clusters.
    """
    every = {name: by_task(run) for name, run in runs.items()}
    kept = tasks_in_all(runs, places)
    dropped = [
        f"task {str(key)!r} of {name}: not in every run"
        for name, each in every.items()
        for key in each
        if key not in kept[name]
    ]
    alike = set.intersection(*kept.values())
    if not alike and any(kept.values()):
        return _shared_clusters(every, kept, places, dropped)
    # In the order of the first run: signs that are drawn at random are the same each time.
    common = [key for key in next(iter(every.values())) if key in alike]
    order = []
    for key in common:
        without = [name for name, trials in every.items() if not trials[key].total]
        if without:
            dropped.append(f"task {str(key)!r}: no verdict in {' and '.join(without)}")
        else:
            order.append(key)
    if not order:
        words = "with a verdict " if common else ""
        raise ConfigurationError(
            f"the runs {', '.join(every)} have no task {words}in common; "
            "compare runs of the same tasks of the same domains"
        )
    return {name: {key: each[key] for key in order} for name, each in every.items()}, dropped


def _shared_clusters(
    every: Mapping[str, Mapping[TaskKey, Trials]],
    kept: Mapping[str, set[TaskKey]],
    places: Mapping[TaskKey, Place],
    dropped: list[str],
) -> tuple[dict[str, dict[TaskKey, Trials]], list[str]]:
    """Return the trials of the tasks whose clusters have a verdict in all runs, and all others."""
    judged = {
        name: {key: one for key, one in each.items() if key in kept[name] and one.total}
        for name, each in every.items()
    }
    clusters = [{places[key].cluster for key in mine} for mine in judged.values()]
    common = set.intersection(*clusters)
    lost = sorted(set.union(*clusters) - common)
    dropped += [f"cluster {str(key)!r}: no verdict in some run" for key in lost]
    if not common:
        raise ConfigurationError(
            f"the runs {', '.join(every)} have no cluster of tasks with a verdict in common; "
            "run them on the same tasks, or wait for their verdicts"
        )
    shared = {
        name: {key: one for key, one in mine.items() if places[key].cluster in common}
        for name, mine in judged.items()
    }
    return shared, dropped


def _drop_other_data(
    runs: dict[str, list[Outcome]],
    configs: Mapping[str, Mapping[str, Any]] | None,
    anyway: bool,
) -> tuple[list[str], list[str]]:
    """Remove the domains whose data differ between any two runs; return these, and cautions."""
    if configs is None:
        return [], ["no configurations given: differences in data or rules cannot be detected"]
    other_data: dict[str, str] = {}
    cautions: dict[str, None] = {}
    for a, b in combinations(runs, 2):
        found = check_compatible(configs[a], configs[b], names=(a, b), anyway=anyway)
        other_data |= found.other_data
        cautions |= dict.fromkeys(found.cautions)
    for name, run in runs.items():
        # Tasks on other data are other tasks, whatever their ids.
        runs[name] = [outcome for outcome in run if outcome.domain not in other_data]
    return [f"domain {group!r}: {why}" for group, why in other_data.items()], list(cautions)


def quantity_difference(
    first: Iterable[Outcome], second: Iterable[Outcome], measure: Measure
) -> Difference | None:
    """Compare a quantity of two runs, paired by cluster.

    None without two in common, as one says nothing of others.
    """
    runs = [list(first), list(second)]
    means = [quantity_by_task(run, measure) for run in runs]
    common = means[0].keys() & means[1].keys()
    if common:
        means = [{key: mine[key] for key in means[0] if key in common} for mine in means]
    every = [*runs[0], *runs[1]]
    pools = [pool(mine.values(), places_of_tasks(every, mine)) for mine in means]
    if not pools[0].keys() & pools[1].keys():
        return None
    paired = PairedScores(*pools)
    if (interval := paired.student_interval()) is None:
        return None
    return Difference(
        group=None,
        tasks=len(common) or max(map(len, means)),
        k=1,
        first=paired.means[0],
        second=paired.means[1],
        difference=paired.difference,
        interval=interval,
        test=cluster_flip_test(paired.parts),
        label=measure.name,
        unit=measure.unit,
    )
