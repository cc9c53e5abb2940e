"""Scores that depend on a judge: bounds without one, a verdict with one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval import ScriptedModelAdapter, frames
from maseval.app.results.recording import judging_in_words
from maseval.app.results.report import page_summary
from maseval.benchmark.tau2.certify import CertificateError
from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.rescoring.recount import Recount
from maseval.benchmark.tau2.rescoring.verdict import JudgedSimulation
from maseval.commands import compare, show, tau2
from maseval.core.call_policy import CallPolicy
from maseval.core.exceptions import ConfigurationError
from maseval.core.judge_record import JudgeRecord, record_path
from maseval.core.model import register_model
from maseval.core.provider_errors import AuthenticationError, OverloadedError
from maseval.core.scoring_options import ScoringOptions
from maseval.runs import RunFolder


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A file of the library domain, 12 tasks once, some of them failed."""
    folder = tmp_path_factory.mktemp("judged")
    run = tau2.run(
        domain="library", agent="noisy", agent_args={"error_rate": 0.3}, output=folder / "noisy"
    )
    tau2.export(run.folder, folder / "theirs.json")
    return json.loads((folder / "theirs.json").read_text())


@pytest.fixture
def theirs(played: dict[str, Any], tmp_path: Path) -> Path:
    """The same file, in which the first six tasks are also a matter of judgement."""
    path = tmp_path / "theirs.json"
    document = json.loads(json.dumps(played))
    for task in document["tasks"][:6]:
        criteria = task["evaluation_criteria"]
        criteria["nl_assertions"] = ["The agent is polite.", "The agent is brief."]
        criteria["reward_basis"] = [*criteria["reward_basis"], "NL_ASSERTION"]
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def passed(played: dict[str, Any]) -> tuple[int, int]:
    """How many passed without a judge, and how many of these are a matter of judgement."""
    rewards = {each["task_id"]: each["reward_info"]["reward"] for each in played["simulations"]}
    judged = sum(rewards[task["id"]] for task in played["tasks"][:6])
    assert 0 < judged < 6  # otherwise the tests below show nothing
    return int(sum(rewards.values())), int(judged)


def judgement(*met: bool) -> str:
    """What a judge replies, for one conversation."""
    results = [
        {"expectedOutcome": str(number), "metExpectation": each, "reasoning": "so it is"}
        for number, each in enumerate(met)
    ]
    return json.dumps({"results": results})


@pytest.fixture
def judge(tmp_path: Path) -> Callable[..., Any]:
    """A judge that replies these texts, one after the other."""

    def make(*replies, name="judge"):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(replies))
        return f"scripted/{path}"

    return make


def test_without_a_judge_a_score_is_over_what_has_a_verdict_and_comes_with_a_range(theirs, passed):
    every, judged = passed

    (found,) = tau2.score([theirs], embedded_tasks=True)

    assert (found.passes, found.open, found.planned) == (every - judged, judged, 12)
    assert found.verdicts == 12 - judged
    assert found.pass_hat[1].value == pytest.approx((every - judged) / (12 - judged))
    assert found.pass_hat[1].bounds == pytest.approx(((every - judged) / 12, every / 12))
    (cause,) = (each for each in found.findings if each.kind == "not recomputed")
    assert f"{judged} of 12 verdicts depend on a judge model" in cause.text
    assert "--judge-model" in cause.evidence[0]


def simulations_of_judged_tasks(path: Path, found: Recount) -> list[JudgedSimulation]:
    tasks = json.loads(path.read_text())["tasks"]
    judged = {
        each["id"]
        for each in tasks
        if "NL_ASSERTION" in each["evaluation_criteria"]["reward_basis"]
    }
    return [each for each in found.simulations if each.slot.task_id in judged]


def test_what_fails_whatever_a_judge_says_is_a_failure(theirs, passed):
    (found,) = tau2.score([theirs], embedded_tasks=True)

    judged = simulations_of_judged_tasks(theirs, found)
    assert len(judged) == 6
    assert [each.reward for each in judged if not each.open] == [0.0] * (6 - passed[1])


def test_what_waits_for_a_judge_is_shown_as_neither_passed_nor_failed(theirs, passed):
    view = show(theirs, embedded_tasks=True)

    assert sum(line.kind == "unjudged" for line in view.lines) == passed[1]
    assert "needs a judge" in " ".join(view.causes)  # what fails all the same is explained


