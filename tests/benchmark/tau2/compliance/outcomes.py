"""What the rules find in all sets of breaches in other styles, and in the twins of these.

``python -m benchmarks.compliance found`` writes the tables of docs/compliance.md with it.
"""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.review.policy import PolicyResult
from tests.benchmark.tau2.compliance.gold_talk import Step, compliance_of
from tests.benchmark.tau2.compliance.scenes import scenes, tasks_of
from tests.benchmark.tau2.compliance.styles import SETS, Pair, pairs

FOLDER = Path(__file__).parent
SCENES = [(domain, part) for domain in ("telecom", "banking_knowledge") for part in (1, 2, 3, 4)]
_TASKS = {
    "airline": "1",
    "retail": "2",
    "telecom": "[mobile_data_issue]data_mode_off|data_usage_exceeded[PERSONA:None]",
    "telecom.roaming": (
        "[mms_issue]bad_network_preference|user_abroad_roaming_disabled_off[PERSONA:None]"
    ),
    **dict.fromkeys(
        ("telecom.payment", "telecom.resume"),
        "[service_issue]airplane_mode_on|overdue_bill_suspension[PERSONA:None]",
    ),
    "telecom.sim": "[service_issue]airplane_mode_on|lock_sim_card_pin[PERSONA:Easy]",
    "telecom.advice": "[mobile_data_issue]airplane_mode_on|data_mode_off[PERSONA:None]",
}
# Twins leave it out, as most agents do.
REMINDER = "retail.items.reminder"
# What was found, and how many twins were flagged, when a set was new. Rules: of the second sets.
FIRST_LOOK = {
    **{"airline 1": "7 | 10", "airline 2": "32 | 4", "retail 1": "17 | 10", "retail 2": "18 | 0"},
    **{"telecom 1": "13 | 6", "telecom 2": "17 | 2", "telecom 3": "6 | 0", "telecom 4": "5 | 0"},
    **{"banking_knowledge 1": "0 | 0", "banking_knowledge 2": "8 | 0"},
    **{"banking_knowledge 3": "3 | 0", "banking_knowledge 4": "2 | 0"},
    **{"airline 3": "25 | 3", "retail 3": "23 | 1", "telecom 5": "12 | 2"},
    **{"airline 4": "17 | 2", "retail 4": "11 | 0", "telecom 6": "12 | 0"},
    **{"all 5": "123 | 3", "all 6": "72 | 2", "all 7": "59 | 5", "all 8": "43 | 6"},
    **{"all 9": "45 | 4", "all 10": "53 | 3", "all 11": "50 | 2", "all 12": "38 | 3"},
    **{"all 13": "48 | 1", "all 14": "46 | 1"},
    **{"upbeat": "11 | 2", "blunt": "12 | 1", "llmlong": "12 | 1", "colloquial": "10 | 0"},
    **{"narrative": "11 | 1", "formlike": "14 | 1", "smallmodel": "14 | 0", "elderly": "14 | 1"},
    **{"scripted": "10 | 1", "hurried": "12 | 1", "apologetic": "13 | 0", "indian": "15 | 0"},
    **{"jargon": "7 | 2", "manyasks": "10 | 0", "sarcastic": "10 | 0", "reasoning": "11 | 1"},
    **{"genz": "11 | 0", "legal": "12 | 1", "caring": "13 | 0", "dictated": "12 | 0"},
    **{"aussie": "11 | 0", "jsonish": "11 | 0", "poised": "13 | 0", "tourist": "11 | 1"},
    **{"helpdesk": "10 | 0", "southern": "8 | 2", "translated": "14 | 3", "structured": "11 | 1"},
    **{"agentic": "18 | 1", "careful": "16 | 3", "phonecall": "13 | 1", "plainchat": "12 | 0"},
    **{"everyday": "18 | 0", "brisk": "19 | 1", "warm": "17 | 0", "stepwise": "18 | 1"},
    **{"secondlang": "30 | 0", "transcript": "30 | 1"},
    **{"corporate": "29 | 1", "emojichat": "34 | 1"},
    **{"sms": "16 | 2", "list": "17 | 1", "stiff": "17 | 1"},
    **{"airline.price.agreed": "5 of 8", "airline.confirm.yes": "3 of 5"},
    **dict.fromkeys(
        ("airline.told.cheapest", "airline.bags.agreed", "airline.transfer.wish"), "2 of 3"
    ),
    **{"retail.confirm.yes": "2 of 4", "retail.items.confirmed": "0 of 2"},
    **{"retail.transfer.wish": "0 of 2", "retail.payment.provided": "0 of 1"},
}
_OF_ALL = 5  # the first of the sets that are told for all domains together
_FEW = 10  # pairs: styles with fewer are told together


