"""The setting of a task: a domain over its files, as the task sets it up, and the states after it.

Every world in which a task begins is made here: for a run, for replay, for the reference solution
and for the audit. All of these begin in the same state. Loading the databases, taking a task's
actions and synchronising cost more than a replay does, so this is done once (``TaskStage``) and
copied from then on; a copy costs next to nothing, because what nobody has changed yet is shared.

Conversations of one task ask much the same. What a tool answers, and what it changes, depends on
nothing but the calls before it that changed something. So a task has a tree of states
(``Retracing``): calls that change nothing stay at one, each of the others leads to its own, and a
known call is looked up and not made again. A world is made, and brought to where the conversation
is, when a call is met that was not made there yet. What was found out about a state is kept with
it. This is for tools that are known to be predictable; in every other conversation each call is
made.

A reference solution is carried out in one of two ways. The evaluator's way calls each tool
directly: nothing is synchronised between the two sides, and an action that raises is passed over.
Where it leads is the *gold state*, which depends on nothing but the task and the data, so each is
worked out once and kept. A run's way makes the same calls as an agent would, with both sides
synchronised after each; what it fails at, nobody can earn.

After tau2-bench v0.2.0, src/tau2/evaluator/evaluator_env.py (MIT, Sierra Research).
"""

import marshal
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.base import ToolKitBase, ToolType
from maseval.benchmark.tau2.formats.message import Tau2Message, Tau2ToolCall, ToolAnswer
from maseval.benchmark.tau2.versions import RULES_0_2_0, ReplayRules, RuleSet
from maseval.benchmark.tau2.world.state.copying import once
from maseval.benchmark.tau2.world.tasks import EnvAssertion, InitialState, RewardType, TaskSpec
from maseval.benchmark.tau2.world.world import World, WorldState, refuse_user_messages, replay
from maseval.data.folder import content_hash

T = TypeVar("T")


@dataclass(eq=False)
class TaskStage:
    """A domain over the files in a folder, as a task sets it up; it can be looked up in a cache.

    It holds the domain, so that no other can have the same id, and the hashes of its ``files``.
    """

    domain: Domain
    folder: Path
    start: InitialState
    solo: bool = False
    reference: bool = False
    rules: ReplayRules = RULES_0_2_0.replay

    def __post_init__(self) -> None:
        self.files = file_hashes(self.domain, self.folder)
        self._key = (
            id(self.domain),
            str(self.folder),
            self.start.key,
            self.solo,
            self.reference,
            self.rules,
            self.files,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TaskStage) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def prepare(self) -> None:
        """Set the stage, unless it is set already."""
        _stage(self)

    def world(self) -> World:
        """Return a fresh world in which the task begins."""
        staged = _stage(self)
        return self.set_up() if staged is None else staged.twin()

    def world_after(self, history: Sequence[Tau2Message]) -> World:
        """Return a fresh world after the calls of ``history``."""
        self.check_mode(history)
        world = self.world()
        world.resume(history)
        return world

    def check_mode(self, history: Sequence[Tau2Message]) -> None:
        """Refuse solo mode where there is none, and in it messages of a user."""
        self.domain.check_solo(self.solo)
        if self.solo:
            refuse_user_messages(history)

    def set_up(self) -> World:
        """Make the world from its files, however long that takes."""
        world = World(self.domain, self.folder, solo=self.solo, rules=self.rules)
        for toolkit in (world.tools, world.user_tools) if self.reference else ():
            if toolkit is not None:
                toolkit.as_reference()
        world.tools.note_reads(self.start.noted_reads or ())
        world.initialize(self.start.initialization_data, self.start.initialization_actions)
        return world


def file_hashes(domain: Domain, folder: Path) -> tuple[str, ...]:
    """Return the SHA-256 of each database, which tells an edited one from the one read before."""
    files = (domain.db_file, domain.user_db_file)
    return tuple(content_hash(f"{folder}/{name}") for name in files if name)


@once(maxsize=4096)
def _stage(place: TaskStage) -> World | None:
    """Return the world to make copies of; None if a toolkit cannot be copied."""
    world = place.set_up()
    try:
        world.share_rows()
        world.twin()
    except Exception:  # a toolkit of somebody's own, whose values may refuse in any way
        return None
    return world


class Setting(NamedTuple):
    """A task, the domain it belongs to, the folder of that domain's files, and the rules."""

    domain: Domain
    folder: Path
    task: TaskSpec
    solo: bool = False
    rules: RuleSet = RULES_0_2_0

    def stage(self, *, reference: bool = False) -> TaskStage:
        """Return the stage on which the task begins.

        A ``reference`` world makes up other ids than the world of a conversation does.
        """
        start, rules = self.task.start, self.rules.replay
        return TaskStage(self.domain, self.folder, start, self.solo, reference, rules)

    def world(self, history: Sequence[Tau2Message] = ()) -> World:
        """Return a fresh world in which the task begins, after the calls of ``history``."""
        return self.stage().world_after(history)

    def may_write(self, call: Tau2ToolCall) -> bool:
        """Return True if a call means a tool of a kind that changes the world."""
        ours, theirs = self.domain.toolkit, self.domain.user_toolkit
        name = call["name"]
        if call["requestor"] == "user":
            return _writes(theirs, name)
        return _writes(ours, name) or (self.solo and _writes(theirs, name))


