"""The tables over any number of runs: their sources, and the rows of each.

Sources are run folders, results files of tau2-bench, and saved reports. Rows are recorded values by
column, of which ``Frame`` makes cells.
"""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol, Unpack, cast

from maseval.app.benchmarks import support_by_name, support_for
from maseval.app.results.examined import FINDINGS, ExaminedRun, recompute_verdicts
from maseval.app.results.explained import cause_in
from maseval.app.results.finding import (
    UnknownRunError,
    holds_reports,
    open_recording,
    run_path,
    warn_of_damage,
)
from maseval.app.results.results import run_summary
from maseval.app.results.variants import variant_scores
from maseval.core.callbacks.result_logger import shared_config
from maseval.core.finding import Finding
from maseval.core.outcome import (
    ComponentUsage,
    RecordedReport,
    Simulation,
    parse_report,
)
from maseval.core.recorded import mapping, number
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.storage.records import iter_records
from maseval.core.storage.redaction import redact, redact_text
from maseval.core.task.queues import SUBSET
from maseval.core.words import text, text_or_none
from maseval.frames.frame import TABLES, Frame
from maseval.report.checks import shown_verdicts
from maseval.report.conversation import conversation
from maseval.runs import default_root, list_runs
from maseval.runs.annotations import annotations_or_problem
from maseval.runs.config import RunConfig, mark_of
from maseval.runs.config_file import is_run_folder
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import VerdictCheck, doubt_about

AnyRun = str | os.PathLike[str]
SourceForm = Literal["folder", "results", "reports"]


class FrameSource:
    """A run as it is now, by the name that its rows have; its reports are read one at a time.

    A file of reports has no plan, and nothing can be found out about its simulations.
    """

    def __init__(self, name: str, path: Path, form: SourceForm, options: ScoringOptions) -> None:
        self.name, self.path, self.form, self.options = name, path, form, options
        self.recording: Recording | None = None
        self.check: VerdictCheck | None = None
        self.config: Mapping[str, object] = {}
        self.planned: Collection[Simulation] | None = None
        self.damaged = 0
        if form == "reports":
            if mark := mapping(shared_config(path), SUBSET):
                self.config = {SUBSET: mark}
            return
        self.recording = run = open_recording(path, options)
        warn_of_damage(run)
        if form == "folder" and not options.as_recorded:
            self.recording, self.check = recompute_verdicts(run)
        self.config, self.planned, self.damaged = run.config.values, run.planned, len(run.damaged)

    def reports(self) -> Iterator[Report]:
        """Yield the reports, in the order of the plan if there is one."""
        if self.recording is not None:
            yield from self.recording.reports()
            return
        for row, record in enumerate(iter_records(self.path), 1):
            yield cast("Report", parse_report(record, f"{self.path}, line {row}").raw)

    @cached_property
    def _examined(self) -> ExaminedRun | None:
        return None if self.recording is None else ExaminedRun(self.recording)

    def findings(self, report: RecordedReport) -> Sequence[Finding]:
        if self._examined is None:
            return ()
        raw = cast("Report", report.raw)
        return self._examined.examine(Simulation.of(raw), FINDINGS, raw).findings

    def keep_findings(self) -> None:
        if "_examined" in vars(self) and self._examined is not None:
            self._examined.save()

    def is_recomputed(self, report: RecordedReport) -> bool:
        """Return True if the verdict of a report is not the recorded one; of files, all are new."""
        if self.form == "folder":
            return "recorded_reward" in report.raw
        return self.form == "results" and not self.options.as_recorded


def sources_of(
    runs: Sequence[AnyRun | Sequence[AnyRun]],
) -> list[tuple[str, Path, SourceForm]]:
    """Find the runs that are named, also in lists; of a folder that holds runs, all by name.

    Without any, all below the folder of all runs.
    """
    named: list[AnyRun] = []
    for run in runs:
        named += [run] if isinstance(run, str | os.PathLike) else run
    found = (each for run in named or [default_root()] for each in _find_sources(run))
    kept = {path.resolve(): (path, form) for path, form in found}.values()
    short = [path.name if form == "folder" else path.stem for path, form in kept]
    return [
        (name if short.count(name) == 1 else str(path), path, form)
        for name, (path, form) in zip(short, kept, strict=True)
    ]


