from typing import Any

import pytest

from maseval.benchmark.macs import MACSEvaluator
from maseval.benchmark.macs.evaluator import combine_sides
from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import MessageHistory
from maseval.core.scripted import ScriptedModelAdapter
from maseval.core.task import Task

TRUE = '[{"assertion": "a", "answer": "TRUE", "evidence": "e"}]'
FALSE = '[{"assertion": "a", "answer": "FALSE", "evidence": "e"}]'
TEMPLATE = "S {{scenario}}\nH {{history}}\nI {{invocations}}\nA {{assertions}}"
MESSAGES = [
    {"role": "system", "content": "be kind"},
    {"role": "user", "content": "A room"},
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "tool", "content": "free"},
    {"role": "assistant", "content": [{"type": "text", "text": "Here"}, {"text": "you are"}]},
]


def task(
    assertions: tuple[str, ...] = ("user: told", "agent: booked"),
    scenario: str | None = "Goals: {{history}}",
    **data: Any,
) -> Task:
    return Task(
        "A room",
        id="t",
        environment_data={"primary_agent_id": "desk", "human_id": "User", **data},
        evaluation_data={"assertions": list(assertions)},
        metadata={"scenario": scenario} if scenario else {},
    )


def evaluator(
    *answers: str, side: str = "user", of: Task | None = None, **options: int
) -> tuple[MACSEvaluator, ScriptedModelAdapter]:
    judge = ScriptedModelAdapter(list(answers))
    return MACSEvaluator(judge, of or task(), side, TEMPLATE, **options), judge


def asked(judge: ScriptedModelAdapter) -> str:
    return judge.requests[-1]["messages"][0]["content"]


def test_each_side_sees_its_own_part_of_the_traces():
    traces = {
        "user": {"messages": ["u"]},
        "agents": {"helper": {"messages": ["h"]}, "desk": {"messages": ["d"]}},
        "tools": {"book": {"invocations": []}},
    }
    user, _ = evaluator()
    system, _ = evaluator(side="system")
    assert user.filter_traces(traces) == {"messages": ["u"]}
    assert system.filter_traces(traces) == {
        "messages": ["d"],
        "tool_traces": {"book": {"invocations": []}},
    }
    del traces["agents"]["desk"]
    assert system.filter_traces(traces)["messages"] == ["h"], "without the primary agent the first"
    assert user.filter_traces({}) == {"messages": []}
    assert system.filter_traces({}) == {"messages": [], "tool_traces": {}}


def test_recorded_trajectories_are_judged_by_both_sides():
    row = {"source": "User", "destination": "desk", "content": "hi", "role": "User"}
    other = {"source": "hotel", "role": "Observation", "observation": "free"}
    traces = {"environment": {"trajectories": {"desk": [row], "hotel": [other]}}}
    for side in ("user", "system"):
        judge_of, judge = evaluator(TRUE, side=side)
        filtered = judge_of.filter_traces(traces)
        assert judge_of(filtered)["gsr"] == 1.0
        assert "H [User -> desk]: hi\nI [hotel Observation]: free\n" in asked(judge)


def test_rows_without_the_primary_agent_are_not_the_conversation():
    user, judge = evaluator(TRUE)
    user({"messages": MESSAGES, "trajectories": {"hotel": []}})
    assert "H [User -> desk]: A room\n" in asked(judge)


@pytest.mark.parametrize("form", [list, MessageHistory])
def test_messages_become_lines_of_user_and_primary_agent(form):
    user, judge = evaluator(TRUE)
    user({"messages": form(MESSAGES)})
    assert (
        "H [User -> desk]: A room\n[desk -> User]: Here you are\nI No tool invocations recorded\n"
        in asked(judge)
    )


def test_invocations_are_written_in_the_order_of_time_under_the_agent_that_owns_the_tool():
    def call(time, answer):
        return {"timestamp": time, "inputs": {"n": 1}, "outputs": answer, "status": "success"}

    tools = {
        "book": {"owners": ["hotel"], "invocations": [call("2", "booked")]},
        "add": {"owners": ["a", "b"], "invocations": [call("1", "2"), call("3", "4")]},
    }
    system, judge = evaluator(TRUE, side="system")
    system({"messages": [], "tool_traces": tools})
    assert (
        "I [add Action]: {'tool_name': 'add', 'tool_parameters': {'n': 1}}\n[add Observation]: 2\n"
        "[hotel Action]: {'tool_name': 'book', 'tool_parameters': {'n': 1}}\n"
        "[hotel Observation]: booked\n"
    ) in asked(judge)


