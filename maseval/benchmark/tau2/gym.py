"""tau2 as Gymnasium environments, for training: the caller plays the agent, or the user.

Names, arguments, texts and rewards are those of the module ``tau2.gym`` of tau2-bench v1.0.1, so
that code written for it changes its import line; ``Ours`` are the arguments it does not have. An
environment runs in the thread that calls it and leaves nothing behind when it is dropped.

After tau2-bench v1.0.1, src/tau2/gym (MIT, Sierra Research).
"""

import json
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, ClassVar, TypedDict, Unpack

from pydantic import BaseModel, ConfigDict

from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import AnyVersion, release_of
from maseval.benchmark.tau2.episode import Episode, EpisodeSetup, Partner
from maseval.benchmark.tau2.formats.action_text import format_messages, parse_action
from maseval.benchmark.tau2.formats.message import Requestor, Tau2Message
from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.review.causes.steps import beside_policy, explain_with_cause
from maseval.benchmark.tau2.review.causes.users import user_findings
from maseval.benchmark.tau2.review.errata import errata_for
from maseval.benchmark.tau2.review.explain.scored_case import ScoredCase
from maseval.benchmark.tau2.review.policy.checking import check_case
from maseval.benchmark.tau2.world.tasks import TaskSpec
from maseval.core.exceptions import ConfigurationError
from maseval.core.model import ModelAdapter
from maseval.interface.gymnasium import TextEnv, register_environments

