"""Rows of the table ``runs``: each takes one pass through all reports of the run."""

from collections import Counter
from collections.abc import Mapping

from maseval.app.results.recording import line_of, simulation_in
from maseval.app.results.results import RunSummary, run_summary
from maseval.app.running.prices import unpriced_models
from maseval.core.shapes import mapping, text
from maseval.core.storage.redaction import redact
from maseval.frames.sources import FrameSource
from maseval.runs.annotations import annotations_or_problem


def run_row(source: FrameSource) -> dict[str, object]:
    """A run in numbers, as ``maseval show`` counts them."""
    opened = source.opened()
    started: list[str] = []
    lines = []
    for report in opened.reports:
        lines.append(line_of(report))
        started += [str(report["started_at"])] if report.get("started_at") else []
    planned = [simulation_in(line) for line in lines] if opened.planned is None else opened.planned
    summary = run_summary(lines, planned) if planned else None
    kinds = Counter(line.outcome for line in lines)
    config, (annotations, _) = opened.config, annotations_or_problem(source.path)
    return {
        "path": str(source.path),
        "form": source.form,
        "benchmark": config.get("benchmark"),
        "version": _version(config),
        "agent": _named(config.get("agent")),
        "user": _named(config.get("user")),
        "seed": config.get("seed"),
        "tasks": len({(one.domain, one.task_id) for one in planned}),
        "trials": config.get("trials"),
        "planned": None if opened.planned is None else len(opened.planned),
        "simulations": len(lines),
        "passed": kinds["pass"],
        "failed": kinds["fail"],
        "errors": kinds["error"],
        "unjudged": kinds["unjudged"],
        **_score(summary),
        **_used(summary, config),
        "started_at": min(started, default=None),
        "tags": ", ".join(annotations.tags) or None,
        "note": annotations.note,
        "damaged": len(opened.damaged),
        "config": redact(config) if config else None,
    }


def _version(config: Mapping[str, object]) -> object:
    """As run folders name it; of a results file of tau2-bench only the number is known."""
    version, of_tau2 = config.get("version"), config.get("benchmark") == "tau2"
    return config.get("rules") or (f"tau2-bench v{version}" if version and of_tau2 else version)


def _named(player: object) -> object:
    """A scripted agent's or a model's name, where the configuration has more to say of it."""
    given = mapping(player)
    known = (
        given.get(key) for key in ("player", "model", "model_id", "function", "reference", "name")
    )
    return next((text(each) for each in known if each), None) or player


def _score(summary: RunSummary | None) -> dict[str, object]:
    found = summary.overall.pass_1 if summary else None
    names = {"pass_1": "value", "pass_1_low": "low", "pass_1_high": "high"}
    return {name: found and mapping(found)[key] for name, key in names.items()}


def _used(summary: RunSummary | None, config: Mapping[str, object]) -> dict[str, object]:
    if summary is None:
        return {"cost": None, "tokens": None}
    free = not summary.tokens or unpriced_models(config) == []
    return {
        "cost": summary.cost if summary.cost or free else None,
        "tokens": summary.tokens,
    }
