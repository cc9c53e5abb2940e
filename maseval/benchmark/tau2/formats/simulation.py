"""Tasks, simulations, verdicts and the ``info`` of a results file in v0.2.0's form.

After tau2-bench v0.2.0, src/tau2/data_model/simulation.py (MIT, Sierra Research).
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import NotRequired, cast

from typing_extensions import TypedDict

from maseval.benchmark.tau2.formats.message import SpokenMessage, Tau2Message, complete


class DBCheck(TypedDict):
    """The comparison of the databases with those that the reference solution leaves."""

    db_match: bool
    db_reward: float


class EnvAssertionCheck(TypedDict):
    """The result of an assertion about the end state."""

    env_assertion: dict[str, object]
    met: bool
    reward: float


class ActionCheck(TypedDict):
    """The search for an action of the reference solution; v0.2.0 has no ``tool_type``."""

    action: dict[str, object]
    action_match: bool
    action_reward: float
    tool_type: NotRequired[str | None]


class NLCheck(TypedDict):
    """The judgement of a natural-language assertion."""

    nl_assertion: str
    met: bool
    justification: str


class CommunicateCheck(TypedDict):
    """The search for something that the agent had to say."""

    info: str
    met: bool
    justification: str


class ReplayProblem(TypedDict):
    """The reason why a conversation cannot be replayed; v0.2.0 raises an exception instead."""

    message_index: int | None
    call: Mapping[str, object] | None
    expected: str | None
    found: str | None
    error: str
    error_type: str


class RewardInfo(TypedDict):
    """A verdict, key for key as v0.2.0 writes it."""

    reward: float
    db_check: NotRequired[DBCheck | None]
    env_assertions: NotRequired[list[EnvAssertionCheck] | None]
    action_checks: NotRequired[list[ActionCheck] | None]
    nl_assertions: NotRequired[list[NLCheck] | None]
    communicate_checks: NotRequired[list[CommunicateCheck] | None]
    reward_basis: NotRequired[list[str] | None]
    reward_breakdown: NotRequired[dict[str, float] | None]
    info: NotRequired[dict[str, object] | None]


def replay_problem(verdict: RewardInfo) -> ReplayProblem | None:
    """Return the reason why the conversation could not be replayed; None if it could be."""
    return cast(ReplayProblem | None, (verdict.get("info") or {}).get("replay_error"))


class UserInstructions(TypedDict, total=False):
    domain: str
    reason_for_call: str
    known_info: str | None
    unknown_info: str | None
    task_instructions: str


class UserScenario(TypedDict, total=False):
    persona: str | None
    instructions: str | UserInstructions | None


class RawTask(TypedDict):
    """A task before ``TaskSpec`` has read what scoring needs of it; v0.2.0 lacks the last three."""

    id: str
    user_scenario: UserScenario
    description: NotRequired[dict[str, object] | None]
    ticket: NotRequired[str | None]
    initial_state: NotRequired[dict[str, object] | None]
    evaluation_criteria: NotRequired[dict[str, object] | None]
    issues: NotRequired[list[dict[str, object]] | None]
    required_documents: NotRequired[list[str] | None]
    user_tools: NotRequired[list[str] | None]


class TerminationReason(StrEnum):
    """The reasons why a simulation ends; v0.2.0 knows the first four only."""

    AGENT_STOP = "agent_stop"
    USER_STOP = "user_stop"
    MAX_STEPS = "max_steps"
    TOO_MANY_ERRORS = "too_many_errors"
    TIMEOUT = "timeout"
    AGENT_ERROR = "agent_error"
    USER_ERROR = "user_error"
    INFRASTRUCTURE_ERROR = "infrastructure_error"
    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"
    UNEXPECTED_ERROR = "unexpected_error"


class SimulationForm(TypedDict):
    """One finished simulation; other releases end simulations for reasons of their own."""

    id: str
    task_id: str
    timestamp: NotRequired[str | None]
    start_time: str
    end_time: str
    duration: float
    termination_reason: TerminationReason | str
    agent_cost: NotRequired[float | None]
    user_cost: NotRequired[float | None]
    reward_info: NotRequired[RewardInfo | None]
    messages: list[Tau2Message] | None
    trial: NotRequired[int | None]
    seed: NotRequired[int | None]


class SideInfo(TypedDict):
    """The implementation and model of the agent."""

    implementation: str
    llm: NotRequired[str | None]
    llm_args: NotRequired[dict[str, object] | None]


class UserInfo(SideInfo):
    global_simulation_guidelines: NotRequired[str | None]


class EnvironmentInfo(TypedDict):
    domain_name: str
    policy: str
    tool_defs: NotRequired[object]


class RunInfo(TypedDict):
    git_commit: str
    num_trials: int
    max_steps: int
    max_errors: int
    user_info: UserInfo
    agent_info: SideInfo
    environment_info: EnvironmentInfo
    seed: NotRequired[int | None]
    retrieval_config: NotRequired[str | None]
    retrieval_config_kwargs: NotRequired[dict[str, object] | None]


Keys = Mapping[str, object]
"""Keys in order, each with the value that stands for nothing known."""


@dataclass(frozen=True, eq=False)
class FileForm:
    """The keys of each part of a results file; further keys of a part stay behind these."""

    simulation: Keys
    spoken: Keys
    info: Keys = field(default_factory=dict)
    user_info: Keys = field(default_factory=dict)
    agent_info: Keys = field(default_factory=dict)
    task: Keys = field(default_factory=dict)
    results: Keys = field(default_factory=dict)
    keeps_policy: bool = False

    def message(self, message: Tau2Message) -> dict[str, object]:
        """Return a message with every key that the release writes."""
        plain: dict[str, object] = {**complete(message)}
        # Only spoken messages have got further keys since.
        return plain if message["role"] in ("tool", "system") else with_keys(plain, self.spoken)

    def run_info(self, info: Mapping[str, object]) -> dict[str, object]:
        """Return a run's ``info`` with every key that the release writes."""
        sides = {"user_info": self.user_info, "agent_info": self.agent_info}
        whole = with_keys(info, self.info)
        for side, keys in sides.items():
            part = whole.get(side)
            whole[side] = with_keys(part, keys) if isinstance(part, Mapping) else part
        return whole


