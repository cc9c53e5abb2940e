"""What the runner takes from a queue: one that learns, and one of the user's own."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from maseval import (
    AdaptiveTaskQueue,
    BaseTaskQueue,
)
from maseval.core.exceptions import ConfigurationError, DuplicateTaskError, TaskFormatError
from maseval.core.task.task import Task
from tests.core.worlds import Diary, Shop, numbered, statuses, tasks


class Narrowing(AdaptiveTaskQueue):
    """Hands out the last task first, and stops when enough reports have come in."""

    enough = 100

    def initial_state(self) -> dict[str, object]:
        return {"seen": []}

    def select_next_task(self, remaining: Sequence[Task], state: dict[str, object]) -> Task | None:
        self.selections = [*getattr(self, "selections", []), list(state["seen"])]
        return remaining[-1] if len(state["seen"]) < self.enough else None

    def update_state(self, task: Task, report: Any, state: dict[str, Any]) -> dict[str, Any]:
        return {"seen": [*state["seen"], (task.id, report["repeat_idx"])]}


def test_an_adaptive_queue_learns_from_each_report_before_it_chooses():
    queue = Narrowing(tasks("a", "b", "c"))
    reports = Shop(n_task_repeats=2).run(queue)

    assert [report["task_id"] for report in reports] == ["c", "c", "b", "b", "a", "a"]
    assert queue.selections == [
        [],
        [("c", 0), ("c", 1)],
        [("c", 0), ("c", 1), ("b", 0), ("b", 1)],
    ]


@pytest.mark.parametrize("repeats", [1, 3])
def test_an_adaptive_queue_hands_out_each_task_once_to_many_workers(repeats):
    diary = Diary()
    queue = Narrowing(numbered(20))
    shop = Shop(num_workers=4, n_task_repeats=repeats, callbacks=[diary])
    reports = shop.run(queue, {"model": "m"})

    found = Counter((report["task_id"], report["repeat_idx"]) for report in reports)
    assert found == Counter((t.id, i) for t in numbered(20) for i in range(repeats))
    assert len(queue.state["seen"]) == 20 * repeats
    assert diary.most_unfinished() <= 4


def test_the_second_run_of_an_adaptive_queue_begins_afresh_and_it_is_heard_once():
    queue = Narrowing(tasks("a", "b"))
    shop = Shop(callbacks=[queue])

    assert len(shop.run(queue)) == len(shop.run(queue)) == 2
    assert len(queue.state["seen"]) == 2
    assert shop.callbacks == [queue]


class Own(BaseTaskQueue):
    """A queue of the user's own, with an order of its own."""

    def __init__(self, listed: list[Task], order: list[RuntimeError | Task | str]) -> None:
        super().__init__(listed)
        self.order = order

    def __iter__(self) -> Iterator[Task | str]:
        for each in self.order:
            if isinstance(each, Exception):
                raise each
            yield each


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (RuntimeError("no more"), RuntimeError),
        ("a string", TaskFormatError),
        (tasks("a")[0], DuplicateTaskError),
    ],
)
def test_a_queue_that_breaks_ends_the_run_after_what_it_started(wrong, error, workers):
    diary = Diary()
    shop = Shop(num_workers=workers, callbacks=[diary])
    good = tasks("a", "b")

    with pytest.raises(error):
        shop.run(Own(good, [*good, wrong, *tasks("c")]))

    assert statuses(shop.reports) == {"a": "success", "b": "success"}
    assert diary.of("run end") == [(2,)]


def test_a_queue_may_make_tasks_as_it_goes_if_the_agent_data_is_for_all():
    queue = Own(tasks("a"), tasks("a", "new"))

    assert len(Shop().run(queue, {"model": "m"})) == 2
    with pytest.raises(ConfigurationError, match="'new'"):
        Shop().run(queue, [{"model": "m"}])
