"""One repetition: whatever happens in it, the result is a report with every key."""

import threading
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from maseval import AgentError, Report, Task, TaskContext, TaskProtocol
from maseval.core.engine import repetition
from maseval.core.engine.repetition import collect_copy, collect_safely
from tests.core.worlds import Shop, Worker, World, failing, only

KEYS = list(typing.get_type_hints(Report))


def run_one(shop: Shop, **protocol: float) -> dict[str, Any]:
    return only(shop.run(Task("go", id="t", protocol=TaskProtocol(**protocol))))


def test_a_good_repetition_is_a_success_with_everything_in_its_report():
    report = run_one(Shop(seed=7))

    assert report["task_id"] == "t"
    assert report["repeat_idx"] == 0
    assert report["status"] == "success"
    assert report["error"] is None
    assert report["eval"] == [{"passed": True, "answer": "did go"}]
    assert report["final_answer"] == "did go"
    assert report["task"] == {
        "query": "go",
        "metadata": {},
        "protocol": TaskProtocol().to_dict(),
    }
    assert report["seed"] == 7
    assert report["duration_seconds"] >= 0
    assert report["attempts"] == []
    assert report["traces"]["agents"]["worker"]["type"] == "Worker"
    assert report["traces"]["environment"]["type"] == "World"
    assert report["traces"]["user"] is None
    assert report["config"]["seeding"]["seed_generator"]["global_seed"] == 7
    assert report["usage"]["agents"]["worker"]["cost"] == 0.0


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (AgentError("bad"), "agent_error"),
        (SystemExit("bad"), "unknown_execution_error"),
        (GeneratorExit("bad"), "unknown_execution_error"),
    ],
)
def test_an_exception_during_execution_gives_the_status_that_names_the_culprit(error, status):
    report = run_one(Shop(failing(error)))

    assert list(report) == KEYS
    assert report["status"] == status
    assert report["error"]["error_type"] == type(error).__name__
    assert "bad" in report["error"]["error_message"]
    assert report["eval"] is None
    assert report["final_answer"] is None
    assert report["traces"]["agents"]["worker"]["type"] == "Worker"
    assert report["config"]["agents"]["worker"]["type"] == "Worker"


@pytest.mark.parametrize(
    "hook", ["setup_environment", "setup_user", "setup_agents", "setup_evaluators"]
)
@pytest.mark.parametrize("error", [ValueError("bad"), AgentError("bad"), SystemExit("bad")])
def test_an_exception_in_a_setup_hook_is_a_failed_setup(hook, error):
    report = run_one(Shop(**{hook: failing(error)}))

    assert list(report) == KEYS
    assert report["status"] == "setup_failed"
    assert report["error"]["error_type"] == type(error).__name__
    assert report["traces"] == {}
    assert report["config"] == {}
    assert report["eval"] is None
    assert report["task"]["query"] == "go"


@pytest.mark.parametrize(
    ("hook", "result", "message"),
    [
        ("setup_environment", None, "setup_environment() returned None"),
        ("setup_user", "Ann", "setup_user() returned 'Ann'"),
        ("setup_agents", None, "setup_agents() returned None"),
        ("setup_agents", [], "setup_agents() returned []"),
        ("setup_agents", ([], []), "setup_agents() returned ([], [])"),
        ("setup_agents", (Worker(), {}), "setup_agents() returned (AgentAdapter"),
        ("setup_agents", ("worker", {}), "setup_agents() returned ('worker', {})"),
        ("setup_evaluators", None, "setup_evaluators() returned None"),
        ("setup_evaluators", "judge", "setup_evaluators() returned 'judge'"),
        ("setup_evaluators", [None], "setup_evaluators() returned [None]"),
        ("evaluate", None, "evaluate() returned None"),
        ("evaluate", "fine", "evaluate() returned 'fine'"),
        ("evaluate", {"passed": True}, "evaluate() returned {'passed': True}"),
        ("evaluate", [True], "evaluate() returned [True]"),
        ("evaluate", ({"passed": True},), "evaluate() returned ({'passed': True},)"),
    ],
)
def test_a_hook_that_returns_the_wrong_shape_is_named_in_the_report(hook, result, message):
    report = run_one(Shop(**{hook: lambda *args, **kwargs: result}))

    stage = "evaluation" if hook == "evaluate" else "setup"
    assert report["status"] == f"{stage}_failed"
    assert report["error"]["error_type"] == "HookResultError"
    assert message in report["error"]["error_message"]
    assert "must return" in report["error"]["error_message"]


