"""FrameworkAgentAdapter: what the adapters of all agent frameworks have in common.

A framework talks to the model itself, so its adapter does more than run it: it distinguishes a
failing provider from a failing agent, prices the tokens, and converts messages to OpenAI's form.

An agent may work for another one, which a framework runs without an adapter. If it has an adapter
all the same, that one records its messages and usage; otherwise they are its leader's.

Every framework has a file named after it, with the adapter, its users and ``as_tools``. Where a
second file stands beside it, that one holds the conversion of messages and what is used of the
framework's classes: they are described as protocols, or left as ``Any``, because the frameworks
are not there for a type checker to look at. ``describe_tools`` returns the names, descriptions and
schemas of functions, as every adapter needs them to make tools.
"""

import json
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from traceback import walk_tb
from typing import Any, ClassVar, TypeVar
from weakref import WeakValueDictionary

from pydantic_core import to_json

from maseval.core.agent import AgentAdapter, AgentObserver
from maseval.core.clock import Clock, acting_agent
from maseval.core.exceptions import AgentError, ConfigurationError, MASEvalError, causes
from maseval.core.messages import Message, MessageHistory
from maseval.core.provider_errors import MalformedResponseError, ProviderError
from maseval.core.storage.redaction import redact
from maseval.core.tool import tool_definition
from maseval.core.tracing import JsonObject, now
from maseval.core.usage import TOKEN_FIELDS, CostCalculator, TokenUsage, Usage
from maseval.core.user import LLMUser, User
from maseval.interface import extras
from maseval.interface.inference.chat_completions import JsonSchema
from maseval.interface.inference.http import error_from_status, transport_error
from maseval.interface.usage import LiteLLMCostCalculator


class AgentGaveUpError(AgentError):
    """The framework stopped the agent before it had an answer, as at a step limit."""


