import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.core.exceptions import ConfigurationError, TaskFormatError
from maseval.core.task import (
    PriorityTaskQueue,
    SequentialTaskQueue,
    Task,
    TaskProtocol,
    TimeoutAction,
)
from tests.core.task.building import InOrder, ids, task, tasks

json_dicts = st.dictionaries(
    st.text(max_size=3), st.integers() | st.lists(st.integers()), max_size=3
)
protocols = st.builds(
    TaskProtocol,
    timeout_seconds=st.none() | st.floats(0, 1e6),
    timeout_action=st.sampled_from(TimeoutAction),
    max_retries=st.integers(0, 5),
    priority=st.integers(-5, 5),
    tags=json_dicts,
)
any_task = st.builds(
    Task,
    query=st.text(max_size=10),
    id=st.text(max_size=10),
    environment_data=json_dicts,
    user_data=json_dicts,
    evaluation_data=json_dicts,
    metadata=json_dicts,
    protocol=protocols,
)


def as_dict(a_task: Task) -> dict[str, Any]:
    names = ("query", "id", "environment_data", "user_data", "evaluation_data", "metadata")
    return {name: getattr(a_task, name) for name in names} | {"protocol": a_task.protocol.to_dict()}


@given(st.lists(any_task, max_size=5))
def test_tasks_survive_being_written_as_json(some_tasks):
    written = json.loads(json.dumps([as_dict(each) for each in some_tasks]))
    assert SequentialTaskQueue.from_list(written).to_list() == some_tasks


@pytest.mark.parametrize("queue_class", [SequentialTaskQueue, PriorityTaskQueue])
@pytest.mark.parametrize("entry", ["text", 3, None, ["query"]])
def test_an_entry_that_is_no_task_is_refused_by_position(queue_class, entry):
    complaint = f"{queue_class.__name__}.from_list expects Task or dict entries; entry 1"
    with pytest.raises(TaskFormatError, match=complaint):
        queue_class.from_list([{"query": "Hi"}, entry])


@pytest.mark.parametrize(
    ("entry", "error", "complaint"),
    [
        ({"protocol": {"tiemout": 1}}, TaskFormatError, "entry 1: .*'tiemout'"),
        ({"protocol": "fast"}, TaskFormatError, "entry 1: 'protocol' .* not 'fast'"),
        ({"metadata": [1]}, TaskFormatError, r"entry 1: 'metadata' .* not \[1\]"),
        ({"protocol": {"max_retries": -2}}, ConfigurationError, "entry 1: max_retries is -2"),
    ],
)
def test_a_faulty_entry_is_named(entry, error, complaint):
    with pytest.raises(error, match=complaint):
        SequentialTaskQueue.from_list([{"query": "Hi"}, {"query": "Hi", **entry}])


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"[{]", "is not a JSON file"),
        (b"\xff\xfe", "is not a JSON file"),
        (b'{"tasks": []}', "must hold a JSON list"),
        (b"3", "must hold a JSON list"),
        (b"[3]", "expects Task or dict entries; entry 0"),
    ],
)
def test_a_json_file_of_another_shape_is_refused_by_name(tmp_path, content, complaint):
    path = tmp_path / "tasks.json"
    path.write_bytes(content)
    with pytest.raises(TaskFormatError, match=complaint) as caught:
        SequentialTaskQueue.from_json_file(str(path))
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_negative_limit_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        SequentialTaskQueue.from_json_file(tmp_path / "none.json")
    with pytest.raises(ConfigurationError, match="limit is -1; give 0 or more"):
        SequentialTaskQueue.from_json_file(tmp_path / "none.json", limit=-1)


ALL_QUEUES = [SequentialTaskQueue, PriorityTaskQueue, InOrder]
priorities = st.lists(st.integers(-3, 3), max_size=12)
bounds = st.none() | st.integers(-15, 15)
slices = st.builds(slice, bounds, bounds, st.none() | st.integers(1, 4))


@pytest.mark.parametrize("queue_class", ALL_QUEUES)
@given(priorities, slices)
def test_a_queue_reads_like_the_list_of_its_tasks(queue_class, ranks, part):
    queue = queue_class(task(n, rank) for n, rank in enumerate(ranks))
    everything = queue.to_list()

    assert len(queue) == len(everything)
    assert list(queue) == everything
    assert [queue[n] for n in range(len(queue))] == everything
    assert list(reversed(queue)) == everything[::-1]
    assert type(queue[part]) is queue_class
    assert list(queue[part]) == queue[part].to_list() == everything[part]
    assert all(each in queue and queue.count(each) == 1 for each in everything)
    assert task("stranger") not in queue


@given(priorities, st.booleans())
def test_a_priority_queue_sorts_by_rank_and_ties_keep_their_order(ranks, reverse):
    given_order = [task(n, rank) for n, rank in enumerate(ranks)]
    expected = sorted(
        given_order, key=lambda t: -t.protocol.priority if reverse else t.protocol.priority
    )
    assert list(PriorityTaskQueue(given_order, reverse=reverse)) == expected


@given(priorities, priorities, st.booleans())
def test_tasks_added_later_take_the_place_of_their_rank(first, later, reverse):
    both = [task(n, rank) for n, rank in enumerate(first + later)]
    queue = PriorityTaskQueue(both[: len(first)], reverse=reverse)
    for each in both[len(first) :]:
        queue.append(each)
    assert list(queue) == list(PriorityTaskQueue(both, reverse=reverse))


def test_a_part_of_a_priority_queue_keeps_its_direction():
    part = PriorityTaskQueue([task("a", 3), task("b", 1), task("c", 2)], reverse=False)[1:]
    assert ids(part) == ["c", "a"]
    part.append(task("d", 0))
    assert (ids(part), part.reverse) == (["d", "c", "a"], False)


@pytest.mark.parametrize("queue_class", ALL_QUEUES)
def test_the_list_given_in_and_the_list_given_out_are_copies(queue_class):
    source = tasks(2)
    queue = queue_class(source)
    source.clear()
    queue.to_list().clear()
    assert len(queue) == 2


@pytest.mark.parametrize("queue_class", ALL_QUEUES)
def test_an_iteration_covers_the_tasks_that_were_there_when_it_began(queue_class):
    queue = queue_class(tasks(2))
    seen = []
    for each in queue:
        seen.append(each.id)
        queue.extend([task(f"new {each.id}", priority=9)])
    assert seen == ["0", "1"]
    assert len(list(queue)) == len(queue) == 4


@pytest.mark.parametrize("queue_class", ALL_QUEUES)
def test_a_queue_holds_nothing_but_tasks(queue_class):
    with pytest.raises(
        TaskFormatError, match=r"an object of the type dict.*from_list also takes dicts"
    ):
        queue_class([{"query": "Hi"}])
    queue = queue_class(tasks(1))
    with pytest.raises(TaskFormatError, match="not 3"):
        queue.append(3)
    assert ids(queue) == ["0"]
