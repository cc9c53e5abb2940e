"""A FunctionAgent of LlamaIndex: pip install '.[llamaindex]'

maseval tau2 run --domain retail --agent examples/systems/with_llamaindex.py:agent --rehearse gold
"""

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike

from maseval.benchmark.tau2 import AgentBrief
from maseval.interface.agents.llamaindex import LlamaIndexAgentAdapter, as_tools


def agent(brief: AgentBrief) -> LlamaIndexAgentAdapter:
    model = OpenAILike(
        model=brief.model.name,
        api_base=brief.model.base_url,
        api_key=brief.model.api_key,
        is_chat_model=True,
        is_function_calling_model=True,
        context_window=100_000,  # its memory drops what does not fit
    )
    clerk = FunctionAgent(
        llm=model,
        tools=as_tools(brief.tools),
        system_prompt=brief.policy,
        streaming=False,  # a server that streams need not count tokens
    )
    return LlamaIndexAgentAdapter(clerk, "agent", max_iterations=100)
