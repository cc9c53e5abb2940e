"""Runs as they are compared: their outcomes, and which of these count."""

import os
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

from maseval.app.benchmarks import OnProgress, RecordedOutcomes, read_results, support_for
from maseval.app.results.examined import FINDINGS, examine_run
from maseval.app.results.finding import open_recording, open_run_or_file
from maseval.app.results.recording import human_sides
from maseval.app.results.variants import Variant, outcomes_by, variant_scores
from maseval.core.exceptions import ConfigurationError, ResultFileError
from maseval.core.outcome import TaskKey, words_on_cache
from maseval.core.recorded import mapping
from maseval.core.scoring_options import ScoringOptions
from maseval.core.words import count_of, words_on_code
from maseval.runs import RunFolder
from maseval.runs.config import CELL, RunConfig, cell_of, subset_of
from maseval.runs.recording import Recording
from maseval.stats import Outcome, compatibility
from maseval.stats.summary import first_trials, with_gaps

FIXED_SIZE = (
    "Tests and intervals of a comparison are for runs of a fixed size and do not allow for it."
)


def open_compared(run: RecordedOutcomes, options: ScoringOptions) -> Recording | None:
    """Open a run for reading; None if it is a file from which only outcomes can be read."""
    try:
        return open_recording(run.path, options)
    except ResultFileError:
        return None


def names_of(sources: Sequence[RunFolder | Path]) -> list[str]:
    """Return short names, or whole paths where two would be the same."""
    paths = [source if isinstance(source, Path) else source.path for source in sources]
    whole = [os.path.abspath(path) for path in paths]
    if len(set(whole)) < len(whole):
        twice = next(path for path in whole if whole.count(path) > 1)
        raise ConfigurationError(f"{twice} is named twice; a run does not differ from itself")
    short = [source.stem if isinstance(source, Path) else source.path.name for source in sources]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def settled_runs(named: Sequence[tuple[str, RunFolder | Path]]) -> list[str]:
    """Return the runs whose tasks stop at their first failure; they are compared in one pass^k."""
    found = [
        name
        for name, source in named
        if isinstance(source, RunFolder) and source.config.stops_at_failure
    ]
    if found and len(named) > 2:
        raise ConfigurationError(
            f"the tasks of {found[0]} stop at their first failure, so only one pass^k of it is "
            "unbiased; compare it with one other run"
        )
    return found


def refuse_first_failures(run: str | os.PathLike[str], config: RunConfig) -> None:
    """Raise ConfigurationError if tasks that pass have more trials than others."""
    if config.stops_at_failure:
        raise ConfigurationError(
            f"the tasks of {run} stop at their first failure, so it is not a fair baseline; "
            "give a run of a fixed size"
        )


def read_outcomes(run: str | os.PathLike[str]) -> tuple[str, Sequence[Outcome]]:
    """Return the name and the outcomes of a run or results file, as they are compared."""
    source = open_run_or_file(run)
    if isinstance(source, RunFolder):
        refuse_first_failures(run, source.config)
    return names_of([source])[0], load_run(source, ScoringOptions()).outcomes


def load_run(
    source: RunFolder | Path,
    options: ScoringOptions,
    k: int | None = None,
    on_progress: OnProgress | None = None,
) -> RecordedOutcomes:
    """Read the outcomes of a run or results file, with those that are missing."""
    if isinstance(source, Path):
        path = source
        found = read_results(path, lambda each: each.recorded_outcomes(path, options, on_progress))
        outcomes = list(found.outcomes)
    else:
        path = source.path
        found = support_for(source).run_outcomes(source, options, on_progress)
        if cell := cell_of(source.config.values):
            found = found._replace(config={**found.config, CELL: cell})
        outcomes = with_gaps(found.outcomes, [*source.planned])
        if source.config.stops_at_failure and k is not None:
            outcomes = first_trials(outcomes, k)
            found = found._replace(planned=len(outcomes))
    if all(each.passed is None for each in outcomes):
        raise ConfigurationError(
            f"{path} has no simulation with a verdict yet; run or resume it first"
        )
    if isinstance(source, RunFolder) and (stopped := source.config.stopped):
        found = found._replace(notes=[f"{stopped.note} {FIXED_SIZE}", *found.notes])
    return found._replace(outcomes=outcomes, path=path)


