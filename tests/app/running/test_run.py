"""Any benchmark runs into a folder, resumes there, and is refused by name if it cannot be run."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from examples.booking import BookingBenchmark, load_tasks
from maseval import AgentAdapter, BenchmarkCallback, ScriptedModelAdapter
from maseval.app.results.run_summary import RunResult
from maseval.commands import compare, run, show
from maseval.core.engine.participants import Agents
from maseval.core.exceptions import ConfigurationError, DuplicateTaskError
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.tracing import JsonObject
from maseval.core.user import User
from maseval.runs import RunConfigError, RunFolder
from tests.core.task.building import InOrder

SHOPPING = """
from maseval import Task
from examples.booking import BookingBenchmark, load_tasks as booking_tasks

class Shopping(BookingBenchmark):
    pass

class Rude(Shopping):
    def __init__(self, shelves, colour="red", **kwargs):
        super().__init__(**kwargs)
        self.shelves = shelves

def make(seed=None):
    return Shopping(seed=seed, tasks=booking_tasks()[:2])

def nothing():
    return None

def broken():
    return 1 / 0

READY = make()
NUMBER = 5
TASKS = booking_tasks()[:3].to_list()

def some(first=2, last=4):
    return booking_tasks()[first:last]

def asking(number):
    return booking_tasks()[:number]
