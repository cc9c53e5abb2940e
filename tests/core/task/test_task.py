import copy
import json
import pickle

import pytest

from maseval.core.exceptions import ConfigurationError, TaskFormatError, TaskFrozenError
from maseval.core.task import FrozenDict, Task, TaskProtocol


def frozen_task() -> Task:
    return Task(
        "Hi",
        id="t",
        environment_data={"db": {"rows": [{"a": 1}]}},
        metadata={"level": {"deep": {"x": 1}}},
    ).freeze()


@pytest.mark.parametrize("field", ["query", "id", "metadata", "protocol", "anything"])
def test_a_frozen_task_refuses_new_values(field):
    with pytest.raises(TaskFrozenError, match=rf"{field}.*call task.unfreeze\(\)") as caught:
        setattr(frozen_task(), field, "x")
    assert caught.value.component == "Task"


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.__setitem__("k", 1),
        lambda d: d.__delitem__("x"),
        lambda d: d.__ior__({"k": 1}),
        lambda d: d.clear(),
        lambda d: d.pop("x"),
        lambda d: d.popitem(),
        lambda d: d.setdefault("k", 1),
        lambda d: d.update(k=1),
    ],
)
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_frozen_data_refuses_every_change_at_every_depth(change, depth):
    metadata = frozen_task().metadata
    target = [metadata, metadata["level"], metadata["level"]["deep"]][depth]

    with pytest.raises(TaskFrozenError, match=r"call task.unfreeze\(\)") as caught:
        change(target)

    assert caught.value.component == "Task"
    assert metadata == {"level": {"deep": {"x": 1}}}


def test_freezing_leaves_lists_and_the_protocol_as_they_are():
    task = frozen_task()
    task.environment_data["db"]["rows"].append({"a": 2})
    task.protocol.priority = 5
    assert task.environment_data == {"db": {"rows": [{"a": 1}, {"a": 2}]}}
    assert task.protocol.priority == 5


def test_freezing_twice_and_unfreezing_twice_are_errors():
    task = Task("Hi")
    with pytest.raises(TaskFrozenError, match="not frozen"):
        task.unfreeze()
    assert task.freeze() is task
    assert task.is_frozen
    with pytest.raises(TaskFrozenError, match="already frozen"):
        task.freeze()


def test_a_frozen_task_equals_and_shows_the_same_as_before():
    task = Task("Hi", id="t", metadata={"a": {"b": 1}})
    twin = copy.deepcopy(task).freeze()
    assert twin == task
    assert json.dumps(twin.metadata) == json.dumps(task.metadata)
    assert "_frozen" not in repr(twin)
    assert repr(FrozenDict({"a": 1})) == "FrozenDict({'a': 1})"


@pytest.mark.parametrize(
    "twin", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
def test_a_copy_of_a_frozen_task_is_frozen_too(twin):
    duplicate = twin(frozen_task())
    assert duplicate == frozen_task()
    assert duplicate.is_frozen
    with pytest.raises(TaskFrozenError):
        duplicate.metadata["level"]["deep"]["x"] = 2
    assert not duplicate.unfreeze().is_frozen


@pytest.mark.parametrize(
    ("record", "query"),
    [
        ({"question": "Why?", "prompt": "no"}, "Why?"),
        ({"question": "", "prompt": 12}, "12"),
        ({"answer": 1}, ""),
        ({"query": None, "question": "no"}, ""),
        ({"query": 5}, "5"),
    ],
)
def test_the_query_is_found_under_several_names(record, query):
    assert Task.from_dict(record).query == query


def test_a_question_and_answer_record_fills_the_data():
    read = Task.from_dict({"question": "Who?", "text": "A story", "short_answer": "Ann"})
    assert read.environment_data == {"text_content": "A story"}
    assert read.evaluation_data == {"short_answer": "Ann"}


def test_data_that_is_given_comes_before_what_could_be_guessed():
    record = {"text": "A", "short_answer": "B", "environment_data": {"e": 1}, "evaluation_data": {}}
    read = Task.from_dict({"question": "Who?", **record})
    assert (read.environment_data, read.evaluation_data) == ({"e": 1}, {})
    assert Task.from_dict({"query": "Who?", "text": "A"}).environment_data == {}


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("enviroment_data", "environment_data"),
        ("evaluation", "evaluation_data"),
        ("meta_data", "metadata"),
        ("protocl", "protocol"),
        ("user-data", "user_data"),
        ("ID", "id"),
    ],
)
def test_a_misspelt_key_is_named(key, meant):
    with pytest.raises(TaskFormatError, match=f"has no '{key}'; did you mean '{meant}'"):
        Task.from_dict({"query": "Hi", key: {}})


def test_columns_of_a_dataset_that_no_field_is_called_like_are_left_aside():
    record = {"question": "Who?", "idx": 3, "answer": "Ann", "questions": [], "level": "easy"}

    assert Task.from_dict(record).query == "Who?"


@pytest.mark.parametrize(
    "fault",
    [
        {"timeout_seconds": -1},
        {"timeout_seconds": float("nan")},
        {"timeout_seconds": "10"},
        {"max_retries": -1},
        {"max_retries": 1.5},
        {"priority": "high"},
        {"timeout_action": "retry"},
    ],
)
def test_a_protocol_out_of_range_is_refused(fault):
    (name, value) = next(iter(fault.items()))
    with pytest.raises(ConfigurationError, match=f"{name} is {value!r}; give"):
        TaskProtocol(**fault)


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ({"timeout": 3}, "no 'timeout'; it has timeout_seconds, timeout_action"),
        ({"timeout_action": "give up"}, "'give up'; choose one of: skip, retry, extend"),
        ({"tags": ["slow"]}, "'tags' of a task must be a dict"),
    ],
)
def test_a_misspelt_protocol_is_refused(fault, complaint):
    with pytest.raises(TaskFormatError, match=complaint):
        TaskProtocol.from_dict(fault)