def test_what_waits_for_a_judge_is_not_compared_and_the_notes_say_so(theirs, tmp_path, passed):
    other = tmp_path / "other.json"
    other.write_text(theirs.read_text())

    found = compare([theirs, other], options=ScoringOptions(embedded_tasks=True))

    assert found.two.main.difference == 0
    assert found.two.main.tasks == 12 - passed[1]
    assert any("depend on a judge model" in note for note in found.notes)


def judged_by(theirs: Path, model: str, **options: Any) -> Recount:
    (found,) = tau2.score([theirs], embedded_tasks=True, judge_model=model, **options)
    return found


def test_a_judge_decides_what_was_left_open(theirs, passed, judge):
    every, _ = passed
    yes, no = judgement(True, True), judgement(True, False)

    found = judged_by(theirs, judge(*[yes] * 6))
    strict = judged_by(theirs, judge(*[no] * 6, name="stern"))

    assert (found.passes, found.open) == (every, 0)
    assert found.pass_hat[1].value == pytest.approx(every / 12)
    assert (strict.passes, strict.open) == (every - passed[1], 0)
    assert found.model.asked == strict.model.asked == 6


def test_nothing_is_asked_twice(theirs, judge):
    model = judge(*[judgement(True, True)] * 6)
    first = judged_by(theirs, model)

    second = judged_by(theirs, judge())  # the same name, and nothing left to say

    assert second.passes == first.passes
    (use,) = second.to_dict()["judges"]
    assert use == {"model": model, "asked": 0, "known": 6}
    assert theirs.with_name("theirs-judgements.jsonl").is_file()


def test_another_judge_or_another_conversation_is_asked_anew(theirs, judge):
    judged_by(theirs, judge(*[judgement(True, True)] * 6))

    other = judged_by(theirs, judge(*[judgement(True, True)] * 6, name="other"))
    document = json.loads(theirs.read_text())
    document["simulations"][0]["messages"][0]["content"] += " indeed"
    theirs.write_text(json.dumps(document))
    again = judged_by(theirs, judge(judgement(True, True)))

    assert (other.model.asked, other.model.known) == (6, 0)
    assert (again.model.asked, again.model.known) == (1, 5)


def test_a_reply_that_cannot_be_read_decides_nothing_and_is_asked_for_anew(theirs, passed, judge):
    found = judged_by(theirs, judge(*["I cannot say."] * 12))

    assert found.open == passed[1]
    assert "not recomputed" in {each.kind for each in found.findings}
    assert judged_by(theirs, judge(*[judgement(True, True)] * 6)).model.asked == 6


def test_where_nothing_can_be_kept_no_judge_is_asked(theirs, judge):
    theirs.with_name("theirs-judgements.jsonl").mkdir()  # stands where the file should be

    with pytest.raises(ConfigurationError, match="copy the files to a folder"):
        judged_by(theirs, judge())  # which would otherwise say that it has no reply left


RETAIL = {"domain": "retail", "task_id": ["16"], "data_version": "1.0.1", "agent": "gold"}


def test_a_run_without_a_judge_is_neither_passed_nor_failed(tau2_data_of_1_0_1, tmp_path):
    run = tau2.run(**{**RETAIL, "task_id": ["0", "16"]}, output=tmp_path / "r")

    outcomes = {line.task_id: line.kind for line in show(run.folder).lines}
    assert outcomes == {"0": "pass", "16": "unjudged"}
    assert run.summary.unjudged == 1
    assert "pass^1 is 50.0% if all others fail, 100.0% if all pass" in run.summary.method
    assert not run.complete and not run.resumable
    assert any("--judge-model" in note for note in run.notes)
    (found,) = tau2.score([run.folder])
    assert (found.passes, found.open) == (1, 1)


@pytest.mark.parametrize("met", [True, False])
def test_a_run_keeps_what_its_judge_said_and_is_scored_again_for_nothing(
    met, tau2_data_of_1_0_1, tmp_path, judge
):
    assertions = load_raw_task("retail", "16", version="1.0.1")["evaluation_criteria"][
        "nl_assertions"
    ]
    model = judge(judgement(*[met] * len(assertions)))

    run = tau2.run(**RETAIL, judge_model=model, output=tmp_path / "r")
    judge()  # from now on it has nothing to say
    (found,) = tau2.score([run.folder])
    certificate = tau2.certify(run.folder, partial=True)

    assert run.summary.overall.passed == found.passes == met
    assert (found.open, found.model.asked, found.agreeing) == (0, 0, 1)
    assert certificate.content["rules"]["judges"] == [model]
    assert [each["kind"] for each in certificate.content["findings"]] == ["part of a split"]
    view = show(run.folder)
    assert [*view.causes] == ([] if met else ["unclear: assertion not met"])


