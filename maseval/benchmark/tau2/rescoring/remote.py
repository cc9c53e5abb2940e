"""Simulations scored in other processes, each of which reads a part of the record by itself.

This process adds the results up, in the order of the record. Where anything is not as it should be,
it reads on and scores by itself: a part that began elsewhere than the one before it ended, or that
raised an error, or that has something to tell the user. What needs a judge is scored here too.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, NamedTuple

from maseval.benchmark.tau2.data_loader import data_fingerprint
from maseval.benchmark.tau2.domains import DOMAINS, Domain, register_domain
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.rescoring.record import (
    RecordItem,
    RecordPart,
    SimulationRecord,
    known_domain,
)
from maseval.benchmark.tau2.rescoring.rescore import (
    Assessed,
    Examine,
    RescoredRecord,
    ScoreElsewhere,
)
from maseval.benchmark.tau2.rescoring.verdict import RescoredSimulation
from maseval.benchmark.tau2.results import ResultsFormatError
from maseval.core.engine.engines import MappedBatch, MappingEngine
from maseval.core.scoring_options import ScoringOptions

Checksums = Mapping[str, str]


class DomainName(NamedTuple):
    """A domain as another process finds it: what is known of one is kept by its identity."""

    name: str
    release: str
    lenient: bool

    @classmethod
    def of(cls, item: RecordItem) -> "DomainName":
        version = str(item.version)
        plain = release_named(version).domain(item.domain.name)
        return cls(item.domain.name, version, item.domain is not plain)

    def find(self) -> Domain:
        domain = release_named(self.release).domain(self.name)
        return domain.lenient if self.lenient else domain

    def checksums(self) -> Checksums:
        # Files of maseval's own domains are compared with these when they are read.
        return data_fingerprint(self.name, version=self.release)


class PartResult(NamedTuple):
    """The simulations of a part, where it began and ended, and what was learned of the whole.

    ``end`` is None at the end of the record.
    """

    judged: Sequence[tuple[DomainName, RescoredSimulation, Any]]
    start: int
    end: int | None
    record: Mapping[str, Any]
    checksums: Mapping[DomainName, Checksums]


# For the record that a process worked on last.
_last: dict[str, RescoredRecord] = {}


@dataclass(frozen=True)
class PartAssessor:
    """Assesses the simulations of a part without a judge, in whichever process it is."""

    options: ScoringOptions
    tasks: Mapping[str, Mapping[str, object]]
    """The tasks in the file, if they are needed."""
    own: Sequence[Domain]
    """Domains that are not maseval's."""
    examine: Examine
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Another for each record."""

    @classmethod
    def of(cls, found: RescoredRecord, examine: Examine) -> "PartAssessor":
        record, options = found.record, found.options
        tasks = record.tasks if options.embedded_tasks or options.remap_tasks else {}
        names = {record.domain_name, options.domain, *(one.domain for one in record.planned)}
        domains = [known_domain(name) for name in names]
        own = [each for each in domains if each is not None and each.name not in DOMAINS]
        return cls(options, dict(tasks), own, examine)

    def __call__(self, parts: Sequence[RecordPart]) -> PartResult:
        (part,) = parts
        scored, record = self._scored(), part.open()
        names: dict[DomainName, DomainName] = {}  # the same object each time is sent once
        judged = []
        for item in record.items:
            name, found = DomainName.of(item), scored.assess(item).simulation
            judged.append((names.setdefault(name, name), found, self.examine(item, found)))
        if record.malformed:
            raise ResultsFormatError(record.malformed[0])
        start, end = part.source.start, part.source.end
        learned = {name: getattr(record, name) for name in ("models", "version_from")}
        return PartResult(judged, start, end, learned, {name: name.checksums() for name in names})

    def _scored(self) -> RescoredRecord:
        if self.name not in _last:
            for domain in self.own:
                register_domain(domain, replace=True)
            record = SimulationRecord(iter(()), tasks=self.tasks)
            _last.clear()
            _last[self.name] = RescoredRecord(record, self.options)
        return _last[self.name]


def score_with_engine(
    engine: MappingEngine, check: Callable[[str, Checksums, Checksums], None]
) -> ScoreElsewhere:
    """Have the simulations of a record assessed by an engine.

    ``check`` raises unless the data of a machine is that of this one.
    """
    readers = getattr(engine, "processes", None) or _MANY

    def assess(found: RescoredRecord, examine: Examine) -> Iterator[Assessed]:
        record, done = found.record, 0
        parts = iter(()) if record.parts is None or found.panel.judges else record.parts(readers)
        if (first := next(parts, None)) is not None:  # a small record is read as one
            ours: dict[DomainName, Checksums] = {}
            with ExitStack() as opened:
                mapped = engine.mapped(
                    PartAssessor.of(found, examine), ([part] for part in chain((first,), parts))
                )
                opened.callback(getattr(mapped, "close", lambda: None))
                for place, part in _in_order(mapped):
                    for name, theirs in part.checksums.items():
                        if name not in ours:
                            ours[name] = name.checksums()
                        check(place, theirs, ours[name])
                    _learn(record, part.record)
                    worlds = {name: name.find() for name in part.checksums}
                    for name, judged, noted in part.judged:
                        done += 1
                        placed = {"trial": judged.identity.trial}
                        item = RecordItem(placed, worlds[name], version=name.release)
                        yield item, judged, noted
                    if part.end is None:
                        return
        yield from ((item, None, None) for item in islice(record.items, done, None))

    return assess


# Readers on a cluster, of which nobody has said how many there are.
_MANY = 16


def _in_order(
    mapped: Iterator[MappedBatch[RecordPart, PartResult]],
) -> Iterator[tuple[str, PartResult]]:
    """Yield the results of parts as long as each began where the one before it ended."""
    at: int | None = 0
    for batch in mapped:
        if batch.result is None or batch.result.start != at:
            return
        yield batch.place, batch.result
        at = batch.result.end


def _learn(record: SimulationRecord, part: Mapping[str, Any]) -> None:
    record.models |= part["models"]
    record.version_from = part["version_from"]
