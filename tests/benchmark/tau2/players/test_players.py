"""Players: sides of a simulation that need no model."""

import json
from typing import Any

import pytest

from maseval.benchmark.tau2 import load_tasks
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import assistant_message, is_user_stop, user_message
from maseval.benchmark.tau2.players import PlayerTau2Benchmark
from maseval.benchmark.tau2.players.scripted import (
    ScriptedUser,
    make_agent,
    request_for,
    requests_in,
)
from maseval.core.exceptions import ConfigurationError
from maseval.core.task.queues import SequentialTaskQueue
from maseval.core.task.task import Task
from tests.benchmark.tau2.rooms import action, conversation, room_task
from tests.normalised import normalise

LOOK = action("look")
PRESS = action("press_switch", "user")
SET_LAMP = action("set_lamp", "user", colour="`red` )`", level=7)


def played(
    tasks: SequentialTaskQueue | list[Task],
    player: str = "gold",
    *,
    seed: int = 1,
    repeats: int = 1,
    workers: int = 1,
    **agent_data: float,
) -> list[dict[str, Any]]:
    benchmark = PlayerTau2Benchmark(
        progress_bar=False, seed=seed, n_task_repeats=repeats, num_workers=workers
    )
    return benchmark.run(tasks, agent_data={"player": player, **agent_data})


# Gold.


def test_gold_asks_the_user_for_what_only_the_user_can_do(room):
    task = room_task(room, LOOK, PRESS, SET_LAMP, PRESS, PRESS, communicate_info=["red", "1000"])

    (report,) = played([task])

    verdict = report["eval"][0]
    assert verdict["reward"] == 1.0
    assert verdict["env_check"]["user_db_match"] and verdict["communicate_check"]["all_found"]
    callers = [
        call["requestor"] for m in conversation(report) for call in m.get("tool_calls") or ()
    ]
    assert callers == ["assistant", "user", "user", "user", "user"]


def test_what_the_user_quotes_from_a_tool_does_not_end_the_conversation(room):
    (report,) = played([room_task(room, SET_LAMP, PRESS)])

    said = [m["content"] for m in conversation(report) if m["role"] == "user" and m["content"]]
    assert [is_user_stop(user_message(text)) for text in said] == [False, False, False, True]
    assert "The light is on." in said[2]


# Noop and unknown players.


def test_noop_does_nothing_and_lets_the_user_end_it():
    for report in played(load_tasks("library"), "noop"):
        assert report["status"] == "success"
        assert report["eval"][0]["termination_reason"] == "user_stop"
        assert not any(message.get("tool_calls") for message in conversation(report))
        assert len(conversation(report)) < 20


# Noisy.


def test_noisy_makes_the_same_mistakes_for_the_same_seed_and_others_in_another_repetition():
    tasks = load_tasks("library")
    one, again, other = (
        sorted(
            played(tasks, "noisy", seed=seed, repeats=3, workers=workers, error_rate=0.4),
            key=lambda report: (report["task_id"], report["repeat_idx"]),
        )
        for seed, workers in ((1, 1), (1, 8), (2, 1))
    )

    assert list(map(normalise, one)) == list(map(normalise, again))
    calls = [[called(report) for report in reports] for reports in (one, other)]
    assert calls[0] != calls[1]
    assert any(calls[0][n] != calls[0][n + 1] for n in range(0, len(calls[0]), 3))


def called(report: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (call["name"], call["arguments"])
        for message in conversation(report)
        for call in message.get("tool_calls") or ()
    ]


@pytest.mark.parametrize(("rate", "expected"), [(0.0, 12), (1.0, 0)])
def test_the_error_rate_decides_between_gold_and_chaos(rate, expected):
    reports = played(load_tasks("library"), "noisy", error_rate=rate)

    assert sum(report["eval"][0]["passed"] for report in reports) == expected
    assert all(report["status"] == "success" for report in reports)


