"""tau2 as Gymnasium environments, for training: the caller plays the agent, or the user.

Names, arguments, texts and rewards are those of the module ``tau2.gym`` of tau2-bench v1.0.1, so
that code written for it changes its import line; ``Ours`` are the arguments it does not have. An
environment runs in the thread that calls it and leaves nothing behind when it is dropped.

An action is a text to the other side, or one tool call: as JSON, or as one would write it in
Python. What a side sees is one line for each message.

After tau2-bench v1.0.1, src/tau2/gym/ (MIT, Sierra Research).
"""

import ast
import json
import re
import warnings
from collections.abc import Collection, Iterable, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar, TypedDict, Unpack

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.episode import Episode, Episodes, Partner
from maseval.benchmark.tau2.formats.message import (
    Requestor,
    SpokenMessage,
    Tau2Message,
    Tau2ToolCall,
    spoken_message,
    tool_calls_of,
)
from maseval.benchmark.tau2.formats.simulation import RewardInfo, TerminationReason
from maseval.benchmark.tau2.review.causes.failure import user_findings
from maseval.benchmark.tau2.review.causes.steps import beside_policy, explain_with_cause
from maseval.benchmark.tau2.review.errata import errata_for
from maseval.benchmark.tau2.review.explain.scored_case import ScoredCase
from maseval.benchmark.tau2.review.policy.checking import check_case
from maseval.core.exceptions import ConfigurationError
from maseval.core.model import ModelAdapter
from maseval.interface.gymnasium import TextEnv, register_environments

AGENT_ENV, USER_ENV = "tau-bench-v0", "tau-bench-user-v0"
VERSION = "1.0.1"

Info = dict[str, Any]
Step = tuple[str, float, bool, bool, Info]


def register_gym_agent() -> None:
    """Make both environments known to ``gymnasium.make``."""
    register_environments(
        {AGENT_ENV: f"{__name__}:AgentGymEnv", USER_ENV: f"{__name__}:UserGymEnv"}
    )


class Ours(TypedDict, total=False):
    """The arguments that the original does not have.

    ``data_version`` is the release whose rules, tools and tasks are used, 1.0.1 unless given.
    ``judge`` is a model for tasks whose reward depends on natural-language assertions. With
    ``standard_truncation``, reaching ``max_steps`` truncates instead of terminating. With
    ``findings``, the ``info`` of the end has the breaches of policy and all findings. ``shaped_by``
    names checks (``SHAPING_CHECKS``): the last reward is then the mean of the share of each that
    is met; the official one is in ``info`` as ``official_reward``.
    """

    data_version: str
    judge: ModelAdapter | None
    standard_truncation: bool
    findings: bool
    shaped_by: Collection[str]


