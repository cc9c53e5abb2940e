import copy
import dataclasses
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.core.exceptions import (
    ConfigurationError,
    DuplicateTaskError,
    HookResultError,
    TaskFormatError,
    TaskFrozenError,
)
from maseval.core.task import (
    AdaptiveTaskQueue,
    BaseTaskQueue,
    FrozenDict,
    PriorityTaskQueue,
    SequentialTaskQueue,
    Task,
    TaskProtocol,
    TaskQueue,
    TimeoutAction,
)


def task(id, priority=0):
    return Task(f"do {id}", id=str(id), protocol=TaskProtocol(priority=priority))


def tasks(count):
    return [task(n) for n in range(count)]


def ids(some_tasks):
    return [each.id for each in some_tasks]


def test_a_protocol_becomes_a_dictionary_in_field_order():
    protocol = TaskProtocol(2.5, TimeoutAction.RETRY, 1, 3, {"slow": True})
    assert list(protocol.to_dict().items()) == [
        ("timeout_seconds", 2.5),
        ("timeout_action", "retry"),
        ("max_retries", 1),
        ("priority", 3),
        ("tags", {"slow": True}),
    ]
    assert protocol.to_dict()["tags"] is not protocol.tags
    assert TaskProtocol.from_dict(protocol.to_dict()) == protocol


def test_a_protocol_has_no_limits_by_default():
    assert TaskProtocol() == TaskProtocol(None, TimeoutAction.SKIP, 0, 0, {})
    assert TaskProtocol.from_dict({}) == TaskProtocol()


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


def test_a_task_needs_no_more_than_a_query():
    one, other = Task("Hi"), Task("Hi")
    assert one.id != other.id
    assert (one.environment_data, one.user_data, one.evaluation_data, one.metadata) == ({},) * 4
    assert one.protocol == TaskProtocol()
    assert not one.is_frozen


def frozen_task():
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


def test_unfreezing_gives_plain_dicts_back():
    task = frozen_task()
    assert task.unfreeze() is task
    task.query = "Bye"
    task.metadata["level"]["deep"]["x"] = 2
    assert type(task.metadata["level"]["deep"]) is dict
    assert not task.is_frozen


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


def test_a_variant_of_a_frozen_task_can_be_changed():
    variant = dataclasses.replace(frozen_task(), query="Bye")
    variant.metadata["level"]["deep"]["x"] = 2
    assert frozen_task().metadata["level"]["deep"]["x"] == 1


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


def as_dict(a_task):
    names = ("query", "id", "environment_data", "user_data", "evaluation_data", "metadata")
    return {name: getattr(a_task, name) for name in names} | {"protocol": a_task.protocol.to_dict()}


@given(st.lists(any_task, max_size=5))
def test_tasks_survive_being_written_as_json(some_tasks):
    written = json.loads(json.dumps([as_dict(each) for each in some_tasks]))
    assert SequentialTaskQueue.from_list(written).to_list() == some_tasks


def test_from_list_keeps_tasks_and_reads_dicts():
    ready = task("ready")
    protocol = TaskProtocol(priority=4)
    queue = SequentialTaskQueue.from_list([ready, {"query": "Hi", "id": 7, "protocol": protocol}])
    assert queue[0] is ready
    assert (queue[1].query, queue[1].id) == ("Hi", "7")
    assert queue[1].protocol is protocol


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


def test_reading_a_dict_leaves_it_alone():
    record = {"query": "Hi", "metadata": {"a": 1}}
    Task.from_dict(record).metadata["b"] = 2
    assert record == {"query": "Hi", "metadata": {"a": 1}}


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


@pytest.mark.parametrize("wrap", [list, lambda entries: {"data": entries, "version": 1}])
@pytest.mark.parametrize(("limit", "count"), [(None, 3), (0, 0), (2, 2), (9, 3)])
def test_a_json_file_gives_its_first_tasks(tmp_path, wrap, limit, count):
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(wrap([{"id": n, "query": "é"} for n in range(3)])))
    queue = PriorityTaskQueue.from_json_file(path, limit=limit)
    assert isinstance(queue, PriorityTaskQueue)
    assert ids(queue) == ["0", "1", "2"][:count]


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


class InOrder(AdaptiveTaskQueue):
    """Takes the first task that remains, and counts reports."""

    def initial_state(self):
        return {"reports": 0}

    def select_next_task(self, remaining, state):
        return remaining[0]

    def update_state(self, task, report, state):
        return {"reports": state["reports"] + 1}


ALL_QUEUES = [SequentialTaskQueue, PriorityTaskQueue, InOrder]
priorities = st.lists(st.integers(-3, 3), max_size=12)
bounds = st.none() | st.integers(-15, 15)
slices = st.builds(slice, bounds, bounds, st.none() | st.integers(1, 4))


def test_the_short_name_is_the_sequential_queue():
    assert TaskQueue is SequentialTaskQueue


def test_a_queue_must_say_in_which_order_tasks_come():
    with pytest.raises(TypeError, match="abstract"):
        BaseTaskQueue([])


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
def test_a_part_is_a_queue_of_its_own(queue_class):
    queue = queue_class(tasks(3))
    queue[:2].append(task("new"))
    assert ids(queue) == ["0", "1", "2"]


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
    with pytest.raises(TaskFormatError, match=r"'query': 'Hi'.*from_list also takes dicts"):
        queue_class([{"query": "Hi"}])
    queue = queue_class(tasks(1))
    with pytest.raises(TaskFormatError, match="not 3"):
        queue.append(3)
    assert ids(queue) == ["0"]


@pytest.mark.parametrize("queue_class", ALL_QUEUES)
def test_many_tasks_are_handed_out_once_each(queue_class):
    queue = queue_class(tasks(20_000 if queue_class is not InOrder else 2_000))
    assert len({task.id for task in queue}) == len(queue)


