"""The conversations that a report holds: traces, their messages, and the calls in them."""

from maseval.core.recorded import Part, Recorded, anything, list_of, mapping, number
from maseval.core.words import text_or_none


class RecordedCall(Recorded):
    """A tool call in OpenAI's form or in that of tau2; ``function`` has its ``arguments``."""

    id = Part(anything)
    requestor = Part(text_or_none)

    def __init__(self, value: object) -> None:
        super().__init__(value)
        self.function = mapping(self.raw, "function") or self.raw
        self.name = text_or_none(self.function.get("name"))


class RecordedMessage(Recorded):
    """A message of a conversation, or a tool's answer to a call in one."""

    role = Part(text_or_none)
    name = Part(text_or_none)
    content = Part(anything)
    calls = Part(list_of(RecordedCall), "tool_calls")
    requestor = Part(text_or_none)
    error = Part(anything)
    timestamp = Part(anything)
    cost = Part(number)
    usage = Part(mapping)

    @property
    def call_id(self) -> object:
        """The id of the call that a tool answers."""
        return self.raw.get("tool_call_id") or self.raw.get("id")

    @property
    def input_tokens(self) -> float | None:
        """The tokens that its model read, as the engine or a file of tau2-bench counts them."""
        return number(self.usage.get("prompt_tokens", self.usage.get("input_tokens")))

    @property
    def output_tokens(self) -> float | None:
        return number(self.usage.get("completion_tokens", self.usage.get("output_tokens")))

    @property
    def reasoning(self) -> str | None:
        """The thoughts of its model; in tau2's form, they stand in what the provider sent."""
        held = self.raw if "reasoning" in self.raw else mapping(self.raw, "raw_data")
        return text_or_none(mapping(held, "reasoning").get("text"))


class LoggedCall(Recorded):
    """A call that an agent or a model logged: when it was, what it used, how it ended."""

    timestamp = Part(anything)
    start_time = Part(number)
    seconds = Part(number, "duration_seconds")
    input_tokens = Part(number)
    output_tokens = Part(number)
    attempt = Part(number)
    status = Part(text_or_none)
    error_type = Part(text_or_none)
    error = Part(text_or_none)


class RecordedTrace(Recorded):
    """The trace of an agent, of a model, or of a simulation that an environment recorded."""

    id = Part(anything)
    type = Part(text_or_none)
    model_id = Part(text_or_none)
    messages = Part(list_of(RecordedMessage))
    logs = Part(list_of(LoggedCall))
    start_time = Part(anything)
    termination_reason = Part(text_or_none)
    agent_cost = Part(number)
    user_cost = Part(number)
