"""TaskContext: the clock of a repetition, and which repetition some code runs in."""

import threading
from typing import Any

import pytest

from maseval import (
    AgentCallback,
    BenchmarkCallback,
    MessageHistory,
    TaskContext,
    TaskTimeoutError,
    TokenUsage,
)
from maseval.core.benchmark import Benchmark
from maseval.core.context import Conversations, Said, last_said
from maseval.core.exceptions import NoRepetitionError
from maseval.core.messages import tool_call
from maseval.core.registry import ComponentRegistry
from maseval.core.tracing import ConfigurableMixin, JsonObject, TraceableMixin
from maseval.core.usage import Usage, UsageTrackableMixin
from tests.core.worlds import Diary, Shop, Worker, numbered, tasks


def test_after_the_deadline_the_check_raises_with_what_was_left_behind():
    context = TaskContext(deadline=0.0)
    context.set_collected_traces({"step": 3})

    assert context.is_expired
    assert context.remaining == 0.0
    with pytest.raises(
        TaskTimeoutError, match=r"Task exceeded 0\.0s deadline after \d+\.\d\ds"
    ) as caught:
        context.check_timeout()
    assert caught.value.component == "timeout_check"
    assert caught.value.timeout == 0.0
    assert caught.value.elapsed >= 0.0
    assert caught.value.partial_traces == {"step": 3}


def test_the_check_of_an_abandoned_repetition_raises_too():
    context = TaskContext(deadline=100.0)
    context.abandoned = True

    with pytest.raises(TaskTimeoutError):
        context.check_timeout()


def test_outside_any_repetition_there_is_no_context_and_the_error_tells_the_way_out():
    with pytest.raises(NoRepetitionError, match=r"TaskContext\.bind\(function\)"):
        TaskContext.current()
    with pytest.raises(NoRepetitionError):
        TaskContext.bind(print)


def test_the_active_context_is_current_until_it_is_left():
    outer, inner = TaskContext(), TaskContext()
    with outer.active():
        with inner.active():
            assert TaskContext.current() is inner
        assert TaskContext.current() is outer
    with pytest.raises(NoRepetitionError):
        TaskContext.current()


HOOKS = ("on_run_start", "on_task_start", "on_task_repeat_start")


class Counting(BenchmarkCallback):
    """Counts finished repetitions."""

    finished = 0

    def on_task_repeat_end(self, benchmark: Benchmark, report: Any) -> None:
        self.finished += 1

    def gather_traces(self) -> JsonObject:
        return {**super().gather_traces(), "finished": self.finished}


def test_what_a_callback_gathers_is_in_every_report():
    reports = Shop(callbacks=[Counting(), Diary()]).run(numbered(3))

    told = [report["traces"]["callbacks"] for report in reports]
    assert [list(each) for each in told] == [["Counting"]] * 3, "a diary gathers nothing"
    assert [each["Counting"]["finished"] for each in told] == [0, 1, 2]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("hook", HOOKS)
def test_a_callback_may_register_itself_in_any_hook(hook, workers):
    class Registering(Counting):
        pass

    def register(self, benchmark, *facts):
        benchmark.register("callbacks", "mine", self)

    setattr(Registering, hook, register)
    reports = Shop(callbacks=[Registering()], num_workers=workers).run(numbered(4))

    assert all("finished" in report["traces"]["callbacks"]["mine"] for report in reports)


def test_what_an_agents_callback_gathers_is_reported_with_its_repetition():
    class Listening(AgentCallback):
        def __init__(self):
            self.answers = []

        def on_run_end(self, agent, result):
            self.answers.append(result)

        def gather_traces(self):
            return {**super().gather_traces(), "answers": self.answers}

    def setup_agents(*args, **kwargs):
        worker = Worker()
        worker.callbacks.append(Listening())
        return [worker], {"worker": worker}

    reports = Shop(setup_agents=setup_agents).run(tasks("a", "b"))

    assert [report["traces"]["callbacks"]["Listening"]["answers"] for report in reports] == [
        ["did do a"],
        ["did do b"],
    ]


class Meter(TraceableMixin, ConfigurableMixin, UsageTrackableMixin):
    def gather_usage(self) -> Usage:
        return TokenUsage(cost=2.0)


def test_a_component_of_the_whole_run_is_in_every_report_and_its_usage_counts_once():
    class Metering(BenchmarkCallback):
        def on_run_start(self, benchmark):
            benchmark.register("other", "meter", Meter())

    shop = Shop(callbacks=[Metering()])
    reports = shop.run(numbered(3))

    for report in reports:
        assert report["traces"]["other"]["meter"]["type"] == "Meter"
        assert report["config"]["other"]["meter"]["type"] == "Meter"
        assert report["usage"]["other"] == {}
    assert shop.usage.cost == 2.0
    assert shop.collect_all_traces()["other"] == {}, "the run is over"


class Talker(Worker):
    """An agent that keeps its messages."""

    def __init__(self, *said: tuple[str, str, str], name: str = "worker") -> None:
        super().__init__(name=name)
        self.messages = MessageHistory()
        for role, content, timestamp in said:
            self.messages.add_message(role, content, timestamp=timestamp)


def registry_of(*agents: Worker) -> ComponentRegistry:
    registry = ComponentRegistry()
    for agent in agents:
        registry.register("agents", agent.name, agent)
    return registry


def test_the_latest_message_of_all_participants_counts():
    slow = Talker(("user", "hello", "2025-01-01"), ("assistant", "Hm.", "2025-01-03"), name="slow")
    quick = Talker(("assistant", "Yes!", "2025-01-02"), name="quick")

    assert last_said(registry_of(slow, quick, Worker(name="silent"))) == Said("assistant", "Hm.", 2)
    assert last_said(registry_of(Worker())) is None


def test_a_message_without_words_says_what_it_calls():
    agent = Talker()
    agent.messages.add_tool_call([tool_call("look", {"at": "7"}), tool_call("wait")])

    assert last_said(registry_of(agent)) == Said("assistant", 'look({"at": "7"}), wait({})', 1)


def test_an_agent_that_cannot_be_read_just_now_says_nothing():
    class Busy(Talker):
        def get_messages(self):
            raise RuntimeError("list changed size during iteration")

    agent = Talker(("user", "hello", "2025-01-01"), name="other")
    assert last_said(registry_of(Busy(), agent)) == Said("user", "hello", 1)


def test_a_running_repetition_can_be_asked_and_one_that_is_over_cannot():
    begun, asked = threading.Event(), threading.Event()

    class Guide(Talker):
        def _run_agent(self, query):
            self.messages.add_message("user", query)
            begun.set()
            assert asked.wait(60)
            return "done"

    shop = Shop(setup_agents=lambda *args, **kwargs: ([guide := Guide()], {guide.name: guide}))
    run = threading.Thread(target=shop.run, args=(tasks("a"),))
    run.start()
    assert begun.wait(60)
    during, another = shop.last_said("a", 0), shop.last_said("a", 1)
    asked.set()
    run.join()

    assert (during, another) == (Said("user", "do a", 1), None)
    assert shop.last_said("a", 0) is None


def test_an_attempt_that_outlives_the_next_one_does_not_end_it():
    talks, first, second = (
        Conversations(),
        registry_of(Talker()),
        registry_of(Talker(("user", "b", "2"))),
    )
    late = talks.open(("a", 0), first)
    late.__enter__()
    with talks.open(("a", 0), second):
        late.__exit__(None, None, None)
        assert talks.last(("a", 0)) == Said("user", "b", 1)
    assert talks.last(("a", 0)) is None