def count_by(
    variant: Variant, runs: Mapping[str, RecordedOutcomes], options: ScoringOptions
) -> tuple[dict[str, RecordedOutcomes], list[str]]:
    """Let the outcomes of runs count as in a variant, and say how many that changes."""
    kept, counts = {}, [f"{variant.name}: {variant.meaning}"]
    for name, run in runs.items():
        recording = open_compared(run, options)
        if recording is None or variant not in support_for(recording).variants(recording):
            raise ConfigurationError(
                f"{run.path} has no number {variant.name}: its benchmark does not say what would "
                "change it; leave out --metric"
            )
        findings = examine_run(recording, FINDINGS).findings
        outcomes = outcomes_by(variant, run.outcomes, findings)
        if not outcomes:
            raise ConfigurationError(
                f"no task of {run.path} counts {variant.name}, so there is nothing to compare; "
                "leave out --metric"
            )
        kept[name] = run._replace(outcomes=outcomes)
        overall = variant_scores(run.outcomes, findings, [variant])[-1]
        counts.append(f"{name}, {variant.name}: {overall.effect}")
    return kept, counts


def differing_settings(runs: Mapping[str, RecordedOutcomes], most: int = 6) -> list[str]:
    """List what differs between runs and keeps nobody from comparing them: what is compared."""
    found = dict.fromkeys(
        line
        for a, b in combinations(runs.values(), 2)
        for line in compatibility(a.config, b.config).differing
        if not line.startswith("cell.")  # the levels, by what they set, are there already
    )
    if len(runs) > 2:  # which of them differ would take a line for each pair
        found = dict.fromkeys(line.partition(": ")[0] for line in found)
    listed = [*found]
    return [*listed[:most], *([f"{len(listed) - most} more"] if len(listed) > most else [])]


def keep_equal_tasks(
    runs: Mapping[str, RecordedOutcomes],
) -> tuple[dict[str, RecordedOutcomes], list[str]]:
    """Leave out the tasks whose content is not the same in all runs, and list them."""
    contents: dict[TaskKey, set[str]] = {}
    for run in runs.values():
        for key, content in run.tasks.items():
            contents.setdefault(key, set()).add(content)
    other = [key for key, several in contents.items() if len(several) > 1]
    kept = {
        name: run._replace(outcomes=[each for each in run.outcomes if each.key not in other])
        for name, run in runs.items()
    }
    if other and not all(run.outcomes for run in kept.values()):
        notes = "; ".join(f"{name}: {note}" for name, run in runs.items() for note in run.notes)
        raise ConfigurationError(
            f"the contents of {count_of(len(other), 'task')} differ between "
            f"{' and '.join(runs)}, so there is no task in "
            f"common to compare. {notes}"
        )
    return kept, [f"task {str(key)!r}: its content differs between the runs" for key in other]


def notes_on_runs(runs: Mapping[str, RecordedOutcomes]) -> list[str]:
    """Say what makes a run's numbers no score of a model: its tasks, its players, its mixture."""
    found: dict[str, list[str]] = {}
    for name, run in runs.items():
        subset, player = subset_of(run.config), mapping(run.config, "agent").get("rehearse")
        sides = (f"a person played the {side}, not a model" for side in human_sides(run.config))
        codes = (each.code for each in run.outcomes if each.status)  # without gaps
        words = (
            subset and subset.note,
            *sides,
            f"a rehearsal, in which {player} played the agent's model" if player else None,
            words_on_cache(run.outcomes),
            words_on_code(codes),
        )
        for each in filter(None, words):
            found.setdefault(each, []).append(name)
    return [f"{some(names)}: {words}" for words, names in found.items()]


def some(names: Sequence[str], most: int = 3) -> str:
    """Return a few names, and how many more there are."""
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
