"""``maseval compare``: runs side by side, on the tasks that they share."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from maseval.commands.compared import ComparedRun, RunComparison
from maseval.commands.drawing import write_svg
from maseval.commands.tau2.comparable import config_of_file, digest, outcomes_of_file
from maseval.commands.tau2.sources import Source, open_source
from maseval.core.exceptions import ConfigurationError
from maseval.runs import RunFolder
from maseval.stats import compare as compare_two
from maseval.stats import compare_all, cost_and_score, outcomes_of, pass_curves


def compare(
    runs: Sequence[str | os.PathLike[str]],
    *,
    k: int = 1,
    plot: str | os.PathLike[str] | None = None,
    plot_cost: str | os.PathLike[str] | None = None,
) -> RunComparison:
    """Compare two runs or more, each a run folder or a results file of tau2-bench.

    Differences are in pass^k. Runs under different rules are refused; domains with different data,
    and tasks that some run lacks, are left out and listed. ``plot`` is an SVG file for pass^k
    against k, ``plot_cost`` one for cost against score.
    """
    if len(runs) < 2:
        raise ConfigurationError(f"{len(runs)} run cannot be compared; name two or more")
    sources = [open_source(run) for run in runs]
    named = zip(_names(sources), sources, strict=True)
    loaded = {name: _loaded(name, source) for name, source in named}
    outcomes = {name: run.outcomes for name, run in loaded.items()}
    configs = {name: run.config for name, run in loaded.items()}
    table = compare_all(outcomes, configs=configs, k=k)
    two = None
    if len(loaded) == 2:
        first, second = loaded
        two = compare_two(
            outcomes[first],
            outcomes[second],
            names=(first, second),
            configs=(configs[first], configs[second]),
            k=k,
        )
    found = table.cautions if two is None else two.cautions
    drawn = []
    if plot is not None:
        drawn.append(write_svg(pass_curves(table.runs), plot))
    if plot_cost is not None:
        drawn.append(write_svg(cost_and_score(table.runs, k), plot_cost))
    cautions = [*_rehearsed(loaded), *_incomplete(loaded), *found]
    return RunComparison(loaded, table, two, cautions, drawn)


def _names(sources: Sequence[Source]) -> list[str]:
    """Short names, or whole paths where two would be the same."""
    paths = [os.path.abspath(source.path) for source in sources]
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise ConfigurationError(f"{twice} is named twice; a run does not differ from itself")
    short = [each.path.stem if each.folder is None else Path(each.path).name for each in sources]
    return short if len(set(short)) == len(short) else [str(each.path) for each in sources]


def _loaded(name: str, source: Source) -> ComparedRun:
    if source.folder is not None:
        return _of_folder(name, source.folder)
    assert source.results is not None
    outcomes = outcomes_of_file(source.results, source.skipped)
    config = config_of_file(source.results)
    planned = len(outcomes) + sum(source.skipped.values())
    counted = [outcome for outcome in outcomes if outcome.passed is not None]
    if not counted:
        raise ConfigurationError(
            f"{source.path} holds no verdict; `maseval tau2 score` judges its conversations"
        )
    return ComparedRun(name, source.path, counted, planned, config)


def _of_folder(name: str, folder: RunFolder) -> ComparedRun:
    outcomes = outcomes_of(folder.reports())
    if not outcomes:
        raise ConfigurationError(f"{folder.path} has no finished simulation yet; run it first")
    config = dict(folder.config.values)
    data = config.get("data")
    if isinstance(data, Mapping):
        # One word for each domain, so that a domain with other data is told in one line.
        config["data"] = {domain: digest(files) for domain, files in data.items()}
    return ComparedRun(name, folder.path, outcomes, len(folder.planned), config)


def _rehearsed(runs: Mapping[str, ComparedRun]) -> list[str]:
    agents = {name: run.config.get("agent") for name, run in runs.items()}
    return [
        f"{name} is a rehearsal: the agent's model was played by {agent['rehearse']}"
        for name, agent in agents.items()
        if isinstance(agent, Mapping) and agent.get("rehearse")
    ]


def _incomplete(runs: Mapping[str, ComparedRun]) -> list[str]:
    return [
        f"{name}: {len(run.outcomes)} of {run.planned} simulations are there"
        for name, run in runs.items()
        if len(run.outcomes) < run.planned
    ]
