import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.conversation.recording import NoConversationError
from maseval.benchmark.tau2.data_loader import load_tasks
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.evaluator import Tau2Evaluator
from maseval.benchmark.tau2.formats.message import to_history
from maseval.benchmark.tau2.scoring.judge import JudgeReplyError
from maseval.core.scripted import ScriptedModelAdapter
from tests.benchmark.tau2.todo_list import COMPLETE, CREATE, task, todo_list


class Simulation:
    """A live environment in which an agent of no particular framework calls tools."""

    def __init__(
        self, folder: Path, graded: dict[str, Any], *, nl_model: ScriptedModelAdapter | None = None
    ) -> None:
        self.domain = todo_list(folder, graded)
        (self.task,) = load_tasks(self.domain)
        self.environment = Tau2Environment({**self.task.environment_data, "domain": self.domain})
        self.evaluator = Tau2Evaluator(self.task, self.environment, nl_model)

    def play(
        self, *calls: dict[str, Any], text: str = "Done.", reason: str = "agent_stop"
    ) -> dict[str, Any]:
        for call in calls:
            self.environment.tools[call["name"]](**call["arguments"])
        self.environment.trajectory.add({"role": "assistant", "content": text})
        if reason:
            self.environment.trajectory.end(reason)
        traces = {"environment": self.environment.gather_traces()}
        return self.evaluator(self.evaluator.filter_traces(traces))


@pytest.fixture
def simulation(tmp_path: Path) -> Callable[..., Any]:
    def build(*actions, nl_model=None, **criteria):
        return Simulation(tmp_path, task(*actions, **criteria), nl_model=nl_model)

    return build


def test_a_task_done_in_a_live_environment_passes(simulation):
    verdict = simulation(CREATE, communicate_info=["done"]).play(CREATE)

    assert verdict["passed"] is True
    assert verdict["reward"] == 1.0
    assert verdict["reward_breakdown"] == {"DB": 1.0, "COMMUNICATE": 1.0}
    assert verdict["env_check"] == {
        "reward": 1.0,
        "breakdown": {"DB": 1.0},
        "db_match": True,
        "agent_db_match": True,
        "user_db_match": True,
        "db_reward": 1.0,
        "env_assertions": [],
    }
    assert verdict["action_check"] == {
        "reward": 1.0,
        "breakdown": {"ACTION": 1.0},
        "all_matched": True,
        "action_checks": [{"action_id": "0", "name": "create_task", "matched": True}],
    }
    assert verdict["communicate_check"] == {
        "reward": 1.0,
        "breakdown": {"COMMUNICATE": 1.0},
        "all_found": True,
        "comm_checks": [{"info": "done", "found": True}],
    }
    assert verdict["nl_check"] == {"reward": 1.0, "note": "No NL assertions"}
    assert verdict["termination_reason"] == "agent_stop"
    assert verdict["reward_info"]["reward"] == 1.0
    json.dumps(verdict)


def test_a_task_left_undone_fails_in_every_check(simulation):
    assertion = {
        "env_type": "assistant",
        "func_name": "assert_number_of_tasks",
        "arguments": {"user_id": "user_1", "expected_number": 2},
    }
    basis = ["DB", "ENV_ASSERTION", "ACTION"]
    verdict = simulation(CREATE, env_assertions=[assertion], reward_basis=basis).play()

    assert verdict["passed"] is False
    assert verdict["reward_breakdown"] == dict.fromkeys(basis, 0.0)
    assert verdict["env_check"]["breakdown"] == {"DB": 0.0, "ENV_ASSERTION": 0.0}
    assert verdict["env_check"]["agent_db_match"] is False
    (asserted,) = verdict["env_check"]["env_assertions"]
    assert (asserted["passed"], asserted["reward"]) == (False, 0.0)
    assert asserted["assertion"]["func_name"] == "assert_number_of_tasks"
    assert verdict["action_check"]["all_matched"] is False


def test_criteria_that_are_not_there_are_noted(simulation):
    verdict = simulation(actions=None, env_assertions=None).play(COMPLETE)

    assert verdict["env_check"] == {"reward": 1.0, "note": "No environment criteria"}
    assert verdict["action_check"] == {"reward": 1.0, "note": "No action criteria"}
    assert verdict["communicate_check"] == {"reward": 1.0, "note": "No communication criteria"}
    assert verdict["passed"] is True


def test_the_trajectory_is_read_from_the_environment_alone(simulation):
    evaluator = simulation(CREATE).evaluator
    message = {"role": "assistant", "content": "Hi"}
    recorded = {"simulation": {"messages": [message], "termination_reason": None}}
    traces = {
        "environment": recorded,
        "agents": {"a": {"messages": [{"role": "assistant", "content": "another story"}]}},
        "termination_reason": "agent_stop",
    }

    assert evaluator.filter_traces(traces) == {
        "full_trajectory": [message],
        "environment": recorded,
        "termination_reason": "agent_stop",
    }


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [
        ({}, "nothing at all"),
        ({"agents": {}, "user": None}, "'agents', 'user'"),
        ({"environment": {"simulation": {"messages": []}}}, "'environment'"),
        ({"steps": [1, 2]}, "'steps'"),
        ({"agents": {"a": {"messages": []}}, "user": {"error": "broken"}}, "'agents', 'user'"),
    ],
)
def test_traces_without_a_conversation_are_an_error(simulation, foreign, shown):
    evaluator = simulation(CREATE).evaluator

    with pytest.raises(NoConversationError, match=f"no conversation: .* but {shown}"):
        evaluator.filter_traces(foreign)


