"""Episode: one simulation whose caller plays a side, message by message.

The simulation is that of every run: the same orchestrator, worlds, participants and verdict.
Whoever holds an episode says what its side says (``act``) and has the other side answer
(``advance``, or ``advance_async`` in an event loop). Between two messages an episode is nothing but
data: no thread waits, and ``twin`` copies it.

After tau2-bench v1.0.1, src/tau2/gym/ (MIT, Sierra Research).
"""

import copy
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from random import Random
from typing import Any, TypeVar, cast

from maseval.benchmark.tau2.agent import DONE, MessageAgent
from maseval.benchmark.tau2.benchmark import Mode
from maseval.benchmark.tau2.conversation.orchestrator import Orchestrator, Turn
from maseval.benchmark.tau2.conversation.participants import Participant
from maseval.benchmark.tau2.conversation.recording import read_recording
from maseval.benchmark.tau2.data_loader import build_tasks, load_raw_task
from maseval.benchmark.tau2.default_benchmark import DefaultAgentTau2Benchmark
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.evaluator import verdict_without_judge
from maseval.benchmark.tau2.formats.message import (
    STOP,
    Requestor,
    SpokenMessage,
    Tau2Message,
    is_tool_call,
    tool_calls_of,
)
from maseval.benchmark.tau2.formats.simulation import with_keys
from maseval.benchmark.tau2.players.scripted import PLAYERS, make_agent, make_user
from maseval.benchmark.tau2.scoring.case import Case, KnownTask
from maseval.benchmark.tau2.scoring.judge import OFFICIAL_JUDGE, NoJudgeError
from maseval.benchmark.tau2.scoring.score import EvaluationType, Verdict, score
from maseval.benchmark.tau2.texts.original import SOLO
from maseval.core.event_loop import settle
from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import ChatResponse, Message
from maseval.core.model import ModelAdapter, Params, resolve_model
from maseval.core.reasoning import ReasoningMemory
from maseval.core.scripted import FixedReply, Tools, to_response
from maseval.core.seeding import DefaultSeedGenerator, SeedGenerator
from maseval.core.task import Task

Answer = FixedReply | Awaitable[FixedReply]
Partner = str | ModelAdapter | Callable[[list[Message], Tools], Answer]
"""Who plays the other side: ``scripted`` for the user or a scripted agent's name, a model, or a
function from the messages and tools that a model would be sent to a text, or to tool calls."""

DEFAULT_MODEL = "gpt-4.1"
# Arguments of a model that say how it is reached, not how it answers.
_CONNECTION = {"api_base": "base_url", "base_url": "base_url", "api_key": "api_key"}
SCRIPTED = "scripted"

PartT = TypeVar("PartT")


class CallableModel(ModelAdapter):
    """A model that is a function of messages and tools, which may be async."""

    def __init__(self, ask: Callable[[list[Message], Tools], Answer]) -> None:
        super().__init__()
        self._ask = ask
        self._answered: Any = None
        self._turn = 0

    @property
    def model_id(self) -> str:
        return getattr(self._ask, "__name__", type(self._ask).__name__)

    def _chat_impl(
        self,
        messages: list[Message],
        generation_params: Params | None = None,
        tools: Tools = None,
        tool_choice: str | dict[str, object] | None = None,
        **kwargs: object,
    ) -> ChatResponse:
        found, self._answered = self._answered, None
        self._turn += 1
        reply = settle(self._ask(messages, tools)) if found is None else found
        return to_response(reply, self._turn)

    async def chat_async(self, messages: Sequence[Message], **request: Any) -> ChatResponse:
        # What was awaited is handed to ``chat``, so that both ways count and record a request
        # alike.
        reply: Any = self._ask(list(messages), request.get("tools"))
        self._answered = await reply if hasattr(reply, "__await__") else reply
        return self.chat(messages, **request)


class Seat:
    """The caller's side: it keeps what it has seen, and is never asked by the orchestrator."""

    def __init__(self, role: Requestor) -> None:
        self.role = role
        self.messages: list[Tau2Message] = []

    def begin(self, history: Sequence[Tau2Message]) -> None:
        self.messages = list(history)

    def recall(self, incoming: Sequence[Tau2Message], message: SpokenMessage) -> None:
        """Take a message for the caller's answer to what it has heard."""
        self.messages += [*incoming, message]

    def reply(self, incoming: Sequence[Tau2Message]) -> SpokenMessage:
        raise NotImplementedError("whoever holds the orchestrator answers for this side")

    def is_stop(self, message: SpokenMessage) -> bool:
        """Return True if the message of an agent ends the conversation."""
        return not is_tool_call(message) and STOP in (message.get("content") or "")


@lru_cache(maxsize=4096)
def _load_task(domain: str | Domain, task_id: str, version: str) -> tuple[Task, KnownTask]:
    raw = load_raw_task(domain, task_id, version=version)
    (task,) = build_tasks([raw], domain, version=version).to_list()
    task.environment_data["domain"] = domain  # by itself, if it is not known by its name
    return task, KnownTask.of(raw)


