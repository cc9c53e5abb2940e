"""The explanation of a verdict: each check, whether it counts, and its evidence.

Verdicts with a ``reward_info`` or with ``checks`` are laid out check by check; of any other, what
the evaluator returned is shown as it is. A report may also come with an ``explanation`` of its
verdict.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NotRequired, TypedDict

from maseval.core.outcome import RecordedReport
from maseval.core.recorded import Part, Recorded, Shape, dict_of, list_of, mapping, number
from maseval.core.report_parts import RecordedEvaluation
from maseval.core.words import text, text_or_none
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


def _words(value: object) -> str:
    return "" if value is None else text(value)


def _evidence(value: object) -> str | None:
    return text(value) if value else None


class _JudgedSides(Recorded):
    rows = Part(list_of(mapping), "report")
    errors = Part(dict_of(text), "judge_errors")
    coverage = Part(dict_of(dict_of(number)))


class _NamedChecks(Recorded):
    """A verdict with ``checks``, of which each has at least ``name`` and ``met``."""

    checks = Part(list_of(mapping))


class _RewardInfo(Recorded):
    """A verdict in the form of tau2-bench."""

    reward = Part(number)
    basis = Part(list_of(str), "reward_basis")
    breakdown = Part(dict_of(number), "reward_breakdown")
    db_check = Part(mapping)
    claims = Part(list_of(mapping), "env_assertions")
    actions = Part(list_of(mapping), "action_checks")
    communicated = Part(list_of(mapping), "communicate_checks")
    asserted = Part(list_of(mapping), "nl_assertions")
    info = Part(mapping)
    replay_error = Part(mapping, "info", "replay_error")


def shown_verdicts(report: RecordedReport, messages: Sequence[ShownMessage]) -> list[ShownVerdict]:
    return [_verdict(verdict, messages) for verdict in report.evaluations]


def _verdict(verdict: RecordedEvaluation, messages: Sequence[ShownMessage]) -> ShownVerdict:
    # Every benchmark may call something a report or checks: the parts of a row decide what it is.
    sides, info = _JudgedSides(verdict.raw), _RewardInfo(verdict.reward_info)
    if sides.rows and all({"assertion", "answer"} <= row.keys() for row in sides.rows):
        checks = [_assertion_check(row) for row in sides.rows]
        return {"checks": checks, "notes": list(_doubts(sides))}
    named = _NamedChecks(verdict.raw).checks
    if named and all({"name", "met"} <= each.keys() for each in named):
        return {"checks": [_named_check(each) for each in named], "notes": []}
    if not info:
        return {"returned": [(str(key), text(value)) for key, value in verdict.raw.items()]}
    return {
        "reward": info.reward,
        "basis": [(kind, info.breakdown.get(kind)) for kind in info.basis],
        "checks": list(_checks(info, messages)),
        "notes": list(_notes(info)),
    }


def _named_check(given: Shape) -> ShownCheck:
    return {
        "kind": text(given.get("kind") or "check"),
        "met": bool(given["met"]),
        "name": text(given["name"]),
        "evidence": _evidence(given.get("evidence")),
        "counts": bool(given.get("counts", True)),
    }


def _assertion_check(row: Shape) -> ShownCheck:
    # Any other answer of the judge decides nothing.
    answer = text(row["answer"]).lower()
    return {
        "kind": text(row.get("assertion_type") or "assertion").upper(),
        "met": answer == "true",
        "name": text(row["assertion"]),
        "evidence": _evidence(row.get("evidence")),
        "counts": answer in ("true", "false"),
    }


def _doubts(sides: _JudgedSides) -> Iterator[str]:
    """Yield doubts about the judge's answers, which the numbers do not show."""
    for side, error in sides.errors.items():
        yield f"the judge's answer about the {side} side cannot be read: {error}"
    for side, found in sides.coverage.items():
        rows, asserted = found.get("rows") or 0, found.get("assertions") or 0
        if side not in sides.errors and rows < asserted:
            yield f"the judge answered {rows:g} of {asserted:g} assertions of {side}"


