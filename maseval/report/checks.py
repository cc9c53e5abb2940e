"""The explanation of a verdict: each check, whether it counts, and its evidence.

Verdicts with a ``reward_info`` are laid out check by check; of any other, what the evaluator
returned is shown as it is. A report may also come with an ``explanation`` of its verdict.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NotRequired, TypedDict

from maseval.core.outcome import evaluations, recorded_simulation
from maseval.core.shapes import Shape, entries, mapping, number, text, text_or_none
from maseval.report.conversation import ShownMessage


class ShownCheck(TypedDict):
    """One check; ``counts`` says whether the reward depends on it.

    An action check has ``arguments``, and the ``message`` with the first call that matches.
    """

    kind: str
    met: bool
    name: str
    evidence: str | None
    counts: bool
    arguments: NotRequired[str]
    message: NotRequired[int | None]


class ShownVerdict(TypedDict, total=False):
    """An evaluator's verdict: check by check, or as it was ``returned``."""

    returned: list[tuple[str, str]]
    reward: float | None
    basis: list[tuple[str, float | None]]
    checks: list[ShownCheck]
    notes: list[str]


class StateChange(TypedDict):
    """A database before and after the simulation, by its hashes."""

    name: str
    changed: object
    before: object
    after: object


def shown_verdicts(report: Shape, messages: Sequence[ShownMessage]) -> list[ShownVerdict]:
    """Return each evaluator's verdict."""
    return [_verdict(verdict, messages) for verdict in evaluations(report)]


def _verdict(verdict: Shape, messages: Sequence[ShownMessage]) -> ShownVerdict:
    info = mapping(verdict.get("reward_info"))
    if rows := _assertion_rows(verdict):
        return {"checks": [_assertion_check(row) for row in rows], "notes": list(_doubts(verdict))}
    if not info:
        return {"returned": [(str(key), text(value)) for key, value in verdict.items()]}
    basis = [str(kind) for kind in entries(info.get("reward_basis"))]
    breakdown = mapping(info.get("reward_breakdown"))
    return {
        "reward": number(info.get("reward")),
        "basis": [(kind, number(breakdown.get(kind))) for kind in basis],
        "checks": list(_checks(info, basis, messages)),
        "notes": list(_notes(info)),
    }


def _assertion_rows(verdict: Shape) -> list[Shape]:
    """Return the assertions that a judge answered, where a verdict consists of such."""
    rows = [mapping(row) for row in entries(verdict.get("report"))]
    return rows if all("assertion" in row and "answer" in row for row in rows) else []


def _assertion_check(row: Shape) -> ShownCheck:
    answer = text(row["answer"]).lower()
    evidence = row.get("evidence")
    return {
        "kind": text(row.get("assertion_type") or "assertion").upper(),
        "met": answer == "true",
        "name": text(row["assertion"]),
        "evidence": text(evidence) if evidence else None,
        "counts": answer in ("true", "false"),
    }


def _doubts(verdict: Shape) -> Iterator[str]:
    """Yield doubts about the judge's answers, which the numbers do not show."""
    errors = mapping(verdict.get("judge_errors"))
    for side, error in errors.items():
        yield f"the judge's answer about the {side} side cannot be read: {text(error)}"
    for side, found in mapping(verdict.get("coverage")).items():
        asserted = number(mapping(found).get("assertions")) or 0
        judged_rows = number(mapping(found).get("rows")) or 0
        if side not in errors and judged_rows < asserted:
            yield f"the judge answered {judged_rows:g} of {asserted:g} assertions of {side}"


def _checks(
    info: Shape, basis: Sequence[str], messages: Sequence[ShownMessage]
) -> Iterator[ShownCheck]:
    for found in _state_checks(info):
        yield _check(basis, *found)
    calls = _calls_in(messages)
    for each in _each(info, "action_checks"):
        action = mapping(each.get("action"))
        name = f"{action.get('requestor', 'assistant')}: {action.get('name')}"
        check = _check(basis, "ACTION", each.get("action_match"), name, None)
        check["arguments"] = text(action.get("arguments", {}))
        check["message"] = _first_call(action, check["arguments"], calls)
        yield check
    for found in _text_checks(info):
        yield _check(basis, *found)


_Found = tuple[str, object, object, object]
"""A check's kind, whether it is met, its name and its evidence."""


def _state_checks(info: Shape) -> Iterator[_Found]:
    db = mapping(info.get("db_check"))
    if "db_match" in db:
        verb = "equals" if db["db_match"] else "differs from"
        yield "DB", db["db_match"], f"the end state {verb} that of the reference", None
    for each in _each(info, "env_assertions"):
        claim = mapping(each.get("env_assertion"))
        yield "ENV_ASSERTION", each.get("met"), _assertion(claim), claim.get("message")


