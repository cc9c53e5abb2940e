"""The scripted agent, user and model, which act out a script and ask nobody.

The agent takes part in the same loop, through the same adapters, and is scored by the same
evaluator as every other agent. ``gold`` carries out a task's reference solution, ``noisy`` does so
with the believable mistakes of a hurried agent, ``noop`` does nothing. It asks the user for an
action of the user's own in words that the scripted user reads.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from random import Random
from typing import Any

from pydantic import BaseModel

from maseval.benchmark.tau2.agent import MessageAgent, MessageAgentAdapter
from maseval.benchmark.tau2.domains.base import DB, ToolKitBase
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import (
    STOP,
    STOP_TOKENS,
    Requestor,
    SpokenMessage,
    Tau2Message,
    Tau2ToolCall,
    assistant_message,
    is_tool_call,
    tool_calls_of,
    user_message,
)
from maseval.benchmark.tau2.user import MessageUser
from maseval.benchmark.tau2.world.tasks import Action, TaskSpec
from maseval.core.exceptions import ConfigurationError
from maseval.core.task import Task


class Mistakes:
    """Decides what goes wrong; the same for equal random numbers.

    Each action goes wrong with probability ``rate``: it is left out, or made with a wrong argument.
    """

    def __init__(self, environment: Tau2Environment, rate: float, random: Random) -> None:
        self._environment, self._rate, self._random = environment, rate, random

    def goes_wrong(self) -> bool:
        """Return True if the next action, or the next thing to say, goes wrong."""
        return self._random.random() < self._rate

    def apply_to(self, actions: Sequence[Action]) -> list[Action]:
        """Return the actions as they are really taken."""
        taken = (self._alter(each) if self.goes_wrong() else each for each in actions)
        return [each for each in taken if each is not None]

    def _alter(self, action: Action) -> Action | None:
        """Return the action with one argument wrong; None, to leave it out, half of the time."""
        alternatives = list(self._alternatives(action))
        if not alternatives or self._random.random() < 0.5:
            return None
        return action.model_copy(update={"arguments": self._random.choice(alternatives)()})

    def _alternatives(self, action: Action) -> Iterator[Callable[[], dict[str, Any]]]:
        environment = self._environment
        toolkit = environment.user_toolkit if action.requestor == "user" else environment.toolkit
        parameters = _parameters(toolkit, action.name)
        for name, value in action.arguments.items():
            if name not in parameters.get("required", parameters.get("properties", {})):
                kept = {key: each for key, each in action.arguments.items() if key != name}
                yield lambda kept=kept: kept  # type: ignore[misc]
            # The alternatives are functions, so that only the chosen one draws random numbers.
            choices = self._choices(toolkit, parameters, name, value)
            if choices or _alterable(value):
                yield lambda name=name, value=value, choices=choices: {  # type: ignore[misc]
                    **action.arguments,
                    name: self._random.choice(choices) if choices else self._wrong(value),
                }

    def _choices(
        self,
        toolkit: ToolKitBase[Any] | None,
        parameters: Mapping[str, object],
        name: str,
        value: object,
    ) -> list[object]:
        """Return other values: another of the tool's options, another known id."""
        options = _options(parameters, name)
        # A hurried agent takes a wrong id from the same list, and not one that was never there.
        if not options and toolkit is not None and isinstance(value, str):
            options = _ids_like(toolkit.db, value)
        return [option for option in options if option != value]

    def _wrong(self, value: object) -> object:
        match value:
            case bool():
                return not value
            case int() | float():
                return value + self._random.choice((1, 2, 5))
            case str():
                return self._mistype(value)
            case list() if len(value) > 1:
                left_out = self._random.randrange(len(value))
                return value[:left_out] + value[left_out + 1 :]
            case list():
                return [self._wrong(item) for item in value]
            case dict():
                key = self._random.choice([key for key in value if _alterable(value[key])])
                return {**value, key: self._wrong(value[key])}
            case _:
                return value

    def _mistype(self, text: str) -> str:
        place = self._random.choice([i for i, letter in enumerate(text) if letter.isdecimal()])
        # Between one and nine more, so that it never stays the same digit.
        digit = (int(text[place]) + self._random.randint(1, 9)) % 10
        return f"{text[:place]}{digit}{text[place + 1 :]}"


# Of a text only digits are mistyped: a wrong id or date still looks like one.
def _alterable(value: object) -> bool:
    match value:
        case str():
            return any(letter.isdecimal() for letter in value)
        case list():
            return len(value) > 1 or any(map(_alterable, value))
        case dict():
            return any(map(_alterable, value.values()))
        case _:
            return isinstance(value, bool | int | float)


def _parameters(toolkit: ToolKitBase[Any] | None, tool_name: str) -> dict[str, Any]:
    functions = (each["function"] for each in (toolkit.definitions() if toolkit else ()))
    return next((each["parameters"] for each in functions if each["name"] == tool_name), {})


