"""The scripted model of a rehearsal: it plays a script through an agent of the user's own.

It has the place of all models that the agent asks, in one simulation. Every request is checked
(``Arrivals``) before it is answered, and its tools are compared with those of the environment. An
agent that cannot be played this way, as it reads calls from a text, is refused at once.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import SpokenMessage, assistant_message, tool_calls_of
from maseval.benchmark.tau2.players.arrivals import Arrivals, ModelRequest, squash
from maseval.benchmark.tau2.players.schemas import differences, instance_of, match_names
from maseval.benchmark.tau2.players.scripted import (
    DEFAULT_ERROR_RATE,
    ScriptedAgent,
    make_agent,
)
from maseval.benchmark.tau2.world.trajectory import Trajectory
from maseval.core import messages as chat
from maseval.core.exceptions import RunInterruptedError
from maseval.core.messages import ChatResponse, Message
from maseval.core.model import Params
from maseval.core.recorded import mapping
from maseval.core.scripted import FixedReply, ScriptedModelAdapter, Tools
from maseval.core.task import Task
from maseval.core.tool import tool_definition
from maseval.core.tracing import JsonObject, TraceableMixin

_MOST = 3
"""So many requests are answered before an agent that cannot be rehearsed is refused."""
_QUESTION = "I can look into that. Is there anything else that I should know before I begin?"
_ANSWERS = frozenset(
    {"final", "answer", "respond", "response", "reply", "say", "finish", "message"}
)


class CannotRehearseError(RunInterruptedError):
    """An agent asks its model for something that no script can answer."""


class Refused(NamedTuple):
    """The reason why an agent cannot be rehearsed, and what to do instead."""

    reason: str
    instead: str

    def __str__(self) -> str:
        return f"cannot be rehearsed: {self.reason}; {self.instead}"


_IN_TEXT = Refused(
    "the agent offers its model no tools and names them in its prompt, so it reads calls from the "
    "model's text (ReAct in text, code)",
    "offer the tools by the API (tools=...), or try it with a real model: "
    "--num-tasks 3 --agent-model MODEL --user-model MODEL",
)
_FREE_JSON = Refused(
    "the agent asks for JSON and does not say which (response_format json_object)",
    "give the schema (response_format json_schema), or try it with a real model: "
    "--num-tasks 3 --agent-model MODEL --user-model MODEL",
)


class RehearsalModel(ScriptedModelAdapter):
    """Acts as the scripted agent would, and keeps what it has seen of the agent.

    Asked without tools, as a planner or a critic beside the acting agent is, it gives its plan; a
    request that shows its reply to the customer gets that reply. In a team, what the asking agent
    has no tool for is handed over: to one of its tools that are not the environment's, first one
    whose description names the action. A colleague who is asked that way does what it can of what
    comes next, and leaves the rest, and the customer, to who asked. A request that is repeated
    before anything has happened gets the same reply.

    ``acted`` is set as soon as any simulation of the run has offered the environment's tools.
    """

    def __init__(
        self,
        agent: ScriptedAgent,
        environment: Tau2Environment,
        model_id: str,
        acted: threading.Event | None = None,
    ) -> None:
        super().__init__(lambda messages, tools: self._reply(), model_id=model_id)
        trajectory = environment.trajectory
        self.arrivals = Arrivals(trajectory.messages, environment.policy, trajectory.retold)
        self.refused: Refused | None = None
        self.acted = acted or threading.Event()
        self._trajectory = trajectory
        self._given = {
            name: tool_definition(tool, name=name)["function"]
            for name, tool in environment.tools.items()
        }
        self._schemas: dict[str, str] = {}
        self._tool_sets: set[frozenset[str]] = set()
        self._player = agent.script
        self._turns = _turns(agent, trajectory)
        self._next: SpokenMessage | None = None
        self._said = ""  # to the customer, in this turn
        self._tried: set[str] = set()  # the colleagues, to see to the next turn
        self._handed_over: list[str] = []
        self._request = ModelRequest((), {})
        self._given_replies: dict[str, FixedReply] = {}  # since the trajectory last grew
        self._length = 0
        self._counts = {"requests": 0, "repeated": 0, "beside": 0, "helping": 0}
        self._heads: list[str] = []  # of requests that only name the tools
        self._silent_turns: set[int] = set()
        # The agents of a team may ask at once, and a script has one order.
        self._one_at_a_time = threading.RLock()

    def _chat_impl(
        self,
        messages: list[Message],
        generation_params: Params | None = None,
        tools: Tools = None,
        tool_choice: str | dict[str, object] | None = None,
        **kwargs: object,
    ) -> ChatResponse:
        functions = [each["function"] for each in tools or () if "function" in each]
        offered = {str(each.get("name")): each for each in functions}
        with self._one_at_a_time:
            self._request = ModelRequest(messages, offered, tool_choice, generation_params or {})
            return super()._chat_impl(messages, generation_params, tools, tool_choice, **kwargs)

    def refuse(self, refused: Refused) -> CannotRehearseError:
        """Refuse this agent from now on; return the error that says so."""
        self.refused = self.refused or refused
        return CannotRehearseError(str(self.refused))

    def _reply(self) -> FixedReply:
        request = self._request
        self.arrivals.follow()
        if len(self._trajectory.messages) != self._length:
            self._length, self._given_replies = len(self._trajectory.messages), {}
        key = json.dumps([*request.messages, request.tools], default=str)
        # A client that tries again must not move the script on.
        if key in self._given_replies:
            self._counts["requests"] += 1
            self._counts["repeated"] += 1
            return self._given_replies[key]
        names = match_names(self._given, request.tools)
        if refused := self.refused or self._objection(request, names):
            raise self.refuse(refused)
        self._counts["requests"] += 1
        if names:
            self.acted.set()
        beside = not request.tools or _is_structured(request, names)
        reply = self._stand_by(request) if beside else self._act(request, names)
        self._given_replies[key] = reply
        return reply

    def _objection(self, request: ModelRequest, names: Mapping[str, str]) -> Refused | None:
        """Return why the agent cannot be rehearsed, as far as this request shows it."""
        if request.response_format.get("type") == "json_object":
            return _FREE_JSON
        if self.acted.is_set() or names:
            return None
        if request.tools and not _is_structured(request, names):
            if self._is_helping(request):
                return None
            self._heads.append(request.head)
            too_many = len(self._heads) >= _MOST or self._tried >= request.tools.keys() - _ANSWERS
            return self._foreign(request) if too_many and self._handed_over else None
        if sum(name in request.text for name in self._given) * 2 < len(self._given):
            return None
        self._heads.append(request.head)
        self._silent_turns.add(self.arrivals.turns)
        # The same question over and over: the agent looks for a call in the text of the answer.
        is_loop = self._heads.count(request.head) >= _MOST
        return _IN_TEXT if is_loop or len(self._silent_turns) > 1 else None

    def _is_helping(self, request: ModelRequest) -> bool:
        told = "\n".join(request.spoken_by("user"))
        return any(squash(each) in told for each in self._handed_over)

    def _foreign(self, request: ModelRequest) -> Refused:
        return Refused(
            f"the agent offers its model {', '.join(request.tools)}, none of which is a tool of "
            "the environment",
            "offer each tool of the brief under its name, or after a prefix; or try it with a real "
            "model: --num-tasks 3 --agent-model MODEL --user-model MODEL",
        )

    def plays_in(self, environment: Tau2Environment) -> bool:
        return environment.trajectory is self._trajectory

    def end(self) -> Refused | None:
        """Take in the end of the simulation; return why the agent cannot be rehearsed, if so."""
        self.arrivals.follow()
        if self._heads and not self._tool_sets and not self.acted.is_set():
            self.refused = self.refused or _IN_TEXT
        return self.refused

    # Requests beside the acting agent: planners, classifiers, summaries.

    def _stand_by(self, request: ModelRequest) -> FixedReply:
        self._counts["beside"] += 1
        if request.tools:
            (name, function), *_ = _forced_first(request)
            values = _arguments(function, _last_words(request))
            self.arrivals.note_beside(request, json.dumps(values))
            return {"name": name, "arguments": values}
        schema = request.response_format.get("json_schema")
        if isinstance(schema, Mapping):
            text = json.dumps(instance_of(schema.get("schema") or {}, _last_words(request)))
        elif self._said and squash(self._said) in request.text:
            text = self._said
        else:
            text = self._plan()
        self.arrivals.note_beside(request, text)
        return text

    def _plan(self) -> str:
        actions = enumerate(self._player.actions, 1)
        steps = [f"{number}. {action.name}" for number, action in actions]
        first = f"The plan, written for request {self._counts['beside']}:"
        return "\n".join([first, *steps, "Then tell the customer what was done."])

    # Requests of the acting agent, and of its colleagues.

    def _act(self, request: ModelRequest, names: Mapping[str, str]) -> FixedReply:
        if self._next is None:
            self._next = next(self._turns)
        turn = self._next
        wanted = next((call["name"] for call in tool_calls_of(turn) or ()), None)
        is_helping = self._is_helping(request)
        self._check(request, names, is_helping)
        others = request.tools.keys() - {*names.values(), *self._tried} - _answering(request, names)
        if is_helping and wanted not in names:
            return self._say("I have done what I can.", request, names)
        if wanted is not None and wanted not in names:
            if others:
                # First a colleague whose description names the action. Sets have no order, and a
                # rehearsal must come out the same each time.
                asked = min(sorted(others), key=lambda name: wanted not in str(request.tools[name]))
                return self._hand_over(wanted, asked)
            # Nobody is left to ask: the agent hears that there is no such tool.
            self._schemas[wanted] = "not offered when it was needed"
        self._next, self._tried = None, set()
        return self._play(turn, request, names)

    def _check(self, request: ModelRequest, names: Mapping[str, str], is_helping: bool) -> None:
        self._tool_sets.add(frozenset(names))
        for name, offered in names.items():
            changes = "; ".join(differences(self._given[name], request.tools[offered]))
            # The first difference stays, even if a later request is right.
            self._schemas[name] = self._schemas.get(name) or changes
            if name != offered:
                self.arrivals.notes["Tools arrive with a prefix before their names."] += 1
        self._counts["helping"] += is_helping
        self.arrivals.check(request, is_helping=is_helping)

    def _hand_over(self, wanted: str, colleague: str) -> FixedReply:
        self._tried.add(colleague)
        request = f"Please see to this: {wanted} (request {len(self._handed_over) + 1})"
        self._handed_over.append(request)
        return {"name": colleague, "arguments": _arguments(self._request.tools[colleague], request)}

    def _play(
        self, turn: SpokenMessage, request: ModelRequest, names: Mapping[str, str]
    ) -> FixedReply:
        calls = tool_calls_of(turn)
        if not calls:
            return self._say(str(turn["content"]), request, names)
        for call in calls:
            self.arrivals.note_call(call["id"], call["name"], call["arguments"])
        self.arrivals.check_room(request, json.dumps([c["arguments"] for c in calls]), calls=True)
        return [
            chat.tool_call(names.get(c["name"], c["name"]), c["arguments"], id=c["id"])
            for c in calls
        ]

    def _say(self, text: str, request: ModelRequest, names: Mapping[str, str]) -> FixedReply:
        """Answer in words, by a tool or in a structure if that is how the agent wants it."""
        self._said = text
        self.arrivals.note_reply(text)
        if tools := sorted(_answering(request, names)):
            return {"name": tools[0], "arguments": _arguments(request.tools[tools[0]], text)}
        schema = request.response_format.get("json_schema")
        if isinstance(schema, Mapping):
            said = json.dumps(instance_of(schema.get("schema") or {}, text))
            self.arrivals.note_reply(said)
        else:
            said = text
        self.arrivals.check_room(request, said, calls=False)
        return said

    def record(self) -> JsonObject:
        """Return all that was seen, for the report of the simulation."""
        tally = self.arrivals.tally
        return {
            **self._counts,
            "turns": self.arrivals.replies,
            "counts": tally.counts,
            "findings": [[*key, times] for key, times in tally.findings.items()],
            "notes": sorted(self.arrivals.notes),
            "tools": {name: self._schemas.get(name) for name in self._given},
            "shares_tools": len(self._tool_sets) > 1 or bool(self._handed_over),
            "refused": self.refused and str(self.refused),
        }


class RehearsalRecord(TraceableMixin):
    """Puts into the report of a simulation what its rehearsal has seen."""

    def __init__(self, model: RehearsalModel) -> None:
        self.model = model

    def gather_traces(self) -> JsonObject:
        self.model.end()
        return {**super().gather_traces(), **self.model.record()}


def make_model(
    player: str,
    task: Task,
    environment: Tau2Environment,
    *,
    seed: int | None = None,
    error_rate: float = DEFAULT_ERROR_RATE,
    model_id: str | None = None,
    acted: threading.Event | None = None,
) -> RehearsalModel:
    """Return a model for one repetition of ``task`` that acts as the scripted agent would.

    In a conversation that continues a recorded one, it does what of its script is not done yet.
    """
    agent = make_agent(player, task, environment, seed=seed, error_rate=error_rate).agent
    name = model_id or f"{player}-{environment.domain}-{task.id}"
    return RehearsalModel(agent, environment, name, acted)


def _turns(agent: ScriptedAgent, trajectory: Trajectory) -> Iterator[SpokenMessage]:
    """Yield the agent's turns, without end; first it asks something, if there is a customer.

    Without a second turn nobody could see whether the agent remembers the first one.
    """
    for message in trajectory.messages[: trajectory.retold]:
        if message["role"] == "assistant":
            agent.recall((), message)
    if not agent.alone and not trajectory.retold and agent.script.player != "noop":
        yield assistant_message(_QUESTION, cost=0.0)
    while True:
        yield agent.reply(())


def _forced_first(request: ModelRequest) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the offered tools, first the one that the model must call."""
    name = mapping(request.tool_choice, "function").get("name")
    return sorted(request.tools.items(), key=lambda each: each[0] != name)


