"""Signs that a simulation was edited, copied, or cannot have happened."""

import hashlib
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import islice, pairwise
from typing import Any

from maseval.benchmark.tau2.domains.records import canonical_json
from maseval.benchmark.tau2.formats.message import Tau2Message, is_user_stop
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.rescoring.record import PlannedTrial
from maseval.core.recorded import mapping, whole_number

_SLACK = timedelta(seconds=1)
_NAMED = 10
# Among 1,400 pairs of honest trials, those with the same calls had 78% of their phrases in common
# at most, unless they were word for word the same.
_LIKE = 0.85
_PHRASES, _FEWEST_PHRASES, _COMPARED = 128, 30, 50
_SHORT, _LONGEST_TOKEN = 40, 8
_VOLATILE = ("timestamp", "turn_idx", "cost", "usage", "raw_data", "id")


@dataclass(frozen=True)
class Suspicion:
    """Something that should not be in a record of runs, and where it is."""

    kind: str
    where: str
    text: str

    def to_dict(self) -> dict[str, str]:
        return asdict(self)


def name_of(domain: str, simulation: Mapping[str, object]) -> str:
    trial = simulation.get("trial")
    return f"{domain} task {simulation.get('task_id')}, trial {'?' if trial is None else trial}"


def oddities(simulation: Mapping[str, Any], where: str) -> Iterator[Suspicion]:
    """Yield what is suspicious in one simulation by itself, without a replay."""
    messages: Sequence[Tau2Message] = simulation["messages"]
    yield from _times(simulation, messages, where)
    turns = [message.get("turn_idx") for message in messages]
    if any(turn is not None for turn in turns) and turns != list(range(len(messages))):
        first = next(n for n, turn in enumerate(turns) if turn != n)
        text = f"message {first} has turn_idx {turns[first]}"
        yield Suspicion("turns not in sequence", where, text)
    if simulation.get("termination_reason") == TerminationReason.USER_STOP and not _ends_with_stop(
        messages
    ):
        yield Suspicion(
            "impossible ending",
            where,
            "the user ended it, but its last message is not the user's stop",
        )


def _times(
    simulation: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], where: str
) -> Iterator[Suspicion]:
    times = [(n, m["timestamp"]) for n, m in enumerate(messages) if m.get("timestamp")]
    for (_, before), (number, after) in pairwise(times):
        if after < before:
            text = f"message {number} at {after} follows one at {before}"
            yield Suspicion("times out of order", where, text)
            break
    start, end = simulation.get("start_time"), simulation.get("end_time")
    if start and end and end < start:
        yield Suspicion("times out of order", where, f"it ends at {end} and starts at {start}")
    elif end and times and _is_later(times[-1][1], end):
        text = f"its last message, at {times[-1][1]}, is after its end at {end}"
        yield Suspicion("times out of order", where, text)


def _is_later(time: str, end: str) -> bool:
    try:
        return datetime.fromisoformat(time) - datetime.fromisoformat(end) > _SLACK
    except (ValueError, TypeError):  # not times, or only one of them in a time zone
        return time > end


def _ends_with_stop(messages: Sequence[Tau2Message]) -> bool:
    return bool(messages) and messages[-1]["role"] == "user" and is_user_stop(messages[-1])


def fingerprint(simulation: Mapping[str, Any]) -> str:
    """Return a hash of what was said and done, whenever and under whatever ids."""
    said = [
        {key: value for key, value in message.items() if key not in _VOLATILE}
        | {"tool_calls": [_bare(call) for call in message.get("tool_calls") or ()]}
        for message in simulation["messages"]
    ]
    return hashlib.sha256(canonical_json(said).encode()).hexdigest()


def _bare(call: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in call.items() if key != "id"}


@dataclass(frozen=True)
class SimulationIdentity:
    """The part of a simulation that is compared with all others, to find copies.

    ``talks`` if a user took part, ``stopped`` if the user's stop is its last message. ``calls`` is
    a hash of the tool calls, and ``phrases`` a sample of what was said, by which conversations that
    are nearly the same are found. ``paid`` if its messages say that a model was used. ``overlong``
    names a message with more text than its model wrote.
    """

    where: str
    domain: str
    task_id: str
    trial: int | None
    id: str
    fingerprint: str
    talks: bool
    stopped: bool = False
    seed: int | None = None
    calls: str = ""
    phrases: tuple[int, ...] = ()
    paid: bool = False
    overlong: str | None = None


def identity_of(domain: str, simulation: Mapping[str, Any]) -> SimulationIdentity:
    return SimulationIdentity(
        name_of(domain, simulation),
        domain,
        str(simulation.get("task_id")),
        simulation.get("trial"),
        str(simulation.get("id") or ""),
        fingerprint(simulation),
        any(message["role"] == "user" for message in simulation["messages"]),
        _ends_with_stop(simulation["messages"]),
        whole_number(simulation.get("seed")),
        _hash_calls(simulation["messages"]),
        _sample_phrases(simulation["messages"]),
        any(message.get("usage") or message.get("cost") for message in simulation["messages"]),
        _overlong(simulation["messages"]),
    )


