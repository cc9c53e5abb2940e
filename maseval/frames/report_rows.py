"""Rows of the tables ``simulations``, ``checks``, ``messages`` and ``tool_calls``, by report."""

from collections.abc import Iterable, Iterator, Mapping

from maseval.app.running.prices import unpriced_models
from maseval.core.outcome import (
    ComponentUsage,
    evaluations,
    kind_of,
    recorded_simulation,
    reward_of,
    simulation_key,
    termination_of,
    usage_of,
)
from maseval.core.shapes import Shape, entries, mapping, number, text, text_or_none
from maseval.core.storage.redaction import redact_text
from maseval.frames.columns import SIMULATIONS
from maseval.frames.sources import OpenedSource
from maseval.report.checks import ShownCheck, ShownVerdict, shown_verdicts
from maseval.report.conversation import ShownCall, ShownMessage, conversation, recorded_messages

_KEY = tuple(column.name for column in SIMULATIONS.columns[1:4])


def key_of(report: Shape) -> dict[str, object]:
    """Return the columns that name a simulation, in every table but that of runs."""
    return dict(zip(_KEY, simulation_key(report), strict=True))


def simulation_rows(report: Shape, source: OpenedSource) -> Iterator[dict[str, object]]:
    kind = kind_of(report)
    error = mapping(report, "error")
    messages = conversation(report)
    environment = mapping(report, "traces", "environment")
    reward = reward_of(report)
    message = error.get("error_message")
    yield {
        **key_of(report),
        "status": report.get("status"),
        "outcome": kind,
        "passed": None if kind == "unjudged" else kind == "pass",
        "reward": reward,
        "recorded_reward": report.get("recorded_reward") if source.recomputed else reward,
        "recomputed": source.recomputed,
        "reward_breakdown": _reward_breakdown(report),
        **_check_counts(shown_verdicts(report, messages)),
        "termination": termination_of(report),
        "error_type": error.get("error_type"),
        "error": None if message is None else redact_text(text(message)),
        "started_at": report.get("started_at") or None,
        "seconds": report.get("duration_seconds"),
        "seed": report.get("seed"),
        "attempts": 1 + len(entries(report.get("attempts"))),
        "messages": sum(len(recorded) for _, recorded in recorded_messages(report)),
        **_call_counts(messages),
        **_player_cells(mapping(report, "config")),
        **_usage_cells(report, _free_sides(report, source)),
        "state_changed": environment.get("db_changed"),
        "query": mapping(report, "task").get("query") or None,
        "final_answer": report.get("final_answer"),
    }


def _reward_breakdown(report: Shape) -> str | None:
    found = [
        entry.get("reward_breakdown") or mapping(entry, "reward_info").get("reward_breakdown")
        for entry in evaluations(report)
    ]
    return next((text(each) for each in found if each), None)


def _check_counts(verdicts: Iterable[ShownVerdict]) -> dict[str, object]:
    checks = [check for verdict in verdicts for check in verdict.get("checks", ())]
    return {"checks": len(checks), "checks_met": sum(check["met"] for check in checks)}


def _call_counts(messages: Iterable[ShownMessage]) -> dict[str, object]:
    calls = [call for message in messages for call in message.get("calls", ())]
    failed = sum(bool(call["result"] and call["result"]["failed"]) for call in calls)
    return {"tool_calls": len(calls), "tool_errors": failed}


def _player_cells(config: Shape) -> dict[str, object]:
    agents = (mapping(each) for each in mapping(config, "agents").values())
    names = (each.get("player") or each.get("agent_type") for each in agents)
    models = mapping(config, "models")
    return {
        "agent": _join(names),
        "agent_model": _join(_ids_of(models, "agent")),
        "user_model": _join(_ids_of(models, "user")),
    }


def _ids_of(models: Mapping[str, object], side: str) -> Iterator[object]:
    for name, model in models.items():
        if name.partition("_")[0] == side:
            yield mapping(model).get("model_id")


def _join(names: Iterable[object]) -> str | None:
    return ", ".join(dict.fromkeys(text(name) for name in names if name is not None)) or None


_SIDES = ("agent", "user")


