"""Simulations scored in other processes, some at a time.

This process reads the record and adds the results up, in its order. Where another process raises an
error, the same simulations are scored here. What needs a judge is scored here too.
"""

import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from maseval.benchmark.tau2.data_loader import data_fingerprint
from maseval.benchmark.tau2.domains import DOMAINS, Domain, register_domain
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.rescoring.record import RecordItem, SimulationRecord, known_domain
from maseval.benchmark.tau2.rescoring.rescore import (
    Assessed,
    RescoredRecord,
    ScoreElsewhere,
)
from maseval.benchmark.tau2.rescoring.verdict import RescoredSimulation
from maseval.core.engine.engines import MappingEngine
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


class SentItem(NamedTuple):
    """A simulation on its way to another process, which finds its domain by name."""

    domain: DomainName
    item: RecordItem

    @classmethod
    def of(cls, item: RecordItem) -> "SentItem":
        nowhere: Any = None  # what is known of a domain is not sent
        return cls(DomainName.of(item), item._replace(domain=nowhere))


class BatchResult(NamedTuple):
    """What was found of some simulations, with the data that decided it."""

    judged: Sequence[RescoredSimulation]
    checksums: Mapping[DomainName, Checksums]


# For the record that a process worked on last.
_last: dict[str, RescoredRecord] = {}


@dataclass(frozen=True)
class BatchAssessor:
    """Assesses some simulations without a judge, in whichever process it is."""

    options: ScoringOptions
    tasks: Mapping[str, Mapping[str, object]]
    """The tasks in the file, if they are needed."""
    own: Sequence[Domain]
    """Domains that are not maseval's."""
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Another for each record."""

    @classmethod
    def of(cls, found: RescoredRecord) -> "BatchAssessor":
        record, options = found.record, found.options
        tasks = record.tasks if options.embedded_tasks or options.remap_tasks else {}
        names = {record.domain_name, options.domain, *(one.domain for one in record.planned)}
        domains = [known_domain(name) for name in names]
        own = [each for each in domains if each is not None and each.name not in DOMAINS]
        return cls(options, dict(tasks), own)

    def __call__(self, sent: Sequence[SentItem]) -> BatchResult:
        scored = self._scored()
        worlds = {name: name.find() for name in {each.domain for each in sent}}
        items = (bare._replace(domain=worlds[name]) for name, bare in sent)
        judged = [scored.assess(item).simulation for item in items]
        return BatchResult(judged, {name: name.checksums() for name in worlds})

    def _scored(self) -> RescoredRecord:
        if self.name not in _last:
            for domain in self.own:
                register_domain(domain, replace=True)
            record = SimulationRecord(iter(()), tasks=self.tasks)
            _last.clear()
            _last[self.name] = RescoredRecord(record, self.options)
        return _last[self.name]


# From where on it is worth the start of other processes, and how many each gets at a time.
_WORTH_SHARING, _AT_ONCE = 32 << 20, 16


def score_with_engine(
    engine: MappingEngine, check: Callable[[str, Checksums, Checksums], None]
) -> ScoreElsewhere:
    """Have the simulations of a record assessed by an engine.

    ``check`` raises unless the data of a machine is that of this one.
    """

    def assess(found: RescoredRecord) -> Iterator[Assessed]:
        record = found.record
        if record.size < _WORTH_SHARING or found.model:
            yield from ((item, None) for item in record.items)
            return
        ours: dict[DomainName, Checksums] = {}
        waiting: deque[Sequence[RecordItem]] = deque()
        with ExitStack() as opened:
            mapped = engine.mapped(BatchAssessor.of(found), _sent(record.items, waiting))
            opened.callback(getattr(mapped, "close", lambda: None))
            for batch in mapped:
                items = waiting.popleft()
                if batch.result is None:
                    yield from ((item, None) for item in items)
                    continue
                for name, theirs in batch.result.checksums.items():
                    if name not in ours:
                        ours[name] = name.checksums()
                    check(batch.place, theirs, ours[name])
                yield from zip(items, batch.result.judged, strict=True)

    return assess


def _sent(
    items: Iterator[RecordItem], waiting: deque[Sequence[RecordItem]]
) -> Iterator[list[SentItem]]:
    while some := list(islice(items, _AT_ONCE)):
        waiting.append(some)
        yield [SentItem.of(each) for each in some]
