"""A conversation of several agents: who said what to whom, in order of time, and who decided."""

import json
from pathlib import Path
from typing import Any

import pytest

from maseval.core.outcome import RecordedReport
from maseval.report.conversation import conversation
from maseval.runs import RunFolder
from tests.cli.commandline import maseval
from tests.frames.recordings import team_run

HANDED_OVER = [
    ("supervisor", "ask_reader"),
    ("reader", "Please see to this: get_member (request 1)"),
    ("reader", ["get_member"]),
    ("reader", ["get_account"]),
    ("reader", ["search_catalogue"]),
    ("reader", "I have done what I can."),
    ("supervisor", "ask_reader"),
    ("reader", "Please see to this: pay_fine (request 2)"),
    ("reader", "I have done what I can."),
    ("supervisor", "ask_writer"),
    ("writer", "Please see to this: pay_fine (request 3)"),
    ("writer", ["pay_fine"]),
    ("writer", ["place_hold"]),
    ("writer", "I have done what I can."),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("openai")  # a rehearsal is asked for by its protocol
    return team_run(tmp_path_factory.mktemp("team") / "run").folder


def test_what_agents_say_among_themselves_stands_where_it_was_said_and_once(run):
    (report,) = RunFolder.read(run).reports()
    messages = conversation(RecordedReport(report))
    told = [
        (each["speaker"], each.get("text") or each["calls"][0]["name"] if aside else names(each))
        for message in messages
        for aside, each in [*((True, one) for one in message.get("aside", ())), (False, message)]
        if "speaker" in each
    ]

    assert told[0] == ("supervisor", []), "it asks something before it begins"
    assert told[1:-1] == HANDED_OVER and told[-1][0] == "supervisor"
    asked = [each for message in messages for each in message.get("aside", ()) if "calls" in each]
    answers = [call["result"]["text"] for each in asked for call in each["calls"]]
    assert answers == ["I have done what I can."] * 3
    requests = [dict(each["model"])["Sent"] for each in messages if "model" in each]
    assert len(requests) == 7, "a model call beside each message of an agent"


def names(message: dict[str, Any]) -> list[str]:
    return [call["name"] for call in message.get("calls", ())]


def test_the_command_shows_the_team_and_who_decided(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = maseval("show", run, "0").stdout
    found = json.loads(maseval("show", run, "0", "--json").stdout)

    assert shown.index("to writer") < shown.index("Agent (writer)") < shown.index("verdict")
    assert "The message that decided was writer's." in shown
    assert found["decider"] == "writer"
    assert [each["agent"] for each in found["team"]] == ["supervisor", "reader", "writer"]