def _text_checks(info: Shape) -> Iterator[_Found]:
    for each in _each(info, "communicate_checks"):
        yield "COMMUNICATE", each.get("met"), each.get("info"), each.get("justification")
    for each in _each(info, "nl_assertions"):
        claimed = each.get("nl_assertion") or each.get("assertion")
        yield "NL_ASSERTION", each.get("met"), claimed, each.get("justification")


def _each(info: Shape, key: str) -> list[Shape]:
    return [mapping(entry) for entry in entries(info.get(key))]


def _check(
    basis: Sequence[str], kind: str, met: object, name: object, evidence: object
) -> ShownCheck:
    return {
        "kind": kind,
        "met": bool(met),
        "name": text(name),
        "evidence": text(evidence) if evidence else None,
        "counts": kind in basis,
    }


def _assertion(claim: Shape) -> str:
    expected = "" if claim.get("assert_value", True) else " is false"
    arguments = mapping(claim.get("arguments")).items()
    listed = ", ".join(f"{name}={text(value)}" for name, value in arguments)
    return f"{claim.get('env_type')}: {claim.get('func_name')}({listed}){expected}"


_Calls = Mapping[tuple[object, object], Sequence[tuple[int, str]]]
"""The message and the arguments of each call, by the tool's name and who called it."""


def _calls_in(messages: Sequence[ShownMessage]) -> _Calls:
    found: dict[tuple[object, object], list[tuple[int, str]]] = {}
    for message in messages:
        for call in message.get("calls", ()):
            made = message["index"], call["arguments"]
            found.setdefault((call["name"], call["by"]), []).append(made)
    return found


def _first_call(action: Shape, arguments: str, calls: _Calls) -> int | None:
    """Return the message with the call that an action asks for; ``arguments`` are the action's."""
    wanted, expected = mapping(action.get("arguments")), None
    compared = action.get("compare_args")
    names = set(wanted) if compared is None else {str(name) for name in entries(compared)}
    for index, given in calls.get((action.get("name"), action.get("requestor")), ()):
        if given == arguments:  # most calls are spelled alike, and need not be parsed
            return index
        if expected is None:
            expected = _some(text(wanted), names)
        if _some(given, names) == expected:
            return index
    return None


def _some(arguments: str, names: set[str]) -> dict[str, object] | None:
    try:
        given = mapping(json.loads(arguments))
    except ValueError:
        return None
    return {name: given[name] for name in names if name in given}


def _notes(info: Shape) -> Iterator[str]:
    found = mapping(info.get("info"))
    problem = mapping(found.get("replay_error"))
    if problem:
        yield f"The conversation cannot be replayed: {problem.get('error')}"
        yield f"expected: {text(problem.get('expected'))}"
        yield f"found: {text(problem.get('found'))}"
    elif "note" in found:
        yield text(found["note"])


def state_changes(report: Shape) -> list[StateChange]:
    """Return the databases of the simulation and whether they changed."""
    environment = mapping(report, "traces", "environment")
    if not recorded_simulation(report):
        return []
    company: StateChange = {
        "name": "Database",
        "changed": environment.get("db_changed"),
        "before": environment.get("initial_db_hash"),
        "after": environment.get("final_db_hash"),
    }
    customer: StateChange = {
        "name": "Customer's database",
        "changed": environment.get("user_db_changed"),
        "before": None,
        "after": environment.get("final_user_db_hash"),
    }
    return [each for each in (company, customer) if each["after"] is not None]


def shown_explanation(report: Shape) -> dict[str, object] | None:
    """Return a report's ``explanation`` in the form that the page shows, or nothing."""
    given = mapping(report, "explanation")
    shown: dict[str, object] = {
        "summary": text_or_none(given.get("summary")),
        "label": _label(mapping(given.get("label"))),
        "fields": [_wrong_field(mapping(each)) for each in entries(given.get("fields"))],
        "sections": [_section(mapping(each)) for each in entries(given.get("sections"))],
    }
    return shown if any(shown.values()) else None


def _label(label: Shape) -> dict[str, object] | None:
    if not label:
        return None
    return {
        "name": text(label.get("name", "")),
        "rule": text_or_none(label.get("rule")),
        "evidence": [text(line) for line in entries(label.get("evidence"))],
    }


def _wrong_field(field: Shape) -> dict[str, object]:
    """Return a field with a wrong value in the end state; ``message`` is the one that wrote it."""
    return {
        "place": text(field.get("place", "")),
        "expected": text_or_none(field.get("expected")),
        "found": text_or_none(field.get("found")),
        "message": number(field.get("message")),
        "call": text_or_none(field.get("call")),
        "remedy": text_or_none(field.get("remedy")),
    }


def _section(section: Shape) -> dict[str, object]:
    return {
        "title": text(section.get("title", "")),
        "lines": [text(line) for line in entries(section.get("lines"))],
    }
