"""Every published erratum is held against the tasks, the tools and the policy that it is about."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.domains.releases import release_of
from maseval.benchmark.tau2.review.audit import KINDS, audit
from maseval.benchmark.tau2.review.errata import (
    errata_for,
    faults_of_task,
    load_errata,
    sound_finding,
)
from maseval.benchmark.tau2.review.errata.erratum import Erratum, gold_actions
from maseval.benchmark.tau2.review.policy import check_gold, scenario_text
from maseval.benchmark.tau2.scoring.case import Case, open_case, words_told
from maseval.benchmark.tau2.scoring.score import score
from maseval.benchmark.tau2.world.setting import Setting, gold_state
from maseval.benchmark.tau2.world.tasks import Action
from maseval.core.finding import LEFT_OUT, SOUND_FAIL, SOUND_PASS

pytestmark = [
    pytest.mark.data,
    pytest.mark.usefixtures("tau2_data_verified", "banking_data", "tau2_texts"),
]

PAGE = Path(__file__).parents[3] / "docs/errata.md"
ENTRIES = [(each, release) for each in load_errata() for release in each.releases]
CORRECTED = [
    (each, release)
    for each, release in ENTRIES
    if each.sound_verdict.gold is not None or each.sound_verdict.accept
]


def name(value: Erratum | str) -> str:
    return value if isinstance(value, str) else f"{value.domain}-{value.task}-{value.kind}"


@lru_cache
def tasks(domain: str, release: str) -> dict[str, Any]:
    chosen = release_of(domain, release)
    return {raw["id"]: raw for raw in load_raw_tasks(chosen.domain(domain), version=chosen)}


def unplayed(domain: str, raw: dict[str, Any], release: str, **keywords: bool) -> Case:
    """A case of a conversation in which nothing happened."""
    simulation = {"task_id": raw["id"], "termination_reason": "user_stop", "messages": []}
    return open_case(simulation, domain, raw, version=release, **keywords)


def with_actions(setting: Setting, actions: list[Action] | tuple[Action, ...]) -> Setting:
    """The same task with another reference solution."""
    criteria = setting.task.evaluation_criteria.model_copy(update={"actions": tuple(actions)})
    task = setting.task.model_copy(update={"evaluation_criteria": criteria})
    return setting._replace(task=task)


def test_every_task_is_one_of_the_release_that_is_named():
    absent = [name(e) for e, release in ENTRIES if e.task not in tasks(e.domain, release)]

    assert not absent


@pytest.mark.parametrize(("erratum", "release"), CORRECTED, ids=name)
def test_what_would_be_right_can_be_done_and_obeys_the_policy(erratum, release):
    raw = tasks(erratum.domain, release)[erratum.task]
    setting = unplayed(erratum.domain, raw, release).setting
    correction = erratum.sound_verdict
    ends = []
    for steps in [*(() if correction.gold is None else [correction.gold]), *correction.accept]:
        other = with_actions(setting, gold_actions(steps))
        ends.append(gold_state(other))
        assert not ends[-1].errors
        assert not check_gold(other, scenario_text(raw)).breaches
    official = gold_state(setting)
    worlds = [*([] if official.errors else [official]), *ends]
    for number, one in enumerate(worlds):
        assert not any(one.world.same_state(each.world) for each in worlds[:number])


def with_arguments(
    actions: tuple[Action, Action, Action, Action], number: int, **changes: Any
) -> list[Action]:
    action = actions[number]
    changed = action.model_copy(update={"arguments": {**action.arguments, **changes}})
    return [*actions[:number], changed, *actions[number + 1 :]]


def lists_turned_round(actions: tuple[Action, Action, Action, Action]) -> Iterator[list[Action]]:
    """Each list alone, and all lists of a call together."""
    for number, action in enumerate(actions):
        lists = {key: value[::-1] for key, value in action.arguments.items() if type(value) is list}
        for turned in (lists, *({key: value} for key, value in lists.items())):
            yield with_arguments(actions, number, **turned)


def neighbours_exchanged(actions: Any) -> Iterator[list[Any]]:
    for number, (one, other) in enumerate(pairwise(actions)):
        if one.name == other.name:
            yield [*actions[:number], other, one, *actions[number + 2 :]]


def texts_in_capitals(actions: Any) -> Iterator[Any]:
    for number, action in enumerate(actions):
        for key, value in action.arguments.items():
            if isinstance(value, str) and " " in value and "{" not in value:
                yield with_arguments(actions, number, **{key: value.upper()})


PLAYED_OTHERWISE = {
    "order in a list is compared": lists_turned_round,
    "order of writes is compared": neighbours_exchanged,
    "free text is compared": texts_in_capitals,
}


def found_by(erratum: Erratum) -> set[str]:
    return {each[7:] for each in erratum.known if each.startswith("audit: ")}


@pytest.mark.parametrize(
    ("erratum", "release"),
    [(each, release) for each, release in ENTRIES if found_by(each) & {*PLAYED_OTHERWISE}],
    ids=name,
)
def test_what_is_compared_to_the_letter_ends_otherwise_when_it_is_done_as_well(erratum, release):
    setting = unplayed(
        erratum.domain, tasks(erratum.domain, release)[erratum.task], release
    ).setting
    official = gold_state(setting)
    for kind in found_by(erratum) & {*PLAYED_OTHERWISE}:
        others = PLAYED_OTHERWISE[kind](setting.task.actions)
        ends = [gold_state(with_actions(setting, other)) for other in others]
        accepted = [each for each in ends if len(each.errors) <= len(official.errors)]
        assert any(not each.world.same_state(official.world) for each in accepted), kind


def texts(value: Any) -> list[str]:
    """All texts in a task, as they are."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value] if isinstance(value, str) else [text for each in inner for text in texts(each)]


