"""Breaches as data: for each rule, what is said and called otherwise in a gold conversation.

A case of ``breaches_DOMAIN.json`` names a rule, what it says, a task, and edits of the conversation
that follows the task's reference solution: where, how many steps go, and the pieces that take their
place. A piece is a text (``agent``, ``user``), a call (``call``, ``user calls``) or other words in
the text that stands there (``reword``); the bank's tools have shorter forms. ``rows`` are records
with which the task begins. A case without a rule is a scene that keeps the policy.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.benchmark.tau2.compliance import gold_airline, gold_retail, gold_telecom
from tests.benchmark.tau2.compliance import gold_banking_knowledge as bank
from tests.benchmark.tau2.compliance.gold_talk import Do, Say, Step

Case = dict[str, Any]
Task = Mapping[str, Any]


def cases(domain: str) -> list[Case]:
    path = Path(__file__).with_name(f"breaches_{domain}.json")
    found: list[Case] = json.loads(path.read_text(encoding="utf-8"))
    return found


def staged(case: Case, task: Task) -> Task:
    """The task of a case, with the records that the case wants."""
    for table, rows in case.get("rows", {}).items():
        for key, row in rows.items():
            task = bank.with_row(task, table, key, row)
    return task


def base(domain: str, task: Task, *, solo: bool = False) -> list[Step]:
    """The conversation that a case changes."""
    if domain == "airline":
        return gold_airline.conversation(task)
    if domain == "retail":
        return gold_retail.conversation(task, with_wish=False)
    if domain == "telecom":
        return gold_telecom.solo_steps(task) if solo else gold_telecom.clean_steps(task)
    return bank.clean_steps(task)


def edited(case: Case, task: Task, steps: list[Step]) -> list[Step]:
    """The steps with the edits of a case, whose places are those before any edit."""
    new = list(steps)
    for at, gone, pieces in reversed(case["edits"]):
        old = steps[at : at + gone]
        new[at : at + gone] = [s for piece in pieces for s in _steps(piece, task, old)]
    return new


def _steps(piece: list[Any], task: Task, old: list[Step]) -> Iterator[Step]:
    match piece:
        case ["agent", text]:
            yield Say("assistant", text)
        case ["user", text]:
            yield Say("user", text)
        case ["reword", before, after]:
            (said,) = (s for s in old if isinstance(s, Say) and before in s.text)
            yield Say(said.role, said.text.replace(before, after))
        case ["call", name, arguments]:
            yield Do(name, arguments)
        case ["user calls", name, arguments]:
            yield Do(name, arguments, "user")
        case ["known", user_id]:
            yield from bank.known(task, user_id)
        case ["unlock", tool]:
            yield from bank.unlocked(tool)
        case ["inner", tool, arguments]:
            yield bank.inner(tool, **arguments)
        case ["served", tool, arguments]:
            yield from bank.served(tool, bank.inner(tool, **arguments))
        case _:
            raise AssertionError(f"not a piece of a conversation: {piece}")
