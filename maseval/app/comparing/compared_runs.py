"""Runs as they are compared: their outcomes, and which of these count."""

import os
from collections.abc import Mapping, Sequence
from itertools import chain, combinations

from maseval.app.benchmarks import OnProgress, RecordedOutcomes, support_for
from maseval.app.results.examined import outcomes_by
from maseval.app.results.labelled import judged_shares
from maseval.app.results.measured import measure_named
from maseval.app.results.names import open_recording
from maseval.app.results.recording import human_sides, name_of
from maseval.app.results.run_summary import costs_by_role, costs_in_words
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import TaskKey, words_on_cache
from maseval.core.perturbation import mark_of_perturbation
from maseval.core.recorded import mapping
from maseval.core.scoring_options import ScoringOptions
from maseval.core.words import count_of, text_or_none, words_on_code
from maseval.runs import RunFolder
from maseval.runs.config import CELL, JUDGED_BY, cell_of, subset_of
from maseval.runs.recording import Recording
from maseval.stats import Comparison, Outcome, compatibility
from maseval.stats.clusters import places_of
from maseval.stats.comparison import runs_by_tasks, tasks_in_all
from maseval.stats.summary import with_gaps

_MOST_SETTINGS = 6

FIXED_SIZE = (
    "Tests and intervals of a comparison are for runs of a fixed size and do not allow for it."
)


def names_of(runs: Sequence[Recording]) -> list[str]:
    """Return short names, or whole paths where two would be the same."""
    # By absolute path, as one run can be spelled in several ways.
    whole = [os.path.abspath(run.path) for run in runs]
    if len(set(whole)) < len(whole):
        twice = next(path for path in whole if whole.count(path) > 1)
        raise ConfigurationError(f"{twice} is named twice; a run does not differ from itself")
    short = [name_of(run) for run in runs]
    return short if len(set(short)) == len(short) else [str(run.path) for run in runs]


def read_outcomes(
    run: str | os.PathLike[str], measure: str | None = None
) -> tuple[str, Sequence[Outcome]]:
    """Return the name and the outcomes of a run or results file, as they are compared."""
    recording = open_recording(run)
    return name_of(recording), load_run(recording, ScoringOptions(), measure=measure).outcomes


def load_run(
    recording: Recording,
    options: ScoringOptions,
    on_progress: OnProgress | None = None,
    measure: str | None = None,
) -> RecordedOutcomes:
    """Read the outcomes of a run or results file, with those that are missing.

    ``measure`` names the number that takes the place of the verdict.
    """
    chosen = None if measure is None else measure_named(recording, measure)
    found = support_for(recording).run_outcomes(recording, options, on_progress)
    config = recording.config
    if cell := cell_of(config.values):
        # The benchmark answers with settings, from which notes such as the cell are left out.
        found = found._replace(config={**found.config, CELL: cell})
    outcomes = found.outcomes
    # A run has a plan that says what is missing; a file has what it has.
    if isinstance(recording, RunFolder):
        outcomes = with_gaps(outcomes, [*recording.planned])
    # What judges counted is about the official verdicts, whatever measure is compared.
    verdicts, outcomes = outcomes, outcomes_by(found.recording, outcomes, chosen)
    if chosen and not any(each.passed is not None for each in outcomes):
        raise ConfigurationError(
            f"{recording.path} has no value of {chosen.name!r}; it may be of an earlier state of "
            "the benchmark: compare by another measure, or run it again"
        )
    if all(each.passed is None for each in outcomes):
        raise ConfigurationError(
            f"{recording.path} has no simulation with a verdict yet; run or resume it first"
        )
    if stopped := config.stopped:
        found = found._replace(notes=[f"{stopped.note} {FIXED_SIZE}", *found.notes])
    judged = [str(each) for each in judged_shares(found.recording, verdicts)]
    return found._replace(outcomes=outcomes, notes=[*found.notes, *judged], measure=chosen)


def differing_settings(runs: Mapping[str, RecordedOutcomes]) -> list[str]:
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
    more = len(listed) - _MOST_SETTINGS
    return [*listed[:_MOST_SETTINGS], *([f"{more} more"] if more > 0 else [])]


def keep_equal_tasks(
    runs: Mapping[str, RecordedOutcomes],
) -> tuple[dict[str, RecordedOutcomes], list[str], list[str]]:
    """Leave out the tasks whose content is not the same in all runs, list them, and add notes.

    Where that is every task, and each is a case of a cluster, it is what is compared, such as two
    attacks on the same user tasks.
    """
    contents: dict[TaskKey, set[str]] = {}
    for run in runs.values():
        for key, content in run.tasks.items():
            contents.setdefault(key, set()).add(content)
    other = [key for key, several in contents.items() if len(several) > 1]
    every = [each for run in runs.values() for each in run.outcomes]
    if {each.key for each in every} == {*other} and all(each.cluster for each in every):
        words = "the content of every task differs: compared as cases of the same clusters"
        return dict(runs), [], [words]
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
    left_out = [f"task {str(key)!r}: its content differs between the runs" for key in other]
    return kept, left_out, []


def compared_keys(runs: Mapping[str, Sequence[Outcome]], table: Comparison) -> dict[TaskKey, None]:
    """Return the tasks that a table of runs counts: in each, with a verdict, on the same data.

    Runs that have no task in common, as cells of different domains, count their own.
    """
    groups = {each.group for summary in table.runs.values() for each in summary.groups}
    places = places_of(chain(*runs.values()))
    found: dict[TaskKey, None] = {}
    for names in runs_by_tasks(runs):
        judged = {name: [e for e in runs[name] if e.passed is not None] for name in names}
        shared = set.union(*tasks_in_all(judged, places).values())
        for each in chain(*judged.values()):
            if each.key in shared and each.domain in groups:
                found[each.key] = None
    return found


def notes_on_runs(runs: Mapping[str, RecordedOutcomes]) -> list[str]:
    """Say what makes a run's numbers no score of a model: its tasks, its players, its mixture."""
    found: dict[str, list[str]] = {}
    for name, run in runs.items():
        subset, player = subset_of(run.config), mapping(run.config, "agent").get("rehearse")
        sides = (f"a person played the {side}, not a model" for side in human_sides(run.config))
        codes = (each.code for each in run.outcomes if each.status)  # without gaps
        words = (
            subset and subset.note,
            text_or_none(run.config.get(JUDGED_BY)),
            mark_of_perturbation(run.config),
            *sides,
            f"a rehearsal, in which {player} played the agent's model" if player else None,
            words_on_cache(run.outcomes),
            (costs := costs_in_words(costs_by_role(run.outcomes))) and f"cost: {costs}",
            words_on_code(codes),
        )
        for each in filter(None, words):
            found.setdefault(each, []).append(name)
    return [f"{some(names)}: {words}" for words, names in found.items()]


def some(names: Sequence[str], most: int = 3) -> str:
    """Return a few names, and how many more there are."""
    # One more name than asked for takes no more room than "and 1 more".
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
