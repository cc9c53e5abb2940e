"""The judges that ``score`` asks, and where their replies are kept."""

import os
from collections.abc import Sequence
from pathlib import Path

from maseval.benchmark.tau2.app.results.sources import SimulationSource
from maseval.benchmark.tau2.app.running.participants import ModelSpec
from maseval.benchmark.tau2.recount.panel import Panel
from maseval.benchmark.tau2.scoring.judge_memory import MEMORY_NAME, JudgeMemory, RememberingJudge
from maseval.core.exceptions import ConfigurationError
from maseval.core.model import ModelAdapter, resolve_model
from maseval.core.shapes import mapping
from maseval.runs import RunFolder


def judge_models(model_ids: Sequence[str], base_url: str | None = None) -> list[ModelAdapter]:
    """The models of these ids; one that is named twice would agree with itself."""
    if len(set(model_ids)) < len(model_ids):
        raise ConfigurationError(
            f"judge_model is {', '.join(model_ids)}; name each judge once, as one always agrees "
            "with itself"
        )
    specs = [ModelSpec.of(each, None, base_url) for each in model_ids]
    return [resolve_model(each.model_id, **each.options) for each in specs]


def panel_for(source: SimulationSource, models: Sequence[ModelAdapter]) -> Panel | None:
    """The judges of a run or file, whose replies are kept with it.

    Without any, a run's own judge, as far as it is remembered.
    """
    if not models:
        return own_panel(source.folder)
    memory = JudgeMemory(memory_path(source.path))
    return Panel([RememberingJudge(model, memory) for model in models])


def own_panel(folder: RunFolder | None) -> Panel | None:
    """The judge that a run had, as far as its replies are kept: nothing is asked again."""
    if folder is None:
        return None
    memory = JudgeMemory(memory_path(folder.path))
    named = str(mapping(folder.config.values, "judge").get("model"))
    known = [each for each in memory.models if f"/{named}".endswith(f"/{each}")]
    return Panel([RememberingJudge(known[0], memory)]) if known else None


def memory_path(source: str | os.PathLike[str]) -> Path:
    """Where replies are kept: in the folder of a run, or beside a results file."""
    path = Path(source)
    return path / MEMORY_NAME if path.is_dir() else path.with_name(f"{path.stem}-{MEMORY_NAME}")
