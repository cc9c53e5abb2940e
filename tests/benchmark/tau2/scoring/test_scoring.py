import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.benchmark.tau2.conversation.recording import SimulationFormatError, read_recording
from maseval.benchmark.tau2.data_loader import UnknownTaskError, load_tasks
from maseval.benchmark.tau2.domains import UnknownDomainError
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.benchmark.tau2.world.tasks import Action
from maseval.core.exceptions import ConfigurationError, TaskFormatError
from maseval.core.scripted import ScriptedModelAdapter
from tests.benchmark.tau2.todo_list import COMPLETE, CREATE, do, said, task, todo_list


@pytest.fixture
def domain(tmp_path: Path) -> Domain:
    return todo_list(tmp_path, task(CREATE))


def test_a_conversation_that_ends_where_the_reference_does_has_full_reward(domain):
    verdict = score_simulation(said(domain, CREATE, "Done."), domain=domain)

    assert verdict == {
        "reward": 1.0,
        "db_check": {"db_match": True, "db_reward": 1.0},
        "env_assertions": [],
        "action_checks": [
            {
                "action": {
                    "action_id": "0",
                    "requestor": "assistant",
                    "name": "create_task",
                    "arguments": {"user_id": "user_1", "title": "Meeting"},
                    "info": None,
                    "compare_args": None,
                },
                "action_match": True,
                "action_reward": 1.0,
            }
        ],
        "nl_assertions": None,
        "communicate_checks": None,
        "reward_basis": ["DB", "COMMUNICATE"],
        "reward_breakdown": {"DB": 1.0, "COMMUNICATE": 1.0},
        "info": {
            "env": None,
            "nl": None,
            "communicate": {"note": "No communicate_info to evaluate"},
            "action": None,
        },
    }
    assert list(verdict) == list(RewardInfo.__annotations__)


def test_what_is_outside_the_basis_is_reported_and_does_not_count(domain):
    graded = task(CREATE, communicate_info=["42"], reward_basis=["DB"])
    verdict = score_simulation(said(domain, CREATE, "I forgot."), domain=domain, task=graded)

    assert verdict["reward"] == 1.0
    assert verdict["reward_breakdown"] == {"DB": 1.0}
    assert verdict["communicate_checks"] == [
        {"info": "42", "met": False, "justification": "Information '42' not communicated."}
    ]


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("max_steps", "TerminationReason.MAX_STEPS"),
        ("too_many_errors", "TerminationReason.TOO_MANY_ERRORS"),
        ("task_timeout", "task_timeout"),
        (None, "none recorded"),
    ],
)
def test_what_was_cut_off_has_no_reward_whatever_it_achieved(domain, reason, shown):
    verdict = score_simulation(said(domain, CREATE, termination_reason=reason), domain=domain)

    assert verdict["reward"] == 0.0
    assert verdict["db_check"] is None
    note = f"Simulation terminated prematurely. Termination reason: {shown}"
    assert verdict["info"] == {"note": note}


def test_a_task_that_asks_for_nothing_is_done(domain):
    verdict = score_simulation(
        said(domain), domain=domain, task={"id": "x", "evaluation_criteria": None}
    )

    assert (verdict["reward"], verdict["info"]) == (1.0, {"note": "No evaluation criteria"})


@pytest.mark.parametrize(
    ("info", "content", "met"),
    [
        ("1234", "The total is 1,234.", True),
        ("eur 1234", "THE TOTAL IS EUR 1234", True),
        ("1234", "It is 12345.", True),
        ("1234", "The total is 1 234.", False),
        ("1234", "   ", False),
        ("1,234", "1,234", False),
    ],
)
def test_information_is_found_without_regard_to_commas_in_the_text_and_case(
    domain, info, content, met
):
    graded = task(communicate_info=[info])
    verdict = score_simulation(said(domain, content), domain=domain, task=graded)

    assert [check["met"] for check in verdict["communicate_checks"]] == [met]
    assert verdict["reward"] == met


def test_what_the_user_says_is_not_communicated_by_the_agent(domain):
    simulation = said(domain)
    simulation["messages"] = [{"role": "user", "content": "Is it 42?"}]
    graded = task(communicate_info=["42"])

    assert score_simulation(simulation, domain=domain, task=graded)["reward"] == 0.0


