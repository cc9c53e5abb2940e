"""Small promises of messages: whose command, what is written, where a typo is, what is counted."""

import errno
import sys
from pathlib import Path

import pytest

from maseval.cli.console import own_commands, program
from maseval.runs.exceptions import RunWriteError, writing
from tests.cli.commandline import last_json, maseval


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_printed_command_is_never_another_programs(at_home, monkeypatch):
    ours, others = at_home / "ours" / "maseval", at_home / "others" / "maseval"
    for each in (ours, others):
        each.parent.mkdir()
        each.write_text("#!/bin/sh\n")
        each.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(ours)])

    monkeypatch.setenv("PATH", str(others.parent))
    assert program() == "ours/maseval"
    assert own_commands("see `maseval show last`") == "see `ours/maseval show last`"
    monkeypatch.setenv("PATH", str(ours.parent))
    assert program() == "maseval" and own_commands("`maseval x`") == "`maseval x`"


@pytest.mark.parametrize("written", [True, False])
def test_results_are_called_intact_where_there_are_some(at_home, written):
    if written:
        (at_home / "log.jsonl").write_text("{}\n")

    with pytest.raises(RunWriteError) as raised, writing(at_home, "cannot store more results"):
        raise OSError(errno.ENOSPC, "full")

    assert ("are intact" in str(raised.value)) is written
    assert "free some space" in str(raised.value)


FILE = """\
benchmark = "tau2"
domain = "library"
agent = "gold"
{line}
"""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("trails = 2", "runs.toml, line 4: unknown option 'trails'; did you mean 'trials'?"),
        ("max-stebs = 2", "line 4: unknown option 'max_stebs'; did you mean 'max_steps'?"),
        (
            "[grid]\nsystm = ['gold', 'noop']",
            "line 5: unknown option 'systm'; did you mean 'system'",
        ),
    ],
)
def test_a_typo_in_a_run_file_is_named_with_its_line(at_home, line, words):
    (at_home / "runs.toml").write_text(FILE.format(line=line))

    ran = maseval("run", "runs.toml")

    assert ran.exit_code == 2 and words in plain(ran.stderr)


def test_the_audit_of_an_own_domain_names_no_release(at_home):
    assert maseval("new", "domain", "desk").exit_code == 0

    own = maseval("tau2", "audit", "desk/desk.py:DOMAIN", "--fail-on", "warning")
    ours = maseval("tau2", "audit", "library")

    assert own.exit_code == 0 and "tau2-bench" not in own.stdout, own.stdout
    assert "of tau2-bench 0.2.0" in ours.stdout


def test_score_says_that_trials_per_task_differ(at_home):
    run = ("tau2", "run", "--domain", "library", "--agent", "noisy", "--output", "r")
    maseval(*run, "--trials", 2)
    log = at_home / "r" / "log.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if '"repeat_idx"' in line)
    log.write_text("".join(lines[:last] + lines[last + 1 :]))

    scored = maseval("score", "r")

    assert "tasks have between 1 and 2 trials with a verdict" in plain(scored.stdout)


def test_an_undecided_question_is_exit_code_2(at_home):
    options = ("--domain", "library", "--agent", "noisy", "--trials", 2)

    ran = maseval("tau2", "run", *options, "--until", "+-1", "--output", "r", "--json")

    assert ran.exit_code == 2, ran.stderr
    assert last_json(ran.stdout)["complete"]


def test_a_rehearsal_costs_nothing_and_says_so(at_home):
    """A budget in money is no obstacle, either."""
    pytest.importorskip("openai")
    (at_home / "a.py").write_text(
        "def agent(brief):\n    return lambda query: brief.chat_model().generate(query)\n"
    )
    options = ("--domain", "library", "-n", 1, "--rehearse", "gold", "--budget", "1usd")

    ran = maseval("tau2", "run", "--agent", "a.py:agent", *options)

    assert "$0.00" in ran.stdout and "nothing was paid" in ran.stdout
    assert "cost not known" not in ran.stdout + ran.stderr
