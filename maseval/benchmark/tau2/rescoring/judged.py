"""JudgedRecord: every report of a record judged again, and counted among those planned.

Nothing that the record says of itself is believed. The tasks are those of the benchmark, and every
planned simulation is accounted for: tasks times trials. What did not end as its release lets it
end is a failure. What is missing or cannot be judged has no verdict: the number is over
the others, and comes with the range that these leave open.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.domains import Domain, UnknownDomainError, domain_named
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.rescoring.tasks import KnownTasks, planned_trials, smallest_split
from maseval.benchmark.tau2.rescoring.verdict import (
    JudgedSimulation,
    conversation_in,
    judge,
    marks_of,
    rules_for,
)
from maseval.benchmark.tau2.results.recorded import (
    BY_OPTION,
    FILED,
    Claims,
    RecordedReports,
)
from maseval.benchmark.tau2.results.writing import Tau2Report
from maseval.core.exceptions import ResultFileError
from maseval.core.judge import Judge
from maseval.core.outcome import Outcome, Simulation
from maseval.core.recorded import mapping
from maseval.core.report import Report
from maseval.core.report_parts import is_successful
from maseval.core.scoring_options import ScoringOptions
from maseval.core.tracing import JsonObject
from maseval.stats.summary import MISSING, GroupSummary, summarise, with_gaps

NO_RECORDED_VERDICT = "no recorded verdict"


class JudgedRecord:
    """The simulations of a record, judged one after the other.

    ``malformed`` lists what could not be read, and ``models`` those that the reports name.
    """

    def __init__(
        self,
        source: RecordedReports,
        options: ScoringOptions | None = None,
        *,
        path: Path | None = None,
        whole_split: bool = False,
        judge: Judge | None = None,
    ) -> None:
        self.path, self.options = path, options or ScoringOptions()
        self.claims: Claims = source.claims
        self.model = judge
        self.simulations: list[JudgedSimulation] = []
        self.malformed: list[str] = []
        self.models: set[str] = set()
        self._source, self._whole_split = source, whole_split
        domain, version = self.options.domain, self.options.data_version
        self._domain = None if domain is None else domain_named(domain)
        self._version = self.claims.version if version is None else release_named(version).name
        self._known: dict[str, KnownTasks] = {}
        self._unnumbered: Counter[tuple[str, str]] = Counter()

    @property
    def version_from(self) -> str:
        """Says who chose the release by which it was judged."""
        return BY_OPTION if self.options.data_version is not None else self.claims.version_from

    def judge_all(self) -> Iterator[tuple[Tau2Report, JudgedSimulation]]:
        """Judge every simulation; yield its report and what came out, one at a time."""
        for raw in self._reports():
            report = Tau2Report(raw)
            is_lost = bool(mapping(report.raw, FILED))
            if is_lost and self._domain is None and not _is_known(report.domain_name):
                continue  # nobody can tell what it was
            sides = (*report.agents.values(), report.user)
            # A certificate names them all, whatever the file's own settings say.
            self.models.update(side.model_id for side in sides if side.model_id)
            judged = self._judge(report)
            self.simulations.append(replace(judged, checks=None))  # one verdict is held at a time
            yield report, judged

    def _reports(self) -> Iterator[Report]:
        try:
            yield from self._source.reports(lambda error: self.malformed.append(str(error)))
        except ResultFileError as error:  # of the file itself: it is cut off, or no JSON
            self.malformed.append(str(error))

    def _judge(self, report: Tau2Report) -> JudgedSimulation:
        domain, release = rules_for(report, self._domain, self._version)
        known = self.known_tasks(domain, release.name)
        simulation, _ = conversation_in(report)
        named = str(simulation.get("task_id"))
        trial = self._trial(simulation.get("trial"), domain, named)
        task = self.embedded_task(named)
        judged = judge(report, domain, release, trial, task=task, model=self.model)
        checked = known.checked_task(named, report.recorded_verdict)
        return replace(judged, marks=dict(marks_of(simulation)), checked_task=checked)

    def embedded_task(self, task_id: str) -> Mapping[str, Any] | None:
        """Return the task in the file, if it is to be judged by; None means the benchmark's."""
        return self.claims.tasks.get(task_id) if self.options.embedded_tasks else None

    def known_tasks(self, domain: Domain, version: str | None = None) -> KnownTasks:
        """Return what is known of a domain's tasks; ``version`` counts when it is first asked."""
        if domain.name not in self._known:
            self._known[domain.name] = KnownTasks(domain, version)
        return self._known[domain.name]

    @property
    def domains(self) -> dict[str, Domain]:
        return {name: known.domain for name, known in self._known.items()}

    def misfit(self, judged: JudgedSimulation) -> str | None:
        """Say that the task by which a simulation was judged is not that of its conversation."""
        if judged.checked_task is None or self.options.embedded_tasks:
            return None
        return (
            f"the task does not fit the conversation: the file calls it task "
            f"{judged.slot.task_id}, but has the checks of task {judged.checked_task} for it"
        )

    @property
    def version(self) -> str:
        named = {each.version or release_named().name for each in self._known.values()}
        return " and ".join(sorted(named)) or release_named().name

    def _trial(self, trial: int | None, domain: Domain, task_id: str) -> int:
        """Its number; simulations without one, or without a plan, are numbered in their order."""
        if trial is not None and self.claims.has_plan:
            return int(trial)
        key = domain.name, task_id
        self._unnumbered[key] += 1
        return self._unnumbered[key] - 1

    @cached_property
    def domain(self) -> Domain | None:
        return next(iter(self.domains.values())) if len(self._known) == 1 else None

    @cached_property
    def slots(self) -> list[Simulation]:
        if not self.claims.has_plan:
            return self._seen
        name = None if self.domain is None else self.domain.name
        tasks = [*self.claims.tasks, *self.tasks_left_out]
        return planned_trials(name, tasks, self.claims.num_trials, self._seen)

    @property
    def _seen(self) -> list[Simulation]:
        return [*self.claims.planned, *(each.slot for each in self.simulations)]

    @cached_property
    def split(self) -> tuple[str, Sequence[str]] | None:
        """The split that the record should hold as a whole, and its tasks."""
        if not self._whole_split or self.domain is None:
            return None
        known = self.known_tasks(self.domain)
        ours = [task_id for task_id in self._task_ids if known.raw(task_id) is not None]
        return smallest_split(self.domain, ours, known.version)

    @cached_property
    def tasks_left_out(self) -> list[str]:
        """The tasks of the split that the record does not even list."""
        ids = () if self.split is None else self.split[1]
        return [task_id for task_id in ids if task_id not in self._task_ids]

    @cached_property
    def _task_ids(self) -> set[str]:
        return {*self.claims.tasks, *(slot.task_id for slot in self._seen)}

    @cached_property
    def unlisted(self) -> Mapping[str, tuple[str, int, Sequence[str]]]:
        """Of domains with a part of a split: its name, its size, and the tasks that are not there.

        Nothing if the whole split is counted anyway.
        """
        if self.split is not None or not self.claims.has_plan:
            return {}
        found: dict[str, tuple[str, int, Sequence[str]]] = {}
        for name, known in self._known.items():
            listed = {slot.task_id for slot in self.slots if slot.domain == name}
            ours = [task_id for task_id in listed if known.raw(task_id) is not None]
            split = smallest_split(known.domain, ours, known.version) if ours else None
            if split is not None and (gone := [each for each in split[1] if each not in listed]):
                found[name] = split[0], len(split[1]), gone
        return found

    def bounds_over_split(self, domains: Collection[str]) -> tuple[float, float]:
        """Return pass^1 over whole splits if all that is missing fails, and if all of it passes."""
        outcomes = [each for each in self.outcomes if each.domain in domains]
        gone = [
            Simulation(name, each, 0)
            for name, (_, _, absent) in self.unlisted.items()
            for each in absent
            if name in domains
        ]
        return summarise(with_gaps(outcomes, gone)).overall.estimate(1).bounds or (0.0, 1.0)

    @cached_property
    def by_slot(self) -> Mapping[Simulation, list[JudgedSimulation]]:
        """The recorded simulations of each planned trial."""
        found: dict[Simulation, list[JudgedSimulation]] = defaultdict(list)
        for each in self.simulations:
            found[each.slot].append(each)
        return found

    @property
    def missing(self) -> list[Simulation]:
        return [slot for slot in self.slots if slot not in self.by_slot]

    @cached_property
    def by_trial(self) -> Mapping[Simulation, bool | None]:
        """The verdict on each planned trial; None if it has none.

        Of several simulations of one trial, all must pass.
        """
        verdicts = {
            slot: [self.verdict_alone(each) for each in self.by_slot.get(slot, ())]
            for slot in self.slots
        }
        return {
            slot: None
            if not several or (None in several and False not in several)
            else all(several)
            for slot, several in verdicts.items()
        }

    def verdict_alone(self, each: JudgedSimulation) -> bool | None:
        """Return the verdict on a simulation, whatever else is recorded of the same trial."""
        # Whatever its checks say: what neither side ended was cut off, and that is a failure.
        if each.impossible_ending:
            return False
        if self.options.as_recorded:
            return None if each.recorded is None else each.passed_as_recorded
        return each.passed if each.no_verdict is None else None

    @cached_property
    def outcomes(self) -> list[Outcome]:
        return [
            Outcome(*slot, passed, reason=None if passed is not None else self._reason(slot))
            for slot, passed in self.by_trial.items()
        ]

    def _reason(self, slot: Simulation) -> str:
        several = self.by_slot.get(slot, ())
        without = (each.no_verdict for each in several if self.verdict_alone(each) is None)
        return next(without, MISSING) or NO_RECORDED_VERDICT

    @cached_property
    def summary(self) -> GroupSummary | None:
        """The numbers of all planned trials; None if nothing is planned."""
        return summarise(self.outcomes).overall if self.outcomes else None

    @property
    def recorded_score(self) -> JsonObject | None:
        """pass^1 as the record has it, whatever became of it when it was recomputed."""
        outcomes = []
        for slot in dict.fromkeys(self.slots):
            rewards = [each.recorded for each in self.by_slot.get(slot, ())]
            known = [each for each in rewards if each is not None]
            whole = known and len(known) == len(rewards)
            outcomes.append(Outcome(*slot, all(map(is_successful, known)) if whole else None))
        return summarise(outcomes).overall.pass_1 if outcomes else None

    @property
    def disagreeing(self) -> list[JudgedSimulation]:
        return [each for each in self.simulations if each.differences]

    @property
    def problems(self) -> Counter[str]:
        """The number of simulations without a verdict, by the reason."""
        return Counter(each.problem for each in self.simulations if each.problem)


def _is_known(domain: str | None) -> bool:
    try:
        return domain is not None and bool(domain_named(domain))
    except UnknownDomainError:
        return False