@pytest.mark.parametrize("filtered", [{}, {"full_trajectory": []}, {"full_trajectory": None}])
def test_nothing_is_not_judged(simulation, filtered):
    with pytest.raises(NoConversationError, match="give what filter_traces"):
        simulation(CREATE).evaluator(filtered)


def test_what_agent_and_user_saw_is_judged_like_the_trajectory(simulation):
    live = simulation(CREATE, communicate_info=["done"])
    whole = live.play(CREATE)
    messages = live.environment.trajectory.messages
    heard = [{"role": "user", "content": "Make it."}, *to_history(messages)]
    user = [heard[0], heard[-1], {"role": "user", "content": "Thanks ###STOP###"}]
    traces = {"agents": {"a": {"messages": heard}}, "user": {"messages": user}}

    filtered = live.evaluator.filter_traces(traces)
    verdict = live.evaluator(filtered)

    assert filtered["termination_reason"] == "user_stop"
    assert (verdict["reward"], whole["reward"]) == (1.0, 1.0)
    assert verdict["reward_breakdown"] == whole["reward_breakdown"]


def test_a_conversation_that_was_tampered_with_is_not_scored(simulation):
    live = simulation(CREATE)
    live.play(CREATE)
    traces = {"environment": live.environment.gather_traces()}
    traces["environment"]["simulation"]["messages"][1]["content"] = "Sorry."
    verdict = live.evaluator(live.evaluator.filter_traces(traces))

    assert verdict["passed"] is False
    assert verdict["note"].startswith("The conversation cannot be replayed: Tool call:")
    assert verdict["reward_info"]["info"]["replay_error"]["message_index"] == 1


def reply(met: bool) -> ScriptedModelAdapter:
    result = {"expectedOutcome": "Kind.", "reasoning": "So.", "metExpectation": met}
    return ScriptedModelAdapter([json.dumps({"results": [result]})])


def test_a_judge_is_asked_if_there_is_one(simulation):
    verdict = simulation(CREATE, nl_assertions=["Kind."], nl_model=reply(False)).play(CREATE)

    assert verdict["nl_check"] == {
        "reward": 0.0,
        "breakdown": {"NL_ASSERTION": 0.0},
        "all_met": False,
        "nl_checks": [{"nl_assertion": "Kind.", "met": False, "justification": "So."}],
    }
    assert verdict["passed"] is True, "the assertion is not in the reward basis"


def test_without_a_judge_assertions_are_skipped_unless_the_reward_depends_on_them(tmp_path):
    skipped = Simulation(tmp_path, task(CREATE, nl_assertions=["Kind."])).play(CREATE)
    assert skipped["nl_check"]["note"] == "Skipped: there is no model to judge them"

    (tmp_path / "other").mkdir()
    basis = {"nl_assertions": ["Kind."], "reward_basis": ["NL_ASSERTION"]}
    undecided = Simulation(tmp_path / "other", task(CREATE, **basis)).play(CREATE)
    assert (undecided["reward"], undecided["passed"], undecided["reward_info"]) == (None,) * 3
    assert undecided["needs_judge"] is True
    assert undecided["nl_check"]["note"].startswith("Not judged: ")


def test_what_fails_whatever_a_judge_says_needs_none(tmp_path):
    basis = {"nl_assertions": ["Kind."], "reward_basis": ["DB", "NL_ASSERTION"]}

    failed = Simulation(tmp_path, task(CREATE, **basis)).play()

    assert (failed["reward"], failed["passed"]) == (0.0, False)
    assert failed["env_check"]["agent_db_match"] is False


def test_a_judge_that_says_nothing_does_not_let_the_task_pass(simulation):
    silent = ScriptedModelAdapter(['{"results": []}'], loop=True)
    basis = ["DB", "NL_ASSERTION"]
    live = simulation(CREATE, nl_assertions=["Kind."], reward_basis=basis, nl_model=silent)

    with pytest.raises(JudgeReplyError):
        live.play(CREATE)


def test_a_judge_that_says_nothing_costs_no_task_that_does_not_depend_on_it(simulation):
    silent = ScriptedModelAdapter(['{"results": []}'], loop=True)
    verdict = simulation(CREATE, nl_assertions=["Kind."], nl_model=silent).play(CREATE)

    assert verdict["passed"] is True
    assert verdict["nl_check"]["note"].startswith("Skipped: the judge scripted gave no answer")
    assert verdict["reward_info"]["nl_assertions"] is None