def test_the_words_of_the_tasks_are_those_on_which_errata_rest():
    for erratum, release in ENTRIES:
        raw = tasks(erratum.domain, release)[erratum.task]
        assert all(any(each in text for text in texts(raw)) for each in erratum.says), erratum
        if erratum.silent_on is not None:
            told = re.search(erratum.silent_on, words_told(raw), re.IGNORECASE)
            assert told is None, (erratum, release, told)


def in_any_order(value: list[dict[str, Any]]) -> list[str]:
    return sorted(map(repr, value)) if isinstance(value, list) else value


@pytest.mark.parametrize(("erratum", "release"), CORRECTED, ids=name)
def test_a_choice_that_is_called_open_is_settled_by_no_word_of_the_task(erratum, release):
    """Unless the erratum names the words on which it rests."""
    raw = tasks(erratum.domain, release)[erratum.task]
    choices = release_of(erratum.domain, release).domain(erratum.domain).choices
    official = {}
    for each in raw["evaluation_criteria"]["actions"]:
        official.setdefault(
            (each["name"], *list(each["arguments"].values())[:1]), each["arguments"]
        )
    for step in (step for steps in erratum.sound_verdict.accept for step in steps):
        given = official.get((step.name, *list(step.arguments.values())[:1]), {})
        for each in choices if not erratum.says else ():
            key = each.argument
            if step.name not in each.tools or each.unordered or key not in given:
                continue
            if in_any_order(step.arguments.get(key)) != in_any_order(given[key]):
                assert each.allows(step.name, key, words_told(raw)), key


def test_an_erratum_rests_on_words_of_the_task_or_on_what_can_be_recomputed(banking_data):
    """Each is proven by one of the tests here, by the audit, or by documents that exist."""
    documents = {file.stem for file in (banking_data / "documents").iterdir()}
    for erratum, release in ENTRIES:
        raw = tasks(erratum.domain, release)[erratum.task]
        named = [each for each in erratum.known if each.startswith("doc_")]
        assert {*named} <= documents
        if erratum.says or erratum.silent_on or named:
            continue
        assert found_by(erratum) <= {*KINDS, *PLAYED_OTHERWISE}
        kinds = found_by(erratum) & {*KINDS}
        if kinds and release != "0.2.0":  # of that one test_audit asks for it
            found = audit(erratum.domain, version=release, task_id=erratum.task)
            assert kinds <= {each.kind for each in found}, (name(erratum), release)
        if found_by(erratum):
            continue
        case = unplayed(erratum.domain, raw, release)
        proof = {
            "gold impossible": gold_state(case.setting).errors,
            "gold against the policy": check_gold(case.setting, case.scenario).breaches,
            "several right end states": erratum.sound_verdict.accept,  # by the test above
            "information missing": raw.get("ticket")
            and faults_of_task(unplayed(erratum.domain, raw, release, solo=True)),
        }
        assert proof.get(erratum.kind), (name(erratum), release, erratum.known)


def test_every_reference_solution_that_was_changed_in_public_has_an_erratum():
    for domain in ("airline", "retail"):
        for release in ("1.0.1", "verified"):
            for task_id, raw in tasks(domain, release).items():
                former = tasks(domain, "0.2.0")[task_id]
                ends = [
                    gold_state(unplayed(domain, each, version).setting).world
                    for each, version in ((former, "0.2.0"), (raw, release))
                ]
                if not ends[0].same_state(ends[1]):
                    found = [errata_for(domain, task_id, each) for each in ("0.2.0", release)]
                    assert any(found), (domain, task_id, release)


def test_a_ticket_counts_only_for_an_agent_that_works_alone():
    task_id = "[mms_issue]break_app_storage_permission|data_usage_exceeded[PERSONA:Easy]"
    raw = tasks("telecom", "0.2.0")[task_id]

    assert not faults_of_task(unplayed("telecom", raw, "0.2.0"))
    assert faults_of_task(unplayed("telecom", raw, "0.2.0", solo=True))


_OUTCOMES = {LEFT_OUT: "left out", SOUND_PASS: "passed", SOUND_FAIL: "failed"}


@pytest.mark.contract
@pytest.mark.parametrize("domain", ["airline", "retail", "telecom"])
def test_the_page_says_what_the_errata_do_to_the_public_conversations(domain, contract_dir):
    seen = Counter()
    with gzip.open(contract_dir / f"conversations/{domain}.jsonl.gz", "rt") as lines:
        for record in map(json.loads, lines):
            case = open_case(record["simulation"], domain, solo=record["solo"])
            official = score(case).reward_info
            passed, found = official["reward"] == 1.0, sound_finding(case, official=official)
            outcome = ("passed" if passed else "failed") if found is None else _OUTCOMES[found.kind]
            seen[outcome, passed] += 1
    total, left_out = seen.total(), seen["left out", True] + seen["left out", False]
    passed = sum(number for (_, official), number in seen.items() if official)
    risen, fallen = seen["passed", False], seen["failed", True]
    sound = seen["passed", True] + risen

    (row,) = re.findall(rf"^\| {domain} \| (\d.*)\|$", PAGE.read_text("utf-8"), re.MULTILINE)
    told = list(map(int, re.findall(r"\d+", row)))
    assert told == [total, passed, left_out, sound, total - left_out, risen, fallen]
