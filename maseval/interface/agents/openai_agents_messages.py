"""The items of the OpenAI Agents SDK as messages, and the work of agents for other agents."""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from types import ModuleType
from typing import Any

from maseval.core.messages import Message, MessageHistory, ToolCall, text_of
from maseval.core.usage import TokenUsage
from maseval.interface import extras
from maseval.interface.agents.framework import DelegatedWork, bystanding_adapter, running_adapter
from maseval.interface.agents.tools import as_text
from maseval.interface.inference.chat_completions import function_call

MODULE, EXTRA = "agents", "openai-agents"

InputItem = dict[str, Any]
"""An item as it is sent to a model; its keys depend on its ``type``."""


def sdk_module() -> ModuleType:
    """Import the SDK, which is called ``agents``."""
    return extras.load(MODULE, extra=EXTRA, package=EXTRA)


def tokens_of(usage: Any) -> TokenUsage:
    """Convert the SDK's count of tokens."""
    details = usage.input_tokens_details
    return TokenUsage.from_chat_response_usage(
        {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.total_tokens,
            "cached_input_tokens": details.cached_tokens,
            "cache_creation_input_tokens": getattr(details, "cache_write_tokens", 0),
            "reasoning_tokens": usage.output_tokens_details.reasoning_tokens,
        }
    )


def add_items(history: MessageHistory, items: Iterable[Any]) -> None:
    """Add the items of a turn: the model's answers, and the results of the tools it called.

    The SDK keeps the text and the calls of one answer as several items; here they are one message,
    whose ``metadata`` names the agent. Thoughts, and tools run by the provider, are left out.
    """
    seen = [item for item in items if item.type != "tool_approval_item"]
    names: dict[str, str] = {}
    for (of_tools, agent), group in groupby(seen, key=_origin):
        sent = [item.to_input_item() for item in group]
        if of_tools:
            _add_results(history, sent, names)
            continue
        text, calls = _text(sent), _tool_calls(sent)
        names |= {call["id"]: call["function"]["name"] for call in calls}
        if calls:
            history.add_tool_call(calls, text, metadata={"agent": agent})
        elif text is not None:
            history.add_message("assistant", text, metadata={"agent": agent})


def add_inputs(history: MessageHistory, items: Iterable[InputItem]) -> None:
    """Add a model's request and answer, given in the form in which they are sent."""
    names: dict[str, str] = {}
    for item in items:
        if item.get("type") == "function_call":
            calls = _tool_calls([item])
            names[calls[0]["id"]] = calls[0]["function"]["name"]
            history.add_tool_call(calls)
        elif item.get("type") == "function_call_output":
            _add_results(history, [item], names)
        elif "role" in item and "content" in item:
            history.add_message(item["role"], _content_text(item["content"]))


def _add_results(
    history: MessageHistory, results: Iterable[InputItem], names: Mapping[str, str]
) -> None:
    for result in results:
        call_id = str(result.get("call_id"))
        text = as_text(result.get("output"))
        history.add_tool_response(call_id, text, name=names.get(call_id))


def _origin(item: Any) -> tuple[bool, str]:
    """Tell whether an item is a tool's result, and the name of its agent."""
    return item.type in ("tool_call_output_item", "handoff_output_item"), item.agent.name


def _tool_calls(items: Iterable[InputItem]) -> list[ToolCall]:
    return [
        function_call(item["call_id"], item["name"], item["arguments"])
        for item in items
        if item.get("type") == "function_call"
    ]


def _text(items: Iterable[InputItem]) -> str | None:
    """Return the text of one answer; None if it has no message."""
    messages = [item["content"] for item in items if item.get("type") == "message"]
    return "".join(map(_content_text, messages)) if messages else None


def _content_text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or part.get("refusal") or "" for part in content)


def items_of(messages: Iterable[Message]) -> list[InputItem]:
    """Convert messages in OpenAI's form to items, in the form in which they are sent."""
    return [item for number, message in enumerate(messages) for item in _items(number, message)]


