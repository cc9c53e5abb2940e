import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval import ScriptedModelAdapter
from maseval.core.exceptions import MASEvalError
from maseval.core.model import resolve_model
from maseval.frames.frame import TABLES, Frame
from maseval.interface import agents, extras
from maseval.interface.agents import (
    camel,
    langgraph,
    llamaindex,
    openai_agents,
    pydantic_ai,
    smolagents,
)
from maseval.interface.agents.mcp import serve_tools
from maseval.interface.inference import HuggingFaceModelScorer
from maseval.interface.telemetry import OpenTelemetryCallback
from maseval.interface.trackers import check_installed
from maseval.interface.usage import LiteLLMCostCalculator

LIBRARIES = ("openai", "anthropic", "google.genai", "litellm", "transformers", "opentelemetry")


@pytest.mark.parametrize("module", ["nowhere_to_be_found", "nowhere_to_be_found.inside"])
def test_a_missing_library_names_the_command_that_installs_it(module):
    with pytest.raises(extras.MissingExtraError) as caught:
        extras.load(module, extra="nowhere", package="nowhere-to-be-found")

    assert str(caught.value) == (
        "nowhere-to-be-found is not installed. "
        "Install it in maseval's checkout with: pip install '.[nowhere]'"
    )
    assert isinstance(caught.value, ImportError) and isinstance(caught.value, MASEvalError)


def test_no_library_is_imported_before_it_is_used():
    program = f"""
import sys
import tomllib
from pathlib import Path
import maseval, maseval.interface, maseval.interface.telemetry as room
room.OpenTelemetryCallback
from maseval.interface import inference
from maseval.interface.inference import *
from maseval.interface.usage import LiteLLMCostCalculator
assert OpenAIModelAdapter.__module__ == "maseval.interface.inference.openai"
assert set(inference.__all__) <= set(dir(inference))
print([name for name in {LIBRARIES!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert (done.stderr, done.stdout) == ("", "[]\n")


def look(where: str) -> str:
    """Look there."""
    return where


def adapter(kind: type[Any]) -> Callable[..., Any]:
    return lambda: kind(object(), "agent").run("Hello")


def user_tool(kind: type[Any]) -> Callable[..., Any]:
    return kind("Ann", ScriptedModelAdapter([]), "A reader", "").get_tool


def to(library: str) -> Callable[..., Any]:
    return lambda: getattr(Frame(TABLES["simulations"], lambda: iter(())), f"to_{library}")()


# What is done with a library, by the extra that installs it.
USES = {
    "openai": [lambda: resolve_model("openai/m"), lambda: resolve_model("m")],
    "anthropic": [lambda: resolve_model("anthropic/m")],
    "google-genai": [lambda: resolve_model("google/m")],
    "litellm": [lambda: resolve_model("litellm/m"), LiteLLMCostCalculator],
    "transformers": [lambda: HuggingFaceModelScorer("m").loglikelihood("a", "b")],
    "smolagents": [
        adapter(smolagents.SmolAgentAdapter),
        user_tool(smolagents.SmolAgentLLMUser),
        lambda: smolagents.as_tools([look]),
    ],
    "langgraph": [
        adapter(langgraph.LangGraphAgentAdapter),
        user_tool(langgraph.LangGraphLLMUser),
        lambda: langgraph.as_tools([]),
    ],
    "llamaindex": [
        adapter(llamaindex.LlamaIndexAgentAdapter),
        user_tool(llamaindex.LlamaIndexLLMUser),
        lambda: llamaindex.as_tools([look]),
    ],
    "camel": [
        adapter(camel.CamelAgentAdapter),
        lambda: camel.CamelAgentUser(object(), "Hi").respond("Hello"),
        user_tool(camel.CamelLLMUser),
        lambda: camel.as_tools([look]),
        camel.token_counter,
    ],
    "openai-agents": [
        adapter(openai_agents.OpenAIAgentsAdapter),
        lambda: openai_agents.as_tools([look]),
    ],
    "pydantic-ai": [
        adapter(pydantic_ai.PydanticAIAgentAdapter),
        lambda: pydantic_ai.as_tools([look]),
    ],
    "mcp": [lambda: serve_tools([look]).__enter__()],
    "otel": [OpenTelemetryCallback],
    "mlflow": [lambda: check_installed("mlflow")],
    "wandb": [lambda: check_installed("wandb")],
    "frames": [to("arrow")],
    "pandas": [to("pandas")],
}
PACKAGES = {
    **{"llamaindex": "llama-index-core", "camel": "camel-ai", "pydantic-ai": "pydantic-ai-slim"},
    **{name: name for name in ("smolagents", "langgraph", "openai-agents", "pandas")},
}


@pytest.mark.parametrize("extra", USES)
def test_a_missing_library_is_named_with_the_way_to_install_it(extra, monkeypatch):
    beside = "pyarrow" if extra == "pandas" else None
    monkeypatch.setattr(extras, "is_installed", lambda module: module == beside)

    for use in USES[extra]:
        with pytest.raises(extras.MissingExtraError) as caught:
            use()
        assert str(caught.value).endswith(
            f"Install it in maseval's checkout with: pip install '.[{extra}]'"
        )
        assert str(caught.value).startswith(PACKAGES.get(extra, ""))


def test_every_name_of_an_adapter_can_be_imported_all_the_same():
    assert all(getattr(agents, name).__module__.startswith("maseval.") for name in agents.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = agents.nothing


CHECKOUT = Path(__file__).parents[2]


def texts_people_read() -> Iterator[Path]:
    yield CHECKOUT / "README.md"
    for folder in ("docs", "examples", "maseval"):
        files = (CHECKOUT / folder).rglob("*")
        yield from (file for file in files if file.suffix in READ_BY_PEOPLE)


READ_BY_PEOPLE = {".md", ".py", ".pyi", ".yml", ".toml", ".txt", ".html", ".js"}


def test_the_extra_that_an_error_names_is_one_that_the_checkout_has():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    named = {
        extra
        for file in texts_people_read()
        for extras_named in re.findall(r"pip install '\.\[([a-z,-]+)\]'", file.read_text())
        for extra in extras_named.split(",")
    }

    assert named and named <= set(project["optional-dependencies"])
