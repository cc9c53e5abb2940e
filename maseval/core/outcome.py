"""The outcome of a repetition: the one place where a report is read for its result.

A repetition that ran to its end (status ``success``) has the verdict that an evaluator gives: by
``passed`` where an entry of ``eval`` has it, else by a ``reward`` of 1. One that the agent itself
broke off (``AGENT_FAILURES``) did not pass. All others have no verdict, be it that a provider, the
environment, the user or the judge failed, or that nobody judged them: they are never a failure of
the agent, and ``reason`` says what became of them. Reports read from a file may lack any part that
their writer left out.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Literal, NamedTuple

from maseval.core import teamwork
from maseval.core.answer_cache import ANSWERS, ANSWERS_FROM_CACHE
from maseval.core.exceptions import ConfigurationError
from maseval.core.recorded import (
    Part,
    RecordedMessage,
    RecordedTrace,
    amount,
    anything,
    dict_of,
    list_of,
    mapping,
    number,
)
from maseval.core.report import AGENT_FAILURES, TaskExecutionStatus
from maseval.core.report_parts import (
    ComponentUsage,
    RecordedAgent,
    RecordedAttempt,
    RecordedEvaluation,
    evaluations_in,
)
from maseval.core.task import Task
from maseval.core.task.task import is_weight
from maseval.core.usage import usage_records
from maseval.core.words import count_of, text, text_or_none

OutcomeKind = Literal["pass", "fail", "error", "unjudged"]
"""``error``: it did not run to its end. ``unjudged``: no evaluator says whether it passed."""

UNJUDGED: Literal["unjudged"] = "unjudged"
MOST_SIMULATIONS = 200_000
"""The most that a run or a file may hold or plan, as each is kept in memory."""
_FINISHED = TaskExecutionStatus.SUCCESS.value


class TaskKey(NamedTuple):
    """A task's domain and id: every domain has a task "1"."""

    domain: str
    task_id: str

    @classmethod
    def of(cls, task: Task) -> "TaskKey":
        """Return a task's key; ``domain`` is in its metadata, or empty."""
        return cls(str(task.metadata.get("domain") or ""), str(task.id))

    def __str__(self) -> str:
        return f"{self.domain}/{self.task_id}" if self.domain else self.task_id


class Place(NamedTuple):
    """The place of a task in a mean: the cluster that it is a case of, and its weight.

    A task that names no cluster is one of its own, under its own id; so a task without attacks and
    the attacks on it, which name it, are one cluster.
    """

    cluster: TaskKey
    weight: float = 1.0


class Simulation(NamedTuple):
    """The id of one trial of one task."""

    domain: str
    task_id: str
    trial: int

    @classmethod
    def of(cls, report: Mapping[str, object]) -> "Simulation":
        """Return the simulation that a report is about."""
        return RecordedReport(report).key

    @classmethod
    def of_task(cls, task: Task, trial: int) -> "Simulation":
        return cls(*TaskKey.of(task), trial)

    @property
    def task(self) -> TaskKey:
        return TaskKey(self.domain, self.task_id)

    def __str__(self) -> str:
        return f"{self.task}, trial {self.trial}"


