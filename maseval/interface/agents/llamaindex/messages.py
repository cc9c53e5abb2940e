"""A LlamaIndex conversation in OpenAI's form, and the other way round."""

from collections.abc import Iterable, Sequence

from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.messages import (
    FunctionCall,
    Message,
    MessageHistory,
    ToolCall,
    arguments_of,
    text_of,
)
from maseval.core.tracing import now
from maseval.core.usage import TokenUsage
from maseval.interface.agents.llamaindex.workflow import AgentOutput, ChatMessage, library
from maseval.interface.inference.chat_completions import as_json, get, usage_of


class Transcript(MessageHistory):
    """A conversation as the events of a workflow report it, including the tool calls."""

    _opened = False

    def record(self, event: object) -> None:
        """Record an event, if it is part of the conversation.

        A failure that is not the agent's, such as a user's or a deadline, is raised; LlamaIndex
        would pass it to the agent as the result of a tool.
        """
        events = library("llama_index.core.agent.workflow")
        if isinstance(event, events.AgentInput):
            self._open(event.input)
        elif isinstance(event, events.AgentOutput):
            self._answer(event)
        elif isinstance(event, events.ToolCallResult):
            error = getattr(event.tool_output, "exception", None)
            if isinstance(error, MASEvalError) and not isinstance(error, AgentError):
                raise error
            text = event.tool_output.content
            self.add_tool_response(event.tool_id, text, name=event.tool_name)

    def close(self, answer: str) -> None:
        """End a turn with its answer; the last message may contain more than the answer."""
        last = self[-1]
        if last["role"] == "assistant" and not last.get("tool_calls"):
            last["content"] = answer
        else:
            self.add_message("assistant", answer)

    def _open(self, asked: Sequence[ChatMessage]) -> None:
        """Record the instructions of the first agent."""
        first, self._opened = not self._opened, True
        if first and asked and asked[0].role.value == "system":
            told = message_of(asked[0])
            told["timestamp"] = self[0].get("timestamp") or now()
            self._messages.insert(0, told)

    def _answer(self, event: AgentOutput) -> None:
        message = message_of(event.response)
        # Agents without native tool calls write them into the text, from which LlamaIndex parses
        # them. At the end it adds all results to the same list; those are not calls.
        calls = message.get("tool_calls") or [
            _tool_call(call.tool_id, call.tool_name, call.tool_kwargs)
            for call in event.tool_calls
            if not hasattr(call, "tool_output")
        ]
        metadata: dict[str, object] = {"agent": event.current_agent_name}
        if calls:
            self.add_tool_call(calls, message["content"], metadata=metadata)
        else:
            self.add_message("assistant", message["content"] or "", metadata=metadata)


def message_of(message: ChatMessage) -> Message:
    """A ``ChatMessage`` in OpenAI's form."""
    more = message.additional_kwargs
    blocks = [block for block in message.blocks if hasattr(block, "tool_kwargs")]
    calls = [_tool_call(b.tool_call_id, b.tool_name, b.tool_kwargs) for b in blocks] or [
        _tool_call(get(call, "id"), get(function, "name"), get(function, "arguments"))
        for call in more.get("tool_calls") or ()
        if (function := get(call, "function"))
    ]
    known: Message = {"role": message.role.value, "content": message.content or ""}
    if calls:
        known["tool_calls"] = calls
    if call_id := more.get("tool_call_id"):
        known["tool_call_id"] = call_id
    if name := more.get("name"):
        known["name"] = name
    return known


def chat_messages(messages: Iterable[Message]) -> list[ChatMessage]:
    """Messages in OpenAI's form as ``ChatMessage``."""
    return [_chat_message(message) for message in messages]


def _chat_message(message: Message) -> ChatMessage:
    types, text, calls = library("llama_index.core.base.llms.types"), text_of(message), []
    for call in message.get("tool_calls") or ():
        arguments = arguments_of(call["function"]["arguments"])
        named = {"tool_call_id": call["id"], "tool_name": call["function"]["name"]}
        calls.append(types.ToolCallBlock(**named, tool_kwargs=arguments))
    said = [types.TextBlock(text=text)] if text or not calls else []
    answered = message.get("tool_call_id")
    made: ChatMessage = types.ChatMessage(
        role=message["role"],
        blocks=[*said, *calls],
        additional_kwargs={} if answered is None else {"tool_call_id": answered},
    )
    return made


def _tool_call(id: str | None, name: str, arguments: object) -> ToolCall:
    function: FunctionCall = {"name": name, "arguments": as_json(arguments)}
    return {"id": id or "", "type": "function", "function": function}


def answer_text(result: object) -> str:
    """The text of the result of a run, a chat or a query."""
    content = getattr(getattr(result, "response", None), "content", None)
    return content if isinstance(content, str) else str(result)


def tokens_of_output(event: object) -> TokenUsage | None:
    """The tokens of an agent's answer, if the event is one and its model reports them."""
    events = library("llama_index.core.agent.workflow")
    return tokens_of(event.raw) if isinstance(event, events.AgentOutput) else None


def tokens_of(raw: object) -> TokenUsage | None:
    """The tokens of one answer, as the provider reports them."""
    usage = get(raw, "usage")
    if get(usage, "input_tokens") is None:
        counted = usage_of(usage)
    else:  # as Anthropic counts
        asked, answered = get(usage, "input_tokens"), get(usage, "output_tokens") or 0
        counted = {
            "input_tokens": asked,
            "output_tokens": answered,
            "total_tokens": asked + answered,
            "cached_input_tokens": get(usage, "cache_read_input_tokens"),
            "cache_creation_input_tokens": get(usage, "cache_creation_input_tokens"),
        }
    if counted is None:
        return None
    return TokenUsage.from_chat_response_usage(counted, cost=counted.get("cost") or 0.0)
