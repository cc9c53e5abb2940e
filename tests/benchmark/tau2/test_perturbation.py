"""Perturbations change what an agent reads, and nothing that is true."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from maseval.benchmark.tau2.app.running.confidence import read_confidence
from maseval.benchmark.tau2.app.running.rewording import lost_facts, reword
from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.perturbation import Perturbation, PerturbedAnswers, restructure
from maseval.commands import tau2
from maseval.core.exceptions import ConfigurationError
from maseval.runs import RunFolder
from tests.cli.commandline import maseval


def call(requestor: str = "assistant") -> dict[str, Any]:
    return {"id": "1", "name": "look", "arguments": {}, "requestor": requestor}


def answering(content: str = "{}") -> Callable[..., Any]:
    return lambda call: {"id": "1", "role": "tool", "content": content, "error": False}


def test_restructured_json_says_the_same_in_another_form():
    value = {"b": [1, {"x": 2.5, "y": None}], "a": "text", "c": {}, "d": 1e30, "e": [], "f": True}
    text = json.dumps(value)
    other = restructure(text, Random(3))
    assert other != text and json.loads(other) == value
    assert list(json.loads(other)["b"]) == value["b"]
    assert restructure("Error: 5", Random(1)) == "Error: 5"
    assert restructure("7", Random(1)) == "7"


def test_faults_come_at_their_rate_and_the_call_is_not_made():
    answers = PerturbedAnswers(Perturbation.parse("faults=0.2"), seed=4)
    made = [answers.respond(call(), answering()) for _ in range(5000)]
    faults = [each for each in made if each.get("perturbed") == "faults"]
    assert len(faults) / 5000 == pytest.approx(0.2, abs=0.02)
    assert all(each["error"] and each["override"]["calls"] == [] for each in faults)
    assert "perturbed" not in answers.respond(call("user"), answering())


def test_structure_keeps_the_answer_of_the_tool_beside_it():
    answers = PerturbedAnswers(Perturbation.parse("structure"), seed=4)
    found = answers.respond(call(), answering('{"a": 1.5, "b": 2}'))
    assert found["override"]["calls"][0]["content"] == '{"a": 1.5, "b": 2}'
    assert "perturbed" not in answers.respond(call(), answering("done"))


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("85", 0.85),
        ("I am 90% sure.", 0.9),
        ("100", 1.0),
        ("none", None),
        ("0", 0.0),
        ("85.5", 0.855),
        ("85/100", 0.85),
        ("I would say 85 on a scale of 0 to 100.", 0.85),
        ("On a scale from 0 to 100: 70", 0.7),
        ("0.95", None),
        ("150", None),
    ],
)
def test_confidence_is_the_last_number(answer, value):
    assert read_confidence(answer) == value


def test_a_verdict_after_structure_is_that_of_the_same_run_without_it(tmp_path):
    runs = [
        tau2.run(domain="library", agent="gold", output=tmp_path / name, perturb=how).summary
        for name, how in (("plain", None), ("structure", "structure"))
    ]
    assert [each.overall.passed for each in runs] == [12, 12]
    scored = maseval("score", tmp_path / "structure")
    assert "12 of 12 recorded verdicts confirmed" in scored.stdout


def told_of(task: dict[str, Any]) -> dict[str, str]:
    return task["user_scenario"]["instructions"]


def test_a_rewording_keeps_ids_amounts_and_names():
    told = {"known_info": "You are Mia Lee, card B 11. You owe $4.20 for order #W12, a@b.org."}
    whole = {"known_info": "Your name is Mia Lee with card B 11; #W12 costs you $4.20; a@b.org"}
    assert lost_facts(told, whole) == []
    assert lost_facts(told, {"known_info": whole["known_info"].replace("#W12", "it")}) == ["#W12"]
    assert lost_facts(told, {"known_info": whole["known_info"].replace("4.20", "4")}) == ["$4.20"]
    assert lost_facts(told, {}) == ["known_info"]
    assert "Lee" in lost_facts(told, {"known_info": whole["known_info"].replace("Lee", "")})
    for wrong in ("$4.201", "$14.20", "$4.20,5"):
        other = {"known_info": whole["known_info"].replace("$4.20", wrong)}
        assert lost_facts(told, other) == ["$4.20"]
    assert lost_facts({"reason": "help me"}, {"reason": ""}) == ["reason"]
    assert lost_facts({"reason": None}, {"reason": None}) == []
    assert lost_facts("help me", {"reason": "help me"}) == ["a text"]


def test_a_model_rewords_once_and_users_are_told_the_other_words(tmp_path):
    task = next(each for each in load_raw_tasks("library") if each["id"] == "first_waiver")
    other = {k: v and f"In other words: {v}" for k, v in told_of(task).items()}
    replies = tmp_path / "replies.json"
    replies.write_text(json.dumps(["no JSON", "{}", f"```json\n{json.dumps(other)}\n```"]))
    file = tmp_path / "reworded.json"

    found = reword("library", f"scripted/{replies}", file, task_id=["first_waiver"])

    assert (found.reworded, found.failed) == (1, {})
    assert json.loads(file.read_text())["library"]["first_waiver"] == other
    again = reword("library", f"scripted/{replies}", file, task_id=["first_waiver"])
    assert again.reworded == 1  # nothing is asked twice

    replies.write_text(json.dumps(["Help me. ###STOP###"] * 9))
    run = tau2.run(
        domain="library",
        task_id=["first_waiver"],
        agent="noop",
        user="llm",
        user_model=f"scripted/{replies}",
        perturb=f"prompt={file}",
        output=tmp_path / "run",
    ).folder
    assert RunFolder.read(run).config.values["perturb"]["kind"] == "prompt"
    assert "In other words" in json.dumps([*RunFolder.read(run).reports()])

    with pytest.raises(ConfigurationError, match=r"no rewording of library/"):
        tau2.run(
            domain="library",
            agent="noop",
            user="llm",
            user_model=f"scripted/{replies}",
            perturb=f"prompt={file}",
            output=tmp_path / "more",
        )


def test_a_task_whose_rewordings_lose_a_fact_is_named(tmp_path):
    replies = tmp_path / "replies.json"
    replies.write_text(json.dumps(["{}"] * 3))
    file = tmp_path / "reworded.json"
    found = reword("library", f"scripted/{replies}", file, task_id=["first_waiver"])
    assert list(found.failed) == ["first_waiver"] and not file.exists()


def test_a_reference_agent_is_asked_outside_the_conversation(tmp_path):
    replies = tmp_path / "agent.json"
    replies.write_text(json.dumps(["Hello.", "I am 80 % sure.", "85"]))
    user = tmp_path / "user.json"
    user.write_text(json.dumps(["Hi.", "###STOP###"]))
    run = tau2.run(
        domain="library",
        task_id=["first_waiver"],
        agent_model=f"scripted/{replies}",
        user_model=f"scripted/{user}",
        ask_confidence=True,
        output=tmp_path / "run",
    ).folder
    [report] = RunFolder.read(run).reports()
    stated = report["traces"]["confidence"]["agent"]
    assert stated["value"] in (0.8, 0.85)
    said = [m["content"] for m in report["traces"]["environment"]["simulation"]["messages"]]
    assert stated["answer"] not in said
