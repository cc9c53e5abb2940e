"""Agents of frameworks in the ways that differ most from a plain loop; imported one at a time."""

from collections.abc import Callable
from typing import Any

from maseval.benchmark.tau2 import AgentBrief
from maseval.core.agent import AgentAdapter


def langchain_responses(brief: AgentBrief) -> AgentAdapter:
    """LangGraph, with LangChain's client of the Responses API."""
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    from maseval.interface.agents.langgraph import LangGraphAgentAdapter, as_tools

    model = ChatOpenAI(
        model=brief.model.name,
        base_url=brief.model.base_url,
        api_key=brief.model.api_key,
        use_responses_api=True,
    )
    clerk = create_agent(model, as_tools(brief.tools), system_prompt=brief.policy)
    return LangGraphAgentAdapter(clerk, "agent")


def langchain_classifier(brief: AgentBrief) -> Callable[..., Any]:
    """A classifier by LangChain's structured output stands in front."""
    from typing import Literal

    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    from pydantic import BaseModel

    from maseval.interface.agents.langgraph import LangGraphAgentAdapter, as_tools

    class Route(BaseModel):
        """Where to."""

        department: Literal["service", "nobody"]
        why: str

    model = ChatOpenAI(
        model=brief.model.name, base_url=brief.model.base_url, api_key=brief.model.api_key
    )
    clerk = create_agent(model, as_tools(brief.tools), system_prompt=brief.policy)
    adapter = LangGraphAgentAdapter(clerk, "agent")

    def answer(query: str) -> str:
        for method in ("json_schema", "function_calling"):
            route = model.with_structured_output(Route, method=method).invoke(query)
            if route.department == "nobody":
                return "I cannot help with that."
        return adapter.run(query)

    return answer


def pydantic_responses(brief: AgentBrief) -> Callable[..., Any]:
    """Pydantic AI over the Responses API, with an answer in a structure."""
    from openai import AsyncOpenAI
    from pydantic import BaseModel
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from maseval.interface.agents.pydantic_ai import as_tools

    class Reply(BaseModel):
        text: str

    clerk = Agent(instructions=brief.policy, tools=as_tools(brief.tools), output_type=Reply)
    history = []

    async def answer(query: str) -> str:
        async with AsyncOpenAI(
            base_url=brief.model.base_url, api_key=brief.model.api_key
        ) as client:
            provider = OpenAIProvider(openai_client=client)
            model = OpenAIResponsesModel(brief.model.name, provider=provider)
            result = await clerk.run(query, model=model, message_history=history)
        history[:] = result.all_messages()
        return result.output.text

    return answer


def agents_sdk(brief: AgentBrief) -> Callable[..., Any]:
    """The OpenAI Agents SDK with its own schemas, in strict mode, over the Responses API."""
    from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, function_tool
    from openai import AsyncOpenAI

    clerk = Agent(
        "agent",
        instructions=brief.policy,
        tools=[function_tool(each, name_override=n) for n, each in brief.tools.items()],
    )
    said = []

    async def answer(query: str) -> str:
        given = [*said, {"role": "user", "content": query}]
        async with AsyncOpenAI(
            base_url=brief.model.base_url, api_key=brief.model.api_key
        ) as client:
            model = OpenAIResponsesModel(brief.model.name, client)
            config = RunConfig(model=model, tracing_disabled=True)
            result = await Runner.run(clerk, given, run_config=config)
        said[:] = result.to_input_list()
        return result.final_output

    return answer


def smolagents_code(brief: AgentBrief) -> AgentAdapter:
    """A CodeAgent of smolagents, which reads calls from the model's code."""
    from smolagents import CodeAgent, LogLevel, OpenAIModel

    from maseval.interface.agents.smolagents import SmolAgentAdapter, as_tools

    model = OpenAIModel(
        brief.model.name, api_base=brief.model.base_url, api_key=brief.model.api_key
    )
    clerk = CodeAgent(
        tools=as_tools(brief.tools),
        model=model,
        instructions=brief.policy,
        verbosity_level=LogLevel.OFF,
    )
    return SmolAgentAdapter(clerk, "agent")
