import json
from typing import Any

import pytest

from maseval.benchmark.macs import JudgeError, score_conversation, score_conversations
from maseval.benchmark.macs.trajectories import TrajectoryLog, history_in, invocations_in
from maseval.core.exceptions import ConfigurationError
from maseval.core.scripted import ScriptedModelAdapter

TRUE = '[{"assertion": "a", "answer": "TRUE", "evidence": "e"}]'
TEMPLATES = {"user": "{{history}}", "system": "{{history}}|{{invocations}}"}
SCENARIO = {"scenario": "s", "input_problem": "hi", "assertions": ["user: a", "agent: b"]}


def log() -> TrajectoryLog:
    rows = TrajectoryLog()
    rows.message("User", "desk", "A room")
    rows.message("desk", "hotel", "Book one")
    rows.call("hotel", "Hotel::book", {"n": 1})
    rows.observation("hotel", "booked")
    rows.message("hotel", "desk", "Done")
    rows.message("desk", "User", "It is booked")
    return rows


def score(
    *answers: str, rows: dict[str, Any] | None = None, **options: int
) -> tuple[dict[str, Any], ScriptedModelAdapter]:
    conversation = {"trajectories": log().rows if rows is None else rows}
    judge = ScriptedModelAdapter(list(answers))
    ids = {"primary_agent_id": "desk", "human_id": "User"}
    result = score_conversation(
        conversation, SCENARIO, judge, templates=TEMPLATES, **ids, **options
    )
    return result, judge


def test_a_live_conversation_is_written_in_the_original_s_form():
    rows = log().rows
    assert list(rows) == ["User", "desk", "hotel"]
    assert [row["content"] for row in rows["User"]] == ["A room", "It is booked"]
    assert history_in(rows, "desk") == (
        "[User -> desk]: A room\n[desk -> hotel]: Book one\n"
        "[hotel -> desk]: Done\n[desk -> User]: It is booked"
    )
    assert invocations_in(rows, "desk", "User") == (
        "\n[hotel Action]: {'tool_name': 'Hotel::book', 'tool_parameters': {'n': 1}}\n"
        "[hotel Observation]: booked\n"
    )
    assert rows["hotel"][1] == {
        "role": "Action",
        "source": "hotel",
        "destination": "hotel",
        "content": None,
        "actions": [
            {
                "tool_name": "Hotel::book",
                "action_name": None,
                "parameters": {
                    "mock_fn_input": {"tool_name": "Hotel::book", "tool_parameters": {"n": 1}}
                },
            }
        ],
        "observation": None,
    }


def test_unreadable_answers_are_asked_for_again_and_then_fail_with_an_error():
    result, judge = score("x", TRUE, "y", TRUE)
    assert result["overall_gsr"] == 1.0
    assert len(judge.requests) == 4
    result, judge = score(TRUE, "x", "y", index=7)
    assert (result["trajectory_index"], result["user_gsr"], result["report"]) == (7, 0.0, [])
    assert result["raw_response"] == "y"
    assert "JSON decode error" in result["error"]


def test_strict_means_one_attempt_and_an_exception():
    with pytest.raises(JudgeError, match=r"\[judge\] JSON decode error"):
        score("x", TRUE, strict=True)


@pytest.mark.parametrize("rows", [{}, {"desk": None}, {"desk": [{}]}, {"desk": ["text"]}])
def test_a_malformed_conversation_is_not_shown_to_the_judge(rows):
    result, judge = score(rows=rows)
    assert "is malformed" in result["error"]
    assert judge.requests == []


@pytest.mark.parametrize("strict", [True, False])
def test_an_action_whose_actions_are_null_is_refused_and_not_shown_to_the_judge(strict):
    rows = log().rows
    rows["hotel"][1]["actions"] = None
    if strict:
        with pytest.raises(JudgeError, match=r"malformed.*'hotel' is an Action whose actions are"):
            score(TRUE, TRUE, rows=rows, strict=True)
    else:
        result, judge = score(TRUE, TRUE, rows=rows)
        assert "actions are null" in result["error"] and judge.requests == []


@pytest.mark.data
def test_the_published_sample_scores_as_published(macs_data):
    folder = macs_data / "sample_conversations" / "travel"
    published = json.loads((folder / "results.json").read_text())
    (recorded,) = published["conversation_evals"]
    answers = [
        json.dumps([row for row in recorded["report"] if row["assertion_type"] == side])
        for side in ("user", "system")
    ]
    judge = ScriptedModelAdapter(answers)
    assert score_conversations(folder, "travel", judge, data_dir=macs_data) == published


@pytest.mark.data
def test_a_folder_without_conversations_says_what_they_are_called(macs_data, tmp_path):
    with pytest.raises(ConfigurationError, match=r"conversation_0\.json to conversation_29\.json"):
        score_conversations(tmp_path, "travel", ScriptedModelAdapter([]), data_dir=macs_data)


@pytest.mark.data
@pytest.mark.parametrize("text", ["{", "[]", '{"trajectories": []}'])
def test_a_file_that_is_no_conversation_is_named(macs_data, tmp_path, text):
    (tmp_path / "conversation_3.json").write_text(text)
    with pytest.raises(JudgeError, match=r"conversation_3\.json is not a conversation"):
        score_conversations(tmp_path, "travel", ScriptedModelAdapter([]), data_dir=macs_data)