def _hash_calls(messages: Sequence[Mapping[str, Any]]) -> str:
    calls = [_bare(call) for message in messages for call in message.get("tool_calls") or ()]
    return hashlib.sha256(canonical_json(calls).encode()).hexdigest()


def _sample_phrases(messages: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    """Return the smallest hashes of three words in a row, which are a fair sample of them all."""
    found: set[int] = set()
    for message in messages:
        if message["role"] in ("assistant", "user"):
            words = str(message.get("content") or "").lower().split()
            found.update(
                zlib.crc32(" ".join(words[at : at + 3]).encode()) for at in range(len(words) - 2)
            )
    return tuple(sorted(found)[:_PHRASES])


def likeness(one: SimulationIdentity, other: SimulationIdentity) -> float:
    """Return the share of phrases that two conversations have in common."""
    ours, theirs = set(one.phrases), set(other.phrases)
    sample = sorted(ours | theirs)[:_PHRASES]
    if len(sample) < _FEWEST_PHRASES:
        return 0.0
    return sum(each in ours and each in theirs for each in sample) / len(sample)


def near_copies(
    simulations: Iterable[SimulationIdentity],
) -> Iterator[tuple[SimulationIdentity, SimulationIdentity]]:
    """Yield trials of one task with the same calls and nearly, but not quite, the same texts."""
    groups: dict[tuple[str, str, str], list[SimulationIdentity]] = defaultdict(list)
    for each in simulations:
        before = groups[each.domain, each.task_id, each.calls]
        like = (one for one in before[:_COMPARED] if likeness(one, each) >= _LIKE)
        original = next((one for one in like if one.fingerprint != each.fingerprint), None)
        if each.talks and original is not None:
            yield original, each
        before.append(each)


def _overlong(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Name the first message with more text than the tokens that its model is said to have written.

    The longest of 683 conversations with ten models had 5.8 characters for a token.
    """
    for number, message in enumerate(messages):
        tokens = whole_number(mapping(message, "usage").get("completion_tokens"))
        length = len(str(message.get("content") or ""))
        if tokens and length > _SHORT + _LONGEST_TOKEN * tokens:
            return f"message {number} has {length} characters, but {tokens} tokens"
    return None


def copies(passports: Iterable[SimulationIdentity]) -> Iterator[Suspicion]:
    """Simulations that appear twice, under one id or under several."""
    by_id: dict[str, list[SimulationIdentity]] = defaultdict(list)
    by_content: dict[tuple[str, str, str], list[SimulationIdentity]] = defaultdict(list)
    for each in passports:
        by_id[each.id].append(each)
        by_content[each.domain, each.task_id, each.fingerprint].append(each)
    for simulation_id, group in by_id.items():
        if simulation_id and len(group) > 1:
            others = "; ".join(each.where for each in group[1:])
            text = f"its id {simulation_id} is also that of {others}"
            yield Suspicion("duplicated id", group[0].where, text)
    for group in by_content.values():
        if len(group) > 1 and group[0].talks:
            others = "; ".join(each.where for each in group[1:])
            yield Suspicion("identical messages", group[0].where, f"same messages as {others}")


def missing_trials(
    passports: Iterable[SimulationIdentity],
    num_trials: int | None,
    planned: Iterable[PlannedTrial] = (),
) -> Iterator[Suspicion]:
    """Trials that a task should have and lacks, or has more than once.

    That is as many as any task has, or as many as a run ``planned`` for it.
    """
    trials: dict[tuple[str, str], list[int]] = defaultdict(list)
    for each in passports:
        if each.trial is not None:
            trials[each.domain, each.task_id].append(each.trial)
    most = max((max(each) + 1 for each in trials.values()), default=0)
    known_plan = Counter((slot.domain, slot.task_id) for slot in planned)
    for (domain, task_id), numbers in trials.items():
        where = f"{domain} task {task_id}"
        expected = range(known_plan[domain, task_id] or max(num_trials or 0, most))
        known = set(numbers)
        lacking = len(expected) - len(known)
        if lacking:
            first = islice((number for number in expected if number not in known), _NAMED)
            more = f" and {lacking - _NAMED} more" if lacking > _NAMED else ""
            text = f"trial {', '.join(map(str, first))}{more} of {len(expected)} is missing"
            yield Suspicion("missing trials", where, text)
        twice = sorted(number for number, times in Counter(numbers).items() if times > 1)
        if twice:
            text = f"trial {', '.join(map(str, twice))} appears more than once"
            yield Suspicion("repeated trials", where, text)
