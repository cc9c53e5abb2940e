"""What the viewer learns of benchmarks, as the HTML report does: numbers, titles, explanations."""

from pathlib import Path

from maseval.commands.benchmarks import OutcomeOptions, all_support, support_for
from maseval.commands.plots import drawings
from maseval.commands.recording import Recording, notes_on
from maseval.commands.results import lines_of, run_summary
from maseval.core.exceptions import ConfigurationError
from maseval.core.report import Report
from maseval.core.shapes import Shape
from maseval.view.reading import Overview


class BenchmarkReader:
    """Asks the benchmark of each run."""

    def is_results(self, path: Path) -> bool:
        return any(each.holds_results(path) for each in all_support())

    def open_results(self, path: Path) -> Recording:
        for each in all_support():
            if each.holds_results(path) and (found := each.recording(path, OutcomeOptions())):
                return found
        raise ConfigurationError(f"{path} is not a results file")

    def overview(self, run: Recording) -> Overview:
        support, lines = support_for(run), lines_of(run)
        if not lines:
            return Overview()
        conventions = support.conventions(run, lines)
        summary = run_summary(lines, run.planned, conventions).for_report()
        summary["notes"] = [*notes_on(run), *summary["notes"]]
        plots = list(drawings(run, None, lines).values())
        command = run.config.values.get("command")
        facts = [("Command", str(command))] if command else []
        return Overview(summary, plots, support.findings(run), facts)

    def completed(self, run: Recording, report: Report) -> Shape:
        support = support_for(run)
        shown: dict[str, object] = {**report, "title": support.task_title(report)}
        diagnosis = None if support.unexplained(run) else support.diagnosis(report)
        if diagnosis is not None:
            shown |= {"labels": [diagnosis.name], "explanation": diagnosis.for_page()}
        return shown
