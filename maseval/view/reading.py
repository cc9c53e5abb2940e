"""Reads the reports of a viewed run: the log of a folder (``log_index``) or a results file.

The viewer knows no benchmark; a ``RunReader`` does, which adds numbers, titles and explanations.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from maseval.core.outcome import RecordedReport, Simulation
from maseval.core.recorded import Shape
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringOptions
from maseval.report.index import Entry, Overview, entry_of
from maseval.runs.recording import ReadOnce, Recording, report_key
from maseval.runs.verdict_check import Misstatement, RunCheck, SimulationDoubt, doubt_in
from maseval.stats.summary import Summary
from maseval.view.exceptions import NothingThereError
from maseval.view.log_index import IndexedRun


class RunReader:
    """Knows benchmarks, which the viewer itself does not.

    This one adds nothing to what a run says of itself, and knows no results files.
    """

    def is_results(self, path: Path) -> bool:
        """Return whether ``open_results`` can read a file; looks at its start only."""
        return False

    def open_results(self, path: Path, options: ScoringOptions) -> Recording:
        """Open a results file as a run, its verdicts recomputed."""
        raise NotImplementedError

    def overview(
        self, run: Recording, known: Sequence[Entry], found: Summary, labelled: bool = False
    ) -> Overview:
        """Return the part of a run's page above its simulations, of which there are some.

        Numbers that go by labels can be given once all are ``labelled``.
        """
        return Overview()

    def plots(
        self, run: Recording, known: Sequence[Entry], found: Summary, *, marks: bool
    ) -> Sequence[str]:
        """Draw a run; without ``marks``, nothing that has a mark for each simulation."""
        return ()

    def begin_check(self, run: Recording) -> RunCheck | None:
        """Begin to check the recorded verdicts of a run; None if they cannot be recomputed."""
        return None

    def check_verdict(
        self, checking: RunCheck, run: Recording, report: Report, key: str
    ) -> Misstatement | None:
        """Add to a check how the verdict of a report differs from the recomputed one."""
        return None

    def title(self, run: Recording, report: Shape) -> str | None:
        return None

    def policies(self, run: Recording) -> Mapping[str, Sequence[str]]:
        """Return the rules that agents are told to obey, by domain."""
        return {}

    def timeline(self, run: Recording, report: Shape) -> Shape | None:
        """Return the world of a simulation after each message, if its benchmark has one."""
        return None

    def complete_report(self, run: Recording, report: Report, key: str | None = None) -> Shape:
        """Add all that is shown of a report: the task's title, and why it failed.

        ``key``, if it is at hand, is another one whenever the report is.
        """
        return report

    def examine(self, run: Recording) -> None:
        """Find out and keep all that can be kept about a run, with all cores."""

    def keep_findings(self, run: Recording) -> None:
        """Keep what was found out about reports of a run, for the next start."""


class JudgedFile(ReadOnce):
    """A results file as a run: everything in it was judged when it was opened."""

    def __init__(self, recorded: Recording, reader: RunReader) -> None:
        super().__init__(recorded)
        self._key_of = lambda one: report_key(self.report(one))  # the file is not needed any more
        keys = [RecordedReport(each).task for each in self._reports]
        first = dict(zip(reversed(keys), reversed(self._reports), strict=True))
        titles = {key: reader.title(self, each) for key, each in first.items()}
        self._entries = [
            entry_of(RecordedReport(each), at, titles[key])
            for at, (key, each) in enumerate(zip(keys, self._reports, strict=True))
        ]

    def report(self, simulation: Simulation) -> Report:
        if simulation not in self._places:
            raise NothingThereError(f"the file has no {simulation}")
        return super().report(simulation)

    def refresh(self) -> bool:
        return False  # a file that has changed is opened anew

    def growth(self) -> list[tuple[Sequence[int], Entry]] | None:
        return None

    def entries(self) -> list[Entry]:
        return self._entries

    def doubt_at(self, at: int) -> SimulationDoubt | None:
        return doubt_in(self._reports[at])

    def settings(self) -> list[Shape]:
        return []

    def report_at(self, at: int) -> Report:
        return self._reports[at]

    def key_at(self, at: int) -> str:
        return report_key(self._reports[at])


RunSource = IndexedRun | JudgedFile
"""A run with an entry for each report, each of which can be read by its place ``at``."""
