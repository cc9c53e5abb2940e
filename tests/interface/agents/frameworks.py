"""The agent frameworks: how an agent of each is made, and where one differs from the others.

What the adapters of all of them must do is said once, in ``test_every_adapter*.py``. A class is one
way to make agents; some frameworks have several, which must do the same.
"""

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar

import pytest

from maseval import ScriptedModelAdapter
from maseval.core.event_loop import run_async
from maseval.core.scripted import Reply
from maseval.core.tool import inline_references
from maseval.interface.agents import camel, langgraph, llamaindex, openai_agents, pydantic_ai
from maseval.interface.agents import smolagents as smol
from tests.interface.agents.framework import Definitions, Framework
from tests.interface.agents.langgraph import graphs
from tests.interface.agents.schemas import changed, without_titles
from tests.interface.agents.served import KEY, UNREADABLE
from tests.interface.libraries import QUIET_LITELLM


class Smolagents(Framework):
    library = page = "smolagents"
    adapter, as_tools = smol.SmolAgentAdapter, smol.as_tools
    user, asking_tool = smol.SmolAgentLLMUser, "user_input"
    logs_turns = False
    unreadable = tuple(body for body in UNREADABLE if body != {"hello": 1})

    def model(self, url: str, name: str, **options: Any) -> Any:
        client = {"max_retries": 0, **options}
        sdk = import_module("smolagents")
        return sdk.OpenAIModel(name, url, KEY, client_kwargs=client, retry=False, temperature=0.0)

    def agent(
        self,
        model: Any,
        tools: list[Any],
        instructions: str,
        *,
        kind: str = "ToolCallingAgent",
        **options: Any,
    ) -> Any:
        sdk = import_module("smolagents")
        quiet = {"verbosity_level": sdk.LogLevel.OFF}
        return getattr(sdk, kind)(
            tools=tools, model=model, instructions=instructions, **quiet | options
        )

    def limit_of_agent(self, limit: int) -> dict[str, Any]:
        return {"max_steps": limit}

    asking = {"name": "expert", "arguments": {"task": "What now?"}}  # noqa: RUF012

    def naming(self, name: str) -> dict[str, Any]:
        return {"name": name, "description": "Knows."}

    def led_by(self, url: str, member: Any) -> Any:
        return self.make(url, managed_agents=[member])

    def close_model(self, model: Any) -> None:
        model.client.close()

    @staticmethod
    def say(text: str) -> Reply:
        return {"name": "final_answer", "arguments": {"answer": text}}

    def told(self, definitions: Definitions) -> Definitions:
        def top_level_only(parameters):
            parameters = inline_references(parameters)
            assert parameters.keys() <= {"type", "properties", "required", "title"}
            del parameters["title"]
            return {"required": [], **parameters}

        return changed(definitions, top_level_only)

    def offered(self, model: ScriptedModelAdapter) -> Definitions:
        *given, last = model.requests[-1]["tools"]
        assert last["function"]["name"] == "final_answer"
        return given

    def texts(self, messages: list[dict[str, Any]]) -> list[str]:
        parts = [part for message in messages for part in message["content"]]
        return [part["text"] for part in parts if part["type"] == "text"]

    def results(self, model: ScriptedModelAdapter) -> list[str]:
        return self._headed("Observation:\n", model.requests[-1]["messages"])

    def asked(self, messages: list[dict[str, Any]]) -> list[str]:
        return self._headed("New task:\n", messages)

    def _headed(self, heading: str, messages: list[dict[str, Any]]) -> list[str]:
        """All is the user's, under headings; a new task may stand below an observation."""
        return [text.split(heading)[1] for text in self.texts(messages) if heading in text]

    def keeps(self, instructions: str, system: list[dict[str, Any]]) -> bool:
        (prompt,) = system
        return prompt["role"] == "system" and instructions in prompt["content"]


