"""Evidence beside the end state: checks, failed replays, and what the agent said."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from maseval.benchmark.tau2.formats.message import Tau2Message, has_text, spoken_text
from maseval.benchmark.tau2.formats.simulation import (
    CommunicateCheck,
    RewardInfo,
    replay_problem,
)
from maseval.benchmark.tau2.world.tasks import Criteria, RewardType
from maseval.core.words import count_of, excerpt

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
# A number by itself, with or without a currency: no part of an id, a date or a time of day, and
# nothing that is measured in time, data or percent.
_AMOUNT = re.compile(
    r"(?<![\w.#/:-])\d+(?:\.\d+)?(?![\w/:%-])(?!\.\d)"
    r"(?!\s*(?:-?to-?\s*\d+\s*)?(?:business )?(?:hours?|hrs?|minutes?|mins?|days?|weeks?|months?"
    r"|years?|am|pm|a\.m|p\.m|percent|gb|mb|mbps)\b)(?!\s+%)",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d{1,2}(?:st|nd|rd|th)?\b"
    r"(?:,? \d{4}\b)?|\b\d{1,2}(?:st|nd|rd|th)\b",
    re.IGNORECASE,
)
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
    passed: dict[RewardType, bool | None] = {kind: None for kind in RewardType}
    db = reward_info["db_check"]
    if looked:
        passed |= {
            RewardType.DB: None if db is None else db["db_match"],
            RewardType.ENV_ASSERTION: _all(reward_info["env_assertions"], "met"),
            RewardType.ACTION: _all(reward_info["action_checks"], "action_match"),
            RewardType.COMMUNICATE: _all(reward_info["communicate_checks"], "met"),
        }
        if reward_info["nl_assertions"] is not None:
            passed[RewardType.NL_ASSERTION] = _all(reward_info["nl_assertions"], "met")
    return tuple(
        CheckSummary(
            kind.value,
            kind in criteria.reward_basis,
            passed[kind],
            criteria.can_fail(kind),
            _detail(kind, criteria, reward_info) if looked else "",
        )
        for kind in RewardType
    )


def _all(checks: Sequence[Mapping[str, object]] | None, key: str) -> bool:
    return all(check[key] for check in checks or ())


def _detail(kind: RewardType, criteria: Criteria, reward_info: RewardInfo) -> str:
    match kind:
        case RewardType.ENV_ASSERTION:
            return _share(reward_info["env_assertions"], "met", "assertions hold")
        case RewardType.ACTION:
            return _share(reward_info["action_checks"], "action_match", "actions taken")
        case RewardType.COMMUNICATE:
            return _share(reward_info["communicate_checks"], "met", "things said")
        case RewardType.NL_ASSERTION if criteria.nl_assertions:
            judged = reward_info["nl_assertions"]
            if judged is None:
                return f"{count_of(len(criteria.nl_assertions), 'assertion')}, not judged"
            return _share(judged, "met", "assertions hold")
        case _:
            return ""


def _share(checks: Sequence[Mapping[str, Any]] | None, key: str, words: str) -> str:
    return f"{sum(c[key] for c in checks)} of {len(checks)} {words}" if checks else ""


@dataclass(frozen=True)
class ReplayFault:
    """The reason why a conversation could not be replayed."""

    message_index: int | None
    call: Mapping[str, object] | None
    expected: str | None
    found: str | None
    error: str
    meaning: str


def replay_fault(reward_info: RewardInfo) -> ReplayFault | None:
    """Return the reason why a conversation could not be replayed, or None."""
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


@dataclass(frozen=True)
class Unsaid:
    """Something that the agent had to say and did not, with the closest sentence that it said."""

    info: str
    message_index: int | None = None
    closest: str | None = None


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
    apart = (abs(number - target) for number in _amounts(sentence))
    return max((1 / (1 + each) for each in apart if each <= _NEAR * abs(target)), default=0.0)


def _amounts(text: str) -> list[float]:
    """Return the numbers of a text that stand by themselves."""
    without = _THOUSANDS.sub("", _DATE.sub(" ", text))
    return [float(each) for each in _AMOUNT.findall(without)]
