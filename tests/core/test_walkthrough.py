"""One repetition by hand, hook by hook."""

import pytest

from maseval.core.context import TaskContext
from maseval.core.exceptions import HookResultError
from tests.core.engine.test_cast import Seeded
from tests.core.worlds import Customer, Shop, Worker, World, failing, only, tasks

[TASK] = tasks("a")


def test_a_part_is_made_by_its_hook_and_by_no_other():
    shop = Seeded(seed=1)
    walk = shop.walk_through(TASK, {"model": "m"})

    assert isinstance(walk.environment, World)
    assert [called[0] for called in shop.called] == ["environment"]
    assert isinstance(walk.user, Customer)
    assert [called[0] for called in shop.called] == ["environment", "user"]
    assert walk.environment is walk.environment


def test_a_part_brings_those_it_needs():
    shop = Seeded()

    assert list(shop.walk_through(TASK).agents) == ["main", "helper"]
    assert [called[0] for called in shop.called] == ["environment", "user", "agents"]


def test_the_steps_give_what_a_run_gives():
    report = only(Shop(seed=1).run(TASK))
    walk = Shop(seed=1).walk_through(TASK)

    assert walk.execute() == report["final_answer"]
    assert walk.evaluate() == report["eval"]
    assert walk.collect_traces().keys() == report["traces"].keys()
    assert walk.collect_traces()["agents"].keys() == report["traces"]["agents"].keys()
    assert walk.collect_configs().keys() == report["config"].keys()
    assert walk.collect_usage().keys() == report["usage"].keys()


def test_asking_for_the_verdict_alone_takes_every_step_once():
    worker = Worker()
    shop = Shop(setup_agents=lambda *a, **k: ([worker], {"worker": worker}))

    assert shop.walk_through(TASK).evaluate() == [{"passed": True, "answer": "did do a"}]
    assert worker.runs == 1


def test_a_part_can_be_replaced():
    walk = Shop(failing(RuntimeError("the real one must not run"))).walk_through(TASK)
    walk.agents_to_run = [Worker(str.upper)]

    assert walk.execute() == "DO A"


def test_what_a_step_raises_is_raised_as_it_is():
    with pytest.raises(ZeroDivisionError):
        Shop(failing(ZeroDivisionError())).walk_through(TASK).execute()
    with pytest.raises(HookResultError, match="setup_evaluators"):
        _ = Shop(setup_evaluators=lambda *a, **k: None).walk_through(TASK).evaluators


def test_a_step_is_taken_inside_the_repetition_and_leaves_it():
    seen = []
    walk = Shop(lambda query: seen.append(TaskContext.current())).walk_through(TASK)
    walk.execute()

    assert seen == [walk.context]
    assert walk.context.deadline is None
    with pytest.raises(RuntimeError):
        TaskContext.current()
