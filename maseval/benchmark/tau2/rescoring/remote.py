"""Simulations scored in other processes: the data sent there, and the results that come back.

A domain is named, not sent, because what is known of one is kept by its identity. What needs a
judge is left to the process that has one, and so is what could not be assessed: there the error is
raised, of the file that it belongs to.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from maseval.benchmark.tau2.data_loader import data_fingerprint
from maseval.benchmark.tau2.domains import DOMAINS, Domain, register_domain
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.rescoring.record import RecordItem, SimulationRecord
from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord, ScoreElsewhere
from maseval.benchmark.tau2.rescoring.verdict import RescoredSimulation
from maseval.core.engine.engines import MappingEngine
from maseval.core.scoring_options import ScoringOptions

# Enough that sending them costs little beside judging them, few enough to be watched.
_BATCH = 32

Checksums = Mapping[str, str]


class DomainName(NamedTuple):
    """A domain as another process finds it."""

    name: str
    release: str
    lenient: bool

    def checksums(self) -> Checksums:
        # Files of maseval's own domains are compared with these when they are read.
        return data_fingerprint(self.name, version=self.release)


class SentItem(NamedTuple):
    """An item without its domain, and the name of that; ``own`` is one that is not maseval's."""

    domain: DomainName
    own: Domain | None
    others: Mapping[str, Any]

    @classmethod
    def of(cls, item: RecordItem) -> "SentItem":
        others, version = item._asdict(), str(item.version)
        domain: Domain = others.pop("domain")
        plain = release_named(version).domain(domain.name)
        name = DomainName(domain.name, version, domain is not plain)
        return cls(name, None if domain.name in DOMAINS else plain, others)

    def known_domain(self) -> Domain:
        if self.own is not None:
            register_domain(self.own, replace=True)
        domain = release_named(self.domain.release).domain(self.domain.name)
        return domain.lenient if self.domain.lenient else domain

    def __str__(self) -> str:
        simulation = self.others["simulation"]
        task, trial = simulation.get("task_id"), simulation.get("trial")
        return f"the simulation of {self.domain.name} task {task}, trial {trial}"


class Assessment(NamedTuple):
    """Simulations assessed elsewhere, and the data that they were assessed by."""

    judged: Sequence[RescoredSimulation]
    checksums: Mapping[DomainName, Checksums]


@dataclass(frozen=True)
class _WorkerState:
    recount: RescoredRecord
    domains: dict[DomainName, Domain] = field(default_factory=dict)
    checksums: dict[DomainName, Checksums] = field(default_factory=dict)

    def score(self, sent: SentItem) -> RescoredSimulation:
        name = sent.domain
        if name not in self.domains:
            self.domains[name] = sent.known_domain()
            self.checksums[name] = name.checksums()
        return self.recount.assess(RecordItem(domain=self.domains[name], **sent.others)).simulation


# For the record that a process worked on last.
_last: dict[str, _WorkerState] = {}


@dataclass(frozen=True)
class Assessor:
    """Assesses simulations without a judge, in whichever process it is."""

    options: ScoringOptions
    tasks: Mapping[str, Mapping[str, object]]
    """The tasks in the file, if they are needed."""
    record: str
    """Another for each record."""

    def __call__(self, sent: Sequence[SentItem]) -> Assessment:
        state = self._worker_state()
        judged = [state.score(each) for each in sent]
        return Assessment(judged, state.checksums)

    def _worker_state(self) -> _WorkerState:
        found = _last.get(self.record)
        if found is None:
            found = _WorkerState(
                RescoredRecord(SimulationRecord(iter(()), tasks=self.tasks), self.options)
            )
            _last.clear()
            _last[self.record] = found
        return found


def score_with_engine(
    engine: MappingEngine, check: Callable[[str, Checksums, Checksums], None]
) -> ScoreElsewhere:
    """Have the simulations of a record assessed by an engine.

    ``check`` raises unless the data of a machine is that of this one.
    """

    def assess(found: RescoredRecord) -> Iterator[tuple[RecordItem, RescoredSimulation | None]]:
        embedded = found.options.embedded_tasks or found.options.remap_tasks
        tasks = dict(found.record.tasks) if embedded else {}
        assessor = Assessor(found.options, tasks, record=uuid.uuid4().hex)
        items: dict[int, RecordItem] = {}
        ours: dict[DomainName, Checksums] = {}
        for batch in engine.mapped(assessor, _batches(found.record.items, items)):
            result: Assessment | None = batch.result
            if result is None:
                yield from ((items.pop(id(each)), None) for each in batch.values)
                continue
            for name, theirs in result.checksums.items():
                if name not in ours:
                    ours[name] = name.checksums()
                check(batch.place, theirs, ours[name])
            for sent, judged in zip(batch.values, result.judged, strict=True):
                left = judged.asks_judge and found.panel.judges
                yield items.pop(id(sent)), None if left else judged

    return assess


def _batches(items: Iterable[RecordItem], kept: dict[int, RecordItem]) -> Iterator[list[SentItem]]:
    """Yield the items in batches; each is kept by the identity of what is sent of it."""
    waiting = iter(items)
    while taken := list(islice(waiting, _BATCH)):
        batch = [SentItem.of(item) for item in taken]
        kept.update({id(sent): item for sent, item in zip(batch, taken, strict=True)})
        yield batch
