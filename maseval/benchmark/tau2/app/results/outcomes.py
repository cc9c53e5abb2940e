"""The outcomes and settings of a results file or a run, in the form in which runs are compared.

Every verdict is recomputed, unless the data or the release of the run is not here: then the
recorded rewards count, and a note says so.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType

from maseval.app.benchmarks import BenchmarkSupport, OnProgress, RecordedOutcomes, support_for
from maseval.app.results.examined import examine_run
from maseval.app.results.recording import notes_on
from maseval.benchmark.tau2.app.results.sources import FileRecording
from maseval.benchmark.tau2.app.results.support import RecordedSetup, RecordedSide
from maseval.benchmark.tau2.data_loader import data_fingerprint
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.rescoring.findings import in_words, shuffled_task_ids
from maseval.benchmark.tau2.rescoring.recount import Recount
from maseval.benchmark.tau2.rescoring.tasks import KnownTasks, policies, task_content
from maseval.benchmark.tau2.rescoring.verdict import FOREIGN_TASK
from maseval.benchmark.tau2.results import ResultsFile
from maseval.benchmark.tau2.texts.original import format_texts_config
from maseval.benchmark.tau2.world.state.records import hash_json
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.outcome import Outcome, TaskKey
from maseval.core.recorded import mapping
from maseval.core.scoring_options import ScoringOptions
from maseval.runs.recording import Recording, outcomes_in

# Enough to tell tasks apart, and short enough to be shown.
_DIGITS = 12
TASKS = "tasks"
"""The part of a fingerprint with a hash for each task, which a domain of your own has."""


def data_digest(fingerprint: object) -> str:
    """Return a short hash of a domain's data but its tasks, which are compared one by one."""
    parts = mapping(fingerprint).items()
    return hash_json({name: part for name, part in parts if name != TASKS})[:_DIGITS]


def outcomes_of_file(run: FileRecording) -> RecordedOutcomes:
    """Return every planned simulation of a results file; a missing one has no verdict.

    Simulations of tasks that the benchmark does not have cannot be compared and are left out.
    """
    found, options = run.recount, run.options
    foreign = {each.slot for each in found.simulations if each.problem == FOREIGN_TASK}
    known = {name: found.known_tasks(domain) for name, domain in found.domains.items()}
    if not options.embedded_tasks:
        # Simulations that are missing cannot say that their task is unknown.
        foreign |= {slot for slot in found.by_trial if known[slot.domain].raw(slot.task_id) is None}
    costs = {each.slot: each.cost for each in found.simulations}
    outcomes = [
        each._replace(cost=costs.get(slot))
        for slot, each in zip(found.by_trial, found.outcomes, strict=True)
        if slot not in foreign
    ]
    # Paired task by task, a shuffled file would be compared with conversations of other tasks.
    if any(each.slot not in foreign and found.misfit(each) for each in found.simulations):
        words = "; ".join(map(in_words, shuffled_task_ids(found)))
        raise ConfigurationError(f"{run.path} cannot be compared task by task: {words}")
    notes = [*options.marks, *map(in_words, found.findings)]
    tasks = _task_digests(outcomes, known, found.claims.tasks)
    gone = [TaskKey(name, one) for name, (_, _, absent) in found.unlisted.items() for one in absent]
    settings = _settings(run.file, found)
    return RecordedOutcomes(run, outcomes, len(found.slots), settings, notes, tasks, gone)


