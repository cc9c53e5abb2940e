"""Infrastructure errors of 1.0.1 are shown left out and counted, each number by its name."""

import json

import pytest

from maseval.app.results.variants import conventions_in_words
from maseval.benchmark.tau2.app.results.conventions import conventions_of_lines
from maseval.core.outcome import Outcome, verdict_for
from tests.cli.commandline import maseval

OF_1_0_1 = {"rules": "tau2-bench v1.0.1"}


def line(task, trial, outcome="pass", ended="user_stop", domain="airline"):
    status = "success" if ended else "unknown_execution_error"
    passed, reason = verdict_for(outcome, status)
    row = Outcome(domain, task, trial, passed, 0.0, reason, status=status, kind=outcome)
    return row._replace(ended=ended)


def test_what_did_not_end_in_conversation_is_left_out_or_a_failure():
    lines = [line("1", 0), line("1", 1, "error", None), line("2", 0), line("2", 1, "fail")]

    metrics, leaderboard = conventions_of_lines(lines, OF_1_0_1)

    assert (metrics.name, metrics.simulations, metrics.errors) == ("metrics", 3, 1)
    assert metrics.pass_hat == {1: 0.75}
    assert (leaderboard.name, leaderboard.simulations, leaderboard.errors) == ("leaderboard", 4, 1)
    assert leaderboard.pass_hat == {1: 0.5, 2: 0.0}
    assert conventions_in_words([metrics, leaderboard]) == [
        "airline: 1 of 4 simulations are infrastructure errors",
        "  metrics (errors left out): pass^1 75.0%, 3 simulations of 2 tasks",
        "  leaderboard (errors counted as failures): pass^1 50.0%, pass^2 0.0%, "
        "4 simulations of 2 tasks",
    ]


def test_of_many_trials_the_words_name_a_few_k():
    lines = [line("1", trial) for trial in range(8)] + [line("1", 8, "error", None)]

    metrics, leaderboard = conventions_of_lines(lines, OF_1_0_1)

    assert list(leaderboard.pass_hat) == [*range(1, 10)]
    assert "pass^4 55.6%, pass^8 11.1%, 9 simulations" in str(leaderboard)
    assert "pass^5" not in str(metrics) + str(leaderboard)


def test_a_task_with_nothing_but_errors_disappears_from_one_number_only():
    lines = [line("1", 0), line("2", 0, "error", "infrastructure_error")]

    metrics, leaderboard = conventions_of_lines(lines, {})

    assert (metrics.tasks, metrics.pass_hat) == (1, {1: 1.0})
    assert (leaderboard.tasks, leaderboard.pass_hat) == (2, {1: 0.5})


def test_without_errors_there_is_nothing_to_say_and_0_2_0_knows_none():
    assert conventions_in_words(conventions_of_lines([line("1", 0)], OF_1_0_1)) == []
    broken = [line("1", 0, "error", None)]
    assert conventions_of_lines(broken, {"rules": "tau2-bench v0.2.0"}) == []


@pytest.fixture
def broken_run(tau2_data_of_1_0_1, tmp_path):
    """Two tasks of 1.0.1, of which the agent's own code breaks one."""
    agent = tmp_path / "breaking.py"
    agent.write_text(
        "made = []\n"
        "def agent(brief):\n"
        "    made.append(brief)\n"
        "    if len(made) == 1:\n"
        "        raise RuntimeError('out of order')\n"
        "    return lambda message: 'I am sorry.'\n"
    )
    folder = tmp_path / "run"
    options = (
        f"--domain airline --agent {agent}:agent --num-tasks 2 --concurrency 1 --user scripted"
    )
    more = ("--data-version", "1.0.1", "--output", folder, "--json")
    done = maseval("tau2", "run", *options.split(), *more)
    return folder, done


@pytest.mark.data
def test_the_run_show_score_and_exported_file_give_both_numbers(broken_run, tmp_path):
    folder, done = broken_run
    both = json.loads(done.stdout)["conventions"]["airline"]
    assert both["metrics"]["simulations"] == 1
    assert both["leaderboard"]["simulations"] == 2
    assert both["leaderboard"]["infrastructure_errors"] == 1
    words = "airline: 1 of 2 simulations are infrastructure errors"
    assert words in done.stderr

    shown = maseval("show", folder, "--no-explain").output
    assert words in shown
    assert "metrics (errors left out): pass^1" in shown
    assert "leaderboard (errors counted as failures): pass^1" in shown

    scored = maseval("score", folder, "--json")
    assert json.loads(scored.stdout)["files"][0]["conventions"]["airline"] == both
    assert words in scored.stderr

    exported = tmp_path / "airline.json"
    maseval("export", folder, "--format", "tau2-bench", "--output", exported)
    scored = maseval("score", exported, "--data-version", "1.0.1", "--json")
    assert json.loads(scored.stdout)["files"][0]["conventions"]["airline"] == both
    assert words in maseval("show", exported, "--no-explain").output
