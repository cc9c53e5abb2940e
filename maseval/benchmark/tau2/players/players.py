"""Players: agents and a user that need no model.

They take part in the same loop, through the same adapters, and are scored by the same evaluator as
everybody else. ``gold`` carries out a task's reference solution, ``noisy`` does so with mistakes,
``noop`` does nothing; the scripted user does what it is asked to do.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from random import Random
from typing import Any

from maseval.benchmark.tau2.agent import MessageAgent, MessageAgentAdapter
from maseval.benchmark.tau2.benchmark import Mode, Tau2Benchmark
from maseval.benchmark.tau2.conversation.messages import (
    STOP,
    STOP_TOKENS,
    Message,
    Requestor,
    ToolCall,
    assistant_message,
    is_tool_call,
    user_message,
)
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.players.mistakes import Mistakes
from maseval.benchmark.tau2.user import MessageUser
from maseval.benchmark.tau2.world.tasks import Action, TaskSpec
from maseval.core.agent import AgentAdapter
from maseval.core.exceptions import ConfigurationError
from maseval.core.seeding import SeedGenerator
from maseval.core.task import Task
from maseval.core.user import User

GOODBYE = "That is everything I can do for you today."
"""How a player says that it is done; the scripted user leaves when it hears this."""

DEFAULT_ERROR_RATE = 0.1


class UnknownPlayerError(ConfigurationError):
    """There is no player of that name."""


@dataclass(frozen=True)
class Script:
    """What a player will do, and what it says after that; ``settings`` tell how it came about."""

    player: str
    actions: Sequence[Action]
    closing: str
    settings: Mapping[str, Any] = field(default_factory=dict)


class ScriptedAgent(MessageAgent):
    """Makes its own calls, asks the user for the user's, and then says its last words."""

    def __init__(
        self, script: Script, tools: Mapping[str, Callable[..., Any]], *, alone: bool = False
    ) -> None:
        super().__init__(tools, max_tool_calls=None)
        self.script = script
        self.alone = alone
        self._turns = self.turns()

    def begin(self, history: Sequence[Message]) -> None:
        super().begin(history)
        self._turns = self.turns()

    def _answer(self, messages: Sequence[Message]) -> Message:
        return next(self._turns)

    def is_stop(self, message: Message) -> bool:
        """Alone, the player ends the conversation itself."""
        return self.alone and not is_tool_call(message)

    def turns(self) -> Iterator[Message]:
        """What the player says and does, turn by turn, from the beginning; it never ends."""
        for number, action in enumerate(self.script.actions, start=1):
            if action.requestor == "user" and not self.alone:
                yield assistant_message(request_for(action.name, action.arguments), cost=0.0)
            else:
                call = _call(f"call_{number}", action.name, action.arguments, "assistant")
                yield assistant_message(None, tool_calls=[call], cost=0.0)
        closing = f"{self.script.closing} {STOP}" if self.alone else self.script.closing
        while True:
            yield assistant_message(closing, cost=0.0)


class PlayerAdapter(MessageAgentAdapter):
    """A player as the engine sees it."""

    agent: ScriptedAgent

    def __init__(self, agent: ScriptedAgent, name: str = "player") -> None:
        super().__init__(agent, name)

    def gather_config(self) -> dict[str, Any]:
        script = self.agent.script
        return {**super().gather_config(), "player": script.player, **script.settings}


def request_for(tool_name: str, arguments: Mapping[str, Any]) -> str:
    """Words that ask the user for one of its own actions; ``requests_in`` reads them."""
    shown = json.dumps(arguments) if arguments else ""
    return f"Please do this on your side and tell me what you see: `{tool_name}({shown})`"


def requests_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The actions that a text asks for, written like ``toggle_data()`` or ``name({"x": 1})``.

    They stand in backticks; the arguments are a JSON object.
    """
    found = []
    for match in re.finditer(r"`(\w+)\(", text):
        arguments, rest = _leading_object(text[match.end() :])
        if arguments is not None and rest.lstrip().startswith(")`"):
            found.append((match[1], arguments))
    return found


def _leading_object(text: str) -> tuple[dict[str, Any] | None, str]:
    if not text.startswith("{"):
        return {}, text
    try:
        arguments, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None, text
    return arguments, text[end:]


class ScriptedUser(MessageUser):
    """A customer that tells why it calls, does what it is asked to do, and leaves.

    It leaves when it hears ``GOODBYE``, when it has nothing more to tell an agent that asks for no
    action, or when it was asked for more actions than anybody's patience lasts for.
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

    def begin(self, history: Sequence[Message]) -> None:
        super().begin(history)
        told = any(message["role"] == "user" for message in history)
        lines = [*self.facts, *[_CONSENT] * _PATIENCE]
        self._lines = iter(lines if told else [self.initial_query, *lines])
        self._actions = 0

    def get_initial_query(self) -> str:
        """Why the user calls, which it then has said."""
        return next(self._lines)

    def _answer(self, messages: Sequence[Message]) -> Message:
        last = messages[-1]
        if last["role"] == "tool":
            return user_message(_report(messages), cost=0.0)
        text = str(last["content"])
        if GOODBYE in text:
            return user_message(_FAREWELL, cost=0.0)
        wanted = [request for request in requests_in(text) if request[0] in self.tools]
        if wanted and self._actions < self.max_actions:
            return self._act(wanted)
        return user_message(_FAREWELL if wanted else next(self._lines, _FAREWELL), cost=0.0)

    def _act(self, wanted: Sequence[tuple[str, dict[str, Any]]]) -> Message:
        calls = []
        for name, arguments in wanted:
            self._actions += 1
            calls.append(_call(f"user_call_{self._actions}", name, arguments, "user"))
        return user_message(None, tool_calls=calls, cost=0.0)

    def gather_config(self) -> dict[str, Any]:
        return {**super().gather_config(), "reason": self.initial_query, "tools": list(self.tools)}


