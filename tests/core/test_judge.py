"""A judge: asked in one form, read with care, and never twice."""

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from maseval.core.call_policy import CallPolicy
from maseval.core.exceptions import ConfigurationError, InvalidAnswerError
from maseval.core.judge import Checked, Judge, Question
from maseval.core.judge_record import Judgement, JudgeRecord, record_path
from maseval.core.provider_errors import AuthenticationError, ContentFilterError, OverloadedError
from maseval.core.scripted import ScriptedModelAdapter

KEY = {"domain": "retail", "task_id": "1", "trial": 0}


class Claims(BaseModel):
    """What the judge found."""

    model_config = ConfigDict(extra="forbid")

    claims: list[str]


def _only_true(answer: Claims, subject: str) -> Checked:
    kept = [claim for claim in answer.claims if claim in subject]
    dropped = [claim for claim in answer.claims if claim not in subject]
    return Checked(Claims(claims=kept), dropped)


POLICY = Question(
    "policy", "Policy: {{policy}}\n---\nWas it kept?\n{{conversation}}", Claims, check=_only_true
)
PARTS = {"policy": "Be kind. {{conversation}}", "conversation": "agent: no\n---\nuser: oh"}


def ask(
    replies: list[Any], record: JudgeRecord | None = None, key: dict[str, Any] = KEY, **options: Any
) -> tuple[Judgement, ScriptedModelAdapter]:
    model = ScriptedModelAdapter(replies, usage={"input_tokens": 10, "output_tokens": 2})
    model.policy = CallPolicy(max_attempts=1)
    judge = Judge(model, record=record, **options)
    return judge.ask(POLICY, key, PARTS["conversation"], **PARTS), model


def test_a_template_is_filled_in_one_pass_and_parted_where_it_says():
    system, user = POLICY.messages(PARTS)

    assert system == {"role": "system", "content": "Policy: Be kind. {{conversation}}"}
    assert user == {"role": "user", "content": "Was it kept?\nagent: no\n---\nuser: oh"}


def test_a_claim_without_evidence_is_dropped_and_counted():
    found, model = ask(['{"claims": ["agent: no", "agent: yes"]}'])

    assert found.answer == {"claims": ["agent: no"]} and found.dropped == ["agent: yes"]
    assert (found.undecided, found.usage["input_tokens"]) == (None, 10)
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        "I cannot help with that.",
        '{"claims": [',
        '{"claims": []',
        '{"found": []}',
        "{}",
        "[]",
        "Nothing wurde verletzt.",
        '```json\n{"claims": []}\n```\nBut rather:\n```json\n{"claims": ["agent: no"]}\n```',
        ContentFilterError("no", provider="p"),
    ],
)
def test_what_cannot_be_read_is_asked_for_once_more_and_then_undecided(garbage):
    again, model = ask([garbage, '{"claims": []}'])
    assert again.answer == {"claims": []} and again.attempt == 2
    assert "cannot be used" in model.requests[1]["messages"][-1]["content"]

    never, model = ask([garbage, garbage])
    assert never.answer is None and never.undecided and not never.unanswered
    assert len(model.requests) == 2


def test_a_form_without_a_required_field_is_refused():
    class Loose(BaseModel):
        """Anything is one."""

        claims: list[str] = []

    with pytest.raises(ConfigurationError, match="no required field"):
        Question("policy", "?", Loose)


def test_the_same_question_is_asked_once(tmp_path):
    record = JudgeRecord(record_path(tmp_path))
    ask(["what?", '{"claims": []}'], record)
    record.close()

    again, model = ask([], JudgeRecord(record_path(tmp_path)))
    other, _ = ask([], JudgeRecord(record_path(tmp_path)), key={**KEY, "trial": 1})

    assert again.answer == other.answer == {"claims": []} and not model.requests
    lines = JudgeRecord(record_path(tmp_path)).lines()
    assert [(line.attempt, line.reused, bool(line.usage)) for line in lines] == [
        (1, False, True),
        (2, False, True),
        (2, True, False),
    ]
    ends = list(JudgeRecord(record_path(tmp_path)).judgements())
    assert [(end.key["trial"], end.attempt) for end in ends] == [(0, 2), (1, 2)]


def test_equal_conversations_have_a_line_each_however_often_they_are_asked_about(tmp_path):
    record = JudgeRecord(record_path(tmp_path))
    ask(['{"claims": []}'], record)
    for _ in range(2):
        for trial in (0, 1):
            ask([], record, key={**KEY, "trial": trial})
    assert len(record.lines()) == 2


def test_a_judge_that_was_down_is_asked_again(tmp_path):
    record = JudgeRecord(record_path(tmp_path))
    down, _ = ask([OverloadedError("busy", provider="p")], record)
    assert down.unanswered and down.answer is None and "busy" in down.undecided

    found, _ = ask(['{"claims": []}'], record)

    assert found.answer == {"claims": []}
    assert [end.unanswered for end in record.judgements()] == [False]


def test_what_makes_every_request_fail_is_raised_and_recorded(tmp_path):
    record = JudgeRecord(record_path(tmp_path))

    with pytest.raises(AuthenticationError):
        ask([AuthenticationError("wrong key", provider="p")], record)

    assert [line.unanswered for line in record.lines()] == [True]


def test_keys_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "sk-abcdefghijklmnop1234")
    record = JudgeRecord(record_path(tmp_path))

    ask(['{"claims": ["sk-abcdefghijklmnop1234"]}'], record, params={"api_key": "hidden-key"})

    text = record_path(tmp_path).read_text()
    assert "<redacted>" in text and "abcdefgh" not in text and "hidden-key" not in text


def test_a_worker_hands_its_new_answers_over(tmp_path):
    record = JudgeRecord(record_path(tmp_path))
    worker = record.for_worker()
    ask(['{"claims": []}'], worker)
    assert not record.path.exists()

    for line in worker.take_new():
        record.add(line)

    assert not worker.take_new() and len(list(JudgeRecord(record.path).judgements())) == 1


def test_an_answer_of_the_form_is_an_object():
    model = ScriptedModelAdapter(['Here: {"claims": ["a"]}.', "nothing"])
    request = [{"role": "user", "content": "?"}]

    assert model.chat(request, response_model=Claims).parsed == Claims(claims=["a"])
    assert '"claims"' in model.requests[0]["messages"][0]["content"]
    with pytest.raises(
        InvalidAnswerError, match="gave no valid Claims: the whole answer"
    ) as caught:
        model.chat(request, response_model=Claims)
    assert caught.value.reply == "nothing"