class _Tau2Env(TextEnv):
    """The common part of both environments; ``ROLE`` is the caller's side."""

    ROLE: ClassVar[Requestor]

    def __init__(self, task: tuple[Any, ...], all_messages: bool, ours: Ours) -> None:
        super().__init__()
        make: Any = Episodes
        self.episodes: Episodes = make(*task, ours.get("data_version", VERSION), ours.get("judge"))
        self.all_messages_as_observation = all_messages
        self.standard_truncation = ours.get("standard_truncation", False)
        self.findings = ours.get("findings", False)
        self.shaped_by = tuple(ours.get("shaped_by", ()))
        for name in {*self.shaped_by} - SHAPING_CHECKS.keys():
            raise ConfigurationError(
                f"shaped_by has {name!r}; choose among: {', '.join(SHAPING_CHECKS)}"
            )
        self.episode: Episode | None = None
        self._task_info: Info = {}
        self._finished: tuple[Episode, str] | None = None

    # Steps.

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, Info]:
        """Start a new simulation; return when it is the caller's turn for the first time."""
        episode = self._begin(seed)
        episode.advance()
        return self._opening(episode)

    async def reset_async(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, Info]:
        """Do what ``reset`` does; the event loop is free while a model answers."""
        episode = self._begin(seed)
        await episode.advance_async()
        return self._opening(episode)

    def _begin(self, seed: int | None) -> Episode:
        super().reset(seed=seed)
        self.episode = self.episodes.start(seed)
        return self.episode

    def step(self, action: str) -> Step:
        """Say or do something; return when it is the caller's turn again, or at the end."""
        episode = self._begun_episode()
        if (answer := self._act(episode, action)) is not None:
            return answer
        episode.advance()
        return self._outcome(episode)

    async def step_async(self, action: str) -> Step:
        """Do what ``step`` does; the event loop is free while a model answers."""
        episode = self._begun_episode()
        if (answer := self._act(episode, action)) is not None:
            return answer
        await episode.advance_async()
        return self._outcome(episode)

    def _begun_episode(self) -> Episode:
        if self.episode is None:
            raise RuntimeError("there is no episode yet; call reset() first")
        return self.episode

    def _act(self, episode: Episode, action: str) -> Step | None:
        """Act, unless all is over or nothing was said: then return what the caller gets."""
        if not isinstance(action, str):
            raise TypeError(f"an action is a text, not {action!r}")
        if episode.is_over:
            return "", 0.0, *self._flags(episode), self._info(episode)
        try:
            message = parse_action(action, self.ROLE)
        except ValueError as error:
            return f"Invalid action with error: {error}", 0.0, False, False, self._info(episode)
        episode.act(message)
        return None

    def _opening(self, episode: Episode) -> tuple[str, Info]:
        return "" if episode.is_over else self._observation(episode), self._info(episode)

    def _observation(self, episode: Episode) -> str:
        seen = episode.seen()
        return format_messages(seen if self.all_messages_as_observation else self._latest(seen))

    def _latest(self, seen: list[Tau2Message]) -> list[Tau2Message]:
        """Return what came after the caller's own last message."""
        for index in range(len(seen) - 1, -1, -1):
            if seen[index]["role"] == self.ROLE:
                return seen[index + 1 :]
        return seen

    def _flags(self, episode: Episode) -> tuple[bool, bool]:
        """Return whether the simulation was terminated, and whether it was truncated."""
        reason = episode.environment.trajectory.termination_reason
        truncated = self.standard_truncation and reason == TerminationReason.MAX_STEPS
        return episode.is_over and not truncated, truncated

    def _outcome(self, episode: Episode) -> Step:
        observation, info = self._observation(episode), self._info(episode)
        if not episode.is_over:
            # The key is in every step's info, so that code may read it without asking whether it is
            # there.
            return observation, 0.0, False, False, {**info, "reward_info": _NO_VERDICT}
        verdict = episode.verdict.reward_info
        info["reward_info"] = json.dumps(verdict, default=str)
        reward = verdict["reward"]
        if self.shaped_by:
            # A conversation that was cut off earns nothing, whatever it had achieved by then.
            ended = episode.case.recording.ended_by_choice
            shares = {name: ended * _share_met(verdict, name) for name in self.shaped_by}
            info |= {"official_reward": reward, "shaped_by": shares}
            reward = sum(shares.values()) / len(shares)
        if self.findings:
            info |= _findings(episode)
        return observation, reward, *self._flags(episode), info

    def _info(self, episode: Episode) -> Info:
        self._task_info = self._task_info or self._describe_task(episode)
        simulation = "{}"
        if episode.is_over:
            # Every step after the end shows the simulation again.
            if self._finished is None or self._finished[0] is not episode:
                self._finished = episode, json.dumps(episode.simulation, default=str)
            simulation = self._finished[1]
        return {**self._task_info, "simulation_run": simulation}

    def _describe_task(self, episode: Episode) -> Info:
        """Return what ``info`` says of the task, which is the same in every step."""
        environment, (_, known) = episode.environment, self.episodes.loaded_task
        tools = {"tools": self.episodes.agent_tools(environment)}
        if self.ROLE == "user":
            own = self.episodes.user_tools(environment)
            tools = {"agent_tools": tools["tools"], "user_tools": own}
        # What the original has as objects is asked by attributes.
        task = json.loads(json.dumps(known.raw), object_hook=lambda each: SimpleNamespace(**each))
        infos = {
            name: [SimpleNamespace(name=one["function"]["name"], openai_schema=one) for one in part]
            for name, part in tools.items()
        }
        return {
            "task": task,
            **infos,
            "policy": environment.policy,
        }

    # States.

    def snapshot(self) -> Episode:
        """Return the state of the episode, for ``restore``; it takes no part in what follows."""
        return self._begun_episode().twin()

    def restore(self, snapshot: Episode) -> None:
        """Continue from a state, as often as wanted, in any environment of the same task."""
        task_id = snapshot.episodes.task_id
        if task_id != self.episodes.task_id or snapshot.seat.role != self.ROLE:
            raise ConfigurationError(
                f"the snapshot is of task {task_id!r}, played as "
                f"{snapshot.seat.role!r}; restore it in an environment of that task and side"
            )
        self.episode = snapshot.twin()


