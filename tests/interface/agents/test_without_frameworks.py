"""A framework that is not installed: its adapter can be imported, and tells how to install it."""

import re

import pytest

from maseval import ScriptedModelAdapter
from maseval.interface import agents, extras
from maseval.interface.agents import (
    camel,
    langgraph,
    llamaindex,
    openai_agents,
    pydantic_ai,
    smolagents,
)
from maseval.interface.extras import MissingExtraError


@pytest.fixture(autouse=True)
def nothing_is_installed(monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda module: False)


def look(where: str) -> str:
    """Look there."""
    return where


def user_tool(kind):
    return kind("Ann", ScriptedModelAdapter([]), "A reader", "").get_tool


USES = {
    smolagents: [
        lambda: smolagents.SmolAgentAdapter(object(), "agent").run("Hello"),
        user_tool(smolagents.SmolAgentLLMUser),
    ],
    langgraph: [
        lambda: langgraph.LangGraphAgentAdapter(object(), "agent").run("Hello"),
        user_tool(langgraph.LangGraphLLMUser),
        lambda: langgraph.as_tools([]),
    ],
    llamaindex: [
        lambda: llamaindex.LlamaIndexAgentAdapter(object(), "agent").run("Hello"),
        user_tool(llamaindex.LlamaIndexLLMUser),
    ],
    camel: [
        lambda: camel.CamelAgentAdapter(object(), "agent").run("Hello"),
        lambda: camel.CamelAgentUser(object(), "Hi").respond("Hello"),
        user_tool(camel.CamelLLMUser),
        camel.token_counter,
    ],
    openai_agents: [lambda: openai_agents.OpenAIAgentsAdapter(object(), "agent").run("Hello")],
    pydantic_ai: [lambda: pydantic_ai.PydanticAIAgentAdapter(object(), "agent").run("Hello")],
}

PACKAGES = {
    smolagents: ("smolagents", "smolagents"),
    langgraph: ("langgraph", "langgraph"),
    llamaindex: ("llama-index-core", "llamaindex"),
    camel: ("camel-ai", "camel"),
    openai_agents: ("openai-agents", "openai-agents"),
    pydantic_ai: ("pydantic-ai-slim", "pydantic-ai"),
}


@pytest.mark.parametrize("module", USES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_the_command_that_installs_it_is_named(module):
    package, extra = PACKAGES[module]
    way = f"Install it in maseval's checkout with: pip install '.[{extra}]'"
    told = f"{package} is not installed. {way}"

    for use in (*USES[module], lambda: module.as_tools([look])):
        with pytest.raises(MissingExtraError, match=re.escape(told)):
            use()


def test_every_name_can_be_imported_all_the_same():
    assert all(getattr(agents, name).__module__.startswith("maseval.") for name in agents.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = agents.nothing