class Episodes(DefaultAgentTau2Benchmark):
    """The episodes of one task: their worlds and partners are made as those of a run are.

    ``role`` is the caller's side and ``partner`` plays the other; without one, the model
    ``model_id`` does, with ``llm_args``. ``judge`` is for tasks with natural-language assertions.
    """

    said_for_all = False
    """True once the log says that the texts are not the original's: once for a thousand tasks."""

    def __init__(
        self,
        domain: str | Domain,
        task_id: str,
        role: Requestor = "assistant",
        max_steps: int = 100,
        solo: bool = False,
        partner: Partner | None = None,
        model_id: str | None = None,
        llm_args: Mapping[str, object] | None = None,
        version: str = "1.0.1",
        judge: ModelAdapter | None = None,
    ) -> None:
        names = [SCRIPTED] if role == "assistant" else list(PLAYERS)
        if isinstance(partner, str) and partner not in names:
            raise ConfigurationError(
                f"the other side is {partner!r}; give {' or '.join(names)}, a ModelAdapter or a "
                "function, or name a model by user_llm or agent_llm"
            )
        mode = Mode.SOLO if solo else Mode.NORMAL
        super().__init__(max_invocations=max_steps, version=version, mode=mode, progress_bar=False)
        self._said_not_comparable = Episodes.said_for_all
        self.domain, self.task_id, self.version = domain, task_id, version
        self.role, self.partner, self.judge = role, partner, judge
        self._model_id = model_id or DEFAULT_MODEL
        given = llm_args or {}
        self._connection = {_CONNECTION[each]: given[each] for each in given if each in _CONNECTION}
        self._llm_args = {each: given[each] for each in given if each not in _CONNECTION} or None

    @property
    def loaded_task(self) -> tuple[Task, KnownTask]:
        """The task, and as its author wrote it; ``ValueError`` if the domain has no such task."""
        return _load_task(self.domain, self.task_id, self.version)

    @cached_property
    def _asked_task(self) -> Task:
        """The task with the parameters of the model that plays the user."""
        task = self.loaded_task[0]
        return replace(task, user_data={**task.user_data, "llm_args": self._llm_args})

    def start(self, seed: int | None = None) -> "Episode":
        """Return a new episode, in which nobody has acted yet; a model is asked with the seed."""
        task, _ = self.loaded_task
        # The seeds of the first repetition in a run with this seed.
        seeds = DefaultSeedGenerator(seed).for_task(str(task.id)).for_repetition(0)
        environment = self.setup_environment({}, task, seeds)
        seat = Seat(self.role)
        partner = None if self.mode is Mode.SOLO else self._make_partner(task, environment, seeds)
        agent, user = (seat, partner) if self.role == "assistant" else (partner, seat)
        assert agent is not None
        steps = Orchestrator(environment, agent, user, max_steps=self.max_invocations)
        return Episode(self, steps, seat, seed)

    def get_model_adapter(self, model_id: str, **options: Any) -> ModelAdapter:
        """Return the partner's model: a new one for each episode, which nobody traces."""
        if isinstance(self.partner, ModelAdapter):
            return fork(self.partner)
        if self.partner is not None and not isinstance(self.partner, str):
            return CallableModel(self.partner)
        connection: dict[str, Any] = self._connection
        return resolve_model(model_id, **connection, seed=options.get("seed"))

    def _get_user_model_id(self, task: Task) -> str:
        return self._model_id

    def _make_partner(
        self, task: Task, environment: Tau2Environment, seeds: SeedGenerator
    ) -> Participant:
        made: Any
        if self.partner == SCRIPTED:
            made = make_user(task, environment)
        elif isinstance(self.partner, str):
            made = make_agent(
                self.partner, task, environment, seed=seeds.derive_seed("agents/player")
            )
        elif self.role == "user":
            data = {"model_id": self._model_id, "llm_args": self._llm_args}
            [made], _ = self.setup_agents(data, environment, task, None, seeds)
        else:
            made = self.setup_user({}, environment, self._asked_task, seeds)
            Episodes.said_for_all |= self._said_not_comparable
        return cast(Participant, made)

    def make_judge(self) -> ModelAdapter:
        """Return the model that judges natural-language assertions; the original's by default."""
        # Whoever brings a partner may have no provider at all: none is asked without being named.
        if self.judge is None and self.partner is not None:
            raise NoJudgeError(
                f"the reward of task {self.task_id!r} depends on natural-language assertions, and "
                "there is no model to judge them; give judge=MODEL"
            )
        return self.judge or resolve_model(OFFICIAL_JUDGE)

    def agent_tools(self, environment: Tau2Environment) -> list[dict[str, Any]]:
        """Return the agent's tools; a caller who plays the agent has ``done`` as well."""
        tools = self._tool_definitions(environment)
        if self.role == "user" or self.mode is Mode.SOLO:
            return tools
        return tools + self.wording(environment.release).tools([DONE], SOLO)

    def user_tools(self, environment: Tau2Environment) -> list[dict[str, Any]]:
        """Return the tools that the task gives the user."""
        only = self.loaded_task[0].user_data.get("user_tools")
        return self._user_definitions(environment, environment.user_tools(only))


