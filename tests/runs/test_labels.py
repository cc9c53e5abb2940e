"""Labels beside a run's log."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Simulation
from maseval.runs.exceptions import RunFolderError
from maseval.runs.labels import Label, LabelFile

ONES = [Simulation("airline", str(task), trial) for task in range(20) for trial in range(2)]


def label(one: Simulation = ONES[0], by: str = "kim", answer: str = "yes", **more: str) -> Label:
    return Label("policy", one, by, answer, "a" * 32, **more)


def test_a_label_is_read_back_as_it_was_written(tmp_path):
    file = LabelFile(tmp_path / "labels.jsonl")
    written = file.add(label(note="a refund\nthat nobody may give ✓"))
    assert written.at
    assert LabelFile(file.path).labels == [written]


def test_the_last_label_of_a_labeller_counts_and_others_keep_theirs(tmp_path):
    file = LabelFile(tmp_path / "labels.jsonl")
    for by, answer in (("kim", "yes"), ("lee", "unsure"), ("kim", "no")):
        file.add(label(by=by, answer=answer))
    again = LabelFile(file.path)
    assert {each.by: each.answer for each in again.labels} == {"kim": "no", "lee": "unsure"}
    assert len(file.path.read_text().splitlines()) == 4


def test_the_order_is_random_and_the_same_after_a_break(tmp_path):
    file = LabelFile(tmp_path / "labels.jsonl")
    order = file.order(ONES)
    assert sorted(order) == sorted(ONES) != order
    assert LabelFile(file.path).order(reversed(ONES)) == order
    assert LabelFile(tmp_path / "other.jsonl").order(ONES) != order


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 61, "a\x1b[2J"])
def test_a_name_that_cannot_be_one_is_refused_and_nothing_written(tmp_path, name):
    file = LabelFile(tmp_path / "labels.jsonl")
    with pytest.raises(ConfigurationError, match="cannot be a labeller's name"):
        file.add(label(by=name))
    assert not file.path.exists()


def test_a_torn_last_line_is_moved_aside_and_the_rest_stays(tmp_path):
    file = LabelFile(tmp_path / "labels.jsonl")
    file.add(label())
    with file.path.open("ab") as raw:
        raw.write(b'{"question": "pol')
    again = LabelFile(file.path)
    again._salt = None  # as read anew by the one who writes
    again.add(label(ONES[1]))
    assert [each.simulation for each in LabelFile(file.path).labels] == ONES[:2]


def test_a_line_that_is_no_label_is_named(tmp_path):
    file = LabelFile(tmp_path / "labels.jsonl")
    file.add(label())
    with file.path.open("ab") as raw:
        raw.write(b'{"question": "policy"}\n')
    with pytest.raises(RunFolderError, match="line 3 is not a label"):
        LabelFile(file.path)


def _add_many(path: Path, by: str) -> None:
    file = LabelFile(path)
    for one in ONES:
        file.add(label(one, by=by))


def test_people_who_label_at_the_same_time_lose_nothing(tmp_path):
    path = tmp_path / "labels.jsonl"
    context = multiprocessing.get_context("spawn")
    people = [context.Process(target=_add_many, args=(path, by)) for by in ("kim", "lee", "ana")]
    for each in people:
        each.start()
    for each in people:
        each.join()
    assert len(LabelFile(path).labels) == 3 * len(ONES)


_LABELLING = """
import sys
from maseval.core.outcome import Simulation
from maseval.runs.labels import Label, LabelFile
file = LabelFile(sys.argv[1])
for n in range(10**6):
    file.add(Label("policy", Simulation("a", str(n), 0), "kim", "no", "c"))
    print(n, flush=True)
"""


@pytest.mark.parametrize("number", [0, 1, 5, 20])
def test_a_kill_loses_no_label_that_was_confirmed(tmp_path, number):
    path = tmp_path / "labels.jsonl"
    command = [sys.executable, "-c", _LABELLING, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        confirmed = [int(process.stdout.readline()) for _ in range(number + 1)]
        time.sleep(0.001 * number)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    file = LabelFile(path)
    found = {int(each.simulation.task_id) for each in file.labels}
    assert found >= set(confirmed)
    file.add(label())
    assert len(LabelFile(path).labels) == len(found) + 1
