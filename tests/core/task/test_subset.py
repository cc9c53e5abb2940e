"""Queues over chosen tasks: which tasks they have, and that results say so."""

import json
import pickle
from typing import Any

import pytest

from examples.booking import BookingBenchmark, load_tasks
from maseval import DISCOQueue, InformativeSubsetQueue, TaskQueue
from maseval.core.callbacks import FileResultLogger, read_reports
from maseval.core.exceptions import AnchorPointsNotFoundError, ConfigurationError, TaskIndexError
from maseval.core.task import ChosenSubset
from maseval.runs import RunFolder, run_into, subset_config, task_ids
from tests.core.task.building import ids, task, tasks

TASKS = load_tasks().to_list()


def test_a_subset_has_the_tasks_at_its_indices_in_their_order():
    queue = InformativeSubsetQueue(tasks(5), [3, 0, 4])

    assert ids(queue) == ids(queue.to_list()) == ["3", "0", "4"]
    assert (len(queue), queue[1].id, ids(queue[:2])) == (3, "0", ["3", "0"])
    assert isinstance(queue, TaskQueue) and ids(queue._all_tasks) == ids(tasks(5))
    assert queue._indices == [3, 0, 4]


def test_without_indices_it_has_all_tasks_and_is_no_estimate():
    queue = InformativeSubsetQueue(tasks(3))

    assert ids(queue) == ["0", "1", "2"] and queue.subset is None
    assert InformativeSubsetQueue(tasks(2), [1, 0]).subset is None
    assert DISCOQueue(tasks(3)).subset is None
    assert ids(DISCOQueue.from_list([{"query": "a", "id": "x"}])) == ["x"]


def test_a_chosen_part_is_named_an_estimate():
    queue = DISCOQueue(tasks(8), [5, 1])

    assert queue.subset == ChosenSubset(2, 8, "DISCOQueue")
    assert str(queue.subset) == "estimate from 2 chosen tasks of 8"
    assert str(queue[:1].subset) == "estimate from 1 chosen task of 8"
    queue.append(task("more"))
    assert str(queue.subset) == "estimate from 3 chosen tasks of 9" and len(queue) == 3


@pytest.mark.parametrize("wrong", [-1, 5])
def test_an_index_that_the_tasks_do_not_have_is_out_of_range(wrong):
    with pytest.raises(IndexError, match=f"index {wrong} is out of range: there are 5 tasks"):
        InformativeSubsetQueue(tasks(5), [0, wrong])
    assert issubclass(TaskIndexError, IndexError)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([1, 1], "indices has 1 twice"),
        ([0.5], r"indices is \[0.5\]; give the positions"),
        ("12", "indices is '12'"),
    ],
)
def test_indices_that_are_none_are_refused(wrong, words):
    with pytest.raises(ConfigurationError, match=words):
        InformativeSubsetQueue(tasks(5), wrong)


class Array:
    """A list as NumPy has it."""

    def tolist(self) -> list[int]:
        return [2, 0]


def test_anchor_points_may_be_an_array_or_a_file(tmp_path):
    (tmp_path / "points.json").write_text("[2, 0]")

    for given in ({"anchor_points": Array()}, {"anchor_points_path": tmp_path / "points.json"}):
        queue = DISCOQueue(tasks(4), **given)
        assert ids(queue) == ["2", "0"] and queue._anchor_points == [2, 0]


def test_anchor_points_are_given_once():
    with pytest.raises(ValueError, match=r"not both\."):
        DISCOQueue(tasks(2), [0], "points.json")


def test_a_file_of_anchor_points_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"Anchor points file not found: .*points\.json"):
        DISCOQueue.load_anchor_points(tmp_path / "points.json")
    assert issubclass(AnchorPointsNotFoundError, FileNotFoundError)


class Loud:
    """Would be noticed if it were read."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (pytest.fail, ("the pickle was read",))


def test_a_pickle_is_not_read_and_the_way_out_is_named(tmp_path):
    (tmp_path / "points.pkl").write_bytes(pickle.dumps(Loud()))

    with pytest.raises(
        ConfigurationError, match=r"a pickle is not read.* write the positions as JSON"
    ):
        DISCOQueue(tasks(3), anchor_points_path=tmp_path / "points.pkl")


@pytest.mark.parametrize("content", ["{", '{"points": [1]}', '["1"]', "[1.5]", "[true]", "\xff"])
def test_a_file_of_another_form_is_refused(tmp_path, content):
    (tmp_path / "points.json").write_text(content, encoding="latin-1")

    with pytest.raises(ConfigurationError, match=r"points\.json"):
        DISCOQueue.load_anchor_points(tmp_path / "points.json")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        DISCOQueue.load_anchor_points(tmp_path)


def test_the_reports_of_chosen_tasks_say_so(tmp_path):
    logger = FileResultLogger(output_dir=tmp_path, filename_pattern="chosen.jsonl")
    benchmark = BookingBenchmark(progress_bar=False, callbacks=[logger])

    chosen = benchmark.run(DISCOQueue(TASKS, [4, 1]))
    whole = BookingBenchmark(progress_bar=False).run(TASKS[:1])

    mark = {"of": len(TASKS), "by": "DISCOQueue", "chosen": 2}
    assert [each["config"]["benchmark"]["subset"] for each in chosen] == [mark, mark]
    saved = read_reports(tmp_path / "chosen.jsonl")
    assert saved[0]["config"]["benchmark"]["subset"] == mark
    assert "subset" not in whole[0]["config"]["benchmark"]


def test_chosen_tasks_are_not_recorded_as_a_run_of_all(tmp_path):
    queue = InformativeSubsetQueue(TASKS, [0])
    plan = {"tasks": task_ids(queue), "trials": 1}
    benchmark = BookingBenchmark(progress_bar=False)

    with (
        RunFolder.open(tmp_path / "unmarked", plan) as folder,
        pytest.raises(ConfigurationError, match=r"1 chosen task of 12.*subset_config"),
    ):
        run_into(folder, benchmark, queue)
    marked = {**plan, **subset_config(queue.subset)}
    with RunFolder.open(tmp_path / "marked", marked) as folder:
        run_into(folder, benchmark, queue)

    read = RunFolder.read(tmp_path / "marked").config
    assert read.subset == ChosenSubset(1, 12, "InformativeSubsetQueue")
    assert json.loads(json.dumps(subset_config(queue.subset))) == {
        "subset": {"of": 12, "by": "InformativeSubsetQueue"}
    }
    with pytest.raises(ConfigurationError, match="'subset' is"):
        RunFolder.open(tmp_path / "odd", {**plan, "subset": {"of": "many"}})
