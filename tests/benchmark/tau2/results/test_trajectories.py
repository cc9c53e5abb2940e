"""Trajectories at the door of results files: those of ours, and those of other programs."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from maseval import commands
from maseval.benchmark.tau2.results import read_results
from maseval.commands import tau2
from maseval.core.exceptions import ConfigurationError, ResultFileError
from tests.cli.commandline import maseval
from tests.exchange.trajectories import answer, call, step, trajectory


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks of the library, each played twice by an agent that errs."""
    folder = tmp_path_factory.mktemp("library")
    return tau2.run(
        domain="library", agent="noisy", num_tasks=4, trials=2, output=folder / "run"
    ).folder


@pytest.fixture(scope="module")
def exported(run: Path) -> Path:
    (found,) = commands.export(run, "atif", run.parent / "run.atif")
    return found.path


def written(path: Path, *values: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values), encoding="utf-8")
    return path


def verdicts(source: Path) -> dict[tuple[str, int], Any]:
    return {
        (line.task_id, line.trial): (line.passed, line.reward)
        for line in commands.show(source).lines
    }


def stranger(task: str = "member", **more: str) -> dict[str, Any]:
    """A conversation that another program recorded, which says nothing of tau2."""
    return trajectory(
        step("user", "Who am I? I am M1001."),
        step("agent", tool_calls=[call("get_member", member_id="M1001")], **answer("?")),
        step("user", "###STOP###"),
        **more,
    )


def test_a_run_comes_back_from_a_folder_of_trajectories(run, exported):
    files = sorted(path.name for path in exported.iterdir())
    (score,) = commands.score([exported])

    assert len(files) == 8 and all(name.endswith(".atif.json") for name in files)
    assert verdicts(exported) == verdicts(run)
    assert {passed for passed, _ in verdicts(run).values()} == {True, False}
    assert (score.compared, score.agreeing) == (8, 8)


def test_one_file_holds_all_trajectories_on_request(run, tmp_path):
    (found,) = commands.export(run, "atif", tmp_path / "all.jsonl", single=True)

    assert len(found.path.read_text().splitlines()) == 8
    assert verdicts(found.path) == verdicts(run)


def test_conversations_survive_export_and_import_and_export(run, exported, tmp_path):
    (again,) = commands.export(exported, "atif", tmp_path / "again.jsonl", single=True)

    first = [dict(each) for each in read_results(exported)]
    second = [dict(each) for each in read_results(again.path)]
    assert json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def test_every_command_takes_a_trajectory(run, exported):
    file = sorted(exported.iterdir())[0]

    assert commands.show(file).lines[0].domain == "library"
    assert maseval("compare", run, exported).exit_code == 0
    page = commands.report(file, file.parent.parent / "page.html")
    assert "library" in page.read_text()
    assert maseval("explain", file, commands.show(file).lines[0].task_id).exit_code == 0
    assert maseval("tau2", "certify", file).exit_code == 0


def test_a_claimed_verdict_is_compared_and_not_believed(exported, tmp_path):
    for file in exported.iterdir():
        value = json.loads(file.read_text())
        if (info := value["extra"]["maseval"]["simulation"]["reward_info"])["reward"] == 0.0:
            info["reward"] = 1.0
            break
    claimed = written(tmp_path / "claimed.json", value)
    (score,) = commands.score([claimed])

    assert (score.compared, score.agreeing, score.passes) == (1, 0, 0)
    assert commands.show(claimed).lines[0].passed is False
    assert "recorded 1.0, recomputed 0.0" in maseval("score", claimed).stdout


def test_tools_and_the_prompt_are_those_of_the_agent(exported):
    value = json.loads(sorted(exported.iterdir())[0].read_text())

    names = [each["function"]["name"] for each in value["agent"]["tool_definitions"]]
    assert "get_member" in names
    assert value["steps"][0]["source"] == "system" and value["steps"][0]["message"]


def test_the_task_of_a_stranger_is_named_by_its_user(run, tmp_path):
    task_id = commands.show(run).lines[0].task_id
    file = written(tmp_path / "theirs.json", stranger())
    refused = maseval("score", file, "--domain", "library")
    scored = maseval("score", file, "--domain", "library", "--task", task_id, "--json")

    assert "its task is not named: give --task ID" in refused.stdout + refused.stderr
    assert "give --task ID" in maseval("show", file, "--domain", "library").stderr
    (found,) = json.loads(scored.stdout)["files"]
    assert found["simulations"] == 1 and found["compared"] == 0


