"""ModelAdapter: one interface to language models; resolve_model: from an id to its adapter."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from maseval.core.answer_cache import ANSWERS, ANSWERS_FROM_CACHE, TOKENS_FROM_CACHE, AnswerCache
from maseval.core.answers import MOST_CALLS, check_answer, size_of
from maseval.core.call_policy import CallAttempt, CallPolicy, default_policy
from maseval.core.clock import acting_agent
from maseval.core.event_loop import in_thread
from maseval.core.exceptions import HookResultError, InvalidAnswerError, UnreadableAnswerError
from maseval.core.messages import ChatResponse, Message, MessageForm, MessageHistory, openai_form
from maseval.core.provider_errors import (
    AnswerTooLargeError,
    MalformedRequestError,
    MalformedResponseError,
    ProviderError,
)
from maseval.core.providers import Providers, check_base_url
from maseval.core.reasoning import ReasoningMemory, ReasoningPolicy, reasoning_of
from maseval.core.storage.redaction import (
    Secrets,
    cut_known_secrets,
    environment_secrets,
    redact,
    redact_text,
)
from maseval.core.structured import AnswerForm, answer_form
from maseval.core.tracing import (
    ConfigurableMixin,
    JsonObject,
    TraceableMixin,
    call_counts,
    note_end,
    now,
)
from maseval.core.usage import CostCalculator, TokenUsage, UsageTrackableMixin

if TYPE_CHECKING:  # for those who ask for structured answers
    from pydantic import BaseModel

Params: TypeAlias = Mapping[str, object]

MAX_ANSWER_MB = 10.0
"""The largest answer that is read, decompressed, in millions of bytes."""


class ModelAdapter(ABC, TraceableMixin, ConfigurableMixin, UsageTrackableMixin):
    """A language model behind one interface, keeping account of its calls.

    A provider implements :attr:`model_id` and :meth:`_chat_impl`. The log holds sizes, times and
    outcomes, never prompts, answers or credentials. One adapter belongs to one repetition.

    Args:
        seed: For providers that have one.
        cost_calculator: Computes the cost of the usage.
        policy: When to ask again after a failure; by default that of the process.
    """

    default_reasoning_policy: ClassVar[ReasoningPolicy] = ReasoningPolicy.DROP
    """The policy of a model for which none is set."""
    auto_with_every_call: ClassVar[bool] = False
    """True if ``auto`` means the thoughts of all tool calls, not those since the last user."""

    def __init__(
        self,
        seed: int | None = None,
        cost_calculator: CostCalculator | None = None,
        policy: CallPolicy | None = None,
    ) -> None:
        self._seed = seed
        self._cost_calculator = cost_calculator
        self.policy = policy
        self.endpoint: str | None = None
        """Whose rate limits apply: models of one endpoint are throttled together."""
        self.message_form = MessageForm.PLAIN
        """For a benchmark whose requests must have exactly the form it gives them."""
        self.reasoning_policy = self.default_reasoning_policy
        """The rule for the earlier thoughts that the model is sent again."""
        self._thoughts = ReasoningMemory()
        self._refuses_formats = False
        self._cache: AnswerCache | None = None
        self._asked: Counter[str] = Counter()
        self._usage_records: list[TokenUsage] = []
        self.logs: list[JsonObject] = []

    @property
    @abstractmethod
    def model_id(self) -> str:
        """The id under which the provider, prices and reports know this model."""

    @property
    def seed(self) -> int | None:
        return self._seed

    @abstractmethod
    def _chat_impl(
        self,
        messages: list[Message],
        generation_params: Params | None = None,
        tools: Sequence[JsonObject] | None = None,
        tool_choice: str | dict[str, object] | None = None,
        **kwargs: object,
    ) -> ChatResponse:
        """Ask the model once; messages, tools and tool choice are in OpenAI's form."""

    def _answer_format(self, form: AnswerForm[Any], params: Params) -> Params | None:
        """Return the parameters by which the provider itself holds an answer to a form.

        ``params`` are those of the request. None if it cannot: then the model is asked in words.
        """
        return None

    def chat(
        self,
        messages: Sequence[Message],
        generation_params: Params | None = None,
        tools: Sequence[JsonObject] | None = None,
        tool_choice: str | dict[str, object] | None = None,
        *,
        response_model: "type[BaseModel] | None" = None,
        **kwargs: object,
    ) -> ChatResponse:
        """Send the conversation and return the model's answer.

        A failure that may pass is met with another attempt, as the policy says. Each attempt is
        logged; what the last one raised is passed on.

        With ``response_model``, a pydantic model, an answer without tool calls is an object of it,
        in ``parsed``. One that cannot be read as such raises an ``InvalidAnswerError``, which has
        its text. A server that refuses the parameter is asked in words from then on.
        """
        if isinstance(messages, MessageHistory):
            messages = [_strip_history_keys(message) for message in messages]
        request: JsonObject = {"tools": tools, "tool_choice": tool_choice, **kwargs}
        if response_model is None:
            return self._chat_once(messages, generation_params, **request)
        form, params = answer_form(response_model), generation_params or {}
        own = None if self._refuses_formats else self._answer_format(form, params)
        if own is not None:
            try:
                response = self._chat_once(messages, {**params, **own}, **request)
            except MalformedRequestError:
                self._refuses_formats = True  # many servers have no such parameter
                own = None
        if own is None:
            response = self._chat_once(form.ask_in_words(messages), params, **request)
        if response.tool_calls:
            return response
        try:
            return replace(response, parsed=form.read(response.content or ""))
        except InvalidAnswerError as error:
            raise form.error(response, error, self.model_id) from None

    def _chat_once(
        self,
        messages: Sequence[Message],
        generation_params: Params | None = None,
        tools: Sequence[JsonObject] | None = None,
        tool_choice: str | dict[str, object] | None = None,
        **kwargs: Any,
    ) -> ChatResponse:
        params, options = redact(generation_params or {}), redact(kwargs)
        asked: JsonObject = {
            "message_count": len(messages),
            "generation_params": params,
            "tools_provided": len(tools or ()),
            "kwargs": {key: str(value) for key, value in options.items()},
        }
        sent = self._thoughts.select(
            messages,
            ReasoningPolicy.of(self.reasoning_policy),
            model_id=self.model_id,
            auto_with_every_call=self.auto_with_every_call,
        )
        cache, key, kept = self._cache, None, None
        if cache is not None:
            # By all that the answer depends on.
            request = {
                **self.cache_identity(),
                "messages": sent,
                "params": params,
                "tools": tools,
                "tool_choice": tool_choice,
                "options": options,
            }
            if (known := cache.key(request)) is not None:
                # As without a cache, the second of two equal requests is to get another answer:
                # whoever asks again was not content with the first.
                self._asked[known] += 1
                key = cache.entry(known, self._asked[known])
                kept = cache.get(key)

        def ask(attempt: CallAttempt) -> ChatResponse:
            with self._log_attempt(asked, attempt) as entry:
                answer = kept or self._chat_impl(
                    list(sent),
                    generation_params=generation_params,
                    tools=tools,
                    tool_choice=tool_choice,
                    **kwargs,
                )
                response = self._check_answer(answer)
                entry |= _success(response)
                if cache is not None and key is not None:
                    entry["answer_sha256"] = cache.hash_of(key, response)
                if kept is not None:
                    entry["from_cache"] = True
            return response

        if kept is not None:
            # Number 0, as no request was made.
            response = ask(CallAttempt(0, 0.0))
        else:
            policy = self.policy or default_policy()
            response = policy.call(ask, model_id=self.model_id, endpoint=self.endpoint)
            if cache is not None and key is not None:
                cache.put(key, response, self._secrets())
        self._account_for(response, from_cache=kept is not None)
        self._thoughts.note(response)
        return response

    def without_secrets(self, text: str) -> str:
        """Return a text without keys and passwords, ready to be written."""
        known = {str(value): "a key" for value in self._secrets() if value}
        known |= environment_secrets()
        return cut_known_secrets(Secrets(known).removed_from_text(text))

    def _secrets(self) -> Sequence[object]:
        """Values that must not appear in any message, or be kept."""
        return ()

    async def chat_async(self, messages: Sequence[Message], **request: Any) -> ChatResponse:
        """Answer as ``chat`` does, and leave the event loop free meanwhile: in a thread.

        A model that can be awaited overrides this.
        """
        return await in_thread(partial(self.chat, messages, **request))

    def cache_identity(self) -> JsonObject:
        """Return what answers depend on besides the request: the model, its address and its seed.

        Two adapters with equal identities share the entries of a cache.
        """
        return {
            "adapter": f"{type(self).__module__}.{type(self).__qualname__}",
            "model": self.model_id,
            "endpoint": redact_text(self.endpoint or ""),
            "seed": self.seed,
            "message_form": self.message_form.value,
        }

    @contextmanager
    def _log_attempt(self, asked: JsonObject, attempt: CallAttempt) -> Iterator[JsonObject]:
        entry: JsonObject = {
            "timestamp": now(),
            "attempt": attempt.number,
            "waited_seconds": attempt.waited,
            **asked,
        }
        if (agent := acting_agent()) is not None:
            entry["agent"] = agent
        try:
            with note_end(entry):
                try:
                    yield entry
                except UnreadableAnswerError as unreadable:
                    raise self._error(MalformedResponseError, unreadable) from None
        finally:
            self.logs.append(entry)

    def use_prices(self, calculator: CostCalculator) -> None:
        """Compute costs with ``calculator``, unless the model was made with one."""
        self._cost_calculator = self._cost_calculator or calculator

    def use_cache(self, cache: AnswerCache) -> None:
        """Take answers to equal requests from ``cache``, and keep new ones there."""
        self._cache = cache

    def generate(self, prompt: str, generation_params: Params | None = None, **kwargs: Any) -> str:
        """Return the text answered to a single user message, ``""`` if there was none."""
        message: Message = {"role": "user", "content": prompt}
        return self.chat([message], generation_params, **kwargs).content or ""

    def gather_usage(self) -> TokenUsage:
        return self.usage_since(0)

    def usage_since(self, count: int) -> TokenUsage:
        """Return the usage after the first ``count`` records; ``usage_count`` is that of all."""
        records = self._usage_records[count:]
        if not records:
            return TokenUsage()
        # Copied, because the collector labels the sum, and the sum of one record is that record.
        first, *others = records
        return replace(sum(others, start=first))

    @property
    def usage_count(self) -> int:
        return len(self._usage_records)

    def gather_traces(self) -> JsonObject:
        durations = [entry["duration_seconds"] for entry in self.logs]
        return {
            **super().gather_traces(),
            "model_id": self.model_id,
            "total_duration_seconds": sum(durations),
            "average_duration_seconds": sum(durations) / len(durations) if durations else 0.0,
            "total_waited_seconds": sum(entry["waited_seconds"] for entry in self.logs),
            **call_counts(self.logs),
        }

    def gather_config(self) -> JsonObject:
        config = {
            **super().gather_config(),
            "model_id": self.model_id,
            "adapter_type": type(self).__name__,
            "seed": self.seed,
            "reasoning_policy": ReasoningPolicy.of(self.reasoning_policy).value,
            "call_policy": (self.policy or default_policy()).to_dict(),
        }
        if self._cost_calculator is not None:
            name = type(self._cost_calculator).__name__
            describe = getattr(self._cost_calculator, "gather_config", None)
            config["cost_calculator"] = describe() if describe else name
        return config

    def _check_answer(self, response: object) -> ChatResponse:
        if not isinstance(response, ChatResponse):
            raise HookResultError(
                f"{type(self).__name__}._chat_impl returned {response!r} for model "
                f"{self.model_id!r}; it must return a ChatResponse"
            )
        if (calls := len(response.tool_calls or ())) > MOST_CALLS:
            raise self._error(AnswerTooLargeError, f"{calls:,} tool calls; {MOST_CALLS} at most")
        answer = check_answer(response)
        if answer.reasoning is not None:
            answer.reasoning["model"] = self.model_id
        if (size := size_of(answer)) > MAX_ANSWER_MB * 1e6:
            raise self._error(
                AnswerTooLargeError, f"{size} characters, at most {MAX_ANSWER_MB:g} MB"
            )
        return answer

    def _error(self, kind: type[ProviderError], text: object) -> ProviderError:
        return kind(str(text), provider=type(self).__name__, model_id=self.model_id)

    def _account_for(self, response: ChatResponse, *, from_cache: bool) -> None:
        if self._cache is not None:
            # In units: an answer from the cache took no tokens now, and cost nothing.
            units: dict[str, float] = {ANSWERS: 1}
            if from_cache:
                units[ANSWERS_FROM_CACHE] = 1
                units[TOKENS_FROM_CACHE] = (response.usage or {}).get("total_tokens") or 0
            self._usage_records.append(TokenUsage(units=units, kind="llm"))
        if not response.usage or from_cache:
            return
        cost = response.usage.get("cost") or 0.0
        usage = TokenUsage.from_chat_response_usage(response.usage, cost=cost)
        if usage.cost == 0.0 and self._cost_calculator is not None:
            calculated = self._cost_calculator.calculate_cost(usage, self.model_id)
            usage.cost = usage.cost if calculated is None else calculated
        self._usage_records.append(usage)