@pytest.mark.parametrize(
    ("compare_args", "arguments", "matched"),
    [
        (None, {"a": 1, "b": 2}, True),
        (None, {"a": 1}, True),
        (None, {}, True),
        (None, {"a": 1, "b": 2, "c": 3}, False),
        (None, {"a": "1"}, False),
        ([], {"a": 9}, True),
        (["b"], {"a": 9, "b": 2}, True),
        (["b"], {"a": 1}, False),
    ],
)
def test_which_call_counts_as_an_action(compare_args, arguments, matched):
    action = Action(action_id="0", name="f", arguments={"a": 1, "b": 2}, compare_args=compare_args)

    assert action.matches({"name": "f", "arguments": arguments}) is matched
    assert not action.matches({"name": "g", "arguments": arguments})


@pytest.mark.parametrize(
    ("kind", "basis", "breakdown"),
    [
        ("env", ["DB", "COMMUNICATE"], {"DB": 1.0}),
        ("action", ["DB"], {"ACTION": 1.0}),
        ("communicate", ["DB"], {"COMMUNICATE": 0.0}),
        ("nl_assertions", ["DB"], {"NL_ASSERTION": 1.0}),
    ],
)
def test_a_single_check_can_be_asked_for(domain, kind, basis, breakdown):
    graded = task(CREATE, communicate_info=["42"])
    verdict = score_simulation(
        said(domain, CREATE), domain=domain, task=graded, evaluation_type=kind
    )

    assert verdict["reward_basis"] == basis
    assert verdict["reward_breakdown"] == breakdown
    assert verdict["reward"] == next(iter(breakdown.values()))


def test_every_action_of_the_reference_must_be_taken(domain):
    graded = task(CREATE, COMPLETE, reward_basis=["ACTION"])

    verdict = score_simulation(said(domain, CREATE), domain=domain, task=graded)

    assert [each["action_match"] for each in verdict["action_checks"]] == [True, False]
    assert verdict["reward_breakdown"] == {"ACTION": 0.0}


def status_is(expected: str) -> dict[str, Any]:
    arguments = {"task_id": "task_1", "expected_status": expected}
    return {"env_type": "assistant", "func_name": "assert_task_status", "arguments": arguments}


def test_every_assertion_about_the_world_must_hold(domain):
    asserted = [status_is("pending"), status_is("completed")]
    graded = task(CREATE, env_assertions=asserted, reward_basis=["ENV_ASSERTION"])

    verdict = score_simulation(said(domain, CREATE), domain=domain, task=graded)

    assert [each["met"] for each in verdict["env_assertions"]] == [True, False]
    assert verdict["reward_breakdown"] == {"ENV_ASSERTION": 0.0}


@pytest.mark.parametrize("kind", ["all_ignore_basis", "all_with_nl_assertions_ignore_basis"])
@pytest.mark.parametrize(
    ("basis", "world"),
    [
        (["DB"], {"DB": 1.0}),
        (["ENV_ASSERTION"], {"ENV_ASSERTION": 0.0}),
        (["DB", "ENV_ASSERTION"], {"DB": 1.0, "ENV_ASSERTION": 0.0}),
        (["COMMUNICATE"], {}),
    ],
)
def test_whatever_the_basis_the_parts_of_the_world_count_only_within_it(domain, kind, basis, world):
    graded = task(
        CREATE,
        env_assertions=[status_is("completed")],
        communicate_info=["42"],
        reward_basis=basis,
    )
    verdict = score_simulation(
        said(domain, CREATE, "It is 42."),
        domain=domain,
        task=graded,
        version="1.0.1",
        evaluation_type=kind,
        nl_model=judged(True),
    )

    others = {"ACTION": 1.0, "COMMUNICATE": 1.0}
    asked = {"NL_ASSERTION": 1.0} if "nl" in kind else {}
    assert verdict["reward_breakdown"] == {**world, **others, **asked}
    assert verdict["reward"] == (0.0 if "ENV_ASSERTION" in basis else 1.0)