class Outcome(NamedTuple):
    """A pair: if its breach is found by the right rule, and if anything is in its twin."""

    set: str
    rule: str
    style: str
    found: bool
    flagged: bool


@cache
def _task(domain: str, rule: str) -> dict[str, Any]:
    group = rule.rpartition(".")[0]
    return load_raw_task(domain, _TASKS.get(group, _TASKS[domain]))


def rules_broken(pair: Pair, steps: list[Step], *, form: bool = False) -> set[str]:
    """The rules found broken in one side of a pair; with ``form`` also those of form."""
    return _broken(compliance_of(pair.domain, _task(pair.domain, pair.rule), steps), form)


def _broken(result: PolicyResult, form: bool = False) -> set[str]:
    assert not result.failed_rules and result.unreadable is None
    return {e.rule for e in result.breaches if form or (e.is_breach and e.rule != REMINDER)}


@cache
def outcomes() -> tuple[Outcome, ...]:
    return (*_of_styles(), *_of_scenes())


def _of_styles() -> Iterator[Outcome]:
    for part, name in enumerate(SETS, 1):
        for pair in pairs(name):
            number = part + 2 if pair.domain == "telecom" else part  # behind those of scenes
            group = f"{pair.domain} {number}" if part < _OF_ALL else f"all {part}"
            found = pair.rule in rules_broken(pair, pair.breach, form=True)
            clean = rules_broken(pair, pair.clean)
            yield Outcome(group, pair.rule, pair.style, found, bool(clean))


def _of_scenes() -> Iterator[Outcome]:
    for domain, part in SCENES:
        tasks = tasks_of(domain)
        for scene in scenes(domain, part):
            breach, clean = (_broken(scene.check(tasks, breach=each)) for each in (True, False))
            found = scene.rule in breach
            yield Outcome(f"{domain} {part}", scene.rule, scene.style, found, bool(clean))


def table_rows() -> list[str]:
    """The rows of the tables by set, style and rule, with the first look where it was kept."""
    return [*_rows("set"), *_rows("style"), *_rows("rule")]


def _rows(kind: str) -> Iterator[str]:
    real = findings_read()
    groups: dict[str, list[Outcome]] = {}
    sizes = Counter(each.style for each in outcomes())
    for each in outcomes():
        is_rare = kind == "style" and sizes[each.style] < _FEW and each.style not in FIRST_LOOK
        groups.setdefault("others" if is_rare else getattr(each, kind), []).append(each)
    for name, mine in sorted(groups.items()):
        found = sum(each.found for each in mine)
        first = FIRST_LOOK.get(name, " | " if kind == "style" else "")
        read = f" | {real[name, True]} | {real[name, False]}" if kind == "rule" else ""
        yield f"| {name} | {len(mine)} | {first} | {found}{read} |"


def findings_read() -> Counter[tuple[str, bool]]:
    """Count the findings in passing public conversations that were read: right ones, false ones."""
    total: Counter[tuple[str, bool]] = Counter()
    for path in FOLDER.glob("readings_*.json"):
        read = json.loads(path.read_text(encoding="utf-8"))
        total.update((each["rule"], each["verdict"] != "false") for each in read["breaches"])
        total.update((each["rule"], False) for each in read.get("repaired", ()))
    return total
