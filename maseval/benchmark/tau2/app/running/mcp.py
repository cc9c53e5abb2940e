"""``maseval tau2 mcp``: one simulation as an MCP server, for any agent that can connect to one.

The simulation is run like every other, into a run folder; only its agent is whoever is connected.
It begins when the agent first reads what the customer says, since many MCP clients start their
servers long before they need them, or only to see what there is.
"""

import signal
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from maseval.app.results.results import RunResult
from maseval.app.running.options import takes
from maseval.benchmark.tau2.agent_brief import AgentBrief
from maseval.benchmark.tau2.app.running.options import McpOptions, OnResult, RunOptions
from maseval.benchmark.tau2.app.running.play import SimulationThread, wait_until
from maseval.benchmark.tau2.app.running.run import run
from maseval.benchmark.tau2.app.running.setup import RunSetup
from maseval.benchmark.tau2.app.running.tasks import domain_name, select_tasks
from maseval.benchmark.tau2.benchmark import describe_tools
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.core.engine.process import end_signals
from maseval.core.exceptions import ConfigurationError, MASEvalError, RunInterruptedError
from maseval.interface.agents.mcp import (
    McpAgentAdapter,
    conversation_server,
    load_mcp,
    over_http,
    over_stdio,
)
from maseval.interface.agents.mcp_conversation import AgentLeftError, Conversation

TRANSPORTS = ("stdio", "http")

BRIEFING = "<policy>\n{policy}\n</policy>\n\nThe customer says:\n"
INSTRUCTIONS = (
    "You are a customer service agent. Call read_customer to begin, use the other tools to help "
    "the customer, and talk to the customer only by reply_to_customer, until it says that the "
    "conversation is over. Follow this policy:\n\n{policy}"
)

# The seconds that a server stays reachable: after the last call of an agent that knows of the end,
# and of one that does not, because it was busy when its time was up.
_LINGER_SECONDS = 2.0
_ABSENCE_SECONDS = 60.0


class McpAgent:
    """Makes the agent of the run; the run's configuration names the agent after this class."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def __call__(self, brief: AgentBrief) -> McpAgentAdapter:
        return McpAgentAdapter(self._conversation, brief.tools, str(brief.args["name"]))


class McpSimulation(SimulationThread):
    """The run of the task in a thread of its own; ``given`` are its options but for the agent."""

    def __init__(self, given: dict[str, Any], briefing: str, on_result: OnResult) -> None:
        self.conversation = Conversation(self.start, briefing)
        # The end comes last: a client may end this process as soon as it hears of it.
        make = McpAgent(self.conversation)
        super().__init__(lambda: run(**given, agent=make), self.conversation.end, on_result)

    def is_long_over(self) -> bool:
        """Return True if it has ended and the agent has been silent for long enough."""
        patience = _LINGER_SECONDS if self.conversation.knows_end else _ABSENCE_SECONDS
        silence = time.monotonic() - self.conversation.last_active
        return self.is_over and silence > patience

    def attend(self, agent_is_gone: Callable[[], bool]) -> None:
        """Wait until the agent is gone, then let the simulation end and wait for its record."""
        why: MASEvalError = AgentLeftError(
            "the MCP client disconnected before the conversation was over"
        )
        try:
            wait_until(agent_is_gone)
        except KeyboardInterrupt:
            why = RunInterruptedError("interrupted")
        self.conversation.leave(why)
        if self.conversation.is_begun:
            wait_until(lambda: self.is_over)


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
    options = replace(options, domain=domain_name(options.domain))
    environment = _environment(options)
    given = _run_options(options)
    # Before any client connects, what would keep the simulation from beginning.
    setup = RunSetup.of(RunOptions(**given, agent=_nobody))
    setup.check_models()
    describe_tools(environment, setup.wording)
    briefing = BRIEFING.format(policy=environment.policy)
    simulation = McpSimulation(given, briefing, options.on_result)
    server = conversation_server(
        simulation.conversation,
        environment.tools,
        name=f"tau2-{options.domain}",
        instructions=INSTRUCTIONS.format(policy=environment.policy),
    )
    # Many clients end their servers with SIGTERM; what was done by then is to be recorded.
    with end_signals(signal.default_int_handler):
        if options.transport == "stdio":
            with over_stdio(server) as closed:
                simulation.attend(closed.is_set)
        else:
            with over_http(server, host=options.host, port=options.port) as running:
                options.on_address(running.url)
                simulation.attend(simulation.is_long_over)
        return simulation.run_result()


def _environment(options: McpOptions) -> Tau2Environment:
    found = select_tasks(
        [options.domain],
        split=options.split,
        task_ids=[options.task_id],
        timeout=options.timeout,
        data_version=options.data_version,
    )
    return Tau2Environment(next(iter(found.values()))[0].environment_data)


def _run_options(options: McpOptions) -> dict[str, Any]:
    return {
        **options.shared_with_run(),
        "domain": options.domain,
        "task_id": [options.task_id],
        "agent_args": {"name": options.agent_name},
        "concurrency": 1,
        "patience": options.timeout,  # an agent that is away is a hanging step
    }


def _nobody(brief: AgentBrief) -> NoReturn:
    raise NotImplementedError