def test_one_agent_registered_under_another_name_is_a_failed_setup():
    class Doubling(Shop):
        def setup_agents(self, *args, **kwargs):
            agents, by_name = super().setup_agents(*args, **kwargs)
            self.register("agents", "my_worker", agents[0])
            return agents, by_name

    report = run_one(Doubling())

    assert report["status"] == "setup_failed"
    assert report["error"]["error_type"] == "DuplicateComponentError"
    assert "'agents:my_worker'" in report["error"]["error_message"]


@pytest.mark.parametrize("error", [ValueError("bad"), AgentError("bad"), SystemExit("bad")])
def test_an_exception_in_an_evaluator_is_a_failed_evaluation(error):
    report = run_one(Shop(evaluate=failing(error)))

    assert list(report) == KEYS
    assert report["status"] == "evaluation_failed"
    assert report["error"]["error_type"] == type(error).__name__
    assert report["eval"] is None
    assert report["final_answer"] == "did go"
    assert report["traces"]["agents"]["worker"]["type"] == "Worker"


@pytest.fixture
def overrun(ticks: Any) -> Iterator[Callable[..., Any]]:
    """A hook in which the deadline passes, and which does not return while the test runs."""
    over = threading.Event()

    def stay(*args, **kwargs):
        ticks.advance(600.0)
        over.wait(60)

    yield stay
    over.set()


@pytest.mark.parametrize(
    ("stage", "traced"),
    [("setup_user", False), ("run_agents", True), ("evaluate", True)],
)
def test_a_deadline_that_passes_in_any_stage_is_a_timeout(stage, traced, overrun):
    report = run_one(Shop(**{stage: overrun}), timeout_seconds=600.0)

    assert list(report) == KEYS
    assert report["status"] == "task_timeout"
    assert report["error"]["error_type"] == "TaskTimeoutError"
    assert report["error"]["timeout"] == report["error"]["elapsed"] == 600.0
    assert report["eval"] is None
    assert ("worker" in report["traces"].get("agents", {})) == traced


def test_the_report_of_a_timeout_holds_the_time_that_had_passed(ticks):
    def overrun(*args, **kwargs):
        ticks.advance(30.0)
        TaskContext.current().check_timeout()

    report = run_one(Shop(execution_loop=overrun), timeout_seconds=20.0)

    assert (report["error"]["elapsed"], report["error"]["timeout"]) == (30.0, 20.0)
    assert report["duration_seconds"] == 30.0


def test_each_attempt_has_a_duration_of_its_own(ticks):
    durations = [3.0, 4.0]

    def fail_once(*args, **kwargs):
        ticks.advance(durations.pop(0))
        if durations:
            raise ValueError("not yet")

    report = run_one(Shop(execution_loop=fail_once), max_retries=1)

    assert [attempt["duration_seconds"] for attempt in report["attempts"]] == [3.0]
    assert report["duration_seconds"] == 4.0


def test_the_clock_is_looked_at_after_setup_before_execution_and_before_evaluation():
    """Where the engine itself looks, no worker need be given up: a late look is enough."""
    reached = []

    def late(stage):
        def stay(*args, **kwargs):
            reached.append(stage)
            TaskContext.current().deadline = 0.0
            return None

        return stay

    for stage in ("setup_user", "execution_loop"):
        report = run_one(Shop(**{stage: late(stage), "evaluate": late("evaluate")}))
        assert report["status"] == "task_timeout"
        assert "deadline after" in report["error"]["error_message"]
    assert reached == ["setup_user", "execution_loop"]


