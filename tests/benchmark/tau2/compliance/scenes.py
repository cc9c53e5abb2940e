"""Conversations written in styles that the rules were not written from, each with a clean twin.

A scene of ``scenes_DOMAIN_N.txt`` begins with its style, its task and the rule that it breaks. A
line is a text of the agent (``A``) or the user (``U``), a call of the agent (``>``) or the user
(``<``), records with which the task begins (``?``) or several steps of the bank (``@``). A line
that begins with ``-`` belongs to the breach alone, one with ``+`` to its twin alone.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.review.policy import PolicyResult
from tests.benchmark.tau2.compliance import gold_banking_knowledge as bank
from tests.benchmark.tau2.compliance.gold_talk import Do, Say, Step, compliance_of
from tests.benchmark.tau2.compliance.gold_telecom import CUSTOMER, LINE, NUMBER

Task = Mapping[str, Any]
_TASKS = {
    "data": "[mobile_data_issue]data_mode_off|data_usage_exceeded[PERSONA:None]",
    "roam": "[mms_issue]bad_network_preference|user_abroad_roaming_disabled_off[PERSONA:None]",
    "lock": "[service_issue]airplane_mode_on|lock_sim_card_pin[PERSONA:Easy]",
    "service": "[service_issue]airplane_mode_on|unseat_sim_card[PERSONA:None]",
    "overdue": "[service_issue]airplane_mode_on|overdue_bill_suspension[PERSONA:None]",
}
_BILL = "B1234321"
_MINE = {"customer_id": CUSTOMER}
_LINE = {**_MINE, "line_id": LINE}
_CALLS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "id": ("get_customer_by_phone", {"phone_number": NUMBER}),
    "line": ("get_details_by_id", {"id": LINE}),
    "plan": ("get_details_by_id", {"id": "P1002"}),
    "bill": ("get_details_by_id", {"id": _BILL}),
    "usage": ("get_data_usage", _LINE),
    "bills": ("get_bills_for_customer", _MINE),
    "refuel": ("refuel_data", _LINE),
    "request": ("send_payment_request", {**_MINE, "bill_id": _BILL}),
    "resume": ("resume_line", _LINE),
    "roam": ("enable_roaming", _LINE),
    "transfer": ("transfer_to_human_agents", {"summary": "The user needs help."}),
    "give": ("give_discoverable_user_tool", {}),
}
_ARGUMENT = {
    "plan": "id",
    "usage": "line_id",
    "refuel": "gb_amount",
    "give": "discoverable_tool_name",
}


class Scene(NamedTuple):
    """A breach of a rule and the same conversation without it."""

    domain: str
    style: str
    task: str
    rule: str
    lines: tuple[str, ...]

    def check(self, tasks: Mapping[str, Task], *, breach: bool) -> PolicyResult:
        """Play the scene, and ask the rules about it."""
        task, steps = tasks[_TASKS.get(self.task, self.task)], []
        other = "+ " if breach else "- "
        for line in self.lines:
            if line.startswith(other):
                continue
            own = line.removeprefix("- ").removeprefix("+ ")
            if own.startswith("? "):
                task = _with_rows(task, json.loads(own[2:]))
            else:
                steps += _steps(own, task)
        return compliance_of(self.domain, task, steps, version=_version(self.domain))


def scenes(domain: str, part: int) -> list[Scene]:
    path = Path(__file__).with_name(f"scenes_{domain}_{part}.txt")
    found = []
    for text in path.read_text(encoding="utf-8").strip().split("\n\n"):
        head, *lines = text.split("\n")
        _, style, task, rule = head.split()
        found.append(Scene(domain, style, task, rule, tuple(lines)))
    return found


def tasks_of(domain: str) -> dict[str, Task]:
    return {task["id"]: task for task in load_raw_tasks(domain, version=_version(domain))}


def _version(domain: str) -> str | None:
    return "1.0.1" if domain == "banking_knowledge" else None


def _with_rows(task: Task, tables: Mapping[str, Mapping[str, Any]]) -> Task:
    for table, rows in tables.items():
        for key, row in rows.items():
            task = bank.with_row(task, table, key, row)
    return task


def _steps(line: str, task: Task) -> Iterator[Step]:
    mark, _, rest = line.partition(" ")
    name, _, given = rest.partition(" ")
    match mark:
        case "A" | "U":
            role = "assistant" if mark == "A" else "user"
            yield Say(role, _with_facts(rest.replace("\\n", "\n"), task))
        case "@data":
            yield from (Do(*_CALLS[each]) for each in ("id", "line", "usage", "plan"))
        case "@known":
            yield from bank.known(task, name)
        case "@read":
            yield from (each for each in bank.known(task, name) if isinstance(each, Do))
        case "@unlock":
            yield from bank.unlocked(name)
        case "<":
            yield Do(name, json.loads(given or "{}"), "user")
        case ">" if name in _CALLS:
            tool, arguments = _CALLS[name]
            more = {_ARGUMENT[name]: float(given) if name == "refuel" else given} if given else {}
            if name == "give":
                yield from bank.found(given)
            yield Do(tool, {**arguments, **more})
        case ">":
            yield bank.inner(name, **json.loads(given))
        case _:
            raise AssertionError(f"not a line of a scene: {line}")


def _with_facts(text: str, task: Task) -> str:
    if "{facts " not in text:
        return text
    before, _, rest = text.partition("{facts ")
    user_id, _, after = rest.partition("}")
    user = bank.table(task, "users")[user_id]
    return f"{before}{user['date_of_birth']}, {user['email']}{after}"
