"""``maseval tau2 comply``: clean passes beside the official number, from runs and results files."""

import json
from copy import deepcopy

import pytest
from rich.console import Console

from maseval import frames
from maseval.app.results.clean import (
    CLEAN,
    LABELS,
    PolicyCheck,
    PolicyFinding,
    run_compliance,
    scores_by_label,
)
from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.cli.results import print_clean_scores
from maseval.commands import compare, report, show, tau2
from maseval.commands import run as run_any
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import SimulationLine
from maseval.core.scoring_options import ScoringOptions
from maseval.runs import Simulation
from tests.benchmark.tau2.compliance.gold_talk import Do, play, steps_of
from tests.cli.commandline import maseval

TASK = "renew_own_not_husbands"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
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


def test_a_pass_without_a_yes_passes_and_is_not_clean(file):
    (found,) = tau2.comply([file], domain="library")
    (score,) = found.compliance.scores
    assert (score.passed, score.clean_passes, score.broken_passes) == (2, 1, 1)
    assert score.pass_hat[1].value == 1.0 and score.clean[1].value == 0.5
    assert score.clean[2].value == 0.0
    (rule,) = [each for each in found.compliance.rules if each.what == "broken"]
    assert (rule.rule, rule.passes) == ("library.confirm.yes", 1)


def test_the_command_names_the_message_and_the_rule(file):
    found = maseval("tau2", "comply", str(file), "--domain", "library")
    assert found.exit_code == 0
    assert "passed 2: clean 1, broken 1" in found.stdout
    assert "the official number" in found.stdout
    assert "[library.confirm.yes]" in found.stdout and "message " in found.stdout


def test_the_json_has_every_finding(file):
    found = maseval("tau2", "comply", str(file), "--domain", "library", "--json")
    (run,) = json.loads(found.stdout)["files"]
    assert [each["clean"] for each in run["simulations"]] == [True, False]
    (score,) = run["scores"]
    assert score["pass^1"]["value"] == 1.0 and score["clean pass^1"]["value"] == 0.5
    (breach,) = [f for f in run["simulations"][1]["findings"] if f["what"] == "broken"]
    assert breach["rule"] == "library.confirm.yes" and breach["call"].startswith("renew_loan(")


def test_explain_tells_of_the_policy_of_a_pass(file):
    found = tau2.explain(file, TASK, 1, domain="library")
    assert found.policy.clean is False
    assert found.sections()[-1].title == "Policy: broken"


def test_show_and_report_have_the_row_of_clean_passes(file, tmp_path):
    view = show(file, domain="library")
    assert view.compliance.scores[-1].clean_passes == 1
    page = report(file, tmp_path / "page.html", domain="library").read_text()
    assert CLEAN in page and LABELS[False] in page


def test_frames_have_the_policy_as_a_table(file):
    rows = list(frames.policy(file, domain="library"))
    assert [(row["passed"], row["without_breaches_found"], row["broken"]) for row in rows] == [
        (True, True, 0),
        (True, False, 1),
    ]
    assert rows[1]["rules"] == "library.confirm.yes"


def test_a_scripted_player_is_asked_about_the_state_alone(tmp_path):
    tau2.run(domain="library", agent="gold", output=tmp_path / "run")
    (found,) = tau2.comply([tmp_path / "run"])
    assert {each.kind for each in found.compliance.rules} <= {"state"}
    shown = " ".join(maseval("tau2", "comply", tmp_path / "run").stdout.split())
    assert "a script, which does not talk, played the agent in 12 simulations" in shown
    assert found.compliance.scores[-1].broken_passes == 0


