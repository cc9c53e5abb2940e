"""The tables, over any number of runs."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Unpack

from maseval.app.benchmarks import support_by_name
from maseval.app.results.recording import line_of, simulation_in
from maseval.app.results.results import RunSummary, run_summary
from maseval.app.results.sound import SoundCheck, scores_beside
from maseval.core.outcome import RecordedReport
from maseval.core.recorded import mapping
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.storage.redaction import redact, redact_text
from maseval.core.words import text
from maseval.frames.columns import (
    CHECKS,
    MESSAGES,
    POLICY,
    REMARKS,
    RUNS,
    SCORES,
    SIMULATIONS,
    SOUND,
    TABLES,
    TOOL_CALLS,
    USER_FAULTS,
    TableForm,
)
from maseval.frames.frame import Frame
from maseval.frames.report_rows import (
    check_rows,
    message_rows,
    policy_rows,
    simulation_rows,
    sound_rows,
    tool_call_rows,
    user_fault_rows,
)
from maseval.frames.sources import AnyRun, FrameSource, OpenedSource, sources_of
from maseval.runs import Simulation, read_remarks
from maseval.runs.annotations import annotations_or_problem
from maseval.runs.config import RunConfig, mark_of
from maseval.runs.verdict_check import RunDoubt

Rows = Iterator[Mapping[str, object]]
RowsOf = Callable[[RecordedReport, OpenedSource], Iterator[dict[str, object]]]
Runs = Sequence[AnyRun | Sequence[AnyRun]]


def runs(*runs: AnyRun | Sequence[AnyRun], **options: Unpack[ScoringKeywords]) -> Frame:
    """Return a frame with one row for each run: its configuration and its numbers.

    Args:
        runs: Run folders, by path, by name or as ``last``; folders that hold runs; results files
            of tau2-bench; files of a ``FileResultLogger``; or a list of these. Without any: all
            below ``./runs``.
        options: How results files are judged; by default every reward is recomputed.
    """
    return _frame_of_sources(RUNS, lambda source: iter([run_row(source)]), runs, options)


def simulations(*runs: AnyRun | Sequence[AnyRun], **options: Unpack[ScoringKeywords]) -> Frame:
    """Return a frame with one row for each simulation; arguments as for ``runs``."""
    return _frame(SIMULATIONS, simulation_rows, runs, options)


def messages(*runs: AnyRun | Sequence[AnyRun], **options: Unpack[ScoringKeywords]) -> Frame:
    """Return a frame with one row for each message; arguments as for ``runs``."""
    return _frame(MESSAGES, message_rows, runs, options)


def tool_calls(*runs: AnyRun | Sequence[AnyRun], **options: Unpack[ScoringKeywords]) -> Frame:
    """Return a frame with one row for each tool call and its answer; arguments as for ``runs``."""
    return _frame(TOOL_CALLS, tool_call_rows, runs, options)


def checks(*runs: AnyRun | Sequence[AnyRun], **options: Unpack[ScoringKeywords]) -> Frame:
    """Return a frame with one row for each check of a verdict; arguments as for ``runs``."""
    return _frame(CHECKS, check_rows, runs, options)


def policy(*runs: AnyRun | Sequence[AnyRun], **options: Unpack[ScoringKeywords]) -> Frame:
    """Return a frame with one row for each simulation whose domain has its policy as rules.

    Arguments as for ``runs``.
    """
    return _frame(POLICY, policy_rows, runs, options)


def sound(*runs: AnyRun | Sequence[AnyRun], **options: Unpack[ScoringKeywords]) -> Frame:
    """Return a frame with one row for each simulation that has a sound verdict.

    Arguments as for ``runs``.
    """
    return _frame(SOUND, sound_rows, runs, options)


def scores(*runs: AnyRun | Sequence[AnyRun], **options: Unpack[ScoringKeywords]) -> Frame:
    """Return a frame with each pass^k of a run: the official one, and those beside it.

    Arguments as for ``runs``.
    """
    return _frame_of_sources(SCORES, lambda source: score_rows(source.open()), runs, options)


def user_faults(*runs: AnyRun | Sequence[AnyRun], **options: Unpack[ScoringKeywords]) -> Frame:
    """Return a frame with one row for each fault of a simulated user; arguments as for ``runs``."""
    return _frame(USER_FAULTS, user_fault_rows, runs, options)


def remarks(*runs: AnyRun | Sequence[AnyRun], **options: Unpack[ScoringKeywords]) -> Frame:
    """Return a frame with one row for each remark of a reader; arguments as for ``runs``."""
    return _frame_of_sources(REMARKS, _remark_rows, runs, options)


def _frame(table: TableForm, rows_of: RowsOf, runs: Runs, options: ScoringKeywords) -> Frame:
    def rows_of_source(source: FrameSource) -> Rows:
        opened = source.open()
        for report in map(RecordedReport, opened.reports):
            yield from rows_of(report, opened)
        opened.keep_findings()

    return _frame_of_sources(table, rows_of_source, runs, options)


def _frame_of_sources(
    table: TableForm,
    rows_of: Callable[[FrameSource], Rows],
    runs: Runs,
    options: ScoringKeywords,
) -> Frame:
    sources = sources_of(runs, ScoringOptions(**options))
    return Frame(
        table, lambda: ({"run": each.name, **row} for each in sources for row in rows_of(each))
    )


def _remark_rows(source: FrameSource) -> Rows:
    for each in read_remarks(source.path):
        yield {
            **each.simulation._asdict(),
            "message": each.message,
            "opinion": each.opinion,
            "outcome": each.outcome,
            "text": redact_text(each.text) or None,
            "written_at": each.written,
        }


_FRAMES = (
    *(runs, simulations, messages, tool_calls, checks, policy, sound, scores),
    *(user_faults, remarks),
)


def frame_named(
    table: str, *runs: AnyRun | Sequence[AnyRun], **options: Unpack[ScoringKeywords]
) -> Frame:
    """Return the frame of a table by its name."""
    return dict(zip(TABLES, _FRAMES, strict=True))[table](*runs, **options)


def run_row(source: FrameSource) -> dict[str, object]:
    """Summarise a run in one pass through its reports, counted as ``maseval show`` counts."""
    opened = source.open()
    started: list[str] = []
    lines = []
    for report in opened.reports:
        lines.append(line_of(report))
        started += [str(report["started_at"])] if report.get("started_at") else []
    planned = [simulation_in(line) for line in lines] if opened.planned is None else opened.planned
    config, (annotations, _) = opened.config, annotations_or_problem(source.path)
    summary = run_summary(lines, planned, config=RunConfig(dict(config))) if planned else None
    kinds = Counter(line.outcome for line in lines)
    return {
        "path": str(source.path),
        "form": source.form,
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
        **_score(summary),
        "estimate": mark_of(config),
        **_cost_and_tokens(summary),
        "started_at": min(started, default=None),
        "tags": ", ".join(annotations.tags) or None,
        "note": annotations.note,
        "damaged": len(opened.damaged),
        **_doubt_columns(opened.doubt()),
        "config": redact(config) if config else None,
    }


def _doubt_columns(doubt: RunDoubt | None) -> dict[str, object]:
    recorded, recomputed = (doubt["recorded"], doubt["recomputed"]) if doubt else (None, None)
    return {
        "unconfirmed": "; ".join(doubt["reasons"]) or None if doubt else None,
        "pass_1_recorded": recorded and recorded["value"],
        "pass_1_recomputed": recomputed and recomputed["value"],
    }


def score_rows(opened: OpenedSource) -> Rows:
    """Yield a row for each pass^k, counted as ``maseval show`` counts."""
    support = support_by_name(opened.config.get("benchmark"))
    outcomes, faults, checks = [], set[Simulation](), dict[Simulation, SoundCheck]()
    for report in opened.reports:
        parsed = RecordedReport(report)
        one, found = Simulation.of(report), opened.findings(parsed, "diagnosis", "sound")
        outcomes.append(parsed.line.to_outcome())
        diagnosis, check = found.diagnosis, found.sound
        if diagnosis is not None and diagnosis.label.who == "user":
            faults.add(one)
        if check is not None:
            checks[one] = check
    opened.keep_findings()
    scores = scores_beside(
        outcomes,
        opened.planned,
        user_faults=faults if support.answers("diagnosis") else None,
        checks=checks if support.answers("sound_check") else None,
    )
    for score in scores:
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


def _player_name(player: object) -> object:
    given = mapping(player)
    known = (
        given.get(key) for key in ("player", "model", "model_id", "function", "reference", "name")
    )
    return next((text(each) for each in known if each), None) or player


def _score(summary: RunSummary | None) -> dict[str, object]:
    found = mapping(summary.overall.pass_1 if summary else None)
    value = found.get("value")
    return {
        "verdicts": summary.overall.verdicts if summary else 0,
        "pass_1": value,
        "pass_1_low": found.get("low"),
        "pass_1_high": found.get("high"),
        "pass_1_worst": found.get("worst", value),
        "pass_1_best": found.get("best", value),
    }


def _cost_and_tokens(summary: RunSummary | None) -> dict[str, object]:
    if summary is None:
        return {"cost": None, "tokens": None}
    return {"cost": summary.cost, "tokens": summary.tokens}
