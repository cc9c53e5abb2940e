import json
import os
import time

from maseval.runs import RunFolder, list_runs, run_state
from tests.runs.worlds import config, finished_run, report


def test_each_run_says_how_far_it_is(tmp_path):
    finished_run(tmp_path / "done", "a", trials=2, model="m")
    with RunFolder.open(tmp_path / "half", config("a", "b", "c")) as folder:
        folder.append(report("a"))
        folder.append(report("b", status="user_error"))
    (tmp_path / "other").mkdir()
    (tmp_path / "file").touch()

    states = {state.name: state for state in list_runs(tmp_path)}

    assert states.keys() == {"done", "half"}
    done, half = states["done"], states["half"]
    assert (done.state, done.done, done.failed, done.planned) == ("complete", 2, 0, 2)
    assert (half.state, half.done, half.failed, half.planned) == ("incomplete", 1, 1, 3)
    assert done.config["model"] == "m" and done.started <= done.updated


def test_a_run_that_goes_on_names_its_process(tmp_path):
    with RunFolder.open(tmp_path / "run", config("a", "b")) as folder:
        folder.append(report("a"))
        [state] = list_runs(tmp_path)

    assert (state.state, state.done, state.holder.pid) == ("running", 1, os.getpid())


def test_a_run_that_was_killed_is_counted_line_by_line(tmp_path):
    path = finished_run(tmp_path / "run", "a", 'b", "shared": ', trials=2)
    closed = run_state(path)
    content = (path / "log.jsonl").read_bytes().splitlines(keepends=True)
    (path / "log.jsonl").write_bytes(b"".join(content[:-1]) + b'{"kind": "rep')

    assert (closed.state, closed.done) == ("complete", 4)
    assert (run_state(path).state, run_state(path).done) == ("complete", 4)


def test_an_extended_run_is_listed_with_its_new_plan(tmp_path):
    path = finished_run(tmp_path / "run", "a")
    with RunFolder.open(path, config("a", "b", trials=2)):
        assert run_state(path).planned == 4

    state = run_state(path)
    assert (state.state, state.done, state.planned) == ("incomplete", 1, 4)
    assert state.config["trials"] == 2


def test_a_damaged_run_is_listed_with_its_problem(tmp_path):
    path = finished_run(tmp_path / "run", "a")
    (path / "config.json").write_text("{")

    [state] = list_runs(tmp_path)

    assert state.state == "damaged" and "config.json is damaged" in state.problem


def test_the_latest_run_comes_first(tmp_path):
    for name in ("old", "new"):
        finished_run(tmp_path / name, "a")
    os.utime(tmp_path / "old" / "log.jsonl", (1, 1))

    assert [state.name for state in list_runs(tmp_path)] == ["new", "old"]


def test_the_usual_place_can_be_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert list_runs() == []
    finished_run("runs/one", "a")
    assert [state.name for state in list_runs()] == ["one"]
    finished_run("elsewhere/two", "a")
    monkeypatch.setenv("MASEVAL_RUNS_DIR", "elsewhere")
    assert [state.name for state in list_runs()] == ["two"]


def test_listing_does_not_read_the_logs_of_finished_runs(tmp_path):
    path = finished_run(tmp_path / "run", "a")
    log = path / "log.jsonl"
    closing = log.read_bytes().splitlines(keepends=True)[-1]
    # A log of two gigabytes that takes no room on the disk.
    with log.open("r+b") as file:
        file.truncate(2 << 30)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + closing)

    began = time.process_time()
    state = run_state(path)

    assert time.process_time() - began < 0.3
    assert (state.state, state.done) == ("complete", json.loads(closing)["done"])