def _strip_history_keys(message: Message) -> Message:
    thought = reasoning_of(message)
    return {**openai_form(message), "reasoning": thought} if thought else openai_form(message)


def _success(response: ChatResponse) -> JsonObject:
    record: JsonObject = {
        "status": "success",
        "response_type": "tool_call" if response.tool_calls else "text",
        "response_length": len(response.content or ""),
        "tool_calls_count": len(response.tool_calls or ()),
    }
    if thought := response.reasoning:
        record["reasoning_length"] = len(thought.get("text", ""))
    if response.usage:
        record["input_tokens"] = response.usage.get("input_tokens") or 0
        record["output_tokens"] = response.usage.get("output_tokens") or 0
    return record


ModelFactory: TypeAlias = Callable[..., ModelAdapter]

MODELS: Providers[ModelAdapter] = Providers(
    "model",
    # Named rather than imported: the scripted model is built on this module.
    built_in={"scripted": "maseval.core.scripted:from_id"},
    like="openai/gpt-4o",
    made=ModelAdapter,
)


def register_model(prefix: str, factory: ModelFactory) -> None:
    """Let ``factory(name, **options)`` make the adapters of all ids ``prefix/name``.

    It takes precedence over a built-in or installed provider of the same prefix.
    """
    MODELS.register(prefix, factory)


def resolve_model(
    model_id: str,
    *,
    policy: CallPolicy | None = None,
    reasoning_policy: ReasoningPolicy | str | None = None,
    **options: object,
) -> ModelAdapter:
    """Return the adapter for an id such as ``openai/gpt-4o``; a bare ``gpt-4o`` means the same.

    Providers come from :func:`register_model`, from the library itself (``scripted/…``) and from
    installed packages that have an entry point in the group ``maseval.models``, named after the
    prefix. ``options`` go to the provider's factory; ``policy`` says how to deal with its failures,
    and ``reasoning_policy`` which of its earlier thoughts the model is sent again.
    """
    check_base_url(options.get("base_url"))
    adapter = MODELS.resolve(model_id, **options)
    adapter.policy = adapter.policy if policy is None else policy
    if reasoning_policy is not None:
        adapter.reasoning_policy = ReasoningPolicy.of(reasoning_policy)
    # One provider may have many addresses, each with its own rate limits.
    prefix, _ = MODELS.split(model_id)
    adapter.endpoint = adapter.endpoint or f"{prefix}@{options.get('base_url') or 'default'}"
    return adapter
