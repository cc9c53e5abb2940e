"""Whether a conversation can be continued, found out before anything is paid for or written."""

from collections.abc import Sequence

from maseval.benchmark.tau2.app.running.own_agents import (
    ANYWHERE,
    NO_KEY,
    AgentBrief,
    AgentModel,
    FunctionAgentAdapter,
    cast_of,
)
from maseval.benchmark.tau2.app.running.participants import OwnAgent
from maseval.benchmark.tau2.app.running.setup import RunSetup
from maseval.benchmark.tau2.benchmark import Mode
from maseval.benchmark.tau2.conversation.continuation import Continuation, check_turn_of_framework
from maseval.benchmark.tau2.conversation.participants import Recalling
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import SpokenMessage, Tau2Message
from maseval.core.agent import ConversationNotLoadedError
from maseval.core.task import Task


class _Silent:
    """A side that hears all and is asked for nothing."""

    def begin(self, history: Sequence[Tau2Message]) -> None: ...

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None: ...

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        raise AssertionError("nobody is asked while a beginning is checked")

    def is_stop(self, message: SpokenMessage) -> bool:
        return False


def check_retelling(
    setup: RunSetup, task: Task, past: Sequence[Tau2Message], *, lenient: bool
) -> Tau2Environment:
    """The environment after the recorded beginning; raises if that does not come out the same."""
    solo = setup.mode is Mode.SOLO
    environment = Tau2Environment({**task.environment_data, "solo": solo})
    user = None if solo else _Silent()
    Continuation(environment, _Silent(), user, past=past, lenient=lenient).initialize()
    return environment


def check_agent(agent: OwnAgent, environment: Tau2Environment, past: Sequence[Tau2Message]) -> None:
    """Raise if an own agent cannot take over: one is made to find out."""
    model = AgentModel(agent.rehearse, ANYWHERE, NO_KEY) if agent.rehearse else agent.client
    brief = AgentBrief(
        environment.tools, environment.policy, environment.domain, model, None, agent.args
    )
    agents, _ = cast_of(agent.make, brief)
    if len(agents) != 1:
        names = ", ".join(each.name for each in agents)
        raise ConversationNotLoadedError(
            f"{agent.name} makes several agents ({names}), which cannot be given an earlier "
            "conversation; branch with one agent"
        )
    one = agents[0]
    if isinstance(one, Recalling):
        return
    if not one.loads_messages:
        plain = isinstance(one, FunctionAgentAdapter)
        kind = "a plain function" if plain else f"{type(one).__name__} {one.name!r}"
        raise ConversationNotLoadedError(
            f"{agent.name} makes {kind}, which cannot be given an earlier conversation; return an "
            "AgentAdapter with load_messages, or branch with another agent"
        )
    check_turn_of_framework(past)
