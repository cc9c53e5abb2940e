"""Records of simulations: a results file, simulations, or the reports of a run.

What the source says of itself (its domain, tasks, policy, number of trials) is kept beside the
simulations, to be compared with the benchmark's own. None of it is believed. Its tasks are compared
first, to find edited and mixed-up ones.
"""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from maseval.benchmark.tau2.data import title_of
from maseval.benchmark.tau2.data.files import are_cached
from maseval.benchmark.tau2.data_loader import (
    UnknownTaskError,
    load_domain_config,
    load_raw_task,
    load_raw_tasks,
    split_names,
)
from maseval.benchmark.tau2.domains import Domain, UnknownDomainError, domain_named
from maseval.benchmark.tau2.domains.releases import (
    DEFAULT_RELEASE,
    RELEASES,
    AnyVersion,
    release_named,
    release_of,
)
from maseval.benchmark.tau2.formats.message import Tau2Message, is_user_stop
from maseval.benchmark.tau2.results import (
    Omitted,
    RecordedSimulation,
    ResultsFile,
    ResultsFormatError,
    read_results,
    simulation_of,
)
from maseval.benchmark.tau2.results.layout import is_trial
from maseval.benchmark.tau2.results.reading import recorded_domain
from maseval.benchmark.tau2.results.writing import Tau2Report
from maseval.benchmark.tau2.texts.original import format_texts_config
from maseval.benchmark.tau2.world.state.records import canonical_json
from maseval.benchmark.tau2.world.tasks import TaskSpec
from maseval.core.exceptions import ConfigurationError, ResultFileError, TaskFormatError
from maseval.core.outcome import MOST_SIMULATIONS, OutcomeKind, Simulation
from maseval.core.recorded import entries, mapping, whole_number
from maseval.core.report import Report
from maseval.core.task import ChosenSubset
from maseval.core.words import excerpt, text_or_none

RawTaskLike = Mapping[str, Any]

CRITERIA, REMOVED, INSTRUCTIONS, START = "criteria", "criteria removed", "instructions", "start"


def task_content(task: RawTaskLike) -> str:
    """Return everything of a task that scoring depends on, and the user's instructions."""
    return canonical_json([part for _, part in sorted(_parts(task).items())])


def differing_parts(theirs: RawTaskLike, ours: RawTaskLike) -> list[str]:
    """Return the parts of a task that differ from the benchmark's."""
    if theirs == ours:
        return []
    a, b = _parts(theirs), _parts(ours)
    found = [name for name in (CRITERIA, INSTRUCTIONS, START) if a[name] != b[name]]
    if CRITERIA in found and not _has_criteria(theirs) and _has_criteria(ours):
        found[0] = REMOVED
    return found


def _parts(task: RawTaskLike) -> dict[str, object]:
    try:
        spec: Any = TaskSpec.of(task).model_dump(mode="json")
    except TaskFormatError:  # of a release or fork with other criteria
        start = TaskSpec.of({**task, "evaluation_criteria": None}).model_dump(mode="json")
        spec = {**start, "evaluation_criteria": task.get("evaluation_criteria")}
    return {
        CRITERIA: spec["evaluation_criteria"],
        INSTRUCTIONS: _without_nothing(task.get("user_scenario")),
        START: _without_nothing(spec["initial_state"]),
    }


def _has_criteria(task: RawTaskLike) -> bool:
    criteria = mapping(task, "evaluation_criteria")
    return any(criteria.get(key) for key in ("actions", "env_assertions", "communicate_info"))


def _without_nothing(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nothing(part) for key, part in value.items() if part is not None}
    return [_without_nothing(part) for part in value] if isinstance(value, list) else value


class KnownTasks:
    """A domain's tasks, and which of them recorded checks belong to."""

    def __init__(self, domain: Domain, version: str | None = None) -> None:
        self.domain = domain
        self.version = version
        self._raw: dict[str, RawTaskLike | None] = {}

    def raw(self, task_id: str) -> RawTaskLike | None:
        """Return a task as the benchmark has it; None if it has none of that id."""
        if task_id not in self._raw:
            try:
                task = load_raw_task(self.domain, task_id, version=self.version)
            except UnknownTaskError:
                task = None
            self._raw[task_id] = task
        return self._raw[task_id]

    @cached_property
    def _by_checks(self) -> Mapping[str, list[str]]:
        split = "base" if "base" in self.domain.task_files else next(iter(self.domain.task_files))
        found: dict[str, list[str]] = defaultdict(list)
        for task in load_raw_tasks(self.domain, split, version=self.version):
            found[_content(_actions(task))].append(str(task["id"]))
        return found

    def checked_task(self, task_id: str, verdict: Mapping[str, Any] | None) -> str | None:
        """The other task to which a verdict's action checks belong; None if there is none."""
        checks = entries(mapping(verdict).get("action_checks"))
        actions = [mapping(check, "action") for check in checks]
        if not actions or _content(actions) == _content(_actions(self.raw(task_id))):
            return None
        found = self._by_checks.get(_content(actions), [])
        return found[0] if len(found) == 1 else None