def test_a_timeout_adds_what_was_left_behind_to_the_traces():
    def leave_and_overrun(*args, **kwargs):
        TaskContext.current().set_collected_traces({"step": 1})
        TaskContext.current().deadline = 0.0
        TaskContext.current().check_timeout()

    early, late = run_one(Shop(setup_user=leave_and_overrun)), run_one(Shop(leave_and_overrun))

    assert early["status"] == late["status"] == "task_timeout"
    assert (early["traces"], early["config"]) == ({"step": 1}, {})
    assert late["traces"]["step"] == 1
    assert late["traces"]["agents"]["worker"]["type"] == "Worker"


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("axis", ["gather_traces", "gather_config", "gather_usage"])
def test_a_component_that_exits_while_it_tells_costs_no_report(axis, workers):
    class Leaving(Shop):
        def setup_agents(self, *args, **kwargs):
            agents, by_name = super().setup_agents(*args, **kwargs)
            setattr(agents[0], axis, failing(SystemExit("gone")))
            return agents, by_name

    report = run_one(Leaving(num_workers=workers))
    part = {"gather_traces": "traces", "gather_config": "config", "gather_usage": "usage"}[axis]

    assert report["status"] == "success"
    assert "Failed to collect" in report[part]["error"]
    assert report[part]["error_type"] == "SystemExit"


def test_what_is_no_traceable_component_may_still_take_part():
    class Bare:
        def run(self, query):
            return "bare"

    report = run_one(Shop(setup_agents=lambda *args, **kwargs: ([Bare()], {"bare": Bare()})))

    assert report["status"] == "success"
    assert report["final_answer"] == "bare"
    assert report["traces"]["agents"] == {}


def test_usage_is_collected_after_the_evaluation_so_that_judges_count():
    class Costly(Shop):
        def setup_evaluators(self, *args, **kwargs):
            self.model = self.get_model_adapter("scripted/echo", register_name="judge")
            return super().setup_evaluators(*args, **kwargs)

        def evaluate(self, *args):
            self.model.generate("is this a good answer, all things considered?")
            return super().evaluate(*args)

    report = run_one(Costly())

    assert report["usage"]["models"]["judge"]["input_tokens"] > 0


def test_a_failed_setup_still_tells_what_it_used():
    class Costly(Shop):
        def setup_user(self, *args, **kwargs):
            self.get_model_adapter("scripted/echo", register_name="m").generate("who am I?" * 9)
            raise ValueError("nobody")

    shop = Costly()
    report = run_one(shop)

    assert report["status"] == "setup_failed"
    assert report["usage"]["models"]["m"]["input_tokens"] > 0
    assert shop.usage.input_tokens == report["usage"]["models"]["m"]["input_tokens"]


def test_an_agent_that_changes_its_task_does_not_change_the_report():
    def spoil(query):
        task.metadata["level"] = "easy"
        task.query = "nothing"

    task = Task("go", metadata={"level": "hard"})
    report = only(Shop(spoil).run(task))

    assert report["task"]["query"] == "go"
    assert report["task"]["metadata"] == {"level": "hard"}


@pytest.mark.parametrize("ask", [collect_safely, collect_copy])
@pytest.mark.parametrize("error", [ValueError("lost"), SystemExit("lost")])
def test_a_failure_becomes_a_record(ask, error):
    assert ask("traces", failing(error)) == {
        "error": "Failed to collect traces: lost",
        "error_type": type(error).__name__,
    }


def test_ctrl_c_in_the_main_thread_is_no_failure_of_a_component():
    with pytest.raises(KeyboardInterrupt):
        collect_safely("traces", failing(KeyboardInterrupt()))


def test_a_loose_copy_does_not_change_with_the_original_but_shares_the_machine():
    live = {"agents": {"a": {"messages": [{"content": "hi"}]}}, "benchmark": {"git": 1}}
    loose = collect_copy("traces", lambda: live)
    live["agents"]["a"]["messages"][0]["content"] = "changed"

    assert loose["agents"] == {"a": {"messages": [{"content": "hi"}]}}
    assert loose["benchmark"] is live["benchmark"]
    assert list(loose) == list(live)


