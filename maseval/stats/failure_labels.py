"""Labels of failed simulations: who failed and how, counted, and pass^k without each kind.

The official number counts every simulation. Next to it are the numbers without the simulations
whose failure was not the agent's, as if these had not been run. They are never given alone,
because leaving simulations out can only improve a number.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, TypedDict

from maseval.core.figures import percent
from maseval.core.words import count_of
from maseval.stats.trials import Trials, count_trials, mean_over_tasks, measure_name

Who = Literal["agent", "user", "task", "infrastructure", "unclear"]

WHO: tuple[Who, ...] = ("agent", "user", "task", "infrastructure", "unclear")
APART: tuple[Who, ...] = ("user", "task", "infrastructure")


@dataclass(frozen=True)
class Label:
    """A label: the party that failed and how, the rule that says so, and what it saw."""

    who: Who
    what: str
    rule: str
    evidence: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the label as JSON values."""
        return {**asdict(self), "evidence": list(self.evidence)}

    def text(self) -> str:
        """Return the label in words, the evidence below."""
        evidence = (f"  {line}" for line in self.evidence)
        return "\n".join([f"{self.who}: {self.what} (rule: {self.rule})", *evidence])


class Labelled(NamedTuple):
    """One simulation: its task, and its label if it failed."""

    task: str
    label: Label | None


class PassHatK(TypedDict):
    """pass^k over the tasks that have k trials left; ``None`` where no task has."""

    values: dict[str, float | None]
    simulations: int
    tasks: int
    left_out: int


class LabelSummary(TypedDict):
    """A run by its labels; ``official`` counts everything, ``without`` leaves failures out."""

    simulations: int
    passed: int
    failed: int
    by_who: dict[str, int]
    by_what: dict[str, int]
    official: PassHatK
    without: dict[str, PassHatK]


def summarise_labels(simulations: Iterable[Labelled], most_k: int | None = None) -> LabelSummary:
    """Count the labels of a run, and compute pass^k with and without failures of others."""
    every = list(simulations)
    labels = [each.label for each in every if each.label is not None]
    k_values = range(1, _most_k(every, most_k) + 1)
    who = Counter(each.who for each in labels)
    return {
        "simulations": len(every),
        "passed": len(every) - len(labels),
        "failed": len(labels),
        "by_who": {name: who[name] for name in WHO},
        "by_what": dict(Counter(f"{each.who}: {each.what}" for each in labels).most_common()),
        "official": _pass_hat(every, (), k_values),
        "without": {
            **{name: _pass_hat(every, (name,), k_values) for name in APART},
            " and ".join(APART): _pass_hat(every, APART, k_values),
        },
    }


def _most_k(every: Sequence[Labelled], most_k: int | None) -> int:
    trials = Counter(each.task for each in every)
    fewest = min(trials.values(), default=0)
    return fewest if most_k is None else min(most_k, fewest)


def _pass_hat(
    every: Sequence[Labelled], without: Sequence[Who], k_values: Iterable[int]
) -> PassHatK:
    kept = [each for each in every if each.label is None or each.label.who not in without]
    tasks = count_trials((each.task, each.label is None) for each in kept)
    return {
        "values": {measure_name("pass^k", k): _mean(tasks.values(), k) for k in k_values},
        "simulations": len(kept),
        "tasks": len(tasks),
        "left_out": len(every) - len(kept),
    }


def _mean(tasks: Iterable[Trials], k: int) -> float | None:
    """Return the mean over the tasks that still have k trials; None if none has."""
    enough = [each for each in tasks if each.total >= k]
    return mean_over_tasks(enough, "pass^k", k) if enough else None


def summary_text(summary: LabelSummary) -> str:
    """Return the summary in words, the official number first."""
    lines = [
        f"{count_of(summary['simulations'], 'simulation')}, {summary['passed']} passed, "
        f"{summary['failed']} failed"
    ]
    lines += [f"  {count:>5}  {what}" for what, count in summary["by_what"].items()]
    lines.append(f"official           {_values(summary['official'])}")
    for name, row in summary["without"].items():
        lines.append(f"without {name}: {_values(row)} ({row['left_out']} left out)")
    return "\n".join(lines)


def _values(row: Mapping[str, Any]) -> str:
    shown = (
        f"{name} {'-' if value is None else percent(value)}"
        for name, value in row["values"].items()
    )
    return ", ".join(shown)