def test_a_verdict_that_a_judge_decides_says_so_where_it_is_explained(theirs):
    (found,) = tau2.score([theirs], embedded_tasks=True)
    waiting = next(each for each in found.simulations if each.open)
    failing = next(each for each in simulations_of_judged_tasks(theirs, found) if not each.open)

    explained = tau2.explain(theirs, failing.slot.task_id, embedded_tasks=True)
    undecided = tau2.explain(theirs, waiting.slot.task_id, embedded_tasks=True)

    assert explained.line.reward == 0.0
    assert [each.kind for each in undecided.findings if each.source == "cause"] == ["needs a judge"]


@pytest.fixture
def court(tau2_data_of_1_0_1: Path) -> list[Any]:
    """A judge of task 16 that replies whatever the list holds now: a text, or an error."""
    answers = []

    def make(name, **options):
        model = ScriptedModelAdapter(list(answers), model_id=name)
        model.policy = CallPolicy(max_attempts=1)
        return model

    register_model("court", make)
    return answers


def test_a_judge_that_was_down_is_asked_again_about_the_recorded_conversation(court, tmp_path):
    def run():
        ids = {**RETAIL, "task_id": ["0", "16"]}
        return tau2.run(**ids, judge_model="court/a", output=tmp_path / "r")

    court[:] = [OverloadedError("try later", provider="acme", status=503)]
    down = run()
    before = {each["task_id"]: each for each in RunFolder.read(down.folder).reports()}
    (meanwhile,) = tau2.score([down.folder])
    criteria = load_raw_task("retail", "16", version="1.0.1")["evaluation_criteria"]
    court[:] = [judgement(*[True] * len(criteria["nl_assertions"]))]
    resumed = run()
    after = {each["task_id"]: each for each in RunFolder.read(down.folder).reports()}

    assert down.summary.overall.missing == {"evaluation_failed": 1}
    assert not down.complete and down.resumable == 1
    assert down.summary.overall.pass_1 == {
        **{"value": 1.0, "verdicts": 1, "planned": 2, "worst": 0.5, "best": 1.0},
        **{key: down.summary.overall.pass_1[key] for key in ("low", "high")},
    }
    assert (meanwhile.passes, meanwhile.verdicts, meanwhile.open) == (1, 1, 1)
    assert meanwhile.pass_hat[1].bounds == (0.5, 1.0)
    assert resumed.complete and (resumed.ran, resumed.summary.overall.passed) == (1, 2)
    assert after["16"]["traces"] == before["16"]["traces"]
    assert after["0"] == before["0"]
    (scored,) = tau2.score([down.folder])
    assert (scored.passes, scored.verdicts, scored.agreeing) == (2, 2, 2)


def test_a_judge_that_is_locked_out_stops_the_run_at_once(court, tmp_path):
    court[:] = [AuthenticationError("bad key", provider="acme", model_id="locked out", status=401)]
    several = {**RETAIL, "trials": 3, "concurrency": 1}

    run = tau2.run(**several, judge_model="court/never answers", output=tmp_path / "r")

    assert "every other task would have failed in the same way" in run.stopped
    assert (run.ran, run.resumable) == (1, 3)
    assert run.summary.overall.missing == {"evaluation_failed": 1, "missing": 2}


def test_a_judge_that_is_down_costs_no_verdict_that_it_cannot_change(court, tmp_path):
    court[:] = [OverloadedError("try later", provider="acme", status=503)]
    failing = {**RETAIL, "agent": "noop"}

    run = tau2.run(**failing, judge_model="court/c", output=tmp_path / "r")

    assert run.complete and run.summary.overall.passed == 0


