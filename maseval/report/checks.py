"""Why a verdict is what it is: each check, whether it counts, and what it rests on.

Verdicts with a ``reward_info`` are laid out check by check; of any other, what the evaluator
returned is shown as it is.
"""

import json
from collections.abc import Iterator
from typing import Any

from maseval.core.outcome import evaluations, recorded_simulation
from maseval.core.shapes import Shape, entries, mapping, number, text
from maseval.report.conversation import Messages

Check = dict[str, Any]


def judged(report: Shape, messages: Messages) -> list[dict[str, Any]]:
    """Each evaluator's verdict."""
    return [_verdict(verdict, messages) for verdict in evaluations(report)]


def _verdict(verdict: Shape, messages: Messages) -> dict[str, Any]:
    info = mapping(verdict.get("reward_info"))
    if not info:
        return {"returned": [[str(key), text(value)] for key, value in verdict.items()]}
    basis = [str(kind) for kind in entries(info.get("reward_basis"))]
    breakdown = mapping(info.get("reward_breakdown"))
    return {
        "reward": number(info.get("reward")),
        "basis": [[kind, number(breakdown.get(kind))] for kind in basis],
        "checks": [
            {**check, "counts": check["kind"] in basis} for check in _checks(info, messages)
        ],
        "notes": list(_notes(info)),
    }


def _checks(info: Shape, messages: Messages) -> Iterator[Check]:
    yield from _db_checks(info)
    for each in _each(info, "env_assertions"):
        claim = mapping(each.get("env_assertion"))
        yield _check("ENV_ASSERTION", each.get("met"), _assertion(claim), claim.get("message"))
    for each in _each(info, "action_checks"):
        action = mapping(each.get("action"))
        name = f"{action.get('requestor', 'assistant')}: {action.get('name')}"
        found = _first_call(action, messages)
        check = _check("ACTION", each.get("action_match"), name, None)
        yield {**check, "arguments": text(action.get("arguments", {})), "message": found}
    for each in _each(info, "communicate_checks"):
        yield _check("COMMUNICATE", each.get("met"), each.get("info"), each.get("justification"))
    for each in _each(info, "nl_assertions"):
        claimed = each.get("nl_assertion") or each.get("assertion")
        yield _check("NL_ASSERTION", each.get("met"), claimed, each.get("justification"))


def _db_checks(info: Shape) -> Iterator[Check]:
    db = mapping(info.get("db_check"))
    if "db_match" in db:
        yield _check("DB", db["db_match"], "the end state equals that of the reference", None)


def _each(info: Shape, key: str) -> list[Shape]:
    return [mapping(entry) for entry in entries(info.get(key))]


def _check(kind: str, met: object, name: object, evidence: object) -> Check:
    return {
        "kind": kind,
        "met": bool(met),
        "name": text(name),
        "evidence": text(evidence) if evidence else None,
    }


def _assertion(claim: Shape) -> str:
    expected = "" if claim.get("assert_value", True) else " is false"
    arguments = mapping(claim.get("arguments")).items()
    listed = ", ".join(f"{name}={text(value)}" for name, value in arguments)
    return f"{claim.get('env_type')}: {claim.get('func_name')}({listed}){expected}"


def _first_call(action: Shape, messages: Messages) -> int | None:
    """The message with the call that an action asks for."""
    wanted = mapping(action.get("arguments"))
    compared = action.get("compare_args")
    names = set(wanted) if compared is None else {str(name) for name in entries(compared)}
    for message in messages:
        for call in message.get("calls", ()):
            same = (call["name"], call["by"]) == (action.get("name"), action.get("requestor"))
            if same and _some(call["arguments"], names) == _some(text(wanted), names):
                index: int = message["index"]
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


def state_changes(report: Shape) -> list[dict[str, Any]]:
    """Whose database the simulation changed."""
    environment = mapping(report, "traces", "environment")
    if not recorded_simulation(report):
        return []
    company = {
        "name": "Database",
        "changed": environment.get("db_changed"),
        "before": environment.get("initial_db_hash"),
        "after": environment.get("final_db_hash"),
    }
    customer = {
        "name": "Customer's database",
        "changed": environment.get("user_db_changed"),
        "before": None,
        "after": environment.get("final_user_db_hash"),
    }
    return [each for each in (company, customer) if each["after"] is not None]
