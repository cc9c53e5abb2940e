"""rescore_record: score every simulation of a record again, and count it among those planned.

Nothing that the record says of itself is believed. The tasks are those of the benchmark, and every
planned simulation is accounted for: tasks times trials. What did not end as its release lets it
end is a failure. What is missing or cannot be judged has no verdict: the number is over
the others, and comes with the range that these leave open.

An engine scores a large record in other processes, some simulations at a time. This process reads
the record and adds the results up, in its order. Where another process raises an error, the same
simulations are scored here. What needs a judge is scored here too.
"""

import uuid
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, repeat
from typing import Any, NamedTuple

from maseval.benchmark.tau2.domains import DOMAINS, Domain, register_domain
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.rescoring.record import (
    RecordItem,
    SimulationRecord,
    known_domain,
    planned_trials,
    smallest_split,
    world_of,
)
from maseval.benchmark.tau2.rescoring.tasks import KnownTasks
from maseval.benchmark.tau2.rescoring.verdict import (
    NEEDS_JUDGE,
    NewVerdict,
    RescoredSimulation,
    compare_verdicts,
    identity_of,
    rescore_simulation,
)
from maseval.benchmark.tau2.scoring.judge import RememberingJudge
from maseval.core.engine.engines import MappingEngine
from maseval.core.outcome import Outcome, Score, Simulation, is_successful
from maseval.core.recorded import whole_number
from maseval.core.scoring_options import ScoringOptions
from maseval.stats.summary import (
    MISSING,
    Estimate,
    GroupSummary,
    summarise,
    with_gaps,
)

NO_RECORDED_VERDICT = "no recorded verdict"


class RescoringResult(NamedTuple):
    """A simulation judged again: what is kept of it, its whole verdict, and by which task.

    ``task`` is None if that is the benchmark's of the name that the record has.
    """

    simulation: RescoredSimulation
    verdict: NewVerdict
    task: Mapping[str, Any] | None