def _checks(info: _RewardInfo, messages: Sequence[ShownMessage]) -> Iterator[ShownCheck]:
    if "db_match" in info.db_check:
        verb = "equals" if info.db_check["db_match"] else "differs from"
        name = f"the end state {verb} that of the reference"
        yield _check(info, "DB", info.db_check["db_match"], name, None)
    for each in info.claims:
        claim = mapping(each.get("env_assertion"))
        words = f"{claim.get('env_type')}: {claim.get('func_name')}({_arguments(claim)})"
        words += "" if claim.get("assert_value", True) else " is false"
        yield _check(info, "ENV_ASSERTION", each.get("met"), words, claim.get("message"))
    calls = _calls_in(messages)
    for each in info.actions:
        action = mapping(each.get("action"))
        name = f"{action.get('requestor', 'assistant')}: {action.get('name')}"
        check = _check(info, "ACTION", each.get("action_match"), name, None)
        check["arguments"] = text(action.get("arguments", {}))
        check["message"] = _first_call(action, check["arguments"], calls)
        yield check
    for each in info.communicated:
        met, why = each.get("met"), each.get("justification")
        yield _check(info, "COMMUNICATE", met, each.get("info"), why)
    for each in info.asserted:
        claimed = each.get("nl_assertion") or each.get("assertion")
        yield _check(info, "NL_ASSERTION", each.get("met"), claimed, each.get("justification"))


def _arguments(claim: Shape) -> str:
    given = mapping(claim.get("arguments"))
    return ", ".join(f"{name}={text(value)}" for name, value in given.items())


def _check(info: _RewardInfo, kind: str, met: object, name: object, evidence: object) -> ShownCheck:
    return {
        "kind": kind,
        "met": bool(met),
        "name": text(name),
        "evidence": _evidence(evidence),
        "counts": kind in info.basis,
    }


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
    expected, wanted = None, mapping(action.get("arguments"))
    compared = action.get("compare_args")
    # A task may say that only some arguments matter, or none.
    names = set(wanted) if compared is None else {*list_of(str)(compared)}
    for index, given in calls.get((action.get("name"), action.get("requestor")), ()):
        if given == arguments:  # most calls are spelled alike, and need not be parsed
            return index
        if expected is None:
            # By way of text on this side, too, so that both are compared as JSON.
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


def _notes(info: _RewardInfo) -> Iterator[str]:
    if problem := info.replay_error:
        yield f"The conversation cannot be replayed: {problem.get('error')}"
        yield f"expected: {text(problem.get('expected'))}"
        yield f"found: {text(problem.get('found'))}"
    elif "note" in info.info:
        yield text(info.info["note"])
    if "overrides" in info.info:
        yield text(info.info["overrides"])


def _dict_with(**parts: Callable[[object], object]) -> Callable[[object], dict[str, object]]:
    """Return a function that reads these parts of an object."""
    return lambda value: {name: read(mapping(value).get(name)) for name, read in parts.items()}


_label = _dict_with(name=_words, rule=text_or_none, meaning=text_or_none, evidence=list_of(text))
_wrong_field = _dict_with(
    place=_words,
    expected=text_or_none,
    found=text_or_none,
    message=number,  # the one that wrote it
    call=text_or_none,
    remedy=text_or_none,
)
_explanation = _dict_with(
    summary=text_or_none,
    label=lambda value: _label(value) if mapping(value) else None,
    message=number,
    fields=list_of(_wrong_field),
    sections=list_of(_dict_with(title=_words, lines=list_of(text))),
)


def shown_explanation(report: RecordedReport) -> dict[str, object] | None:
    """Return a report's ``explanation`` in the form that the page shows, or nothing."""
    shown = _explanation(report.explanation)
    return shown if any(shown.values()) else None