def _arguments(function: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return arguments for a tool that is not the environment's, with a text where one fits."""
    parameters = function.get("parameters") or {}
    # A tool whose schema says nothing takes an answer under this name, as in smolagents.
    plain = {"answer": {"type": "string"}}
    properties = parameters.get("properties") or (
        plain if str(function.get("name")).startswith("final_") else {}
    )
    found: dict[str, Any] = instance_of(
        {**parameters, "type": "object", "properties": properties}, text
    )
    return found


def _is_structured(request: ModelRequest, names: Mapping[str, str]) -> bool:
    """Return True if the only tool that the model may call is a form for its answer."""
    forced = isinstance(request.tool_choice, Mapping)
    one = len(request.tools) == 1 and request.tool_choice == "required"
    return bool(request.tools) and not names and (forced or one)


def _answering(request: ModelRequest, names: Mapping[str, str]) -> set[str]:
    """Return the tools by which some frameworks have their agents answer."""
    own = request.tools.keys() - names.values()
    by_name = {name for name in own if name.startswith(("final_answer", "final_result"))}
    if by_name or request.tool_choice != "required":
        return by_name
    return {name for name in own if _ANSWERS & {*name.lower().split("_")}}


def _last_words(request: ModelRequest) -> str:
    spoken = [each for each in request.messages if each.get("role") == "user"]
    return chat.text_of(spoken[-1]) if spoken else "The plan."
