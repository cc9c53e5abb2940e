import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.domains.base import ToolType, is_tool
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.review.explain.snapshot import FieldDifference
from maseval.benchmark.tau2.review.timeline import timeline
from tests.benchmark.tau2.domains.kiosk import KioskTools, kiosk
from tests.benchmark.tau2.todo_list import COMPLETE, CREATE, do, said, task, todo_list


@pytest.fixture
def todo(tmp_path: Path) -> Domain:
    return todo_list(tmp_path, task(CREATE, COMPLETE))


def places(differences: tuple[FieldDifference, ...]) -> list[str]:
    return [str(each.place) for each in differences]


def test_each_message_shows_what_it_changed_and_what_still_differs(todo):
    found = timeline(said(todo, "Hi.", CREATE, COMPLETE, "Done."), todo)

    hi, create, complete, done = found.moments
    assert [each.index for each in found.moments] == [0, 1, 3, 5]
    assert hi.from_start == () and "tasks[task_1].status" in places(hi.from_gold)
    (call,) = create.calls
    assert places(call.changed) == ["tasks[task_2]", "users[user_1].tasks[1]"]
    assert create.last == 2 and call.index == 2
    assert places(complete.calls[0].changed) == ["tasks[task_1].status"]
    assert complete.from_gold == () and done.after is complete.after
    assert len(done.from_start) == 3 and done.from_start is complete.from_start
    assert found.gold_counts


@pytest.mark.parametrize("predictable", [True, False])
def test_one_timeline_leaves_no_trace_in_another(tmp_path, predictable):
    class Till(KioskTools, predictable=predictable):
        @is_tool(ToolType.READ)
        def count(self) -> int:
            """Count, and where that cannot be known beforehand, take one away."""
            self.db.sold -= 0 if predictable else 1
            return self.db.sold

    domain = replace(kiosk(tmp_path), toolkit=Till)
    sell, count = {"name": "sell", "arguments": {"count": 2}}, {"name": "count", "arguments": {}}
    talks = [(sell, count, sell), (sell, sell), (sell, count, sell), (count, sell)]
    found = [timeline(conversation(*each), domain).to_dict() for each in talks]

    assert found[0] == found[2]
    sold = [[state["from_start"] for state in each["states"]] for each in found]
    after = [[each[0]["is"] if each else 0 for each in states] for states in sold]
    if predictable:
        assert after == [[2, 4], [2, 4], [2, 4], [0, 2]]
    else:
        assert after == [[2, 1, 3], [2, 4], [2, 1, 3], [-1, 1]]


def conversation(*calls: dict[str, Any]) -> dict[str, Any]:
    made = [{"role": "assistant", "tool_calls": [{"id": "c", **each}]} for each in calls]
    answer = {"role": "tool", "id": "c", "content": ""}
    messages = [message for each in made for message in (each, answer)]
    return {"task_id": "two", "termination_reason": "agent_stop", "messages": messages}


def test_an_answer_that_is_not_the_recorded_one_is_noted_and_the_replay_continues(todo):
    simulation = said(todo, CREATE, COMPLETE)
    simulation["messages"][1]["content"] = "{}"
    found = timeline(simulation, todo)

    first, second = found.moments
    assert first.calls[0].mismatch.expected == "{}"
    assert "Meeting" in first.calls[0].mismatch.found
    assert second.calls[0].mismatch is None and second.from_gold == ()


def test_a_conversation_that_was_cut_off_is_shown_up_to_there(todo):
    simulation = said(todo, CREATE, COMPLETE, termination_reason="max_steps")
    del simulation["messages"][3:]
    found = timeline(simulation, todo)

    assert found.moments[0].problem is None
    last = found.moments[-1]
    assert "Tool message expected" in str(last.problem)
    assert [call.made for call in last.calls] == [False]
    assert places(last.from_start) == ["tasks[task_2]", "users[user_1].tasks[1]"]


def test_every_state_is_written_once(todo):
    wrong = do("create_task", user_id="nobody", title="x")
    form = timeline(said(todo, "Hi.", CREATE, wrong, "Sorry.", COMPLETE), todo).to_dict()

    assert [each["state"] for each in form["messages"]] == [0, 1, 1, 1, 2]
    assert json.loads(json.dumps(form)) == form
    (status,) = form["messages"][4]["calls"][0]["changed"]
    assert status == {
        "side": "company",
        "place": "tasks[task_1].status",
        "was": "pending",
        "is": "completed",
    }
    created = form["messages"][1]["calls"][0]["changed"][0]
    assert "was" not in created and created["is"]["title"] == "Meeting"


def test_a_task_without_criteria_has_no_gold_state(tmp_path):
    plain = {**task(), "evaluation_criteria": None}
    found = timeline(said(domain := todo_list(tmp_path, plain), CREATE), domain)

    assert found.gold is None and found.moments[0].from_gold is None
    assert found.to_dict()["states"][0]["from_gold"] is None
