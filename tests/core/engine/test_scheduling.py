"""Which repetition runs when: sequential, parallel, late, repeated."""

import asyncio
import contextvars
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maseval import (
    AgentError,
    BenchmarkCallback,
    EnvironmentError,
    Task,
    TaskContext,
    TaskProtocol,
    TimeoutAction,
    TraceableMixin,
    UserError,
)
from maseval.core.tracing import JsonObject
from tests.core.worlds import Diary, Shop, World, answer, failing, numbered, only, statuses, tasks


class Crowd:
    """An agent that waits until ``size`` of its kind work at the same time."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size, timeout=60)
        self.lock = threading.Lock()
        self.now = self.most = 0

    def __call__(self, query: str) -> str:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.barrier.wait()
        with self.lock:
            self.now -= 1
        return "done"


def test_sequential_events_come_in_order_and_reports_in_that_of_the_queue():
    diary = Diary()
    reports = Shop(callbacks=[diary], n_task_repeats=2).run(tasks("a", "b"))

    assert diary.events == [
        ("run start",),
        *[
            event
            for task in ("a", "b")
            for event in [
                ("task start", task),
                ("repeat start", task, 0),
                ("repeat end", task, 0),
                ("repeat start", task, 1),
                ("repeat end", task, 1),
                ("task end", task, 1),
            ]
        ],
        ("run end", 4),
    ]
    assert [(r["task_id"], r["repeat_idx"]) for r in reports] == [
        *(("a", 0), ("a", 1), ("b", 0), ("b", 1))
    ]


@pytest.mark.parametrize("repeats", [1, 3])
def test_as_many_repetitions_run_at_once_as_there_are_workers_until_the_work_is_done(repeats):
    crowd, diary = Crowd(6), Diary()
    shop = Shop(crowd, num_workers=6, n_task_repeats=repeats, callbacks=[diary])

    # Each barrier needs six at work: if ever fewer were in flight, the run would fail.
    reports = shop.run(numbered(24))

    assert len(reports) == 24 * repeats
    assert {report["status"] for report in reports} == {"success"}
    assert crowd.most == 6
    assert diary.most_unfinished() == 6


@pytest.mark.parametrize("workers", [1, 5])
def test_callbacks_added_later_too_are_called_in_the_calling_thread(workers):
    shop, diary = Shop(num_workers=workers, n_task_repeats=3), Diary()
    shop.add_callback(diary)
    shop.run(numbered(12))

    assert diary.threads == {threading.current_thread()}
    for task in numbered(12):
        mine = [event for event in diary.events if len(event) > 1 and event[1] == task.id]
        assert (mine[0][0], mine[-1][0]) == ("task start", "task end")


class Prison:
    """An agent that hangs until it is released; what it does later must not count."""

    def __init__(self, ticks: Any, shop_of: Callable[..., Any]) -> None:
        self.ticks = ticks
        self.release = threading.Event()
        self.out = threading.Event()
        self.log = {"steps": ["before"], "type": "Log"}
        self.shop_of = shop_of

    def __call__(self, query: str) -> str:
        prison = self

        class Notes(TraceableMixin):
            def gather_traces(self):
                return prison.log

        shop = self.shop_of()
        shop.register("tools", "notes", Notes())
        model = shop.get_model_adapter("scripted/echo", register_name="m")
        model.generate("hello there, this is before")
        TaskContext.current().set_collected_traces({"left": {"steps": ["before"]}})
        self.ticks.advance(TaskContext.current().deadline)
        self.release.wait(60)
        self.log["steps"].append("after")
        TaskContext.current().collected_traces["left"]["steps"].append("after")
        model.generate("hello there, this is after")
        shop.collect_all_usage()
        shop.clear_registry()
        self.out.set()
        return "too late"


def limited(task_id: str, seconds: float = 600.0, **protocol: Any) -> Task:
    return Task("go", id=task_id, protocol=TaskProtocol(timeout_seconds=seconds, **protocol))


@pytest.mark.parametrize("workers", [1, 3])
def test_a_repetition_that_overruns_is_given_up_and_the_others_finish(workers, ticks):
    prison = Prison(ticks, lambda: shop)
    diary = Diary()
    shop = Shop({"late": prison}, num_workers=workers, callbacks=[diary])

    reports = shop.run([limited("late"), *numbered(10)])
    late = next(report for report in reports if report["task_id"] == "late")

    assert statuses(reports) == {"late": "task_timeout", **{t.id: "success" for t in numbered(10)}}
    assert late["error"]["error_message"].startswith(
        "[timeout_check] Task exceeded 600.0s deadline"
    )
    assert late["error"]["timeout"] == 600.0
    assert late["traces"]["tools"]["notes"]["steps"] == ["before"]
    assert late["traces"]["left"] == {"steps": ["before"]}
    assert late["usage"]["models"]["m"]["input_tokens"] == 6
    assert late["config"]["benchmark"] is shop.benchmark_level_config
    assert ("late", 0) in diary.of("repeat end")

    spent = shop.usage
    prison.release.set()
    assert prison.out.wait(60)
    assert late["traces"]["tools"]["notes"]["steps"] == ["before"]
    assert late["traces"]["left"] == {"steps": ["before"]}
    assert late["status"] == "task_timeout"
    assert shop.usage == spent
    assert len(shop.reports) == 11


def test_many_repetitions_given_up_leave_the_workers_at_full_strength():
    never = threading.Event()
    crowd = Crowd(4)
    shop = Shop(
        {f"late{n}": lambda query: never.wait(60) for n in range(6)}
        | {task.id: crowd for task in numbered(8)},
        num_workers=4,
    )

    reports = shop.run([*(limited(f"late{n}", 0.05) for n in range(6)), *numbered(8)])
    never.set()

    assert Counter(r["status"] for r in reports) == {"task_timeout": 6, "success": 8}
    assert crowd.most == 4


def test_a_deadline_without_end_can_be_waited_for():
    reports = Shop(num_workers=2).run([limited("a", float("inf")), limited("b", 1e12)])

    assert set(statuses(reports).values()) == {"success"}


def flaky(*errors: Exception) -> Callable[..., Any]:
    """An agent that fails once with each error, and then answers."""
    left = list(errors)

    def behave(query):
        if left:
            raise left.pop(0)
        return answer(query)

    return behave


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (EnvironmentError("net"), True),
        (UserError("net"), True),
        (ConnectionError("net"), True),
        (AgentError("bad"), False),
    ],
)
def test_only_what_is_not_the_agents_fault_is_tried_again(error, again):
    task = Task("go", id="a", protocol=TaskProtocol(max_retries=1))
    report = only(Shop(flaky(error)).run(task))

    assert (report["status"] == "success") == again
    assert [attempt["error"]["error_message"] for attempt in report["attempts"]] == (
        ["net"] if again else []
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failed_setup_is_tried_again_and_a_failed_evaluation_is_not(workers):
    setups = [ValueError("net"), ValueError("net")]

    def setup_user(*args, **kwargs):
        if setups:
            raise setups.pop()

    task = Task("go", id="a", protocol=TaskProtocol(max_retries=5))
    diary = Diary()
    settings = {"num_workers": workers, "callbacks": [diary]}
    report = only(Shop(setup_user=setup_user, **settings).run(task))
    assert report["status"] == "success"
    assert [attempt["status"] for attempt in report["attempts"]] == ["setup_failed"] * 2
    assert len(diary.of("repeat start")) == len(diary.of("repeat end")) == 1

    report = only(Shop(evaluate=failing(ValueError("bad"))).run(task))
    assert report["status"] == "evaluation_failed"
    assert report["attempts"] == []


@pytest.mark.parametrize("retries", [0, 1, 2, 3])
def test_there_are_as_many_attempts_as_the_protocol_allows(retries):
    task = Task("go", id="a", protocol=TaskProtocol(max_retries=retries))
    report = only(Shop(failing(ConnectionError("net"))).run(task))

    assert report["status"] == "unknown_execution_error"
    assert len(report["attempts"]) == retries


def test_each_attempt_is_recorded_with_its_usage_and_counts_in_the_totals():
    class Paying(Shop):
        def run_agents(self, agents, task, environment, query):
            model = self.get_model_adapter("scripted/echo", register_name="m")
            model.generate("a question of some length")
            return super().run_agents(agents, task, environment, query)

    shop = Paying(flaky(ConnectionError("net"), ConnectionError("net")))
    task = Task("go", id="a", protocol=TaskProtocol(max_retries=2))
    report = only(shop.run(task))

    each = report["usage"]["models"]["m"]["input_tokens"]
    assert each > 0
    assert [list(attempt) for attempt in report["attempts"]] == [
        ["status", "error", "usage", "started_at", "duration_seconds"]
    ] * 2
    assert [a["usage"]["models"]["m"]["input_tokens"] for a in report["attempts"]] == [each] * 2
    assert shop.usage.input_tokens == 3 * each
    assert shop.usage_by_component["models:m"].input_tokens == 3 * each


@pytest.mark.parametrize(
    ("action", "limits"),
    [
        (TimeoutAction.SKIP, [600.0]),
        (TimeoutAction.RETRY, [600.0, 600.0]),
        (TimeoutAction.EXTEND, [600.0, 1200.0]),
    ],
)
def test_the_protocol_says_what_to_do_with_a_timeout(action, limits, ticks):
    seen = []
    never = threading.Event()

    def hang(query):
        seen.append(TaskContext.current().deadline)
        ticks.advance(TaskContext.current().deadline)
        never.wait(60)

    report = only(Shop(hang).run(limited("a", timeout_action=action, max_retries=3)))
    never.set()

    assert seen == limits
    assert report["status"] == "task_timeout"
    assert report["error"]["timeout"] == limits[-1]
    assert [attempt["status"] for attempt in report["attempts"]] == (
        ["task_timeout"] * (len(limits) - 1)
    )


def test_after_a_timeout_the_retries_for_other_failures_are_still_there(ticks):
    calls = []
    never = threading.Event()

    def behave(query):
        calls.append(query)
        if len(calls) == 1:
            ticks.advance(TaskContext.current().deadline)
            never.wait(60)
        if len(calls) == 2:
            raise ConnectionError("net")
        return "done"

    task = limited("a", timeout_action=TimeoutAction.RETRY, max_retries=1)
    report = only(Shop(behave).run(task))
    never.set()

    assert report["status"] == "success"
    assert [a["status"] for a in report["attempts"]] == ["task_timeout", "unknown_execution_error"]


class Marked(TraceableMixin):
    """A component that knows which task it was made for."""

    def __init__(self, query: str) -> None:
        self.query = query

    def gather_traces(self) -> JsonObject:
        return {"query": self.query}


def test_components_made_in_async_code_and_bound_threads_belong_to_their_repetition():
    pool = ThreadPoolExecutor(8)

    def behave(query):
        async def work():
            await asyncio.sleep(0)
            shop.register("tools", "async", Marked(query))
            await asyncio.to_thread(shop.register, "tools", "to_thread", Marked(query))

        asyncio.run(work())
        bound = TaskContext.bind(shop.register)
        pool.submit(bound, "tools", "executor", Marked(query)).result()
        return query

    shop = Shop(behave, num_workers=8)
    with pool:
        reports = shop.run(numbered(40), {})

    for report in reports:
        assert report["status"] == "success", report["error"]
        tools = report["traces"]["tools"]
        assert list(tools) == ["async", "to_thread", "executor"]
        assert {told["query"] for told in tools.values()} == {report["task"]["query"]}


def test_a_component_made_in_a_bare_thread_belongs_nowhere_and_the_error_says_so():
    with ThreadPoolExecutor(1) as pool:

        def behave(query):
            pool.submit(shop.register, "tools", "t", Marked(query)).result()

        shop = Shop(behave)
        report = only(shop.run(tasks("a")))

    assert report["status"] == "unknown_execution_error"
    assert report["error"]["error_type"] == "NoRepetitionError"
    assert "TaskContext.bind" in report["error"]["error_message"]


language = contextvars.ContextVar("language")


@pytest.mark.parametrize("workers", [1, 3])
def test_a_repetition_sees_the_callers_context_variables_and_leaks_none(workers):
    def behave(query):
        before = language.get()
        language.set(f"set by {query}")
        return before

    token = language.set("as the caller had it")
    try:
        reports = Shop(behave, num_workers=workers).run(numbered(6))
        assert language.get() == "as the caller had it"
    finally:
        language.reset(token)

    assert {report["final_answer"] for report in reports} == {"as the caller had it"}


@settings(max_examples=25, deadline=None)
@given(
    outcomes=st.lists(
        st.sampled_from(["good", "agent", "setup", "exit", "evaluation", "late"]),
        max_size=8,
    ),
    workers=st.integers(1, 5),
    repeats=st.integers(1, 3),
    retries=st.integers(0, 2),
)
def test_every_planned_repetition_yields_one_report_whatever_happens(
    outcomes, workers, repeats, retries
):
    never = threading.Event()

    class Mixed(Shop):
        def setup_environment(self, agent_data, task):
            if task.query == "setup":
                raise ValueError("no world")
            return World({})

        def run_agents(self, agents, task, environment, query):
            if query == "agent":
                raise AgentError("bad")
            if query == "exit":
                raise SystemExit
            if query == "late":
                never.wait(60)
            return query

        def evaluate(self, evaluators, agents, final_answer, traces):
            if final_answer == "evaluation":
                raise ValueError("no verdict")
            return []

    diary = Diary()
    shop = Mixed(num_workers=workers, n_task_repeats=repeats, callbacks=[diary])
    plan = [
        Task(
            kind,
            id=str(number),
            protocol=TaskProtocol(
                max_retries=retries, timeout_seconds=0.01 if kind == "late" else None
            ),
        )
        for number, kind in enumerate(outcomes)
    ]
    reports = shop.run(plan)
    never.set()

    planned = Counter((task.id, index) for task in plan for index in range(repeats))
    expected = {
        "good": "success",
        "agent": "agent_error",
        "setup": "setup_failed",
        "exit": "unknown_execution_error",
        "evaluation": "evaluation_failed",
        "late": "task_timeout",
    }
    assert Counter((r["task_id"], r["repeat_idx"]) for r in reports) == planned
    assert all(r["status"] == expected[r["task"]["query"]] for r in reports)
    assert Counter(diary.of("repeat start")) == Counter(diary.of("repeat end")) == planned
    assert len(diary.of("task start")) == len(diary.of("task end")) == len(plan)
    assert diary.events[0] == ("run start",)
    assert diary.events[-1] == ("run end", len(reports))
    assert diary.most_unfinished() <= workers


@pytest.mark.parametrize("workers", [1, 4])
def test_a_run_told_to_stop_finishes_what_is_running_and_starts_nothing_more(workers):
    class Enough(BenchmarkCallback):
        def on_task_repeat_end(self, benchmark, report):
            benchmark.stop()

    diary = Diary()
    shop = Shop(callbacks=[Enough(), diary], num_workers=workers, progress_bar=False)

    first = shop.run(numbered(40))
    second = Shop(progress_bar=False).run(numbered(3))

    assert 1 <= len(first) <= workers
    assert all(report["status"] == "success" for report in first)
    assert len(second) == 3
