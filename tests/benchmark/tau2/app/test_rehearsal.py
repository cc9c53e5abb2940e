"""What a rehearsal says: how often its model was asked, and how many solutions were lost."""

from pathlib import Path

from maseval.benchmark.tau2.app.running.own_agents import Rehearsal


def report(task="1", reward=0.0):
    return {
        "task_id": task,
        "repeat_idx": 0,
        "status": "success",
        "error": None,
        "task": {"metadata": {"domain": "library"}},
        "traces": {},
        "eval": [{"reward": reward}],
    }


def test_simulations_in_which_the_model_was_not_asked_are_counted():
    rehearsal = Rehearsal("noisy")
    rehearsal.add(report("a"), 3)
    rehearsal.add(report("b"), 0)

    notes = rehearsal.notes(Path("r"))
    assert notes == ["The rehearsal model was asked 3 times in 2 simulations."]


def test_only_gold_must_pass():
    gold, nothing = Rehearsal("gold"), Rehearsal("gold")
    gold.add(report("passed", reward=1.0), 1)
    gold.add(report("lost"), 1)

    _, loss = gold.notes(Path("r"))

    assert loss.startswith("With gold every task should pass; your agent lost 1 of 2: `maseval")
    assert nothing.notes(Path("r")) == []