class LangGraph(Framework):
    library = page = "langgraph"
    adapter, as_tools = langgraph.LangGraphAgentAdapter, langgraph.as_tools
    user = langgraph.LangGraphLLMUser
    quiet = (QUIET_LITELLM,)
    at_limit = r"[Rr]ecursion limit of 6 reached"
    page_calls = ()
    graph: ClassVar[Callable[..., Any]] = graphs.agent_graph

    def model(self, url: str, name: str, **options: Any) -> Any:
        return graphs.chat_model(url, name, **options)

    def agent(self, model: Any, tools: list[Any], instructions: str, **options: Any) -> Any:
        return type(self).graph(model, tools, system_prompt=instructions, **options)

    def limit_of_adapter(self, limit: int) -> dict[str, Any]:
        return {"config": {"recursion_limit": 2 * limit}}  # to ask and to call are two steps

    def answer_of(self, member: Any, request: str) -> str:
        return member.invoke({"messages": [("user", request)]})["messages"][-1].content

    def close_model(self, model: Any) -> None:
        model.root_client.close()
        run_async(model.root_async_client.close())

    def as_json(self, value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    def told(self, definitions: Definitions) -> Definitions:
        return changed(
            definitions, lambda parameters: without_titles(inline_references(parameters))
        )

    def offered(self, model: ScriptedModelAdapter) -> Definitions:
        return without_titles(super().offered(model))  # some are left in place


class LangGraphByHand(LangGraph):
    """The node for tools gets all calls of an answer at once."""

    variant = True
    graph = graphs.custom_graph


class LangGraphAsync(LangGraph):
    """One of the nodes is a coroutine."""

    variant = True
    graph = graphs.async_graph


class LlamaIndex(Framework):
    library, page = "llama_index", "llamaindex"
    adapter, as_tools = llamaindex.LlamaIndexAgentAdapter, llamaindex.as_tools
    user = llamaindex.LlamaIndexLLMUser
    quiet = (
        # LlamaIndex looks at every attribute of its agents, and pydantic has deprecated some.
        pytest.mark.filterwarnings("ignore:The `__fields.*` attribute is deprecated"),
        pytest.mark.filterwarnings("ignore:Accessing the 'model_.*fields' attribute"),
        pytest.mark.filterwarnings("ignore:is_running called from within a step"),
        # LlamaIndex never closes its clients, nor the databases of its memories.
        pytest.mark.filterwarnings(
            "ignore:Exception ignored in. <(socket|function _SelectorTransport|function Connection)"
        ),
    )
    at_limit, results_at_limit = "Max iterations of 3 reached", 2
    # It streams, and a stream without a choice is to LlamaIndex one that says nothing.
    unreadable = (*UNREADABLE[:2], UNREADABLE[-1])

    def model(self, url: str, name: str, **options: Any) -> Any:
        with_usage = {"stream_options": {"include_usage": True}}
        settings = {"max_retries": 0, "context_window": 100_000, "additional_kwargs": with_usage}
        return import_module("llama_index.llms.openai_like").OpenAILike(
            model=name,
            api_base=url,
            api_key=KEY,
            is_chat_model=True,
            is_function_calling_model=True,
            **settings | options,
        )

    def agent(self, model: Any, tools: list[Any], instructions: str, **options: Any) -> Any:
        kind = import_module("llama_index.core.agent.workflow").FunctionAgent
        return kind(llm=model, tools=tools, system_prompt=instructions, **options)

    def limit_of_adapter(self, limit: int) -> dict[str, Any]:
        return {"max_iterations": limit}

    def naming(self, name: str) -> dict[str, Any]:
        return {"name": name, "description": "Knows."}

    def answer_of(self, member: Any, request: str) -> str:
        async def answer():
            return str(await member.run(user_msg=request))

        return run_async(answer())

    def close_model(self, model: Any) -> None:
        if model._client is not None:
            model._client.close()
        if model._aclient is not None:
            run_async(model._aclient.close())

    def told(self, definitions: Definitions) -> Definitions:
        def closed(parameters):
            rest = {key: value for key, value in parameters.items() if key != "title"}
            return {**rest, "additionalProperties": False}

        return changed(definitions, closed, strict=False)


class LlamaIndexWhole(LlamaIndex):
    """The model gives its answers as a whole, not as a stream."""

    variant = True

    def agent(self, model: Any, tools: Any, instructions: str, **options: Any) -> Any:
        return super().agent(model, tools, instructions, **{"streaming": False, **options})


class Camel(Framework):
    library = page = "camel"
    adapter, as_tools = camel.CamelAgentAdapter, camel.as_tools
    user = camel.CamelLLMUser
    at_limit = "reached max_iteration=3"
    starts_afresh = False

    def model(self, url: str, name: str, **options: Any) -> Any:
        made = import_module("camel.models").ModelFactory.create(
            "openai-compatible-model",
            name,
            url=url,
            api_key=KEY,
            token_counter=camel.token_counter(),
            **{"max_retries": 0, **options},
        )
        made.preprocess_messages = list
        return made

    def agent(self, model: Any, tools: list[Any], instructions: str, **options: Any) -> Any:
        whole = {"summarize_threshold": None, "token_limit": 10**9, "retry_attempts": 1}
        kind = import_module("camel.agents").ChatAgent
        return kind(instructions, model, tools=tools, **whole | options)

    def limit_of_agent(self, limit: int) -> dict[str, Any]:
        return {"max_iteration": limit}

    member_name = "member 1"

    def naming(self, name: str) -> dict[str, Any]:
        return {}

    def answer_of(self, member: Any, request: str) -> str:
        return member.step(request).msgs[0].content


class OpenAIAgents(Framework):
    library, page = "agents", "openai-agents"
    adapter, as_tools = openai_agents.OpenAIAgentsAdapter, openai_agents.as_tools
    at_limit = r"Max turns \(3\) exceeded"
    tells_filtered = True
    kept_of_failure = ("user",)

    def model(self, url: str, name: str, **options: Any) -> Any:
        return import_module("agents").OpenAIChatCompletionsModel(name, async_client(url, options))

    def agent(self, model: Any, tools: list[Any], instructions: str, **options: Any) -> Any:
        kind, named = import_module("agents").Agent, {"name": "clerk", **options}
        return kind(model=model, tools=tools, instructions=instructions, **named)

    def limit_of_adapter(self, limit: int) -> dict[str, Any]:
        return {"max_turns": limit}

    def answer_of(self, member: Any, request: str) -> str:
        return run_async(import_module("agents").Runner.run(member, request)).final_output

    def close_model(self, model: Any) -> None:
        run_async(model._client.close())

    def told(self, definitions: Definitions) -> Definitions:
        return changed(definitions, strict=False)


class PydanticAI(Framework):
    library, page = "pydantic_ai", "pydantic-ai"
    adapter, as_tools = pydantic_ai.PydanticAIAgentAdapter, pydantic_ai.as_tools
    at_limit = "request_limit of 3"
    tells_filtered = True

    def model(self, url: str, name: str, *, profile: Any = None, **options: Any) -> Any:
        openai = import_module("pydantic_ai.providers.openai")
        return import_module("pydantic_ai.models.openai").OpenAIChatModel(
            name,
            provider=openai.OpenAIProvider(openai_client=async_client(url, options)),
            profile={"json_schema_transformer": None} if profile is None else profile,
        )

    def agent(self, model: Any, tools: list[Any], instructions: str, **options: Any) -> Any:
        kind = import_module("pydantic_ai").Agent
        return kind(model, tools=tools, instructions=instructions, **options)

    def limit_of_adapter(self, limit: int) -> dict[str, Any]:
        return {"usage_limits": import_module("pydantic_ai").UsageLimits(request_limit=limit)}

    def answer_of(self, member: Any, request: str) -> str:
        return run_async(member.run(request)).output

    def close_model(self, model: Any) -> None:
        run_async(model.client.close())


def async_client(url: str, options: dict[str, Any]) -> Any:
    openai = import_module("openai")
    # The library gives up connecting after 5 s, which a busy machine may need.
    options = {"timeout": 120, **options}
    return openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0, **options)


FRAMEWORKS: list[type[Framework]] = [
    *(Smolagents, LangGraph, LangGraphByHand, LangGraphAsync, LlamaIndex, LlamaIndexWhole),
    *(Camel, OpenAIAgents, PydanticAI),
]


def each(
    condition: Callable[[type[Framework]], object] = lambda kind: True, *, variants: bool = False
) -> list[Any]:
    """The frameworks of which something is true, each with the marks of its tests."""
    return [
        pytest.param(kind, marks=kind.marks(), id=kind.__name__)
        for kind in FRAMEWORKS
        if condition(kind) and (variants or not kind.variant)
    ]


in_every_way = pytest.mark.parametrize("kind", each(variants=True), indirect=True)
"""Tests of what may depend on the way in which agents of a framework are made."""