def _options(parameters: Mapping[str, Any], name: str) -> list[Any]:
    """Return the values that a tool's schema allows for a parameter, if it lists them."""
    schema = parameters.get("properties", {}).get(name, {})
    if "$ref" in schema:
        schema = parameters.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {})
    return list(schema.get("enum", ()))


def _ids_like(db: DB, value: str) -> list[str]:
    """Return the ids in the table, or in the list of records, in which ``value`` is one."""
    columns = (ids for _, collection in db for ids in _columns(collection))
    found = next((ids for ids in columns if value in ids), ())
    return [each for each in found if isinstance(each, str)]


def _columns(collection: object) -> Iterator[Collection[object]]:
    """Yield the keys of a table, or each field of a list of records."""
    if isinstance(collection, Mapping):
        yield collection
    elif isinstance(collection, list) and collection and isinstance(collection[0], BaseModel):
        for field in type(collection[0]).model_fields:
            yield [getattr(record, field) for record in collection]


GOODBYE = "That is everything I can do for you today."
"""A scripted agent says this when it is done; the scripted user then leaves."""

DEFAULT_ERROR_RATE = 0.1


@dataclass(frozen=True)
class Script:
    """The actions and the last words of a scripted agent; ``settings`` are for the record."""

    player: str
    actions: Sequence[Action]
    closing: str
    settings: Mapping[str, Any] = field(default_factory=dict)


PLAYERS = ("gold", "noop", "noisy")


def _script(
    player: str, task: Task, environment: Tau2Environment, seed: int | None, rate: float
) -> Script:
    if player == "noop":
        return Script(player, (), "Hello, thank you for calling. What can I do for you?")
    actions, said = TaskSpec.of(task).actions, task.evaluation_data.get("communicate_info") or ()
    settings: dict[str, Any] = {}
    if player == "noisy":
        if not 0.0 <= rate <= 1.0:
            raise ConfigurationError(f"error_rate is {rate!r}; give a probability from 0 to 1")
        mistakes = Mistakes(environment, rate, Random(seed))
        actions = mistakes.apply_to(actions)
        said = [info for info in said if not mistakes.goes_wrong()]
        settings = {"error_rate": rate, "seed": seed}
    closing = "\n".join([*(f"For your information: {info}" for info in said), GOODBYE])
    return Script(player, actions, closing, settings)


def request_for(tool_name: str, arguments: Mapping[str, Any]) -> str:
    """Return words that ask the user for one of its own actions; ``requests_in`` reads them."""
    shown = json.dumps(arguments) if arguments else ""
    return f"Please do this on your side and tell me what you see: `{tool_name}({shown})`"


