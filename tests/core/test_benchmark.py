"""Benchmark: what it takes, what it promises, and that nothing of a run is lost."""

import json
from typing import Any

import pytest

from maseval import (
    BenchmarkCallback,
    DefaultSeedGenerator,
    LLMUser,
    ScriptedModelAdapter,
    Task,
    TaskProtocol,
    TokenUsage,
    ToolInvocationHistory,
)
from maseval.core.callbacks import RichProgressBarCallback, TqdmProgressBarCallback
from maseval.core.exceptions import ConfigurationError, DuplicateTaskError
from maseval.core.seeding import SeedGenerator
from maseval.core.tracing import JsonObject
from maseval.core.usage import Usage
from maseval.core.user import User
from tests.core.worlds import (
    Customer,
    Diary,
    Judge,
    Shop,
    Worker,
    World,
    numbered,
    only,
    tasks,
)
from tests.normalised import normalise


@pytest.mark.parametrize("name", ["n_task_repeats", "max_invocations", "num_workers"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "2", None])
def test_a_number_below_one_is_refused(name, value):
    with pytest.raises(ConfigurationError, match=f"{name} must be at least 1, not {value!r}"):
        Shop(**{name: value})


@pytest.mark.parametrize(
    ("choice", "kind"),
    [
        (True, TqdmProgressBarCallback),
        ("tqdm", TqdmProgressBarCallback),
        ("rich", RichProgressBarCallback),
    ],
)
def test_the_chosen_bar_is_added_unless_there_is_one(choice, kind):
    assert [type(one) for one in Shop(progress_bar=choice).callbacks] == [kind]
    mine = RichProgressBarCallback()
    assert Shop(progress_bar=choice, callbacks=[mine]).callbacks == [mine]


def test_seed_and_generator_exclude_each_other():
    with pytest.raises(ValueError, match="Cannot provide both"):
        Shop(seed=1, seed_generator=DefaultSeedGenerator(2))

    assert Shop(seed=1).seed_generator.global_seed == 1
    assert Shop().seed_generator.global_seed is None
    mine = DefaultSeedGenerator(2)
    assert Shop(seed_generator=mine).seed_generator is mine


def test_the_reports_returned_are_those_of_the_benchmark_and_new_for_each_run():
    shop = Shop()
    first = shop.run(tasks("a"))
    second = shop.run(tasks("b", "c"))

    assert second is shop.reports
    assert [len(first), len(second)] == [1, 2]
    assert len({report["run_id"] for report in [*first, *second]}) == 2
    assert [task.id for task in shop.tasks] == ["b", "c"]


def test_reports_that_are_not_kept_are_received_by_callbacks_alone():
    class Watch(BenchmarkCallback):
        seen = 0

        def on_task_repeat_end(self, benchmark, report):
            self.seen += 1

    shop = Shop(callbacks=[watch := Watch()])
    shop.keep_reports = False
    assert shop.run(tasks("a", "b")) == shop.reports == [] and watch.seen == 2


def agent_data_seen(
    shop: Shop, *args: dict[str, int] | list[Task | dict[str, int]], **kwargs: Any
) -> list[dict[str, int]]:
    seen = []

    def setup_user(agent_data, environment, task, seed_generator):
        seen.append(agent_data)

    shop.setup_user = setup_user
    shop.run(*args, **kwargs)
    return seen


def test_agent_data_comes_from_run_or_else_from_the_constructor_or_else_is_empty():
    both = tasks("a", "b")

    assert agent_data_seen(Shop(), both) == [{}, {}]
    assert agent_data_seen(Shop(agent_data={"m": 1}), both) == [{"m": 1}, {"m": 1}]
    assert agent_data_seen(Shop(agent_data={"m": 1}), both, {"m": 2}) == [{"m": 2}, {"m": 2}]
    assert agent_data_seen(Shop(), both, [{"m": 1}, {"m": 2}]) == [{"m": 1}, {"m": 2}]
    assert agent_data_seen(Shop(agent_data={"m": 1}), both, {}) == [{}, {}]


def test_tasks_and_agent_data_of_the_constructor_last_for_many_runs():
    shop = Shop(tasks=iter(tasks("a", "b")), agent_data=iter([{"m": 1}, {"m": 2}]))

    assert [task.id for task in shop.tasks] == ["a", "b"]
    assert agent_data_seen(shop) == [{"m": 1}, {"m": 2}]
    assert agent_data_seen(shop) == [{"m": 1}, {"m": 2}]


def test_a_run_without_any_tasks_given_says_so():
    with pytest.raises(ConfigurationError, match=r"no tasks to run; pass them to run\(\)"):
        Shop().run()


@pytest.mark.parametrize(
    ("bad_tasks", "agent_data", "error"),
    [
        (tasks("a", "a"), {}, DuplicateTaskError),
        (tasks("a", "b"), [{}], ConfigurationError),
    ],
)
def test_bad_input_starts_nothing(bad_tasks, agent_data, error):
    diary = Diary()
    with pytest.raises(error):
        Shop(callbacks=[diary]).run(bad_tasks, agent_data)

    assert diary.events == []