def _items(number: int, message: Message) -> list[InputItem]:
    text, calls = text_of(message), message.get("tool_calls") or ()
    if message["role"] == "tool":
        call_id = message.get("tool_call_id") or ""
        return [{"type": "function_call_output", "call_id": call_id, "output": text}]
    if message["role"] != "assistant":
        return [{"role": message["role"], "content": text}]
    spoken: InputItem = {
        "type": "message",
        "id": f"msg_{number}",  # without one, the SDK does not accept it
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    return [*([spoken] if text or not calls else []), *map(_call_item, calls)]


def _call_item(call: ToolCall) -> InputItem:
    function = call["function"]
    return {
        "type": "function_call",
        "call_id": call["id"],
        "name": function["name"],
        "arguments": function["arguments"],
    }


class SdkWork(DelegatedWork):
    """The work of an agent for others: what its model was asked and answered in each run."""

    def __init__(self) -> None:
        super().__init__()
        self._system: str | None = None
        self._asked: list[InputItem] = []
        self._earlier = 0  # messages of the runs that are finished

    def begin_run(self) -> None:
        self._earlier = len(self.messages)

    def ask(self, system: str | None, asked: Sequence[InputItem]) -> None:
        """Note a request, which holds the run so far."""
        self._system, self._asked = system, list(asked)

    def answer(self, answer: Any) -> None:
        """Count a model's answer, and replace the messages of the run with those so far."""
        self.usage.append(tokens_of(answer.usage))
        run = MessageHistory()
        if self._system:
            run.add_message("system", self._system)
        add_inputs(run, [*self._asked, *answer.to_input_items()])
        self.messages[self._earlier :] = run


def observe_agent(agent: Any) -> None:
    """Give an agent hooks that tell its adapter of its work; its own hooks still work.

    The SDK tells an agent's own hooks of every answer of its model, whoever runs the agent. They
    pass this on to the adapter that the agent has in the current repetition.
    """
    kind = _hooks_class()
    if not isinstance(agent.hooks, kind):
        agent.hooks = kind(agent.hooks)


def _work_of(agent: object) -> SdkWork | None:
    """Return the record of an agent's work for others; None if it works for itself."""
    work = getattr(bystanding_adapter(agent), "work", None)
    return work if isinstance(work, SdkWork) else None


@cache
def _hooks_class() -> type[Any]:
    base = sdk_module().AgentHooks

    class WorkHooks(base):  # type: ignore[misc, valid-type]
        def __init__(self, own: Any) -> None:
            self.own = own

        async def on_start(self, context: Any, agent: Any) -> None:
            if (work := _work_of(agent)) is not None:
                work.begin_run()
            await self._forward("on_start", context, agent)

        async def on_llm_start(
            self, context: Any, agent: Any, system_prompt: str | None, input_items: Any
        ) -> None:
            if (work := _work_of(agent)) is not None:
                work.ask(system_prompt, input_items)
            await self._forward("on_llm_start", context, agent, system_prompt, input_items)

        async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
            if (work := _work_of(agent)) is not None:
                work.answer(response)
                if (leader := running_adapter()) is not None:
                    leader.delegated_usage.append(work.usage[-1])
            await self._forward("on_llm_end", context, agent, response)

        async def _forward(self, name: str, *args: Any) -> None:
            if self.own is not None:
                await getattr(self.own, name)(*args)

    for name in ("on_end", "on_handoff", "on_tool_start", "on_tool_end"):
        setattr(WorkHooks, name, _forward_hook(name))
    return WorkHooks


def _forward_hook(name: str) -> Callable[..., Coroutine[Any, Any, None]]:
    async def forward(self: Any, *args: Any, **kwargs: Any) -> None:
        if self.own is not None:
            await getattr(self.own, name)(*args, **kwargs)

    return forward
