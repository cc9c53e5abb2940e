"""The records of a world at one moment, found by a text that is in them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from maseval.benchmark.tau2.explain.snapshot import (
    FieldPlace,
    WorldSnapshot,
    differing_records,
    parsed,
)

SHOWN = 20


@dataclass(frozen=True)
class FoundRecord:
    """A record, and whether it is another one than at the start of the simulation."""

    place: FieldPlace
    value: object
    changed: bool


@dataclass(frozen=True)
class RecordSearch:
    """The first records that were found, and how many there are in all."""

    total: int
    records: tuple[FoundRecord, ...]


def search_records(
    now: WorldSnapshot, start: WorldSnapshot, text: str, *, limit: int = SHOWN
) -> RecordSearch:
    """The records in whose id, table or values every word of ``text`` occurs.

    Upper and lower case are the same; records that have changed come first.
    """
    words = text.casefold().split()
    changed = set(differing_records(start, now))
    hits = [each for each in _texts(now) if all(word in each[1] for word in words)]
    hits.sort(key=lambda hit: hit[0] not in changed)
    shown = [FoundRecord(place, now.value(place), place in changed) for place, _ in hits[:limit]]
    return RecordSearch(len(hits), tuple(shown))


def _texts(snapshot: WorldSnapshot) -> Iterator[tuple[FieldPlace, str]]:
    """Every record, with all that is in it as one text."""
    for place, fragment in snapshot.records():
        value = f"{place} {_readable(fragment)}"
        yield place, value.casefold()


def _readable(fragment: str) -> str:
    """A record's text in which letters stand as themselves."""
    if "\\u" not in fragment:
        return fragment
    return json.dumps(parsed(fragment), ensure_ascii=False)
