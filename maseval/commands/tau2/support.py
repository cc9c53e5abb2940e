"""What tau2 adds to the commands that take any run: labels, explanations, and its results files."""

from collections.abc import Mapping
from pathlib import Path

from maseval.benchmark.tau2.results import read_results
from maseval.commands.benchmarks import (
    BenchmarkSupport,
    OnProgress,
    RecordedOutcomes,
    RunDiagnosis,
)
from maseval.commands.tau2.comparable import config_of_file, digest, outcomes_of_file
from maseval.commands.tau2.diagnosis import FailureDiagnosis, diagnosed, label_summary
from maseval.core.exceptions import ConfigurationError
from maseval.core.report import Report
from maseval.runs import RunFolder, Simulation


class Tau2Support(BenchmarkSupport):
    """Explains failures, and reads results files of tau2-bench."""

    def diagnosis(self, report: Report) -> FailureDiagnosis | None:
        return diagnosed(report)

    def run_diagnosis(self, folder: RunFolder, on_progress: OnProgress | None) -> RunDiagnosis:
        found: dict[Simulation, FailureDiagnosis | None] = {}
        total = len(folder.recorded)
        for number, report in enumerate(folder.reports(), 1):
            found[Simulation.of(report)] = diagnosed(report)
            if on_progress is not None:
                on_progress(number, total)
        return RunDiagnosis(found, label_summary(found))

    def settings(self, folder: RunFolder) -> dict[str, object]:
        config = super().settings(folder)
        data = config.get("data")
        if isinstance(data, Mapping):
            # One word for each domain, so that other data takes one line to report.
            config["data"] = {domain: digest(files) for domain, files in data.items()}
        return config

    def recorded_outcomes(self, path: Path) -> RecordedOutcomes:
        results, skipped = read_results(path), dict[str, int]()
        outcomes = outcomes_of_file(results, skipped)
        counted = [outcome for outcome in outcomes if outcome.passed is not None]
        if not counted:
            raise ConfigurationError(
                f"{path} holds no verdict; `maseval tau2 score` judges its conversations"
            )
        planned = len(outcomes) + sum(skipped.values())
        return RecordedOutcomes(counted, planned, config_of_file(results))


SUPPORT = Tau2Support()