def _actions(task: RawTaskLike | None) -> Sequence[object]:
    return entries(mapping(task, "evaluation_criteria").get("actions"))


def _content(actions: Sequence[object]) -> str:
    kept = ("action_id", "name", "arguments")
    return canonical_json([[mapping(action).get(key) for key in kept] for action in actions])


def differing_tasks(
    embedded: Mapping[str, RawTaskLike], known: KnownTasks
) -> Iterator[tuple[str, list[str]]]:
    """Yield the tasks of a file that the domain has otherwise, and what differs in each."""
    for task_id, theirs in embedded.items():
        ours = known.raw(task_id)
        if ours is not None and (parts := differing_parts(theirs, ours)):
            yield task_id, parts


def other_releases(domain: Domain, judged_by: str) -> tuple[list[str], list[str]]:
    """Return the other releases with the domain: those whose data is here, and the rest.

    Of a release that nobody asked for, only what is here and whole is used: none is fetched.
    """
    if domain.data_dir is not None:
        return [], []
    having = [name for name, each in RELEASES.items() if domain.name in each.domains]
    others = [name for name in having if name not in judged_by]
    here = [name for name in others if are_cached(domain.folder_name, name)]
    return here, [title_of(name) for name in others if name not in here]


def has_tasks(domain: Domain, version: str, tasks: Mapping[str, RawTaskLike]) -> bool:
    known = KnownTasks(RELEASES[version].domain(domain), version=version)
    return all(
        (ours := known.raw(task_id)) is not None and task_content(task) == task_content(ours)
        for task_id, task in tasks.items()
    )


@cache
def policies(domain: Domain) -> tuple[str, ...]:
    """Return the domain's own policy, and the one for an agent that works alone if there is one."""
    folder = load_domain_config(domain)["db_path"].parent
    modes = (False,) if domain.solo_refusal else (False, True)
    return tuple(domain.policy(folder, solo=solo) for solo in modes)


RecordSource = (
    str | os.PathLike[str] | ResultsFile | Iterable[RecordedSimulation | Mapping[str, Any]]
)
MALFORMED = "not in v0.2.0's form"
BY_DEFAULT, BY_OPTION, BY_FORM, BY_RUN = "by default", "as asked", "by the file's form", "as run"


def planned_trials(
    domain: str | None,
    task_ids: Iterable[str],
    num_trials: int | None,
    seen: Iterable[Simulation],
) -> list[Simulation]:
    """Tasks times trials: those that are listed, and those that are there without being listed."""
    found = list(dict.fromkeys(seen))
    trials = max([num_trials or 0, *(slot.trial + 1 for slot in found)], default=0)
    tasks = dict.fromkeys(slot[:2] for slot in found)
    if domain is not None:
        tasks |= dict.fromkeys((domain, task_id) for task_id in task_ids)
    if len(tasks) * trials > MOST_SIMULATIONS:
        raise ResultFileError(
            f"the record plans {excerpt(trials, 20)} trials of each of {len(tasks):,} tasks, more "
            f"than {MOST_SIMULATIONS:,} simulations; look at its num_trials and at the trial of "
            "each simulation, or split it"
        )
    return [Simulation(*task, trial) for task in tasks for trial in range(trials)]


def smallest_split(
    domain: Domain, task_ids: Iterable[str], version: str | None = None
) -> tuple[str, Sequence[str]] | None:
    """The smallest split of the domain that has all these tasks, and the ids of its tasks."""
    wanted = set(task_ids)
    fitting = [each for each in _splits(domain, version).items() if wanted <= set(each[1])]
    return min(fitting, key=lambda each: len(each[1]), default=None)


@lru_cache(maxsize=16)
def _splits(domain: Domain, version: str | None) -> Mapping[str, Sequence[str]]:
    """Return the ids of the tasks of each split; reading the files takes a moment."""
    # Tasks of another release have its splits too.
    source = release_of(domain, version).tasks.domain(domain)
    return {
        name: [str(raw["id"]) for raw in load_raw_tasks(domain, name, version=version)]
        for name in split_names(source)
    }


class PrintedVerdict(NamedTuple):
    """The verdict of a report as ``show`` and the viewer print it, whatever its checks say."""

    status: str
    kind: OutcomeKind
    reward: float | None


