"""The five tables, over any number of runs."""

from collections.abc import Callable, Iterator, Mapping
from typing import Unpack

from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.shapes import Shape
from maseval.frames.check_rows import check_rows
from maseval.frames.columns import (
    CHECKS,
    MESSAGES,
    RUNS,
    SIMULATIONS,
    TABLES,
    TOOL_CALLS,
    TableForm,
)
from maseval.frames.conversation_rows import message_rows, tool_call_rows
from maseval.frames.frame import Frame
from maseval.frames.run_rows import run_row
from maseval.frames.simulation_rows import simulation_rows
from maseval.frames.sources import AnyRun, FrameSource, OpenedSource, sources_of

Rows = Iterator[Mapping[str, object]]
RowsOf = Callable[[Shape, OpenedSource], Iterator[dict[str, object]]]


def runs(*runs: AnyRun, **options: Unpack[ScoringKeywords]) -> Frame:
    """One row for each run, with its numbers.

    Args:
        runs: Run folders, by path, by name or as ``last``; folders that hold runs; results files
            of tau2-bench; files of a ``FileResultLogger``. Without any: all below ``./runs``.
        options: How results files are judged; by default every reward is recomputed.
    """
    sources = sources_of(runs, ScoringOptions(**options))

    def read() -> Rows:
        for source in sources:
            yield {"run": source.name, **run_row(source)}

    return Frame(RUNS, read)


def simulations(*runs: AnyRun, **options: Unpack[ScoringKeywords]) -> Frame:
    """One row for each simulation; arguments as for ``runs``."""
    return _frame(SIMULATIONS, simulation_rows, runs, options)


def messages(*runs: AnyRun, **options: Unpack[ScoringKeywords]) -> Frame:
    """One row for each message; arguments as for ``runs``."""
    return _frame(MESSAGES, message_rows, runs, options)


def tool_calls(*runs: AnyRun, **options: Unpack[ScoringKeywords]) -> Frame:
    """One row for each tool call, with its answer; arguments as for ``runs``."""
    return _frame(TOOL_CALLS, tool_call_rows, runs, options)


def checks(*runs: AnyRun, **options: Unpack[ScoringKeywords]) -> Frame:
    """One row for each check of a verdict; arguments as for ``runs``."""
    return _frame(CHECKS, check_rows, runs, options)


def _frame(
    table: TableForm, rows_of: RowsOf, runs: tuple[AnyRun, ...], options: ScoringKeywords
) -> Frame:
    sources = sources_of(runs, ScoringOptions(**options))
    return Frame(table, lambda: _rows(sources, rows_of))


def _rows(sources: list[FrameSource], rows_of: RowsOf) -> Rows:
    for source in sources:
        opened = source.opened()
        for report in opened.reports:
            for row in rows_of(report, opened):
                yield {"run": source.name, **row}


_FRAMES = (runs, simulations, messages, tool_calls, checks)


def frame_named(table: str, *runs: AnyRun, **options: Unpack[ScoringKeywords]) -> Frame:
    """The frame of a table, by its name."""
    return dict(zip(TABLES, _FRAMES, strict=True))[table](*runs, **options)
