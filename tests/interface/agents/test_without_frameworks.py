"""A framework that is not installed: its adapter can be imported, and tells how to install it."""

from importlib import import_module

import pytest

from maseval.interface import agents, extras
from maseval.interface.extras import MissingExtraError

FRAMEWORKS = {
    "smolagents": ("SmolAgentAdapter", "smolagents"),
    "langgraph": ("LangGraphAgentAdapter", "langgraph"),
    "llamaindex": ("LlamaIndexAgentAdapter", "llamaindex"),
    "camel": ("CamelAgentAdapter", "camel"),
    "openai_agents": ("OpenAIAgentsAdapter", "openai-agents"),
    "pydantic_ai": ("PydanticAIAgentAdapter", "pydantic-ai"),
}


@pytest.fixture(autouse=True)
def nothing_is_installed(monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda module: False)


def look(where: str) -> str:
    """Look there."""
    return where


@pytest.mark.parametrize(("module", "names"), FRAMEWORKS.items(), ids=list(FRAMEWORKS))
def test_the_command_that_installs_it_is_named(module, names):
    adapter, extra = names

    with pytest.raises(MissingExtraError, match=rf"pip install 'maseval\[{extra}\]'"):
        getattr(agents, adapter)(object(), "agent").run("Hello")
    with pytest.raises(MissingExtraError, match=rf"pip install 'maseval\[{extra}\]'"):
        import_module(f"maseval.interface.agents.{module}").as_tools([look])


def test_every_name_can_be_imported_all_the_same():
    assert all(getattr(agents, name).__module__.startswith("maseval.") for name in agents.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = agents.nothing
