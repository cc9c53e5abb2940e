"""``maseval comply``: the number without breaches found, from runs and results files."""

import json
from copy import deepcopy

import pytest

from maseval import frames
from maseval.app.results.explained import lines_of
from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.commands import compare, report, show, tau2
from maseval.commands import run as run_any
from maseval.core.exceptions import ConfigurationError
from maseval.core.finding import Finding
from maseval.core.scoring_options import ScoringOptions
from tests.benchmark.tau2.compliance.gold_talk import Do, play, steps_of
from tests.cli.commandline import maseval

BROKE = "broke the policy"
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


def test_a_pass_without_a_yes_does_not_count_without_breaches(file):
    (found,) = tau2.comply([file], domain="library")

    official, without, _ = found.scores
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
    assert [each.differing for each in view.found.scores][1] == 1
    page = report(file, tmp_path / "page.html", domain="library").read_text()
    assert "without breaches found" in page and f"agent: {BROKE}" in page
    (row,) = [row for row in frames.findings(file, domain="library") if row["kind"] == BROKE]
    assert (row["trial"], row["passed"], row["counts"]) == (1, True, True)


def test_a_scripted_player_is_asked_about_the_state_alone(tmp_path):
    tau2.run(domain="library", agent="gold", output=tmp_path / "run")
    (found,) = tau2.comply([tmp_path / "run"])
    assert not found.rules
    shown = " ".join(maseval("comply", tmp_path / "run").stdout.split())
    assert "a script, which does not talk, played the agent" in shown
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


@pytest.fixture(scope="module")
def both(file, tmp_path_factory):
    """Two files: every trial asked, and none did."""
    asked, hasty = (json.loads(each) for each in file.read_text().splitlines())
    paths = [tmp_path_factory.mktemp("both") / name for name in ("asked.jsonl", "hasty.jsonl")]
    for path, each in zip(paths, (asked, hasty), strict=True):
        trials = [{**each, "id": str(trial), "trial": trial} for trial in range(2)]
        path.write_text("".join(json.dumps(trial) + "\n" for trial in trials))
    return paths


def test_runs_are_compared_by_their_passes_without_breaches(both):
    official = compare(both, options=ScoringOptions(domain="library"))
    without = compare(both, metric="no-breaches", options=ScoringOptions(domain="library"))
    assert official.two.main.difference == 0.0 and without.two.main.difference == -1.0
    assert without.to_dict()["metric"] == "no-breaches"
    assert "an upper bound" in without.cautions[0] and official.official is None
    assert without.why["hasty"].labels == {f"agent: {BROKE}": 2}


def test_the_number_without_breaches_stands_behind_the_official_one(both, tmp_path):
    options = ("--domain", "library", "--metric", "no-breaches")
    shown = maseval("compare", *both, *options).stdout
    official = "By pass^1, the official number, no difference seen between hasty and asked"
    assert shown.index(official) < shown.index(
        "By pass^1 without breaches found, hasty is 100 points"
    )
    (third,) = _third(both, tmp_path)
    equal = "difference seen between third and asked (pass^1 without breaches found 100.0%)"
    assert equal in " ".join(maseval("compare", both[0], third, *options).stdout.split())
    written = ("--markdown", tmp_path / "gate.md", "--allow-undecidable")
    gated = maseval("gate", both[1], "--baseline", both[0], *options, *written)
    assert gated.stdout.index(official) < gated.stdout.index(
        "\npass^1 without breaches found: 100.0% before"
    )
    page = (tmp_path / "gate.md").read_text()
    assert (
        0 < page.index("the official number") < page.index("pass^1 without breaches found 100.0% →")
    )
    assert "without breaches found" in maseval("compare", *both, third, *options).stdout


def _third(both, folder):
    path = folder / "third.jsonl"
    path.write_text(both[0].read_text())
    return [path]


def test_a_gate_that_lacks_verdicts_does_not_blame_the_metric(both, tmp_path):
    part = tmp_path / "part.json"
    simulations = [json.loads(each) for each in both[1].read_text().splitlines()]
    info = {"num_trials": 3, "environment_info": {"domain_name": "library"}}
    part.write_text(json.dumps({"info": info, "simulations": simulations}))
    options = ("--domain", "library", "--metric", "no-breaches")
    found = maseval("gate", part, "--baseline", both[0], *options)
    assert found.exit_code == 2 and "simulations have a verdict" in found.stderr
    assert "a pass counts only if" not in found.stderr


def test_a_gate_can_go_by_passes_without_breaches(both):
    options = ("--domain", "library", "--metric", "no-breaches", "--allow-undecidable", "--json")
    found = maseval("gate", both[1], "--baseline", both[0], *options)
    assert json.loads(found.stdout)["metric"] == "no-breaches"
    assert "a pass counts only if no breach of the policy was found" in found.stderr


def test_runs_without_rules_or_sound_verdicts_have_no_such_number(tmp_path):
    for name in ("a", "b"):
        run_any(benchmark="examples.booking:BookingBenchmark", output=tmp_path / name)
    with pytest.raises(ConfigurationError, match="has no number without breaches found"):
        compare([tmp_path / "a", tmp_path / "b"], metric="no-breaches")
    with pytest.raises(ConfigurationError, match="leave out --metric"):
        compare([tmp_path / "a", tmp_path / "b"], metric="sound")


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