AGENT_ENV, USER_ENV = "tau-bench-v0", "tau-bench-user-v0"
DATA_VERSION = "1.0.1"

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
    """What both environments have in common; ``ROLE`` is the caller's side."""

    ROLE: ClassVar[Requestor]

    def __init__(self, setup: EpisodeSetup, all_messages: bool, ours: Ours) -> None:
        super().__init__()
        self.setup = setup
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
        episode = self._start(seed)
        episode.advance()
        return self._first_observation(), self._info()

    async def reset_async(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, Info]:
        """Do what ``reset`` does; the event loop is free while a model answers."""
        episode = self._start(seed)
        await episode.advance_async()
        return self._first_observation(), self._info()

    def step(self, action: str) -> Step:
        """Say or do something; return when it is the caller's turn again, or at the end."""
        episode = self._open_episode()
        if (ended := self._answer_without_acting(episode, action)) is not None:
            return ended
        episode.advance()
        return self._outcome(episode)

    async def step_async(self, action: str) -> Step:
        """Do what ``step`` does; the event loop is free while a model answers."""
        episode = self._open_episode()
        if (ended := self._answer_without_acting(episode, action)) is not None:
            return ended
        await episode.advance_async()
        return self._outcome(episode)

    def _start(self, seed: int | None) -> Episode:
        super().reset(seed=seed)
        self.episode = self.setup.start(seed)
        return self.episode

    def _open_episode(self) -> Episode:
        if self.episode is None:
            raise RuntimeError("there is no episode yet; call reset() first")
        return self.episode

    def _answer_without_acting(self, episode: Episode, action: str) -> Step | None:
        """Act, unless all is over or nothing was said: then return what the caller gets."""
        if not isinstance(action, str):
            raise TypeError(f"an action is a text, not {action!r}")
        if episode.is_over:
            return "", 0.0, *self._flags(episode), self._info()
        try:
            message = parse_action(action, self.ROLE)
        except ValueError as error:
            return f"Invalid action with error: {error}", 0.0, False, False, self._info()
        episode.act(message)
        return None

    def _first_observation(self) -> str:
        episode = self._open_episode()
        return "" if episode.is_over else self._observation(episode)

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
        truncated = self.standard_truncation and episode.reached_limit
        return episode.is_over and not truncated, truncated

    def _outcome(self, episode: Episode) -> Step:
        observation, info = self._observation(episode), self._info()
        if not episode.is_over:
            return observation, 0.0, False, False, {**info, "reward_info": _NO_VERDICT}
        verdict = episode.verdict.reward_info
        info["reward_info"] = json.dumps(verdict, default=str)
        reward = verdict["reward"]
        if self.shaped_by:
            counted = episode.case.recording.ended_by_choice
            shares = {name: counted * SHAPING_CHECKS[name](verdict) for name in self.shaped_by}
            info |= {"official_reward": reward, "shaped_by": shares}
            reward = sum(shares.values()) / len(shares)
        if self.findings:
            info |= _findings(episode)
        return observation, reward, *self._flags(episode), info

    def _info(self) -> Info:
        episode = self._open_episode()
        self._task_info = self._task_info or self._describe_task(episode)
        return {**self._task_info, "simulation_run": self._simulation_run(episode)}

    def _simulation_run(self, episode: Episode) -> str:
        if not episode.is_over:
            return "{}"
        if self._finished is None or self._finished[0] is not episode:
            self._finished = episode, json.dumps(episode.simulation, default=str)
        return self._finished[1]

    def _describe_task(self, episode: Episode) -> Info:
        """Return what ``info`` says of the task, which is the same in every step."""
        tools = {"tools": episode.agent_tools}
        if self.ROLE == "user":
            tools = {"agent_tools": episode.agent_tools, "user_tools": episode.user_tools}
        described = {name: [_tool_info(each) for each in part] for name, part in tools.items()}
        setup, policy = self.setup, episode.environment.policy
        task = _task_info(setup.domain, setup.task_id, setup.version)
        return {"task": task, **described, "policy": policy}

    # States.

    def snapshot(self) -> Episode:
        """Return the state of the episode, for ``restore``; it takes no part in what follows."""
        return self._open_episode().twin()

    def restore(self, snapshot: Episode) -> None:
        """Continue from a state, as often as wanted, in any environment of the same task."""
        if snapshot.setup.task_id != self.setup.task_id or snapshot.seat.role != self.ROLE:
            raise ConfigurationError(
                f"the snapshot is of task {snapshot.setup.task_id!r}, played as "
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
        version, judge = ours.get("data_version", DATA_VERSION), ours.get("judge")
        setup = EpisodeSetup(
            *(domain, task_id, self.ROLE, max_steps, solo_mode),
            *(user, user_llm, user_llm_args, version, judge),
        )
        super().__init__(setup, all_messages_as_observation, ours)


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
        version, judge = ours.get("data_version", DATA_VERSION), ours.get("judge")
        setup = EpisodeSetup(
            *(domain, task_id, self.ROLE, max_steps, False),
            *(agent, agent_llm, agent_llm_args, version, judge),
        )
        super().__init__(setup, all_messages_as_observation, ours)


# What ``info`` has of a task: by the names that the original's objects have.


class _ScenarioInfo(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    instructions: "_ScenarioInfo | str | None" = None


class TaskInfo(TaskSpec):
    """A task with all that its author wrote, the solution included: not for the policy's eyes."""

    model_config = ConfigDict(extra="allow")

    id: str
    user_scenario: _ScenarioInfo | None = None


@lru_cache(maxsize=4096)
def _task_info(domain: str | Domain, task_id: str, version: AnyVersion) -> TaskInfo:
    return TaskInfo.of(load_raw_task(domain, task_id, version=version))


def _tool_info(definition: dict[str, Any]) -> SimpleNamespace:
    return SimpleNamespace(name=definition["function"]["name"], openai_schema=definition)


_NO_VERDICT = json.dumps({**dict.fromkeys(RewardInfo.__annotations__), "reward": 0.0})


# Rewards other than the official one, and what is found in a finished conversation.


def _database_share(verdict: RewardInfo) -> float:
    check = verdict.get("db_check")
    return 1.0 if check is None else check["db_reward"]


def _share_of(part: str, met: str) -> Callable[[RewardInfo], float]:
    def share(verdict: RewardInfo) -> float:
        checks: Any = verdict.get(part) or ()
        return sum(each[met] for each in checks) / len(checks) if checks else 1.0

    return share


SHAPING_CHECKS: dict[str, Callable[[RewardInfo], float]] = {
    "DB": _database_share,
    "ENV_ASSERTION": _share_of("env_assertions", "met"),
    "ACTION": _share_of("action_checks", "action_match"),
    "COMMUNICATE": _share_of("communicate_checks", "met"),
}
"""The checks that can shape a reward: the share of each that is met; 1 if it looks for nothing."""


def _findings(episode: Episode) -> Info:
    case, setup = episode.case, episode.setup
    release = release_of(setup.domain, setup.version)
    errata = errata_for(case.setting.domain, str(case.raw_task.get("id")), release)
    cause = explain_with_cause(ScoredCase(case, episode.verdict.reward_info, errata))[1]
    policy = check_case(case)
    cause = cause and beside_policy(cause, policy.findings)
    found = [*([cause] if cause else []), *policy.findings, *user_findings(case, cause)]
    return {
        "breaches": [each.to_dict() for each in policy.breaches],
        "findings": [each.to_dict() for each in found],
    }
