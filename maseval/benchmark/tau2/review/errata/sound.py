"""The sound verdict on a conversation, which stands beside the official one.

A task is unsound if no verdict on it can be right: its errata say so, or its reference solution
fails, is forbidden by the rules of the policy, or can never be matched. Such a task is left out
with all its simulations, passes too. For the others a corrected reference solution takes the place
of the task's own, and other right end states count as well.

These are the end states that errata accept, and those that are told by rule. The official verdict
knows one. A conversation that ends in another may be as right: its writes are those of a right
solution, and differ from them only in the spelling of words, in the order of writes that do not
touch each other, or in a choice that policy and scenario leave open. It is told by its calls, one
by one, and not by the fields in which the states differ, so that nothing else that an agent did can
hide among them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.review.errata.erratum import Erratum, errata_for, gold_actions
from maseval.benchmark.tau2.review.policy import check_case, check_gold
from maseval.benchmark.tau2.review.policy.checking import BROKE, DEMANDED
from maseval.benchmark.tau2.review.policy.rules import inner_call
from maseval.benchmark.tau2.review.talk import Talk
from maseval.benchmark.tau2.review.values import record
from maseval.benchmark.tau2.scoring.case import Case, words_told
from maseval.benchmark.tau2.scoring.score import score
from maseval.benchmark.tau2.world.setting import (
    GoldKey,
    Setting,
    call_as_evaluator,
    evaluator_world,
    gold_key,
    gold_state,
    shortfall,
)
from maseval.benchmark.tau2.world.state.copying import once
from maseval.benchmark.tau2.world.state.records import Table
from maseval.benchmark.tau2.world.tasks import Action, RewardType
from maseval.benchmark.tau2.world.world import calls_with_answers
from maseval.core.finding import LEFT_OUT, SOUND_FAIL, SOUND_PASS, Finding
from maseval.core.recorded import mapping
from maseval.core.report_parts import is_successful

# People and models spell one address in many ways, and the verdict compares letters.
_ALIKE = {
    **{"street": "st", "avenue": "ave", "drive": "dr", "lane": "ln", "road": "rd", "suite": "ste"},
    **{"boulevard": "blvd", "apartment": "apt", "us": "usa", "united states": "usa"},
    **{"united states of america": "usa", "na": "", "none": "", "null": ""},
}
_WORD = re.compile(r"(?:[^\W_]|\.)+")
# The point in 14.50 is no sign to leave out: it tells the number from 1450.
_SIGNS = re.compile(r"(?<!\d)\.|\.(?!\d)|[^\w\s.]|_")


# People speak of a gift card, and not of gift_card_1234567.
_OF_AN_ID = re.compile(r"_\d+$")


def with_criteria(case: Case, **changes: object) -> Case:
    criteria = case.criteria.model_copy(update=changes)
    task = case.task.model_copy(update={"evaluation_criteria": criteria})
    return case._replace(setting=case.setting._replace(task=task))


def passes(case: Case, official: RewardInfo) -> bool:
    """Score by other criteria; what a judge said of the conversation stays as it was."""
    judged = mapping(official["reward_breakdown"]).get(RewardType.NL_ASSERTION.value, 1.0)
    basis = [kind for kind in case.criteria.reward_basis if kind is not RewardType.NL_ASSERTION]
    found = score(with_criteria(case, reward_basis=basis)).reward_info["reward"]
    return is_successful(found) and judged == 1.0


def other_right_end(case: Case, errata: Sequence[Erratum], official: RewardInfo) -> str | None:
    """Return in words in which other right way a conversation ended; None if in no such way."""
    if not case.recording.ended_by_choice or not case.counts(RewardType.DB):
        return None
    gold: Sequence[Action] = case.task.actions
    accepted = [gold_actions(steps) for each in errata for steps in each.sound_verdict.accept]
    for solution in accepted:
        if passes(with_criteria(case, actions=solution), official) and _chosen_well(case):
            return ", ".join(_differences(case.setting, gold, solution)) or "the same calls"
    # Where calls are compared one by one, only errata can accept other calls.
    if case.counts(RewardType.ACTION):
        return None
    for right in (gold, *accepted):
        made = _made_alike(case, right)
        if made is None or not passes(with_criteria(case, actions=tuple(made.actions)), official):
            continue
        choices = made.chosen or right is not gold
        if not choices or (_chosen_well(case) and _are_said(made.said, case)):
            return ", ".join([*_differences(case.setting, gold, right), *made.words])
    return None


def _differences(
    setting: Setting, gold: Sequence[Action], accepted: Sequence[Action]
) -> Iterator[str]:
    ours, theirs = (
        [(each.name, each.arguments) for each in steps if setting.may_write(each.call())]
        for steps in (gold, accepted)
    )
    lost = [each for each in ours if each not in theirs]
    for name, arguments in (each for each in theirs if each not in ours):
        twin = next((each for each in lost if each[0] == name), None)
        if twin is None:
            yield f"also {name}"
            continue
        lost.remove(twin)
        for key, value in arguments.items():
            if value != twin[1].get(key):
                yield _instead(_noun(setting.domain, name, key), value, twin[1].get(key))
    yield from (f"without {name}" for name, _ in lost)


def _noun(domain: Domain, tool: str, argument: str) -> str:
    named = (c.noun for c in domain.choices if c.argument == argument and tool in c.tools)
    return next(named, argument.replace("_", " "))


def _instead(noun: str, found: object, wanted: object) -> str:
    return f"{noun} {_brief(found)} instead of {_brief(wanted)}"


class _MadeAlike(NamedTuple):
    actions: Sequence[Action]
    words: Sequence[str]
    chosen: bool
    said: Sequence[str]


class _Twin(NamedTuple):
    """A call that does what a step of a solution does, ``at`` a place among the writes made.

    ``chosen`` is True if it made an open choice in its own way, and ``said`` are the values that
    somebody must have named for that.
    """

    at: int
    call: Tau2ToolCall
    words: Sequence[str]
    chosen: bool
    said: Sequence[str]


def _made_alike(case: Case, solution: Sequence[Action]) -> _MadeAlike | None:
    setting = case.setting
    steps = [each for each in solution if setting.may_write(each.call())]
    made = [
        call
        for _, call, answer in calls_with_answers(case.messages)
        if setting.may_write(call) and not answer.get("error")
    ]
    scenario = words_told(case.raw_task)
    twins: list[_Twin] = []
    # Each step takes the call that differs least from it, and no call stands for two steps.
    for step in steps:
        taken = {twin.at for twin in twins}
        alike = [
            twin
            for at, call in enumerate(made)
            if at not in taken
            and (twin := _twin(setting.domain, step.call(), call, at, scenario)) is not None
        ]
        if not alike:
            return None
        twins.append(min(alike, key=lambda twin: len(twin.words)))
    swapped = any(one.at > other.at for one, other in combinations(twins, 2))
    words = [word for twin in twins for word in twin.words]
    if not (swapped or words) or (swapped and not _may_be_swapped(setting, steps, twins)):
        return None
    as_made = [
        step.model_copy(update={"arguments": dict(twin.call["arguments"])})
        for twin, step in sorted(zip(twins, steps, strict=True), key=lambda pair: pair[0].at)
    ]
    words += ["the same calls in another order"] * swapped
    # What must come before them is no write, and is made by the solution: a tool is unlocked.
    kit = setting.domain.toolkit
    others = [step for step in solution if step not in steps and step.requestor == "assistant"]
    before = [step for step in others if kit.has_tool(step.name) and kit.mutates(step.name)]
    said = [value for twin in twins for value in twin.said]
    return _MadeAlike([*before, *as_made], words, any(twin.chosen for twin in twins), said)


# More than other words and open choices make it another call, and no twin.
def _twin(
    domain: Domain, wanted: Tau2ToolCall, made: Tau2ToolCall, at: int, scenario: str
) -> _Twin | None:
    (name, ours), (made_name, theirs) = inner_call(wanted), inner_call(made)
    if (name, wanted["requestor"]) != (made_name, made["requestor"]):
        return None
    listed = [each for each in domain.choices if name in each.tools]
    may_differ = {each.argument for each in listed if each.allows(name, each.argument, scenario)}
    named = {each.argument for each in listed if each.settled_by is not None}
    # An argument that is left open may also be omitted.
    if not ours.keys() ^ theirs.keys() <= may_differ:
        return None
    shuffled = {
        key: f"{each.noun} in another order"
        for each in listed
        if each.unordered
        for key in _keys_in_other_order(ours, theirs, (each.argument, *each.beside))
    }
    words, chosen, said = [], False, []
    for key in dict.fromkeys((*ours, *theirs)):
        value, found = ours.get(key), theirs.get(key)
        if found == value:
            continue
        if key in shuffled:
            words.append(shuffled[key])
        elif _spelling(found) == _spelling(value):
            words.append(f"{key} written {found!r} instead of {value!r}")
        elif key in may_differ:
            words.append(_instead(_noun(domain, name, key), found, value))
            chosen = True
            said += [found] if key in named and isinstance(found, str) else []
        else:
            return None
    words = list(dict.fromkeys(words))
    return _Twin(at, made, words, chosen, said)


def _spelling(text: object) -> object:
    if not isinstance(text, str):
        return text
    words = _WORD.findall(_SIGNS.sub("", text.casefold()))
    whole = " ".join(words)
    return _ALIKE.get(whole, " ".join(_ALIKE.get(word, word) for word in words))


# Lists that belong together, such as items and what replaces them, must move together.
def _keys_in_other_order(
    wanted: Mapping[str, Any], made: Mapping[str, Any], keys: Sequence[str]
) -> Sequence[str]:
    ours, theirs = ([each.get(key) for key in keys] for each in (wanted, made))
    lists = [each for each in (*ours, *theirs) if isinstance(each, list)]
    if len(lists) < 2 * len(keys) or len({len(each) for each in lists}) != 1:
        return ()
    rows = [sorted(map(repr, zip(*each, strict=True))) for each in (ours, theirs)]
    return keys if rows[0] == rows[1] else ()


def _brief(value: object) -> str:
    if isinstance(value, list):
        return " and ".join(map(_brief, value))
    if isinstance(value, Mapping):
        names = (str(v) for k, v in value.items() if k.endswith(("_id", "_number", "_name")))
        return next(names, str(value))
    return str(value)


# Two new records get their ids in order, so their calls cannot be swapped.
def _may_be_swapped(setting: Setting, steps: Sequence[Action], twins: Sequence[_Twin]) -> bool:
    creates = _creating(setting, steps)
    for (first, one), (second, other) in combinations(enumerate(twins), 2):
        if one.at < other.at or (creates[first] and creates[second]):
            continue
        about = record(one.call), record(other.call)
        # A call that names no record may touch any, so its position may matter.
        if None in about or about[0] == about[1]:
            return False
    return True


def _creating(setting: Setting, steps: Sequence[Action]) -> list[bool]:
    world, created = evaluator_world(setting), []
    for step in steps:
        before = _records(world.tools.db)
        call_as_evaluator(world, step.call())
        created.append(_records(world.tools.db) > before)
    return created


def _records(database: Any) -> int:
    return sum(len(table) for _, table in database if isinstance(table, Table))


# Of an id its kind is enough, as in "gift card". A domain without rules asks for no agreement.
def _are_said(values: Sequence[str], case: Case) -> bool:
    if not case.setting.domain.rules:
        return True
    talk = Talk(case.messages)
    last = talk.user[-1].message_index if talk.user else 0
    said = "\n".join(each.lower for each in (*talk.user, *talk.agent_before(last)))
    kinds = [_OF_AN_ID.sub("", each).replace("_", " ").lower() for each in values]
    return all(all(word in said for word in kind.split()) for kind in kinds)


# What the reference solution does itself is not held against a conversation.
def _chosen_well(case: Case) -> bool:
    if not case.setting.domain.rules:
        return True
    found = check_case(case)
    # A conversation that cannot be checked is not called right.
    if found.unreadable:
        return False
    gold = [(step.name, step.arguments) for step in case.task.actions]
    failed = found.failed_rules
    pairs = zip(found.findings, found.calls, strict=True)
    # A rule that failed might have forbidden the call.
    against = [call for each, call in pairs if each.kind in (BROKE, DEMANDED) or each in failed]
    return all((call["name"], call["arguments"]) in gold for call in against if call)


def faults_of_task(case: Case, errata: Sequence[Erratum] = ()) -> tuple[str, ...]:
    """Return why no verdict on a task can be right, by its errata and its reference solution."""
    left_out = [str(each) for each in errata if each.sound_verdict.leave_out]
    corrected = with_corrections(case, errata).setting
    told = case.scenario
    ticket = case.raw_task.get("ticket") if case.setting.solo else None
    # Two tasks may share calls and differ in what they tell, which some rules depend on.
    key = gold_key(corrected, f"{corrected.task.content}\n{told}")
    return (*left_out, *_gold_faults(key, told, ticket if isinstance(ticket, str) else None))


def sound_finding(
    case: Case, errata: Sequence[Erratum] | None = None, official: RewardInfo | None = None
) -> Finding | None:
    """Return how the sound verdict differs from the official one; None if it does not.

    The ``errata`` are by default those of the case's task, as the release of its domain has it,
    and the ``official`` verdict is worked out if it is not given.
    """
    if errata is None:
        errata = errata_for(case.setting.domain, str(case.raw_task.get("id")))
    if faults := faults_of_task(case, errata):
        return _finding(LEFT_OUT, faults[0])
    verdict = score(case).reward_info if official is None else official
    passed, corrected = is_successful(verdict["reward"]), with_corrections(case, errata)
    right = passed if corrected is case else passes(corrected, verdict)
    if not right:
        other = other_right_end(corrected, errata, verdict)
        if other is not None:
            return None if passed else _finding(SOUND_PASS, f"another right end state: {other}")
    if right == passed:
        return None
    corrections = [(str(each), each.sound_verdict) for each in errata]
    why = "; ".join(e for e, by in corrections if by.gold is not None or by.tell is not None)
    return _finding(SOUND_PASS if right else SOUND_FAIL, why)


def _finding(kind: str, why: str) -> Finding:
    return Finding("erratum", "task", kind, "known fault of the task", why, "proven")


def with_corrections(case: Case, errata: Sequence[Erratum]) -> Case:
    """Return the case with the corrected criteria; itself if there is nothing to correct."""
    for each in errata:
        correction = each.sound_verdict
        if correction.gold is not None:
            case = with_criteria(case, actions=gold_actions(correction.gold))
        if correction.tell is not None:
            case = with_criteria(case, communicate_info=list(correction.tell))
    return case


@once(maxsize=4096)
def _gold_faults(key: GoldKey, told: str, ticket: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_faults_of_gold(key.setting, told, ticket)))


def _faults_of_gold(setting: Setting, told: str, ticket: str | None) -> Iterator[str]:
    criteria = setting.task.evaluation_criteria
    if criteria is None:
        return
    calls = {action.action_id: action.call() for action in setting.task.actions}
    basis = criteria.reward_basis
    if RewardType.DB in basis:
        for fault in gold_state(setting).errors:
            # An action that fails is skipped in scoring; if it only reads, the end state is the
            # same.
            if setting.may_write(calls[fault.action_id]):
                yield f"gold impossible: {fault.name} fails: {fault.error}"
    for breach in check_gold(setting, told, ticket).breaches:
        yield f"gold against the policy: {breach.text}"
    for kind in shortfall(setting).kinds:
        if kind in basis:
            yield f"gold impossible: carried out call by call, it fails at {kind.value}"
    # Commas are removed from what the agent says, so that a text with one is never found.
    for info in (criteria.communicate_info or ()) if RewardType.COMMUNICATE in basis else ():
        if "," in info:
            yield f"text to be told is wrong: {info!r} has a comma, which is never found"