def test_the_rule_decides_without_a_model_and_its_number_is_named_apart(
    tau2_data_of_1_0_1, tmp_path
):
    ids = {**RETAIL, "task_id": ["0", "16", "105"]}

    run = tau2.run(**ids, judge_model="rule", output=tmp_path / "r")

    outcomes = {line.task_id: line.kind for line in show(run.folder).lines}
    assert outcomes == {"0": "pass", "16": "pass", "105": "pass"} and run.complete
    named = "judge: rule, not the official number"
    assert run.summary.to_dict()["judged_by"] == named
    assert all(row["name"].endswith(named) for row in page_summary(show(run.folder), None)["rows"])
    (scored,) = tau2.score([run.folder])
    assert (scored.passes, scored.agreeing) == (3, 3)
    assert "44 of 44" in scored.judge_words[0]
    with pytest.raises(ConfigurationError, match="those of a rule"):
        tau2.export(run.folder, tmp_path / "theirs.json")
    with pytest.raises(CertificateError, match="those of a rule"):
        tau2.certify(run.folder, partial=True)


def test_the_rule_decides_nothing_elsewhere(theirs, passed):
    found = judged_by(theirs, "rule")

    assert found.open == passed[1]


def test_another_judge_than_the_original_s_is_part_of_the_number_s_name(
    tau2_data_of_1_0_1, tmp_path, judge
):
    criteria = load_raw_task("retail", "16", version="1.0.1")["evaluation_criteria"]
    model = judge(judgement(*[True] * len(criteria["nl_assertions"])))

    run = tau2.run(**RETAIL, judge_model=model, output=tmp_path / "r")
    other = tau2.run(**{**RETAIL, "task_id": ["0"]}, judge_model=model, output=tmp_path / "o")

    assert run.summary.judged_by == f"judge: {model}, in the original gpt-4.1-2025-04-14"
    assert other.summary.judged_by is None  # nothing there depends on it


def test_agent_user_and_judge_cost_apart(court, tmp_path):
    def priced(name, **options):
        usage = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11, "cost": 0.25}
        return ScriptedModelAdapter(["unreadable", court[0]], model_id=name, usage=usage)

    criteria = load_raw_task("retail", "16", version="1.0.1")["evaluation_criteria"]
    court[:] = [judgement(*[True] * len(criteria["nl_assertions"]))]
    register_model("court", priced)

    run = tau2.run(**RETAIL, judge_model="court/dear", output=tmp_path / "r")

    (line,) = show(run.folder).lines
    assert (line.cost, line.judge_cost, line.user_cost) == (0.5, 0.5, 0.0)
    (row,) = frames.simulations(run.folder)
    assert (row["judge_cost"], row["agent_cost"]) == (0.5, 0.0)
    (first, second) = JudgeRecord(record_path(run.folder)).lines()
    assert (first.answer, first.usage["cost"], second.usage["cost"]) == (None, 0.25, 0.25)
    assert first.key == {"domain": "retail", "task_id": "16", "trial": 0}
    words = judging_in_words(RunFolder.read(run.folder))
    assert words == "Judged by dear: 1 judgement, 22 tokens, $0.50"


def test_an_undecided_judge_leaves_no_verdict_and_is_asked_again_alone(court, tmp_path):
    def run():
        return tau2.run(**RETAIL, judge_model="court/shy", output=tmp_path / "r")

    court[:] = ["I would rather not say."] * 2
    shy = run()
    (before,) = RunFolder.read(shy.folder).reports()
    criteria = load_raw_task("retail", "16", version="1.0.1")["evaluation_criteria"]
    court[:] = [judgement(*[True] * len(criteria["nl_assertions"]))]
    resumed = run()
    (after,) = RunFolder.read(shy.folder).reports()

    assert shy.summary.overall.missing == {"judge_undecided": 1} and shy.resumable == 1
    assert before["status"] == "judge_undecided" and before["eval"] is None
    assert resumed.complete and after["traces"] == before["traces"]
    assert len(JudgeRecord(record_path(shy.folder)).lines()) == 3


def test_what_is_judged_in_other_processes_is_kept_in_the_run_s_folder(
    tau2_data_of_1_0_1, tmp_path, judge
):
    criteria = load_raw_task("retail", "16", version="1.0.1")["evaluation_criteria"]
    model = judge(judgement(*[True] * len(criteria["nl_assertions"])))
    options = {**RETAIL, "trials": 3, "engine": "processes", "processes": 2, "concurrency": 2}

    run = tau2.run(**options, judge_model=model, output=tmp_path / "r")

    assert run.summary.overall.passed == 3
    ends = list(JudgeRecord(record_path(run.folder)).judgements())
    assert sorted(end.key["trial"] for end in ends) == [0, 1, 2]
    assert all(end.answer["checks"] for end in ends)
