"""``maseval tau2 mcp``: one simulation as an MCP server, for any agent that can connect to one.

The simulation is run like every other, into a run folder; only its agent is whoever is connected.
"""

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from maseval.benchmark.tau2.benchmark import MAX_INVOCATIONS
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.commands.results import RunResult
from maseval.commands.tau2.options import run_options
from maseval.commands.tau2.own_agents import AgentBrief
from maseval.commands.tau2.running import DEFAULT_SEED, run
from maseval.commands.tau2.selection import select_tasks
from maseval.commands.tau2.visited import OnResult, VisitedSimulation, wait_until
from maseval.core.engine.process import signal_handlers
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.task import Task
from maseval.interface.agents.mcp import conversation_server
from maseval.interface.agents.mcp.conversation import AgentLeftError
from maseval.interface.agents.mcp.tools import load_mcp
from maseval.interface.agents.mcp.transports import LOCAL, over_http, over_stdio

TRANSPORTS = ("stdio", "http")

DEFAULT_MCP_TIMEOUT = 3600.0
"""More than a model of a run gets: the agent may be one that a person sits beside."""

BRIEFING = "<policy>\n{policy}\n</policy>\n\nThe customer says:\n"
INSTRUCTIONS = (
    "You are a customer service agent. Call read_customer to begin, use the other tools to help "
    "the customer, and talk to the customer only by reply_to_customer, until it says that the "
    "conversation is over. Follow this policy:\n\n{policy}"
)


class InterruptedConversationError(MASEvalError):
    """Ctrl-C, while the agent was at work."""

    fatal_for_run = True


def mcp(
    *,
    domain: str,
    task_id: str,
    split: str = "base",
    user: str | None = None,
    user_model: str | None = None,
    judge_model: str | None = None,
    user_args: Mapping[str, Any] | None = None,
    base_url: str | None = None,
    agent_name: str = "mcp_agent",
    transport: str = "stdio",
    host: str = LOCAL,
    port: int = 0,
    max_steps: int = MAX_INVOCATIONS,
    seed: int | None = DEFAULT_SEED,
    timeout: float | None = DEFAULT_MCP_TIMEOUT,
    output: str | os.PathLike[str] | None = None,
    on_address: Callable[[str], None] = lambda url: None,
    on_result: OnResult = lambda result, how: None,
) -> RunResult | None:
    """Serve one simulation until its agent disconnects; by HTTP, until it knows of the end.

    Returns what became of it, or None if no agent ever began. An agent that disconnects before the
    end has failed the task; after Ctrl-C the same call with the same folder plays it again.

    Args:
        domain: The task's domain.
        task_id: The task.
        split: Among which of the domain's tasks: ``base``, or for telecom also ``small``, ``full``.
        user: ``llm`` or ``scripted``.
        user_model: The model that plays the customer.
        judge_model: The model that judges assertions in natural language.
        user_args: For the user's model.
        base_url: The address of an OpenAI-compatible server, for both models.
        agent_name: What the agent is called in reports.
        transport: ``stdio``, for a client that started this process, or ``http``.
        host: Where to listen, for ``http``.
        port: The port, for ``http``; 0 is any that is free.
        max_steps: How long the conversation may be.
        seed: Makes models that take a seed repeatable.
        timeout: Seconds for the simulation, from the customer's first words; None for no limit.
        output: The run folder; by default a new one below ``runs``.
        on_address: Told the URL, for ``http``.
        on_result: Told the result and how the conversation ended, as soon as that is known.
    """
    load_mcp()
    if transport not in TRANSPORTS:
        raise ConfigurationError(
            f"transport is {transport!r}; choose one of: {', '.join(TRANSPORTS)}"
        )
    played: dict[str, Any] = {
        "user": user,
        "user_model": user_model,
        "judge_model": judge_model,
        "user_args": user_args,
        "base_url": base_url,
        "max_steps": max_steps,
        "seed": seed,
        "timeout": timeout,
    }
    task = _task(domain, split, task_id, timeout)
    _check(played)
    run_with = partial(
        run,
        domain=domain,
        split=split,
        task_id=[task_id],
        agent_args={"name": agent_name},
        concurrency=1,
        output=output,
        **played,
    )
    world = Tau2Environment(task.environment_data)
    simulation = VisitedSimulation(run_with, BRIEFING.format(policy=world.policy), on_result)
    server = conversation_server(
        simulation.conversation,
        world.tools,
        name=f"tau2-{domain}",
        instructions=INSTRUCTIONS.format(policy=world.policy),
    )
    with _terminated_like_interrupted():
        if transport == "stdio":
            with over_stdio(server) as line:
                _attend(simulation, line.closed.is_set)
        else:
            with over_http(server, host=host, port=port) as running:
                on_address(running.url)
                _attend(simulation, simulation.is_long_over)
        return simulation.outcome()


def _attend(simulation: VisitedSimulation, agent_is_gone: Callable[[], bool]) -> None:
    try:
        wait_until(agent_is_gone)
    except KeyboardInterrupt:
        simulation.leave(InterruptedConversationError("interrupted"))
    else:
        simulation.leave(
            AgentLeftError("the MCP client disconnected before the conversation was over")
        )


def _task(domain: str, split: str, task_id: str, timeout: float | None) -> Task:
    found = select_tasks([domain], split=split, task_ids=[task_id], timeout=timeout)
    return next(iter(found.values()))[0]


def _check(played: Mapping[str, Any]) -> None:
    """Raise before any client connects what would keep the simulation from beginning."""
    options = run_options(
        agent=_nobody, agent_model=None, agent_args=None, rehearse=None, mode="normal", **played
    )
    for model in options.models.values():
        model.check()


def _nobody(brief: AgentBrief) -> Any:
    raise NotImplementedError


def _terminated_like_interrupted() -> AbstractContextManager[None]:
    """Many clients end their servers with a signal; what was done by then is to be recorded."""
    return signal_handlers({signal.SIGTERM: signal.default_int_handler})