def test_a_judge_is_not_asked_whatever_the_basis_unless_its_assertions_are_wanted(domain):
    judge = judged(False)
    graded = task(CREATE, nl_assertions=["It was kind."], reward_basis=["NL_ASSERTION"])
    verdict = score_simulation(
        said(domain, CREATE, "Done."),
        domain=domain,
        task=graded,
        version="1.0.1",
        evaluation_type="all_ignore_basis",
        nl_model=judge,
    )

    assert judge.requests == []
    assert verdict["reward_breakdown"] == {"ACTION": 1.0, "COMMUNICATE": 1.0}


def test_an_unknown_kind_of_evaluation_is_refused(domain):
    with pytest.raises(ConfigurationError, match="choose one of: all, env"):
        score_simulation(said(domain), domain=domain, evaluation_type="vibes")


def edited(domain: Domain, change: Callable[..., Any]) -> dict[str, Any]:
    """A conversation of one call and its answer, whose messages are changed."""
    simulation = said(domain, CREATE)
    change(simulation["messages"])
    return simulation


def test_an_answer_that_does_not_come_again_makes_a_conversation_unscorable(domain):
    altered = edited(domain, lambda messages: messages[1].update(content="Sorry."))
    verdict = score_simulation(altered, domain=domain)

    assert verdict["reward"] == 0.0
    assert verdict["db_check"] is verdict["action_checks"] is verdict["reward_breakdown"] is None
    problem = verdict["info"]["replay_error"]
    assert problem["message_index"] == 1
    assert problem["call"] == {"id": "call_0", "requestor": "assistant", **CREATE}
    assert problem["expected"] == "Sorry."
    assert json.loads(problem["found"])["task_id"] == "task_2"
    assert problem["error_type"] == "ValueError"
    assert problem["error"].startswith("Tool call:\nToolCall (from assistant)\nid: call_0")
    json.dumps(verdict)


@pytest.mark.parametrize(
    ("change", "error", "index"),
    [
        (lambda messages: messages[1].update(content=None), TypeError, 1),
        (lambda messages: messages.pop(0), ValueError, 0),
        (lambda messages: messages.pop(1), ValueError, 1),
        (lambda messages: messages[1].update(content="[" * 100_000), RecursionError, 1),
    ],
    ids=["no content", "orphan", "unanswered", "bottomless"],
)
def test_whatever_cannot_be_replayed_is_recorded_or_raised(domain, change, error, index):
    broken = edited(domain, change)
    problem = score_simulation(broken, domain=domain)["info"]["replay_error"]

    assert (problem["message_index"], problem["error_type"]) == (index, error.__name__)
    with pytest.raises(error) as raised:
        score_simulation(broken, domain=domain, strict=True)
    assert raised.type is error


def test_an_assertion_that_cannot_even_be_asked_is_a_failure_of_the_conversation(domain):
    assertion = {
        "env_type": "assistant",
        "func_name": "assert_task_status",
        "arguments": {"task_id": "task_2", "expected_status": "pending"},
    }
    graded = task(CREATE, env_assertions=[assertion], reward_basis=["ENV_ASSERTION"])

    held = score_simulation(said(domain, CREATE), domain=domain, task=graded)
    assert held["reward_breakdown"] == {"ENV_ASSERTION": 1.0}
    assert held["env_assertions"][0]["env_assertion"]["assert_value"] is True
    lost = score_simulation(said(domain), domain=domain, task=graded)
    assert lost["reward"] == 0.0
    assert lost["info"]["replay_error"]["error"] == "Task task_2 not found"
    with pytest.raises(ValueError, match=r"^Task task_2 not found$"):
        score_simulation(said(domain), domain=domain, task=graded, strict=True)


def test_keys_with_defaults_may_be_missing_and_unknown_ones_are_passed_over(domain):
    simulation = said(domain, CREATE, invented="later")
    call, answer = simulation["messages"]
    del call["tool_calls"][0]["id"], call["tool_calls"][0]["requestor"], call["content"]
    del answer["id"], answer["requestor"], answer["error"]

    assert score_simulation(simulation, domain=domain)["reward"] == 1.0