def test_what_cannot_be_copied_becomes_text_and_the_rest_stays():
    loose = collect_copy("traces", lambda: {"tools": {"t": threading.Lock()}, "agents": {"a": 1}})

    assert "lock" in loose["tools"]["t"]
    assert loose["agents"] == {"a": 1}


def test_a_component_that_does_not_answer_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(repetition, "_PATIENCE_SECONDS", 0.05)
    never = threading.Event()

    assert collect_copy("traces", lambda: {"x": never.wait(60)}) == {
        "error": "Failed to collect traces: no answer in 0.05 s",
        "error_type": "TimeoutError",
    }
    never.set()


def test_in_own_benchmarks_too_an_agent_cannot_change_what_it_is_evaluated_by():
    tasks = [Task("go", id=name, evaluation_data={"wanted": [name]}) for name in "ab"]
    reached = []

    def tamper(query):
        for task in [*tasks, *reached]:
            task.evaluation_data["wanted"].clear()
        return "nothing"

    def setup_environment(agent_data, task, seed_generator):
        reached.append(task)
        return World(task.environment_data)

    def evaluate(evaluators, agents, answer, traces):
        return [{"passed": not evaluators[0].task.evaluation_data["wanted"]}]

    shop = Shop(tamper, setup_environment=setup_environment, evaluate=evaluate)
    assert [report["status"] for report in shop.run(tasks)] == ["evaluation_failed"] * 2
    shop.behaviour = {"a": tamper}
    tasks = [Task("go", id=name, evaluation_data={"wanted": [name]}) for name in "ab"]
    first, second = shop.run(tasks)
    assert first["error"]["error_type"] == "ReferenceChangedError"
    assert second["eval"] == [{"passed": False}]


def test_hooks_may_add_to_the_data_of_their_task_before_its_agent_works():
    def setup_environment(agent_data, task, seed_generator):
        task.evaluation_data["wanted"] = float("nan")
        return World(task.environment_data)

    def evaluate(evaluators, agents, answer, traces):
        return [{"passed": "wanted" in evaluators[0].task.evaluation_data}]

    shop = Shop(setup_environment=setup_environment, evaluate=evaluate, n_task_repeats=2)
    task = Task("go", evaluation_data={"lock": threading.Lock()})  # which cannot be pickled
    for given in (task, Task("go")):
        assert [each["eval"] for each in shop.run(given)] == [[{"passed": True}]] * 2


@pytest.mark.parametrize(
    ("replaced", "status"),
    [
        ({}, "success"),
        ({"run_agents": failing(AgentError("bad"))}, "agent_error"),
        ({"setup_user": failing(ValueError("bad"))}, "setup_failed"),
        ({"evaluate": failing(ValueError("bad"))}, "evaluation_failed"),
    ],
)
def test_what_was_begun_is_ended_once_whichever_way_a_repetition_ends(replaced, status):
    ended = []

    class Begun(Shop):
        def setup_environment(self, agent_data, task, seed_generator):
            context = TaskContext.current()
            for name in ("first", "second"):
                context.at_end(lambda name=name: ended.append((name, TaskContext.here())))
            context.at_end(failing(OSError("this one cannot be ended")))
            return super().setup_environment(agent_data, task, seed_generator)

    assert run_one(Begun(**replaced))["status"] == status
    assert ended == [("second", None), ("first", None)]  # with no clock running


def test_what_an_abandoned_repetition_began_is_ended_while_it_still_hangs():
    ended, over, late = (threading.Event() for _ in range(3))

    def hang(query):
        context = TaskContext.current()
        context.at_end(ended.set)
        over.wait(60)
        context.at_end(late.set)

    report = run_one(Shop(hang), timeout_seconds=0.05)

    assert report["status"] == "task_timeout"
    assert ended.wait(60)
    over.set()
    assert late.wait(60)


def test_the_time_that_ending_takes_does_not_count(ticks):
    def slow_to_end(query):
        TaskContext.current().at_end(lambda: ticks.advance(100.0))
        return "done"

    report = run_one(Shop(slow_to_end), timeout_seconds=20.0)

    assert (report["status"], report["duration_seconds"]) == ("success", 0.0)