def test_agents_and_user_take_turns_until_the_user_is_done():
    customer = Customer("hello", "more", "bye", "never said")
    customer.is_done = lambda: len(customer.lines) == 1
    shop = Shop(max_invocations=10, setup_user=lambda *a, **k: customer)
    report = only(shop.run(tasks("a")))

    assert customer.heard == ["did hello", "did more"]
    assert report["final_answer"] == "did more"


def test_agents_are_invoked_at_most_so_often_and_the_user_answers_each_time():
    customer = Customer(*"abcdefgh")
    report = only(Shop(max_invocations=3, setup_user=lambda *a, **k: customer).run(tasks("t")))

    assert customer.heard == ["did a", "did b", "did c"]
    assert report["final_answer"] == "did c"


def test_an_answer_of_nothing_is_an_empty_message_to_the_user():
    customer = Customer("hello", "bye")
    Shop(lambda query: None, setup_user=lambda *a, **k: customer).run(tasks("t"))

    assert customer.heard == [""]


def test_a_simulated_user_with_defaults_asks_once_and_is_answered():
    user = LLMUser("Ann", ScriptedModelAdapter([]), {}, "buy a hat", initial_query="A hat?")
    report = only(Shop(setup_user=lambda *a, **k: user, max_invocations=5).run(tasks("t")))

    assert (report["status"], report["final_answer"]) == ("success", "did A hat?")
    assert report["traces"]["user"]["turns_used"] == 1


class Broken(Worker):
    def gather_traces(self) -> JsonObject:
        return {"steps": [][0]}


def test_an_evaluation_that_misses_traces_is_reported_as_the_failure_to_gather_them():
    class Counting(Judge):
        def __call__(self, traces, final_answer=None):
            return {"passed": traces["agents"]["worker"]["steps"] > 0}

    def setup_agents(*args, **kwargs):
        return [Broken()], {"worker": Broken()}

    report = only(Shop(setup_agents=setup_agents, judge=Counting).run(tasks("a")))

    assert report["status"] == "evaluation_failed"
    assert report["error"]["error_type"] == "TraceCollectionError"
    told = report["error"]["error_message"]
    assert "agents:worker (IndexError: Failed to gather traces: list index out of range)" in told
    assert "failed with KeyError: 'steps'" in told


def test_several_agents_give_a_list_of_answers():
    def setup_agents(*args, **kwargs):
        agents = [Worker(name="a"), Worker(str.upper, name="b")]
        return agents, {agent.name: agent for agent in agents}

    report = only(Shop(setup_agents=setup_agents).run(Task("go")))

    assert report["final_answer"] == ["did go", "GO"]


def test_turns_without_a_user_are_warned_of():
    with pytest.warns(UserWarning, match="max_invocations=5 > 1 but no user simulator provided"):
        report = only(Shop(max_invocations=5).run(tasks("a")))

    assert report["status"] == "success"


def test_models_are_resolved_and_registered_under_the_name_given():
    class Modelled(Shop):
        def setup_user(self, agent_data, environment, task, seed_generator):
            self.get_model_adapter("scripted/echo", seed=3)
            self.get_model_adapter(
                "scripted/echo", register_category="judges", register_name="judge"
            )

    report = only(Modelled().run(tasks("a")))

    assert report["config"]["models"]["scripted/echo"]["seed"] == 3
    assert report["traces"]["judges"]["judge"]["model_id"] == "scripted/echo"


def test_components_can_be_asked_while_the_repetition_runs():
    seen = {}

    def look(query):
        seen["traces"] = shop.collect_all_traces()
        seen["configs"] = shop.collect_all_configs()
        seen["usage"] = shop.collect_all_usage()
        shop.clear_registry()
        seen["cleared"] = shop.collect_all_traces()

    shop = Shop(look)
    shop.run(tasks("a"))

    assert seen["traces"]["agents"]["worker"]["name"] == "worker"
    assert seen["configs"]["benchmark"] is shop.benchmark_level_config
    assert seen["usage"]["agents"]["worker"]["cost"] == 0.0
    assert seen["cleared"]["agents"] == {}


def test_outside_a_run_components_are_registered_and_collected_by_hand():
    shop = Shop()
    environment = shop.setup_environment({}, Task("go"), shop.seed_generator)
    [worker], _ = shop.setup_agents({}, environment, Task("go"), None, shop.seed_generator)

    assert shop.collect_all_traces()["agents"] == {}
    shop.register("agents", "worker", worker)

    assert shop.collect_all_traces()["agents"]["worker"]["agent_type"] == "function"
    assert shop.collect_all_configs()["agents"]["worker"]["name"] == "worker"
    assert shop.collect_all_configs()["benchmark"] is shop.benchmark_level_config
    assert shop.collect_all_usage()["agents"]["worker"]["cost"] == 0.0
    shop.clear_registry()
    assert shop.collect_all_traces()["agents"] == {}