def test_neither_simulation_nor_task_is_changed(domain):
    graded = task(CREATE, communicate_info=["42"])
    simulation = said(domain, CREATE, "42")
    before = copy.deepcopy((simulation, graded))

    verdict = score_simulation(simulation, domain=domain, task=graded)
    verdict["action_checks"][0]["action"]["arguments"]["title"] = "Nonsense"

    assert (simulation, graded) == before
    again = score_simulation(simulation, domain=domain, task=graded)
    assert again["action_checks"][0]["action"]["arguments"]["title"] == "Meeting"


def test_the_task_is_looked_up_given_raw_or_given_as_loaded(domain):
    simulation = said(domain, CREATE, "Done.")
    given = [None, task(CREATE), load_tasks(domain)[0]]

    verdicts = [score_simulation(simulation, domain=domain, task=each) for each in given]
    assert verdicts[0] == verdicts[1] == verdicts[2]


def test_a_task_file_that_changed_is_read_again(domain):
    simulation = said(domain, CREATE)
    assert score_simulation(simulation, domain=domain)["reward"] == 1.0

    file = domain.data_dir / "tasks.json"
    file.write_text(json.dumps([task(COMPLETE)]))
    os.utime(file, ns=(1, 1))

    assert score_simulation(simulation, domain=domain)["reward"] == 0.0


def test_what_a_task_sets_up_and_tells_first_is_part_of_both_worlds(domain):
    opening = said(domain, CREATE)["messages"]
    del opening[0]["tool_calls"][0]["requestor"]
    start = {
        "initialization_actions": [{"env_type": "assistant", "func_name": COMPLETE["name"]}],
        "message_history": opening,
    }
    start["initialization_actions"][0]["arguments"] = COMPLETE["arguments"]
    graded = task(do("update_task_status", task_id="task_2", status="completed"), start=start)
    finish = said(domain, CREATE, do("update_task_status", task_id="task_2", status="completed"))

    assert score_simulation(finish, domain=domain, task=graded)["reward"] == 1.0
    assert score_simulation(said(domain, CREATE), domain=domain, task=graded)["reward"] == 0.0


def test_a_task_must_be_named_or_given(domain):
    with pytest.raises(UnknownTaskError, match="has no task 'elsewhere'"):
        score_simulation(said(domain, task_id="elsewhere"), domain=domain)
    with pytest.raises(SimulationFormatError, match=r"^task_id is None"):
        score_simulation(said(domain, task_id=None), domain=domain)
    with pytest.raises(UnknownDomainError):
        score_simulation(said(domain), domain="seaside")


@pytest.mark.parametrize("wrong", ["a_task", {"evaluation_criteria": {"reward_basis": ["LUCK"]}}])
def test_a_malformed_task_is_refused(domain, wrong):
    with pytest.raises(TaskFormatError, match=r"not 'a_task'|reward_basis\.0"):
        score_simulation(said(domain), domain=domain, task=wrong)


