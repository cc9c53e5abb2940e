"""Repetitions in other processes: what is sent there and comes back, as bytes of our own.

For engines whose workers are not threads of this process. An engine sends each process the
``Equipment`` of the run once, then the ``order_of`` every attempt, and turns the ``WorkResult``
that comes back into the result of the repetition. What carries the bytes does not see what is in
them.
"""

import pickle
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from maseval.core import model, providers
from maseval.core.call_policy import CallPolicy, default_policy, set_default_policy
from maseval.core.engine.repetition import Repetition, RepetitionResult, RunSetting
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.providers import Providers
from maseval.core.registry import UsageTotals
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.storage import strict_json
from maseval.core.tracing import JsonObject
from maseval.core.usage import Usage

if TYPE_CHECKING:  # few benchmarks have a judge
    from maseval.core.judge_record import Judgement

# Of the whole run, not of any category of components.
_NOT_COMPONENTS = ("metadata", "benchmark")


def worker_setting(setting: RunSetting) -> RunSetting:
    """Reduce what all repetitions of a run share to what another process needs.

    Totals and ``stopping`` belong to this process; ``start_order`` puts in those of the other.
    """
    return replace(
        setting,
        benchmark=setting.benchmark.for_worker(),
        config={},
        totals=UsageTotals(),
        shared=None,
        stopping=bool,  # which returns False and, unlike a lambda, can be sent
    )


_ORDERED = ("task", "summary", "repeat_idx", "agent_data", "timeout", "attempts", "recorded")


def order_of(repetition: Repetition) -> JsonObject:
    """Return what another process needs to make the attempt, beside the setting of the run."""
    return {name: part for name, part in vars(repetition).items() if name in _ORDERED}


def start_order(order: JsonObject, setting: RunSetting, stopping: Callable[[], bool]) -> Repetition:
    """Begin the repetition in this process; its usage is counted by itself."""
    repetition = Repetition(replace(setting, totals=UsageTotals(), stopping=stopping), **order)
    repetition.begin()
    return repetition


@dataclass(frozen=True)
class WorkResult:
    """The result of an order."""

    report: Report
    status: TaskExecutionStatus
    exception: BaseException | None
    usage: Mapping[str, Usage]
    judgements: "Sequence[Judgement]" = ()
    """The judgements that were made there, to be kept here."""

    @classmethod
    def of(cls, repetition: Repetition, outcome: RepetitionResult) -> "WorkResult":
        setting = repetition.setting
        record = setting.benchmark.judge_record
        return cls(
            outcome.report,
            outcome.status,
            sendable_error(outcome.exception),
            setting.totals.by_component,
            () if record is None else record.take_new(),
        )

    def packed(self) -> bytes:
        """Pack it, with text for what cannot be sent; JSON would have it as text anyway."""
        with suppress(Exception):  # an object in a report
            return pack(self)
        return pack(replace(self, report=strict_json.plain(self.report)))

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
        if "benchmark" in report["config"]:
            report["config"]["benchmark"] = setting.config
        if setting.shared is not None:
            _add(setting.shared.collect_traces(), report["traces"])
            _add(setting.shared.collect_configs(), report["config"])
        for judgement in self.judgements:
            setting.benchmark.keep_judgement(judgement)
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
}


@dataclass(frozen=True)
class ProcessSettings:
    """Settings of a whole process, to be repeated in others.

    The default policy of calls, and the factories of models and embedders that it registered,
    by kind and prefix.
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
        set_default_policy(self.policy)
        for (kind, prefix), factory in self.registered.items():
            _KINDS[kind].register(prefix, factory)


class Equipment(NamedTuple):
    """The equipment of a process for one run, besides its orders."""

    run: bytes
    """The packed settings of the run and of the process, read when their modules can be found."""
    domains: Collection[str]
    room: int
    """The number of repetitions that it is given at once."""
    folders: Sequence[str] = ()
    """Where modules are, for a process of this machine that began by itself."""
    modules: Mapping[str, str] = {}
    """The files of modules that are found in none of the folders."""
    environment: Mapping[str, str] = {}
    """The variables that another machine needs."""
    checksums: Mapping[str, str] = {}
    """The data that another machine must have."""


def pack_run(setting: RunSetting) -> bytes:
    """Pack what all orders of a run share; raise if it cannot be sent, with the way out."""
    both = worker_setting(setting), ProcessSettings.current(can_be_sent)
    return pack_for_worker("the benchmark", both, _WAY_FOR_BENCHMARK)


def pack_order(repetition: Repetition) -> bytes:
    """Pack what another process needs to make the attempt, besides what the run shares."""
    name = f"task {str(repetition.task.id)!r}"
    return pack_for_worker(name, order_of(repetition), _WAY_FOR_TASK)


_WAY_FOR_BENCHMARK = "let its for_worker() leave out what holds it, or run it with engine='threads'"
_WAY_FOR_TASK = "give tasks and agent data that consist of plain data"

_PROTOCOL = 5
# Modules that are another one in every process; plain pickle would name them and leave it at that.
_NOT_ELSEWHERE = (b"__main__", b"__mp_main__")


class WorkerExceptionError(MASEvalError, RuntimeError):
    """An exception in a worker that cannot be sent; its name and text are in the message."""


_by_value: Any = None


def pack_by_value(pickler: Any) -> None:
    """Take along what no other process can import, from now on: ``pickler`` is cloudpickle."""
    global _by_value
    _by_value = pickler


def pack(value: object) -> bytes:
    """Pickle a value; functions of the program itself become part of it if a pickler can."""
    by_value = _by_value
    if by_value is None:
        return pickle.dumps(value, _PROTOCOL)
    with suppress(Exception):  # of whatever the value consists of
        data = pickle.dumps(value, _PROTOCOL)
        named = any(name in data for name in _NOT_ELSEWHERE)
        if not named and not by_value.list_registry_pickle_by_value():
            return data
    # Three times as slow, and it takes along what no other process can import.
    whole: bytes = by_value.dumps(value, _PROTOCOL)
    return whole


def unpack(data: bytes) -> Any:
    """Unpickle what this run's driver or workers packed; never a file or a model's words.

    Whoever can send anything here can run any code there anyway: calls are pickled as well.
    """
    return pickle.loads(data)


def can_be_sent(value: object) -> bool:
    try:
        pack(value)
    except Exception:  # of whatever the value consists of
        return False
    return True


def pack_for_worker(what: str, value: object, way: str) -> bytes:
    """Pack a value for the workers; if it cannot be packed, the error says the way out."""
    try:
        return pack(value)
    except Exception as error:  # of whatever the value consists of
        text = f"{what} cannot be sent to another process ({type(error).__name__}: {error}); {way}"
        raise ConfigurationError(text) from error


def sendable_error(error: BaseException | None) -> BaseException | None:
    """Return an exception that arrives: many cannot be pickled, or not be read again."""
    try:
        # Many fail only when they are read, which here harms nobody.
        unpack(pack(error))
    except Exception:
        return WorkerExceptionError(f"{type(error).__name__}: {error}")
    return error
