"""``maseval comply``: the number without breaches found, from runs and results files."""

import json
from copy import deepcopy
from pathlib import Path

import pytest

from maseval import frames
from maseval.app.results.explained import lines_of
from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.commands import report, show, tau2
from maseval.core.finding import Finding
from tests.benchmark.tau2.compliance.gold_talk import Do, play, steps_of
from tests.cli.commandline import maseval

BROKE = "broke the policy"
TASK = "renew_own_not_husbands"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results file of two trials that pass: one asks before it renews a loan, one does not."""
    (raw,) = [each for each in load_raw_tasks("library") if each["id"] == TASK]
    asked = steps_of("library", raw)
    at = next(i for i, step in enumerate(asked) if isinstance(step, Do) and "renew" in step.name)
    simulations = [play("library", raw, steps) for steps in (asked, asked[: at - 2] + asked[at:])]
    path = tmp_path_factory.mktemp("comply") / "theirs.jsonl"
    for trial, each in enumerate(simulations):
        each |= {"id": str(trial), "trial": trial}
    path.write_text("".join(json.dumps(each) + "\n" for each in simulations))
    return path


def test_a_pass_without_a_yes_does_not_count_without_breaches(file):
    (found,) = tau2.comply([file], domain="library")

    official, without, *_ = found.scores
    assert official.pass_hat[1].value == 1.0
    assert (without.pass_hat[1].value, without.pass_hat[2].value) == (0.5, 0.0)
    assert without.differing == 1
    (rule,) = [each for each in found.rules if each.kind == BROKE]
    assert (rule.rule, rule.passes) == ("library.confirm.yes", 1)


def test_explain_show_report_and_frames_tell_of_the_breach_of_a_pass(file, tmp_path):
    explained = tau2.explain(file, TASK, 1, domain="library")
    assert BROKE in {each.kind for each in explained.findings}
    assert explained.sections[-1].title.startswith(f"The policy: {BROKE}")
    view = show(file, domain="library")
    assert [each.differing for each in view.scores][1] == 1
    page = report(file, tmp_path / "page.html", domain="library").read_text()
    assert "without breaches found" in page and f"agent: {BROKE}" in page
    (row,) = [row for row in frames.findings(file, domain="library") if row["kind"] == BROKE]
    assert (row["trial"], row["passed"], row["counts"]) == (1, True, True)


def test_a_scripted_player_is_asked_about_the_state_alone(tmp_path):
    tau2.run(domain="library", agent="gold", output=tmp_path / "run")
    (found,) = tau2.comply([tmp_path / "run"])
    assert not found.rules
    shown = " ".join(maseval("comply", tmp_path / "run").stdout.split())
    assert "the agent was scripted" in shown
    assert all(each.same for each in found.scores)


def test_a_file_that_is_not_there_is_named_once(file, tmp_path):
    gone = tmp_path / "gone.json"
    found = maseval("comply", str(file), str(gone), "--domain", "library")
    assert found.exit_code == 2 and found.stderr.count(str(gone)) == 1 and not found.stdout


def test_without_a_file_the_command_says_what_to_name():
    found = maseval("comply")
    assert found.exit_code == 2 and "name a run or a results file" in found.stderr


@pytest.mark.parametrize("columns", [60, 80, 160])
def test_the_rules_of_a_domain_are_listed_with_their_whole_ids(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    found = maseval("comply", "--rules", "library")
    ids = [each.id for each in tau2.rule_book("library").rules]
    assert found.exit_code == 0 and [each for each in ids if each not in found.stdout] == []


def test_the_rules_of_an_own_domain_are_listed(tmp_path):
    (tmp_path / "desk.py").write_text(
        "from dataclasses import replace\n"
        "from maseval.benchmark.tau2.domains.library import LIBRARY\n"
        "desk = replace(LIBRARY, name='desk')\n"
    )
    found = maseval("comply", "--rules", f"{tmp_path / 'desk.py'}:desk")
    assert found.exit_code == 0 and "library.loan.renewable" in found.stdout


def test_what_is_wrong_with_a_file_is_said(file, tmp_path):
    cut = tmp_path / "cut.jsonl"
    cut.write_text(file.read_text()[:-200])
    found = maseval("comply", str(cut), "--domain", "library", "--json")
    (run,) = json.loads(found.stdout)["files"]
    assert [note for note in run["notes"] if note.startswith("unreadable simulations: 1 part")]


def test_breaches_in_passes_come_first(file, tmp_path):
    """A failure that broke the policy stands before a pass that did, in the file only."""
    _, hasty = (json.loads(each) for each in file.read_text().splitlines())
    failed = deepcopy(hasty) | {"id": "x", "trial": 0, "termination_reason": "max_steps"}
    path = tmp_path / "both.jsonl"
    path.write_text(json.dumps(failed) + "\n" + json.dumps(hasty) + "\n")
    found = maseval("comply", str(path), "--domain", "library").stdout
    assert 0 < found.index("trial 1, passed") < found.index("trial 0, did not pass")
    checked = tau2.comply([path], domain="library")[0].to_dict()["simulations"]
    assert {each["trial"]: each["passed"] for each in checked} == {0: False, 1: True}


def test_rules_that_say_the_same_share_a_line_after_what_counts():
    english = "the conversation is not in English"
    doubts = [
        Finding("policy", "agent", "policy undecided", rule, english, "undecided")
        for rule in ("d.a", "d.b")
    ]
    broken = Finding("policy", "agent", BROKE, "d.c", "too late", message=3, call="renew()")
    assert lines_of((*doubts, broken)) == [
        "message 3: too late; renew() [d.c]",
        f"{english} (undecided) [d.a, d.b]",
    ]


@pytest.mark.data
def test_a_run_of_the_bank_is_judged_again_and_checked(
    banking_data, shared_data, tmp_path, monkeypatch
):
    monkeypatch.setenv("MASEVAL_TAU2_TEXTS", str(shared_data / "tau2-texts"))
    bank = {"domain": "banking_knowledge@bm25", "data_version": "1.0.1", "num_tasks": 2}
    tau2.run(**bank, agent="gold", output=tmp_path / "run")

    (found,) = tau2.comply([tmp_path / "run"])
    (score,) = tau2.score([tmp_path / "run"])

    assert len(found.notes) == 1 and len(found.passes) == 2 and found.scores[-1].same
    assert (score.compared, score.agreeing) == (2, 2)
