"""Evidence beside the end state: checks, failed replays, assertions, and what the agent said."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from pydantic import BaseModel

from maseval.benchmark.tau2.formats.message import Tau2Message, has_text, spoken_text
from maseval.benchmark.tau2.formats.simulation import (
    CommunicateCheck,
    EnvAssertionCheck,
    RewardInfo,
    replay_problem,
)
from maseval.benchmark.tau2.review.explain.snapshot import FieldPath, path_text
from maseval.benchmark.tau2.world.tasks import Criteria, EnvAssertion, RewardType
from maseval.benchmark.tau2.world.world import World
from maseval.core.words import count_of, excerpt

WorldFacts = dict[str, object]
# A number by itself: no part of an id or a date.
_NUMBER = re.compile(r"(?<![\w.#/:-])\d+(?:\.\d+)?(?![\w/:%-])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_NEAR = 0.5  # a number that is further off, in proportion, is no evidence
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LONGEST_QUOTE = 200
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True)
class CheckSummary:
    """One check and its outcome; the reward depends on it if it ``gates``.

    ``passed`` is None if it was not run. ``can_fail`` is False if the task has no criteria for it.
    """

    kind: str
    gates: bool
    passed: bool | None
    can_fail: bool
    detail: str = ""


def check_summaries(
    criteria: Criteria, reward_info: RewardInfo, *, looked: bool
) -> tuple[CheckSummary, ...]:
    """Return every check; ``looked`` is False if none was run."""
    db, judged = reward_info["db_check"], reward_info["nl_assertions"]
    listed: dict[RewardType, tuple[Sequence[Mapping[str, Any]] | None, str, str]] = {
        RewardType.ENV_ASSERTION: (reward_info["env_assertions"], "met", "assertions hold"),
        RewardType.NL_ASSERTION: (judged, "met", "assertions hold"),
        RewardType.ACTION: (reward_info["action_checks"], "action_match", "actions taken"),
        RewardType.COMMUNICATE: (reward_info["communicate_checks"], "met", "things said"),
    }
    found = []
    for kind in RewardType:
        checks, key, words = listed.get(kind, (None, "", ""))
        passed, detail = all(each[key] for each in checks or ()), ""
        if checks and looked:
            detail = f"{sum(each[key] for each in checks)} of {len(checks)} {words}"
        ran: bool | None = passed if looked else None
        if kind is RewardType.DB:
            ran = db["db_match"] if looked and db is not None else None
        elif kind is RewardType.NL_ASSERTION and judged is None:
            ran = None
            if looked and criteria.nl_assertions:
                detail = f"{count_of(len(criteria.nl_assertions), 'assertion')}, not judged"
        gates = kind in criteria.reward_basis
        found.append(CheckSummary(kind.value, gates, ran, criteria.can_fail(kind), detail))
    return tuple(found)


@dataclass(frozen=True)
class ReplayFault:
    message_index: int | None
    call: Mapping[str, object] | None
    expected: str | None
    found: str | None
    error: str
    meaning: str


def replay_fault(reward_info: RewardInfo) -> ReplayFault | None:
    problem = replay_problem(reward_info)
    if problem is None:
        return None
    expected, found = problem["expected"], problem["found"]
    if found is not None:
        meaning = f"the tool answers differently: {_first_difference(expected, found)}"
    elif problem["call"] is not None and "func_name" in problem["call"]:
        meaning = "an assertion of the task raises in the end state"
    else:
        meaning = "calls and answers are out of order"
    return ReplayFault(
        problem["message_index"], problem["call"], expected, found, problem["error"], meaning
    )


def _first_difference(expected: str | None, found: str) -> str:
    recorded = expected or ""
    pairs = zip(recorded, found, strict=False)
    at = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    start = max(0, at - 20)
    return f"recorded …{recorded[start : at + 40]!r}, the tool returns …{found[start : at + 40]!r}"


def facts_read(world: World, assertion: Mapping[str, Any]) -> WorldFacts:
    """Return the values of the world that decide an assertion; none if they cannot be found out."""
    toolkit = world.tools if assertion["env_type"] == "assistant" else world.user_tools
    if toolkit is None:
        return {}
    facts: dict[FieldPath, object] = {}
    original = toolkit.db
    try:
        # An assertion is any function of the task's: what it looks at is known by watching it.
        toolkit.db = _Watched(original, (), facts)
        toolkit.task_function(assertion["func_name"])(**assertion["arguments"])
    except Exception:  # a function that cannot be watched gives no facts
        return {}
    finally:
        toolkit.db = original
    return {path_text(path).lstrip("."): value for path, value in facts.items()}


class _Watched:
    """Stands for a part of a database; parts of it are watched too, single values are noted."""

    def __init__(self, value: object, path: FieldPath, facts: dict[FieldPath, object]) -> None:
        vars(self).update(_value=value, _path=path, _facts=facts)

    def _watch(self, step: str | int, value: object) -> object:
        path = (*self._path, step)
        if isinstance(value, BaseModel | Mapping | list):
            return _Watched(value, path, self._facts)
        self._facts[path] = value
        return value

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._value, name)
        if callable(value):
            return self._method(name, value)
        return self._watch(name, value)

    def _method(self, name: str, method: Any) -> object:
        # The mapping's own method would return values that are not watched.
        if name == "get":
            return lambda key, default=None: self[key] if key in self._value else default
        if name == "view":  # a table's record for reading only
            return lambda key: self._watch(key, method(key))
        if name in ("items", "values"):
            pairs = [(key, self._watch(key, each)) for key, each in self._value.items()]
            return lambda: pairs if name == "items" else [each for _, each in pairs]
        if isinstance(self._value, BaseModel) and name in vars(type(self._value)):
            # A record's own method reads the record: let it read the watched one.
            return vars(type(self._value))[name].__get__(self)
        return method

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._value, name, value)

    def __getitem__(self, key: Any) -> object:
        return self._watch(key, self._value[key])

    def __iter__(self) -> Iterator[object]:
        if isinstance(self._value, list):
            return (self._watch(index, each) for index, each in enumerate(self._value))
        return iter(self._value)

    def __contains__(self, key: object) -> bool:
        return key in self._value

    def __len__(self) -> int:
        # An assertion may depend on a number of entries, which is not the value of any field.
        length = self._facts[(*self._path, "(length)")] = len(self._value)
        return length

    def __eq__(self, other: object) -> bool:
        return bool(self._value == (other._value if isinstance(other, _Watched) else other))

    __hash__ = None  # type: ignore[assignment]  # it is compared, not looked up

    def __bool__(self) -> bool:
        return bool(self._value)


@dataclass(frozen=True)
class AssertionEvidence:
    func_name: str
    arguments: Mapping[str, object]
    expected: bool
    met: bool
    looked_at: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Unsaid:
    """Something that the agent had to say and did not, with the closest sentence that it said."""

    info: str
    message_index: int | None = None
    closest: str | None = None


def assertion_evidence(
    world: World, checks: Sequence[EnvAssertionCheck]
) -> tuple[AssertionEvidence, ...]:
    """Return each assertion with the facts behind it; the world is no longer needed afterwards."""
    found = []
    for check in checks:
        raw, met = check["env_assertion"], check["met"]
        each = EnvAssertion.model_validate(raw)
        facts = {} if met else facts_read(world, raw)
        found.append(
            AssertionEvidence(each.func_name, each.arguments, each.assert_value, met, facts)
        )
    return tuple(found)


def find_unsaid(
    messages: Sequence[Tau2Message], checks: Sequence[CommunicateCheck]
) -> tuple[Unsaid, ...]:
    """Return each thing that was not said, beside the agent's sentence with the closest number.

    What is no number stands beside the sentence with the most words in common.
    """
    return tuple(
        Unsaid(check["info"], *_nearest(messages, check["info"].lower()))
        for check in checks
        if not check["met"]
    )


def _nearest(messages: Sequence[Tau2Message], wanted: str) -> tuple[int | None, str | None]:
    best: tuple[float, int | None, str | None] = (0.0, None, None)
    for index, message in enumerate(messages):
        # What the user says is compared with nothing: the check reads the agent alone.
        spoken = message["role"] == "assistant" and has_text(message)
        for sentence in _SENTENCE.split(spoken_text(message)) if spoken else ():
            near = _closeness(sentence, wanted)
            if near > best[0]:
                best = near, index, excerpt(sentence, _LONGEST_QUOTE)
    return best[1:]


def _closeness(sentence: str, wanted: str) -> float:
    if not _NUMBER.fullmatch(wanted):
        return len({*_WORD.findall(wanted)} & {*_WORD.findall(sentence.lower())})
    target = float(wanted)
    without = _THOUSANDS.sub("", sentence)
    apart = (abs(float(each) - target) for each in _NUMBER.findall(without))
    return max((1 / (1 + each) for each in apart if each <= _NEAR * abs(target)), default=0.0)