_CONSENT = "Yes, please go ahead."
_PATIENCE = 3
_FAREWELL = f"Thank you, goodbye. {STOP}"


def _report(messages: Sequence[Message]) -> str:
    """What the user has seen when it did what it was asked to do."""
    seen = takewhile(lambda message: message["role"] == "tool", reversed(messages))
    texts = [_harmless(str(message["content"] or "")) for message in seen]
    return "\n".join(["I have done that. I see:", *reversed(texts)])


def _harmless(text: str) -> str:
    """A text that ends no conversation by quoting how one is ended."""
    for token in STOP_TOKENS:
        text = text.replace(token, "")
    return text.strip()


def _call(call_id: str, name: str, arguments: Mapping[str, Any], requestor: Requestor) -> ToolCall:
    return {"id": call_id, "name": name, "arguments": {**arguments}, "requestor": requestor}


def _gold(task: Task, environment: Tau2Environment, seed: int | None, rate: float) -> Script:
    return Script("gold", TaskSpec.of(task).actions, _closing(_to_be_said(task)))


def _noop(task: Task, environment: Tau2Environment, seed: int | None, rate: float) -> Script:
    return Script("noop", (), "Hello, thank you for calling. What can I do for you?")


def _noisy(task: Task, environment: Tau2Environment, seed: int | None, rate: float) -> Script:
    if not 0.0 <= rate <= 1.0:
        raise ConfigurationError(f"error_rate is {rate!r}; give a probability from 0 to 1")
    mistakes = Mistakes(environment, rate, Random(seed))
    actions = mistakes.made_in(TaskSpec.of(task).actions)
    said = [info for info in _to_be_said(task) if not mistakes.forgets()]
    return Script("noisy", actions, _closing(said), {"error_rate": rate, "seed": seed})


def _to_be_said(task: Task) -> Sequence[str]:
    return task.evaluation_data.get("communicate_info") or ()


def _closing(infos: Sequence[str]) -> str:
    return "\n".join([*(f"For your information: {info}" for info in infos), GOODBYE])


PLAYERS: dict[str, Callable[[Task, Tau2Environment, int | None, float], Script]] = {
    "gold": _gold,
    "noop": _noop,
    "noisy": _noisy,
}


def make_agent(
    player: str,
    task: Task,
    environment: Tau2Environment,
    *,
    seed: int | None = None,
    error_rate: float = DEFAULT_ERROR_RATE,
) -> PlayerAdapter:
    """The player of that name, for one repetition of ``task``.

    ``error_rate`` is the chance that ``noisy`` gets an action wrong, and ``seed`` decides which.
    """
    if player not in PLAYERS:
        raise UnknownPlayerError(f"unknown player {player!r}; choose one of: {', '.join(PLAYERS)}")
    script = PLAYERS[player](task, environment, seed, error_rate)
    return PlayerAdapter(ScriptedAgent(script, environment.tools, alone=environment.solo))


def make_user(task: Task, environment: Tau2Environment) -> ScriptedUser:
    """A scripted user with the task's reason for the call, and the domain's user tools."""
    told = task.user_data.get("instructions")
    instructions: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    reason = instructions.get("reason_for_call") or (told if isinstance(told, str) else task.query)
    facts = (instructions.get("known_info"), instructions.get("unknown_info"))
    opening = f"Hello, this is why I am calling: {reason}" if reason else ""
    return ScriptedUser(opening, list(filter(None, facts)), environment.create_user_tools())


class PlayerTau2Benchmark(Tau2Benchmark):
    """tau2 without any model: a player on one side, a scripted user on the other.

    ``agent_data`` names the ``player`` (``gold``, ``noop`` or ``noisy``) and may have the
    ``error_rate`` of ``noisy``.
    """

    def setup_user(
        self,
        agent_data: dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        seed_generator: SeedGenerator,
    ) -> User | None:
        """The scripted user; in solo mode nobody."""
        return None if self.mode is Mode.SOLO else make_user(task, environment)

    def setup_agents(
        self,
        agent_data: dict[str, Any],
        environment: Tau2Environment,
        task: Task,
        user: User | None,
        seed_generator: SeedGenerator,
    ) -> tuple[Sequence[AgentAdapter], dict[str, AgentAdapter]]:
        """The one player that ``agent_data`` names."""
        adapter = make_agent(
            agent_data.get("player", ""),
            task,
            environment,
            seed=seed_generator.derive_seed("agents/player"),
            error_rate=agent_data.get("error_rate", DEFAULT_ERROR_RATE),
        )
        return [adapter], {adapter.name: adapter}