def test_what_was_registered_by_hand_is_not_part_of_a_run():
    shop = Shop()
    shop.register("agents", "by hand", Worker())

    report = only(shop.run(tasks("a")))

    assert list(report["traces"]["agents"]) == ["worker"]
    assert list(shop.collect_all_traces()["agents"]) == ["by hand"]


class Metered(Worker):
    def _gather_usage(self) -> Usage:
        return TokenUsage(cost=0.5, input_tokens=10)


def metered(
    *args: Task | World | dict[str, Any] | None, **kwargs: Any
) -> tuple[list[Metered], dict[str, Any]]:
    worker = Metered()
    return [worker], {"worker": worker}


@pytest.mark.parametrize("workers", [1, 4])
def test_usage_adds_up_over_repetitions_and_runs_and_asking_early_counts_once(workers):
    def look(evaluators, agents, final_answer, traces):
        shop.collect_all_usage()
        return []

    shop = Shop(setup_agents=metered, evaluate=look, n_task_repeats=2, num_workers=workers)
    shop.run(tasks("a", "b"))
    shop.run(tasks("c"))

    assert shop.usage.cost == 3.0
    assert shop.usage.input_tokens == 60
    assert shop.usage_by_component["agents:worker"].cost == 3.0


def test_usage_can_be_read_while_the_run_goes_on():
    class Reading(Diary):
        def on_task_repeat_end(self, benchmark, report):
            costs.append(benchmark.usage.cost)

    costs = []
    Shop(setup_agents=metered, callbacks=[Reading()]).run(tasks("a", "b", "c"))

    assert costs == [0.5, 1.0, 1.5]


@pytest.mark.parametrize("workers", [1, 4])
def test_the_machine_is_one_object_for_all_reports(workers):
    shop = Shop(num_workers=workers)
    reports = shop.run(numbered(12))

    assert {id(report["config"]["benchmark"]) for report in reports} == {
        id(shop.benchmark_level_config)
    }
    assert {"git", "python", "system", "packages"} <= shop.benchmark_level_config.keys()
    own = [
        {**report, "config": {k: v for k, v in report["config"].items() if k != "benchmark"}}
        for report in reports
    ]
    assert max(len(json.dumps(report)) for report in own) < 4000


class Till:
    """A tool that remembers its calls."""

    def __init__(self) -> None:
        self.history = ToolInvocationHistory()

    def __call__(self, amount: int) -> int:
        self.history.add_invocation({"amount": amount}, amount * 2, "success")
        return amount * 2


class TillWorld(World):
    def create_tools(self) -> dict[str, Any]:
        return {"till": Till()}


class Conversing(Shop):
    """Model-played user, a tool, a judge with a model, and a task that fails."""

    def setup_environment(
        self, agent_data: dict[str, Any], task: Task, seed_generator: DefaultSeedGenerator
    ) -> TillWorld:
        return TillWorld(task.environment_data)

    def setup_user(
        self, agent_data: JsonObject, environment: Any, task: Task, seed_generator: SeedGenerator
    ) -> User | None:
        lines = [json.dumps({"text": f"{task.id} says {n}"}) for n in range(5)]
        model = self.get_model_adapter(
            "scripted/user",
            replies=lines,
            register_name="user_model",
            seed=seed_generator.derive_seed("user"),
        )
        return LLMUser("Ann", model, {"age": 30}, "buy", max_turns=4)

    def setup_agents(
        self,
        agent_data: dict[str, Any],
        environment: TillWorld,
        task: Task,
        user: LLMUser,
        seed_generator: DefaultSeedGenerator,
    ) -> tuple[list[Worker], dict[str, Any]]:
        seed = seed_generator.child("agents").derive_seed("worker")

        def behave(query):
            if task.id == "t003" and query.endswith("2"):
                raise ConnectionError(f"no till for {environment!r}")
            return f"{query}: {environment.get_tool('till')(len(query))} ({seed})"

        worker = Worker(behave)
        return [worker], {"worker": worker}


def conversations(workers: int) -> tuple[Conversing, list[str]]:
    retried = Task("go", id="t003", protocol=TaskProtocol(max_retries=1))
    plan = [retried if task.id == "t003" else task for task in numbered(12)]
    shop = Conversing(seed=11, num_workers=workers, n_task_repeats=3, max_invocations=8)
    reports = sorted(shop.run(plan), key=lambda report: (report["task_id"], report["repeat_idx"]))
    return shop, [json.dumps(normalise(report)) for report in reports]


def test_one_and_sixteen_workers_give_byte_equal_reports():
    alone, sequential = conversations(1)
    together, parallel = conversations(16)

    assert len(sequential) == 36
    assert sequential == parallel
    assert alone.usage == together.usage
    failed = [report for report in together.reports if report["task_id"] == "t003"]
    assert {report["status"] for report in failed} == {"unknown_execution_error"}
    assert all(len(report["attempts"]) == 1 for report in failed)
    spoken = together.reports[0]["traces"]["user"]["messages"]
    assert len(spoken) > 4
    assert together.reports[0]["traces"]["environment"]["tools"]["till"]["total_invocations"] > 1