def _writes(kit: type[ToolKitBase[Any]] | None, name: str) -> bool:
    return kit is not None and kit.has_tool(name) and kit.tool_type(name) is ToolType.WRITE


class Beginning(NamedTuple):
    """The state in which a simulation begins, and the hashes of both sides' databases."""

    state: WorldState
    hashes: tuple[str, str | None]


@once(maxsize=4096)
def beginning(place: TaskStage) -> Beginning:
    """Return the initial state; it is cached, because a hash reads a whole database."""
    world = place.world()
    world.resume(place.start.history)
    return Beginning(world.state(), (world.get_db_hash(), world.get_user_db_hash()))


TASKS = 300
"""So many tasks have a tree at a time."""
_CHARACTERS = 200_000  # of calls and answers in one

# Equal calls give equal bytes only if no part of one points at another.
_NO_REFERENCES = 2


class KnownCall(NamedTuple):
    """The answer to a call, and the state after it."""

    content: str
    error: bool
    after: "KnownState"


class KnownState:
    """A state of the world: that in which a task begins, or one that calls have changed it to.

    ``found`` is what looks at the world showed there, by the names of these looks.
    """

    __slots__ = ("calls", "found")

    def __init__(self) -> None:
        self.calls: dict[bytes, KnownCall] = {}
        self.found: dict[str, Any] = {}


class KnownStates:
    """The states of a task; ``room`` is how many more characters can be kept."""

    def __init__(self, room: int | None = None) -> None:
        self.start = KnownState()
        self.room = _CHARACTERS if room is None else room


@once(maxsize=TASKS)
def _states_of(stage: TaskStage, content: str) -> KnownStates:
    stage.prepare()  # a task that cannot be set up fails here, before any message is looked at
    return KnownStates()


class Retracing:
    """The replay of one conversation, along known steps as far as there are any."""

    def __init__(self, stage: TaskStage, states: KnownStates) -> None:
        self._stage = stage
        self._states = states
        self._world: World | None = None
        self._to_be_made: list[Tau2ToolCall] = []
        self.state = states.start

    def answer(self, call: Tau2ToolCall) -> ToolAnswer:
        """Answer a call as the world would."""
        key = _key(call)
        known = self.state.calls.get(key)
        if known is None:
            return self._make(call, key)
        # Calls that changed nothing need not be made again when a world is asked for.
        if known.after is not self.state:
            self._to_be_made.append(call)
            self.state = known.after
        return known.content, known.error

    def world(self) -> World:
        """Return the world where the conversation is now."""
        world = self._world
        if world is None:
            world = self._world = self._stage.world()
        for call in self._to_be_made:
            world.make(call)
        self._to_be_made.clear()
        return world

    def is_replayed(self, call: Tau2ToolCall) -> bool:
        """Return True if the rules have a recorded call made again."""
        stage = self._stage
        return not stage.rules.mutating_only or stage.domain.mutates(call["name"])

    def find(self, name: str, look: Callable[[World], T]) -> T:
        """Return what ``look`` finds in the world now; what it found in this state is known.

        A look with this name must find the same in the same state of a task.
        """
        found = self.state.found
        if name not in found:
            # Threads that look at the same time must go on with one and the same thing.
            found.setdefault(name, look(self.world()))
        return cast(T, found[name])

    def _make(self, call: Tau2ToolCall, key: bytes) -> ToolAnswer:
        world, name = self.world(), call["name"]
        settled = world.is_settled
        answer = content, error = world.answer(call)
        # What raised is not settled: the next call synchronises both sides, whatever it does.
        theirs = world.user_tools
        mutates = world.tools.mutates(name) or (theirs is not None and theirs.mutates(name))
        before, reads = self.state, self._stage.domain.is_predictable and not mutates
        if not (reads and settled and world.is_settled):
            self.state = KnownState()
        size = len(key) + len(content)
        # A tree that is full keeps what it knows, and further calls are made each time.
        if key and size <= self._states.room:
            self._states.room -= size
            before.calls[key] = KnownCall(content, error, self.state)
        return answer


def _key(call: Tau2ToolCall) -> bytes:
    """Return bytes that are equal for equal calls only; none for values that no file can hold."""
    try:
        return marshal.dumps((call["name"], call["requestor"], call["arguments"]), _NO_REFERENCES)
    except ValueError:
        return b""


def retrace(stage: TaskStage, task: TaskSpec) -> Retracing:
    """Begin the replay of a conversation, in the steps of earlier ones where tools allow that."""
    if stage.domain.is_predictable:
        return Retracing(stage, _states_of(stage, task.content))
    stage.prepare()
    return Retracing(stage, KnownStates(room=0))