class Outcome(NamedTuple):
    """One trial of one task, without its conversation: a row of statistics, tables and lists.

    ``passed`` is None for a trial without a verdict, be it missing, broken or excluded; ``reason``
    then says why. ``cost`` and ``tokens`` are those of all attempts at it; ``cost`` is None if it
    is not known. Of the models' ``answers``, so many ``cached_answers`` came from a cache; both are
    counted only in runs with one. What follows is what its report says, beside the verdict: rows
    that were made without a report lack it.
    """

    domain: str
    task_id: str
    trial: int
    passed: bool | None
    cost: float | None = None
    reason: str | None = None
    answers: int = 0
    cached_answers: int = 0
    status: str = ""
    kind: OutcomeKind = "unjudged"
    reward: float | None = None
    ended: str | None = None
    seconds: float = 0.0
    tokens: int = 0
    error: str | None = None
    code: str | None = None
    """The state of one's own code under which it ran, if there is such code."""
    user_cost: float | None = None
    judge_cost: float | None = None
    """The parts of ``cost`` that the user and the judge had."""
    cluster: str | None = None
    weight: float = 1.0
    measures: Mapping[str, float] | None = None
    """The numbers that the evaluators gave beside the verdict, by the name of the measure."""

    @property
    def key(self) -> TaskKey:
        return TaskKey(self.domain, self.task_id)

    @property
    def place(self) -> Place:
        named = self.task_id if self.cluster is None else self.cluster
        return Place(TaskKey(self.domain, named), self.weight)

    @property
    def simulation(self) -> Simulation:
        return Simulation(self.domain, self.task_id, self.trial)

    @property
    def cache_in_words(self) -> str | None:
        """The number of the models' answers that came from a cache, in words; None if none did."""
        if not self.cached_answers:
            return None
        return f"{self.cached_answers} of {count_of(self.answers, 'answer')} from a cache"


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Add up the costs that are known; None if some are not, and the others are nothing."""
    # Where nothing is known but that some had a price, zero would look like a run for free.
    every = [amount(cost) for cost in costs]
    return sum(cost or 0.0 for cost in every) or (None if None in every else 0.0)


def words_on_cache(trials: Iterable[Outcome]) -> str | None:
    """Return what answers from a cache mean for an interval; None if there are none."""
    every = list(trials)
    cached = sum(trial.cached_answers for trial in every)
    if not cached:
        return None
    answers = count_of(sum(trial.answers for trial in every), "answer")
    return (
        f"{cached} of {answers} came from a cache: trials are not independent, and the interval "
        "is too narrow."
    )


def verdict_for(kind: OutcomeKind, status: str | None) -> tuple[bool | None, str | None]:
    """Return whether a repetition of this kind and status passed; None, and why, if unknown."""
    match kind:
        case "pass":
            return True, None
        case "fail":
            return False, None
        case "error":
            return (False, None) if status in AGENT_FAILURES else (None, status)
    return None, UNJUDGED


_VERDICT = ("passed", "reward")
_LARGEST = 1e100
"""A larger number is none that anybody measured, and its square is no number."""


class RecordedReport(RecordedAttempt):
    """A report, from a run or from a file; what its writer left out reads as nothing.

    ``title``, ``labels``, ``run``, ``explanation`` and ``recorded_reward`` are what commands add.
    """

    task_id = Part(str)
    trial = Part(lambda value: int(number(value) or 0), "repeat_idx")
    attempts = Part(list_of(RecordedAttempt))
    evaluations = Part(
        lambda value: [evaluation for evaluation in evaluations_in(value) if evaluation.raw], "eval"
    )
    started_at = Part(text_or_none)
    seconds = Part(amount, "duration_seconds")
    seed = Part(anything)
    run_id = Part(text_or_none)
    final_answer = Part(anything)
    confidence = Part(number, "traces", "confidence", "agent", "value")
    query = Part(text_or_none, "task", "query")
    metadata = Part(mapping, "task", "metadata")
    purpose = Part(text_or_none, "task", "metadata", "description", "purpose")
    reason_for_call = Part(
        text_or_none, "task", "metadata", "user_scenario", "instructions", "reason_for_call"
    )
    cluster = Part(text_or_none, "task", "cluster")
    weight = Part(lambda value: value if is_weight(value) else 1.0, "task", "weight")
    user_scenario = Part(text_or_none, "config", "user", "scenario")
    environment = Part(mapping, "traces", "environment")
    simulation = Part(RecordedTrace, "traces", "environment", "simulation")
    traced_agents = Part(dict_of(RecordedTrace), "traces", "agents")
    traced_models = Part(dict_of(RecordedTrace), "traces", "models")
    agents = Part(dict_of(RecordedAgent), "config", "agents")
    user = Part(RecordedAgent, "config", "user")
    models = Part(dict_of(RecordedAgent), "config", "models")
    agent_usage = Part(dict_of(mapping), "usage", "agents")
    settings = Part(mapping, "config", "environment")
    tool_types = Part(mapping, "config", "environment", "tool_types")
    benchmark = Part(mapping, "config", "benchmark")
    code = Part(text_or_none, "config", "code")
    title = Part(text_or_none)
    labels = Part(list_of(text))
    explanation = Part(anything)
    run = Part(text_or_none)

    @cached_property
    def domain(self) -> str:
        """The domain of the task, or of the environment if the task was left out; else empty."""
        where = self.metadata if "task" in self.raw else self.environment
        return str(where.get("domain") or "")

    def models_of(self, side: str) -> str | None:
        """Return the models that played the agent or the user, joined by a comma."""
        found = (
            model.model_id for name, model in self.models.items() if name.partition("_")[0] == side
        )
        return ", ".join(dict.fromkeys(filter(None, found))) or None

    @cached_property
    def team(self) -> list[str]:
        """The names of the agents that took part, if they are several."""
        spoken = [
            message.agent for message in self.simulation.messages if message.role == "assistant"
        ]
        own = [event.agent for event in teamwork.own_events(self.traced_agents)]
        names = [*dict.fromkeys(filter(None, [*self.traced_agents, *own, *spoken]))]
        return names if len(names) > 1 else []

    def events(self) -> list[teamwork.RecordedEvent]:
        """Return who did what, in order of time: agents that work in parallel side by side.

        An entry without a time stands after the one before it. What agents recorded themselves is
        left out where the environment recorded it as well.
        """
        spoken = teamwork.events_of(teamwork.USER, self.simulation.messages)
        if not spoken or self.team:
            spoken = [
                *teamwork.unrecorded(teamwork.own_events(self.traced_agents), spoken),
                *spoken,
            ]
        for name, trace in self.traced_models.items():
            spoken += teamwork.events_of(name, trace.logs)
        return sorted(spoken, key=lambda event: event.time)

    def work(self) -> list[teamwork.AgentWork]:
        """Return the part of each agent of a team; nothing for a single agent."""
        own = {
            used.component.removeprefix("agents:"): (used.input_tokens, used.output_tokens)
            for used in self.usage
            if used.attempt is None and used.component.startswith("agents:")
        }
        return teamwork.work_of(
            self.team, self.events(), teamwork.own_events(self.traced_agents), own
        )

    @property
    def task(self) -> TaskKey:
        return TaskKey(self.domain, self.task_id)

    @property
    def key(self) -> Simulation:
        return Simulation(self.domain, self.task_id, self.trial)

    @property
    def _counted(self) -> list[RecordedEvaluation]:
        """The evaluations of a repetition that finished; no other verdict counts."""
        return self.evaluations if self.status == _FINISHED else []

    @cached_property
    def kind(self) -> OutcomeKind:
        """Passed, failed, broken, or finished without a verdict.

        One evaluator that says it passed is enough. Where no status says that the repetition
        finished, no verdict counts.
        """
        if self.status not in (None, _FINISHED):
            return "error"
        known = [
            passed for evaluation in self._counted if (passed := evaluation.passed) is not None
        ]
        if not known:
            return "unjudged"
        return "pass" if any(known) else "fail"

    @property
    def reward(self) -> float | None:
        """The best reward that an evaluator gave to a finished repetition, if there is one."""
        rewards = [
            reward for evaluation in self._counted if (reward := evaluation.reward) is not None
        ]
        return max(rewards, default=None)

    @property
    def measures(self) -> dict[str, float]:
        """The numbers beside the verdict, such as ``{"resisted": 1.0}``; a verdict is 1 or 0."""
        given: dict[str, object] = {}
        for evaluation in self._counted:
            given |= {k: v for k, v in evaluation.raw.items() if k not in _VERDICT}
            given |= evaluation.measures
        values = {
            name: float(v) if isinstance(v, bool) else amount(v)
            for name, v in given.items()
            if isinstance(v, int | float)
        }
        return {k: v for k, v in values.items() if v is not None and abs(v) < _LARGEST}

    @property
    def termination(self) -> str | None:
        """The reason why the conversation ended, as the environment or an evaluator recorded it."""
        if ended := self.simulation.termination_reason:
            return ended
        return next(
            filter(None, (evaluation.termination_reason for evaluation in self.evaluations)), None
        )

    @cached_property
    def _used(self) -> list[tuple[str, int | None, Mapping[str, object]]]:
        """Each component with the number of the attempt, and what it used."""
        every: list[tuple[int | None, RecordedAttempt]]
        every = [(None, self), *enumerate(self.attempts, start=1)]
        return [
            (component, attempt, record)
            for attempt, recorded in every
            for component, record in usage_records(recorded.raw.get("usage"))
        ]

    @cached_property
    def usage(self) -> list[ComponentUsage]:
        """The usage of every component. Earlier attempts were paid for too."""
        counts = ComponentUsage._fields[2:]
        return [
            ComponentUsage(component, attempt, *[number(record.get(name)) for name in counts])
            for component, attempt, record in self._used
        ]

    @property
    def cost(self) -> float | None:
        """The cost of a repetition with all its attempts, as far as it is known."""
        return self.cost_of(self.usage) if "usage" in self.raw else None

    def cost_of(self, used: Iterable[ComponentUsage]) -> float | None:
        """Return the cost of a part of the usage, as far as it is known.

        Tokens that cost nothing are of unknown price, unless the prices are recorded.
        """
        return total_cost(
            record.cost or (None if record.tokens and not self._is_priced else record.cost)
            for record in used
        )

    def cost_of_role(self, role: str) -> float | None:
        """Return the cost of agent, user or judge, as far as it is known."""
        return self.cost_of(used for used in self.usage if used.role == role)

    @property
    def _is_priced(self) -> bool:
        """True if the price of every model is recorded."""
        rates = [mapping(model.raw, "cost_calculator") for model in self.models.values()]
        return bool(rates) and all("input" in rate for rate in rates)

    @property
    def tokens(self) -> int:
        return int(sum(used.tokens for used in self.usage))

    @property
    def outcome(self) -> Outcome:
        """The report as a row."""
        passed, reason = verdict_for(self.kind, self.status)
        return Outcome(
            *self.key,
            passed,
            self.cost,
            reason,
            self._count(ANSWERS),
            self._count(ANSWERS_FROM_CACHE),
            status=self.status or "",
            kind=self.kind,
            reward=self.reward,
            ended=self.termination,
            seconds=self.seconds or 0.0,
            tokens=self.tokens,
            error=None if self.error.message is None else str(self.error),
            code=self.code,
            user_cost=self.cost_of_role("user"),
            judge_cost=self.cost_of_role("judge"),
            cluster=self.cluster,
            weight=self.weight,
            measures=self.measures or None,
        )

    def _count(self, unit: str) -> int:
        every = [units for _, _, record in self._used if (units := record.get("units"))]
        return int(sum(number(mapping(units).get(unit)) or 0 for units in every))

    def said(self) -> list[tuple[str | None, RecordedMessage]]:
        """Return the messages of the simulation, or of all agents; of several with their names."""
        spoken = teamwork.events_of(teamwork.USER, self.simulation.messages)
        own = [] if spoken else teamwork.own_events(self.traced_agents)
        spoken += sorted(own, key=lambda event: event.time) if self.team else own
        return [
            (agent if agent in self.team else None, message)
            for _, agent, message in spoken
            if isinstance(message, RecordedMessage)
        ]

    def decider(self, message: int | None) -> str | None:
        """Return the agent of a team whose message it is, such as that which decided."""
        return dict(enumerate(who for who, _ in self.said())).get(
            -1 if message is None else message
        )


def parse_report(report: object, name: str = "this") -> RecordedReport:
    """Return a report that was given, parsed; ``name`` says in the error which of several it is."""
    parsed = RecordedReport(report)
    if parsed.raw.get("task_id") is None:
        raise ConfigurationError(
            f"{name} is {str(report)[:80]!r}, not a report with a task_id; "
            "give what benchmark.run() or read_reports() returned"
        )
    return parsed
