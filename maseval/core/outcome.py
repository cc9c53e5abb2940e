"""The outcome of a repetition: the one place where a report is read for its result.

Every repetition counts. It passed if it ran to its end (status ``success``) and an evaluator says
so: by ``passed`` where an entry of ``eval`` has it, else by a ``reward`` of 1. A report without a
status, or without an evaluation, is not a pass. Reports read from a file may lack any part that
their writer left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.report import TaskExecutionStatus
from maseval.core.shapes import Shape, entries, mapping, number, text_or_none
from maseval.core.usage import usage_records

OutcomeKind = Literal["pass", "fail", "error", "unjudged"]
"""``error``: it did not run to its end. ``unjudged``: no evaluator says whether it passed."""

TOLERANCE = 1e-6


class TaskKey(NamedTuple):
    """A task's group (its domain) and id: every domain has a task "1"."""

    group: str
    task: str

    def __str__(self) -> str:
        return f"{self.group} {self.task}" if self.group else self.task


@dataclass(frozen=True)
class Outcome:
    """One trial of one task, as statistics see it.

    ``passed`` is None for a trial that does not count, be it missing or excluded; ``reason`` then
    says why. ``cost`` is None if it is not known.
    """

    group: str
    task: str
    trial: int
    passed: bool | None
    cost: float | None = None
    reason: str | None = None

    @property
    def key(self) -> TaskKey:
        """The task it is a trial of."""
        return TaskKey(self.group, self.task)


def is_successful(reward: float) -> bool:
    """Return whether a reward is 1, give or take rounding."""
    return 1 - TOLERANCE <= reward <= 1 + TOLERANCE


def outcome_of(report: Shape) -> Outcome:
    """Reduce a report to what statistics need."""
    group, task, trial = simulation_key(report)
    return Outcome(group, task, trial, kind_of(report) == "pass", cost_of(report))


def checked_report(report: object, name: str = "this") -> Shape:
    """``report`` if it is one; ``name`` says in the error which of several it is."""
    shape = mapping(report)
    if shape.get("task_id") is None:
        raise ConfigurationError(
            f"{name} is {str(report)[:80]!r}, not a report with a task_id; "
            "give what benchmark.run() or read_reports() returned"
        )
    return shape


def simulation_key(report: Shape) -> tuple[str, str, int]:
    """Domain, task id and trial number."""
    trial = int(number(report.get("repeat_idx")) or 0)
    return domain_of(report), str(report["task_id"]), trial


def task_key(report: Shape) -> TaskKey:
    """Return the task that a report is about."""
    return TaskKey(*simulation_key(report)[:2])


def domain_of(report: Shape) -> str:
    """Return the domain of the task, or of the environment if the task was left out; else empty."""
    where = ("task", "metadata") if "task" in report else ("traces", "environment")
    return str(mapping(report, *where).get("domain") or "")


def kind_of(report: Shape) -> OutcomeKind:
    """Passed, failed, broken, or finished without a verdict.

    One evaluator that says it passed is enough. Where no status says that the repetition finished,
    no verdict counts.
    """
    status = report.get("status")
    if status not in (None, TaskExecutionStatus.SUCCESS.value):
        return "error"
    verdicts = [_verdict(entry) for entry in _counted_evaluations(report)]
    known = [passed for passed in verdicts if passed is not None]
    if not known:
        return "unjudged"
    return "pass" if any(known) else "fail"


def _verdict(entry: Shape) -> bool | None:
    if entry.get("passed") is not None:
        return bool(entry["passed"])
    reward = number(entry.get("reward"))
    return None if reward is None else is_successful(reward)


def reward_of(report: Shape) -> float | None:
    """Return the best reward that an evaluator gave to a finished repetition, if there is one."""
    rewards = (number(entry.get("reward")) for entry in _counted_evaluations(report))
    return max((each for each in rewards if each is not None), default=None)


def evaluations(report: Shape) -> list[Shape]:
    """Return the evaluators' results, whether or not they count."""
    return [found for entry in entries(report.get("eval")) if (found := mapping(entry))]


def _counted_evaluations(report: Shape) -> list[Shape]:
    finished = report.get("status") == TaskExecutionStatus.SUCCESS.value
    return evaluations(report) if finished else []


def recorded_simulation(report: Shape) -> Shape:
    """Return the simulated conversation that an environment recorded; empty if there is none."""
    return mapping(report, "traces", "environment", "simulation")


def termination_of(report: Shape) -> str | None:
    """Return why the conversation ended, as the environment or an evaluator recorded it."""
    reasons = [entry.get("termination_reason") for entry in evaluations(report)]
    known = (recorded_simulation(report).get("termination_reason"), *reasons)
    return next((text_or_none(reason) for reason in known if reason), None)


class ComponentUsage(NamedTuple):
    """The usage record of one component in one attempt; the last attempt has no number."""

    component: str
    attempt: int | None
    record: Shape


def usage_of(report: Shape) -> Iterator[ComponentUsage]:
    """Yield the usage of every component. Earlier attempts were paid for too."""
    attempts = enumerate(entries(report.get("attempts")), start=1)
    for attempt, part in [(None, report), *attempts]:
        for component, record in usage_records(mapping(part, "usage")):
            yield ComponentUsage(component, attempt, record)


def cost_of(report: Shape) -> float | None:
    """Return the cost of a repetition with all its attempts, as far as it is known."""
    return spent(report).cost


def tokens_of(report: Shape) -> int:
    """Return the tokens of a repetition with all its attempts."""
    return spent(report).tokens


class Spent(NamedTuple):
    """The cost of a repetition, as far as it is known, and its tokens."""

    cost: float | None
    tokens: int


def spent(report: Shape) -> Spent:
    """Cost and tokens of a repetition with all its attempts, in one go."""
    costs: list[float] = []
    tokens = 0.0
    for _, _, record in usage_of(report):
        if (cost := number(record.get("cost"))) is not None:
            costs.append(cost)
        tokens += (number(record.get("input_tokens")) or 0) + (
            number(record.get("output_tokens")) or 0
        )
    return Spent(sum(costs) if costs else None, int(tokens))