class Episode:
    """One simulation in which the caller plays a side; see ``Episodes.start``."""

    def __init__(
        self, episodes: Episodes, orchestrator: Orchestrator, seat: Seat, seed: int | None
    ) -> None:
        self.episodes, self.orchestrator, self.seat = episodes, orchestrator, seat
        self.environment = orchestrator.environment
        self.seed = seed

    @property
    def is_over(self) -> bool:
        return self.orchestrator.done

    # Its steps.

    def advance(self) -> None:
        """Let the other side and the tools act until it is the caller's turn, or all is over."""
        while (turn := self._partners_turn()) is not None:
            self.orchestrator.take(turn.side.reply(turn.incoming))

    async def advance_async(self) -> None:
        """Do what ``advance`` does; the event loop is free while a model answers."""
        while (turn := self._partners_turn()) is not None:
            partner: Any = turn.side
            self.orchestrator.take(await partner.reply_async(turn.incoming))

    def _partners_turn(self) -> Turn | None:
        turn = self.orchestrator.next_turn()
        return None if turn is None or turn.side is self.seat else turn

    def act(self, message: SpokenMessage) -> None:
        """Say or do what the caller's side says or does; the agent's ``done`` ends all."""
        turn = self.orchestrator.next_turn()
        if turn is None or turn.side is not self.seat:
            raise RuntimeError(
                "it is not the caller's turn, as the other side has not answered; reset the "
                "episode, or restore a snapshot"
            )
        calls = tool_calls_of(message) or ()
        if self.seat.role == "assistant" and any(call["name"] == "done" for call in calls):
            message = {**message, "content": STOP, "tool_calls": None}
        self.orchestrator.take(message)
        self.seat.recall(turn.incoming, message)

    def seen(self) -> list[Tau2Message]:
        """Return the caller's history with what waits for its answer; nothing if nothing does."""
        steps = self.orchestrator
        mine = steps.agent if steps.to_role == "agent" else steps.user
        if steps.to_role in (None, "env") or mine is not self.seat:
            return []
        return [*self.seat.messages, *steps.incoming]

    # Its end.

    @cached_property
    def case(self) -> Case:
        """The conversation as scoring reads it."""
        environment, trajectory = self.environment, self.environment.trajectory
        recording = read_recording(
            {"messages": trajectory.messages, "termination_reason": trajectory.termination_reason}
        )
        wording = self.episodes.wording(environment.release)
        return Case.of_live(environment, self.episodes.loaded_task[1], recording, wording)

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict by all checks of the task, as a run gets it."""
        found = verdict_without_judge(self.case)
        if found is not None:
            return found
        return score(self.case, EvaluationType.ALL, nl_model=self.episodes.make_judge())

    @cached_property
    def simulation(self) -> dict[str, object]:
        """The finished simulation, in the form of its release."""
        form, trajectory = self.environment.release.rules.files, self.environment.trajectory
        found = trajectory.to_simulation(
            task_id=self.episodes.task_id, seed=self.seed, reward_info=self.verdict.reward_info
        )
        messages = [form.message(each) for each in cast(list[Tau2Message], found["messages"])]
        return with_keys({**found, "messages": messages}, form.simulation)

    def twin(self) -> "Episode":
        """Return an independent episode in the same state, which continues in the same way."""
        steps, seat = copy.copy(self.orchestrator), fork(self.seat)
        sides = (steps.agent, steps.user)
        agent, user = (seat if each is self.seat else each and fork(each) for each in sides)
        steps.agent, steps.user = cast(Participant, agent), user
        steps.incoming = list(steps.incoming)
        steps.environment = self.environment.twin()
        steps.trajectory = steps.environment.trajectory
        return Episode(self.episodes, steps, seat, self.seed)


_CONTAINERS = (list, dict, set, deque, Counter)
_OWN_PARTS = (ModelAdapter, MessageAgent, ReasoningMemory)


def fork(part: PartT) -> PartT:
    """Return a copy that continues on its own: its lists and its model are its own.

    The messages in a list are shared, since none is ever changed, and so are clients of providers.
    """
    twin = copy.copy(part)
    for name, value in vars(part).items():
        if isinstance(value, _CONTAINERS):
            vars(twin)[name] = copy.copy(value)
        elif isinstance(value, Random):
            vars(twin)[name] = copy.deepcopy(value)
        elif isinstance(value, _OWN_PARTS):
            vars(twin)[name] = fork(value)
    return twin
