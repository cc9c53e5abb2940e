"""A person plays one side of a simulation."""

import json
import signal
import threading
import time

import pytest

from maseval import ScriptedModelAdapter, register_model
from maseval.benchmark.tau2.data_loader import load_tasks
from maseval.benchmark.tau2.players.scripted import GOODBYE, requests_in
from maseval.benchmark.tau2.world.tasks import TaskSpec
from maseval.commands import compare, runs, show, tau2
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.runs import RunConfigError, RunFolder

TASK = "renew_own_not_husbands"


def gold_actions(domain, task_id):
    [task] = [task for task in load_tasks(domain) if str(task.id) == task_id]
    return [*TaskSpec.of(task).actions]  # equal tasks share theirs


def calling(action):
    return lambda view: view.call_tool(action.name, dict(action.arguments))


def saying(text):
    return lambda view: view.say(text)


def leaving(view):
    raise KeyboardInterrupt


def played(*messages, **options):
    """Play with these messages; return the result, and what was seen at each and at the end."""
    left, seen = list(messages), []

    def ask(view):
        seen.append(view)
        return left.pop(0)(view)

    result = tau2.play(**{"domain": "library", "ask": ask} | options)
    assert not left
    return result, [*seen, result.view]


def play_gold(folder, task_id=TASK):
    """Play what the reference does; without a task, the next one is played."""
    actions = None

    def ask(view):
        nonlocal actions
        if actions is None:
            actions = gold_actions("library", view.task_id)
        return calling(actions.pop(0))(view) if actions else view.say(GOODBYE)

    return tau2.play(domain="library", task_id=task_id, output=folder, ask=ask)


def test_a_person_who_does_what_the_reference_does_passes_and_is_marked_as_human(tmp_path):
    found = play_gold(tmp_path / "me")

    assert found.ending == "The conversation is over: the customer has left."
    assert found.view.messages[-1]["role"] == "user"
    assert found.run.complete and found.run.summary.overall.passed == 1 and found.has_verdict
    [line] = show(tmp_path / "me").lines
    assert (line.ended, line.reward) == ("user_stop", 1.0)
    report = next(RunFolder.read(tmp_path / "me").reports())
    assert report["config"]["agents"]["human"]["model_id"] == "human"
    assert report["config"]["benchmark"]["human"] == {"plays": "agent"}
    tau2.run(domain="library", task_id=[TASK], agent="gold", output=tmp_path / "gold")
    [state] = [state for state in runs(tmp_path) if state.name == "me"]
    assert state.config["agent"] == {"player": "human"}
    compared = compare([tmp_path / "me", tmp_path / "gold"])
    assert "me: a person played the agent, not a model" in compared.cautions


def test_a_person_plays_in_the_thread_that_asks_and_is_told_when_the_time_is_up(tmp_path):
    threads = []

    def ask(view):
        threads.append(threading.current_thread())
        time.sleep(0.05)
        return view.finish()

    found = tau2.play(domain="library", output=tmp_path / "run", timeout=0.01, ask=ask)

    assert threads == [threading.main_thread()]
    assert found.ending == "The conversation is over: the time limit is reached."


def test_what_cannot_be_done_is_refused_and_not_recorded(tmp_path):
    def ask(view):
        with pytest.raises(ConfigurationError, match="no tool 'fly'"):
            view.call_tool("fly", {})
        with pytest.raises(ConfigurationError, match="write some words"):
            view.say("  ")
        return view.finish("Goodbye")

    tau2.play(domain="library", output=tmp_path / "run", ask=ask)

    messages = show(tmp_path / "run", TASK).messages
    assert messages[-1]["text"] == "Goodbye ###STOP###" and len(messages) == 3


def interrupted(folder, **options):
    """One that was left after the first call of the reference solution, and a text."""
    first = gold_actions("library", TASK)[0]
    moves = calling(first), saying("One moment."), leaving
    found, seen = played(*moves, task_id=TASK, output=folder, **options)
    assert not found.run.complete and not found.has_verdict
    return seen[-1]


def texts(messages):
    return [(each["role"], each["content"]) for each in messages]


