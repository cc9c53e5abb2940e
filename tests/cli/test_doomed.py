"""Runs that cannot succeed: they say so before the first simulation, or as soon as it shows."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval import ScriptedModelAdapter, register_model
from maseval.runs import RunFolder
from maseval.testing.provider_server import OpenAIProtocol, Reply, serving
from tests.cli.commandline import last_json, maseval, require_data

LIBRARY = ("tau2", "run", "--domain", "library")
SCRIPTED = ("--user", "scripted")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def dead_address() -> Iterator[str]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def said(result: Any) -> str:
    return " ".join(result.stderr.split())


def test_an_address_at_which_nobody_answers_ends_the_run_with_its_cause(dead_address):
    pytest.importorskip("openai")

    ended = maseval(
        *(*LIBRARY, *SCRIPTED, "--agent-model", "mine", "--base-url", dead_address),
        *("--output", "r", "--max-wait", "0", "--concurrency", 1, "--json"),
    )

    assert ended.exit_code == 3 and last_json(ended.stdout)["ran"] == 1
    assert "cannot be connected to (model 'mine')" in said(ended)


@pytest.mark.parametrize(("domain", "agent"), [("retail", "gold"), ("library", "llm")])
def test_solo_mode_is_refused_where_a_domain_does_not_have_it(domain, agent, tmp_path):
    if domain == "retail":
        require_data()
    model = ("--agent-model", "scripted/echo") if agent == "llm" else ()

    refused = maseval(
        *("tau2", "run", "--domain", domain, "--agent", agent, *model, "--mode", "solo")
    )

    assert refused.exit_code == 2
    assert f"mode is 'solo', but the tasks of {domain} cannot be done without a user" in said(
        refused
    )
    assert not (tmp_path / "runs").exists()


def test_a_package_that_an_agent_lacks_is_named_with_the_way_to_install_it(tmp_path):
    (tmp_path / "late.py").write_text("def agent(brief):\n    import llama_index.no_such_part\n")

    stopped = maseval(*LIBRARY, *SCRIPTED, "--agent", "late.py:agent", "--json")

    told = last_json(stopped.stdout)
    assert stopped.exit_code == 3 and told["ran"] < told["overall"]["planned"]
    assert "late.py, line 2, in agent" in told["stopped"]
    assert "pip install '.[llamaindex]'" in told["stopped"]


def test_a_run_in_which_all_fails_in_the_same_way_stops_early_with_the_cause():
    def broken(name, **options):
        return ScriptedModelAdapter([ValueError("the model is out of order")], loop=True)

    register_model("broken", broken)

    stopped = maseval(
        *(*LIBRARY, *SCRIPTED, "--agent-model", "broken/x", "--concurrency", 1, "--output", "r"),
        "--json",
    )

    told = last_json(stopped.stdout)
    assert stopped.exit_code == 3 and told["ran"] == 5 < told["overall"]["planned"]
    assert "the first 5 simulations all failed in the same way" in told["stopped"]
    assert "the model is out of order" in told["stopped"]
    assert "pass^1" not in told["overall"] and "0.0%" not in stopped.stderr
    rest = maseval(
        *(*LIBRARY, *SCRIPTED, "--agent-model", "broken/x", "--concurrency", 1, "--output", "r"),
        *("--no-retry-failed", "--json"),
    )
    assert last_json(rest.stdout)["ran"] == 5
    assert len(RunFolder.read("r").recorded) == 10


def test_a_run_waits_for_a_provider_as_long_as_it_is_told_to():
    pytest.importorskip("openai")
    busy = Reply(OpenAIProtocol.error("slow down"), 429, {"Retry-After": "0.2"})
    fine = [Reply(OpenAIProtocol.text("Yes."))] * 9

    def run(name, *more):
        with serving() as server:
            server.will(busy, *fine)
            return maseval(
                *(*LIBRARY, *SCRIPTED, "-n", "1", "--max-steps", "4", "--output", name),
                *("--agent-model", "mine", "--base-url", f"{server.url}/v1", *more),
            )

    ended, waited = run("short", "--max-wait", "0.1"), run("long", "--max-wait", "900")
    assert ended.exit_code == 3 and "--max-wait SECONDS" in " ".join(ended.output.split())
    assert waited.exit_code == 0
    report = next(iter(RunFolder.read("long").reports()))
    policy = report["config"]["models"]["agent_model"]["call_policy"]
    assert policy["max_total_wait"] == 900 and policy["max_attempts"] > 6
    assert "max_wait is -1" in run("none", "--max-wait", "-1").stderr
