"""``maseval tau2 mcp``: one simulation as an MCP server, for any agent that can connect to one.

The simulation is run like every other, into a run folder; only its agent is whoever is connected.
"""

import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import fields, replace
from typing import Any, NoReturn

from maseval.app.results.results import RunResult
from maseval.app.running.options import takes
from maseval.benchmark.tau2.app.running.options import (
    ConversationOptions,
    McpOptions,
    OnResult,
    RunOptions,
)
from maseval.benchmark.tau2.app.running.own_agents import AgentBrief, MakeAgent
from maseval.benchmark.tau2.app.running.run import run
from maseval.benchmark.tau2.app.running.setup import RunSetup
from maseval.benchmark.tau2.app.running.simulation_thread import SimulationThread, wait_until
from maseval.benchmark.tau2.app.running.tasks import named_domain, select_tasks
from maseval.benchmark.tau2.benchmark import describe_tools
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.core.engine.process import signal_handlers
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.task import Task
from maseval.interface.agents.mcp import (
    McpAgentAdapter,
    conversation_server,
    load_mcp,
    over_http,
    over_stdio,
)
from maseval.interface.agents.mcp_conversation import AgentLeftError, Conversation

# How long a server stays reachable: after the last call of an agent that knows of the end, and of
# one that does not, because it was busy when its time was up.
_LINGER_SECONDS = 2.0
_ABSENCE_SECONDS = 60.0


class McpAgent:
    """Makes the agent of the run; its name is what the run's configuration says of the agent."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def __call__(self, brief: AgentBrief) -> McpAgentAdapter:
        return McpAgentAdapter(self._conversation, brief.tools, str(brief.args["name"]))


class McpSimulation:
    """The run of the task, in a thread of its own."""

    def __init__(
        self,
        run: Callable[[MakeAgent], RunResult],
        briefing: str,
        on_result: OnResult,
    ) -> None:
        self._thread = SimulationThread(
            lambda: run(McpAgent(self.conversation)),
            # A client may end this process as soon as it hears of the end.
            lambda words: self.conversation.end(words),
            on_result,
        )
        self.conversation = Conversation(self._thread.start, briefing)

    def is_long_over(self) -> bool:
        """Whether there is nothing more to be done for the agent."""
        patience = _LINGER_SECONDS if self.conversation.knows_end else _ABSENCE_SECONDS
        silence = time.monotonic() - self.conversation.last_heard
        return self._thread.is_over and silence > patience

    def leave(self, why: MASEvalError) -> None:
        """Let the simulation end if it has not; waits until it is recorded."""
        self.conversation.leave(why)
        if self.conversation.is_begun:
            wait_until(lambda: self._thread.is_over)

    def outcome(self) -> RunResult | None:
        """What became of it; raises what kept it from being run."""
        return self._thread.outcome()


TRANSPORTS = ("stdio", "http")

BRIEFING = "<policy>\n{policy}\n</policy>\n\nThe customer says:\n"
INSTRUCTIONS = (
    "You are a customer service agent. Call read_customer to begin, use the other tools to help "
    "the customer, and talk to the customer only by reply_to_customer, until it says that the "
    "conversation is over. Follow this policy:\n\n{policy}"
)


class InterruptedConversationError(MASEvalError):
    """Ctrl-C, while the agent was at work."""

    fatal_for_run = True


@takes(McpOptions)
def mcp(options: McpOptions) -> RunResult | None:
    """Serve one simulation until its agent disconnects; by HTTP, until it knows of the end.

    Returns the result, or None if no agent ever began. An agent that disconnects before the end
    has failed the task; after Ctrl-C the same call with the same folder runs it again.
    ``on_address`` is called with the URL, for ``http``; ``on_result`` with the result and how the
    conversation ended, as soon as that is known. ``host`` is where to listen, for ``http``.
    """
    load_mcp()
    if options.transport not in TRANSPORTS:
        raise ConfigurationError(
            f"transport is {options.transport!r}; choose one of: {', '.join(TRANSPORTS)}"
        )
    options = replace(options, domain=named_domain(options.domain))
    environment = Tau2Environment(_task(options).environment_data)
    given = _run_options(options)
    # Before any client connects, what would keep the simulation from beginning.
    setup = RunSetup.of(RunOptions(**given, agent=_nobody))
    setup.check_models()
    describe_tools(environment, setup.wording)
    simulation = McpSimulation(
        lambda agent: run(**given, agent=agent),
        BRIEFING.format(policy=environment.policy),
        options.on_result,
    )
    server = conversation_server(
        simulation.conversation,
        environment.tools,
        name=f"tau2-{options.domain}",
        instructions=INSTRUCTIONS.format(policy=environment.policy),
    )
    with _terminated_like_interrupted():
        if options.transport == "stdio":
            with over_stdio(server) as closed:
                _attend(simulation, closed.is_set)
        else:
            with over_http(server, host=options.host, port=options.port) as running:
                options.on_address(running.url)
                _attend(simulation, simulation.is_long_over)
        return simulation.outcome()


def _attend(simulation: McpSimulation, agent_is_gone: Callable[[], bool]) -> None:
    try:
        wait_until(agent_is_gone)
    except KeyboardInterrupt:
        simulation.leave(InterruptedConversationError("interrupted"))
    else:
        simulation.leave(
            AgentLeftError("the MCP client disconnected before the conversation was over")
        )


def _task(options: McpOptions) -> Task:
    found = select_tasks(
        [options.domain],
        split=options.split,
        task_ids=[options.task_id],
        timeout=options.timeout,
        data_version=options.data_version,
    )
    return next(iter(found.values()))[0]


def _run_options(options: McpOptions) -> dict[str, Any]:
    """The run of the one task, but for its agent."""
    return {
        **{each.name: getattr(options, each.name) for each in fields(ConversationOptions)},
        "domain": options.domain,
        "task_id": [options.task_id],
        "agent_args": {"name": options.agent_name},
        "concurrency": 1,
        "patience": options.timeout,  # an agent that is away is a hanging step
    }


def _nobody(brief: AgentBrief) -> NoReturn:
    raise NotImplementedError


def _terminated_like_interrupted() -> AbstractContextManager[None]:
    """Many clients end their servers with a signal; what was done by then is to be recorded."""
    return signal_handlers({signal.SIGTERM: signal.default_int_handler})
