"""The keys that a release writes into its results, in its order, and their defaults.

After tau2-bench v0.2.0 and v1.0.1, src/tau2/data_model/ (MIT, Sierra Research).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from maseval.benchmark.tau2.formats.message import SpokenMessage, Tau2Message, complete
from maseval.benchmark.tau2.formats.simulation import SimulationForm

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
    if list(record) == list(keys):
        return dict(record)
    ordered = {key: record.get(key, default) for key, default in keys.items()}
    return {**ordered, **record}


def _nulls(*names: str) -> dict[str, object]:
    return dict.fromkeys(names)


FORM_0_2_0 = FileForm(
    simulation=dict.fromkeys(SimulationForm.__annotations__),
    spoken=dict.fromkeys(SpokenMessage.__annotations__),
)

FORM_1_0_1 = FileForm(
    simulation={
        **_nulls("id", "task_id", "timestamp", "start_time", "end_time", "duration"),
        **_nulls("termination_reason", "agent_cost", "user_cost", "reward_info", "messages"),
        **_nulls("ticks", "trial", "seed"),
        "mode": "half_duplex",
        **_nulls("speech_environment", "review", "user_only_review", "info"),
        **_nulls("auth_classification"),
        "hallucination_retries_used": 0,
        **_nulls("hallucination_check", "provider_session_id", "policy", "effect_timeline"),
    },
    spoken={
        **_nulls("role", "content", "tool_calls"),
        "is_audio": False,
        **_nulls("turn_idx", "timestamp", "cost", "usage", "raw_data"),
        **_nulls("generation_time_seconds", "audio_format", "audio_path", "audio_script_gold"),
        **_nulls("speech_effects", "source_effects", "channel_effects", "turn_taking_action"),
        **_nulls("utterance_ids", "chunk_id"),
        "is_final_chunk": True,
        "source": None,
        "contains_speech": True,
    },
    info={
        **_nulls("git_commit", "num_trials", "max_steps", "max_errors", "user_info"),
        **_nulls("agent_info", "environment_info", "seed"),
        "text_streaming_config": {"chunk_by": "words", "chunk_size": 1},
        **_nulls("speech_complexity", "audio_native_config"),
        **_nulls("retrieval_config", "retrieval_config_kwargs"),
    },
    user_info=_nulls(
        *("implementation", "llm", "llm_args", "global_simulation_guidelines"),
        *("voice_settings", "persona_config"),
    ),
    agent_info=_nulls("implementation", "llm", "llm_args", "voice_settings"),
    task=_nulls(
        *("id", "description", "user_scenario", "ticket", "initial_state"),
        *("evaluation_criteria", "issues", "required_documents", "user_tools"),
    ),
    results={"simulation_index": None},
    keeps_policy=True,
)
