"""Rows of the tables that have a row, or several, for each report."""

from collections import Counter
from collections.abc import Iterable, Iterator

from maseval.core.outcome import ComponentUsage, RecordedEvaluation, RecordedReport
from maseval.core.recorded import Shape, number
from maseval.core.storage.redaction import redact_text
from maseval.core.words import text, text_or_none
from maseval.frames.columns import SIMULATIONS
from maseval.frames.sources import OpenedSource
from maseval.report.checks import ShownVerdict, shown_verdicts
from maseval.report.conversation import ShownCall, ShownMessage, conversation

_KEY = tuple(column.name for column in SIMULATIONS.columns[1:4])


def key_of(report: RecordedReport) -> dict[str, object]:
    """Return the columns that name a simulation, in every table but that of runs."""
    return dict(zip(_KEY, report.key, strict=True))


def simulation_rows(report: RecordedReport, source: OpenedSource) -> Iterator[dict[str, object]]:
    messages, recorded = conversation(report), report.raw.get("recorded_reward")
    error = report.error.message
    yield {
        **key_of(report),
        "status": report.status,
        "outcome": report.kind,
        "passed": report.outcome.passed,
        "reward": report.reward,
        "recorded_reward": recorded if source.recomputed else report.reward,
        "recomputed": source.recomputed,
        "reward_breakdown": _reward_breakdown(report),
        **_check_counts(shown_verdicts(report, messages)),
        "termination": report.termination,
        "error_type": report.error.type,
        "error": None if error is None else redact_text(error),
        "started_at": report.started_at or None,
        "seconds": report.seconds,
        "seed": report.seed,
        "attempts": 1 + len(report.attempts),
        "messages": sum(len(recorded) for _, recorded in report.conversations()),
        **_call_counts(messages),
        "agent": _join(agent.name for agent in report.agents.values()),
        "agent_model": report.models_of("agent"),
        "user_model": report.models_of("user"),
        **_usage_cells(report),
        "state_changed": report.environment.get("db_changed"),
        "query": report.query or None,
        "final_answer": report.final_answer,
    }


def policy_rows(report: RecordedReport, source: OpenedSource) -> Iterator[dict[str, object]]:
    check = source.findings(report, "policy").policy
    if check is None:
        return
    counts = Counter(each.what for each in check.findings)
    broken = dict.fromkeys(each.rule for each in check.findings if each.what == "broken")
    yield {
        **key_of(report),
        "passed": report.outcome.passed,
        "clean": check.clean,
        **{what: counts[what] for what in ("broken", "tried", "demanded", "form")},
        "untold": counts["cannot tell"] + counts["rule failed"] + bool(check.obstacle),
        "rules": _join(broken),
        "findings": check.to_dict()["findings"],
    }


def sound_rows(report: RecordedReport, source: OpenedSource) -> Iterator[dict[str, object]]:
    found = source.findings(report, "sound", "diagnosis")
    check, diagnosis = found.sound, found.diagnosis
    if check is None:
        return
    yield {
        **key_of(report),
        "passed": report.outcome.passed,
        "failed_by": None if diagnosis is None else diagnosis.label.who,
        **check.to_dict(),
    }


def user_fault_rows(report: RecordedReport, source: OpenedSource) -> Iterator[dict[str, object]]:
    check = source.findings(report, "user").user
    for each in () if check is None else check.findings:
        yield {
            **key_of(report),
            "user_model": report.models_of("user"),
            "passed": report.outcome.passed,
            "kind": each.kind,
            "message": each.message_index,
            "text": each.text,
            "quote": each.quote or None,
        }


def _reward_breakdown(report: RecordedReport) -> str | None:
    found = [
        each.raw.get("reward_breakdown") or each.reward_info.get("reward_breakdown")
        for each in report.evaluations
    ]
    return next((text(each) for each in found if each), None)


def _check_counts(verdicts: Iterable[ShownVerdict]) -> dict[str, object]:
    checks = [check for verdict in verdicts for check in verdict.get("checks", ())]
    return {"checks": len(checks), "checks_met": sum(check["met"] for check in checks)}