def test_a_file_names_the_task_of_each_trajectory(run, tmp_path):
    task_ids = list(dict.fromkeys(line.task_id for line in commands.show(run).lines))
    whole, open_end = stranger(), stranger(session_id="s2")
    open_end["steps"].pop()
    file = written(tmp_path / "theirs.jsonl", whole, open_end)
    told = {
        "s1": {"domain": "library", "task_id": task_ids[0]},
        "s2": {"domain": "library", "task_id": task_ids[1], "termination_reason": "max_steps"},
    }
    (tmp_path / "tasks.json").write_text(json.dumps(told))
    shown = commands.show(file, task_id=str(tmp_path / "tasks.json")).lines

    assert [line.task_id for line in shown] == task_ids[:2]
    assert [line.ended for line in shown] == ["user_stop", "max_steps"]

    del told["s2"]["termination_reason"]
    (tmp_path / "tasks.json").write_text(json.dumps(told))
    (score,) = commands.score([file], task_id=str(tmp_path / "tasks.json"))
    (malformed,) = score.malformed
    assert "trajectory 1 (s2): it does not say how it ended" in malformed


TASKS = {
    "[1]": "should be an object of tasks by trajectory",
    '{"s1": {"tusk": "1"}}': "'tusk' is not known",
    '{"s1": 5}': "5 is not known; give a task id",
    "{": "cannot be read",
}


def test_a_stranger_that_was_exported_names_its_task_and_needs_no_option(run, tmp_path):
    task_id = commands.show(run).lines[0].task_id
    file = written(tmp_path / "theirs.json", stranger())
    named = tmp_path / "named.jsonl"
    options = ["--domain", "library", "--task", task_id]
    maseval("export", file, "--format", "atif", "--single", "--output", named, *options)
    refused = maseval("export", run, "--format", "tau2-bench", "--as-recorded")

    assert [line.task_id for line in commands.show(named).lines] == [task_id]
    assert maseval("tau2", "certify", named, "--output", tmp_path / "c.json").exit_code < 2
    assert (
        maseval("export", file, "--format", "eee", *options, "-o", tmp_path / "eee").exit_code == 0
    )
    assert "leave the scoring options out" in refused.stderr


@pytest.mark.parametrize("text", TASKS)
def test_a_file_of_tasks_that_cannot_be_used_is_refused(text, tmp_path):
    (tmp_path / "tasks.json").write_text(text)
    file = written(tmp_path / "theirs.json", stranger())

    with pytest.raises(ConfigurationError, match=re.escape(TASKS[text])):
        commands.score([file], domain="library", task_id=str(tmp_path / "tasks.json"))
    with pytest.raises(ConfigurationError, match="No such file"):
        commands.score([file], domain="library", task_id="gone.json")


def test_trajectories_of_harbor_are_found_where_it_puts_them(tmp_path):
    for name in ("one", "two"):
        folder = tmp_path / "job" / name / "agent"
        folder.mkdir(parents=True)
        written(folder / "trajectory.json", stranger(session_id=name))

    found = list(read_results(tmp_path / "job", "1"))
    assert [each["id"] for each in found] == ["one", "two"]


HOSTILE = {
    "cut off": ('{"steps": [{"step_id": 1', "the text ends in the middle of a value"),
    "deep": ('{"steps": ' + "[" * 100_000, "nested too deeply"),
    "huge number": ('{"steps": [' + "9" * 5000 + "]}", "integer string conversion"),
    "not ATIF": ('{"steps": []}', "schema_version: should be ATIF-v1.4 to ATIF-v1.8"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_an_error_and_no_traceback(name, tmp_path):
    text, words = HOSTILE[name]
    file = tmp_path / "hostile.atif.json"
    file.write_text(text)

    found = maseval("score", file, "--domain", "library")
    assert words in found.stdout + found.stderr
    with pytest.raises(ResultFileError, match=words.split(":")[0]):
        list(read_results(file))


def test_a_trajectory_that_cannot_be_read_leaves_the_others(exported, tmp_path):
    values = [json.loads(file.read_text()) for file in sorted(exported.iterdir())[:3]]
    values[1]["steps"][0]["step_id"] = 7
    file = written(tmp_path / "three.jsonl", *values)
    (score,) = commands.score([file])

    assert len(score.simulations) == 2
    (malformed,) = score.malformed
    assert "trajectory 1" in malformed and "step_id: should be 1" in malformed
    refused = maseval("score", file)
    assert "step_id: should be 1" in refused.stdout + refused.stderr


def test_a_release_that_is_not_known_is_named(exported, tmp_path):
    value = json.loads(sorted(exported.iterdir())[0].read_text())
    value["extra"]["maseval"]["version"] = "9.9"
    found = maseval("score", written(tmp_path / "later.json", value))

    assert "extra.maseval.version: '9.9' is none of 0.2.0" in found.stdout + found.stderr
