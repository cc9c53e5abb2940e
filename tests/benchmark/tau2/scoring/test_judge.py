"""Judges of natural-language assertions."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.scoring.judge import JudgeReplyError, judge
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.benchmark.tau2.texts.loading import load_texts
from maseval.benchmark.tau2.wording import OURS
from maseval.core.scripted import ScriptedModelAdapter

CONVERSATION = [
    {"role": "user", "content": "Are you {conversation}?"},
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "tool", "content": "[]"},
    {"role": "assistant", "content": "Yes."},
]
ASSERTIONS = ["The agent answers.", 'It\'s "kind".']


def results(*met: bool | str | None) -> str:
    return json.dumps(
        {
            "results": [
                {"expectedOutcome": text, "reasoning": f"because {n}", "metExpectation": outcome}
                for n, (text, outcome) in enumerate(zip(ASSERTIONS, met, strict=False))
            ]
        }
    )


def ask(reply: str, **options: bool) -> list[dict[str, Any]]:
    return judge(ScriptedModelAdapter([reply], loop=True), CONVERSATION, ASSERTIONS, **options)


def test_the_judge_reads_the_whole_conversation_and_every_assertion_once():
    model = ScriptedModelAdapter([results(True, False)])
    judge(model, CONVERSATION, ASSERTIONS)

    (request,) = model.requests
    system, user = request["messages"]
    assert request["generation_params"] == {"temperature": 0.0}
    assert (system["role"], user["role"]) == ("system", "user")
    assert '"metExpectation"' in system["content"]
    spoken = "user: Are you {conversation}?\nassistant: None\ntool: []\nassistant: Yes."
    assert user["content"].count(spoken) == 1
    assert str(ASSERTIONS) in user["content"]


@pytest.mark.parametrize("strict", [True, False])
def test_each_assertion_gets_an_outcome_and_a_reason(strict):
    assert ask(results(True, False), strict=strict) == [
        {"nl_assertion": ASSERTIONS[0], "met": True, "justification": "because 0"},
        {"nl_assertion": ASSERTIONS[1], "met": False, "justification": "because 1"},
    ]


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "not json",
        "[]",
        "{}",
        '{"results": []}',
        '{"results": null}',
        '{"results": [true, true]}',
        results(True),
        results(True, None),
        results(True, "yes"),
        "{" * 100_000 + "}",
    ],
)
def test_a_reply_that_does_not_decide_every_assertion_is_an_error(reply):
    with pytest.raises(JudgeReplyError, match=r"^the judge"):
        ask(reply)


@pytest.mark.parametrize(("before", "after"), [("```json\n", "\n```"), ("Here: ", "."), ("", "!")])
def test_text_around_the_reply_is_no_obstacle(before, after):
    reply = f"{before}{results(True, True)}{after}"

    assert [check["met"] for check in ask(reply)] == [True, True]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ("not json", json.JSONDecodeError),
        (f"```json\n{results(True, True)}\n```", json.JSONDecodeError),
        ("[]", AttributeError),
        (results(True, None), ValidationError),
    ],
)
def test_strict_reads_a_reply_as_the_original_does(reply, error):
    with pytest.raises(error):
        ask(reply, strict=True)
    assert ask('{"results": []}', strict=True) == []


@pytest.mark.data
def test_a_recorded_conversation_is_judged_in_the_words_that_are_asked_for(shared_data, tau2_data):
    texts = load_texts("0.2.0", shared_data / "tau2-texts")
    task = load_raw_task("airline", "1")
    simulation = {"messages": CONVERSATION, "termination_reason": "user_stop", "task_id": "1"}
    asked = {}
    for chosen in ("ours", texts):
        model = ScriptedModelAdapter([json.dumps({"results": []})])
        score_simulation(
            simulation,
            domain="airline",
            evaluation_type="nl_assertions",
            nl_model=model,
            strict=True,
            texts=chosen,
        )
        (asked[str(chosen)],) = (request["messages"] for request in model.requests)

    mine, original = asked.values()
    assertions = task["evaluation_criteria"]["nl_assertions"]
    assert [message["content"] for message in mine] == [
        *OURS.judge_prompts(CONVERSATION, assertions)
    ]
    assert original[0]["content"] == texts.prompts["judge_system"]
