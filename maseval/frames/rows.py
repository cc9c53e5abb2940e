"""The rows of each table, as recorded values by column; ``Frame`` makes cells of them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from maseval.app.benchmarks import support_by_name
from maseval.app.results.explained import cause_in
from maseval.app.results.results import run_summary
from maseval.app.results.variants import variant_scores
from maseval.core.finding import Finding
from maseval.core.outcome import ComponentUsage, RecordedEvaluation, RecordedReport, Simulation
from maseval.core.recorded import mapping, number
from maseval.core.storage.redaction import redact, redact_text
from maseval.core.words import text, text_or_none
from maseval.frames.sources import OpenedSource
from maseval.report.checks import shown_verdicts
from maseval.report.conversation import conversation
from maseval.runs import read_remarks
from maseval.runs.annotations import annotations_or_problem
from maseval.runs.config import RunConfig, mark_of

Rows = Iterator[dict[str, object]]


def run_rows(opened: OpenedSource) -> Rows:
    """Summarise a run in one pass through its reports, counted as ``maseval show`` counts."""
    started: list[str] = []
    lines = []
    for report in opened.reports():
        lines.append(RecordedReport(report).outcome)
        started += [str(report["started_at"])] if report.get("started_at") else []
    planned = [line.simulation for line in lines] if opened.planned is None else opened.planned
    path, config = opened.source.path, opened.config
    annotations, _ = annotations_or_problem(path)
    summary = run_summary(lines, planned, config=RunConfig(dict(config))) if planned else None
    score = mapping(summary.overall.pass_1 if summary else None)
    kinds = Counter(line.kind for line in lines)
    doubt = opened.doubt()
    yield {
        "path": str(path),
        "form": opened.source.form,
        "benchmark": config.get("benchmark"),
        "version": support_by_name(config.get("benchmark")).version(config),
        "agent": _player_name(config.get("agent")),
        "user": _player_name(config.get("user")),
        "seed": config.get("seed"),
        "tasks": len({(one.domain, one.task_id) for one in planned}),
        "trials": config.get("trials"),
        "planned": None if opened.planned is None else len(opened.planned),
        "simulations": len(lines),
        "passed": kinds["pass"],
        "failed": kinds["fail"],
        "errors": kinds["error"],
        "unjudged": kinds["unjudged"],
        "verdicts": summary.overall.verdicts if summary else 0,
        "pass_1": score.get("value"),
        "pass_1_low": score.get("low"),
        "pass_1_high": score.get("high"),
        "pass_1_worst": score.get("worst", score.get("value")),
        "pass_1_best": score.get("best", score.get("value")),
        "estimate": mark_of(config),
        "cost": summary and summary.cost,
        "tokens": summary and summary.tokens,
        "started_at": min(started, default=None),
        "tags": ", ".join(annotations.tags) or None,
        "note": annotations.note,
        "damaged": opened.damaged,
        "unconfirmed": "; ".join(doubt["reasons"] if doubt else ()) or None,
        "pass_1_recorded": mapping(doubt, "recorded").get("value"),
        "pass_1_recomputed": mapping(doubt, "recomputed").get("value"),
        "config": redact(config) if config else None,
    }


def _player_name(player: object) -> object:
    given = mapping(player)
    known = (
        given.get(key) for key in ("player", "model", "model_id", "function", "reference", "name")
    )
    return next((text(each) for each in known if each), None) or player


def score_rows(opened: OpenedSource) -> Rows:
    """Yield a row for each pass^k, counted as ``maseval show`` counts."""
    variants = opened.variants
    outcomes, findings = [], dict[Simulation, Sequence[Finding]]()
    for report in opened.reports():
        parsed = RecordedReport(report)
        outcomes.append(parsed.outcome)
        if variants:
            findings[Simulation.of(report)] = opened.findings(parsed)
    opened.keep_findings()
    for score in variant_scores(outcomes, findings, variants, opened.planned):
        for k, each in score.pass_hat.items():
            yield {
                "domain": score.domain,
                "counted": score.counted,
                "k": k,
                "value": each.value,
                "low": each.low,
                "high": each.high,
                **score.counts,
            }


def remark_rows(opened: OpenedSource) -> Rows:
    for each in read_remarks(opened.source.path):
        yield {
            **each.simulation._asdict(),
            "message": each.message,
            "opinion": each.opinion,
            "outcome": each.outcome,
            "text": redact_text(each.text) or None,
            "written_at": each.written,
        }


def simulation_rows(report: RecordedReport, source: OpenedSource) -> Rows:
    messages, error = conversation(report), report.error.message
    checks = [
        check for verdict in shown_verdicts(report, messages) for check in verdict.get("checks", ())
    ]
    calls = [call for message in messages for call in message.get("calls", ())]
    sides = {side: [each for each in report.usage if _side(each) == side] for side in _SIDES}
    yield {
        "status": report.status,
        "outcome": report.kind,
        "passed": report.outcome.passed,
        "reward": report.reward,
        "recorded_reward": source.recorded_reward(report),
        "recomputed": source.is_recomputed(report),
        "reward_breakdown": _reward_breakdown(report),
        "checks": len(checks),
        "checks_met": sum(check["met"] for check in checks),
        "termination": report.termination,
        "error_type": report.error.type,
        "error": None if error is None else redact_text(error),
        "started_at": report.started_at or None,
        "seconds": report.seconds,
        "seed": report.seed,
        "attempts": 1 + len(report.attempts),
        "messages": len(report.said()),
        "tool_calls": len(calls),
        "tool_errors": sum(bool(call["result"] and call["result"]["failed"]) for call in calls),
        "agent": _join(agent.name for agent in report.agents.values()),
        "agent_model": report.models_of("agent"),
        "user_model": report.models_of("user"),
        "cost": report.cost,
        **{f"{side}_cost": report.cost_of(parts) for side, parts in sides.items()},
        "input_tokens": _sum(report.usage, "input_tokens"),
        "cached_tokens": _sum(report.usage, "cached_input_tokens"),
        "output_tokens": _sum(report.usage, "output_tokens"),
        "state_changed": report.environment.get("db_changed"),
        "query": report.query or None,
        "final_answer": report.final_answer,
    }


_SIDES = ("agent", "user")


def _side(used: ComponentUsage) -> str | None:
    category, _, name = used.component.partition(":")
    named = name.partition("_")[0] if category == "models" else category.removesuffix("s")
    return text_or_none(named)


def _sum(used: list[ComponentUsage], key: str) -> float | None:
    known = [found for each in used if (found := getattr(each, key)) is not None]
    return sum(known) if known else None


def _reward_breakdown(report: RecordedReport) -> str | None:
    found = [
        each.raw.get("reward_breakdown") or each.reward_info.get("reward_breakdown")
        for each in report.evaluations
    ]
    return next((text(each) for each in found if each), None)


def _join(names: Iterable[str | None]) -> str | None:
    return ", ".join(dict.fromkeys(name for name in names if name is not None)) or None


def message_rows(report: RecordedReport, source: OpenedSource) -> Rows:
    for position, (speaker, message) in enumerate(report.said()):
        answer = message.role == "tool"
        yield {
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


def agent_rows(report: RecordedReport, source: OpenedSource) -> Rows:
    """Yield the part of each agent of a team."""
    cause = cause_in(source.findings(report)) if report.team else None
    decided = cause and report.decider(cause.message)
    for each in report.work():
        yield {**each._asdict(), "decided": each.agent == decided if decided else None}


def tool_call_rows(report: RecordedReport, source: OpenedSource) -> Rows:
    for message in conversation(report):
        for position, call in enumerate(message.get("calls", ())):
            result = call["result"]
            yield {
                "message": message["index"],
                "position": position,
                "speaker": message.get("speaker"),
                "caller": call["by"],
                "tool": call["name"],
                "arguments": call["arguments"],
                "writes": call["writes"] if call["name"] in report.tool_types else None,
                "answered": result is not None,
                "failed": None if result is None else result["failed"],
                "result": None if result is None else result["text"],
            }


_NAMES = ("name", "evaluator", "metric")


def check_rows(report: RecordedReport, source: OpenedSource) -> Rows:
    """Yield a row for each check, or for the verdict of an evaluator that lists none."""
    verdicts = zip(report.evaluations, shown_verdicts(report, conversation(report)), strict=True)
    for evaluator, (returned, verdict) in enumerate(verdicts):
        for position, row in enumerate(verdict.get("checks", [_verdict_cells(returned)])):
            place = {"evaluator": evaluator, "position": position}
            yield {**place, "arguments": None, "message": None, **row}


def _verdict_cells(returned: RecordedEvaluation) -> dict[str, object]:
    named = (text_or_none(returned.raw.get(key)) for key in _NAMES)
    return {
        "kind": "VERDICT",
        "name": next(filter(None, named), None),
        "met": returned.passed,
        "counts": True,
        "evidence": dict(returned.raw),
    }


def finding_rows(report: RecordedReport, source: OpenedSource) -> Rows:
    for each in source.findings(report):
        yield {
            "passed": report.outcome.passed,
            "user_model": report.models_of("user"),
            "counts": each.counts,
            **each.to_dict(),
        }