"""


@pytest.fixture(autouse=True)
def shopping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shopping.py").write_text(SHOPPING)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("shopping", None)


def planned(result: RunResult) -> list[str]:
    return [one.task_id for one in RunFolder.read(result.folder).planned]


@pytest.mark.parametrize("listens", [True, False])
def test_reports_are_kept_in_memory_only_for_callbacks_of_ones_own(listens):
    received = []

    class Listener(BenchmarkCallback):
        def on_run_end(self, benchmark, results):
            received.append(len(results))

    benchmark = BookingBenchmark(callbacks=[Listener()] if listens else [], tasks=load_tasks()[:2])
    done = run(benchmark=benchmark, output="r")

    assert done.summary.overall.recorded == 2 and len(benchmark.reports) == (2 if listens else 0)
    assert received == ([2] if listens else [])


def test_a_class_is_run_on_the_tasks_beside_it():
    result = run(benchmark="shopping.py:Shopping", trials=2, output="r")

    assert result.complete and result.summary.overall.passed == 6
    assert planned(result) == ["pair", "pair", "trio", "trio", "team", "team"]
    assert result.config["benchmark"] == "shopping.py:Shopping"


@pytest.mark.parametrize("benchmark", ["shopping.py:make", "shopping.py:READY", "shopping:make"])
def test_a_function_or_an_instance_brings_its_own_tasks(benchmark):
    assert planned(run(benchmark=benchmark, output="r")) == ["pair", "trio"]


def test_a_class_of_python_is_run_on_the_tasks_of_its_module():
    result = run(benchmark=BookingBenchmark, tasks=load_tasks, output="r", num_tasks=4)

    assert planned(result) == ["pair", "trio", "team", "board"]
    assert result.config["benchmark"] == "examples.booking:BookingBenchmark"


def test_what_a_class_takes_is_given_with_set():
    made = run(benchmark="shopping.py:Rude", set={"shelves": 3}, output="r")

    assert made.complete and made.config["set"] == {"shelves": 3}
    assert made.config["defaults"] == {"colour": "red"}
    with pytest.raises(ConfigurationError, match=r"missing.*'shelves'.*it takes shelves, colour"):
        run(benchmark="shopping.py:Rude")
    with pytest.raises(ConfigurationError, match=r"unexpected keyword.*'walls'.*--set"):
        run(benchmark="shopping.py:make", set={"walls": 3})
    with pytest.raises(ConfigurationError, match="an instance already"):
        run(benchmark="shopping.py:READY", set={"shelves": 3})


@pytest.mark.parametrize(
    ("benchmark", "words"),
    [
        ("shopping.py:Shoping", "did you mean 'Shopping'"),
        ("shopping.py", "write it like my_benchmark.py:MyBenchmark"),
        ("shop.py:Shopping", "there is no file 'shop.py'"),
        ("nowhere.at_all:Shopping", "No module named 'nowhere'; write it like my_benchmark.py:"),
        ("tau2:X", "No module named 'tau2'; write it like my_benchmark.py:MyBenchmark"),
        ("shopping.py:NUMBER", "5 is not a benchmark"),
        ("shopping.py:Task", "Task is not a Benchmark"),
        ("shopping.py:nothing", "returned None; it must return a Benchmark"),
        ("shopping.py:broken", "ZeroDivisionError: division by zero"),
        ("maseval:Benchmark", "abstract class Benchmark .*setup_agents.*setup_environment"),
        (3, "3 is not a benchmark"),
    ],
)
def test_what_is_no_benchmark_is_refused_by_name(benchmark, words, tmp_path):
    with pytest.raises(ConfigurationError, match=words):
        run(benchmark=benchmark)

    assert not (tmp_path / "runs").exists()


def test_tasks_come_from_a_file_a_list_or_a_function(tmp_path):
    def ids(**options):
        return planned(
            run(benchmark="shopping.py:Shopping", output=tmp_path / "r", fork=True, **options)
        )

    entries = [{"query": "A room for 2 at 10.", "evaluation_data": {"booked": {"Ash": [10]}}}]
    (tmp_path / "tasks.json").write_text(json.dumps([*entries, {**entries[0], "id": "named"}]))

    assert ids(tasks="tasks.json") == ["0", "named"]
    assert ids(tasks=entries) == ["0"]
    assert ids(tasks="shopping.py:TASKS") == ["pair", "trio", "team"]
    assert ids(tasks="shopping.py:some") == ["team", "board"]
    assert ids(tasks=load_tasks()[1]) == ["trio"]


def test_tasks_are_chosen_by_name_and_number():
    chosen = run(benchmark="shopping.py:Shopping", task_id=["te", "0"], output="r")

    assert planned(chosen) == ["pair", "team"]
    with pytest.raises(ConfigurationError, match=r"there are .*trio"):
        run(benchmark="shopping.py:Shopping", task_id=["tiro"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tasks": "nowhere.json"}, "there is no file"),
        ({"tasks": []}, "has no tasks"),
        ({"tasks": "shopping.py:asking"}, "it takes number: give them defaults"),
        ({"num_tasks": 0}, "num_tasks is 0"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"timeout": -1}, "timeout is -1"),
        ({"trials": 0}, "'trials' is 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, words, tmp_path):
    with pytest.raises(ConfigurationError, match=words):
        run(benchmark="shopping.py:Shopping", **options)

    assert not (tmp_path / "runs").exists()


def test_a_queue_that_cannot_resume_is_refused():
    with pytest.raises(ConfigurationError, match="could not be resumed"):
        run(benchmark=BookingBenchmark, tasks=InOrder(load_tasks()))


def test_a_benchmark_without_tasks_says_where_to_put_them(tmp_path):
    (tmp_path / "bare.py").write_text(
        "from examples.booking import BookingBenchmark\nclass Bare(BookingBenchmark): pass"
    )
    with pytest.raises(ConfigurationError, match=r"define TASKS or load_tasks\(\)"):
        run(benchmark="bare.py:Bare")


def test_the_tasks_of_the_file_come_before_what_it_imports(tmp_path):
    imported = "from examples.booking import BookingBenchmark, load_tasks, load_tasks as every\n"
    bench = "class Bench(BookingBenchmark): pass\n"
    tasks = "TASKS = load_tasks()[:1].to_list()\n"
    method = bench.replace("pass", "\n    def load_tasks(self): return load_tasks()[:2]\n")
    own = "def load_tasks(last=4): return TASKS * 0 + few(last)\n"
    few = "few = lambda last: every()[:last].to_list()\n"
    cases = {
        imported + bench + tasks: 1,
        imported + bench: 12,
        imported + method + tasks: 2,
        imported + bench + tasks + few + own: 1,
        imported + bench + few + "TASKS = None\n" + own.replace("TASKS * 0 + ", ""): 4,
    }
    for number, (text, expected) in enumerate(cases.items()):
        (tmp_path / f"bench_{number}.py").write_text(text)
        done = run(benchmark=f"bench_{number}.py:Bench", output=f"r{number}")
        assert len(planned(done)) == expected


def test_tasks_of_one_id_need_domains():
    one, other = (replace(load_tasks()[0], metadata={"domain": name}) for name in "ab")

    result = run(benchmark=BookingBenchmark, tasks=[one, other], output="r")

    assert [score.name for score in result.summary.domains] == ["a", "b"]
    with pytest.raises(DuplicateTaskError):
        run(benchmark=BookingBenchmark, tasks=[one, one])


def test_a_run_resumes_and_grows_but_is_not_mixed_of_two_versions(tmp_path):
    first = run(benchmark="shopping.py:Shopping", num_tasks=2, output="r")
    again = run(benchmark="shopping.py:Shopping", num_tasks=3, trials=2, output="r")

    assert (first.ran, again.ran) == (2, 4)
    (tmp_path / "shopping.py").write_text(SHOPPING + "VERSION = 2\n")
    with pytest.raises(RunConfigError, match=r"shopping\.py: changed"):
        run(benchmark="shopping.py:Shopping", num_tasks=3, trials=2, output="r")


def test_another_content_of_a_task_is_another_run():
    task = load_tasks()[0]
    run(benchmark=BookingBenchmark, tasks=[task], output="r")

    with pytest.raises(RunConfigError, match=r"data\.pair"):
        run(benchmark=BookingBenchmark, tasks=[replace(task, query="For 3 at 10.")], output="r")


def test_agent_data_is_given_beside_that_of_the_file(tmp_path):
    (tmp_path / "data.py").write_text(
        SHOPPING + "AGENT_DATA = {'slip_rate': 1.0, 'delay_seconds': 0}"
    )
    usual = run(benchmark="data.py:Shopping", output="usual", seed=1)
    given = run(benchmark="data.py:Shopping", output="given", seed=1, agent_data={"slip_rate": 0.0})

    assert usual.config["agent"] == {"slip_rate": 1.0, "delay_seconds": 0}
    assert given.config["agent"] == {"slip_rate": 0.0, "delay_seconds": 0}
    assert usual.summary.overall.passed < given.summary.overall.passed == 3


def test_runs_of_any_benchmark_are_shown_and_compared_task_by_task():
    tasks = load_tasks()[:4].to_list()
    one = run(benchmark=BookingBenchmark, tasks=tasks, output="one", trials=2)
    changed = [replace(tasks[0], query="For 3 at 10."), *tasks[1:]]
    other = run(benchmark=BookingBenchmark, tasks=changed, output="other", trials=2)

    assert len(show(one.folder).lines) == 8
    assert show(one.folder, "trio").line.kind == "pass"
    found = compare([one.folder, other.folder])
    assert {outcome.task_id for outcome in found.runs["other"].outcomes} == {
        "trio",
        "team",
        "board",
    }
    assert found.dropped == ["task 'pair': its content differs between the runs"]


class Priced(BookingBenchmark):
    def setup_agents(
        self,
        agent_data: JsonObject,
        environment: Any,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> Agents:
        model = ScriptedModelAdapter(["Sorry."], model_id="mine/small")
        self.register("models", "clerk", model)
        agent = _Answering(model, "desk")
        return [agent], {"desk": agent}


class _Answering(AgentAdapter):
    def _run_agent(self, query: str) -> Any:
        return self.agent.generate(query)


def test_a_budget_in_money_stops_the_run_by_the_prices_of_a_file(tmp_path):
    (tmp_path / "prices.json").write_text('{"mine/small": {"input": 1000, "output": 1000}}')
    options = {"prices": "prices.json", "budget": "0.01usd", "concurrency": 1}

    result = run(benchmark=Priced, tasks=load_tasks, output="r", **options)

    assert 0 < result.summary.cost < 0.05
    assert not result.complete and "the budget of $0.01 is reached" in result.stopped


def test_a_timeout_replaces_that_of_the_tasks():
    result = run(benchmark="shopping.py:Shopping", num_tasks=1, timeout=30, output="r")

    report = next(RunFolder.read(result.folder).reports())
    assert report["task"]["protocol"]["timeout_seconds"] == 30
    assert load_tasks()[0].protocol.timeout_seconds is None


class Strict(Priced):
    def __init__(self) -> None:
        super().__init__(fail_on_task_error=True)

    def run_agents(
        self, agents: Sequence[AgentAdapter], task: Task, environment: Any, query: str
    ) -> Any:
        if task.id == "team":
            raise RuntimeError("a wall")
        return "Done."


def test_a_benchmark_that_stops_at_errors_stops_with_a_reason_and_can_resume():
    result = run(benchmark=Strict, tasks=load_tasks, concurrency=1, output="r")

    assert (
        result.stopped
        == "stopped at the first error, as the benchmark demands: RuntimeError: a wall"
    )
    assert result.ran == 3 and not result.complete