def test_an_interrupted_simulation_is_kept_and_continued_where_it_was(tmp_path):
    left = interrupted(tmp_path / "run")
    assert "One moment." in [each.get("text") for each in show(tmp_path / "run", TASK).messages]

    moves = map(calling, gold_actions("library", TASK)[1:])
    found, seen = played(*moves, saying(GOODBYE), task_id=TASK, output=tmp_path / "run")

    assert texts(seen[0].messages) == texts(left.messages)
    assert found.run.summary.overall.passed == 1
    [report] = RunFolder.read(tmp_path / "run").reports()
    messages = report["traces"]["environment"]["simulation"]["messages"]
    ids = [call["id"] for each in messages for call in each.get("tool_calls") or ()]
    assert len(ids) == len(set(ids)) == 3


def test_a_customer_played_by_a_model_is_not_asked_again_for_what_it_said(tmp_path):
    script = tmp_path / "replies.json"
    script.write_text(json.dumps(["Hello.", "It is B 1184 2011.", "###STOP###"]))
    model = {"user_model": f"scripted/{script}", "texts": "ours"}
    left = interrupted(tmp_path / "run", **model)
    script.write_text(json.dumps(["Thanks. ###STOP###"]))

    given = {"task_id": TASK, "output": tmp_path / "run", **model}
    _, (first, last) = played(saying("Anything else?"), **given)

    assert texts(first.messages) == texts(left.messages)
    assert last.messages[-1]["content"] == "Thanks. ###STOP###"


def test_ctrl_c_while_the_other_side_answers_interrupts_at_the_persons_next_turn(tmp_path):
    def customer(messages, tools):
        if len(messages) > 3:
            signal.raise_signal(signal.SIGINT)
        return "Hello."

    register_model("ringing", lambda name, **options: ScriptedModelAdapter(customer))
    given = {"user_model": "ringing/customer", "texts": "ours", "output": tmp_path / "run"}

    found, seen = played(saying("One moment."), task_id=TASK, **given)

    assert not found.run.complete and not found.has_verdict
    assert texts(seen[-1].messages)[-2:] == [("assistant", "One moment."), ("user", "Hello.")]


def test_task_after_task_is_added_to_one_run(tmp_path):
    folder = tmp_path / "run"
    for task_id in (None, None, "first_waiver"):
        play_gold(folder, task_id)

    recorded = [one.task_id for one in RunFolder.read(folder).recorded]
    assert recorded == [TASK, "renewal_somebody_waits", "first_waiver"]
    with pytest.raises(ConfigurationError, match="task first_waiver of library has been played"):
        play_gold(folder, "first_waiver")
    with pytest.raises(RunConfigError, match="another configuration"):
        played(side="user", output=folder)


def test_a_person_plays_the_customer_against_a_scripted_agent(tmp_path):
    def ask(view):
        assert "Salt Road" in view.text and "policy" not in view.text.lower()
        text = str(view.messages[-1]["content"])
        wanted = requests_in(text) if view.messages[-1]["role"] == "assistant" else []
        if GOODBYE in text:
            return view.finish("Thank you.")
        return view.call_tool(*wanted[0]) if wanted else view.say("Please renew my book.")

    found = tau2.play(domain="library", side="user", output=tmp_path / "run", ask=ask)

    assert found.run.summary.overall.passed == 1
    [state] = runs(tmp_path)
    assert state.config["user"] == {"player": "human"}
    assert state.config["agent"] == {"player": "gold"}


@pytest.mark.data
def test_in_telecom_the_customer_has_a_phone(tau2_data, tmp_path):
    found, (first, second, _) = played(
        lambda view: view.call_tool("toggle_data", {}),
        lambda view: view.finish(transferred=True),
        **{"domain": "telecom", "side": "user", "agent": "noop", "output": tmp_path / "run"},
    )

    names = {tool["function"]["name"] for tool in first.tools}
    assert {"toggle_data", "check_status_bar"} <= names
    assert second.messages[-1]["role"] == "tool"
    assert show(found.run.folder, "0").messages[-1]["text"].endswith("###TRANSFER###")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"side": "referee"}, "choose one of: agent, user"),
        ({"side": "agent", "agent": "gold"}, "you play the agent"),
        ({"side": "user", "user_model": "m"}, "you play the user"),
        ({"task_id": "no_such"}, "no task 'no_such'"),
        ({"user": "llm"}, "user_model is not set"),
    ],
)
def test_what_cannot_be_played_is_refused_before_anything_begins(options, words, tmp_path):
    with pytest.raises(MASEvalError, match=words):
        played(output=tmp_path / "run", **options)

    assert not (tmp_path / "run").exists()
