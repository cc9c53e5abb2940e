"""rescore_record: score every simulation of a record again, and count it among those planned.

Nothing that the record says of itself is believed. The tasks are those of the benchmark, and every
planned simulation is accounted for: tasks times trials. What did not end as its release lets it
end is a failure. What is missing or cannot be judged has no verdict: the number is over
the others, and comes with the range that these leave open.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.rescoring.record import (
    KnownTasks,
    RecordItem,
    SimulationRecord,
    planned_trials,
    smallest_split,
)
from maseval.benchmark.tau2.rescoring.verdict import (
    RescoredSimulation,
    compare_verdicts,
    marks_of,
    rescore_simulation,
)
from maseval.core.judge import Judge
from maseval.core.outcome import Outcome, Score, Simulation, is_successful
from maseval.core.scoring_options import ScoringOptions
from maseval.stats.summary import MISSING, GroupSummary, summarise, with_gaps

NO_RECORDED_VERDICT = "no recorded verdict"


class RescoredRecord:
    """The simulations of a record, judged one after the other."""

    def __init__(
        self,
        record: SimulationRecord,
        options: ScoringOptions | None = None,
        *,
        whole_split: bool = False,
        judge: Judge | None = None,
    ) -> None:
        self.record = record
        self.options = options or ScoringOptions()
        self.simulations: list[RescoredSimulation] = []
        self._whole_split = whole_split
        self.model = judge
        self._known: dict[str, KnownTasks] = {}
        self._unnumbered: Counter[tuple[str, str]] = Counter()

    def judge(self, item: RecordItem) -> tuple[RescoredSimulation, RewardInfo | None]:
        """Judge the next simulation, and add what is kept of it; return that and its verdict."""
        trial = self._trial(item, str(item.simulation.get("task_id")))
        found, verdict = self.assess(item, trial)
        self.simulations.append(found)
        return found, verdict

    def assess(
        self, item: RecordItem, trial: int, *, alone: bool = False
    ) -> tuple[RescoredSimulation, RewardInfo | None]:
        """Judge one simulation by itself; one that stays ``alone`` is compared with no other."""
        known = self.known_tasks(item.domain, item.version)
        named = str(item.simulation.get("task_id"))
        task, slot = self.embedded_task(named), Simulation(item.domain.name, named, trial)
        if self.model is not None:
            self.model.key = slot._asdict()
        new = rescore_simulation(item, task, self.model)
        found = RescoredSimulation(
            slot,
            item.simulation.get("termination_reason"),
            marks={} if alone else dict(marks_of(item.simulation)),
            checked_task=None if alone else known.checked_task(named, item.recorded),
            **compare_verdicts(item, new),
        )
        return found, new.reward_info

    def embedded_task(self, task_id: str) -> Mapping[str, Any] | None:
        """Return the task in the file, if it is to be judged by; None means the benchmark's."""
        return self.record.tasks.get(task_id) if self.options.embedded_tasks else None

    def known_tasks(self, domain: Domain, version: str | None = None) -> KnownTasks:
        """Return what is known of a domain's tasks; ``version`` counts when it is first asked."""
        if domain.name not in self._known:
            self._known[domain.name] = KnownTasks(domain, version)
        return self._known[domain.name]

    @property
    def domains(self) -> dict[str, Domain]:
        return {name: known.domain for name, known in self._known.items()}

    def misfit(self, judged: RescoredSimulation) -> str | None:
        """Say that the task by which a simulation was judged is not that of its conversation."""
        if judged.checked_task is None or self.options.embedded_tasks:
            return None
        return (
            f"the task does not fit the conversation: the file calls it task "
            f"{judged.slot.task_id}, but has the checks of task {judged.checked_task} for it"
        )

    @property
    def version(self) -> str:
        """The release by whose rules it was judged."""
        named = {each.version or release_named().name for each in self._known.values()}
        return " and ".join(sorted(named)) or release_named().name

    def _trial(self, item: RecordItem, task_id: str) -> int:
        """Its number; simulations without one, or without a plan, are numbered in their order."""
        trial = item.simulation.get("trial")
        if trial is not None and self.record.has_plan:
            return int(trial)
        key = item.domain.name, task_id
        self._unnumbered[key] += 1
        return self._unnumbered[key] - 1

    @cached_property
    def domain(self) -> Domain | None:
        return next(iter(self.domains.values())) if len(self._known) == 1 else None

    @cached_property
    def slots(self) -> list[Simulation]:
        seen = [*self.record.planned, *(each.slot for each in self.simulations)]
        if not self.record.has_plan:
            return seen
        name = None if self.domain is None else self.domain.name
        tasks = [*self.record.tasks, *self.tasks_left_out]
        return planned_trials(name, tasks, self.record.num_trials, seen)

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
        slots = [*self.record.planned, *(each.slot for each in self.simulations)]
        return {*self.record.tasks, *(slot.task_id for slot in slots)}

    @cached_property
    def unlisted(self) -> Mapping[str, tuple[str, int, Sequence[str]]]:
        """Of domains with a part of a split: its name, its size, and the tasks that are not there.

        Nothing if the whole split is counted anyway.
        """
        if self.split is not None or not self.record.has_plan:
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
    def by_slot(self) -> Mapping[Simulation, list[RescoredSimulation]]:
        """The recorded simulations of each planned trial."""
        found: dict[Simulation, list[RescoredSimulation]] = defaultdict(list)
        for each in self.simulations:
            found[each.slot].append(each)
        return found

    @property
    def missing(self) -> list[Simulation]:
        return [slot for slot in self.slots if slot not in self.by_slot]

    @cached_property
    def passes(self) -> Mapping[Simulation, bool | None]:
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

    def verdict_alone(self, each: RescoredSimulation) -> bool | None:
        """Return the verdict on a simulation, whatever else is recorded of the same trial."""
        if each.impossible_ending:
            return False
        if self.options.as_recorded:
            return None if each.recorded is None else each.passed_as_recorded
        return each.passed if each.no_verdict is None else None

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """Every planned trial as statistics see it."""
        return [
            Outcome(*slot, passed, reason=None if passed is not None else self._reason(slot))
            for slot, passed in self.passes.items()
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
    def recorded_score(self) -> Score | None:
        """pass^1 as the record has it, whatever became of it when it was recomputed."""
        outcomes = []
        for slot in dict.fromkeys(self.slots):
            rewards = [each.recorded for each in self.by_slot.get(slot, ())]
            known = [each for each in rewards if each is not None]
            whole = known and len(known) == len(rewards)
            outcomes.append(Outcome(*slot, all(map(is_successful, known)) if whole else None))
        return summarise(outcomes).overall.scores.get(1) if outcomes else None

    @property
    def compared(self) -> list[RescoredSimulation]:
        return [each for each in self.simulations if each.compared]

    @property
    def disagreeing(self) -> list[RescoredSimulation]:
        return [each for each in self.simulations if each.differences]

    @property
    def problems(self) -> Counter[str]:
        """The number of simulations without a verdict, by the reason."""
        return Counter(each.problem for each in self.simulations if each.problem)


def rescore_record(
    record: SimulationRecord,
    options: ScoringOptions | None = None,
    *,
    judge: Judge | None = None,
    on_progress: Callable[[int], object] | None = None,
) -> RescoredRecord:
    """Judge every simulation of a record; ``on_progress`` gets how many are done.

    ``judge`` decides natural-language assertions.
    """
    found = RescoredRecord(record, options, judge=judge)
    for number, item in enumerate(record.items, 1):
        found.judge(item)
        if on_progress is not None:
            on_progress(number)
    return found