def finish(queue, a_task, repeat_idx=0):
    report = {"task_id": a_task.id, "repeat_idx": repeat_idx, "status": "success"}
    queue.on_task_repeat_end(None, report)
    return report


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
        shown = ids(queue.remaining + queue.in_flight) + [t.id for t, _ in queue.completed]
        assert sorted(shown) == sorted(ids(queue.to_list()))
        assert set(ids(queue.remaining)).isdisjoint(handed_out)

    assert sorted(handed_out) == sorted(ids(queue.to_list()))
    assert queue.state == {"reports": count * repeats} == {"reports": finished}
    assert (queue.remaining, queue.in_flight) == ([], [])


def test_results_steer_the_choice():
    class HarderAfterSuccess(InOrder):
        def initial_state(self):
            return {"level": 5}

        def select_next_task(self, remaining, state):
            return min(remaining, key=lambda t: abs(t.protocol.priority - state["level"]))

        def update_state(self, task, report, state):
            step = 1 if report["status"] == "success" else -1
            return {"level": task.protocol.priority + step * 2}

    queue = HarderAfterSuccess(task(n, priority=n) for n in range(10))
    order = []
    for chosen in queue:
        order.append(chosen.id)
        status = "success" if int(chosen.id) < 7 else "agent_error"
        queue.on_task_repeat_end(None, {"task_id": chosen.id, "status": status})
    assert order[:4] == ["5", "7", "4", "6"]
    assert len(order) == 10


def test_a_selection_never_sees_a_task_in_flight():
    seen = []

    class Watching(InOrder):
        def select_next_task(self, remaining, state):
            seen.append(ids(remaining))
            return remaining[-1]

    queue = Watching(tasks(3))
    assert ids(queue) == ["2", "1", "0"]
    assert seen == [["0", "1", "2"], ["0", "1"], ["0"]]
    assert ids(queue.in_flight) == ["2", "1", "0"]


def test_every_repetition_is_learnt_from_and_the_first_report_is_kept():
    queue = InOrder(tasks(2))
    first = next(iter(queue))
    reports = [finish(queue, first, n) for n in range(3)]

    assert queue.completed == [(first, reports[0])]
    assert queue.state == {"reports": 3}
    assert ids(queue.remaining) == ["1"]


def test_a_report_on_a_stranger_is_ignored():
    queue = InOrder(tasks(1))
    list(queue)
    finish(queue, task("stranger"))
    assert (queue.state, queue.completed) == ({"reports": 0}, [])


def test_a_report_before_any_iteration_counts_too():
    queue = InOrder(tasks(2))
    finish(queue, queue[1])
    assert ids(queue.remaining) == ["0"]
    assert queue.state == {"reports": 1}


def test_stopping_ends_the_iteration_but_not_the_learning():
    queue = InOrder(tasks(3))
    source = iter(queue)
    first = next(source)
    queue.stop()

    assert next(source, None) is None
    finish(queue, first)
    assert queue.state == {"reports": 1}
    assert ids(queue.remaining) == ["1", "2"]


def test_choosing_nothing_ends_the_iteration():
    class AtMostTwo(InOrder):
        def select_next_task(self, remaining, state):
            return remaining[0] if len(remaining) > 1 else None

    assert ids(AtMostTwo(tasks(3))) == ["0", "1"]


def test_a_new_iteration_begins_afresh():
    queue = InOrder(tasks(2))
    for _ in range(2):
        for chosen in queue:
            finish(queue, chosen)
            queue.stop()
        assert queue.state == {"reports": 1}
        assert ids(queue.remaining) == ["1"]
        assert len(queue.completed) == 1


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
    assert ids(queue.in_flight) == ["0"]
    assert ids(source) == ["1", "2"]


def test_before_the_first_iteration_everything_remains():
    queue = InOrder(tasks(2))
    assert queue.remaining == queue.to_list()
    assert (queue.in_flight, queue.completed, queue.state) == ([], [], {"reports": 0})


def test_the_views_cannot_be_used_to_interfere():
    queue = InOrder(tasks(2))
    source = iter(queue)
    queue.remaining.clear()
    queue.completed.append("x")
    with pytest.raises(TypeError):
        queue.state["reports"] = 9
    assert ids(source) == ["0", "1"]


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


def test_two_tasks_with_one_id_cannot_be_told_apart():
    with pytest.raises(DuplicateTaskError, match="two tasks have the id '1'"):
        iter(InOrder([task("1"), task("2"), task(1)]))
    with pytest.raises(DuplicateTaskError, match="two tasks have the id '1'"):
        iter(InOrder([task("1")] * 2))


def test_a_part_of_a_queue_with_settings_of_its_own_keeps_them():
    class Budgeted(InOrder):
        def __init__(self, tasks, budget):
            super().__init__(tasks)
            self.budget = budget

        def select_next_task(self, remaining, state):
            taken = len(self) - len(remaining)
            return remaining[0] if taken < self.budget else None

    part = Budgeted(tasks(5), budget=2)[2:]
    assert (part.budget, ids(part)) == (2, ["2", "3"])


def test_the_other_hooks_of_a_callback_change_nothing():
    queue = InOrder(tasks(2))
    source = iter(queue)
    first = next(source)
    queue.on_run_start(None)
    queue.on_task_start(None, first)
    queue.on_task_repeat_start(None, first, 0)
    queue.on_task_end(None, first, {"task_id": "0"})
    queue.on_run_end(None, [])
    queue.on_event("anything", detail=1)

    assert queue.gather_traces()["type"] == "InOrder"
    assert (ids(queue.in_flight), ids(queue.remaining)) == (["0"], ["1"])
