"""What a rehearsal says: how often its model was asked, and where a solution was lost."""

import pytest

from maseval.benchmark.tau2.app.running.own_agents import Rehearsal, explain_loss


def report(task="1", *, reward=0.0, error=None, status="success", calls=(), **info):
    messages = [
        {"role": "assistant", "tool_calls": [{"name": n, "arguments": a}]} for n, a in calls
    ]
    return {
        "task_id": task,
        "repeat_idx": 0,
        "status": status,
        "error": error,
        "task": {"metadata": {"domain": "library"}},
        "traces": {"environment": {"simulation": {"messages": messages}}},
        "eval": [{"reward": reward, "reward_info": info}],
    }


def check(name, match, requestor="assistant", **arguments):
    action = {"name": name, "arguments": arguments, "requestor": requestor}
    return {"action": action, "action_match": match}


@pytest.mark.parametrize(
    ("seen", "where"),
    [
        (
            report(action_checks=[check("look", True), check("renew", False, loan="L-1")]),
            "first missing call: renew(loan=L-1)",
        ),
        (
            report(
                action_checks=[check("renew", False, loan="L-1")], calls=[("renew", {"loan": "1"})]
            ),
            "first missing call: renew(loan=L-1); instead: renew(loan=1)",
        ),
        (
            report(
                action_checks=[check("switch_on", False, "user")],
                communicate_checks=[{"info": "42", "met": False}],
            ),
            "every call arrived, but the customer was not told '42'",
        ),
        (report(), "every call arrived, but the final state is another"),
        (
            report(status="agent_error", error={"error_message": "own.py, line 3"}),
            "agent_error: own.py, line 3",
        ),
    ],
)
def test_a_loss_is_named_by_the_first_thing_that_is_missing(seen, where):
    assert explain_loss(seen).startswith(where)


def test_simulations_in_which_the_model_was_not_asked_are_named():
    rehearsal = Rehearsal("noisy")
    rehearsal.add(report("a"), 3)
    rehearsal.add(report("b"), 0)

    assert rehearsal.notes() == ["The rehearsal model was asked 3 times in 2 simulations."]


def test_only_gold_must_pass_and_few_losses_are_listed():
    gold, nothing = Rehearsal("gold"), Rehearsal("gold")
    gold.add(report("passed", reward=1.0), 1)
    for number in range(7):
        gold.add(report(str(number)), 1)

    _, headline, *losses = gold.notes()

    assert headline.startswith("With gold every task should pass; your agent lost 7 of 8")
    assert len(losses) == 6 and losses[-1] == "  and 2 more"
    assert nothing.notes() == []
