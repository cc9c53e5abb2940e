"""What a run is asked to do: tasks in any form, agent data for all or for each."""

import pytest

from maseval import SequentialTaskQueue, Task
from maseval.core.exceptions import ConfigurationError, DuplicateTaskError
from maseval.core.task.queues import agent_data_for, task_queue
from tests.core.worlds import tasks


def test_tasks_and_dicts_may_be_mixed_and_come_from_an_iterator():
    queue = task_queue(iter([Task("go", id="a"), {"query": "stop", "id": "b"}]))

    assert isinstance(queue, SequentialTaskQueue)
    assert [(task.id, task.query) for task in queue] == [("a", "go"), ("b", "stop")]


def test_two_tasks_with_one_id_are_refused():
    with pytest.raises(DuplicateTaskError, match=r"two tasks have the id 'a'.*its own id"):
        task_queue([*tasks("a", "b"), *tasks("a")])


@pytest.mark.parametrize("nonsense", ["tasks.json", {"query": "go"}, 7])
def test_what_is_no_collection_of_tasks_is_refused_with_its_value(nonsense):
    with pytest.raises(ConfigurationError, match="give a Task, a queue or a list of tasks"):
        task_queue(nonsense)


@pytest.mark.parametrize(
    ("agent_data", "message"),
    [
        ([{}], "Given: 2 tasks and 1 dict"),
        ([{}, {}, {}], "Given: 2 tasks and 3 dicts"),
        ([{}, "m"], "holds 'm'; each entry must be a dict"),
        ("gpt", "is 'gpt'; give a dict"),
        (7, "is 7; give a dict"),
    ],
)
def test_agent_data_that_does_not_match_the_tasks_is_refused(agent_data, message):
    with pytest.raises(ConfigurationError, match=message):
        agent_data_for(task_queue(tasks("a", "b")), agent_data)
