"""The options of ``maseval macs run``, apart from ``run`` so that help loads nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass

from maseval.app.running.options import PARTICIPANTS, REQUIRED, TASKS, ExtraArguments, option
from maseval.app.running.run_options import AnyBenchmark, GeneralRunOptions
from maseval.core.exceptions import ConfigurationError
from maseval.core.providers import check_base_url

JUDGE_MODEL = "openai/gpt-4o"


@dataclass(frozen=True, kw_only=True)
class MACSRunOptions(GeneralRunOptions):
    domain: str | Sequence[str] = option(
        REQUIRED, "travel, mortgage or software (repeatable)", TASKS, short="-d", typed=list[str]
    )
    team: AnyBenchmark | None = option(
        None,
        "Your own agents: FILE.py:NAME of a subclass of MACSBenchmark",
        PARTICIPANTS,
        typed=str,
    )
    agent_model: str | None = option(
        None, "Model of every agent, e.g. openai/gpt-4.1", PARTICIPANTS, env=True
    )
    agent_data: ExtraArguments | None = option(
        None,
        "JSON or key=value for the agents: max_steps=10",
        PARTICIPANTS,
        typed=list[str],
    )
    user_model: str | None = option(None, "Model that plays the user", PARTICIPANTS, env=True)
    tool_model: str | None = option(
        None, "Model that plays the tools (default: the user's)", PARTICIPANTS
    )
    judge_model: str = option(
        JUDGE_MODEL, "Model that judges; the default is the original's", PARTICIPANTS, alias="judge"
    )
    base_url: str | None = option(
        None, "URL of an OpenAI-compatible server, for all models", PARTICIPANTS, env=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_base_url(self.base_url)
        if self.user_model is None:
            raise ConfigurationError("no model plays the user; name it: --user-model (user_model)")
        if self.agent_model is None and self.team is None:
            raise ConfigurationError(
                "no model plays the agents; name it: --agent-model (agent_model), or bring your "
                "own agents: --team FILE.py:NAME"
            )

    @property
    def domains(self) -> list[str]:
        return list(dict.fromkeys([self.domain] if isinstance(self.domain, str) else self.domain))