def _free_sides(report: Shape, source: OpenedSource) -> dict[str, bool]:
    """Tell for each side if a cost of zero means free, rather than not known."""
    priced = unpriced_models(source.config) == []
    noted = recorded_simulation(report)
    return {
        side: noted.get(f"{side}_cost", 0.0) is not None and (priced or not _has_tokens(report))
        for side in _SIDES
    }


def _has_tokens(report: Shape) -> bool:
    used = list(usage_of(report))
    return any(_sum(used, key) for key in ("input_tokens", "output_tokens"))


def _usage_cells(report: Shape, free: Mapping[str, bool]) -> dict[str, object]:
    used = list(usage_of(report))
    sides = {side: [each for each in used if _side(each) == side] for side in _SIDES}
    return {
        "cost": _cost(used, all(free.values())),
        **{f"{side}_cost": _cost(parts, free[side]) for side, parts in sides.items()},
        "input_tokens": _sum(used, "input_tokens"),
        "cached_tokens": _sum(used, "cached_input_tokens"),
        "output_tokens": _sum(used, "output_tokens"),
    }


def _cost(used: list[ComponentUsage], free: bool) -> float | None:
    cost = _sum(used, "cost")
    return cost if cost or free else None


def _side(used: ComponentUsage) -> str | None:
    category, _, name = used.component.partition(":")
    named = name.partition("_")[0] if category == "models" else category.removesuffix("s")
    return text_or_none(named)


def _sum(used: list[ComponentUsage], key: str) -> float | None:
    known = [found for each in used if (found := getattr(each, key)) is not None]
    return sum(known) if known else None


_NAMES = ("name", "evaluator", "metric")


def check_rows(report: Shape, source: OpenedSource) -> Iterator[dict[str, object]]:
    """Yield a row for each check, or for the verdict of an evaluator that lists none."""
    key = key_of(report)
    verdicts = zip(evaluations(report), shown_verdicts(report, conversation(report)), strict=True)
    for evaluator, (returned, verdict) in enumerate(verdicts):
        listed = [_check_cells(each) for each in verdict.get("checks", ())]
        rows = listed if "checks" in verdict else [_verdict_cells(returned)]
        for position, row in enumerate(rows):
            yield {**key, "evaluator": evaluator, "position": position, **row}


def _check_cells(check: ShownCheck) -> dict[str, object]:
    return {
        "kind": check["kind"],
        "name": check["name"],
        "met": check["met"],
        "counts": check["counts"],
        "arguments": check.get("arguments"),
        "message": check.get("message"),
        "evidence": check["evidence"],
    }


def _verdict_cells(returned: Shape) -> dict[str, object]:
    passed, reward = returned.get("passed"), number(returned.get("reward"))
    named = (text_or_none(returned.get(key)) for key in _NAMES)
    return {
        "kind": "VERDICT",
        "name": next(filter(None, named), None),
        "met": passed if isinstance(passed, bool) else None if reward is None else reward >= 1,
        "counts": True,
        "arguments": None,
        "message": None,
        "evidence": dict(returned),
    }


def message_rows(report: Shape, source: OpenedSource) -> Iterator[dict[str, object]]:
    key = key_of(report)
    for speaker, messages in recorded_messages(report):
        for position, message in enumerate(messages):
            used, answer = mapping(message, "usage"), message.get("role") == "tool"
            yield {
                **key,
                "position": position,
                "speaker": speaker,
                "role": message.get("role"),
                "content": message.get("content"),
                "tool_calls": len(entries(message.get("tool_calls"))),
                "tool_call_id": _answers(message) if answer else None,
                "failed": bool(message.get("error")) if answer else None,
                "at": message.get("timestamp"),
                "cost": message.get("cost"),
                "input_tokens": used.get("prompt_tokens", used.get("input_tokens")),
                "output_tokens": used.get("completion_tokens", used.get("output_tokens")),
            }


def _answers(message: Shape) -> object:
    return message.get("tool_call_id") or message.get("id")


def tool_call_rows(report: Shape, source: OpenedSource) -> Iterator[dict[str, object]]:
    key = key_of(report)
    types = mapping(report, "config", "environment", "tool_types")
    for message in conversation(report):
        for position, call in enumerate(message.get("calls", ())):
            yield {
                **key,
                "message": message["index"],
                "position": position,
                "speaker": message.get("speaker"),
                **_call_cells(call, types),
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