class FrameworkAgentAdapter(AgentAdapter):
    """An agent of a framework; a subclass implements ``_run_framework``.

    A failure of the model's provider is raised as a ``ProviderError``, so that it does not count
    against the agent. Without a ``cost_calculator``, LiteLLM's prices are used if that library is
    installed.
    """

    module: ClassVar[str]
    """The name under which the framework is imported."""
    extra: ClassVar[str]
    """The extra of maseval that installs it."""
    package: ClassVar[str | None] = None
    """The name under which it is installed, if that differs."""
    models_package: ClassVar[str | None] = None
    """The package of its model classes, which raise anything if they cannot read an answer."""
    provider_errors: ClassVar[Sequence[tuple[str, str, type[ProviderError] | None]]] = ()
    """Its own errors for a provider's failure: a class, words in the text, and what it is; None if
    that depends on the status."""
    limit_errors: ClassVar[Collection[str]] = ()
    """Its errors for an agent that it stopped, as at a step limit."""
    logs_turns: ClassVar[bool] = True
    """False if the adapter logs its turns itself."""

    _automatic_calculator: CostCalculator | None = None

    def __init__(
        self,
        agent_instance: object,
        name: str,
        callbacks: Iterable[AgentObserver] | None = None,
        cost_calculator: CostCalculator | None = None,
        model_id: str | None = None,
    ) -> None:
        super().__init__(agent_instance, name, callbacks, cost_calculator, model_id)
        self.messages_for_others: list[Message] = []
        """The messages of the runs that others made of the agent, without its adapter."""
        self.used: list[TokenUsage] = []
        """The tokens of these runs, and of those that the framework itself does not add up."""
        self.delegated_usage: list[TokenUsage] = []
        """Tokens that the framework counts here, but that belong to an agent with an adapter."""
        self.members: dict[str, FrameworkAgentAdapter] = {}
        """The agents that work for this one and have no adapter of their own, by name."""
        self.call_seconds: list[float] = []
        """How long the model worked on each of the agent's own requests."""
        self.turn_details: JsonObject = {}
        """What a framework adds to the log entry of a turn."""
        self._clock = Clock.here()
        self._times: list[str] = []
        # Not by the agent itself, which need not have a hash.
        _adapters[id(agent_instance), id(self._clock)] = self
        self._prepare()

    def _prepare(self) -> None:
        """Set up the adapter of a framework that takes no arguments of its own."""

    @abstractmethod
    def _run_framework(self, query: str) -> object:
        """Return the agent's answer to ``query``; the agent remembers the earlier turns."""

    def get_messages(self) -> MessageHistory:
        """Return the conversation so far, and what was said in runs that others made."""
        return MessageHistory([*super().get_messages(), *self.messages_for_others])

    def openai_messages(self) -> MessageHistory:
        """Return the conversation with times; where a framework gives none, of their appearance."""
        said = self.get_messages()
        self.note_times(len(said))
        times = zip(self._times, said, strict=False)
        return MessageHistory(
            [{**message, "timestamp": message.get("timestamp") or time} for time, message in times]
        )

    def note_times(self, count: int | None = None) -> None:
        """Note the time for the messages, or for so many, that were not there before."""
        there = len(self.get_messages()) if count is None else count
        self._times += [now()] * (there - len(self._times))

    def adopt(self, agent: object, kind: "type[AdapterT]") -> "AdapterT":
        """Return an adapter for an agent that works for this one and has none of its own."""
        number = len(self.members) + 1
        name = getattr(agent, "name", None) or getattr(agent, "role_name", None)
        # What a framework calls all of its agents tells nobody which one it was.
        title = "member" if name in (None, *_NO_NAMES) else str(name)
        if title in ("member", self.name, *self.members):
            title = f"{title} {number}"
        made = self.members[title] = kind(agent, title)
        return made

    def gather_traces(self) -> JsonObject:
        spoken = {name: member.openai_messages().to_list() for name, member in self.members.items()}
        return {**super().gather_traces(), **self._team_traces(spoken)}

    def _team_traces(self, spoken: Mapping[str, object]) -> JsonObject:
        """Return the messages of the members, and how much each of the team worked."""
        return {"members": dict(spoken), "team": self.team()} if spoken else {}

    def team(self) -> dict[str, JsonObject]:
        """Return the calls, tokens and seconds of this agent and of its members, each its own."""
        mine = work_of(super().gather_usage(), self.call_seconds)
        return {
            self.name: mine,
            **{name: member.team()[member.name] for name, member in self.members.items()},
        }

    def gather_usage(self) -> Usage:
        used = super().gather_usage()
        for member in self.members.values():
            if self._cost_calculator is not None:
                member.use_prices(self._cost_calculator, self._assumed_model_id)
            used += member.gather_usage()
        return used

    def _gave_up(self, error: Exception) -> bool:
        """Return True if the framework stopped the agent, as at a step limit."""
        # By name, as this module does without the frameworks' own classes.
        return any(base.__name__ in self.limit_errors for base in type(error).__mro__)

    def _run_agent(self, query: str) -> object:
        extras.load(self.module, extra=self.extra, package=self.package)
        token = _running.set(self)
        try:
            with self._log_turn(query) if self.logs_turns else nullcontext():
                return self._run_framework(query)
        except MASEvalError:
            raise
        except Exception as error:
            for cause in causes(error):
                if isinstance(cause, MASEvalError):  # raised in a tool, wrapped by the framework
                    raise cause from None
            if failure := self._failure_behind(error):
                # Not chained: the library's message may quote the key, and reports keep tracebacks.
                raise failure from None
            if self._gave_up(error):
                raise AgentGaveUpError(str(error), component=self.name) from error
            self._refuse_other_kinds(error)
            raise
        finally:
            _running.reset(token)
            with suppress(Exception):  # what it was may be no agent at all
                self.note_times()

    def _refuse_other_kinds(self, error: Exception) -> None:
        """Say that the agent is none of the framework's, if that is why an attribute is missing."""
        if not isinstance(error, AttributeError):
            return
        # The innermost frame is the one that asked for the attribute.
        *_, (frame, _) = walk_tb(error.__traceback__)
        asked_here = str(frame.f_globals.get("__name__")).startswith(__package__)
        if error.obj is self.agent or asked_here:
            raise ConfigurationError(
                f"agent {self.name!r} ({type(self.agent).__name__}) is not one that "
                f"{type(self).__name__} can run: {error}. Give it an agent of "
                f"{self.package or self.extra}, or write an AgentAdapter for yours"
            ) from error

    def _failure_behind(self, error: Exception) -> ProviderError | None:
        """Return the provider's failure, if an error of the framework means one."""
        names = [base.__name__ for base in type(error).__mro__]
        for name, words, kind in self.provider_errors:
            if name in names and words in str(error):
                if kind is not None:
                    retry_after = getattr(error, "retry_after", None)
                    return self._provider_error(kind, error, retry_after=retry_after)
                break
        known = provider_failure(error, provider=self._asked, model_id=self._reported_model_id)
        if known is None and self.models_package and is_unreadable(error, self.models_package):
            return self._provider_error(MalformedResponseError, error)
        return known

    def _provider_error(
        self, kind: type[ProviderError], text: object, **details: Any
    ) -> ProviderError:
        return kind(str(text), provider=self._asked, model_id=self._reported_model_id, **details)

    @property
    def _asked(self) -> str:
        return through(self.extra)

    @property
    def _reported_model_id(self) -> str | None:
        return self._model_id or self._resolve_model_id()

    @contextmanager
    def _log_turn(self, query: str) -> Iterator[None]:
        """Log a turn that succeeds, with its tokens; ``run`` logs those that fail."""
        began, started, before = now(), time.perf_counter(), self._gather_usage()
        self.turn_details = {}
        yield
        entry: JsonObject = {
            "timestamp": began,
            "query": query,
            "query_length": len(query),
            "duration_seconds": time.perf_counter() - started,
            "status": "success",
        }
        after = self._gather_usage()
        if isinstance(after, TokenUsage):
            for name in ("input_tokens", "output_tokens", "total_tokens"):
                entry[name] = getattr(after, name) - getattr(before, name, 0)
        self.logs.append(entry | self.turn_details)

    def _gather_usage(self) -> Usage:
        return self._without_delegated(sum(self.used) or Usage())

    def _without_delegated(self, usage: Usage) -> Usage:
        """Return the usage without the tokens that belong to other adapters."""
        if not isinstance(usage, TokenUsage) or not self.delegated_usage:
            return usage
        others = self.delegated_usage
        rest = {
            name: getattr(usage, name) - sum(getattr(other, name) for other in others)
            for name in TOKEN_FIELDS
        }
        return replace(usage, cost=usage.cost - sum(other.cost for other in others), **rest)

    def gather_config(self) -> JsonObject:
        # Made JSON first: a secret in the text of an object would not be recognised inside the
        # object.
        told = json.loads(json.dumps(self._settings(), default=str))
        named = {f"{self.extra.replace('-', '_')}_config": redact(told)} if told else {}
        return {**super().gather_config(), "model_id": self._reported_model_id, **named}

    def _settings(self) -> JsonObject:
        """Return how the agent is set up in its framework, for the report."""
        return {}

    def _resolve_cost_calculator(self) -> CostCalculator | None:
        if self._cost_calculator is not None:
            return self._cost_calculator
        if self._automatic_calculator is None and extras.is_installed("litellm"):
            self._automatic_calculator = LiteLLMCostCalculator()
        return self._automatic_calculator