def with_keys(record: Mapping[str, object], keys: Keys) -> dict[str, object]:
    """Return a record with all of ``keys`` in their order, and then whatever else it has."""
    # As of nearly all that is read; to copy is quicker.
    if list(record) == list(keys):
        return dict(record)
    ordered = {key: record.get(key, default) for key, default in keys.items()}
    return {**ordered, **record}


def _keys(names: str, **defaults: object) -> Keys:
    """Return these keys in order; one without a default is null."""
    return {name: defaults.get(name) for name in names.split()}


FORM_0_2_0 = FileForm(
    simulation=dict.fromkeys(SimulationForm.__annotations__),
    spoken=dict.fromkeys(SpokenMessage.__annotations__),
)

# v1.0.1 writes every field that it knows, also those of voice and of reviews that are not there.
FORM_1_0_1 = FileForm(
    simulation=_keys(
        "id task_id timestamp start_time end_time duration termination_reason agent_cost user_cost "
        "reward_info messages ticks trial seed mode speech_environment review user_only_review "
        "info auth_classification hallucination_retries_used hallucination_check "
        "provider_session_id policy effect_timeline",
        mode="half_duplex",
        hallucination_retries_used=0,
    ),
    spoken=_keys(
        "role content tool_calls is_audio turn_idx timestamp cost usage raw_data "
        "generation_time_seconds audio_format audio_path audio_script_gold speech_effects "
        "source_effects channel_effects turn_taking_action utterance_ids chunk_id is_final_chunk "
        "source contains_speech",
        is_audio=False,
        is_final_chunk=True,
        contains_speech=True,
    ),
    info=_keys(
        "git_commit num_trials max_steps max_errors user_info agent_info environment_info seed "
        "text_streaming_config speech_complexity audio_native_config retrieval_config "
        "retrieval_config_kwargs",
        text_streaming_config={"chunk_by": "words", "chunk_size": 1},
    ),
    user_info=_keys(
        "implementation llm llm_args global_simulation_guidelines voice_settings persona_config"
    ),
    agent_info=_keys("implementation llm llm_args voice_settings"),
    task=_keys(
        "id description user_scenario ticket initial_state evaluation_criteria issues "
        "required_documents user_tools"
    ),
    results={"simulation_index": None},
    keeps_policy=True,
)


def trial_seed(seed: int, trial: int) -> int:
    """Return the seed of a trial, counted from 0; it is the same for all tasks.

    After tau2-bench v0.2.0, src/tau2/run.py (MIT, Sierra Research).
    """
    # The next power of two, so that a run of many trials draws its numbers a few times in all.
    return _trial_seeds(seed, 1 << trial.bit_length())[trial]


@lru_cache(maxsize=256)
def _trial_seeds(seed: int, count: int) -> tuple[int, ...]:
    # One generator draws for all trials, as in the original: a trial's number depends on its place.
    numbers = random.Random(seed)
    return tuple(numbers.randint(0, 1_000_000) for _ in range(count))