def _find_sources(run: AnyRun) -> list[tuple[Path, SourceForm]]:
    path = Path(run)
    if path.is_file():
        return [(path, "reports" if holds_reports(path) else "results")]
    if path.is_dir() and not is_run_folder(path):
        if (path / "results.json").is_file():
            return [(path, "results")]
        below = sorted(each.path for each in list_runs(path))
        if below:
            return [(each, "folder") for each in below]
    try:
        return [(run_path(run), "folder")]
    except UnknownRunError:
        raise UnknownRunError(
            f"{path} is not a run, a folder of runs, a results file or a file of reports; "
            "`maseval runs` lists the runs"
        ) from None


Rows = Iterator[dict[str, object]]


def run_rows(opened: FrameSource) -> Rows:
    """Summarise a run in one pass through its reports, counted as ``maseval show`` counts."""
    started: list[str] = []
    lines = []
    for report in opened.reports():
        lines.append(RecordedReport(report).outcome)
        started += [str(report["started_at"])] if report.get("started_at") else []
    planned = [line.simulation for line in lines] if opened.planned is None else opened.planned
    path, config = opened.path, opened.config
    annotations, _ = annotations_or_problem(path)
    summary = run_summary(lines, planned, config=RunConfig(dict(config))) if planned else None
    score = mapping(summary.overall.pass_1 if summary else None)
    kinds = Counter(line.kind for line in lines)
    run = opened.recording
    doubt = None if run is None else doubt_about(run, opened.check)
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


def score_rows(opened: FrameSource) -> Rows:
    """Yield a row for each pass^k, counted as ``maseval show`` counts."""
    run = opened.recording
    variants = () if run is None else support_for(run).variants(run)
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


def simulation_rows(report: RecordedReport, source: FrameSource) -> Rows:
    messages, error = conversation(report), report.error.message
    checks = [
        check for verdict in shown_verdicts(report, messages) for check in verdict.get("checks", ())
    ]
    calls = [call for message in messages for call in message.get("calls", ())]
    sides = {side: [each for each in report.usage if _side(each) == side] for side in _SIDES}
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
    """Yield the part of each agent of a team."""
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
            place = {"evaluator": evaluator, "position": position}
            yield {**place, "arguments": None, "message": None, **row}


def finding_rows(report: RecordedReport, source: FrameSource) -> Rows:
    for each in source.findings(report):
        yield {
            "passed": report.outcome.passed,
            "user_model": report.models_of("user"),
            "counts": each.counts,
            **each.to_dict(),
        }


_RowsOfSource = Callable[[FrameSource], Rows]
_RowsOfReport = Callable[[RecordedReport, FrameSource], Rows]


class Table(Protocol):
    """Return the frame of a table over some runs.

    Args:
        runs: Run folders, by path, by name or as ``last``; folders that hold runs; results files
            of tau2-bench; files of a ``FileResultLogger``; or a list of these. Without any: all
            below ``./runs``.
        options: How results files are judged; by default every reward is recomputed.
    """

    def __call__(
        self, *runs: AnyRun | Sequence[AnyRun], **options: Unpack[ScoringKeywords]
    ) -> Frame: ...


def _table(name: str, rows_of: _RowsOfSource) -> Table:
    def frame(*runs: AnyRun | Sequence[AnyRun], **options: Unpack[ScoringKeywords]) -> Frame:
        sources, how = sources_of(runs), ScoringOptions(**options)

        def read() -> Rows:
            for named in sources:
                for row in rows_of(FrameSource(*named, how)):
                    yield {"run": named[0], **row}

        return Frame(TABLES[name], read)

    frame.__name__ = frame.__qualname__ = name
    frame.__doc__ = f"One row is {TABLES[name].row}.\n{Table.__doc__}"
    return frame


def _by_report(rows_of: _RowsOfReport) -> _RowsOfSource:
    def rows_of_source(opened: FrameSource) -> Rows:
        for report in map(RecordedReport, opened.reports()):
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

FRAMES: Mapping[str, Table] = {name: globals()[name] for name in TABLES}
"""The frame of each table, by its name."""
