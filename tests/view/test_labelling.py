"""Labels of failures are there before any failure was opened."""

import hashlib

import pytest

pytest.importorskip("starlette")

from maseval.runs import RunFolder
from maseval.view import background as labelling
from maseval.view import log_index
from maseval.view.saved_files import INDEX_FILE, LABELS_FILE, load_labels, save_labels
from maseval.view.viewed import RunReader
from tests.runs.worlds import config, report
from tests.view.builders import finish_background_work, viewer

pytestmark = pytest.mark.needs(library="starlette")

WRONG = [{"reward": 0.0}]


class Labelling(RunReader):
    """Labels what it is asked about, and notes that."""

    def __init__(self):
        self.asked = []

    def complete_report(self, run, report):
        self.asked.append(report["task_id"])
        return {**report, "labels": ["agent: wrong arguments"]}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Two of three simulations failed."""
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    with RunFolder.open(tmp_path / "runs" / "run", config("a", "b", "c")) as folder:
        folder.append(report("a"))
        folder.append(report("b", eval=WRONG))
        folder.append(report("c", eval=WRONG))
    return folder.path


def labels_once_known(client, number):
    """Open the run, wait for its labels, and return those of each simulation."""
    client.get("/api/run/index", params={"run": "run"})
    finish_background_work("maseval-labels")
    found = client.get("/api/run/index", params={"run": "run"}).json()
    assert found["live"]["labelled"] == number
    return [row["labels"] for row in found["simulations"]]


def test_all_simulations_of_an_opened_run_get_their_labels(run):
    reader = Labelling()
    client = viewer(run.parent, reader=reader)

    assert labels_once_known(client, 3) == 3 * [["agent: wrong arguments"]]
    assert sorted(reader.asked) == ["a", "b", "c"]
    assert reader.asked[-1] == "a"  # it passed, and can wait
    assert client.get("/api/run/live", params={"run": "run"}).json()["labelled"] == 3


def test_labels_that_took_long_are_kept_beside_the_log(run, monkeypatch):
    monkeypatch.setattr(labelling, "_GATHERED", 0.0)
    labels_once_known(viewer(run.parent, reader=Labelling()), 3)
    assert (run / LABELS_FILE).exists()

    reader = Labelling()
    labels_once_known(viewer(run.parent, reader=reader), 3)

    assert reader.asked == []


def test_labels_that_were_found_at_once_leave_nothing_behind(run):
    labels_once_known(viewer(run.parent, reader=Labelling()), 3)

    assert not (run / LABELS_FILE).exists()


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"format": [0, "x"]}', b'{"seen": [1, 2]}'])
def test_labels_that_do_not_fit_are_found_again(run, damage):
    log = run / "log.jsonl"
    save_labels(log, {7: ("a", "b"), 9: ()})
    assert load_labels(log) == {7: ("a", "b"), 9: ()}

    (run / LABELS_FILE).write_bytes(damage)

    assert load_labels(log) == {}


def test_labels_of_another_log_are_not_used_and_those_of_a_shorter_one_are(run):
    log = run / "log.jsonl"
    save_labels(log, {7: ("a",)})
    with log.open("ab") as file:
        file.write(b"\n")
    assert load_labels(log) == {7: ("a",)}

    content = log.read_bytes()
    log.rename(run / "old")
    log.write_bytes(content + content)

    assert load_labels(log) == {}


class Checking(RunReader):
    """Finds every verdict right, and notes whose it was asked about."""

    def __init__(self):
        self.asked = []

    def verdict_checker(self, run):
        return lambda report: self.asked.append(report["task_id"])


def test_an_index_that_shows_other_outcomes_than_the_log_is_noticed(run, monkeypatch):
    """The index that is kept beside a log can be edited, and its checksum made right."""
    monkeypatch.setattr(log_index, "WORTH_SAVING", 0)
    viewer(run.parent).get("/api/run/index", params={"run": "run"})
    saved = run / INDEX_FILE
    body = saved.read_bytes().partition(b"\n")[2].replace(b'"fail"', b'"pass"')
    saved.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    client = viewer(run.parent, reader=Checking())

    client.get("/api/run/index", params={"run": "run"})
    finish_background_work("maseval-labels")
    found = client.get("/api/run/index", params={"run": "run"}).json()["simulations"]

    assert [row["outcome"] for row in found].count("fail") < 2
    assert [row["labels"] for row in found].count(["record: verdict does not hold"]) > 0


def test_a_verdict_that_was_checked_is_not_checked_again(run):
    reader = Checking()
    client = viewer(run.parent, reader=reader)
    for _ in range(2):
        client.get("/api/run/index", params={"run": "run"})
        finish_background_work("maseval-labels")

    assert sorted(reader.asked) == ["a", "b", "c"]
