"""Tables over run folders and results files hold what these record."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from maseval import frames
from maseval.app.results.names import UnknownRunError
from maseval.commands import show, tau2
from maseval.core.agent_brief import AgentBrief
from maseval.core.outcome import RecordedReport
from maseval.frames.frame import TABLES, Frame
from maseval.frames.tables import FRAMES
from maseval.runs import RunFolder, change_note, change_tags
from tests.frames.recordings import booking_run, library_run, team_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    return [library_run(trials=2, output=folder / name).folder for name in ("b", "a")]


@pytest.fixture(scope="module")
def run(runs: list[Path]) -> Path:
    return runs[0]


@pytest.fixture(scope="module")
def reports(run: Path) -> list[dict[str, Any]]:
    return list(RunFolder.read(run).reports())


@pytest.fixture(scope="module")
def booked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return booking_run(tmp_path_factory.mktemp("saved") / "run")


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("openai")  # a rehearsal is asked for by its protocol
    return team_run(tmp_path_factory.mktemp("team") / "run").folder


@pytest.mark.parametrize("table", TABLES)
def test_every_row_has_the_declared_columns_with_the_declared_types(table, run, booked, team):
    types = {"text": str, "integer": int, "number": float, "boolean": bool, "time": datetime}
    frame = FRAMES[table](run, booked, team)

    rows = list(frame)

    assert rows and all(set(row) == set(rows[0]) for row in frame._read())
    for row in rows:
        assert list(row) == [column.name for column in frame.columns]
        for column in frame.columns:
            assert row[column.name] is None or type(row[column.name]) is types[column.type]


def test_a_row_for_each_simulation_in_the_order_of_the_plan(run, reports):
    rows, parsed = list(frames.simulations(run)), list(map(RecordedReport, reports))

    keys = [(row["domain"], row["task_id"], row["trial"]) for row in rows]
    assert keys == [report.key for report in parsed]
    assert keys == [tuple(one) for one in RunFolder.read(run).planned]
    assert [row["outcome"] for row in rows] == [report.kind for report in parsed]
    assert [row["reward"] for row in rows] == [report.reward for report in parsed]
    assert {row["passed"] for row in rows} == {True, False}
    assert {row["agent"] for row in rows} == {"noisy"}
    assert {row["recomputed"] for row in rows} == {False}


def test_the_numbers_of_a_run_are_those_that_show_gives(run):
    change_tags(run, add=["good", "cheap"])
    change_note(run, "The one to keep.")

    (row,) = frames.runs([run])

    assert (row["tags"], row["note"]) == ("good, cheap", "The one to keep.")
    overall = show(run).summary.overall
    assert (row["passed"], row["simulations"]) == (overall.passed, overall.recorded)
    assert row["pass_1"] == overall.pass_1["value"]
    assert (row["pass_1_low"], row["pass_1_high"]) == (
        overall.pass_1["low"],
        overall.pass_1["high"],
    )
    assert row["tasks"] == overall.tasks
    assert row["trials"] == 2
    assert json.loads(row["config"])["agent"]["player"] == "noisy"


def test_messages_calls_and_checks_belong_to_their_simulations(run, reports):
    messages, calls, checks = (
        list(each(run)) for each in (frames.messages, frames.tool_calls, frames.checks)
    )
    simulated = [report["traces"]["environment"]["simulation"] for report in reports]
    made = [
        call
        for each in simulated
        for said in each["messages"]
        for call in said.get("tool_calls") or ()
    ]

    assert [row["content"] for row in messages] == [
        said["content"] for each in simulated for said in each["messages"]
    ]
    assert [row["tool"] for row in calls] == [call["name"] for call in made]
    assert [json.loads(row["arguments"]) for row in calls] == [call["arguments"] for call in made]
    assert {row["answered"] for row in calls} == {True}
    by_key = {}
    for row in messages:
        by_key[row["domain"], row["task_id"], row["trial"], row["position"]] = row
    for call in calls:
        said = by_key[call["domain"], call["task_id"], call["trial"], call["message"]]
        assert said["role"] == call["caller"]
        assert said["tool_calls"] > call["position"]
    rows = list(frames.simulations(run))
    assert sum(row["tool_calls"] for row in rows) == len(calls)
    assert sum(row["messages"] for row in rows) == len(messages)
    assert sum(row["checks"] for row in rows) == len(checks)
    assert sum(row["checks_met"] for row in rows) == sum(row["met"] for row in checks)


def test_several_runs_stand_in_the_order_they_are_named_and_a_folder_of_runs_by_name(runs):
    named = list(frames.simulations(*runs))
    below = list(frames.simulations(runs[0].parent))

    assert list(dict.fromkeys(row["run"] for row in named)) == ["b", "a"]
    assert list(dict.fromkeys(row["run"] for row in below)) == ["a", "b"]
    assert len(named) == len(below) == 2 * len(list(frames.simulations(runs[0])))


def test_runs_are_told_apart_named_once_and_found_without_a_name(runs, tmp_path, monkeypatch):
    other = library_run(trials=1, output=tmp_path / "a").folder
    twice = runs[0].parent / "." / runs[0].name

    assert [row["run"] for row in frames.runs(runs[1], other)] == [str(runs[1]), str(other)]
    assert len(list(frames.runs(runs[0], twice))) == 1
    monkeypatch.setenv("MASEVAL_RUNS_DIR", str(runs[0].parent))
    assert [row["run"] for row in frames.runs()] == ["a", "b"]


def test_runs_of_any_benchmark_are_read(booked):
    (run,) = frames.runs(booked)
    rows = list(frames.simulations(booked))

    assert run["form"] == "folder"
    assert run["planned"] == run["simulations"] == len(rows) > 1
    assert rows[0]["query"]
    assert {row["kind"] for row in frames.checks(booked)} == {"VERDICT"}
    assert [row["met"] for row in frames.checks(booked)] == [row["passed"] for row in rows]
    assert list(frames.messages(booked))


@pytest.fixture(scope="module")
def results(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("results") / "theirs.json"
    tau2.export(run, target)
    return target


def rewards(rows: Frame | list[dict[str, Any]]) -> dict[tuple[str, int], float]:
    """By simulation: a results file lists them in the order in which they finished."""
    return {(row["task_id"], row["trial"]): row["reward"] for row in rows}


def test_the_rewards_of_a_results_file_are_recomputed_beside_the_recorded_ones(
    results, run, tmp_path
):
    content = json.loads(results.read_text())
    for simulation in content["simulations"]:
        simulation["reward_info"]["reward"] = 1.0
    flattering = tmp_path / "flattering.json"
    flattering.write_text(json.dumps(content))
    honest = rewards(frames.simulations(run))

    rows = list(frames.simulations(flattering))
    recorded = list(frames.simulations(flattering, as_recorded=True))

    assert rewards(rows) == honest
    assert {row["version"] for row in frames.runs(run, flattering)} == {"tau2-bench v0.2.0"}
    assert {row["recorded_reward"] for row in rows} == {1.0}
    assert {row["recomputed"] for row in rows} == {True}
    assert {(row["reward"], row["recomputed"]) for row in recorded} == {(1.0, False)}


def test_a_folder_of_results_in_the_form_of_1_0_1_is_read(results, run, tmp_path):
    content = json.loads(results.read_text())
    folder = tmp_path / "theirs"
    (folder / "simulations").mkdir(parents=True)
    simulations = content.pop("simulations")
    for simulation in simulations:
        file = folder / "simulations" / f"{simulation['id']}.json"
        file.write_text(json.dumps({**simulation, "mode": "half_duplex"}))
    index = [{"id": each["id"], "task_id": each["task_id"]} for each in simulations]
    content |= {"simulation_index": index, "simulations": []}
    (folder / "results.json").write_text(json.dumps(content))

    (found,) = frames.runs(folder, data_version="0.2.0")

    assert (found["form"], found["run"]) == ("results", "theirs")
    assert found["simulations"] == len(simulations)
    assert found["pass_1"] == next(iter(frames.runs(run)))["pass_1"]


def with_changed_report(booked: Path, output: Path, **parts: Any) -> Path:
    """A run of one simulation, whose report has these parts."""
    read = RunFolder.read(booked)
    one = next(read.reports())
    config = {**read.config.values, "tasks": {"": [one["task_id"]]}, "trials": 1}
    with RunFolder.open(output, config) as folder:
        folder.append({**one, **parts})
    return output


def test_tokens_of_unknown_price_have_no_cost(booked, tmp_path):
    used = {"cost": 0.0, "units": {}, "input_tokens": 7, "output_tokens": 2}
    usage = {"models": {"agent_model": used, "user_model": {**used, "cost": 0.5}}}

    (row,) = frames.simulations(with_changed_report(booked, tmp_path / "changed", usage=usage))

    assert (row["agent_cost"], row["user_cost"], row["cost"]) == (None, 0.5, 0.5)
    assert (row["input_tokens"], row["output_tokens"]) == (14, 4)


def test_no_secret_of_the_environment_is_in_a_cell(booked, tmp_path, monkeypatch):
    told = {"told": "it is wonderfully-secret"}
    changed = with_changed_report(booked, tmp_path / "changed", final_answer=told)
    monkeypatch.setenv("SOME_API_KEY", "wonderfully-secret")

    (row,) = frames.simulations(changed)

    assert row["final_answer"] == '{"told": "it is <redacted>"}'


def test_a_path_that_is_no_run_is_an_error_at_once(tmp_path):
    with pytest.raises(UnknownRunError, match="not a run, a folder of runs"):
        frames.simulations(tmp_path / "nothing")


def refusing(brief: AgentBrief) -> Callable[..., Any]:
    return lambda message: "I am sorry, I cannot help with that."


def test_an_agent_of_ones_own_is_named_by_its_function(tmp_path):
    ran = tau2.run(
        domain="library",
        agent=refusing,
        user="scripted",
        task_id=["first_waiver"],
        output=tmp_path / "own",
    )

    assert [row["agent"] for row in frames.runs(ran.folder)] == ["test_tables.py:refusing"]


def test_the_part_of_each_agent_of_a_team_is_a_row(team, run):
    rows = {row["agent"]: row for row in frames.agents(team)}

    counts = {name: (row["requests"], row["calls"], row["handovers"]) for name, row in rows.items()}
    assert counts == {"supervisor": (5, 3, 3), "reader": (5, 3, 2), "writer": (3, 2, 1)}
    assert [name for name, row in rows.items() if row["decided"]] == ["writer"]
    (simulation,) = frames.simulations(team)
    for side in ("input_tokens", "output_tokens"):
        assert sum(row[side] for row in rows.values()) == simulation[side] > 0
    assert 0 < sum(row["seconds"] for row in rows.values()) <= simulation["seconds"]
    calls = [(row["speaker"], row["tool"]) for row in frames.tool_calls(team)]
    assert calls == [
        *(("reader", tool) for tool in ("get_member", "get_account", "search_catalogue")),
        *(("writer", tool) for tool in ("pay_fine", "place_hold")),
    ]
    assert list(frames.agents(run)) == [], "an agent that works alone is no team"
