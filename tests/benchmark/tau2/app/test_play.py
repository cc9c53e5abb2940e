"""A person plays the agent of a simulation."""

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maseval import ScriptedModelAdapter, register_model
from maseval.benchmark.tau2.app.running.run import PlayedTask
from maseval.benchmark.tau2.data_loader import load_tasks
from maseval.benchmark.tau2.players.human import SeatView
from maseval.benchmark.tau2.players.scripted import GOODBYE
from maseval.benchmark.tau2.world.tasks import Action, TaskSpec
from maseval.commands import compare, runs, show, tau2
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.runs import RunConfigError, RunFolder

TASK = "renew_own_not_husbands"


def gold_actions(domain: str, task_id: str) -> list[Action]:
    [task] = [task for task in load_tasks(domain) if str(task.id) == task_id]
    return [*TaskSpec.of(task).actions]  # equal tasks share theirs


def calling(action: Action) -> Callable[..., Any]:
    return lambda view: view.call_tool(action.name, dict(action.arguments))


def saying(text: str) -> Callable[..., Any]:
    return lambda view: view.say(text)


def leaving(view: SeatView) -> None:
    raise KeyboardInterrupt


def played(*messages: Callable[..., Any], **options: Any) -> tuple[PlayedTask, list[SeatView]]:
    """Play with these messages; return the result, and what was seen at each and at the end."""
    left, seen = list(messages), []

    def ask(view):
        seen.append(view)
        return left.pop(0)(view)

    result = tau2.play(**{"domain": "library", "ask": ask} | options)
    assert not left
    return result, [*seen, result.view]


def play_gold(folder: Path, *task_ids: str) -> PlayedTask:
    """Play what the reference does."""
    actions = None

    def ask(view):
        nonlocal actions
        if actions is None:
            actions = gold_actions("library", view.task_id)
        return calling(actions.pop(0))(view) if actions else view.say(GOODBYE)

    return tau2.play(domain="library", task_id=task_ids, output=folder, ask=ask)


def test_a_person_who_does_what_the_reference_does_passes_and_is_marked_as_human(tmp_path):
    found = play_gold(tmp_path / "me")

    assert found.view.messages[-1]["role"] == "user"
    assert found.run.complete and found.run.summary.overall.passed == 1
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
        time.sleep(2.1)
        return view.finish()

    found = tau2.play(domain="library", output=tmp_path / "run", timeout=2.0, ask=ask)

    assert threads == [threading.main_thread()]
    assert found.run.errors[0].status == "task_timeout"


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


def test_an_interrupted_simulation_is_kept_and_begins_again(tmp_path):
    found, _ = played(saying("One moment."), leaving, output=tmp_path / "run")

    assert not found.run.complete
    assert "One moment." in [each.get("text") for each in show(tmp_path / "run", TASK).messages]
    again = play_gold(tmp_path / "run")
    assert again.run.complete and again.run.summary.overall.passed == 1


def test_ctrl_c_while_the_other_side_answers_interrupts_at_the_persons_next_turn(tmp_path):
    def customer(messages, tools):
        if len(messages) > 3:
            signal.raise_signal(signal.SIGINT)
        return "Hello."

    register_model("ringing", lambda name, **options: ScriptedModelAdapter(customer))
    given = {"user_model": "ringing/customer", "texts": "ours", "output": tmp_path / "run"}

    found, seen = played(saying("One moment."), **given)

    assert not found.run.complete
    assert [each["content"] for each in seen[-1].messages[-2:]] == ["One moment.", "Hello."]


def test_each_call_plays_the_next_task_of_a_run(tmp_path):
    tasks = (TASK, "first_waiver")
    calls = [play_gold(tmp_path / "run", *tasks)]
    with pytest.raises(RunConfigError, match="another configuration"):
        played(user="scripted", seed=1, task_id=tasks, output=tmp_path / "run")
    calls += [play_gold(tmp_path / "run", *tasks)]

    assert [each.simulation.task_id for each in calls] == [*tasks]
    assert [each.run.complete for each in calls] == [False, True]
    with pytest.raises(ConfigurationError, match="choose other tasks"):
        play_gold(tmp_path / "run", *tasks)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"task_id": ["no_such"]}, "no task 'no_such'"),
        ({"user": "llm"}, "user_model is not set"),
    ],
)
def test_what_cannot_be_played_is_refused_before_anything_begins(options, words, tmp_path):
    with pytest.raises(MASEvalError, match=words):
        played(output=tmp_path / "run", **options)

    assert not (tmp_path / "run").exists()