class AgentGymEnv(_Tau2Env):
    """The caller plays the agent; a model plays the user, or nobody does in solo mode.

    Args:
        domain: ``airline``, ``retail``, ``telecom``, or a domain of your own.
        task_id: One of its tasks.
        max_steps: The limit of messages and rounds of tool calls.
        solo_mode: The agent has both sides' tools and nobody to talk to.
        user_llm: The model that plays the user, ``gpt-4.1`` unless given.
        user_llm_args: Its parameters.
        all_messages_as_observation: Show the whole history, not only what is new.
        user: Plays the user instead: ``scripted``, a ``ModelAdapter``, or a function (async if you
            like) of the messages and tools that a model would be sent.
        ours: Further arguments, see ``Ours``.
    """

    ROLE = "assistant"

    def __init__(
        self,
        domain: str | Domain,
        task_id: str,
        max_steps: int = 100,
        solo_mode: bool = False,
        user_llm: str | None = None,
        user_llm_args: Mapping[str, object] | None = None,
        all_messages_as_observation: bool = False,
        *,
        user: Partner | None = None,
        **ours: Unpack[Ours],
    ) -> None:
        task = (domain, task_id, self.ROLE, max_steps, solo_mode, user, user_llm, user_llm_args)
        super().__init__(task, all_messages_as_observation, ours)


class UserGymEnv(_Tau2Env):
    """The caller plays the user, and a model plays the agent.

    The arguments are those of ``AgentGymEnv``; ``agent`` may also be a scripted agent: ``gold``,
    ``noop`` or ``noisy``.
    """

    ROLE = "user"

    def __init__(
        self,
        domain: str | Domain,
        task_id: str,
        max_steps: int = 100,
        agent_llm: str | None = None,
        agent_llm_args: Mapping[str, object] | None = None,
        all_messages_as_observation: bool = False,
        *,
        agent: Partner | None = None,
        **ours: Unpack[Ours],
    ) -> None:
        task = (domain, task_id, self.ROLE, max_steps, False, agent, agent_llm, agent_llm_args)
        super().__init__(task, all_messages_as_observation, ours)


_NO_VERDICT = json.dumps({**dict.fromkeys(RewardInfo.__annotations__), "reward": 0.0})

SHAPING_CHECKS = {
    "DB": ("db_check", "db_match"),
    "ENV_ASSERTION": ("env_assertions", "met"),
    "ACTION": ("action_checks", "action_match"),
    "COMMUNICATE": ("communicate_checks", "met"),
}
"""The checks that can shape a reward: the part of a verdict, and what its entries say."""