def test_a_file_that_cannot_be_read_does_not_stop_the_others(file, tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text('{"simulations": ')
    found = maseval("tau2", "comply", str(broken), str(file), "--domain", "library")
    assert found.exit_code == 1
    assert "broken.json" in found.stderr and "clean 1" in found.stdout


def test_a_file_that_is_not_there_is_named_once(file, tmp_path):
    gone = tmp_path / "gone.json"
    found = maseval("tau2", "comply", str(gone), str(file), "--domain", "library")
    assert found.exit_code == 1 and found.stderr.count(str(gone)) == 1


def test_without_a_file_the_command_says_what_to_name():
    found = maseval("tau2", "comply")
    assert found.exit_code == 2 and "name a run or a results file" in found.stderr


@pytest.mark.parametrize("columns", [60, 80, 160])
def test_the_rules_of_a_domain_are_listed_with_their_whole_ids(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    found = maseval("tau2", "comply", "--rules", "library")
    ids = [each.id for each in tau2.rule_book("library").rules]
    assert found.exit_code == 0 and [each for each in ids if each not in found.stdout] == []


def test_the_rules_of_an_own_domain_are_listed(tmp_path):
    (tmp_path / "desk.py").write_text(
        "from dataclasses import replace\n"
        "from maseval.benchmark.tau2.domains.library import LIBRARY\n"
        "desk = replace(LIBRARY, name='desk')\n"
    )
    found = maseval("tau2", "comply", "--rules", f"{tmp_path / 'desk.py'}:desk")
    assert found.exit_code == 0 and "library.loan.renewable" in found.stdout


@pytest.mark.parametrize("columns", [60, 80, 160])
def test_numbers_are_named_in_a_terminal_of_any_width(file, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    found = maseval("tau2", "comply", str(file), "--domain", "library")
    official = found.stdout.index(", the official number")
    assert official < found.stdout.index("100.0%") < found.stdout.index("clean pass^")
    assert "library" in found.stdout.partition("passed 2")[0].partition("jsonl\n")[2]


def test_a_k_without_any_number_has_no_column():
    """Where a task lacks a trial, pass^2 is not known."""
    outcomes = [line("a", 0, True), line("a", 1, True), line("b", 0, True)]
    planned = [Simulation("d", task, trial) for task in "ab" for trial in range(2)]
    found = run_compliance(outcomes, planned, {})
    assert found.scores[-1].pass_hat[2].value is None
    console = Console(width=160, record=True)
    print_clean_scores(found, console)
    shown = console.export_text()
    assert "k = 1" in shown and "k = 2" not in shown


def test_what_is_wrong_with_a_file_is_said(file, tmp_path):
    cut = tmp_path / "cut.jsonl"
    cut.write_text(file.read_text()[:-200])
    found = maseval("tau2", "comply", str(cut), "--domain", "library", "--json")
    (run,) = json.loads(found.stdout)["files"]
    assert [note for note in run["notes"] if note.startswith("unreadable simulations: 1 part")]
    assert "unreadable simulations: 1 part" in found.stderr


def test_breaches_in_passes_come_first(file, tmp_path):
    """A failure that broke the policy stands before a pass that did, in the file only."""
    _, hasty = (json.loads(each) for each in file.read_text().splitlines())
    failed = deepcopy(hasty) | {"id": "x", "trial": 0, "termination_reason": "max_steps"}
    path = tmp_path / "both.jsonl"
    path.write_text(json.dumps(failed) + "\n" + json.dumps(hasty) + "\n")
    found = maseval("tau2", "comply", str(path), "--domain", "library").stdout
    assert 0 < found.index("trial 1, passed; policy: broken") < found.index("trial 0, did not pass")
    checked = tau2.comply([path], domain="library")[0].to_dict()["simulations"]
    assert {each["trial"]: each["passed"] for each in checked} == {0: False, 1: True}


@pytest.fixture(scope="module")
def both(file, tmp_path_factory):
    """Two files: every trial asked, and none did."""
    asked, hasty = (json.loads(each) for each in file.read_text().splitlines())
    paths = [tmp_path_factory.mktemp("both") / name for name in ("asked.jsonl", "hasty.jsonl")]
    for path, each in zip(paths, (asked, hasty), strict=True):
        trials = [{**each, "id": str(trial), "trial": trial} for trial in range(2)]
        path.write_text("".join(json.dumps(trial) + "\n" for trial in trials))
    return paths


def test_runs_are_compared_by_their_clean_passes(both):
    official = compare(both, options=ScoringOptions(domain="library"))
    clean = compare(both, metric="clean", options=ScoringOptions(domain="library"))
    assert official.two.main.difference == 0.0 and clean.two.main.difference == -1.0
    assert clean.to_dict()["metric"] == "clean"
    assert "clean pass^k" in clean.cautions[0] and official.official is None
    assert clean.why["hasty"].labels == {LABELS[False]: 2}


def test_clean_passes_are_named_and_stand_behind_the_official_number(both, tmp_path):
    options = ("--domain", "library", "--metric", "clean")
    shown = maseval("compare", *both, *options).stdout
    official = "By pass^1, the official number, hasty and asked are equally good: pass^1 100.0%"
    assert shown.index(official) < shown.index("By clean pass^1, hasty is 100 points worse")
    assert "library clean pass^1" in shown and "library pass^1" not in shown
    (third,) = _third(both, tmp_path)
    equal = "By clean pass^1, third and asked are equally good: clean pass^1 100.0%"
    assert equal in maseval("compare", both[0], third, *options).stdout
    written = ("--markdown", tmp_path / "gate.md", "--allow-undecidable")
    gated = maseval("gate", both[1], "--baseline", both[0], *options, *written)
    assert gated.stdout.index(official) < gated.stdout.index("\nclean pass^1: 100.0% before")
    page = (tmp_path / "gate.md").read_text()
    assert 0 < page.index("the official number") < page.index("clean pass^1 100.0% →")
    three = maseval("compare", *both, third, *options).stdout
    assert "clean pass^1" in three and "clean passes" in three


def _third(both, folder):
    path = folder / "third.jsonl"
    path.write_text(both[0].read_text())
    return [path]


def test_a_gate_that_lacks_verdicts_does_not_blame_the_metric(both, tmp_path):
    part = tmp_path / "part.json"
    simulations = [json.loads(each) for each in both[1].read_text().splitlines()]
    info = {"num_trials": 3, "environment_info": {"domain_name": "library"}}
    part.write_text(json.dumps({"info": info, "simulations": simulations}))
    options = ("--domain", "library", "--metric", "clean")
    found = maseval("gate", part, "--baseline", both[0], *options)
    assert found.exit_code == 2 and "simulations have a verdict" in found.stderr
    assert "a pass counts if" not in found.stderr


def test_a_gate_can_go_by_clean_passes(both):
    options = ("--domain", "library", "--metric", "clean", "--allow-undecidable", "--json")
    found = maseval("gate", both[1], "--baseline", both[0], *options)
    assert json.loads(found.stdout)["metric"] == "clean"
    assert "a pass counts if no rule of the policy was found broken" in found.stderr


def test_runs_without_rules_have_no_clean_passes(tmp_path):
    for name in ("a", "b"):
        run_any(benchmark="examples.booking:BookingBenchmark", output=tmp_path / name)
    with pytest.raises(ConfigurationError, match="not known as rules"):
        compare([tmp_path / "a", tmp_path / "b"], metric="clean")


def line(task, trial, passed):
    outcome = "pass" if passed else "fail"
    return SimulationLine("d", task, trial, "success", outcome, float(passed), None, 0, 0, 0, None)


def test_what_cannot_be_told_is_a_range():
    lines = [line("a", 0, True), line("b", 0, True), line("c", 0, False), line("d", 0, True)]
    told = {"a": True, "b": None, "c": False, "d": False}
    found = {Simulation("d", task, 0): PolicyCheck(clean) for task, clean in told.items()}
    (score,) = run_compliance(lines, list(found), found).scores
    assert (score.clean[1].value, score.surely_clean[1].value) == (0.5, 0.25)
    assert (score.clean_passes, score.broken_passes, score.untold_passes) == (1, 1, 1)


def test_rules_that_say_the_same_share_a_line():
    english = "the conversation is not in English"
    doubts = [PolicyFinding(rule, "protocol", "cannot tell", english) for rule in ("d.a", "d.b")]
    broken = PolicyFinding("d.c", "state", "broken", "too late", 3, "renew()", {"days": [2]})
    assert PolicyCheck(False, (*doubts, broken)).lines() == [
        "message 3: too late; renew() [d.c]",
        f"{english} (cannot be told) [d.a, d.b]",
    ]


def test_a_pass_that_was_not_checked_cannot_be_told():
    one = Simulation("d", "a", 0)
    (score,) = run_compliance([line("a", 0, True)], [one], {}).scores
    assert score.untold_passes == 1 and score.surely_clean[1].value == 0.0


def test_scores_by_label_wait_until_every_pass_is_labelled():
    lines = [(line("a", 0, True), [LABELS[True]]), (line("b", 0, True), [])]
    planned = [Simulation("d", name, 0) for name in "ab"]
    assert scores_by_label(lines, planned) == ()
    known = [(each, labels or [LABELS[False]]) for each, labels in deepcopy(lines)]
    (score,) = scores_by_label(known, planned)
    assert (score.clean_passes, score.broken_passes) == (1, 1)


@pytest.mark.data
def test_a_run_of_the_bank_is_judged_again_and_checked(
    banking_data, shared_data, tmp_path, monkeypatch
):
    monkeypatch.setenv("MASEVAL_TAU2_TEXTS", str(shared_data / "tau2-texts"))
    bank = {"domain": "banking_knowledge@bm25", "data_version": "1.0.1", "num_tasks": 2}
    tau2.run(**bank, agent="gold", output=tmp_path / "run")

    (found,) = tau2.comply([tmp_path / "run"])
    (score,) = tau2.score([tmp_path / "run"])

    assert found.check.note is None and found.compliance.scores[-1].clean_passes == 2
    assert (score.compared, score.agreeing) == (2, 2)