@pytest.mark.parametrize("rate", [-0.1, 1.5])
def test_an_error_rate_is_a_probability(room, rate):
    task = room_task(room)
    with pytest.raises(ConfigurationError, match=f"error_rate is {rate}"):
        make_agent("noisy", task, Tau2Environment(task.environment_data), error_rate=rate)


@pytest.mark.data
@pytest.mark.parametrize("domain", ["airline", "retail", "telecom"])
def test_noisy_alters_arguments_into_others_that_the_tools_understand(domain, tau2_data):
    reports = played(load_tasks(domain), "noisy", repeats=2, workers=4, error_rate=0.5)

    assert all(report["status"] == "success" for report in reports)
    passed = [report["eval"][0]["passed"] for report in reports]
    assert 0 < sum(passed) < len(passed)
    gold = {
        (task.id, action["name"], json.dumps(action["arguments"]))
        for task in load_tasks(domain)
        for action in task.evaluation_data["actions"] or ()
    }
    altered = [
        (name, arguments)
        for report in reports
        for name, arguments in called(report)
        if (report["task_id"], name, json.dumps(arguments)) not in gold
    ]
    assert altered
    answers = [
        message["content"]
        for report in reports
        for message in conversation(report)
        if message["role"] == "tool"
    ]
    assert not any("unexpected keyword" in answer for answer in answers)


# Requests and the scripted user.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Please do `toggle_data()`", [("toggle_data", {})]),
        ('`a()` and `b({})` and then `c({"x": [1]})`', [("a", {}), ("b", {}), ("c", {"x": [1]})]),
        (request_for("set", {"text": "`quoted)` {"}), [("set", {"text": "`quoted)` {"})]),
        ("call toggle_data() yourself", []),
        ("`toggle_data({oops})`", []),
        ('`toggle_data({"a": 1}`', []),
        ("`toggle_data(now)`", []),
        ("", []),
    ],
)
def test_requests_are_read_from_the_words_around_them(text, expected):
    assert requests_in(text) == expected


def replies(user: ScriptedUser, *texts: str) -> list[dict[str, Any]]:
    user.begin([])
    return [user.reply([assistant_message(text)]) for text in texts]


def test_the_user_opens_with_its_reason_then_tells_what_it_knows_and_then_leaves():
    user = ScriptedUser("The lamp is broken.", ["I am Ann.", "", "I forgot my number."])

    said = [message["content"] for message in replies(user, *["And?"] * 9)]

    assert said[:3] == ["The lamp is broken.", "I am Ann.", "I forgot my number."]
    assert [is_user_stop(user_message(text)) for text in said] == [False] * 6 + [True] * 3
    assert user.is_done()


def test_the_user_carries_out_only_what_it_has_a_tool_for():
    user = ScriptedUser("Hello", tools={"press": lambda: "pressed"})

    first, other, mine = replies(user, "Hi", "`rm({})`", "`press()` and `rm()` and `press()`")

    assert first["content"] == "Hello"
    assert other["tool_calls"] is None
    assert [call["name"] for call in mine["tool_calls"]] == ["press", "press"]
    assert {call["requestor"] for call in mine["tool_calls"]} == {"user"}
    assert len({call["id"] for call in mine["tool_calls"]}) == 2


def test_the_user_loses_patience_with_an_agent_that_asks_without_end():
    user = ScriptedUser("Hello", tools={"press": lambda: "pressed"}, max_actions=5)

    answers = replies(user, *["`press()`"] * 7)

    assert [bool(answer["tool_calls"]) for answer in answers] == [True] * 5 + [False] * 2
    assert is_user_stop(answers[-1])


@pytest.mark.parametrize("reason", ["", "   ", "###STOP###"])
def test_a_user_without_a_reason_still_says_something(reason):
    (opening,) = replies(ScriptedUser(reason), "Hi")

    assert opening["content"].strip() and not is_user_stop(opening)


def test_a_user_that_has_already_spoken_does_not_open_again():
    user = ScriptedUser("Hello", ["I am Ann."])
    user.begin([assistant_message("Hi"), {"role": "user", "content": "I said it all."}])

    assert user.reply([assistant_message("Your name?")])["content"] == "I am Ann."
