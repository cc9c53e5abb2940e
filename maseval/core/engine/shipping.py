"""Repetitions in other processes: the objects that are sent there and those that come back.

For engines whose workers are not threads of this process. An engine sends each process its
``ProcessSettings`` and the ``worker_setting`` of the run once, then a ``WorkOrder`` for every
attempt, and turns the ``WorkResult`` that comes back into the result of the repetition. How these
are pickled and carried is the engine's own affair.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from maseval.core import model, providers, scorer
from maseval.core.call_policy import CallPolicy, default_policy, set_default_policy
from maseval.core.engine.repetition import Repetition, RepetitionResult, RunSetting
from maseval.core.providers import Providers
from maseval.core.registry import UsageTotals
from maseval.core.report import Attempt, Report, TaskExecutionStatus
from maseval.core.task import Task
from maseval.core.tracing import JsonObject
from maseval.core.usage import Usage

# Of the whole run, not of any category of components.
_NOT_COMPONENTS = ("metadata", "benchmark")


def worker_setting(setting: RunSetting) -> RunSetting:
    """Reduce what all repetitions of a run share to what another process needs.

    Totals and ``stopping`` belong to this process; ``WorkOrder.start`` puts in those of the other.
    """
    return replace(
        setting,
        benchmark=setting.benchmark.for_worker(),
        config={},
        totals=UsageTotals(),
        shared=None,
        stopping=_never,
    )


def _never() -> bool:
    return False


@dataclass(frozen=True)
class WorkOrder:
    """One attempt at one repetition, by a number that no other attempt of the run has."""

    number: int
    task: Task
    repeat_idx: int
    agent_data: JsonObject
    timeout: float | None
    attempts: list[Attempt]
    recorded: Report | None = None

    @classmethod
    def of(cls, number: int, repetition: Repetition) -> "WorkOrder":
        return cls(
            number,
            repetition.task,
            repetition.repeat_idx,
            repetition.agent_data,
            repetition.timeout,
            repetition.attempts,
            repetition.recorded,
        )

    def start(self, setting: RunSetting, stopping: Callable[[], bool]) -> Repetition:
        """Begin the repetition in this process; its usage is counted by itself."""
        here = replace(setting, totals=UsageTotals(), stopping=stopping)
        repetition = Repetition.of(here, self.task, self.repeat_idx, self.agent_data)
        repetition = replace(
            repetition, timeout=self.timeout, attempts=self.attempts, recorded=self.recorded
        )
        repetition.begin()
        return repetition


@dataclass(frozen=True)
class WorkResult:
    """The result of an order."""

    number: int
    report: Report
    status: TaskExecutionStatus
    exception: BaseException | None
    usage: Mapping[str, Usage]
    note: object = None
    """The ``worker_note`` of the benchmark there, for the one here."""

    @classmethod
    def of(cls, number: int, repetition: Repetition, outcome: RepetitionResult) -> "WorkResult":
        used, report = repetition.setting.totals.by_component, outcome.report
        note = repetition.setting.benchmark.worker_note(report)
        return cls(number, report, outcome.status, outcome.exception, used, note)

    def to_result(self, repetition: Repetition) -> RepetitionResult:
        """Return the result of the repetition that was ordered, as if it had taken place here.

        What belongs to the whole run is added: its configuration, the traces of its callbacks, and
        its usage to the totals.
        """
        setting, registry = repetition.setting, repetition.context.registry
        for key, usage in self.usage.items():
            setting.totals.note(registry, key, usage)
        registry.close()
        report = self.report
        setting.conversations.forget((report["task_id"], report["repeat_idx"]))
        if "benchmark" in report["config"]:
            report["config"]["benchmark"] = setting.config
        if setting.shared is not None:
            _add(setting.shared.collect_traces(), report["traces"])
            _add(setting.shared.collect_configs(), report["config"])
        if self.note is not None:
            setting.benchmark.take_worker_note(report, self.note)
        return RepetitionResult(report, self.status, self.exception)


def _add(shared: JsonObject, own: JsonObject) -> None:
    """Report the components of the whole run before the repetition's own."""
    if "metadata" not in own:  # nothing was collected, as after a set-up that failed
        return
    for category, components in shared.items():
        if category not in _NOT_COMPONENTS and isinstance(components, dict) and components:
            own[category] = {**components, **(own.get(category) or {})}
    own["metadata"]["total_components"] += shared["metadata"]["total_components"]


_KINDS: dict[str, Providers[Any]] = {
    "model": model.MODELS,
    "embedder": providers.EMBEDDERS,
    "scorer": scorer.SCORERS,
}


@dataclass(frozen=True)
class ProcessSettings:
    """Settings of a whole process, to be repeated in others.

    The default policy of calls, and the factories of models, embedders and scorers that it
    registered, by kind and prefix.
    """

    policy: CallPolicy
    registered: dict[tuple[str, str], Callable[..., Any]]

    @classmethod
    def current(cls, sendable: Callable[[object], bool]) -> "ProcessSettings":
        """Read those of this process, but leave out factories that cannot be sent."""
        registered = {
            (kind, prefix): factory
            for kind, providers in _KINDS.items()
            for prefix, factory in providers.registered.items()
            if sendable(factory)
        }
        return cls(default_policy(), registered)

    def apply(self) -> None:
        """Set them in this process."""
        set_default_policy(self.policy)
        for (kind, prefix), factory in self.registered.items():
            _KINDS[kind].register(prefix, factory)
