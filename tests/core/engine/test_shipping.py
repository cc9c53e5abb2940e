"""A repetition in another process: here the other process is a copy made with pickle."""

import json
import pickle
from typing import Any

import pytest

from maseval import BenchmarkCallback, ScriptedModelAdapter, Task, register_model, resolve_model
from maseval.core import call_policy, model
from maseval.core.benchmark import Benchmark
from maseval.core.call_policy import CallPolicy, default_policy, set_default_policy
from maseval.core.engine.engines import CallingThread, Job
from maseval.core.engine.parcel import (
    ProcessSettings,
    WorkResult,
    order_of,
    start_order,
    worker_setting,
)
from maseval.core.engine.repetition import RepetitionResult
from maseval.core.tracing import JsonObject
from tests.core.worlds import Shop, failing, numbered, only
from tests.normalised import normalise
from tests.runs.worlds import desk


class Pickling:
    """An engine whose worker knows only what can be pickled."""

    def __init__(self) -> None:
        self.settings = []

    def workers(self, job: Job) -> CallingThread:
        shared = pickle.dumps(worker_setting(job.setting))

        def run(repetition):
            self.settings.append(setting := pickle.loads(shared))
            order = pickle.loads(pickle.dumps(order_of(repetition)))
            away = start_order(order, setting, lambda: False)
            delivery = WorkResult.of(away, away.run())
            return pickle.loads(pickle.dumps(delivery)).to_result(repetition)

        return CallingThread(run)


class Counter(BenchmarkCallback):
    """A callback with traces of its own."""

    def __init__(self) -> None:
        self.ended = 0

    def on_task_repeat_end(self, benchmark: Benchmark, report: Any) -> None:
        self.ended += 1

    def gather_traces(self) -> JsonObject:
        return {**super().gather_traces(), "kind": "counter"}


def normal(reports: list[dict[str, Any]]) -> list[str]:
    return [json.dumps(normalise(report)) for report in reports]


def test_what_comes_back_is_what_would_have_been_made_here():
    here, away = (desk(n_task_repeats=2, callbacks=[Counter()]) for _ in range(2))

    assert normal(away.run(numbered(3), engine=Pickling())) == normal(here.run(numbered(3)))
    assert away.usage_by_component == here.usage_by_component != {}
    report = away.reports[0]
    assert report["traces"]["callbacks"]["Counter"]["kind"] == "counter"
    assert report["config"]["benchmark"] is away.benchmark_level_config


def test_a_worker_gets_neither_tasks_nor_reports_nor_callbacks():
    benchmark, engine = desk(callbacks=[Counter()]), Pickling()
    gold = [Task(query="q", id=each, metadata={"gold": each}) for each in "ab"]

    benchmark.run(gold, {"key": "value"}, engine=engine)

    twin = engine.settings[-1].benchmark
    assert (twin.tasks.to_list(), twin.reports, twin.callbacks) == ([], [], [])
    assert len(benchmark.reports) == 2 and benchmark.callbacks


def test_a_setup_that_fails_is_reported_without_traces():
    here = Shop(setup_environment=failing(ValueError("no")))
    report = only(here.run(numbered(1)))
    away = WorkResult(dict(report), report["status"], None, {})

    class Repetition:
        setting = here._setting(here._components.shared_registry([Counter()]))

        class context:
            registry = here._components.here()

    outcome = away.to_result(Repetition)

    assert isinstance(outcome, RepetitionResult) and outcome.report["traces"] == {}


def test_a_copy_counts_by_itself():
    benchmark = desk()
    benchmark.run(numbered(1))

    twin = pickle.loads(pickle.dumps(benchmark.for_worker()))

    assert benchmark.usage_by_component and not twin.usage_by_component


@pytest.fixture(autouse=True)
def policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_policy, "_default", CallPolicy(max_attempts=2))


def mine(name: str, **options: Any) -> ScriptedModelAdapter:
    return ScriptedModelAdapter([name])


def test_policy_and_registered_models_are_those_of_the_program(monkeypatch):
    register_model("mine", mine)
    register_model("stuck", lambda name: None)
    here = ProcessSettings.current(sendable=lambda factory: factory is mine)
    set_default_policy(CallPolicy())
    monkeypatch.setattr(model.MODELS, "registered", {})

    here.apply()

    assert default_policy().max_attempts == 2
    assert resolve_model("mine/hello").chat([]).content == "hello"
    assert set(model.MODELS.registered) == {"mine"}