def replay_along(stage: TaskStage, task: TaskSpec, messages: Sequence[Tau2Message]) -> Retracing:
    stage.check_mode(messages)
    retracing, rules = retrace(stage, task), stage.rules
    chosen = retracing.is_replayed if rules.mutating_only else None
    replay(retracing.answer, messages, chosen, strict=rules.strict)
    return retracing


def look_at_end(
    stage: TaskStage,
    task: TaskSpec,
    messages: Sequence[Tau2Message],
    look: Callable[[World], T],
) -> T:
    """Replay a conversation and return what ``look``, the same for all of a task, finds at its end.

    Where a conversation of the task has ended before in the same state, that is known already.
    """

    def look_when_settled(world: World) -> T:
        world.settle()
        return look(world)

    return replay_along(stage, task, messages).find("end", look_when_settled)


_KEPT = 4096


class GoldFault(NamedTuple):
    """An action of a reference solution that raised; the original passes over it in silence."""

    action_id: str
    name: str
    error_type: str
    error: str


@dataclass(frozen=True)
class GoldState:
    """The end state of a reference solution, and the errors on the way.

    ``world`` is there to be compared with, and must not be changed.
    """

    errors: tuple[GoldFault, ...]
    world: World

    @cached_property
    def state(self) -> WorldState:
        return self.world.state()


@dataclass(frozen=True)
class GoldKey:
    """A key of caches about reference solutions.

    It holds the domain, so that no other can have the same id.
    """

    key: Hashable
    setting: Setting = field(compare=False)


def gold_state(setting: Setting) -> GoldState:
    """Return the end state of the reference solution, carried out in the evaluator's way."""
    return _gold_state(gold_key(setting, setting.task.gold_key))


def gold_key(setting: Setting, task: str) -> GoldKey:
    """Return the key of what depends on a task, which ``task`` tells from others, and its data."""
    domain, folder = setting.domain, setting.folder
    hashes = file_hashes(domain, folder)
    return GoldKey((id(domain), folder, hashes, setting.rules.replay, task), setting)


@once(maxsize=_KEPT)
def _gold_state(key: GoldKey) -> GoldState:
    world, errors = evaluator_world(key.setting), []
    for action in key.setting.task.actions:
        error = call_as_evaluator(world, action.call())
        if error is not None:
            errors.append(
                GoldFault(action.action_id, action.name, type(error).__name__, str(error))
            )
    return GoldState(tuple(errors), world)


def evaluator_world(setting: Setting) -> World:
    """Return a world in which the evaluator begins; the original knows no solo mode here."""
    world = _copied_world(setting) or setting._replace(solo=False).stage(reference=True).set_up()
    world.resume(setting.task.start.history)
    return world


def _copied_world(setting: Setting) -> World | None:
    """Return a copy of what a conversation begins with; None if it cannot serve a reference.

    What the two have in common is then one, and found equal without a look at it.
    """
    try:
        world = setting.stage().world()
    except ValueError:  # solo mode, where there is none
        return None
    world.solo = False
    kits = (world.tools, world.user_tools)
    return world if all(kit is None or kit.as_reference() is True for kit in kits) else None


def call_as_evaluator(world: World, call: Tau2ToolCall) -> Exception | None:
    """Make one call in the evaluator's way; return the error that it raised, if any."""
    try:
        world.call(call["name"], call["requestor"], call["arguments"])
    except Exception as error:  # a tool called on a task's behalf: its errors are findings
        return error
    return None


def world_after_reference(setting: Setting) -> World:
    """Return the world after both sides carried out the reference solution in a run's way."""
    world = setting._replace(solo=False).world(setting.task.start.history)
    for action in setting.task.actions:
        world.make(action.call())
    return world


class Shortfall(NamedTuple):
    """The checks that a reference solution fails when it is carried out in a run's way.

    ``error`` is what an assertion raised; the assertions after it were not checked.
    """

    state: bool = False
    assertions: tuple[EnvAssertion, ...] = ()
    error: str | None = None

    @property
    def kinds(self) -> tuple[RewardType, ...]:
        unmet = bool(self.assertions) or self.error is not None
        failed = {RewardType.DB: self.state, RewardType.ENV_ASSERTION: unmet}
        return tuple(kind for kind, missed in failed.items() if missed)


def shortfall(setting: Setting) -> Shortfall:
    """Return the checks that the reference solution fails, whether they count or not."""
    return _shortfall(gold_key(setting, setting.task.content))


@once(maxsize=_KEPT)
def _shortfall(key: GoldKey) -> Shortfall:
    setting, criteria = key.setting, key.setting.task.evaluation_criteria
    if criteria is None or not criteria.look_at_the_world:
        return Shortfall()
    world = world_after_reference(setting)
    elsewhere = not world.same_state(gold_state(setting).world)
    unmet = []
    try:
        for assertion in criteria.env_assertions or ():
            if not world.check(assertion.model_dump()):
                unmet.append(assertion)
    except Exception as error:  # a task's function in a world it did not foresee
        return Shortfall(elsewhere, tuple(unmet), f"{type(error).__name__}: {error}")
    return Shortfall(elsewhere, tuple(unmet))