def requests_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the actions that a text asks for, written like ``tool()`` or ``tool({"x": 1})``.

    They stand in backticks; the arguments are a JSON object.
    """
    found = []
    for match in re.finditer(r"`(\w+)\(", text):
        arguments, rest = _leading_object(text[match.end() :])
        if arguments is not None and rest.lstrip().startswith(")`"):
            found.append((match[1], arguments))
    return found


def _leading_object(text: str) -> tuple[dict[str, Any] | None, str]:
    try:
        arguments, end = json.JSONDecoder().raw_decode(text) if text.startswith("{") else ({}, 0)
    except ValueError:
        return None, text
    return arguments, text[end:]


def make_call(
    call_id: str, name: str, arguments: Mapping[str, Any], requestor: Requestor
) -> Tau2ToolCall:
    """Return a tool call, with arguments of its own."""
    return {"id": call_id, "name": name, "arguments": {**arguments}, "requestor": requestor}


class ScriptedAgent(MessageAgent):
    """Makes its own calls, asks the user for the user's, and then says its last words."""

    def __init__(
        self, script: Script, tools: Mapping[str, Callable[..., Any]], *, alone: bool = False
    ) -> None:
        super().__init__(tools, max_tool_calls=None)
        self.script = script
        self.alone = alone
        self._left = list(self._turns())

    def begin(self, history: Sequence[Tau2Message]) -> None:
        super().begin(history)
        self._left = list(self._turns())

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None:
        """Take over from another agent: the rest of the script remains to be done."""
        super().recall(incoming, message)
        # The other agent may have done things in another order.
        done = next((turn for turn in self._left if _gist(turn) == _gist(message)), None)
        if done is not None:
            self._left.remove(done)

    def _answer(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        return self._left.pop(0) if self._left else self._closing()

    def is_stop(self, message: SpokenMessage) -> bool:
        """Return True for the last words of an agent that works alone."""
        return self.alone and not is_tool_call(message)

    def _turns(self) -> Iterator[SpokenMessage]:
        for number, action in enumerate(self.script.actions, start=1):
            # Alone, an agent has the customer's tools as well.
            if action.requestor == "user" and not self.alone:
                yield assistant_message(request_for(action.name, action.arguments), cost=0.0)
            else:
                made = make_call(f"call_{number}", action.name, action.arguments, "assistant")
                yield assistant_message(None, tool_calls=[made], cost=0.0)

    def _closing(self) -> SpokenMessage:
        closing = f"{self.script.closing} {STOP}" if self.alone else self.script.closing
        return assistant_message(closing, cost=0.0)


def _gist(message: SpokenMessage) -> tuple[object, list[object]]:
    """Return the text and the calls of a message, whatever ids they have."""
    calls = tool_calls_of(message) or ()
    return message["content"], [(call["name"], call["arguments"]) for call in calls]


class PlayerAdapter(MessageAgentAdapter):
    """A scripted agent as the engine sees it."""

    agent: ScriptedAgent

    def gather_config(self) -> dict[str, Any]:
        script = self.agent.script
        return {**super().gather_config(), "player": script.player, **script.settings}


def make_agent(
    player: str,
    task: Task,
    environment: Tau2Environment,
    *,
    seed: int | None = None,
    error_rate: float = DEFAULT_ERROR_RATE,
) -> PlayerAdapter:
    """Return the scripted agent of that name, for one repetition of ``task``.

    ``error_rate`` is the chance that ``noisy`` gets an action wrong, and ``seed`` decides which.
    """
    if player not in PLAYERS:
        raise ConfigurationError(
            f"unknown scripted agent {player!r}; choose one of: {', '.join(PLAYERS)}"
        )
    script = _script(player, task, environment, seed, error_rate)
    agent = ScriptedAgent(script, environment.tools, alone=environment.solo)
    return PlayerAdapter(agent, "player")


_CONSENT = "Yes, please go ahead."
# So often it says yes to whatever it is asked before it gives up.
_PATIENCE = 3
_FAREWELL = f"Thank you, goodbye. {STOP}"


class ScriptedUser(MessageUser):
    """A customer that says why it calls, does what it is asked to do, and leaves.

    It leaves when it hears ``GOODBYE``, when it has nothing more to say and is asked for no action,
    or when it has taken ``max_actions``.
    """

    def __init__(
        self,
        reason: str,
        facts: Sequence[str] = (),
        tools: Mapping[str, Callable[..., Any]] | None = None,
        *,
        max_actions: int = 100,
    ) -> None:
        opening = _harmless(reason) or "Hello, I need your help."
        super().__init__(opening, tools, max_turns=None)
        self.facts = [text for text in map(_harmless, facts) if text]
        self.max_actions = max_actions
        self.begin([])

    def begin(self, history: Sequence[Tau2Message]) -> None:
        super().begin(history)
        # In a task's own history the customer has said why it calls.
        told = any(message["role"] == "user" for message in history)
        lines = [*self.facts, *[_CONSENT] * _PATIENCE]
        self._lines = lines if told else [self.initial_query, *lines]
        self._actions = 0

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None:
        """Take over from another user, who has said why it calls."""
        super().recall(incoming, message)
        self._actions += len(tool_calls_of(message) or ())
        if self._lines and self._lines[0] in (message["content"], self.initial_query):
            self._next_line()

    def _next_line(self) -> str:
        return self._lines.pop(0) if self._lines else _FAREWELL

    def get_initial_query(self) -> str:
        """Return why the user calls, which it then has said."""
        return self._next_line()

    def _answer(self, messages: Sequence[Tau2Message]) -> SpokenMessage:
        last = messages[-1]
        if last["role"] == "tool":
            return user_message(_report(messages), cost=0.0)
        text = str(last["content"])
        if GOODBYE in text:
            return user_message(_FAREWELL, cost=0.0)
        wanted = [request for request in requests_in(text) if request[0] in self.tools]
        if wanted and self._actions < self.max_actions:
            return self._act(wanted)
        # Two scripted sides could otherwise ask each other for ever.
        return user_message(_FAREWELL if wanted else self._next_line(), cost=0.0)

    def _act(self, wanted: Sequence[tuple[str, dict[str, Any]]]) -> SpokenMessage:
        calls = []
        for name, arguments in wanted:
            self._actions += 1
            calls.append(make_call(f"user_call_{self._actions}", name, arguments, "user"))
        return user_message(None, tool_calls=calls, cost=0.0)

    def gather_config(self) -> dict[str, Any]:
        return {**super().gather_config(), "reason": self.initial_query, "tools": list(self.tools)}


def _report(messages: Sequence[Tau2Message]) -> str:
    """Return the user's report of what it saw when it did what it was asked to do."""
    seen = takewhile(lambda message: message["role"] == "tool", reversed(messages))
    texts = [_harmless(str(message["content"] or "")) for message in seen]
    return "\n".join(["I have done that. I see:", *reversed(texts)])


def _harmless(text: str) -> str:
    """Return a text without the words that would end a conversation."""
    for token in STOP_TOKENS:
        text = text.replace(token, "")
    return text.strip()


def make_user(task: Task, environment: Tau2Environment) -> ScriptedUser:
    """Return a scripted user with the task's reason for the call, and the domain's user tools."""
    told = task.user_data.get("instructions")
    instructions: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    reason = instructions.get("reason_for_call") or (told if isinstance(told, str) else task.query)
    facts = (instructions.get("known_info"), instructions.get("unknown_info"))
    opening = f"Hello, this is why I am calling: {reason}" if reason else ""
    return ScriptedUser(opening, list(filter(None, facts)), environment.user_tools())
