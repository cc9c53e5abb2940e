"""The tables, over any number of runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, Unpack

from maseval.core.outcome import RecordedReport
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.frames import rows
from maseval.frames.frame import TABLES, Frame
from maseval.frames.sources import AnyRun, FrameSource, OpenedSource, sources_of

_Rows = Iterator[Mapping[str, object]]
_RowsOfSource = Callable[[OpenedSource], _Rows]
_RowsOfReport = Callable[[RecordedReport, OpenedSource], _Rows]


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
        sources = sources_of(runs, ScoringOptions(**options))
        return Frame(TABLES[name], lambda: (row for each in sources for row in read(each)))

    def read(source: FrameSource) -> _Rows:
        return ({"run": source.name, **row} for row in rows_of(OpenedSource(source)))

    frame.__name__ = frame.__qualname__ = name
    frame.__doc__ = f"One row is {TABLES[name].row}.\n{Table.__doc__}"
    return frame


def _by_report(rows_of: _RowsOfReport) -> _RowsOfSource:
    def rows_of_source(opened: OpenedSource) -> _Rows:
        for report in map(RecordedReport, opened.reports()):
            key = dict(zip(("domain", "task_id", "trial"), report.key, strict=True))
            for row in rows_of(report, opened):
                yield {**key, **row}
        opened.keep_findings()

    return rows_of_source


runs = _table("runs", rows.run_rows)
simulations = _table("simulations", _by_report(rows.simulation_rows))
messages = _table("messages", _by_report(rows.message_rows))
agents = _table("agents", _by_report(rows.agent_rows))
tool_calls = _table("tool_calls", _by_report(rows.tool_call_rows))
checks = _table("checks", _by_report(rows.check_rows))
findings = _table("findings", _by_report(rows.finding_rows))
scores = _table("scores", rows.score_rows)
remarks = _table("remarks", rows.remark_rows)

_FRAMES = (runs, simulations, messages, agents, tool_calls, checks, findings, scores, remarks)


def frame_named(
    table: str, *runs: AnyRun | Sequence[AnyRun], **options: Unpack[ScoringKeywords]
) -> Frame:
    return dict(zip(TABLES, _FRAMES, strict=True))[table](*runs, **options)