def _call_counts(messages: Iterable[ShownMessage]) -> dict[str, object]:
    calls = [call for message in messages for call in message.get("calls", ())]
    failed = sum(bool(call["result"] and call["result"]["failed"]) for call in calls)
    return {"tool_calls": len(calls), "tool_errors": failed}


def _join(names: Iterable[str | None]) -> str | None:
    return ", ".join(dict.fromkeys(name for name in names if name is not None)) or None


_SIDES = ("agent", "user")


def _usage_cells(report: RecordedReport) -> dict[str, object]:
    sides = {side: [each for each in report.usage if _side(each) == side] for side in _SIDES}
    return {
        "cost": report.cost,
        **{f"{side}_cost": report.cost_of(parts) for side, parts in sides.items()},
        "input_tokens": _sum(report.usage, "input_tokens"),
        "cached_tokens": _sum(report.usage, "cached_input_tokens"),
        "output_tokens": _sum(report.usage, "output_tokens"),
    }


def _side(used: ComponentUsage) -> str | None:
    category, _, name = used.component.partition(":")
    named = name.partition("_")[0] if category == "models" else category.removesuffix("s")
    return text_or_none(named)


def _sum(used: list[ComponentUsage], key: str) -> float | None:
    known = [found for each in used if (found := getattr(each, key)) is not None]
    return sum(known) if known else None


_NAMES = ("name", "evaluator", "metric")


def check_rows(report: RecordedReport, source: OpenedSource) -> Iterator[dict[str, object]]:
    """Yield a row for each check, or for the verdict of an evaluator that lists none."""
    key = key_of(report)
    verdicts = zip(report.evaluations, shown_verdicts(report, conversation(report)), strict=True)
    for evaluator, (returned, verdict) in enumerate(verdicts):
        rows: Iterable[Shape] = verdict.get("checks", [_verdict_cells(returned)])
        for position, row in enumerate(rows):
            place = {"evaluator": evaluator, "position": position}
            yield {**key, **place, "arguments": None, "message": None, **row}


def _verdict_cells(returned: RecordedEvaluation) -> dict[str, object]:
    named = (text_or_none(returned.raw.get(key)) for key in _NAMES)
    return {
        "kind": "VERDICT",
        "name": next(filter(None, named), None),
        "met": returned.passed,
        "counts": True,
        "evidence": dict(returned.raw),
    }


def message_rows(report: RecordedReport, source: OpenedSource) -> Iterator[dict[str, object]]:
    key = key_of(report)
    for speaker, messages in report.conversations():
        for position, message in enumerate(messages):
            answer = message.role == "tool"
            yield {
                **key,
                "position": position,
                "speaker": speaker,
                "role": message.role,
                "content": message.content,
                "tool_calls": len(message.calls),
                "tool_call_id": message.call_id if answer else None,
                "failed": bool(message.error) if answer else None,
                "at": message.timestamp,
                "cost": message.cost,
                "input_tokens": message.input_tokens,
                "output_tokens": message.output_tokens,
                "reasoning_tokens": number(message.usage.get("reasoning_tokens")),
                "reasoning": message.reasoning,
            }


def tool_call_rows(report: RecordedReport, source: OpenedSource) -> Iterator[dict[str, object]]:
    key = key_of(report)
    for message in conversation(report):
        for position, call in enumerate(message.get("calls", ())):
            yield {
                **key,
                "message": message["index"],
                "position": position,
                "speaker": message.get("speaker"),
                **_call_cells(call, report.tool_types),
            }


def _call_cells(call: ShownCall, types: Shape) -> dict[str, object]:
    result = call["result"]
    return {
        "caller": call["by"],
        "tool": call["name"],
        "arguments": call["arguments"],
        "writes": call["writes"] if call["name"] in types else None,
        "answered": result is not None,
        "failed": None if result is None else result["failed"],
        "result": None if result is None else result["text"],
    }
