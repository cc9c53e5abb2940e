import errno
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partialmethod
from pathlib import Path
from typing import Any

from maseval.app.results.names import run_path
from maseval.runs import RunFolder, list_runs, run_state
from maseval.runs.report_line import Link, Seal
from tests.runs.worlds import as_killed, config, finished_run, report


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
    assert [state.path for state in list_runs(done.path)] == [done.path]
    os.utime(done.path / "log.jsonl", (1, 1))
    assert [state.name for state in list_runs(tmp_path)] == ["half", "done"], "the latest first"


def test_a_run_that_goes_on_names_its_process(tmp_path):
    with RunFolder.open(tmp_path / "run", config("a", "b")) as folder:
        folder.append(report("a"))
        [state] = list_runs(tmp_path)

    assert (state.state, state.done, state.holder.pid) == ("running", 1, os.getpid())


def test_a_run_that_was_killed_is_counted_line_by_line(tmp_path):
    path = finished_run(tmp_path / "run", "a", 'b", "shared": ', trials=2)
    closed = run_state(path)
    as_killed(path)
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


def test_a_copied_run_is_checked_and_listed_as_it_is(tmp_path):
    path = finished_run(tmp_path / "run", "a")
    copy = shutil.copytree(path, tmp_path / "copy", copy_function=shutil.copyfile)

    assert replace(run_state(copy), path=path, updated="") == replace(run_state(path), updated="")


def test_what_cannot_be_looked_into_does_not_hide_the_runs_beside_it(tmp_path, monkeypatch):
    monkeypatch.setenv("MASEVAL_RUNS_DIR", str(tmp_path))
    finished_run(tmp_path / "run", "a")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "to-itself").symlink_to(".")
    (tmp_path / "nowhere").symlink_to("not-there")
    os.mkfifo(tmp_path / "pipe")
    odd = os.fsencode(tmp_path) + b"/\xff\xfe"
    os.mkdir(odd)
    for name in ("config.json", "log.jsonl"):
        (tmp_path / f"loop-{name}").mkdir()
        (tmp_path / f"loop-{name}" / name).symlink_to(name)

    states = {state.name: state.state for state in list_runs(tmp_path)}

    assert states == {"run": "complete", "loop-config.json": "damaged"}
    assert run_path("last") == tmp_path / "run"


UNREADABLE = ("log.jsonl", "annotations.json")


def refuse(path: Path, read: Callable[..., Any], *arguments: str, **options: Any) -> Any:
    """Read a file, unless it is called like its folder."""
    if path.name == path.parent.name:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))
    return read(path, *arguments, **options)


def test_a_file_that_may_not_be_read_is_a_problem_of_its_run_alone(tmp_path, monkeypatch):
    for name in ("run", "log.jsonl", "config.json", "annotations.json"):
        path = finished_run(tmp_path / name, "a")
        (path / "annotations.json").write_text('{"tags": [], "note": null}')
    for name in ("open", "read_bytes"):
        monkeypatch.setattr(Path, name, partialmethod(refuse, getattr(Path, name)))

    states = {state.name: state for state in list_runs(tmp_path)}

    assert {name: state.state for name, state in states.items()} == {
        "run": "complete",
        "annotations.json": "complete",
        "log.jsonl": "damaged",
        "config.json": "complete",
    }
    assert all("Permission denied" in (states[name].problem or "") for name in UNREADABLE)


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
    log.write_bytes(b"what would be reported as damaged\n" * 1000 + closing)
    Seal.write(log, Link.of(5, closing))

    state = run_state(path)

    assert (state.state, state.done) == ("complete", json.loads(closing)["done"])