# Repetitions may share an agent, but each has adapters of its own.
_adapters: WeakValueDictionary[tuple[int, int], FrameworkAgentAdapter] = WeakValueDictionary()


def adapter_of(agent: object, clock: Clock | None = None) -> FrameworkAgentAdapter | None:
    """Return the adapter that an agent has in a repetition, by default this one.

    It is the latest of several.
    """
    return adapter_by_id(id(agent), clock)


def adapter_by_id(agent_id: int, clock: Clock | None = None) -> FrameworkAgentAdapter | None:
    """Return what ``adapter_of`` does, where only the ``id()`` of a living agent is known."""
    clock = clock or Clock.here()
    found = _adapters.get((agent_id, id(clock)))
    # An id is given again once its object is gone, so that the ids alone prove nothing.
    is_same = found is not None and found._clock is clock and id(found.agent) == agent_id
    return found if is_same else None


# What frameworks call an agent that was given no name: CAMEL, LlamaIndex.
_NO_NAMES = ("System", "assistant", "Agent")

AdapterT = TypeVar("AdapterT", bound=FrameworkAgentAdapter)

_running: ContextVar[FrameworkAgentAdapter | None] = ContextVar("maseval_leader", default=None)


def running_adapter() -> FrameworkAgentAdapter | None:
    """Return the adapter whose turn runs here, if one does."""
    return _running.get()


def member_name(agent: Any) -> str | None:
    """Return the name of a team's member at work: its adapter's, or else its own."""
    leader = running_adapter()
    if agent is None or (leader is not None and leader.agent is agent):
        return acting_agent()
    adapter = adapter_of(agent)
    return str(getattr(agent, "name", None) or acting_agent()) if adapter is None else adapter.name


def reachable_from(agent: Any, others: Callable[[Any], Iterable[Any]]) -> list[Any]:
    """Return the agent and all others that it reaches, at any depth, each once."""
    found = [agent]
    for member in found:  # which grows meanwhile
        for other in others(member):
            if all(other is not known for known in found):
                found.append(other)
    return found


def bystanding_adapter(agent: object, kind: type[AdapterT]) -> AdapterT | None:
    """Return the adapter of an agent that is run here, but not by that adapter.

    One that has none gets one of this ``kind``: it is a member of the adapter that runs here.
    """
    leader = running_adapter()
    if leader is not None and leader.agent is agent:
        return None
    found = adapter_of(agent)
    if found is None and leader is not None:
        found = leader.adopt(agent, kind)
    return found if isinstance(found, kind) else None