def test_the_judge_sees_the_whole_scenario_and_texts_are_not_filled_again():
    user, judge = evaluator(TRUE)
    user({"messages": []})
    scenario = {
        "scenario": "Goals: {{history}}",
        "input_problem": "A room",
        "assertions": ["user: told", "agent: booked"],
    }
    assert asked(judge).startswith(f"S {scenario}\nH ")
    assert asked(judge).endswith("\nA told")
    assert judge.requests[0]["generation_params"] == {
        "temperature": 0,
        "response_format": {"type": "json_object"},
    }


def test_a_task_without_assertions_needs_no_judge():
    user, judge = evaluator(of=task(assertions=(), scenario=None))
    assert user({}) == {"gsr": 1.0, "partial_gsr": 1.0, "report": []}
    assert judge.requests == []


def test_a_side_without_assertions_is_judged_by_the_original_s_default():
    system, judge = evaluator(TRUE, side="system", of=task(assertions=("user: told",)))
    result = system({})
    assert asked(judge).endswith("\nA User goals are achieved with help from the agent.")
    assert result["coverage"]["assertions"] == 0


def test_assertions_without_a_scenario_are_a_mistake_of_the_task():
    user, _ = evaluator(of=task(scenario=None))
    with pytest.raises(ValueError, match=r"'t' has assertions but no .*'scenario'"):
        user({})


def test_rows_keep_what_the_judge_says_and_learn_their_side():
    user, _ = evaluator(FALSE)
    result = user({})
    assert result == {
        "gsr": 0.0,
        "partial_gsr": 0.0,
        "report": [
            {"assertion": "a", "answer": "FALSE", "evidence": "e", "assertion_type": "user"}
        ],
        "coverage": {"assertions": 1, "rows": 1, "true": 0, "false": 1, "undecided": 0},
    }


def test_what_stays_unreadable_is_a_failure_that_says_so():
    user, judge = evaluator("one", "two")
    result = user({})
    assert (result["gsr"], result["partial_gsr"], result["report"]) == (0.0, 0.0, [])
    assert "JSON decode error" in result["error"]
    assert result["raw_response"] == "two"
    once, judge = evaluator("[]", max_try=1)
    assert "no assertion is judged" in once({})["error"]
    assert len(judge.requests) == 1


def test_only_the_two_sides_can_be_judged():
    with pytest.raises(ConfigurationError, match="'inner'; choose 'user' or 'system'"):
        evaluator(side="inner")


# Both sides together


def side(*answers: str, error: str | None = None) -> dict[str, Any]:
    true, rows = answers.count("TRUE"), [{"answer": answer} for answer in answers]
    decided = true + answers.count("FALSE")
    found = {
        "gsr": 1.0 if "FALSE" not in answers and not error else 0.0,
        "partial_gsr": true / decided if decided else 1.0,
        "report": rows,
    }
    return {**found, "error": error} if error else found


@pytest.mark.parametrize(
    ("user", "system", "expected"),
    [
        (side("TRUE"), side("TRUE", "TRUE"), (1.0, 1.0, 1.0, True)),
        (side("TRUE"), side("FALSE", "TRUE"), (0.0, 2 / 3, 1.0, False)),
        (side("FALSE"), side("TRUE"), (0.0, 0.5, 0.0, False)),
        (side(), side(), (1.0, 1.0, 1.0, True)),
        (side("TRUE"), side(error="unreadable"), (0.0, 0.0, 1.0, None)),
        (side("FALSE"), side(error="unreadable"), (0.0, 0.0, 0.0, False)),
    ],
)
def test_success_overall_is_success_of_both_and_the_partial_rate_is_weighted_by_rows(
    user, system, expected
):
    result = combine_sides(user, system)
    keys = ("overall_gsr", "overall_partial_gsr", "supervisor_gsr", "passed")
    assert tuple(result[key] for key in keys) == expected
    assert result["judge_errors"] == ({"system": "unreadable"} if "error" in system else {})
