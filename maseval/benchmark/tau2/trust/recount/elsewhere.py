"""Simulations assessed in other processes: what is sent there, and what comes back.

A domain is named, not sent, because what is known of one is kept by its identity. What needs a
judge is left to the process that has one, and so is what could not be assessed: there the error is
raised, of the file that it belongs to.
"""

import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from maseval.benchmark.tau2.data_loader import data_fingerprint
from maseval.benchmark.tau2.domains import DOMAINS, Domain, register_domain
from maseval.benchmark.tau2.trust.recount.judged import Judged
from maseval.benchmark.tau2.trust.recount.recount import Assess, Recount
from maseval.benchmark.tau2.trust.recount.sources import Collection, Item
from maseval.benchmark.tau2.trust.recount.ways import Ways
from maseval.benchmark.tau2.versions.releases import release_named
from maseval.core.engine.mapping import MappingEngine

# Enough that sending them costs little beside judging them, few enough to be watched.
_BATCH = 32

Checksums = Mapping[str, str]


class DomainName(NamedTuple):
    """A domain as another process finds it; ``own`` has one that does not come with maseval."""

    name: str
    release: str
    lenient: bool
    own: bytes | None

    @classmethod
    def of(cls, domain: Domain, version: str) -> "DomainName":
        """The name of a domain by the rules of a release."""
        plain = release_named(version).domain(domain.name)
        own = None if domain.name in DOMAINS else pickle.dumps(plain)
        return cls(domain.name, version, domain is not plain, own)


@cache
def _named(name: DomainName) -> Domain:
    if name.own is not None:
        register_domain(pickle.loads(name.own), replace=True)
    domain = release_named(name.release).domain(name.name)
    return domain.lenient if name.lenient else domain


@cache
def _checksums(name: DomainName) -> Checksums:
    # Files of maseval's own domains are compared with these when they are read.
    return data_fingerprint(name.name, version=name.release)


class SentItem(NamedTuple):
    """An item without its domain, and the name of that."""

    domain: DomainName
    others: Mapping[str, Any]

    @classmethod
    def of(cls, item: Item) -> "SentItem":
        """The item, for another process."""
        others = item._asdict()
        return cls(_name_of(others.pop("domain"), str(item.version)), others)

    def item(self) -> Item:
        """The item, in this process."""
        return Item(domain=_named(self.domain), **self.others)

    def __str__(self) -> str:
        simulation = self.others["simulation"]
        task, trial = simulation.get("task_id"), simulation.get("trial")
        return f"the simulation of {self.domain.name} task {task}, trial {trial}"


@cache
def _name_of(domain: Domain, version: str) -> DomainName:
    return DomainName.of(domain, version)


class Assessment(NamedTuple):
    """Simulations assessed elsewhere, and the data that they were assessed by."""

    judged: Sequence[Judged]
    checksums: Mapping[DomainName, Checksums]


@dataclass(frozen=True)
class Assessor:
    """Assesses simulations without a judge, in whichever process it is."""

    ways: Ways
    tasks: Mapping[str, Mapping[str, object]]
    """The tasks in the file, if they are needed."""
    record: str
    """Another for each record."""

    def __call__(self, sent: Sequence[SentItem]) -> Assessment:
        recount = self._recount()
        judged = [recount.assess(each.item()).judged for each in sent]
        return Assessment(judged, {each.domain: _checksums(each.domain) for each in sent})

    def _recount(self) -> Recount:
        found = _last.get(self.record)
        if found is None:
            found = Recount(Collection(iter(()), tasks=self.tasks), self.ways)
            _last.clear()
            _last[self.record] = found
        return found


# What is known of the benchmark's tasks, for the record that a process worked on last.
_last: dict[str, Recount] = {}


def assessed_by(
    engine: MappingEngine, check: Callable[[str, Checksums, Checksums], None]
) -> Assess:
    """Have the simulations of a record assessed by an engine.

    ``check`` raises unless the data of a machine is that of this one.
    """

    def assess(found: Recount) -> Iterator[tuple[Item, Judged | None]]:
        embedded = found.ways.embedded_tasks or found.ways.remap_tasks
        tasks = dict(found.whole.tasks) if embedded else {}
        assessor = Assessor(found.ways, tasks, record=uuid.uuid4().hex)
        items: dict[int, Item] = {}
        for batch in engine.mapped(assessor, _batches(found.whole.items, items)):
            result: Assessment | None = batch.result
            if result is None:
                yield from ((items.pop(id(each)), None) for each in batch.values)
                continue
            for name, theirs in result.checksums.items():
                check(batch.place, theirs, _checksums(name))
            for sent, judged in zip(batch.values, result.judged, strict=True):
                left = judged.asks_judge and found.panel.judges
                yield items.pop(id(sent)), None if left else judged

    return assess


def _batches(items: Iterable[Item], kept: dict[int, Item]) -> Iterator[list[SentItem]]:
    """The items in batches; each is kept by the identity of what is sent of it."""
    waiting = iter(items)
    while taken := list(islice(waiting, _BATCH)):
        batch = [SentItem.of(item) for item in taken]
        kept.update({id(sent): item for sent, item in zip(batch, taken, strict=True)})
        yield batch