class RecordItem(NamedTuple):
    """A simulation with its world, and the verdict that was recorded for it.

    ``domain`` is that of the release by which it is judged, ``version`` the name of the release.
    ``texts`` names what models read in it, where that is recorded, and ``wording`` whose texts
    these were, in which a judge is asked again. ``problem`` says why it cannot be scored. ``shown``
    is what a report shows of it, and ``code`` the state of one's own code that it ran under.
    """

    simulation: Mapping[str, Any]
    domain: Domain
    solo: bool = False
    recorded: Mapping[str, Any] | None = None
    lenient: bool = False
    texts: str | None = None
    problem: str | None = None
    version: str | None = None
    wording: str | None = None
    shown: PrintedVerdict | None = None
    code: str | None = None


@dataclass
class SimulationRecord:
    """The simulations of a source while they are gone through, and what the source says of them.

    ``planned`` are the simulations of a run's plan. ``malformed`` lists what could not be read.
    ``version`` is the release of all simulations, if there is one, and ``version_from`` says who
    chose it. ``seed`` is that of the run, from which those of its trials follow. ``setup`` has the
    participants and limits, and ``models`` those that reports name. ``subset`` is set if the tasks
    were chosen to estimate the score of all, and ``stopped`` says why a run was not of a fixed
    size.
    """

    items: Iterator[RecordItem]
    name: str | None = None
    domain_name: str | None = None
    tasks: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    policy: str | None = None
    num_trials: int | None = None
    planned: Sequence[Simulation] = ()
    malformed: list[str] = field(default_factory=list)
    version: str | None = None
    version_from: str = BY_DEFAULT
    seed: int | None = None
    setup: Mapping[str, Any] = field(default_factory=dict)
    subset: ChosenSubset | None = None
    stopped: str | None = None
    models: set[str] = field(default_factory=set)

    @property
    def has_plan(self) -> bool:
        """True if the record says which simulations there should be.

        Simulations from anywhere, such as lines of a file, may be of several runs.
        """
        return bool(self.tasks or self.planned or self.num_trials)

    @property
    def expected(self) -> int:
        """The number of simulations that there should be; 0 if it has no plan."""
        return len(self.planned) or len(self.tasks) * (self.num_trials or 0)


def open_record(
    source: RecordSource,
    domain: str | Domain | None = None,
    version: AnyVersion = None,
) -> SimulationRecord:
    """Open a source; ``domain`` is used whatever it says.

    ``version`` names the release by whose tasks and rules it is judged. Without it, reports are
    judged by the release that they were run by, files in the form of v1.0.x by v1.0.1, and all
    else by v0.2.0 or the domain's own.
    """
    chosen = None if domain is None else domain_named(domain)
    if isinstance(source, str | os.PathLike):
        source = read_results(source)
    if isinstance(source, ResultsFile):
        whole = _describe_file(source)
        items = _items_of_file(source, chosen, whole)
    else:
        whole = SimulationRecord(iter(()))
        items = (_item(each, chosen, whole) for each in source)
    if version is not None:
        whole.version, whole.version_from = release_named(version).name, BY_OPTION
    whole.items = (_in_release(item, whole.version) for item in items)
    return whole


def _in_release(item: RecordItem, version: str | None) -> RecordItem:
    """Return the item with its domain as the release has it."""
    if version is None and item.version is None:
        return item._replace(version=release_of(item.domain).name)
    release = release_named(item.version if version is None else version)
    domain = release.domain(item.domain)
    if item.lenient and release is not DEFAULT_RELEASE:
        domain = world_of(item.domain.name, release.name, True)
    return item._replace(domain=domain, version=release.name)


def _describe_file(file: ResultsFile) -> SimulationRecord:
    """Return what a file says of itself: also its participants and limits, and a hash of it all."""
    whole = SimulationRecord(iter(()), name=Path(file.path).name)
    if file.layout == "lines":
        return whole
    # Forks write the form of v0.2.0, too; only a later one says something.
    if file.form != DEFAULT_RELEASE.name:
        whole.version, whole.version_from = file.form, BY_FORM
    info = file.raw_info
    trials = whole_number(info.get("num_trials"))
    whole.domain_name = recorded_domain(info)
    whole.tasks = file.tasks
    whole.policy = text_or_none(mapping(info, "environment_info").get("policy"))
    whole.num_trials = trials if trials is not None and trials > 0 else None
    whole.seed = whole_number(info.get("seed"))
    sides = {side: mapping(info, f"{side}_info") for side in ("agent", "user")}
    whole.setup = {
        **{
            side: {key: text_or_none(given.get(key)) for key in ("implementation", "llm")}
            for side, given in sides.items()
        },
        **{key: info.get(key) for key in ("max_steps", "max_errors", "seed", "num_trials")},
        "info_sha256": hashlib.sha256(canonical_json(info).encode()).hexdigest(),
    }
    return whole


