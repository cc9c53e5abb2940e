import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.core.exceptions import HookResultError
from maseval.core.task.task import Task
from tests.core import worlds
from tests.core.task.building import InOrder, ids, task, tasks


def finish(queue: InOrder, a_task: Task, repeat_idx: int = 0) -> None:
    report = {"task_id": a_task.id, "repeat_idx": repeat_idx, "status": "success"}
    queue.on_task_repeat_end(None, report)


@given(st.integers(1, 8), st.integers(1, 3), st.data())
def test_each_task_is_handed_out_once_however_the_results_come_in(count, repeats, data):
    queue = InOrder(tasks(count))
    source, handed_out, running, finished = iter(queue), [], [], 0
    exhausted = False
    while running or not exhausted:
        if not exhausted and (not running or data.draw(st.booleans(), label="take a task")):
            chosen = next(source, None)
            if chosen is None:
                exhausted = True
            else:
                handed_out.append(chosen.id)
                running += [chosen] * repeats
        else:
            position = data.draw(st.integers(0, len(running) - 1), label="finish")
            finish(queue, running.pop(position))
            finished += 1

    assert sorted(handed_out) == sorted(ids(queue.to_list()))
    assert queue.state == {"reports": count * repeats} == {"reports": finished}


def test_a_report_before_any_iteration_counts_too_and_one_on_another_task_does_not():
    queue = InOrder(tasks(2))
    finish(queue, queue[1])
    finish(queue, task("stranger"))
    assert queue.state == {"reports": 1}


def test_stopping_ends_the_iteration_but_not_the_learning():
    queue = InOrder(tasks(3))
    source = iter(queue)
    first = next(source)
    queue.stop()

    assert next(source, None) is None
    finish(queue, first)
    assert queue.state == {"reports": 1}


def test_looking_at_the_tasks_does_not_disturb_an_iteration():
    queue = InOrder(tasks(3))
    source = iter(queue)
    first = next(source)

    assert len(queue) == 3
    assert ids(queue.to_list()) == ["0", "1", "2"]
    assert queue[0] is first
    assert queue[2] in queue
    assert queue.index(queue[1]) == 1
    assert list(queue[1:]) == queue.to_list()[1:]
    assert ids(source) == ["1", "2"]


def test_the_state_cannot_be_used_to_interfere():
    with pytest.raises(TypeError):
        InOrder(tasks(2)).state["reports"] = 9


@pytest.mark.parametrize("wrong", [task("stranger"), task("0"), "1", 0])
def test_choosing_what_does_not_remain_is_an_error(wrong):
    class Wrong(InOrder):
        def select_next_task(self, remaining, state):
            return wrong if len(remaining) == 1 else remaining[0]

    source = iter(Wrong(tasks(2)))
    next(source)
    with pytest.raises(
        HookResultError, match=r"Wrong.select_next_task returned .* or None to stop"
    ):
        next(source)


def test_forgetting_to_return_the_state_is_an_error():
    class Forgetful(InOrder):
        def update_state(self, task, report, state):
            state["reports"] += 1

    queue = Forgetful(tasks(1))
    with pytest.raises(HookResultError, match=r"Forgetful.update_state returned None; return"):
        finish(queue, next(iter(queue)))


def test_a_part_of_a_queue_keeps_its_settings_and_ends_where_nothing_is_chosen():
    class Budgeted(InOrder):
        def __init__(self, tasks, budget):
            super().__init__(tasks)
            self.budget = budget

        def select_next_task(self, remaining, state):
            taken = len(self) - len(remaining)
            return remaining[0] if taken < self.budget else None

    part = Budgeted(tasks(5), budget=2)[2:]
    assert (part.budget, ids(part)) == (2, ["2", "3"])


def test_a_queue_learns_that_a_task_is_complete_once_after_its_last_repetition():
    class Noting(InOrder):
        def __init__(self, tasks):
            super().__init__(tasks)
            self.complete = []

        def on_task_complete(self, task, report):
            self.complete.append((task.id, report["repeat_idx"]))

    queue = Noting(worlds.tasks("a", "b"))
    worlds.Shop(n_task_repeats=3).run(queue)

    assert queue.complete == [("a", 2), ("b", 2)]


HOOKS = ("on_run_start", "on_task_start", "on_task_repeat_start", "on_run_end", "on_event")


def test_a_queue_hears_every_event_and_may_pass_it_on(caplog):
    heard = []

    class Listening(InOrder):
        def on_run_start(self, benchmark):
            super().on_run_start(benchmark)

        def on_event(self, event_name, **data):
            super().on_event(event_name, **data)
            heard.append(event_name)

    worlds.Shop().run(Listening(worlds.tasks("a")))

    assert not caplog.records and all(hasattr(InOrder, hook) for hook in HOOKS)
    assert (heard[0], heard[-1]) == ("on_run_start", "on_run_end")
