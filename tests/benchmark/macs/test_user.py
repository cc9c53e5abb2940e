from typing import Any

import pytest

from maseval.benchmark.macs import MACSUser
from maseval.core.scripted import ScriptedModelAdapter
from maseval.interface.agents.framework import AskedLLMUser


def user(*replies: str, **settings: Any) -> MACSUser:
    model = ScriptedModelAdapter([f'{{"text": "{reply}"}}' for reply in replies])
    return MACSUser(model, "Goals: {{user_profile}}", "hello", **settings)


def test_the_model_gets_the_whole_scenario_the_history_and_the_condition_for_stopping():
    person = user("more")
    person.respond("Which city?")
    prompt = person.model.requests[0]["messages"][0]["content"]
    assert "SCENARIO" in person.user_profile["note"]
    for part in (
        "Goals: {{user_profile}}",
        "user: hello\nassistant: Which city?\n",
        "</stop>",
        "ALL goals have been satisfactorily addressed by the assistant",
        person.user_profile["note"],
    ):
        assert part in prompt


def test_a_reset_forgets_why_the_user_stopped():
    person = user("bye </stop>", "again")
    person.respond("done")
    assert person.gather_traces()["stopped_by_user"]
    person.reset()
    assert not person.is_done()
    assert person.gather_traces()["stop_reason"] is None
    assert person.respond("hello again") == "again"


def test_a_user_is_no_tool_unless_a_framework_makes_it_one():
    with pytest.raises(NotImplementedError, match="get_tool"):
        user().get_tool()

    class Asked(AskedLLMUser, MACSUser):
        as_tools = staticmethod(list)

    model = ScriptedModelAdapter(['{"text": "Paris"}'])
    assert Asked(model, "s", "hello").get_tool()("Which city?") == "Paris"