class RescoredRecord:
    """The simulations of a record, judged one after the other."""

    def __init__(
        self,
        record: SimulationRecord,
        options: ScoringOptions | None = None,
        *,
        whole_split: bool = False,
        judge: RememberingJudge | None = None,
    ) -> None:
        self.record = record
        self.options = options or ScoringOptions()
        self.simulations: list[RescoredSimulation] = []
        self._whole_split = whole_split
        self.model = judge
        self._known: dict[str, KnownTasks] = {}
        self._unnumbered: Counter[tuple[str, str]] = Counter()

    def judge(self, item: RecordItem) -> RescoringResult:
        found = self.assess(item)
        return found._replace(simulation=self.place(item, found.simulation))

    def place(self, item: RecordItem, assessed: RescoredSimulation) -> RescoredSimulation:
        """Add a simulation that was assessed already, perhaps elsewhere, in the record's order."""
        self.known_tasks(item.domain, item.version)
        slot = assessed.slot._replace(trial=self._trial(item, assessed.slot.task_id))
        found = assessed if slot == assessed.slot else replace(assessed, slot=slot)
        self.simulations.append(found)
        return found

    def assess(self, item: RecordItem, *, alone: bool = False) -> RescoringResult:
        """Judge one simulation by itself: its place among the others is not known.

        One that stays ``alone`` is not to be placed: it is compared with no other, and the task is
        the one that it names.
        """
        known = self.known_tasks(item.domain, item.version)
        named = str(item.simulation.get("task_id"))
        checked = None if alone else known.checked_task(named, item.recorded)
        meant = named
        if self.options.remap_tasks:
            meant = checked or known.embedded_task(self.record.tasks.get(named)) or named
        embedded = self.record.tasks.get(named) if self.options.embedded_tasks else None
        task = embedded if meant == named else known.raw(meant)
        new = rescore_simulation(item, task, strict=self.options.strict, nl_model=self.model)
        found = RescoredSimulation(
            Simulation(item.domain.name, meant, whole_number(item.simulation.get("trial")) or 0),
            named,
            identity_of(item.domain.name, item.simulation, alone=alone),
            item.simulation.get("termination_reason"),
            checked_task=checked,
            **compare_verdicts(item, new),
        )
        return RescoringResult(found, new, task)

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
        known = self._known[judged.slot.domain]
        other = judged.checked_task or known.embedded_task(self.record.tasks.get(judged.named))
        if other in (None, judged.slot.task_id) or self.options.embedded_tasks:
            return None
        return (
            f"the task does not fit the conversation: the file calls it task {judged.named}, "
            f"but has the checks or the text of task {other} for it"
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
        found = self.summarise(with_gaps(outcomes, gone)).estimate("pass^k", 1)
        return found.bounds or (0.0, 1.0)

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
        return self.summarise(self.outcomes) if self.outcomes else None

    @property
    def recorded_score(self) -> Score | None:
        """pass^1 as the record has it, whatever became of it when it was recomputed."""
        outcomes = []
        for slot in dict.fromkeys(self.slots):
            rewards = [each.recorded for each in self.by_slot.get(slot, ())]
            known = [each for each in rewards if each is not None]
            whole = known and len(known) == len(rewards)
            outcomes.append(Outcome(*slot, all(map(is_successful, known)) if whole else None))
        return self.summarise(outcomes).scores.get(1) if outcomes else None

    def summarise(self, outcomes: Sequence[Outcome]) -> GroupSummary:
        """Return the numbers of some of its trials."""
        return summarise(outcomes).overall

    @property
    def passed(self) -> int:
        return sum(passed is True for passed in self.passes.values())

    @property
    def pass_hat(self) -> Mapping[int, Estimate]:
        """pass^k of what has a verdict, with its interval, and ``bounds`` if any has none."""
        return self.summary.pass_hat if self.summary else {}

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

    @property
    def unjudged(self) -> int:
        """The number of simulations that only a judge model can decide."""
        return self.problems[NEEDS_JUDGE]


def rescore_record(
    record: SimulationRecord,
    options: ScoringOptions | None = None,
    *,
    whole_split: bool = False,
    judge: RememberingJudge | None = None,
    on_progress: Callable[[int], object] | None = None,
    engine: MappingEngine | None = None,
    on_item: Callable[[RecordItem, RescoredSimulation], object] | None = None,
) -> RescoredRecord:
    """Judge every simulation of a record; ``on_progress`` gets how many are done.

    ``judge`` decides natural-language assertions. ``engine`` is where a large record is scored,
    unless it needs a judge. ``on_item`` gets each item with its new verdict.
    """
    found = RescoredRecord(record, options, whole_split=whole_split, judge=judge)
    divided = engine and not judge and record.size >= _WORTH_SHARING
    through = _assessed_by(engine, found) if engine and divided else zip(record.items, repeat(None))
    for number, (item, judged) in enumerate(through, 1):
        placed = found.judge(item).simulation if judged is None else found.place(item, judged)
        if on_item is not None:
            on_item(item, placed)
        if on_progress is not None:
            on_progress(number)
    return found


# From where on it is worth the start of other processes, and how many each gets at a time.
_WORTH_SHARING, _AT_ONCE = 32 << 20, 16

_WorldName = tuple[str, str, bool]
"""A domain as another process finds it, as what is known of one is kept by its identity: its name,
its release, and whether its tools are lenient."""
_SentItem = tuple[_WorldName, RecordItem]

# For the record that a process worked on last.
_last: dict[str, RescoredRecord] = {}


@dataclass(frozen=True)
class _BatchAssessor:
    """Assesses some simulations without a judge, in whichever process it is.

    ``tasks`` are those in the file, if they are needed, ``own`` the domains that are not maseval's,
    and ``name`` is another for each record.
    """

    options: ScoringOptions
    tasks: Mapping[str, Mapping[str, object]]
    own: Sequence[Domain]
    name: str = field(default_factory=lambda: uuid.uuid4().hex)

    @classmethod
    def of(cls, found: RescoredRecord) -> "_BatchAssessor":
        record, options = found.record, found.options
        tasks = record.tasks if options.embedded_tasks or options.remap_tasks else {}
        names = {record.domain_name, options.domain, *(one.domain for one in record.planned)}
        domains = [known_domain(name) for name in names]
        own = [each for each in domains if each is not None and each.name not in DOMAINS]
        return cls(options, dict(tasks), own)

    def __call__(self, sent: Sequence[_SentItem]) -> list[RescoredSimulation]:
        if self.name not in _last:
            for domain in self.own:
                register_domain(domain, replace=True)
            _last.clear()
            _last[self.name] = RescoredRecord(
                SimulationRecord(iter(()), tasks=self.tasks), self.options
            )
        items = [bare._replace(domain=world_of(*world)) for world, bare in sent]
        return [_last[self.name].assess(item).simulation for item in items]


def _assessed_by(
    engine: MappingEngine, found: RescoredRecord
) -> Iterator[tuple[RecordItem, RescoredSimulation | None]]:
    """Yield each item with what an engine found of it; None where it could not."""
    waiting: deque[Sequence[RecordItem]] = deque()

    def send() -> Iterator[list[_SentItem]]:
        nowhere: Any = None  # what is known of a domain is not sent
        while some := list(islice(found.record.items, _AT_ONCE)):
            waiting.append(some)
            yield [(_world_name(each), each._replace(domain=nowhere)) for each in some]

    with ExitStack() as opened:
        mapped = engine.mapped(_BatchAssessor.of(found), send())
        opened.callback(getattr(mapped, "close", lambda: None))
        for batch in mapped:
            yield from zip(waiting.popleft(), batch.result or repeat(None), strict=False)


def _world_name(item: RecordItem) -> _WorldName:
    name, version = item.domain.name, str(item.version)
    return name, version, item.domain is not world_of(name, version)
