"""Commands that look at runs, files and tasks."""

import json

import pytest

from maseval.commands import show, tau2
from maseval.commands.results import RunResult
from tests.cli.commandline import last_json, maseval, require_data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("looking")


@pytest.fixture(scope="module")
def noisy(folder) -> RunResult:
    return tau2.run(domain="library", agent="noisy", trials=3, output=folder / "runs" / "noisy")


@pytest.fixture(autouse=True)
def beside_the_runs(folder, noisy, monkeypatch):
    monkeypatch.chdir(folder)


def a_task(noisy, outcome):
    return next(line for line in show(noisy.folder).lines if line.outcome == outcome)


def test_runs_are_listed_with_their_state():
    result = maseval("runs")

    assert "runs/noisy" in result.stdout
    assert "complete" in result.stdout and "36/36" in result.stdout


def test_runs_are_listed_for_scripts(noisy):
    (state,) = json.loads(maseval("runs", "--json").stdout)

    assert state["path"] == "runs/noisy" and state["state"] == "complete"
    assert state["config"]["agent"] == {"player": "noisy", "error_rate": 0.1}


def test_no_runs_is_no_error(tmp_path):
    result = maseval("runs", tmp_path)

    assert result.exit_code == 0 and "maseval demo" in result.stdout


@pytest.mark.parametrize("name", ["runs/noisy", "noisy", "last"])
def test_a_run_is_shown_by_path_name_or_as_the_last(name):
    result = maseval("show", name)

    assert result.exit_code == 0
    assert "pass^3" in result.stdout
    assert result.stdout.count("library │") >= 12


def test_a_conversation_is_shown_with_calls_results_and_verdict(noisy):
    failed = a_task(noisy, "fail")

    shown = maseval("show", "last", failed.task_id, failed.trial).stdout

    assert "Agent" in shown and "User" in shown
    assert "→ " in shown and "← " in shown
    assert "Database: " in shown
    assert "- " in shown and "fail, reward 0" in shown
    assert "all trials: 0 " in shown


def test_a_long_result_is_shortened_unless_all_of_it_is_wanted(noisy):
    passed = a_task(noisy, "pass")

    short = maseval("show", "last", f"library/{passed.task_id}", passed.trial).stdout
    full = maseval("show", "last", f"library/{passed.task_id}", passed.trial, "--full").stdout

    assert len(full) >= len(short)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "maseval runs"),
        (["last", "zero"], "no task 'zero'"),
        (["last", "library/zero"], "no task 'library/zero'"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(arguments, words):
    result = maseval("show", *arguments)

    assert result.exit_code == 2
    assert words in result.stderr


def test_a_trial_that_was_not_run_is_told(noisy):
    result = maseval("show", "last", a_task(noisy, "pass").task_id, 7)

    assert result.exit_code == 2
    assert "it has 0, 1, 2" in result.stderr


def test_the_report_is_written_and_named(folder):
    result = maseval("report", "last", "--output", "page.html", "--title", "My page")

    assert result.stdout.strip() == "page.html"
    page = (folder / "page.html").read_text()
    assert "My page" in page and "pass^3" in page


def test_judging_again_agrees_with_our_own_verdicts():
    result = maseval("tau2", "score", "last", "--json", "--fail-on-disagreement")

    assert result.exit_code == 0
    told = last_json(result.stdout)
    assert told["agree"]
    (file,) = told["files"]
    assert file["compared"] == file["agreeing"] == 36
    assert file["passed"] == file["passed_as_recorded"]


def edited(path, **changes):
    results = json.loads(path.read_text())
    results["simulations"][0]["reward_info"].update(changes)
    path.write_text(json.dumps(results))


def test_an_export_is_judged_like_the_run_and_an_edited_reward_is_found(folder):
    exported = maseval("tau2", "export", "last", "--output", "theirs.json")
    honest = maseval("tau2", "score", "theirs.json", "--fail-on-disagreement")
    found = json.loads((folder / "theirs.json").read_text())["simulations"][0]
    edited(folder / "theirs.json", reward=1.0 - found["reward_info"]["reward"])
    forged = maseval("tau2", "score", "theirs.json", "--fail-on-disagreement")
    only_told = maseval("tau2", "score", "theirs.json")

    assert exported.stdout.strip() == "theirs.json"
    assert (
        honest.exit_code == 0 and "36 of 36 recorded verdicts confirmed (100.0%)" in honest.stdout
    )
    assert forged.exit_code == 1 and only_told.exit_code == 0
    assert "differs" in forged.stdout and "reward: recorded" in forged.stdout


def test_an_export_replaces_nothing_unasked():
    maseval("tau2", "export", "last", "--output", "once.json")

    again = maseval("tau2", "export", "last", "--output", "once.json")
    overwritten = maseval("tau2", "export", "last", "--output", "once.json", "--overwrite")

    assert again.exit_code == 1 and "already exists" in again.stderr
    assert overwritten.exit_code == 0


def test_tasks_are_listed():
    result = maseval("tau2", "tasks", "--domain", "library")
    ids = maseval("tau2", "tasks", "--domain", "library", "--ids").stdout.split()

    assert "12 tasks" in result.stdout
    assert len(ids) == 12 and all(one.startswith("library/") for one in ids)


def test_a_task_is_shown_with_what_counts():
    task = tau2.tasks("library")[0]

    shown = maseval("tau2", "show", f"library/{task.task_id}").stdout

    assert shown.startswith(f"library task {task.task_id}")
    assert "evaluation_criteria" in shown


def test_tools_and_policy_are_shown():
    tools = maseval("tau2", "show", "tools", "--domain", "library").stdout
    policy = maseval("tau2", "show", "policy", "--domain", "library").stdout

    assert "agent, read" in tools and "agent, write" in tools and "user, " in tools
    assert policy.startswith("#")


def test_tools_need_a_domain():
    result = maseval("tau2", "show", "tools")

    assert result.exit_code == 2 and "--domain" in result.stderr


def test_files_that_are_missing_are_told(tmp_path, monkeypatch):
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path))

    verified = maseval("tau2", "data", "verify")
    path = maseval("tau2", "data", "path").stdout.strip()

    assert verified.exit_code == 1
    assert verified.stdout.count("missing") >= 18
    assert path.startswith(str(tmp_path))


@pytest.mark.data
def test_files_that_are_there_are_verified():
    require_data()
    maseval("tau2", "data", "fetch")

    verified = maseval("tau2", "data", "verify")

    assert verified.exit_code == 0
    assert verified.stdout.count(": ok") == 18
