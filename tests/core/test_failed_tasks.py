"""What a failed task does to its run, and how failures are asked for."""

import threading

import pytest

from maseval import (
    AgentError,
    BenchmarkCallback,
    EnvironmentError,
    SequentialTaskQueue,
    Task,
    TaskExecutionStatus,
    TaskProtocol,
    TokenUsage,
)
from maseval.core.exceptions import NotRunError
from tests.core.worlds import (
    Diary,
    Shop,
    Worker,
    failing,
    numbered,
    only,
    statuses,
    tasks,
)

FLAGS = {
    "setup_failed": ("fail_on_setup_error", {"setup_user": failing(ValueError("stop"))}),
    "agent_error": ("fail_on_task_error", {"behaviour": failing(AgentError("stop"))}),
    "evaluation_failed": ("fail_on_evaluation_error", {"evaluate": failing(ValueError("stop"))}),
}


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("status", FLAGS)
def test_a_flag_stops_the_run_at_its_kind_of_failure_and_keeps_what_is_finished(status, workers):
    flag, parts = FLAGS[status]
    diary = Diary()
    shop = Shop(**parts, **{flag: True}, num_workers=workers, callbacks=[diary])

    with pytest.raises((ValueError, AgentError), match="stop"):
        shop.run(numbered(50))

    assert 1 <= len(shop.reports) <= 2 * workers
    assert {report["status"] for report in shop.reports} == {status}
    assert diary.of("run end") == [(len(shop.reports),)]
    assert len(diary.of("repeat end")) == len(shop.reports)


@pytest.mark.parametrize("status", FLAGS)
def test_the_other_flags_do_not_stop_it(status):
    flag, parts = FLAGS[status]
    others = {name: True for name, _ in FLAGS.values() if name != flag}

    assert len(Shop(**parts, **others).run(tasks("a", "b"))) == 2


def test_a_timeout_never_stops_a_run():
    never = threading.Event()
    flags = {name: True for name, _ in FLAGS.values()}
    shop = Shop({"a": lambda query: never.wait(60)}, **flags)
    late = Task("go", id="a", protocol=TaskProtocol(timeout_seconds=0.05))
    reports = shop.run([late, *tasks("b")])
    never.set()

    assert statuses(reports) == {"a": "task_timeout", "b": "success"}


def test_a_flag_waits_until_the_retries_are_used_up():
    task = Task("go", id="a", protocol=TaskProtocol(max_retries=2))
    shop = Shop(failing(EnvironmentError("stop")), fail_on_task_error=True)

    with pytest.raises(EnvironmentError):
        shop.run([task])
    assert len(only(shop.reports)["attempts"]) == 2


def test_what_the_others_were_doing_when_a_flag_stopped_the_run_changes_nothing_later():
    go_on, out = threading.Event(), threading.Event()

    def linger(query):
        go_on.wait(60)
        shop.collect_all_usage()
        out.set()

    def stop(query):
        raise AgentError("stop")

    class Metered(Worker):
        def _gather_usage(self):
            return TokenUsage(cost=0.5)

    class Paid(Shop):
        def setup_agents(self, agent_data, environment, task, user):
            worker = Metered({"a": linger, "b": stop}[task.id])
            return [worker], {"worker": worker}

    shop = Paid(fail_on_task_error=True, num_workers=2)
    with pytest.raises(AgentError):
        shop.run(tasks("a", "b"))
    spent, reports = shop.usage, list(shop.reports)
    go_on.set()
    assert out.wait(60)

    assert spent.cost == 1.0
    assert shop.usage == spent
    assert [report["task_id"] for report in reports] == ["b"]
    assert shop.reports == reports


def test_a_callback_that_exits_ends_the_run_properly():
    class Leaving(BenchmarkCallback):
        def on_task_repeat_end(self, benchmark, report):
            raise SystemExit(3)

    diary = Diary()
    shop = Shop(callbacks=[Leaving(), diary])

    with pytest.raises(SystemExit):
        shop.run(tasks("a", "b"))
    assert len(shop.reports) == 1
    assert diary.of("run end") == [(1,)]


def failures() -> Shop:
    shop = Shop(
        {"agent": failing(AgentError("x")), "world": failing(EnvironmentError("x"))},
        setup_user=lambda agent_data, environment, task, seed_generator: (
            1 / 0 if task.id == "setup" else None
        ),
        evaluate=lambda evaluators, agents, answer, traces: [] if answer != "did do eval" else None,
    )
    shop.run(tasks("good", "agent", "world", "setup", "eval"))
    return shop


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (None, ["agent", "world", "setup", "eval"]),
        (TaskExecutionStatus.SUCCESS, ["good"]),
        (TaskExecutionStatus.AGENT_ERROR, ["agent"]),
        (TaskExecutionStatus.TASK_EXECUTION_FAILED, ["agent", "world"]),
        (TaskExecutionStatus.EVALUATION_FAILED, ["eval"]),
        (TaskExecutionStatus.TASK_TIMEOUT, []),
        (
            [TaskExecutionStatus.SETUP_FAILED, TaskExecutionStatus.TASK_EXECUTION_FAILED],
            ["agent", "world", "setup"],
        ),
        ([], []),
    ],
)
def test_failed_tasks_can_be_asked_for_by_status(wanted, ids):
    shop = failures()

    failed = shop.get_failed_tasks(wanted)
    assert isinstance(failed, SequentialTaskQueue)
    assert [task.id for task in failed] == ids
    assert [task.id for task in shop.get_failed_tasks(wanted, reports=shop.reports)] == ids
    assert [task.id for task in shop.get_failed_tasks(wanted, reports=[])] == []


def test_failures_of_unknown_tasks_are_not_passed_off_as_none():
    reports = failures().reports

    with pytest.raises(NotRunError, match=r"not known, such as 'agent'.*tasks="):
        Shop().get_failed_tasks(reports=reports)
    known = Shop(tasks=tasks("agent", "good"))
    assert [task.id for task in known.get_failed_tasks(reports=reports)] == ["agent"]
