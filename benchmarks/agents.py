"""What a framework and a recording add to a model call: ``python -m benchmarks.agents``.

The same tasks of retail are rehearsed by the agents of every framework that is installed here.
Their model answers at once, so what is left is HTTP, the framework and our own work; the unit is a
model call of the reference agent over the same HTTP. Then requests of the size that tau2 makes are
answered by a model in this process, recorded, and played again.
"""

import http.client
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.table import best, seconds, show
from maseval import ScriptedModelAdapter, commands
from maseval.app.running.own_agents import load_agent
from maseval.benchmark.tau2 import Tau2Environment
from maseval.benchmark.tau2.data_loader import DataUnavailableError
from maseval.core.agent_brief import MakeAgent
from maseval.interface.extras import is_installed
from maseval.runs import RunFolder
from maseval.server import ChatServer, ModelServer, ReplayServer

EXAMPLES = Path(__file__).parents[1] / "examples" / "tau2_benchmark"
AGENTS = {
    "reference agent": ("default_agent.py", "openai"),
    "LangGraph": ("tau2_langgraph.py", "langgraph"),
    "smolagents": ("tau2_smolagents.py", "smolagents"),
    "MCP client": ("tau2_mcp.py", "mcp"),
}
TASKS = 10
REQUESTS = 1000


def main() -> int:
    """Print both tables; the exit status is 1 if there is no data to run on."""
    installed = {name: file for name, (file, library) in AGENTS.items() if is_installed(library)}
    try:
        costs = {
            name: per_call(load_agent(f"{EXAMPLES / f}:agent")) for name, f in installed.items()
        }
    except DataUnavailableError as error:
        print(f"no tau2 data: {error}")
        return 1
    unit = costs["reference agent"]
    show(
        f"One model call through an agent, {TASKS} retail tasks",
        ("agent", "ms", "/ reference agent"),
        [(name, f"{cost * 1e3:.1f}", f"{cost / unit:.1f}") for name, cost in costs.items()],
    )
    show(
        f"One answer of a local server, {REQUESTS:,} requests",
        ("server", "ms", "/ model in this process"),
        answers(),
    )
    return 0


def per_call(agent: MakeAgent) -> float:
    """Seconds for one call of the model, at best."""
    calls = rehearse(agent)  # this one also imports what is imported once
    return best(lambda: rehearse(agent), times=3) / calls


def rehearse(agent: MakeAgent) -> int:
    """Run the tasks; returns how often the model was asked."""
    with tempfile.TemporaryDirectory() as folder:
        result = commands.tau2.run(
            domain="retail",
            num_tasks=TASKS,
            concurrency=1,
            agent=agent,
            rehearse="gold",
            output=f"{folder}/run",
        )
        if result.summary.overall.passed < TASKS:
            raise RuntimeError(f"only {result.summary.overall.passed} of {TASKS} were solved")
        # All that the agent said and did was the model's, but for the greeting.
        return sum(_said(report) - 1 for report in RunFolder.read(result.folder).reports())


def _said(report: Any) -> int:
    messages = report["traces"]["environment"]["simulation"]["messages"]
    return sum(message["role"] == "assistant" for message in messages)


def answers() -> list[tuple[object, ...]]:
    """Rows: a model in this process, the same recorded, and played."""
    environment = Tau2Environment({"domain": "retail"})
    bodies = [_request(environment, number) for number in range(REQUESTS)]
    model = ScriptedModelAdapter(lambda messages, tools: "Certainly.", model_id="m")
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers"
        with ModelServer(model) as provider:
            unit = _each(provider, bodies)
            with ReplayServer(answers, record=True, upstream=provider.url) as recorder:
                recording = _each(recorder, bodies)
        with ReplayServer(answers) as player:
            playing = _each(player, bodies)
    rows = {"model in this process": unit, "recording it": recording, "playing them": playing}
    return [(name, f"{each * 1e3:.2f}", f"{each / unit:.1f}") for name, each in rows.items()]


def _request(environment: Tau2Environment, number: int) -> bytes:
    messages = [
        {"role": "system", "content": environment.policy},
        {"role": "user", "content": f"Where is my order number {number}?"},
    ]
    tools = environment.toolkit.definitions()
    return json.dumps({"model": "m", "messages": messages, "tools": tools}).encode()


def _each(server: ChatServer, bodies: Sequence[bytes]) -> float:
    """Seconds for one of the answers, over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port)

    def ask() -> None:
        for body in bodies:
            connection.request("POST", "/v1/chat/completions", body)
            answer = connection.getresponse()
            if answer.status != 200:
                raise RuntimeError(answer.read().decode())
            answer.read()

    try:
        return seconds(ask) / len(bodies)
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
