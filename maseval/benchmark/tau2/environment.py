"""Tau2Environment: a world with real tools, and the record of what was done in it.

After tau2-bench v0.2.0, src/tau2/environment/environment.py (MIT, Sierra Research).
"""

import copy
import inspect
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import Any

from maseval.benchmark.tau2.data_loader import load_domain_config
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.base import DB, ToolKitBase
from maseval.benchmark.tau2.domains.releases import release_of
from maseval.benchmark.tau2.formats.message import (
    Requestor,
    Tau2Message,
    Tau2ToolCall,
    ToolMessage,
    assistant_message,
    from_chat,
    user_message,
)
from maseval.benchmark.tau2.overrides import Overrides, overridden_hooks, overrides
from maseval.benchmark.tau2.perturbation import PerturbedAnswers
from maseval.benchmark.tau2.world.setting import TaskStage, beginning
from maseval.benchmark.tau2.world.state.hashing import state_hash
from maseval.benchmark.tau2.world.tasks import initial_state
from maseval.benchmark.tau2.world.trajectory import Trajectory
from maseval.benchmark.tau2.world.world import ReplayError, collides, to_json_str
from maseval.core.clock import Clock, acting_agent
from maseval.core.environment import Environment, only_one
from maseval.core.tool import describe_as

OVER = "Error: the simulation is over: its limit of {} steps is reached"
ENDED = "Error: the simulation is over: the user has ended it"
AFTER_END = "Error: the conversation is over, so this call was not made"
OUT_OF_TURN = (
    "Error: it is the customer's turn, so this call was not made; tools answer again when the "
    "customer has spoken"
)

logger = logging.getLogger(__name__)