def _items_of_file(
    file: ResultsFile, domain: Domain | None, whole: SimulationRecord
) -> Iterator[RecordItem]:
    broken: list[ResultsFormatError] = []
    try:
        for record in file.records(broken.append):
            yield from _malformed_items(broken, domain or known_domain(record.domain), whole)
            yield _item(record, domain, whole)
    except ResultsFormatError as error:  # of the file itself: it is cut off, or no JSON
        whole.malformed.append(str(error))
    yield from _malformed_items(broken, domain or known_domain(whole.domain_name), whole)


def _malformed_items(
    errors: list[ResultsFormatError], domain: Domain | None, whole: SimulationRecord
) -> Iterator[RecordItem]:
    for error in errors:
        whole.malformed.append(str(error))
        task_id = error.details.get("task_id")
        if domain is not None and task_id is not None:
            trial = error.details.get("trial")  # as it stands in the file, which may be anything
            known = trial if is_trial(trial) else None
            named: dict[str, object] = {"task_id": str(task_id), "trial": known, "messages": []}
            yield RecordItem(named, domain, problem=MALFORMED)
    errors.clear()


def known_domain(name: str | None) -> Domain | None:
    """Return the domain of that name, or None if there is none."""
    try:
        return None if name is None else domain_named(name)
    except UnknownDomainError:
        return None


def _item(
    each: RecordedSimulation | Mapping[str, Any],
    domain: Domain | None,
    whole: SimulationRecord,
) -> RecordItem:
    if isinstance(each, RecordedSimulation):
        simulation = cast("Mapping[str, Any]", each.simulation)
        try:
            world = domain or _require_domain(domain_named(each.domain) if each.domain else None)
        except UnknownDomainError as error:
            way_out = "if the simulations are of a variant of one of them, name it with --domain"
            raise UnknownDomainError(f"{error}; {way_out}") from None
        version = each.version if each.version in RELEASES else None
        if version is not None:
            whole.version_from = BY_RUN if whole.version_from == BY_DEFAULT else whole.version_from
            world = world_of(world.name, version, each.lenient)
        verdict = cast("Any", each.verdict)
        return RecordItem(
            simulation, world, each.solo, verdict, lenient=each.lenient, version=version
        )
    if "repeat_idx" in each:
        report = cast("Report", each)
        return _of_report(report, simulation_of(report), domain, whole)
    return RecordItem(each, _require_domain(domain), recorded=each.get("reward_info"))


def item_of_report(report: Report, simulation: Mapping[str, Any] | Omitted) -> RecordItem:
    """Return a report with its simulation, which was read already, to be judged by its release."""
    return _in_release(_of_report(report, simulation, None, SimulationRecord(iter(()))), None)


def _of_report(
    report: Report,
    simulation: Mapping[str, Any] | Omitted,
    domain: Domain | None,
    whole: SimulationRecord,
) -> RecordItem:
    parsed = Tau2Report(report)
    version = parsed.release.name
    name = parsed.settings.get("domain") or parsed.metadata.get("domain")
    if domain is None and name:
        domain = world_of(str(name), version, parsed.lenient)
    models = [side.model_id for side in (*parsed.agents.values(), parsed.user) if side.model_id]
    whole.models.update(map(str, models))
    whole.version_from = BY_RUN if whole.version_from == BY_DEFAULT else whole.version_from
    shown = PrintedVerdict(str(report["status"]), parsed.kind, parsed.reward)
    item = RecordItem({}, _require_domain(domain), version=version, shown=shown, code=parsed.code)
    if isinstance(simulation, Omitted):
        # The user's stop shows that it was no accident, whatever the record calls it.
        last = (cast("Tau2Message", each.raw) for each in parsed.simulation.messages[-1:])
        stop = [each for each in last if each.get("role") == "user" and is_user_stop(each)]
        named = {"task_id": simulation.task_id, "trial": simulation.trial, "messages": stop}
        problem = f"{simulation.status}: {simulation.reason.partition(':')[0]}"
        return item._replace(simulation=named, problem=problem)
    recorded = simulation["reward_info"]
    if not recorded and shown.kind in ("pass", "fail"):
        # Its checks are not there, but its verdict is compared all the same.
        passed = float(shown.kind == "pass")
        recorded = {"reward": passed if shown.reward is None else shown.reward}
    return item._replace(
        simulation=simulation,
        solo=parsed.solo,
        recorded=recorded or None,
        lenient=parsed.lenient,
        texts=format_texts_config(parsed.texts, digits=64) if parsed.texts else None,
        wording=text_or_none(parsed.texts.get("name")),
    )


def world_of(name: str, version: str | None, lenient: bool = False) -> Domain:
    """Return a domain of a release; it is the same object each time, with what is known of it."""
    domain = release_named(version).domain(name)
    return domain.lenient if lenient else domain


def _require_domain(domain: Domain | None) -> Domain:
    if domain is None:
        raise ConfigurationError(
            "a simulation does not name its domain; pass it, such as domain='retail' "
            "(--domain retail)"
        )
    return domain
