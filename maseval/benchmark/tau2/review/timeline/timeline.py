"""Timelines: the state of the databases after each message, and how it differs.

Differences are those of records that were changed; the databases themselves are not copied.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from maseval.benchmark.tau2.conversation.recording import HasSimulation
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import AnyVersion
from maseval.benchmark.tau2.review.explain.snapshot import (
    FieldDifference,
    FieldPlace,
    WorldSnapshot,
    differing_records,
    parse_fragment,
)
from maseval.benchmark.tau2.review.timeline.moments import Mismatch, Moment, RepeatedCall, Replayed
from maseval.benchmark.tau2.scoring.case import AnyTask, Case, open_case
from maseval.benchmark.tau2.world.reference import gold_state
from maseval.benchmark.tau2.world.retracing import retrace
from maseval.benchmark.tau2.world.state.permanence import ABSENT
from maseval.benchmark.tau2.world.tasks import RewardType
from maseval.core.exceptions import ConfigurationError
from maseval.data.store import AnyPath

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
    """Return the records in whose id, table or values every word of ``text`` occurs.

    Upper and lower case are the same; records that have changed come first.
    """
    words = text.casefold().split()
    changed = set(differing_records(start, now))
    texts = ((place, f"{place} {_readable(text)}".casefold()) for place, text in now.records())
    hits = [place for place, text in texts if all(word in text for word in words)]
    hits.sort(key=lambda place: place not in changed)
    shown = [FoundRecord(place, now.value(place), place in changed) for place in hits[:limit]]
    return RecordSearch(len(hits), tuple(shown))


def _readable(fragment: str) -> str:
    """Return a record's text in which letters stand as themselves."""
    if "\\u" not in fragment:
        return fragment
    return json.dumps(parse_fragment(fragment), ensure_ascii=False)


@dataclass(frozen=True)
class Timeline:
    """A conversation's messages, each with the world after it.

    ``gold_counts`` says whether the reward depends on the end state being the gold one; a task
    without criteria has no gold state.
    """

    start: WorldSnapshot
    gold: WorldSnapshot | None
    gold_counts: bool
    moments: tuple[Moment, ...]

    @property
    def end(self) -> WorldSnapshot:
        """The world after the last message."""
        return self.moments[-1].after if self.moments else self.start

    def at(self, message: int) -> Moment:
        """Return the moment of a message; a tool's answer belongs to the message that called it."""
        for moment in self.moments:
            if moment.index <= message <= moment.last:
                return moment
        last = self.moments[-1].last if self.moments else None
        has = "it has none" if last is None else f"they are numbered 0 to {last}"
        raise ConfigurationError(f"the conversation has no message {message}; {has}")

    def search(self, text: str, message: int | None = None, *, limit: int = SHOWN) -> RecordSearch:
        """Return the records with ``text`` in them after a message; by default, at the start."""
        now = self.start if message is None else self.at(message).after
        return search_records(now, self.start, text, limit=limit)

    def search_form(self, text: str, message: int | None = None) -> dict[str, object]:
        """Return the result of a search as JSON."""
        found = self.search(text, message)
        return {"total": found.total, "records": [_record(each) for each in found.records]}

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form: each state once, and for every message the number of its state."""
        states: list[dict[str, object]] = []
        numbers: dict[int, int] = {}
        messages = []
        for moment in self.moments:
            if id(moment.after) not in numbers:
                numbers[id(moment.after)] = len(states)
                states.append(_state(moment))
            messages.append({**_message(moment), "state": numbers[id(moment.after)]})
        return {
            "gold": self.gold is not None,
            "gold_counts": self.gold_counts,
            "messages": messages,
            "states": states,
        }


def timeline(
    simulation: Mapping[str, object] | HasSimulation,
    domain: str | Domain,
    task: AnyTask | None = None,
    *,
    solo: bool = False,
    data_dir: AnyPath | None = None,
    version: AnyVersion = None,
) -> Timeline:
    """The timeline of a recorded simulation; the arguments are those of ``score_simulation``."""
    case = open_case(simulation, domain, task, solo=solo, data_dir=data_dir, version=version)
    return timeline_of(case)


def timeline_of(case: Case) -> Timeline:
    """Return the timeline of a conversation in its world."""
    setting = case.setting
    scored = case.task.evaluation_criteria is not None
    stage, gold = case.stage, None
    if scored:
        reached = gold_state(setting, stage.files)
        gold = WorldSnapshot(reached.world, reached.state)
    replayed = Replayed(retrace(stage, case.task), gold)
    moments = tuple(replayed.moments(case.recording.messages))
    return Timeline(replayed.start, gold, case.counts(RewardType.DB), moments)


def _message(moment: Moment) -> dict[str, object]:
    form: dict[str, object] = {
        "index": moment.index,
        "last": moment.last,
        "role": moment.role,
        "calls": [_call(each) for each in moment.calls],
    }
    return form if moment.problem is None else {**form, "problem": _mismatch(moment.problem)}


def _call(call: RepeatedCall) -> dict[str, object]:
    form: dict[str, object] = {
        "name": call.call["name"],
        "by": call.call["requestor"],
        "index": call.index,
        "made": call.made,
        "changed": [_difference(each) for each in call.changed],
    }
    return form if call.mismatch is None else {**form, "mismatch": _mismatch(call.mismatch)}


def _mismatch(mismatch: Mismatch) -> dict[str, object]:
    if mismatch.expected is None and mismatch.found is None:
        return {"error": mismatch.error}
    return {"expected": mismatch.expected, "found": mismatch.found}


def _state(moment: Moment) -> dict[str, object]:
    gold = moment.from_gold
    return {
        "from_start": [_difference(each) for each in moment.from_start],
        "from_gold": None if gold is None else [_difference(each) for each in gold],
    }


def _difference(difference: FieldDifference) -> dict[str, object]:
    """``was`` and ``is``, each left out where there is no such value."""
    values = {"was": difference.expected, "is": difference.found}
    known = {name: value for name, value in values.items() if value is not ABSENT}
    place = difference.place
    return {"side": place.side, "place": str(place), **known}


def _record(record: FoundRecord) -> dict[str, object]:
    place = record.place
    return {
        "side": place.side,
        "table": place.table,
        "record": place.record,
        "changed": record.changed,
        "value": record.value,
    }
