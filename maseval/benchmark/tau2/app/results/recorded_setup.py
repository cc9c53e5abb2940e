"""RecordedSetup: the settings of a recorded run, parsed once where they enter.

They come from the configuration of a run folder, which may be of an earlier version or of another
benchmark, or from the ``info`` of a results file, which forks write in any form. A setting that is
missing or of another kind counts as not recorded.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maseval.benchmark.tau2.data import version_titled
from maseval.core.recorded import Shape, mapping, whole_number
from maseval.core.storage.redaction import REDACTED
from maseval.core.words import text_or_none

if TYPE_CHECKING:  # most runs are not in a results file
    from maseval.benchmark.tau2.results import ResultsFile

TAU2 = "tau2"
"""The name of this benchmark in the configuration of a run."""

MEMORY_NAME = "judged.jsonl"
"""The name of the replies of judges in a run's folder; the end of it beside a results file."""

_MODES = {"llm_agent_solo": "solo", "llm_agent_gt": "oracle-plan"}


@dataclass(frozen=True)
class RecordedSide:
    """The agent or the user of a run.

    ``player`` is a scripted participant, or in a results file the name of the implementation.
    """

    model: str | None = None
    model_args: Mapping[str, Any] = field(default_factory=dict)
    player: str | None = None
    error_rate: object = None
    function: str | None = None
    rehearse: str | None = None
    prompt: str | None = None

    @classmethod
    def of(cls, given: object) -> "RecordedSide":
        """Parse a side of a run's configuration."""
        if not isinstance(given, Mapping):
            return cls(player=text_or_none(given or None))
        args = {**mapping(given, "args"), **mapping(given, "options")}
        texts = {
            name: text_or_none(given.get(name))
            for name in ("model", "player", "function", "rehearse", "prompt")
        }
        return cls(model_args=args, error_rate=given.get("error_rate"), **texts)

    @classmethod
    def of_info(cls, given: Shape) -> "RecordedSide":
        """Parse ``agent_info`` or ``user_info`` of a results file."""
        return cls(
            model=text_or_none(given.get("llm")),
            model_args=mapping(given, "llm_args"),
            player=text_or_none(given.get("implementation")),
        )

    @property
    def name(self) -> str | None:
        """The model, or whoever plays without one."""
        return self.model or self.player

    def model_options(self, role: str) -> dict[str, object]:
        """Return the model as options of a new run, in which it plays ``role``."""
        args = {key: arg for key, arg in self.model_args.items() if REDACTED not in str(arg)}
        return {role: "llm", f"{role}_model": self.model, f"{role}_args": args}


@dataclass(frozen=True)
class RecordedSetup:
    """The participants, rules and data of a recorded run.

    ``limits`` are those of ``max_steps``, ``max_errors`` and ``seed`` that are recorded. ``data``
    has the hash of each file by domain, and ``own_domains`` the references of loaded ones.
    """

    agent: RecordedSide = RecordedSide()
    user: RecordedSide = RecordedSide()
    judge: str | None = None
    mode: str | None = None
    rules: str | None = None
    texts: str | None = None
    trials: int = 1
    limits: Mapping[str, Any] = field(default_factory=dict)
    tasks: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    own_domains: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "RecordedSetup":
        """Parse the configuration of a run."""
        own = mapping(config, "own_domains")
        return cls(
            agent=RecordedSide.of(config.get("agent")),
            user=RecordedSide.of(config.get("user")),
            judge=text_or_none(mapping(config, "judge").get("model")),
            mode=text_or_none(config.get("mode")),
            rules=text_or_none(config.get("rules")),
            texts=text_or_none(mapping(config, "texts").get("name")),
            trials=whole_number(config.get("trials")) or 1,
            limits={key: config[key] for key in _LIMITS if key in config},
            tasks=mapping(config, "tasks"),
            data=mapping(config, "data"),
            own_domains={name: str(mapping(own, name).get("reference")) for name in own},
        )

    @classmethod
    def of_file(cls, file: "ResultsFile") -> "RecordedSetup":
        """Parse the ``info`` of a results file; a file of lines records none."""
        info = {} if file.layout == "lines" else file.raw_info
        agent = RecordedSide.of_info(mapping(info, "agent_info"))
        limits = {key: whole_number(info.get(key)) for key in _LIMITS}
        return cls(
            agent=agent,
            user=RecordedSide.of_info(mapping(info, "user_info")),
            mode=_MODES.get(str(agent.player), "normal"),
            limits={key: limit for key, limit in limits.items() if limit is not None},
        )

    @property
    def release(self) -> str | None:
        """The release by whose rules the run was made."""
        return None if self.rules is None else version_titled(self.rules)


_LIMITS = ("max_steps", "max_errors", "seed")


def memory_path(source: str | os.PathLike[str]) -> Path:
    """Return the file of the replies: in the folder of a run, or beside a results file."""
    path = Path(source)
    return path / MEMORY_NAME if path.is_dir() else path.with_name(f"{path.stem}-{MEMORY_NAME}")