def _share_met(verdict: RewardInfo, name: str) -> float:
    """Return the share of a check that is met; 1 if it looks for nothing."""
    part, met = SHAPING_CHECKS[name]
    found: Any = verdict.get(part) or ()
    checks = [found] if isinstance(found, dict) else found
    return sum(each[met] for each in checks) / len(checks) if checks else 1.0


def _findings(episode: Episode) -> Info:
    case, release = episode.case, episode.environment.release
    errata = errata_for(case.setting.domain, str(case.raw_task.get("id")), release)
    cause = explain_with_cause(ScoredCase(case, episode.verdict.reward_info, errata))[1]
    policy = check_case(case)
    cause = cause and beside_policy(cause, policy.findings)
    found = [*([cause] if cause else []), *policy.findings, *user_findings(case)]
    return {
        "breaches": [each.to_dict() for each in policy.breaches],
        "findings": [each.to_dict() for each in found],
    }


_CALL = re.compile(r"\w+\s*\(.*\)")
_SIDES = ("assistant", "user")
# An action may nest as deeply as it likes, and a number may have any length.
_UNREADABLE = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)


def parse_action(action: str, requestor: Requestor) -> SpokenMessage:
    """Return the message that an action of a side is; a blank one raises ``ValueError``.

    A call in JSON has the requestor that it names, and is the agent's if it names none.
    """
    if not action.strip():
        raise ValueError("Action cannot be empty")
    call = _call_in_json(action) or _call_in_python(action.strip(), requestor)
    if call is None:
        return spoken_message(requestor, action, cost=0.0)
    return spoken_message(requestor, None, tool_calls=[call], cost=0.0)


def _call_in_json(text: str) -> Tau2ToolCall | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match found:
        case {"name": str(name), "arguments": dict(arguments)}:
            call_id, requestor = found.get("id", ""), found.get("requestor", "assistant")
            if isinstance(call_id, str) and requestor in _SIDES:
                return {"id": call_id, "name": name, "arguments": arguments, "requestor": requestor}
    return None


def _call_in_python(text: str, requestor: Requestor) -> Tau2ToolCall | None:
    if not _CALL.fullmatch(text):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape in a text
            call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return None
        if any(each.arg is None for each in call.keywords):  # a mapping has no name
            return None
        arguments = {str(each.arg): _value(each.value) for each in call.keywords}
    except _UNREADABLE:
        return None
    return {"id": "", "name": call.func.id, "arguments": arguments, "requestor": requestor}


def _value(node: ast.expr) -> object:
    match node:
        case ast.Constant(value=value):
            return value
        # A bare word is taken for a text, as in the original.
        case ast.Name(id=name):
            return name
        case ast.List(elts=parts):
            return [_value(part) for part in parts]
        case ast.Tuple(elts=parts):
            return tuple(_value(part) for part in parts)
        case ast.Dict(keys=keys, values=values) if None not in keys:
            pairs = zip(keys, values, strict=True)
            return {_value(key): _value(value) for key, value in pairs if key is not None}
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            number: Any = _value(operand)
            return -number if isinstance(sign, ast.USub) else +number
    raise ValueError(f"{ast.dump(node)} is not a value")


def format_call(name: str, arguments: Mapping[str, object]) -> str:
    """Return a tool call in one line, its arguments sorted by name."""
    shown = []
    for key, value in sorted(arguments.items()):
        quoted = "'" + value.replace("'", "\\'") + "'" if isinstance(value, str) else value
        shown.append(f"{key}={quoted}")
    return f"{name}({', '.join(shown)})"


def format_messages(messages: Iterable[Tau2Message]) -> str:
    """Return what a side sees: one line for each message, with its role."""
    lines = []
    for message in messages:
        calls = tool_calls_of(message)
        words = str(message.get("content"))
        if calls is not None:
            words = ", ".join(format_call(call["name"], call["arguments"]) for call in calls)
        lines.append(f"{message['role']}: {words}")
    return "\n".join(lines)
