"""The tables over any number of runs: their sources, and the rows of each.

Sources are run folders and results files of tau2-bench. Rows are recorded values by column, of
which ``Frame`` makes cells.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Protocol, Unpack, cast

from maseval.app.benchmarks import support_by_name
from maseval.app.comparing.reliability import reliability as reliability_sheet
from maseval.app.results.examined import REVIEW, ExaminedRun, recompute_verdicts
from maseval.app.results.explained import cause_in
from maseval.app.results.labelled import corrected_scores, judged_shares
from maseval.app.results.measured import declared_measures, measured_scores
from maseval.app.results.names import (
    UnknownRunError,
    each_of,
    is_results_folder,
    open_recording,
    run_path,
    warn_of_damage,
)
from maseval.app.results.run_summary import run_summary
from maseval.core.finding import Finding
from maseval.core.outcome import RecordedReport, Simulation
from maseval.core.recorded import mapping, number
from maseval.core.report import Report
from maseval.core.report_parts import ComponentUsage
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.storage.redaction import redact, redact_text
from maseval.core.words import text, text_or_none
from maseval.frames.frame import TABLES, Frame
from maseval.report.checks import shown_verdicts
from maseval.report.conversation import conversation
from maseval.runs import RunFolder, default_root, list_runs
from maseval.runs.annotations import annotations_or_problem
from maseval.runs.config import mark_of
from maseval.runs.config_file import is_run_folder
from maseval.runs.recording import Recording, index_line_in, simulations_in_order
from maseval.runs.verdict_check import VerdictCheck, doubt_about

AnyRun = str | os.PathLike[str]


class FrameSource:
    """A run as it is now, by the name that its rows have; its reports are read one at a time."""

    def __init__(self, name: str, path: Path, options: ScoringOptions) -> None:
        self.name, self.path, self.options = name, path, options
        self.recording: Recording = open_recording(path, options)
        self.check: VerdictCheck | None = None
        self.form = "folder" if isinstance(self.recording, RunFolder) else "results"
        self.damaged = len(self.recording.damaged)
        warn_of_damage(self.recording)
        # A results file was recomputed when it was opened; a folder still has its recorded
        # verdicts.
        if self.form == "folder" and not options.as_recorded:
            self.recording, self.check = recompute_verdicts(self.recording)
        self._examined = ExaminedRun(self.recording)

    def findings(self, report: RecordedReport) -> Sequence[Finding]:
        raw = cast("Report", report.raw)
        return self._examined.examine(Simulation.of(raw), REVIEW, raw).findings

    def keep_findings(self) -> None:
        self._examined.save()

    def is_recomputed(self, report: RecordedReport) -> bool:
        """Return True if the verdict of a report is not the recorded one; of files, all are new."""
        if self.form == "folder":
            return "recorded_reward" in report.raw
        return not self.options.as_recorded


def sources_of(runs: Sequence[AnyRun | Sequence[AnyRun]]) -> dict[Path, str]:
    """Find the runs that are named, also in lists; of a folder that holds runs, all by name.

    Each has its own name; without any, these are all below the folder of all runs.
    """
    named = [each for some in runs for each in each_of(some)]
    found = (each for run in named or [default_root()] for each in _find_sources(run))
    # By two names it is still one run.
    kept = [*{path.resolve(): path for path in found}.values()]
    short = [path.name if path.is_dir() else path.stem for path in kept]
    return {
        path: name if short.count(name) == 1 else str(path)
        for name, path in zip(short, kept, strict=True)
    }


def _find_sources(run: AnyRun) -> list[Path]:
    path = Path(run)
    if path.is_file():
        return [path]
    if path.is_dir() and not is_run_folder(path):
        if is_results_folder(path):
            return [path]
        if below := sorted(each.path for each in list_runs(path)):
            return below
    try:
        return [run_path(run)]
    except UnknownRunError:
        raise UnknownRunError(
            f"{path} is not a run, a folder of runs or a results file; `maseval runs` lists the "
            "runs"
        ) from None


Rows = Iterator[dict[str, object]]


def run_rows(opened: FrameSource) -> Rows:
    """Summarise a run by its index lines, counted as ``maseval show`` counts."""
    path, run = opened.path, opened.recording
    indexed = [index_line_in(run, one) for one in simulations_in_order(run)]
    lines = [each.outcome for each in indexed]
    planned, config = run.planned, run.config.values
    annotations, _ = annotations_or_problem(path)
    summary = run_summary(lines, planned, config=run.config) if planned else None
    score = mapping(summary.overall.pass_1 if summary else None)
    kinds = Counter(line.kind for line in lines)
    doubt = doubt_about(run, opened.check)
    yield {
        "path": str(path),
        "form": opened.form,
        "benchmark": config.get("benchmark"),
        "version": support_by_name(config.get("benchmark")).version(config),
        "agent": _player_name(config.get("agent")),
        "user": _player_name(config.get("user")),
        "seed": config.get("seed"),
        "tasks": len({(one.domain, one.task_id) for one in planned}),
        "trials": config.get("trials"),
        "planned": len(planned),
        "simulations": len(lines),
        "passed": kinds["pass"],
        "failed": kinds["fail"],
        "errors": kinds["error"],
        "unjudged": kinds["unjudged"],
        "verdicts": summary.overall.verdicts if summary else 0,
        "pass_1": score.get("value"),
        "pass_1_low": score.get("low"),
        "pass_1_high": score.get("high"),
        # Where nothing is missing, the value is all that it can become.
        "pass_1_worst": score.get("worst", score.get("value")),
        "pass_1_best": score.get("best", score.get("value")),
        "estimate": mark_of(config),
        "cost": summary and summary.cost,
        "tokens": summary and summary.tokens,
        "started_at": min((each.started for each in indexed if each.started), default=None),
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


def score_rows(opened: FrameSource) -> Rows:
    """Yield a row for each pass^k, counted as ``maseval show`` counts."""
    run = opened.recording
    measures = declared_measures(run)
    outcomes, findings = [], dict[Simulation, Sequence[Finding]]()
    for report in run.reports():
        parsed = RecordedReport(report)
        outcomes.append(parsed.outcome)
        # Findings take a replay of each conversation, and few measures need them.
        if any(each.by_findings for each in measures):
            findings[Simulation.of(report)] = opened.findings(parsed)
    opened.keep_findings()
    scores = measured_scores(outcomes, findings, measures, run.planned)
    scores += corrected_scores(judged_shares(run, outcomes), scores[-1].domain if scores else "")
    for score in scores:
        for k, each in score.pass_hat.items():
            yield {
                "domain": score.domain,
                "counted": score.counted,
                "k": k,
                "value": each.value,
                "low": each.interval and each.interval.low,
                "high": each.interval and each.interval.high,
                **score.counts,
            }


def simulation_rows(report: RecordedReport, source: FrameSource) -> Rows:
    messages, error = conversation(report), report.error.message
    checks = [
        check for verdict in shown_verdicts(report, messages) for check in verdict.get("checks", ())
    ]
    calls = [call for message in messages for call in message.get("calls", ())]
    breakdowns = (
        each.raw.get("reward_breakdown") or each.reward_info.get("reward_breakdown")
        for each in report.evaluations
    )
    agents = [each.name for each in report.agents.values() if each.name is not None]
    is_new = source.is_recomputed(report)
    yield {
        "status": report.status,
        "outcome": report.kind,
        "passed": report.outcome.passed,
        "reward": report.reward,
        "recorded_reward": number(report.raw.get("recorded_reward")) if is_new else report.reward,
        "recomputed": is_new,
        "reward_breakdown": next((text(each) for each in breakdowns if each), None),
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
        "agent": ", ".join(dict.fromkeys(agents)) or None,
        "agent_model": report.models_of("agent"),
        "user_model": report.models_of("user"),
        "cost": report.cost,
        **{f"{role}_cost": report.cost_of_role(role) for role in ("agent", "user", "judge")},
        "input_tokens": _sum(report.usage, "input_tokens"),
        "cached_tokens": _sum(report.usage, "cached_input_tokens"),
        "output_tokens": _sum(report.usage, "output_tokens"),
        "state_changed": report.environment.get("db_changed"),
        "query": report.query or None,
        "final_answer": report.final_answer,
    }


def _sum(used: list[ComponentUsage], key: str) -> float | None:
    known = [found for each in used if (found := getattr(each, key)) is not None]
    return sum(known) if known else None


def message_rows(report: RecordedReport, source: FrameSource) -> Rows:
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


def agent_rows(report: RecordedReport, source: FrameSource) -> Rows:
    # Finding the cause takes a replay, and without a team there is no agent to single out.
    cause = cause_in(source.findings(report)) if report.team else None
    decided = cause and report.decider(cause.message)
    for each in report.work():
        yield {**each._asdict(), "decided": each.agent == decided if decided else None}


def tool_call_rows(report: RecordedReport, source: FrameSource) -> Rows:
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


def check_rows(report: RecordedReport, source: FrameSource) -> Rows:
    """Yield a row for each check, or for the verdict of an evaluator that lists none."""
    verdicts = zip(report.evaluations, shown_verdicts(report, conversation(report)), strict=True)
    for evaluator, (returned, verdict) in enumerate(verdicts):
        named = (text_or_none(returned.raw.get(key)) for key in ("name", "evaluator", "metric"))
        alone: dict[str, object] = {
            "kind": "VERDICT",
            "name": next(filter(None, named), None),
            "met": returned.passed,
            "counts": True,
            "evidence": dict(returned.raw),
        }
        for position, row in enumerate(verdict.get("checks", [alone])):
            yield {
                "evaluator": evaluator,
                "position": position,
                "arguments": None,
                "message": None,
                **row,
            }


def finding_rows(report: RecordedReport, source: FrameSource) -> Rows:
    for each in source.findings(report):
        yield {
            "passed": report.outcome.passed,
            "user_model": report.models_of("user"),
            "counts": each.counts,
            "by": each.by,
            **each.to_dict(),
        }


def reliability_rows(opened: FrameSource) -> Rows:
    """Yield a row for each measure that the run alone gives."""
    sheet = reliability_sheet([opened.path], options=opened.options)
    for row in chain.from_iterable(sheet.systems.values()):
        yield {key: value for key, value in row.to_dict().items() if key not in ("level", "note")}


_RowsOfSource = Callable[[FrameSource], Rows]
_RowsOfReport = Callable[[RecordedReport, FrameSource], Rows]


class Table(Protocol):
    """Return the frame of a table over some runs.

    Args:
        runs: Run folders, by path, by name or as ``last``; folders that hold runs; results files
            of tau2-bench; or a list of these. Without any: all below ``./runs``.
        options: How results files are judged; by default every reward is recomputed.
    """

    def __call__(
        self, *runs: AnyRun | Sequence[AnyRun], **options: Unpack[ScoringKeywords]
    ) -> Frame: ...


def _table(name: str, rows_of: _RowsOfSource) -> Table:
    def frame(*runs: AnyRun | Sequence[AnyRun], **options: Unpack[ScoringKeywords]) -> Frame:
        # Runs are looked up when the frame is made, and read each time it is iterated.
        sources, how = sources_of(runs), ScoringOptions(**options)

        def read() -> Rows:
            for path, name in sources.items():
                for row in rows_of(FrameSource(name, path, how)):
                    yield {"run": name, **row}

        return Frame(TABLES[name], read)

    # Help and the reference show each table by its own name.
    frame.__name__ = frame.__qualname__ = name
    frame.__doc__ = f"One row is {TABLES[name].row}.\n{Table.__doc__}"
    return frame


def _by_report(rows_of: _RowsOfReport) -> _RowsOfSource:
    def rows_of_source(opened: FrameSource) -> Rows:
        # One at a time: a run may be larger than the memory.
        for report in map(RecordedReport, opened.recording.reports()):
            key = dict(zip(("domain", "task_id", "trial"), report.key, strict=True))
            for row in rows_of(report, opened):
                yield {**key, **row}
        opened.keep_findings()

    return rows_of_source


runs = _table("runs", run_rows)
simulations = _table("simulations", _by_report(simulation_rows))
messages = _table("messages", _by_report(message_rows))
agents = _table("agents", _by_report(agent_rows))
tool_calls = _table("tool_calls", _by_report(tool_call_rows))
checks = _table("checks", _by_report(check_rows))
findings = _table("findings", _by_report(finding_rows))
scores = _table("scores", score_rows)
reliability = _table("reliability", reliability_rows)

FRAMES: Mapping[str, Table] = {name: globals()[name] for name in TABLES}
"""The frame of each table, by its name."""