class Tau2Environment(Environment):
    """One simulation's world, made from a task's environment data.

    ``task_data`` has ``domain`` (a name or a ``Domain``), and may have ``version``,
    ``initial_state``, ``noted_reads``, ``policy``, ``db_path``, ``solo`` and
    ``lenient_order_ids``. ``tools`` are the agent's tools: each is called like a function, returns
    the text that a model reads and never raises. Every call is recorded in ``trajectory``, so an
    agent of any framework is scored by what it did.

    A subclass may override how tools are made and called; live runs follow it, and verdicts stay
    those of the original's tools (``overrides``).
    """

    state: dict[str, Any]

    def __init__(
        self,
        task_data: dict[str, Any] | None = None,
        callbacks: Iterable[Any] | None = None,
        *,
        environment_data: dict[str, Any] | None = None,
    ) -> None:
        self.lock = threading.RLock()
        """Held by everybody who adds to the trajectory."""
        self.step_limit: int | None = None
        self._overrides: Overrides | None = None
        self.perturbed: PerturbedAnswers | None = None
        """What perturbs the answers to the agent, if anything does."""
        # Asked for here: the thread in which a framework calls a tool may have none.
        clock = Clock.here()
        self._acting = None if clock is None else clock.acting
        self._simulation = None if clock is None else clock.simulation
        self._refusal: str | None = None
        self._has_remarked = False
        self.ended_by_user = False
        """True if the user ended the simulation in the midst of the agent's turn."""
        super().__init__(task_data, callbacks, environment_data=environment_data)

    def setup_state(
        self,
        task_data: dict[str, Any] | None = None,
        *,
        environment_data: dict[str, Any] | None = None,
    ) -> dict[str, object]:
        """Build the world and bring it to where the task begins."""
        task_data = only_one(task_data, environment_data)
        named = task_data.get("domain", "retail")
        self.release = release_of(named, task_data.get("version"))
        domain = self.release.domain(named)
        if task_data.get("lenient_order_ids"):
            domain = domain.lenient
        # What is missing on this machine is to be told before anybody has said a word.
        domain.require_ready()
        db_path = task_data.get("db_path")
        self.folder = _parent(load_domain_config(domain)["db_path"] if db_path is None else db_path)
        self.solo = bool(task_data.get("solo", False))
        self.initial_state: Mapping[str, Any] = task_data.get("initial_state") or {}
        start = initial_state(self.initial_state, task_data.get("noted_reads", ()))
        self._stage = TaskStage(
            domain, self.folder, start, self.solo, rules=self.release.rules.replay
        )
        history = start.history
        with _OriginalErrors():
            self.world = self._stage.world_after(history)
        policy = task_data.get("policy")
        # Tasks carry the policy of an agent with a user; one that works alone has another.
        if policy is None or self.solo:
            policy = domain.policy(self.folder, solo=self.solo)
        initial_db_hash = self.get_initial_db_hash()
        self.trajectory = Trajectory(list(history))  # last: the simulation's time begins here
        return {
            "db": self.world.tools.db,
            "toolkit": self.world.tools,
            "user_toolkit": self.world.user_tools,
            "policy": policy,
            "initial_db_hash": initial_db_hash,
        }

    def twin(self) -> "Tau2Environment":
        """Return an environment that is in the same state, and independent from now on."""
        twin = copy.copy(self)
        twin.lock = threading.RLock()
        twin.world, twin.trajectory = self.world.twin(), self.trajectory.twin()
        twin.perturbed = copy.copy(self.perturbed)
        world = twin.world
        twin.state = {
            **self.state,
            **{"db": world.tools.db, "toolkit": world.tools, "user_toolkit": world.user_tools},
        }
        twin._equip()  # tools call into the environment they were made for
        return twin

    @property
    def domain(self) -> str:
        return self.world.domain.name

    @property
    def db(self) -> DB:
        """The company's database; a record that is taken from it sees all that tools change."""
        db: DB = self.world.tools.db
        return db.own_rows()

    @property
    def toolkit(self) -> ToolKitBase[Any]:
        """The agent's tools and their database."""
        return self.world.tools

    @property
    def user_toolkit(self) -> ToolKitBase[Any] | None:
        """The customer's tools, where the customer has any."""
        return self.world.user_tools

    @property
    def policy(self) -> str:
        """The policy that the agent must obey."""
        return str(self.state["policy"])

    # Tools as functions, for agents and users of any framework.

    @cached_property
    def tools(self) -> dict[str, Callable[..., str]]:  # type: ignore[override]
        """The agent's tools by name, made for the first who asks: a replay never does."""
        return self.create_tools()

    def _equip(self) -> None:
        vars(self).pop("tools", None)  # a twin's would call into the other environment
        hooks = overridden_hooks(type(self))
        if not hooks:
            return
        original = self._stage.world_after(self.trajectory.messages)
        self._overrides = overrides = Overrides(hooks, self, original)
        self.tools = self.create_tools()
        if "create_tools" in hooks:
            overrides.tools["assistant"] = self.tools
            self.tools = overrides.recording_tools("assistant", self.toolkit, self._recording_tool)
        if "create_user_tools" in hooks:
            overrides.tools["user"] = self.create_user_tools()
        if "sync_tools" in hooks:
            self.sync_tools()

    def create_tools(self) -> dict[str, Callable[..., str]]:
        """Return the agent's tools by name; in solo mode the customer's as well."""
        tools = self._recording_tools(self.toolkit, "assistant")
        if self.solo and self.user_toolkit is not None:
            tools |= self._recording_tools(self.user_toolkit, "assistant")
        return tools

    def create_user_tools(self, only: Sequence[str] | None = None) -> dict[str, Callable[..., str]]:
        """Return the customer's tools, or those that a task names; an unknown name means none."""
        if self.user_toolkit is None or self.solo:
            return {}
        tools = self._recording_tools(self.user_toolkit, "user")
        if only is None:
            return tools
        return {name: tools[name] for name in tools if name in only} if {*only} <= {*tools} else {}

    def user_tools(self, only: Sequence[str] | None = None) -> dict[str, Callable[..., str]]:
        """Return what ``create_user_tools`` does; overridden ones record their calls as well."""
        if self._overrides is None or "user" not in self._overrides.tools:
            return self.create_user_tools(only)
        tools = self._overrides.recording_tools("user", self.user_toolkit, self._recording_tool)
        return tools if only is None else {name: tools[name] for name in only if name in tools}

    def user_definitions(self, tools: Iterable[str]) -> list[dict[str, Any]] | None:
        """Return the definitions of these tools of the customer; None if there are none."""
        kit, wanted = self.user_toolkit, set(tools)
        shown = kit.definitions() if kit else ()
        return [each for each in shown if each["function"]["name"] in wanted] or None

    def offered_definitions(
        self, definitions: list[dict[str, Any]], side: Requestor = "assistant"
    ) -> list[dict[str, Any]]:
        """Return the original's definitions, or those of the tools that a subclass offers."""
        return self._overrides.definitions(definitions, side) if self._overrides else definitions

    def _recording_tools(
        self, toolkit: ToolKitBase[Any], requestor: Requestor
    ) -> dict[str, Callable[..., str]]:
        return {
            name: self._recording_tool(name, method, requestor)
            for name, method in toolkit.tools.items()
        }

    def _recording_tool(
        self, name: str, method: Callable[..., object], requestor: Requestor
    ) -> Callable[..., str]:
        def tool(*args: object, **kwargs: object) -> str:
            return self.call_tool(name, _by_name(method, args) | kwargs, requestor)

        # What ``functools.wraps`` does, in a third of its time: this is done for every tool of
        # every environment.
        tool.__name__, tool.__qualname__ = name, getattr(method, "__qualname__", name)
        tool.__doc__, tool.__module__ = method.__doc__, method.__module__
        vars(tool).update(getattr(method, "__dict__", {}), __wrapped__=method)
        if self._overrides is not None:
            self._overrides.plain.add(tool)
        return tool

    def describe_tools(self, definitions: Iterable[Mapping[str, Any]]) -> None:
        """Let the agent's tools describe themselves to any framework as ``definitions`` do."""
        for definition in definitions:
            tool = self.tools.get(definition["function"]["name"])
            if isinstance(tool, FunctionType):  # and not left out or replaced by a subclass
                describe_as(tool, definition)

    def call_tool(
        self, name: str, arguments: Mapping[str, object], requestor: Requestor = "assistant"
    ) -> str:
        """Make a call on one side's behalf, record call and answer, return the answer's text."""
        with self.lock:
            call: Tau2ToolCall = {
                "id": "",
                "name": name,
                "arguments": dict(arguments),
                "requestor": requestor,
            }
            if self._overrides is not None and self._overrides.is_answering:
                return self.respond(call)["content"] or ""
            if why := self.objection_to(requestor):
                return why
            call["id"] = self.trajectory.next_call_id()
            make = assistant_message if requestor == "assistant" else user_message
            agent = acting_agent(self._acting) if requestor == "assistant" else None
            self.trajectory.add(make(None, tool_calls=[call], cost=0.0), agent)
            answer = self.respond(call)
            self.trajectory.add_answers([answer])
            return answer["content"] or ""

    @property
    def is_over(self) -> str | None:
        """The error that a side reads if it continues after the end; None before the end."""
        limit = self.step_limit
        if limit is not None and self.trajectory.steps >= limit:
            return OVER.format(limit)
        if self.trajectory.termination_reason is not None:
            return AFTER_END
        return ENDED if self.ended_by_user else None

    def refuse_agent(self, why: str | None) -> None:
        """Answer the agent's calls with this error from now on; None lets it act again.

        A call that is being made is completed first. It holds for ``tools``, whoever offers them.
        """
        with self.lock:
            self._refusal = why

    def objection_to(self, side: Requestor) -> str | None:
        """Return the error that a side reads if it acts now; None if it may."""
        why = self.is_over or (self._refusal if side == "assistant" else None)
        # An agent hears of its limit, or of a user who left, in its own turn as well.
        if why and self._refusal and not self._has_remarked:
            self._has_remarked = True
            task, trial = self._simulation or ("unknown", 0)
            who = "agent" if side == "assistant" else "user"
            logger.warning(
                "task %s, trial %s: the %s called a tool out of turn, which had no effect",
                task,
                trial,
                who,
            )
        return why

    # The same calls as the original has them; nothing of these is recorded.

    def respond(self, call: Tau2ToolCall) -> ToolMessage:
        """Return the tool message that answers a call, in live runs and in replay alike.

        A call may lack what v0.2.0 gives a default: its ``id`` and its ``requestor``.
        """
        responder = self._overrides or self.world
        whole: Tau2ToolCall = {"id": "", "requestor": "assistant", **call}
        if self.perturbed is not None:
            return self.perturbed.respond(whole, responder.respond)
        return responder.respond(whole)

    def get_response(
        self,
        tool_name: str,
        requestor: Requestor = "assistant",
        tool_call_id: str = "",
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Call ``respond``, as which a tool with a parameter of such a name must be called."""
        answer = self.respond(
            {"id": tool_call_id, "name": tool_name, "arguments": kwargs, "requestor": requestor}
        )
        shown = {key: answer[key] for key in ("id", "content", "requestor", "error")}
        return {**shown, "tool_call_id": tool_call_id}

    def make_tool_call(
        self, tool_name: str, requestor: Requestor = "assistant", **kwargs: Any
    ) -> Any:
        """Return a tool's raw result; errors are raised, and nothing is synchronised."""
        call = self._overrides.reach if self._overrides else self.world.call
        return call(tool_name, requestor, kwargs)

    def make_user_tool_call(self, tool_name: str, **kwargs: Any) -> Any:
        """Make a tool call for the customer; see ``make_tool_call``."""
        if collides(kwargs):
            return self.world.call(tool_name, "user", kwargs)
        return self.make_tool_call(tool_name, requestor="user", **kwargs)

    def run_env_function_call(self, env_function_call: Mapping[str, object]) -> Any:
        """Call what a task file asks for, and synchronise."""
        return self.world.run_function(env_function_call)

    def run_env_assertion(
        self, assertion: Mapping[str, object], raise_assertion_error: bool = True
    ) -> bool:
        """Return True if a task file's assertion holds."""
        met = self.world.check(assertion)
        if raise_assertion_error and not met:
            raise AssertionError(assertion.get("message") or f"Assertion failed: {assertion}")
        return met

    def set_state(
        self,
        initialization_data: Mapping[str, object] | None,
        initialization_actions: Iterable[Mapping[str, object]] | None,
        message_history: Sequence[Tau2Message],
    ) -> None:
        """Apply initial values and actions, and replay the calls of a conversation.

        Messages may be in v0.2.0's form or in OpenAI's. What does not come out as recorded is a
        ``ReplayError``, unless the original raises something other than a ``ValueError``.
        """
        history = from_chat(message_history)
        with _OriginalErrors():
            self.world.set_state(initialization_data, initialization_actions, history)

    def sync_tools(self) -> None:
        """Let each side's database see what the other's says."""
        self.world.sync()

    def settle(self) -> None:
        """Synchronise if anything was called since it was done last."""
        (self._overrides or self.world).settle()

    @classmethod
    def to_json_str(cls, resp: object) -> str:
        """Return a tool's result as the text a model reads."""
        return to_json_str(resp)

    def get_db_hash(self) -> str:
        """Return the hash of the company's database as it is now."""
        return self.world.get_db_hash()

    def get_user_db_hash(self) -> str | None:
        """Return the hash of the customer's database as it is now; None where there is none."""
        return self.world.get_user_db_hash()

    def get_initial_db_hash(self) -> str:
        """Return the hash of the company's database when the simulation began."""
        return beginning(self._stage).hashes[0]

    def _final_hashes(self) -> tuple[str, str | None]:
        if any(overrides(type(self), name) for name in ("get_db_hash", "get_user_db_hash")):
            return self.get_db_hash(), self.get_user_db_hash()
        # A hash reads the whole database, so what was never touched is not hashed again.
        start, state = beginning(self._stage), self.world.state()
        company, customer = start.hashes
        return (
            company if state.company == start.state.company else state_hash(state.company),
            customer
            if state.customer in (None, start.state.customer)
            else state_hash(state.customer),
        )

    def gather_traces(self) -> dict[str, Any]:
        initial, final = self.get_initial_db_hash(), self._final_hashes()
        return {
            **super().gather_traces(),
            "domain": self.domain,
            "initial_db_hash": initial,
            "final_db_hash": final[0],
            "final_user_db_hash": final[1],
            "db_changed": initial != final[0],
            "simulation": self.trajectory.to_simulation(),
        }

    def gather_config(self) -> dict[str, object]:
        config = {
            **super().gather_config(),
            "domain": self.domain,
            "version": self.release.name,
            "solo": self.solo,
            "policy_sha256": _sha256(self.policy),
            "tool_types": tool_types(self.world.domain),
            "toolkit_stats": self.toolkit.get_statistics(),
            "db_stats": db_statistics(self.world.domain, self.folder),
        }
        if self._overrides is not None:
            config["overridden_hooks"] = self._overrides.hooks
        if self.user_toolkit:
            config["user_toolkit_stats"] = self.user_toolkit.get_statistics()
        return config


def _by_name(method: Callable[..., object], args: Sequence[object]) -> dict[str, object]:
    """Return positional arguments by name; one too many gets a name that no tool knows."""
    names = list(inspect.signature(method).parameters) if args else []
    names += [f"argument_{number}" for number in range(len(names) + 1, len(args) + 1)]
    return dict(zip(names, args, strict=False))


@lru_cache(maxsize=64)
def _sha256(text: str) -> str:
    return sha256(text.encode()).hexdigest()


@lru_cache(maxsize=64)
def _parent(path: str | Path) -> Path:
    return Path(path).parent


class _OriginalErrors:
    """Raise what the original raises, where that is not a ValueError."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ReplayError) and not isinstance(error.original, ValueError):
            raise error.original from error


def get_environment_constructor(
    environment_data: dict[str, Any] | None = None, *, task_data: dict[str, Any] | None = None
) -> Callable[..., Tau2Environment]:
    """Return a function that makes fresh environments for a task: ``make(solo_mode=False)``."""
    data = only_one(task_data, environment_data)

    def make(solo_mode: bool = False) -> Tau2Environment:
        return Tau2Environment({**data, "solo": solo_mode})

    return make


@cache
def db_statistics(domain: Domain, folder: Path) -> dict[str, int]:
    """Return the numbers of records in the company's database as it was loaded."""
    return domain.db.load(folder / domain.db_file).get_statistics()


@cache
def tool_types(domain: Domain) -> dict[str, str]:
    """Return the type of each tool, on both sides; of equal names the user's counts."""
    return {
        (name := definition["function"]["name"]): kit.tool_type(name).value
        for kit in (domain.toolkit, domain.user_toolkit)
        if kit is not None
        for definition in kit.definitions()
    }
