"""An earlier conversation, written into the memory of a ``ChatAgent`` in CAMEL's own records."""

from collections.abc import Iterable

from maseval.core.messages import Message, text_of
from maseval.interface import extras
from maseval.interface.agents.camel.chat_agent import ChatAgent
from maseval.interface.agents.earlier import named_results

EXTRA, PACKAGE = "camel", "camel-ai"


def remember(agent: ChatAgent, messages: Iterable[Message]) -> None:
    """Replace all that the agent remembers, except its system message."""
    roles = extras.load("camel.types", extra=EXTRA, package=PACKAGE).OpenAIBackendRole
    agent.clear_memory()
    for message in named_results(messages):
        if message["role"] == "tool":
            agent.update_memory(_result(agent, message), roles.FUNCTION)
        elif message["role"] == "assistant":
            agent.update_memory(_answer(agent, message), roles.ASSISTANT)
        else:
            agent.update_memory(_question(message), roles.USER)


def _question(message: Message) -> object:
    kinds = extras.load("camel.messages", extra=EXTRA, package=PACKAGE)
    made: object = kinds.BaseMessage.make_user_message("User", text_of(message))
    return made


def _answer(agent: ChatAgent, message: Message) -> object:
    kinds = extras.load("camel.messages", extra=EXTRA, package=PACKAGE)
    calls = message.get("tool_calls")
    made: object = kinds.BaseMessage(
        role_name=agent.role_name,
        role_type=agent.role_type,
        meta_dict={"tool_calls": list(calls)} if calls else None,
        content=text_of(message),
    )
    return made


def _result(agent: ChatAgent, message: Message) -> object:
    kinds = extras.load("camel.messages", extra=EXTRA, package=PACKAGE)
    made: object = kinds.FunctionCallingMessage(
        role_name=agent.role_name,
        role_type=agent.role_type,
        meta_dict=None,
        content="",
        func_name=message.get("name"),
        result=text_of(message),
        tool_call_id=message.get("tool_call_id"),
    )
    return made
