"""Judging as in the original: what is asked, how answers are parsed, what the result is."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from maseval.benchmark.macs import VALID_DOMAINS, JudgeError, score_conversation
from maseval.benchmark.macs.data_loader import load_scenarios
from maseval.benchmark.macs.evaluator import (
    SIDES,
    assertions_of,
    judge_prompt,
    load_templates,
    read_answer,
    score_of,
)
from maseval.benchmark.macs.scoring import results_document, results_text
from maseval.benchmark.macs.trajectories import history_in, invocations_in
from maseval.core.scripted import ScriptedModelAdapter
from tests.contract.macs.vectors import cases_in
from tests.contract.replay import sha256

pytestmark = [pytest.mark.contract, pytest.mark.data]


@pytest.fixture(scope="module")
def original(macs_data: Path) -> SimpleNamespace:
    """Scenarios by domain, and the judge's prompts."""
    scenarios = {domain: load_scenarios(domain, macs_data) for domain in VALID_DOMAINS}
    return SimpleNamespace(scenarios=scenarios, templates=load_templates(macs_data))


@pytest.fixture(scope="module")
def conversations(macs_vectors: Path, macs_data: Path) -> dict[str, Any]:
    inputs = json.loads((macs_vectors / "conversation_inputs.json").read_text(encoding="utf-8"))
    return {
        name: each["conversation"]
        if "conversation" in each
        else json.loads((macs_data / each["file"]).read_text(encoding="utf-8"))
        for name, each in inputs.items()
    }


def test_every_recorded_answer_is_read_and_scored_as_recorded(macs_vectors):
    for case in cases_in(macs_vectors, "judge_outputs"):
        if "stage" in case:
            with pytest.raises(JudgeError):
                read_answer(case["raw"], "user", 1)
            continue
        side = read_answer(case["raw"], "user", 1)
        rows = [{key: row[key] for key in row if key != "assertion_type"} for row in side["report"]]
        score = side["gsr"], side["partial_gsr"]
        assert (rows, *score) == (case["rows"], case["gsr"], case["partial_gsr"]), case["name"]
        assert score_of(side["report"]) == score


def test_each_side_keeps_the_recorded_assertions(macs_vectors, original):
    for case in cases_in(macs_vectors, "assertions"):
        given = case.get("assertions")
        if given is None:
            given = original.scenarios[case["domain"]][case["index"]]["assertions"]
        for side in SIDES:
            kept = assertions_of(given, side)
            if side in case:
                assert kept == case[side], case["name"]
            else:
                found = {"count": len(kept), "sha256": sha256("\n".join(kept))}
                assert found == {key: case[f"{side}_{key}"] for key in found}, case["name"]


def test_every_conversation_reads_as_recorded(macs_vectors, conversations):
    for case in cases_in(macs_vectors, "conversations"):
        rows = conversations[case["name"]]["trajectories"]
        primary, human = case["primary_agent_id"], case["human_id"]

        def texts(rows=rows, primary=primary, human=human):
            return history_in(rows, primary), invocations_in(rows, primary, human)

        if "error_type" in case:
            with pytest.raises(KeyError):
                texts()
            continue
        for kind, text in zip(("history", "invocations"), texts(), strict=True):
            assert len(text) == case[f"{kind}_chars"], case["name"]
            assert sha256(text) == case[f"{kind}_sha256"], case["name"]
            assert text == case.get(kind, text)


def test_the_judge_is_asked_the_recorded_questions(macs_vectors, original, conversations):
    for case in cases_in(macs_vectors, "judge_prompts"):
        scenario = original.scenarios[case["domain"]][case["index"]]
        assert sha256(str(scenario)) == case["scenario_repr_sha256"]
        rows = conversations[case["conversation"]]["trajectories"]
        primary = f"{case['domain']}_agent"
        history, invocations = history_in(rows, primary), invocations_in(rows, primary, "User")
        for side in SIDES:
            prompt = judge_prompt(original.templates, side, scenario, history, invocations)
            assert len(prompt) == case[f"{side}_prompt_chars"], case["name"]
            assert sha256(prompt) == case[f"{side}_prompt_sha256"], case["name"]


def test_every_recorded_evaluation_has_the_recorded_calls_and_result(
    macs_vectors, original, conversations
):
    for case in cases_in(macs_vectors, "evaluations"):
        scenario = case.get("scenario")
        if scenario is None:
            scenario = original.scenarios[case["domain"]][case["index"]]
        judge = ScriptedModelAdapter(case["judge_outputs"], model_id="judge-model")

        def score(judge=judge, scenario=scenario, case=case):
            return score_conversation(
                conversations[case["conversation"]],
                scenario,
                judge,
                primary_agent_id=case["primary_agent_id"],
                human_id=case["human_id"],
                index=case["index"],
                strict=True,
                templates=original.templates,
            )

        if "error_type" in case:
            with pytest.raises(JudgeError):
                score()
        else:
            assert score() == case["result"], case["name"]
        assert [
            {
                "prompt_sha256": sha256(request["messages"][0]["content"]),
                "prompt_chars": len(request["messages"][0]["content"]),
                "roles": [message["role"] for message in request["messages"]],
                "model": judge.model_id,
                **request["generation_params"],
            }
            for request in judge.requests
        ] == case["judge_calls"], case["name"]


def test_every_recorded_set_of_results_has_the_recorded_means_and_file(macs_vectors):
    for case in cases_in(macs_vectors, "aggregates"):
        if "error_type" in case:
            with pytest.raises(ValueError, match="no mean"):
                results_document(case["evals"], case["scenario_count"])
            continue
        document = results_document(case["evals"], case["scenario_count"])
        text = results_text(document)
        assert (len(text), sha256(text)) == (case["file_chars"], case["file_sha256"])
        evals = document.pop("conversation_evals")
        assert (evals, document) == (case["evals"], case["result"]), case["name"]