@pytest.mark.parametrize(
    ("simulation", "field"),
    [
        (None, "simulation"),
        ([], "simulation"),
        ({}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": ["hello"]}, r"messages\[0\]"),
        ({"messages": [{"role": "boss"}]}, r"messages\[0\]\.role"),
        ({"messages": [{"role": "user", "content": 3}]}, r"messages\[0\]\.content"),
        ({"messages": [{"role": "tool", "id": 3}]}, r"messages\[0\]\.id"),
        ({"messages": [{"role": "user", "tool_calls": {}}]}, r"messages\[0\]\.tool_calls"),
        ({"messages": [], "termination_reason": 3}, "termination_reason"),
    ],
)
def test_a_malformed_simulation_is_refused_by_the_name_of_the_field(domain, simulation, field):
    with pytest.raises(SimulationFormatError, match=f"^{field} is "):
        score_simulation(simulation, domain=domain)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": None}, "name"),
        ({"arguments": "{}"}, "arguments"),
        ({"requestor": "boss"}, "requestor"),
        ({"id": 7}, "id"),
    ],
)
def test_a_malformed_call_is_refused_by_the_name_of_the_field(change, field):
    call = {"id": "1", "name": "f", "arguments": {}, "requestor": "user", **change}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}

    with pytest.raises(SimulationFormatError, match=rf"^messages\[0\]\.tool_calls\[0\]\.{field} "):
        read_recording({"messages": [message]})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["messages", "role", "content", "tool_calls", "name", "arguments", "id"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_read_or_refused_by_name(anything):
    try:
        recording = read_recording(anything)
    except SimulationFormatError:
        return
    assert recording.termination_reason is None


NL_BASIS = {"nl_assertions": ["The agent is kind."], "reward_basis": ["NL_ASSERTION"]}


def judged(met: bool) -> ScriptedModelAdapter:
    result = {"expectedOutcome": "The agent is kind.", "reasoning": "So.", "metExpectation": met}
    return ScriptedModelAdapter([json.dumps({"results": [result]})])


def test_a_reward_that_depends_on_a_judge_needs_one(domain):
    simulation, graded = said(domain, CREATE), task(CREATE, **NL_BASIS)

    with pytest.raises(NoJudgeError, match=r"^NL assertions are part of the reward basis, but"):
        score_simulation(simulation, domain=domain, task=graded)
    with pytest.raises(ValueError, match=r"^NL assertions are part of the reward basis, but") as e:
        score_simulation(simulation, domain=domain, task=graded, strict=True)
    assert e.type is ValueError
    with pytest.raises(NoJudgeError, match="nl_model"):
        score_simulation(
            simulation, domain=domain, task=graded, evaluation_type="all_with_nl_assertions"
        )


@pytest.mark.parametrize("met", [True, False])
def test_with_a_judge_the_reward_is_its_verdict(domain, met):
    verdict = score_simulation(
        said(domain, CREATE), domain=domain, task=task(CREATE, **NL_BASIS), nl_model=judged(met)
    )

    assert verdict["reward_breakdown"] == {"NL_ASSERTION": float(met)}
    assert verdict["nl_assertions"] == [
        {"nl_assertion": "The agent is kind.", "met": met, "justification": "So."}
    ]


def test_a_judge_is_not_asked_where_nothing_depends_on_it(domain):
    judge = judged(True)
    graded = task(CREATE, nl_assertions=["The agent is kind."])
    score_simulation(said(domain, CREATE), domain=domain, task=graded, nl_model=judge)

    assert judge.requests == []


@pytest.mark.data
@pytest.mark.parametrize("answers", ["user", "assistant"])
def test_solo_recordings_have_no_user_in_them(tau2_data, answers):
    simulation = {
        "task_id": None,
        "messages": [{"role": answers, "content": "Hello"}],
        "termination_reason": "agent_stop",
    }
    verdict = score_simulation(
        simulation, domain="telecom", task=task(reward_basis=["DB"]), solo=True
    )

    assert ("replay_error" in verdict["info"]) is (answers == "user")


@pytest.mark.parametrize(("kind", "reward"), [("all", 1.0), ("all_ignore_basis", 0.0)])
def test_checks_whatever_the_basis_accept_no_other_answers(domain, kind, reward):
    simulation = said(domain, CREATE, "Done.")
    answer = next(each for each in simulation["messages"] if each["role"] == "tool")
    answer["content"] = "something else"

    verdict = score_simulation(
        simulation, domain=domain, version="1.0.1", lenient_replay=True, evaluation_type=kind
    )

    assert verdict["reward"] == reward
    assert ("replay_error" in (verdict["info"] or {})) is (reward == 0.0)


@pytest.mark.parametrize("kind", ["communicate", "action", "nl_assertions"])
@pytest.mark.parametrize("strict", [True, False])
def test_a_recording_without_messages_is_scored_where_nobody_looks_at_them(tmp_path, kind, strict):
    domain = todo_list(tmp_path, task())
    silent = {"task_id": "a_task", "termination_reason": "user_stop", "messages": None}
    asked = {"domain": domain, "version": "1.0.1", "evaluation_type": kind, "strict": strict}

    assert score_simulation(silent, **asked)["reward"] == 1.0


def test_a_recording_without_messages_cannot_be_scored_where_somebody_looks_at_them(domain):
    silent = {"task_id": "a_task", "termination_reason": "user_stop", "messages": None}
    asked = {"domain": domain, "version": "1.0.1", "evaluation_type": "action"}

    with pytest.raises(TypeError, match="'NoneType' object is not iterable"):
        score_simulation(silent, **asked, strict=True)
    assert "not iterable" in score_simulation(silent, **asked)["info"]["replay_error"]["error"]
