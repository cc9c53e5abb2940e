"""A scripted model, for rehearsing any agent without paying for a model.

Served over HTTP or given to a framework, it makes the calls of the reference solution, or those
with mistakes, through the agent that asks it. So an agent's plumbing is tried before it costs
anything: with ``gold``, a task that is not solved points to a fault in the plumbing.
"""

from collections.abc import Iterator

from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import SpokenMessage, Tau2Message, tool_calls_of
from maseval.benchmark.tau2.players.agent import (
    DEFAULT_ERROR_RATE,
    Script,
    ScriptedAgent,
    make_agent,
)
from maseval.benchmark.tau2.world.trajectory import Trajectory
from maseval.core import messages as chat
from maseval.core.scripted import FixedReply, ScriptedModelAdapter, Tools
from maseval.core.task import Task

# Some frameworks have their agents answer by a tool, which takes the answer under this name.
ANSWERING_TOOLS = {"final_answer": "answer"}


def make_model(
    player: str,
    task: Task,
    environment: Tau2Environment,
    *,
    seed: int | None = None,
    error_rate: float = DEFAULT_ERROR_RATE,
    model_id: str | None = None,
) -> ScriptedModelAdapter:
    """Return a model for one repetition of ``task`` that acts as the scripted agent would.

    Asked without tools, as a planner or a critic beside the acting agent is, it gives its plan. In
    a conversation that continues a recorded one, it does what of its script is not done yet.
    """
    agent = make_agent(player, task, environment, seed=seed, error_rate=error_rate).agent
    turns = _turns(agent, environment.trajectory)

    def reply(messages: list[chat.Message], tools: Tools) -> FixedReply:
        return _reply(next(turns), tools) if tools else _plan(agent.script)

    name = model_id or f"{player}-{environment.domain}-{task.id}"
    return ScriptedModelAdapter(reply, model_id=name)


def _turns(agent: ScriptedAgent, trajectory: Trajectory) -> Iterator[SpokenMessage]:
    """Yield the agent's turns, without end."""
    for message in trajectory.messages[: trajectory.retold]:
        if message["role"] == "assistant":
            agent.recall((), message)
    while True:
        yield agent.reply(())


def _plan(script: Script) -> str:
    steps = [f"{number}. {action.name}" for number, action in enumerate(script.actions, 1)]
    return "\n".join(["The plan:", *steps, "Then tell the customer what was done."])


def _reply(turn: Tau2Message, tools: Tools) -> FixedReply:
    calls = tool_calls_of(turn)
    if calls:
        return [chat.tool_call(call["name"], call["arguments"], id=call["id"]) for call in calls]
    text = str(turn["content"])
    offered = [tool["function"]["name"] for tool in tools or ()]
    for name, argument in ANSWERING_TOOLS.items():
        if name in offered:
            return {"name": name, "arguments": {argument: text}}
    return text
