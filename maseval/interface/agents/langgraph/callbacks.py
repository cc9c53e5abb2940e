"""What a running graph reports through LangChain's callbacks: models, tokens and tool calls."""

from collections.abc import Callable, Iterable
from functools import cache

from maseval.core.exceptions import AgentError, MASEvalError
from maseval.core.usage import TokenUsage
from maseval.interface import extras
from maseval.interface.agents.call_order import CallOrder
from maseval.interface.agents.langgraph.graph import AIMessage, LLMResult, UsageMetadata


class Heard:
    """Every model call of an agent, even if its answer never becomes a message.

    Tool calls run in the order in which they appear in the answer.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        """The names of the models, one entry per call."""
        self.answers: list[tuple[str, TokenUsage]] = []
        """The model and token usage of each answer that reports its usage."""
        self._failures: dict[str | None, BaseException] = {}
        self._order = CallOrder()
        self._models: dict[object, str] = {}
        self._calls: dict[object, str | None] = {}

    def listener(self, *, asynchronous: bool) -> object:
        """A callback handler that records into this object."""
        return _handlers()[asynchronous](self)

    def begin(self) -> None:
        """Start a new turn."""
        self._failures.clear()

    def check(self) -> None:
        """Raise a failure that is not the agent's, if its graph took it for a tool's result."""
        for failure in self._failures.values():
            raise failure

    def _model_asked(self, run_id: object, model: str) -> None:
        self.asked.append(model)
        self._models[run_id] = model

    def _model_answered(self, run_id: object, messages: Iterable[AIMessage]) -> None:
        model = self._models.pop(run_id, "")
        for message in messages:
            if message.usage_metadata:
                self.answers.append((model, _usage(message.usage_metadata)))
            self._order.announce([call["id"] for call in message.tool_calls])

    def _tool_ended(self, run_id: object, error: BaseException | None = None) -> None:
        call_id = self._calls.pop(run_id, None)
        self._order.finish(call_id)
        self._failures.pop(call_id, None)  # the graph may have retried
        if isinstance(error, MASEvalError) and not isinstance(error, AgentError):
            self._failures[call_id] = error


def _usage(told: UsageMetadata) -> TokenUsage:
    asked, answered = told.get("input_token_details", {}), told.get("output_token_details", {})
    return TokenUsage.from_chat_response_usage(
        {
            **told,
            "cached_input_tokens": asked.get("cache_read"),
            "cache_creation_input_tokens": asked.get("cache_creation"),
            "reasoning_tokens": answered.get("reasoning"),
            "audio_tokens": (asked.get("audio") or 0) + (answered.get("audio") or 0),
        }
    )


@cache
def _handlers() -> tuple[Callable[[Heard], object], Callable[[Heard], object]]:
    """The classes of callback handlers for sync and for async runs."""
    handler = extras.load("langchain_core.callbacks", extra="langgraph").BaseCallbackHandler

    class Listener(handler):  # type: ignore[misc, valid-type]
        run_inline = True  # async runs then call it directly, without a thread

        def __init__(self, heard: Heard) -> None:
            super().__init__()
            self.heard = heard

        def on_chat_model_start(
            self,
            serialized: object,
            messages: object,
            *,
            run_id: object,
            metadata: dict[str, object] | None = None,
            **more: object,
        ) -> None:
            self.heard._model_asked(run_id, str((metadata or {}).get("ls_model_name") or ""))

        def on_llm_end(self, response: LLMResult, *, run_id: object, **more: object) -> None:
            found = [choice for choices in response.generations for choice in choices]
            messages = [choice.message for choice in found if hasattr(choice, "message")]
            self.heard._model_answered(run_id, messages)

        def on_tool_start(
            self,
            serialized: object,
            input_str: object,
            *,
            run_id: object,
            tool_call_id: str | None = None,
            **more: object,
        ) -> None:
            self.heard._calls[run_id] = tool_call_id
            self.heard._order.wait(tool_call_id)

        def on_tool_end(self, output: object, *, run_id: object, **more: object) -> None:
            self.heard._tool_ended(run_id)

        def on_tool_error(self, error: BaseException, *, run_id: object, **more: object) -> None:
            self.heard._tool_ended(run_id, error)

    class AsyncListener(Listener):
        async def on_tool_start(  # type: ignore[override]
            self,
            serialized: object,
            input_str: object,
            *,
            run_id: object,
            tool_call_id: str | None = None,
            **more: object,
        ) -> None:
            self.heard._calls[run_id] = tool_call_id
            await self.heard._order.wait_async(tool_call_id)

    return Listener, AsyncListener
