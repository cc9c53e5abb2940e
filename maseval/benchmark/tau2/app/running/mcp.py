"""``maseval tau2 mcp``: one simulation as an MCP server, for any agent that can connect to one.

The simulation is run like every other, into a run folder; only its agent is whoever is connected.
It begins when the agent first reads what the customer says, since many MCP clients start their
servers long before they need them, or only to see what there is.
"""

import math
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from maseval.app.results.run_summary import RunResult
from maseval.app.running.options import takes
from maseval.benchmark.tau2.app.running.options import McpOptions, OnResult, RunOptions
from maseval.benchmark.tau2.app.running.run import Tau2Run, prepare
from maseval.benchmark.tau2.benchmark import describe_tools
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.core.agent_brief import AgentBrief
from maseval.core.engine.process_settings import end_signals
from maseval.core.exceptions import ConfigurationError, RunInterruptedError
from maseval.core.report import TaskExecutionStatus
from maseval.interface.agents.mcp import (
    McpAgentAdapter,
    conversation_server,
    load_mcp,
    over_http,
    over_stdio,
)
from maseval.interface.agents.mcp_conversation import AgentLeftError, Conversation
from maseval.runs import RunFolder
from maseval.runs.recording import outcomes_in

TRANSPORTS = ("stdio", "http")

BRIEFING = "<policy>\n{policy}\n</policy>\n\nThe customer says:\n"
INSTRUCTIONS = (
    "You are a customer service agent. Call read_customer to begin, use the other tools to help "
    "the customer, and talk to the customer only by reply_to_customer, until it says that the "
    "conversation is over. Follow this policy:\n\n{policy}"
)

# The seconds that a server stays reachable: after an interruption or the last call of an agent that
# knows of the end, and of one that does not, because it was busy when its time was up.
_LINGER_SECONDS = 2.0
_ABSENCE_SECONDS = 60.0
_TICK = 0.1
_ENDINGS = {
    TerminationReason.USER_STOP.value: "the customer has left",
    TerminationReason.AGENT_STOP.value: "the agent has ended it",
    TerminationReason.MAX_STEPS.value: "the step limit is reached",
    TerminationReason.TOO_MANY_ERRORS.value: "too many tool calls have failed",
    TerminationReason.TIMEOUT.value: "the time limit is reached",
    TaskExecutionStatus.TASK_TIMEOUT.value: "the time limit is reached",
}
_LEFT = "the MCP client disconnected before the conversation was over"


class McpAgent:
    """Makes the agent of the run; the run's configuration names the agent after this class."""

    conversation: Conversation

    def __call__(self, brief: AgentBrief) -> McpAgentAdapter:
        return McpAgentAdapter(self.conversation, brief.tools, str(brief.args["name"]))

    def leave(self) -> None:
        self.conversation.leave(RunInterruptedError("interrupted"))


def _hold(
    conversation: Conversation,
    prepared: Tau2Run,
    on_result: OnResult,
    agent_is_gone: Callable[[], bool],
) -> RunResult | None:
    """Run the task once the agent begins, and wait until it is gone; None if it never begins."""
    _wait_until(lambda: conversation.is_begun or conversation.has_left)
    if not conversation.is_begun:
        return None
    how = "The conversation is over: the simulation could not be run."
    try:
        result = prepared.execute()
        how = f"The conversation is over: {_describe_end(result)}."
        on_result(result, how)
    finally:
        # The end comes last: a client may end this process as soon as it hears of it.
        conversation.end(how)
    # Whoever interrupts the command wants it to end: the agent may stay away, or not know of it.
    last = time.monotonic() + _LINGER_SECONDS if result.interrupted else math.inf
    with suppress(KeyboardInterrupt):
        _wait_until(lambda: agent_is_gone() or time.monotonic() > last)
    return result


def _describe_end(result: RunResult) -> str:
    if not result.ran:
        return "it took place earlier, and is in the run folder"
    for line in outcomes_in(RunFolder.read(result.folder)):
        failed = f"it failed ({line.error or line.status})"
        return _ENDINGS.get(line.ended or line.status, failed)
    return "it was interrupted"


def _wait_until(condition: Callable[[], bool]) -> None:
    # In short naps: on some systems nothing but the end of a wait lets Ctrl-C through.
    while not condition():
        time.sleep(_TICK)


def _is_long_silent(conversation: Conversation) -> bool:
    """Return True if the agent has been silent for long enough after the end."""
    patience = _LINGER_SECONDS if conversation.knows_end else _ABSENCE_SECONDS
    return time.monotonic() - conversation.last_active > patience


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
    agent = McpAgent()
    chosen = RunOptions.of(
        options,
        task_id=[options.task_id],
        agent=agent,
        agent_args={"name": options.agent_name},
        concurrency=1,
        patience=options.timeout or None,  # an agent that is away is a hanging step
    )
    prepared = prepare(chosen)
    # Before any client connects, what would keep the simulation from beginning.
    prepared.check_models()
    [(domain, [task, *_])] = prepared.tasks.items()
    environment = Tau2Environment(task.environment_data)
    describe_tools(environment, prepared.wording)
    briefing = BRIEFING.format(policy=environment.policy)
    agent.conversation = conversation = Conversation(lambda: None, briefing)
    server = conversation_server(
        conversation,
        environment.tools,
        name=f"tau2-{domain}",
        instructions=INSTRUCTIONS.format(policy=environment.policy),
    )
    # Many clients end their servers with SIGTERM; what was done by then is to be recorded.
    with end_signals(signal.default_int_handler), suppress(KeyboardInterrupt):
        if options.transport == "stdio":
            with over_stdio(server, lambda: conversation.leave(AgentLeftError(_LEFT))) as closed:
                return _hold(conversation, prepared, options.on_result, closed.is_set)
        with over_http(server, host=options.host, port=options.port) as running:
            options.on_address(running.url)
            return _hold(
                conversation, prepared, options.on_result, partial(_is_long_silent, conversation)
            )
    return None
