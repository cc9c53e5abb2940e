"""Components of a whole run, and callbacks that report what they gathered."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from maseval import AgentCallback, BenchmarkCallback, TokenUsage
from maseval.core.exceptions import NoRepetitionError
from maseval.core.tracing import ConfigurableMixin, TraceableMixin
from maseval.core.usage import UsageTrackableMixin
from tests.core.worlds import Diary, Shop, Worker, numbered, only, tasks

HOOKS = ("on_run_start", "on_task_start", "on_task_repeat_start")


class Counting(BenchmarkCallback):
    """Counts finished repetitions."""

    finished = 0

    def on_task_repeat_end(self, benchmark, report):
        self.finished += 1

    def gather_traces(self):
        return {**super().gather_traces(), "finished": self.finished}


def test_what_a_callback_gathers_is_in_every_report():
    reports = Shop(callbacks=[Counting(), Diary()]).run(numbered(3))

    told = [report["traces"]["callbacks"] for report in reports]
    assert [list(each) for each in told] == [["Counting"]] * 3, "a diary gathers nothing"
    assert [each["Counting"]["finished"] for each in told] == [0, 1, 2]


def test_two_callbacks_of_one_class_have_two_names():
    report = only(Shop(callbacks=[Counting(), Counting()]).run(tasks("a")))

    assert list(report["traces"]["callbacks"]) == ["Counting", "Counting_2"]


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


def test_a_callback_may_register_itself_before_the_run():
    shop, callback = Shop(), Counting()
    shop.add_callback(callback)
    shop.register("callbacks", "mine", callback)

    for _ in range(2):
        report = only(shop.run(tasks("a")))
        assert list(report["traces"]["callbacks"]) == ["mine"]


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
    def gather_usage(self):
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


def test_a_bare_thread_in_a_hook_has_no_components():
    class Threaded(BenchmarkCallback):
        def on_run_start(self, benchmark):
            with ThreadPoolExecutor(1) as pool:
                self.error = pool.submit(benchmark.collect_all_traces).exception()

    callback = Threaded()
    Shop(callbacks=[callback]).run(tasks("a"))

    assert isinstance(callback.error, NoRepetitionError)
