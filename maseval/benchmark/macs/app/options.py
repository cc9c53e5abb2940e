"""The options of ``maseval macs run``, apart from ``run`` so that help loads nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from maseval.app.running.options import EXECUTION, PARTICIPANTS, TASKS, ExtraArguments, Flag
from maseval.app.running.run_options import AnyBenchmark, FolderRunOptions, check_timeout
from maseval.core.exceptions import ConfigurationError

JUDGE_MODEL = "openai/gpt-4o"


@dataclass(frozen=True, kw_only=True)
class MACSRunOptions(FolderRunOptions):
    """The options of ``run``."""

    domain: Annotated[
        str | Sequence[str],
        Flag("travel, mortgage or software (repeatable)", TASKS, short="-d", typed=list[str]),
    ]
    team: Annotated[
        AnyBenchmark | None,
        Flag(
            "Your own agents: FILE.py:NAME of a subclass of MACSBenchmark", PARTICIPANTS, typed=str
        ),
    ] = None
    agent_model: Annotated[
        str | None, Flag("Model of every agent, e.g. openai/gpt-4.1", PARTICIPANTS, env=True)
    ] = None
    agent_data: Annotated[
        ExtraArguments | None,
        Flag(
            "JSON, key=value or FILE.json for the agents: max_steps=10",
            PARTICIPANTS,
            typed=list[str],
        ),
    ] = None
    user_model: Annotated[str | None, Flag("Model that plays the user", PARTICIPANTS, env=True)] = (
        None
    )
    tool_model: Annotated[
        str | None, Flag("Model that plays the tools (default: the user's)", PARTICIPANTS)
    ] = None
    judge_model: Annotated[
        str, Flag("Model that judges; the default is the original's", PARTICIPANTS)
    ] = JUDGE_MODEL
    base_url: Annotated[
        str | None,
        Flag("URL of an OpenAI-compatible server, for all models", PARTICIPANTS, env=True),
    ] = None
    seed: Annotated[int | None, Flag("Seed of models that take one", EXECUTION, recorded=True)] = (
        None
    )
    timeout: Annotated[
        float | None, Flag("Seconds per simulation (default: no limit)", EXECUTION, recorded=True)
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_timeout(self.timeout)
        if self.user_model is None:
            raise ConfigurationError("no model plays the user; name it: --user-model (user_model)")
        if self.agent_model is None and self.team is None:
            raise ConfigurationError(
                "no model plays the agents; name it: --agent-model (agent_model), or bring your "
                "own agents: --team FILE.py:NAME"
            )

    @property
    def domains(self) -> list[str]:
        """The domains, each once."""
        return list(dict.fromkeys([self.domain] if isinstance(self.domain, str) else self.domain))
