"""What a run is asked to do: tasks in any form, agent data for all or for each."""

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.core.task.queues import agent_data_for, task_queue
from tests.core.worlds import tasks


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
