"""Whole runs against a provider that misbehaves: what becomes of the simulations and the score."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval.core.call_policy import CallPolicy, default_policy, set_default_policy
from maseval.runs import RunFolder
from maseval.testing import FAULTS, OpenAIProtocol, Reply, serving
from maseval.testing.provider_server import ProviderServer
from tests.cli.commandline import last_json, maseval
from tests.faults.table import shows
from tests.interface.libraries import needing

AREA = "A run with such a provider"
RUN = ("tau2", "run", "--domain", "library", "--user", "scripted", "--agent-model", "served")
QUICK = ("--max-steps", "12", "-j", "2", "--output", "run", "--json")

pytestmark = needing("openai")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with serving() as running:
        yield running


@pytest.fixture
def quick_retries() -> Iterator[None]:
    before = default_policy()
    set_default_policy(CallPolicy(base_delay=0.001))
    yield
    set_default_policy(before)


def run_against(server: ProviderServer, *options: str) -> Any:
    return maseval(*RUN, "--base-url", f"{server.url}/v1", *QUICK, *options)


def always(server: ProviderServer, name: str) -> None:
    bad = FAULTS[name].spoil(Reply(OpenAIProtocol.text("Hello")))
    server.reply_to = lambda request: bad


def statuses() -> set[str]:
    return {report["status"] for report in RunFolder.read("run").reports()}


HOPELESS = ("html", "empty", "list", "no-name", "message", "no-content", "redirect")


@shows(
    AREA,
    *(
        (FAULTS[name].text, "the run stops after the first simulations, which are `provider_error`")
        for name in HOPELESS
    ),
)
@pytest.mark.parametrize("name", HOPELESS)
def test_a_run_that_gets_nothing_but_nonsense_stops_early(server, name, quick_retries):
    always(server, name)

    ran = run_against(server)

    assert ran.exit_code != 0 and "Traceback" not in ran.stderr
    assert "failed in the same way" in " ".join(ran.stderr.split())
    assert statuses() == {"provider_error"}
    assert len(RunFolder.read("run").recorded) <= 6


@shows(
    AREA,
    ("a rate limit for an hour", "the run stops, says why, and can be resumed then"),
)
def test_a_provider_that_wants_an_hour_is_not_asked_for_every_simulation(server):
    always(server, "wait")

    ran = run_against(server, "-n", "5")

    assert "Run again in 3600 s" in " ".join(ran.stderr.split())
    assert len(server.requests) <= 2, "one for each of two workers"
    assert statuses() == {"provider_error"}

    server.reply_to = finishing(lambda request: Reply(OpenAIProtocol.calls(("no_tool", {}))))
    ran = run_against(server, "-n", "5")

    assert statuses() == {"success"}, ran.stderr


@shows(
    AREA,
    (
        "no host of that name, or nothing that listens there",
        "the run stops after the first simulations, which are `provider_error`",
    ),
)
def test_a_host_that_cannot_be_reached_costs_its_attempts_once(quick_retries):
    address = ("--base-url", "http://127.0.0.1:9/v1")

    ran = maseval(*RUN, *address, *QUICK, "-n", "5", "-j", "1")

    assert "every other task would have failed in the same way" in " ".join(ran.stderr.split())
    [report] = RunFolder.read("run").reports()
    assert report["error"]["error_type"] == "UnreachableError"
    assert report["error"]["details"]["attempts"] == 6 and report["attempts"] == []


@shows(
    AREA,
    ("context overflow", "`context_overflow`: counts as the agent's failure, not run again"),
    ("content filter", "`content_filtered`: has no verdict and is run again"),
)
@pytest.mark.parametrize(
    ("name", "status", "done"),
    [("overflow", "context_overflow", 2), ("filter", "content_filtered", 0)],
)
def test_a_failure_of_the_provider_has_a_status_of_its_own(server, name, status, done):
    always(server, name)

    ran = run_against(server, "-n", "2")

    assert statuses() == {status}
    result = last_json(ran.stdout)
    assert result["overall"]["done"] == done
    assert result["overall"]["verdicts"] == done
    assert ("pass^1" in result["overall"]) is bool(done)


def finishing(first: Callable[..., Any]) -> Callable[..., Any]:
    """An agent that makes one tool call, as ``first`` says, and then hands over."""

    def reply(request):
        said = request.body["messages"]
        if any(message["role"] == "tool" for message in said):
            return Reply(OpenAIProtocol.text("I cannot help with that. Good-bye."))
        return first(request)

    return reply


@shows(
    AREA,
    (
        "tool-call ids that are numbers",
        "the tool answers under that id, and the simulation is scored",
    ),
    ("arguments nested 900 or 100,000 deep", "the tool refuses them, and the simulation is scored"),
)
@pytest.mark.parametrize("name", ["number-ids", "deep", "deeper"])
def test_odd_tool_calls_are_answered_and_the_simulation_is_scored(server, name):
    good = Reply(OpenAIProtocol.text("Hello"))
    server.reply_to = finishing(lambda request: FAULTS[name].spoil(good))

    ran = run_against(server, "-n", "1")

    assert statuses() == {"success"}, ran.stderr
    [report] = RunFolder.read("run").reports()
    simulation = report["traces"]["environment"]["simulation"]
    assert simulation["termination_reason"], "every conversation says why it ended"
    [answer] = [m for m in simulation["messages"] if m["role"] == "tool"][:1]
    assert answer["id"] == ("7" if name == "number-ids" else "call_1")
    assert answer["error"] or "not found" in answer["content"]


@shows(AREA, ("usage with Infinity", "the simulation is scored; its tokens count as 0"))
def test_usage_that_is_no_number_costs_nothing_else(server):
    always(server, "infinity")

    ran = run_against(server, "-n", "1", "--max-steps", "6")

    assert statuses() == {"success"}, ran.stderr
    assert last_json(ran.stdout)["tokens"] == 0
    json.dumps(last_json(ran.stdout), allow_nan=False)
