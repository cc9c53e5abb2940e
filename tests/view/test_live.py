import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("starlette")

from maseval.runs import RunFolder
from maseval.runs.lock import LIVE, publish
from maseval.view.app import create_app
from maseval.view.rows import live_of
from maseval.view.serving import ViewServer
from tests.report.reading import rows_of
from tests.runs.worlds import config, finished_run, report
from tests.view.builders import viewer

pytestmark = pytest.mark.needs(library="starlette")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ViewServer]:
    with ViewServer(create_app(tmp_path)) as server:
        yield server


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunFolder]:
    """A run of four simulations, of which one is finished."""
    with RunFolder.open(tmp_path / "run", config("a", "b", trials=2)) as folder:
        folder.append(report("a"))
        yield folder


def events(
    server: ViewServer, wanted: set[str], after: int | None = None, **query: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The first events of a stream that are wanted: pairs of a name and its data."""
    headers = {} if after is None else {"last-event-id": str(after)}
    address = server.address("/api/events")
    with httpx.stream("GET", address, params=query, headers=headers, timeout=60) as answer:
        assert "content-encoding" not in answer.headers  # an event is sent when it happens
        name = None
        for line in answer.iter_lines():
            key, _, value = line.partition(": ")
            if key == "event":
                name = value
            elif key == "data" and name in wanted:
                yield name, json.loads(value)


def in_flight(**parts: Any) -> dict[str, Any]:
    last = {"role": "user", "text": "where is it?"}
    return {
        **{"domain": "", "task": "b", "trial": 1, "since": "2025-01-01T00:00:00"},
        **{"step": 3, "last": last, **parts},
    }


def live(**parts: int) -> dict[str, Any]:
    known = {"pid": os.getpid(), "at": "now", "cost": 1.5, "tokens": 20}
    return {**known, "in_flight": [in_flight()], **parts}


def test_a_running_run_shows_what_each_simulation_is_doing(tmp_path, running):
    publish(running.path, live())

    found = viewer(tmp_path).get("/api/run/live", params={"run": "run"}).json()

    assert (found["state"], found["done"], found["planned"]) == ("running", 1, 4)
    assert found["cost"] == 1.5
    assert found["in_flight"] == [in_flight()]


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "of another process"])
def test_what_a_dead_run_left_behind_is_not_shown(tmp_path, running, ended):
    publish(running.path, live(pid=os.getpid() if ended else 1))
    if ended:
        running.close()

    found = viewer(tmp_path).get("/api/run/live", params={"run": "run"}).json()

    assert (running.path / LIVE).exists()
    assert found["in_flight"] == []


def test_the_index_has_every_planned_trial_that_has_no_record(tmp_path, running):
    index = viewer(tmp_path).get("/api/run/index", params={"run": "run"}).json()

    plan = {each["id"]: each.get("unrecorded") for each in index["tasks"]}
    assert plan == {"a": ["1"], "b": ["0", "1"]}
    assert [row["task"] for row in rows_of(index)] == [0]

    for each in (report("a", 1), report("b", 0), report("b", 1)):
        running.append(each)
    index = viewer(tmp_path).get("/api/run/index", params={"run": "run"}).json()
    assert not any("unrecorded" in each for each in index["tasks"])


def test_a_finished_simulation_is_reported_to_whoever_looks_at_its_run(served, running):
    stream = events(served, {"simulation", "live"}, run="run")
    name, first = next(stream)
    running.append(report("b", 1, eval=[{"reward": 0.75}]))

    found = dict([next(stream), next(stream)])

    assert (name, first["done"]) == ("live", 1)
    assert found["live"]["done"] == 2
    assert (found["simulation"]["task"], found["simulation"]["trial"]) == ("b", "1")
    row = found["simulation"]["row"]
    assert (row["outcome"], row["reward"]) == ("fail", 0.75)


def test_who_reconnects_gets_what_was_missed_also_from_a_new_server(tmp_path, running):
    offset = viewer(tmp_path).get("/api/run/index", params={"run": "run"}).json()["live"]["version"]
    running.append(report("b", 0))
    running.append(report("b", 1))

    with ViewServer(create_app(tmp_path)) as server:
        stream = events(server, {"simulation"}, after=offset, run="run")
        missed = [next(stream)[1], next(stream)[1]]

    assert [each["trial"] for each in missed] == ["0", "1"]


def test_the_list_says_what_has_changed(served, tmp_path, running):
    stream = events(served, {"runs"})
    _, first = next(stream)
    running.close()
    _, then = next(stream)
    finished_run(tmp_path / "other", "a")
    _, last = next(stream)

    assert [(row["name"], row["state"]) for row in first["runs"]] == [("run", "running")]
    assert [(row["name"], row["state"]) for row in then["runs"]] == [("run", "incomplete")]
    assert [row["name"] for row in last["runs"]] == ["other"]


def test_a_run_that_ends_without_a_word_is_incomplete(tmp_path):
    folder = RunFolder.open(tmp_path / "run", config("a", "b"))
    folder.append(report("a"))
    client = viewer(tmp_path)

    states = [client.get("/api/runs").json()["runs"][0]["state"]]
    folder._writer.close()  # as if it were killed: no line that ends the session
    folder._lock.release()
    states.append(client.get("/api/runs").json()["runs"][0]["state"])

    assert states == ["running", "incomplete"]


def test_events_of_a_run_that_is_not_there_are_refused(served):
    answer = httpx.get(served.address("/api/events"), params={"run": "none"})

    assert answer.status_code == 404


def test_a_run_that_grew_while_it_was_open_is_as_one_that_is_opened_anew(tmp_path, running):
    library = create_app(tmp_path).state.library
    running.append(report("b", status="environment_error", eval=None))
    opened = library.run("run")
    before = opened.last_place, live_of(opened)["failed"]
    running.append(report("a", 1))
    running.append(report("b"))

    grown, anew = library.run("run"), create_app(tmp_path).state.library.run("run")

    assert grown is opened and before[1] == 1
    assert live_of(grown) == live_of(anew)
    assert sorted(grown.entries()) == sorted(anew.entries())
    assert grown.entries_after(before[0]) == anew.entries_after(before[0])
    assert [each.key.task_id for each in grown.entries_after(before[0])] == ["a", "b"]
    assert grown.last_place == anew.last_place