def name_tool_results(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the messages; a tool's result carries its name, which only the call may have."""
    names: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            names[call["id"]] = call["function"]["name"]
        if (call_id := message.get("tool_call_id")) in names:
            message = {**message, "name": names[call_id]}
        yield message


def asking_function(user: User) -> Callable[[str], str]:
    """Return a function ``ask_user`` that the user answers, to make a tool of."""

    def ask_user(question: str) -> str:
        """Ask the user a question and wait for the answer.

        Args:
            question: What to ask.
        """
        return user.respond(question)

    return ask_user


class AskedLLMUser(LLMUser):
    """A user played by a model; ``get_tool`` returns it as a framework's tool ``ask_user``."""

    as_tools: ClassVar[Callable[..., list[Any]]]
    """Makes tools of the framework from functions."""

    def get_tool(self) -> Any:
        """Return the user as a tool, for agents that ask questions while they work."""
        return type(self).as_tools([asking_function(self)])[0]


def provider_failure(
    error: Exception, *, provider: str, model_id: str | None
) -> ProviderError | None:
    """Return the provider's failure behind ``error``; None if there is none.

    Frameworks pass on or wrap the errors of their client library. Either way, the error or one of
    its causes has the status of the response, or is known as a transport error.
    """
    for link in causes(error):
        response = getattr(link, "response", None)
        status = getattr(link, "status_code", getattr(response, "status_code", None))
        if isinstance(status, int) and 400 <= status < 600:
            # Some libraries keep the headers at the error, others at its response.
            headers = getattr(link if hasattr(link, "headers") else response, "headers", None)
            return error_from_status(
                status, str(link), provider=provider, model_id=model_id, headers=headers
            )
        kind = transport_error(link)
        if kind is not None:
            text = str(link) or type(link).__name__
            return kind(text, provider=provider, model_id=model_id)
    return None


def work_of(usage: Usage, seconds: Sequence[float]) -> JsonObject:
    """Return an agent's part of the work of a team."""
    names = ("input_tokens", "output_tokens", "total_tokens")
    tokens = {name: getattr(usage, name, 0) for name in names}
    return {"calls": len(seconds), **tokens, "seconds": round(sum(seconds), 3)}


def through(library: str) -> str:
    """Return what to call a provider whom a library has asked, and which it does not name."""
    return f"the provider (through {library})"


def is_unreadable(error: BaseException, models: str) -> bool:
    """Return True if a framework's model classes could not read the provider's answer.

    ``models`` is the name of their package. An answer that is not JSON or is incomplete makes the
    code that reads it raise whatever it happens to raise.
    """
    if isinstance(error, MASEvalError):
        return False
    if not isinstance(error, ValueError | LookupError | AttributeError | TypeError):
        return False
    modules = (str(frame.f_globals.get("__name__")) for frame, _ in walk_tb(error.__traceback__))
    return any(f"{module}.".startswith(f"{models}.") for module in modules)


Tools = Mapping[str, Callable[..., object]] | Iterable[Callable[..., object]]
"""Tools by name, such as ``environment.tools``, or functions that go by their own names."""


@dataclass(frozen=True)
class Tool:
    """A function with the description that a model reads; ``parameters`` is a JSON schema."""

    name: str
    description: str
    parameters: JsonSchema
    function: Callable[..., object]

    @property
    def definition(self) -> JsonObject:
        """The tool in OpenAI's form."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
            },
        }


def describe_tools(tools: Tools) -> list[Tool]:
    """Return every function with its name, description and full schema."""
    named = (
        tools.items() if isinstance(tools, Mapping) else ((None, function) for function in tools)
    )
    return [
        Tool(told["name"], told["description"], told["parameters"], function)
        for name, function in named
        if (told := tool_definition(function, name=name)["function"])
    ]


def as_text(value: object) -> str:
    """Return a value as a model or a user reads it: text as it is, any other value as JSON."""
    return value if isinstance(value, str) else to_json(value, fallback=str).decode()


def answer_call(tools: Mapping[str, Tool], name: str, arguments: Mapping[str, object]) -> str:
    """Make the call that an agent asked for in words; the agent reads what it raises."""
    if name not in tools:
        return f"Error: Tool '{name}' not found."
    try:
        return as_text(tools[name].function(**arguments))
    except MASEvalError as error:
        if not isinstance(error, AgentError):  # nothing the agent could correct
            raise
        return f"Error: {error}"
    except Exception as error:  # a tool called by a model: its error is an answer
        return f"Error: {error}"