def _task_digests(
    outcomes: Iterable[Outcome],
    known: Mapping[str, KnownTasks],
    embedded: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> dict[TaskKey, str]:
    """Hash each task: the file's where it has one under that id, else the benchmark's."""
    keys = dict.fromkeys(outcome.key for outcome in outcomes)
    tasks = {key: embedded.get(key.task_id) or known[key.domain].raw(key.task_id) for key in keys}
    known_tasks = ((key, task) for key, task in tasks.items() if task is not None)
    return {key: hash_json(task_content(task))[:_DIGITS] for key, task in known_tasks}


def _settings(results: ResultsFile, found: Recount) -> dict[str, object]:
    """Return the settings recorded in a file; a file of lines records none."""
    data = {name: data_digest(data_fingerprint(each)) for name, each in found.domains.items()}
    if not results.raw_info:
        return {"benchmark": "tau2", "data": data}
    setup = RecordedSetup.of_file(results)
    settings = {
        "benchmark": "tau2",
        "agent": _side(setup.agent),
        "user": _side(setup.user),
        "mode": setup.mode,
        "max_steps": setup.limits.get("max_steps"),
        "data": data,
    }
    known = {key: value for key, value in settings.items() if value is not None}
    return {**known, "seed": setup.limits.get("seed")}


def _side(side: RecordedSide) -> dict[str, object] | str | None:
    if side.model is None:
        return side.player
    return {"model": side.model, "args": dict(side.model_args)}


def run_outcomes(
    recording: Recording, options: ScoringOptions, on_progress: OnProgress | None = None
) -> RecordedOutcomes:
    """Return the finished simulations, recomputed where the data is what it was."""
    if isinstance(recording, FileRecording):
        return outcomes_of_file(recording)
    tasks: dict[TaskKey, str] = {}
    held = recording
    if options.as_recorded:
        outcomes = outcomes_in(recording)
        notes: list[str | None] = [*ScoringOptions(as_recorded=True).marks]
    else:
        found = examine_run(recording, (), on_progress)
        held, outcomes = found.folder, [*found.lines]
        notes = [] if found.check is None else [found.check.note_on_recomputed]
        if found.check is None or not found.check.obstacle:
            release = release_named(RecordedSetup.of(recording.config.values).release)
            names = {one.domain for one in outcomes}
            known = {each: KnownTasks(release.domain(each), version=release.name) for each in names}
            tasks = _task_digests(outcomes, known)
    if recording.damaged:
        lost = [one for one in recording.planned if one not in recording.recorded]
        notes.append(
            f"{len(lost)} of {len(recording.planned)} simulations have no record and no verdict"
        )
    every = [*filter(None, notes), *notes_on(recording)]
    planned = len(recording.planned)
    settings = support_for(recording).settings(recording)
    return RecordedOutcomes(held, outcomes, planned, settings, every, tasks)


def settings_of_run(folder: Recording) -> dict[str, object]:
    """Return the settings of a run with one word for data and texts, so that others take a line."""
    config = BenchmarkSupport().settings(folder)
    if isinstance(data := config.get("data"), Mapping):
        config["data"] = {name: data_digest(each) for name, each in data.items()}
    if isinstance(texts := config.get("texts"), Mapping):
        config["texts"] = format_texts_config(texts)
    return config


def differing_data(folder: Recording) -> list[str]:
    """List the files of a run's domains that are others here."""
    setup, found = RecordedSetup.of(folder.config.values), []
    for name, recorded in setup.data.items():
        try:
            release = release_named(setup.release)
            here = data_fingerprint(name, version=release if name in release.domains else None)
        except MASEvalError as error:  # a domain or a release that is not known here
            found.append(f"{name}: {error}")
            continue
        found += [
            f"{name}: {part} is not what the run was made with"
            for part in _other_parts(mapping(recorded), here)
        ]
    return found


def _other_parts(then: Mapping[str, object], here: Mapping[str, object]) -> list[str]:
    """Name the files and tasks of a run that are others here; what was added since is no matter."""
    tasks, others = mapping(then, TASKS), mapping(here, TASKS)
    # Where every task has a hash, their file does not count: a task that was added since is no
    # matter.
    files = {*here, *then} - ({TASKS, "tasks.json"} if others else {TASKS})
    return [
        *sorted(file for file in files if here.get(file) != then.get(file)),
        *(f"task {each}" for each in tasks if tasks[each] != others.get(each)),
    ]


def policies_of(folder: Recording) -> dict[str, tuple[str, ...]]:
    release, found = release_named(RecordedSetup.of(folder.config.values).release), {}
    for name in sorted({one.domain for one in folder.planned}):
        with suppress(MASEvalError):  # the data is elsewhere, or the domain somebody else's
            found[name] = policies(release.domain(name))
    return found
