"""Signs that a simulation was edited, copied, or cannot have happened."""

import hashlib
import zlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

from maseval.benchmark.tau2.formats.message import Tau2Message, is_user_stop
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.rescoring.record import PlannedTrial
from maseval.benchmark.tau2.world.state.records import canonical_json
from maseval.core.recorded import mapping, whole_number

_SLACK = timedelta(seconds=1)
_NAMED = 10
# Among 1,400 pairs of honest trials, those with the same calls had 78% of their phrases in common
# at most, unless they were word for word the same.
_LIKE = 0.85
_PHRASES, _FEWEST_PHRASES, _COMPARED = 128, 30, 50
_MOST_KEPT, _TEXT_END = 50_000, "\0"
_SHORT, _LONGEST_TOKEN = 40, 8
_VOLATILE = {"timestamp", "turn_idx", "cost", "usage", "raw_data", "id"}
_HASHED_APART = _VOLATILE | {"role", "content", "tool_calls"}


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


def _hash_messages(messages: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return the hashes of what was said and done, whenever, and of the tool calls alone.

    Texts are hashed as they are, behind the rest, which tells where each of them ends.
    """
    frames: list[object] = []
    calls, texts = [], []
    for message in messages:
        made, content = message.get("tool_calls") or (), message.get("content")
        calls += [{key: part for key, part in call.items() if key != "id"} for call in made]
        if isinstance(content, str):
            texts.append(content)
            content = len(content)
        rest = {key: value for key, value in message.items() if key not in _HASHED_APART}
        frames += (message["role"], content, len(made), rest)
    called = hashlib.sha256(canonical_json(calls).encode()).hexdigest()
    said = f"{called}{canonical_json(frames)}{''.join(texts)}"
    return hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest(), called


@dataclass(frozen=True)
class SimulationIdentity:
    """The part of a simulation that is compared with all others, to find copies.

    ``talks`` if a user took part, ``stopped`` if the user's stop is its last message. ``calls`` is
    a hash of the tool calls, and ``spoken`` what was said, packed, as all of a file are in memory:
    by it conversations that are nearly the same are found. ``paid`` if its messages say that a
    model was used. ``overlong`` names a message with more text than its model wrote.
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
    spoken: bytes = b""
    paid: bool = False
    overlong: str | None = None

    @cached_property
    def phrases(self) -> Sequence[int]:
        """The smallest hashes of three words in a row, which are a fair sample of them all.

        They take as long as a verdict, and few simulations have the same calls as another.
        """
        found: set[int] = set()
        for text in zlib.decompress(self.spoken).split(_TEXT_END.encode()):
            words = text.split()
            rows = map(b" ".join, zip(words, words[1:], words[2:], strict=False))
            found.update(map(zlib.crc32, rows))
        return array("I", sorted(found)[:_PHRASES])

    def __getstate__(self) -> dict[str, object]:
        # Another process needs no texts whose phrases are known.
        return vars(self) | ({"spoken": b""} if "phrases" in vars(self) else {})

    @property
    def kind(self) -> tuple[str, str, str]:
        """The domain, task and calls, which simulations share that may be copies of each other."""
        return self.domain, self.task_id, self.calls


def identity_of(
    domain: str, simulation: Mapping[str, Any], *, alone: bool = False
) -> SimulationIdentity:
    """Return the identity of a simulation; of one that stays ``alone``, without what was said."""
    messages = simulation["messages"]
    said, called = ("", "") if alone else _hash_messages(messages)
    return SimulationIdentity(
        name_of(domain, simulation),
        domain,
        str(simulation.get("task_id")),
        simulation.get("trial"),
        str(simulation.get("id") or ""),
        said,
        any(message["role"] == "user" for message in messages),
        _ends_with_stop(messages),
        whole_number(simulation.get("seed")),
        called,
        b"" if alone else _spoken(messages),
        any(message.get("usage") or message.get("cost") for message in messages),
        None if alone else _overlong(messages),
    )


def _spoken(messages: Sequence[Mapping[str, Any]]) -> bytes:
    said = (each.get("content") for each in messages if each["role"] in ("assistant", "user"))
    text = _TEXT_END.join(str(text) for text in said if text)[:_MOST_KEPT]
    return zlib.compress(text.lower().encode(errors="surrogatepass"), 1)


Kinds = dict[tuple[str, str, str], SimulationIdentity]
"""The first simulation of each kind."""


def find_phrases(each: SimulationIdentity, first: Kinds) -> None:
    """Work out now what ``near_copies`` will ask for, if others of its kind differ from it."""
    like = first.setdefault(each.kind, each)
    if like.fingerprint != each.fingerprint:
        _ = like.phrases, each.phrases


def likeness(ours: Set[int], theirs: Set[int]) -> float:
    """Return the share of phrases that two conversations have in common, or 0 if it is small."""
    common = ours & theirs
    size = min(_PHRASES, len(ours) + len(theirs) - len(common))
    if size < _FEWEST_PHRASES or len(common) < _LIKE * size:  # a sample has no more of them
        return 0.0
    return sum(each in common for each in sorted(ours | theirs)[:size]) / size


class _Samples:
    """Conversations, and for each phrase those that have it, as bits: most are like no other."""

    def __init__(self) -> None:
        self._all: list[tuple[SimulationIdentity, Set[int]]] = []
        self._having: dict[int, int] = {}

    def add(self, each: SimulationIdentity) -> None:
        having, bit = self._having.get, 1 << len(self._all)
        self._having.update({phrase: having(phrase, 0) | bit for phrase in each.phrases})
        self._all.append((each, frozenset(each.phrases)))

    def original_of(self, each: SimulationIdentity) -> SimulationIdentity | None:
        """Return the first one whose texts are nearly, but not quite, the same."""
        if not (candidates := self._candidates(each.phrases)):
            return None
        phrases = frozenset(each.phrases)
        for number, (one, known) in enumerate(self._all):
            differs = candidates >> number & 1 and one.fingerprint != each.fingerprint
            if differs and likeness(known, phrases) >= _LIKE:
                return one
        return None

    def _candidates(self, phrases: Sequence[int]) -> int:
        # Whoever is alike lacks so few of the phrases that, in one group more, it lacks none.
        having, groups = self._having.get, int((1 - _LIKE) * len(phrases)) + 1
        found = 0
        for start in range(groups):
            common = -1
            for phrase in phrases[start::groups]:
                common &= having(phrase, 0)
                if not common:
                    break
            found |= common
        return found


def near_copies(
    simulations: Sequence[SimulationIdentity],
) -> Iterator[tuple[SimulationIdentity, SimulationIdentity]]:
    """Yield trials of one task with the same calls and nearly, but not quite, the same texts."""
    groups: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for place, each in enumerate(simulations):
        groups[each.kind].append(place)
    originals: dict[int, SimulationIdentity] = {}
    for places in groups.values():  # one after the other: only one is unpacked at a time
        members = [simulations[place] for place in places]
        if len({each.fingerprint for each in members}) == 1:
            continue
        said: set[int] = set()
        repeated: set[int] = set()
        for each in members:
            repeated.update(said.intersection(each.phrases))
            said.update(each.phrases)
        before = _Samples()
        for number, (place, each) in enumerate(zip(places, members, strict=True)):
            if len(repeated.intersection(each.phrases)) < _LIKE * len(each.phrases):
                continue  # as it says too much that none of the others says
            if each.talks and (original := before.original_of(each)):
                originals[place] = original
            if number < _COMPARED:
                before.add(each)
    yield from ((originals[place], simulations[place]) for place in sorted(originals))


def _overlong(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Name the first message with more text than the tokens that its model is said to have written.

    The longest of 683 conversations with ten models had 5.8 characters for a token.
    """
    for number, message in enumerate(messages):
        length = len(str(message.get("content") or ""))
        if length <= _SHORT or not message.get("usage"):
            continue
        tokens = whole_number(mapping(message, "usage").get("completion_tokens"))
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
