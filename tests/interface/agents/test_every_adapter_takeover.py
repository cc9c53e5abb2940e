"""What every adapter must do with a conversation that another agent began: continue it."""

import json

import pytest

from maseval.commands import tau2
from maseval.core.messages import MessageHistory, tool_call
from maseval.runs import RunFolder
from tests.interface.agents.framework import events
from tests.interface.agents.frameworks import in_every_way
from tests.interface.agents.served import LOOKING, look, served

LOOKS = [
    tool_call("look", {"text": text, "numbers": [number]}, id=f"c{number}")
    for number, text in enumerate(["erstens ü", "second", "third"])
]


def looked(number):
    return {"role": "tool", "content": f"seen: {number}", "tool_call_id": f"c{number}"}


EARLIER = [
    {"role": "user", "content": "Look at both."},
    {"role": "assistant", "content": "One moment.", "tool_calls": LOOKS[:2]},
    looked(0),
    looked(1),
    {"role": "assistant", "content": "Both are there."},
    {"role": "user", "content": "And the third?"},
    {"role": "assistant", "content": None, "tool_calls": LOOKS[2:]},
    looked(2),
    {"role": "assistant", "content": "That one, too."},
]
"""As tau2 gives it: with text and calls in one message, several calls, and calls without a text."""

TOLD = [event for message in EARLIER for event in events(message)]
LAST = [("call", "look", LOOKING["arguments"]), ("result", "é")]


@in_every_way
def test_the_model_is_sent_the_whole_of_it(framework, clerk, say):
    with served(LOOKING, say("Done."), say("Bye.")) as (model, url):
        agent = clerk(url, [look])
        assert agent.loads_messages
        agent.load_messages(MessageHistory(list(EARLIER)))
        assert [agent.run("And the last?"), agent.run("Thanks")] == ["Done.", "Bye."]

    first, second, third = [framework.conversation(one["messages"]) for one in model.requests]
    assert first == [*TOLD, ("user", "And the last?")]
    assert second == [*first, *LAST]
    assert third == [*second, ("assistant", "Done."), ("user", "Thanks")]
    assert [one["messages"][0]["role"] for one in model.requests] == ["system"] * 3
    assert agent.gather_usage().total_tokens == model.gather_usage().total_tokens


def test_its_messages_are_the_agents_own(framework, clerk, say):
    with served(LOOKING, say("Done.")) as (_, url):
        agent = clerk(url, [look])
        agent.load_messages(MessageHistory(list(EARLIER)))
        agent.run("And the last?")

    messages = agent.openai_messages().to_openai_format()
    system = [message for message in messages if message["role"] == "system"]
    assert framework.keeps("Help.", system) and messages[: len(system)] == system
    kept = messages[len(system) :]
    asked, done = ("user", "And the last?"), ("assistant", "Done.")
    assert [one for message in kept for one in events(message)] == [*TOLD, asked, *LAST, done]
    results = [message for message in kept if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in results[:3]] == ["c0", "c1", "c2"]
    assert {message["name"] for message in results} == {"look"}
    json.dumps(agent.gather_traces())


def test_it_takes_the_place_of_what_was_said_before(framework, clerk, say):
    with served(say("Hello."), say("Done.")) as (model, url):
        agent = clerk(url, [look])
        agent.run("Hi")
        agent.load_messages(MessageHistory(list(EARLIER)))
        agent.run("Now?")

    sent = model.requests[-1]["messages"]
    assert framework.conversation(sent) == [*TOLD, ("user", "Now?")]
    assert [message["role"] for message in sent].count("system") == 1


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A task in which agent and user act by turns, solved by the reference solution."""
    folder = tmp_path_factory.mktemp("recorded") / "run"
    task = "[service_issue]overdue_bill_suspension|unseat_sim_card[PERSONA:Easy]"
    return tau2.run(domain="telecom", agent="gold", task_id=(task,), output=folder).folder


def messages_of(folder):
    (report,) = RunFolder.read(folder).reports()
    return report["traces"]["environment"]["simulation"]["messages"]


def calls_in(messages):
    return [
        (m["role"], call["name"], call["arguments"])
        for m in messages
        for call in m.get("tool_calls") or ()
    ]


def branch_point(messages):
    """A message of the user after the agent has called tools and spoken."""
    calls = [i for i, m in enumerate(messages) if m["role"] == "assistant" and m.get("tool_calls")]
    return next(i for i, m in enumerate(messages) if i > calls[0] and _is_said_by_user(m))


def _is_said_by_user(message):
    return message["role"] == "user" and not message.get("tool_calls")


def test_a_branch_is_continued_and_passes(framework, recorded, tmp_path):
    messages = messages_of(recorded)
    at = branch_point(messages)

    def agent(brief):
        model = {"name": brief.model.name, "instructions": brief.policy}
        return framework.make(brief.model.base_url, brief.tools, **model)

    found = tau2.branch(
        run=recorded,
        task="0",
        at=at,
        agent=agent,
        rehearse="gold",
        user="scripted",
        output=tmp_path / "branch",
    )

    assert (found.passed, found.judged) == (1, 1)
    again = messages_of(found.run.folder)
    assert again[: at + 1] == messages[: at + 1]
    assert calls_in(again) == calls_in(messages)
    assert {role for role, *_ in calls_in(again[at + 1 :])} == {"assistant", "user"}
